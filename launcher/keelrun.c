/* keelrun: starts a parallel program. See keelrun(1). */
#include <config.h>

#include <base/fault.h>
#include <base/log.h>
#include <base/sock.h>
#include <launcher/frontend.h>
#include <launcher/hnp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What may come from the command line must not reach the terminal as anything but text. */
static int complain(int exit_code, const char *what, const char *why)
{
    char text[1024];
    snprintf(text, sizeof(text), "%s%s%s", what, why ? ": " : "", why ? why : "");
    for (char *at = text; *at; at++) {
        *at = (unsigned char) *at < ' ' || *at == 0x7f ? '?' : *at;
    }
    fprintf(stderr, "keelrun: %s\n", text);
    return exit_code;
}

/* Programs run in keelrun's folder unless another was asked for. */
static int default_folders(struct run_request *request)
{
    for (size_t i = 0; i < request->app_count; i++) {
        struct app_request *app = &request->apps[i];
        if (!app->wdir && !(app->wdir = getcwd(NULL, 0))) {
            return ORTE_ERR_IN_ERRNO;
        }
    }
    return ORTE_SUCCESS;
}

static int run(struct shepherd *shepherd, const struct run_request *request)
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
        status = hnp_create(&hnp, loop, shepherd, hnp_end);
    }
    if (status == ORTE_SUCCESS) {
        status = frontend_create(&frontend, loop, front_end, request);
    }
    if (status == ORTE_SUCCESS) {
        loop_run(loop);
        exit_code = frontend_exit_code(frontend);
    } else {
        complain(exit_code, "cannot start", opal_strerror(status));
    }
    frontend_destroy(frontend);
    hnp_destroy(hnp);
    shepherd_end(shepherd);
    channel_destroy(front_end);
    channel_destroy(hnp_end);
    loop_destroy(loop);
    return exit_code;
}

int main(int argc, char **argv)
{
    struct shepherd *shepherd = NULL;
    struct run_request request;
    char reason[512] = "";
    fd_fill_standard();
    int error = shepherd_start(&shepherd);
    if (error != 0) {
        return complain(EXIT_RUNTIME, "cannot fork", strerror(-error));
    }
    frontend_block_signals();
    fd_raise_limit();
    int exit_code = 0;
    switch (cmdline_parse(&request, argc, argv, reason, sizeof(reason))) {
    case CMDLINE_ERROR:
        exit_code = complain(EXIT_USAGE, reason, NULL);
        shepherd_end(shepherd);
        return exit_code;
    case CMDLINE_DONE:
        shepherd_end(shepherd);
        return 0;
    case CMDLINE_RUN:
        break;
    }
    log_open();
    if (fault_open() != ORTE_SUCCESS) {
        exit_code = complain(EXIT_USAGE, "the parameter fault is wrong", NULL);
        shepherd_end(shepherd);
    } else if (default_folders(&request) != ORTE_SUCCESS) {
        exit_code = complain(EXIT_RUNTIME, "the current folder is gone", NULL);
        shepherd_end(shepherd);
    } else {
        exit_code = run(shepherd, &request);
    }
    run_request_fini(&request);
    return exit_code;
}
