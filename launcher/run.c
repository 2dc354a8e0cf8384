#include <config.h>

#include <launcher/run.h>

#include <base/text/reason.h>
#include <errno.h>
#include <launcher/front/frontend.h>
#include <launcher/front/output.h>
#include <launcher/head/hnp.h>
#include <launcher/services.h>
#include <stdio.h>
#include <string.h>

int run_complain(int exit_code, const char *what, const char *why)
{
    char text[1024];
    snprintf(text, sizeof(text), "%s%s%s", what, why ? ": " : "", why ? why : "");
    reason_printable(text);
    fprintf(stderr, "%s: %s\n", output_name(), text);
    return exit_code;
}

/* Few descriptors are the likely cause of all that may be missing so early. */
static const char *why_not(int status, int error)
{
    return status == ORTE_ERR_IN_ERRNO || error == EMFILE || error == ENFILE
               ? strerror(error)
               : opal_strerror(status);
}

static int run(struct shepherd *shepherd, const struct run_request *request,
               struct report_file *report, void (*stands)(void *arg), void *arg)
{
    struct loop *loop = NULL;
    struct channel_end *front_end = NULL, *hnp_end = NULL;
    struct hnp *hnp = NULL;
    struct frontend *frontend = NULL;
    int exit_code = EXIT_RUNTIME;
    int status = loop_create(&loop);
    if (status == ORTE_SUCCESS) {
        status = channel_create(loop, &front_end, &hnp_end);
    }
    if (status == ORTE_SUCCESS) {
        status = hnp_create(&hnp, &(struct hnp_config){.loop = loop,
                                                       .shepherd = shepherd,
                                                       .front = hnp_end,
                                                       .service_table = launcher_services});
    }
    if (status == ORTE_SUCCESS) {
        status = frontend_create(&frontend, loop, front_end, request, report);
    }
    if (status == ORTE_SUCCESS) {
        frontend_on_stands(frontend, stands, arg);
        loop_run(loop);
        exit_code = frontend_exit_code(frontend);
    } else {
        run_complain(exit_code, "cannot start", why_not(status, errno));
    }
    frontend_destroy(frontend);
    hnp_destroy(hnp);
    shepherd_end(shepherd);
    channel_destroy(front_end);
    channel_destroy(hnp_end);
    loop_destroy(loop);
    return exit_code;
}

int run_until_end(struct shepherd *shepherd, const struct run_request *request,
                  void (*stands)(void *arg), void *arg)
{
    struct report_file report;
    char reason[512];
    if (report_file_open(&report, request, reason, sizeof(reason)) != ORTE_SUCCESS) {
        shepherd_end(shepherd);
        return run_complain(EXIT_RUNTIME, reason, NULL);
    }
    return run(shepherd, request, &report, stands, arg);
}

/* A reader that left has enough. */
int run_end_of_text(void)
{
    bool written = fflush(stdout) == 0 || errno == EPIPE;
    return written ? 0 : run_complain(EXIT_RUNTIME, "stdout", strerror(errno));
}
