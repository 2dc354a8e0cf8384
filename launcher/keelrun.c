/* keelrun: starts a parallel program. See keelrun(1). */
#include <config.h>

#include <base/net/sock.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <errno.h>
#include <launcher/front/frontend.h>
#include <launcher/front/outfile.h>
#include <launcher/head/hnp.h>
#include <launcher/request/options/mca_names.h>
#include <launcher/services.h>
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

/* Programs run in keelrun's folder, or one that was named from there: the same on every node. */
static int make_folders_absolute(struct run_request *request)
{
    int status = ORTE_SUCCESS;
    char *here = getcwd(NULL, 0);
    for (size_t i = 0; i < request->app_count && status == ORTE_SUCCESS; i++) {
        struct app_request *app = &request->apps[i];
        char *folder = NULL;
        if (app->wdir && app->wdir[0] == '/') {
            continue;
        }
        if (!here || asprintf(&folder, "%s%s%s", here, app->wdir ? "/" : "",
                              app->wdir ? app->wdir : "") < 0) {
            status = ORTE_ERR_IN_ERRNO;
            break;
        }
        free(app->wdir);
        app->wdir = folder;
    }
    free(here);
    return status;
}

/* A program that writes through stdio shows its lines at once where that is a terminal. */
static void choose_pty(struct run_request *request)
{
    if (request->pty == PTY_AUTO) {
        bool shown = isatty(STDOUT_FILENO) && !request->output.no_copy;
        request->pty = shown ? PTY_ALWAYS : PTY_NEVER;
    }
    request->window = pty_window();
}

/* Files of ranks that nobody has counted yet may be anybody's. */
static int check_output_folder(const struct run_request *request, char *reason, size_t reason_size)
{
    uint64_t ranks = 0;
    for (size_t i = 0; i < request->app_count; i++) {
        if (request->apps[i].count == 0) {
            ranks = 0;
            break;
        }
        ranks += request->apps[i].count;
    }
    return request->output.path
               ? outfile_check(&request->output, (uint32_t) ranks, reason, reason_size)
               : ORTE_SUCCESS;
}

/* Few descriptors are the likely cause of all that may be missing so early. */
static const char *why_not(int status, int error)
{
    return status == ORTE_ERR_IN_ERRNO || error == EMFILE || error == ENFILE
               ? strerror(error)
               : opal_strerror(status);
}

static int run(struct shepherd *shepherd, const struct run_request *request,
               struct report_file *report)
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
        status = hnp_create(&hnp, loop, shepherd, launcher_services, hnp_end);
    }
    if (status == ORTE_SUCCESS) {
        status = frontend_create(&frontend, loop, front_end, request, report);
    }
    if (status == ORTE_SUCCESS) {
        loop_run(loop);
        exit_code = frontend_exit_code(frontend);
    } else {
        complain(exit_code, "cannot start", why_not(status, errno));
    }
    frontend_destroy(frontend);
    hnp_destroy(hnp);
    shepherd_end(shepherd);
    channel_destroy(front_end);
    channel_destroy(hnp_end);
    loop_destroy(loop);
    return exit_code;
}

/* What --help and --version have printed may still be in memory. A reader that left has enough. */
static int end_of_text(void)
{
    bool written = fflush(stdout) == 0 || errno == EPIPE;
    return written ? 0 : complain(EXIT_RUNTIME, "stdout", strerror(errno));
}

int main(int argc, char **argv)
{
    struct shepherd *shepherd = NULL;
    struct run_request request;
    struct report_file report;
    char reason[512] = "";
    frontend_block_signals(); /* what comes now waits for the ranks */
    fd_fill_standard();
    int error = shepherd_start(&shepherd);
    if (error != 0) {
        return complain(EXIT_RUNTIME, "cannot fork", strerror(-error));
    }
    fd_raise_limit();
    int exit_code = 0;
    switch (cmdline_parse(&request, argc, argv, reason, sizeof(reason))) {
    case CMDLINE_ERROR:
        exit_code = complain(EXIT_USAGE, reason, NULL);
        shepherd_end(shepherd);
        return exit_code;
    case CMDLINE_DONE:
        exit_code = end_of_text();
        shepherd_end(shepherd);
        return exit_code;
    case CMDLINE_RUN:
        break;
    }
    log_open();
    mca_check_given();
    choose_pty(&request);
    if (fault_open(reason, sizeof(reason)) != ORTE_SUCCESS) {
        exit_code = complain(EXIT_USAGE, reason, NULL);
        shepherd_end(shepherd);
    } else if (make_folders_absolute(&request) != ORTE_SUCCESS) {
        exit_code = complain(EXIT_RUNTIME, "the current folder is gone", NULL);
        shepherd_end(shepherd);
    } else if (check_output_folder(&request, reason, sizeof(reason)) != ORTE_SUCCESS) {
        exit_code = complain(EXIT_RUNTIME, reason, NULL);
        shepherd_end(shepherd);
    } else if (report_file_open(&report, &request, reason, sizeof(reason)) != ORTE_SUCCESS) {
        exit_code = complain(EXIT_RUNTIME, reason, NULL);
        shepherd_end(shepherd);
    } else {
        exit_code = run(shepherd, &request, &report);
    }
    run_request_fini(&request);
    return exit_code;
}
