/* keelrun: starts a parallel program. See keelrun(1). */
#include <config.h>

#include <base/net/sock.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <launcher/front/frontend.h>
#include <launcher/front/outfile.h>
#include <launcher/request/options/mca_names.h>
#include <launcher/run.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

int main(int argc, char **argv)
{
    struct shepherd *shepherd = NULL;
    struct run_request request;
    char reason[512] = "";
    frontend_block_signals(); /* what comes now waits for the ranks */
    fd_fill_standard();
    int error = shepherd_start(&shepherd);
    if (error != 0) {
        return run_complain(EXIT_RUNTIME, "cannot fork", strerror(-error));
    }
    fd_raise_limit();
    int exit_code = 0;
    switch (cmdline_parse(&request, argc, argv, reason, sizeof(reason))) {
    case CMDLINE_ERROR:
        exit_code = run_complain(EXIT_USAGE, reason, NULL);
        shepherd_end(shepherd);
        return exit_code;
    case CMDLINE_DONE:
        exit_code = run_end_of_text();
        shepherd_end(shepherd);
        return exit_code;
    case CMDLINE_RUN:
        break;
    }
    log_open();
    mca_check_given();
    choose_pty(&request);
    if (fault_open(reason, sizeof(reason)) != ORTE_SUCCESS) {
        exit_code = run_complain(EXIT_USAGE, reason, NULL);
        shepherd_end(shepherd);
    } else if (make_folders_absolute(&request) != ORTE_SUCCESS) {
        exit_code = run_complain(EXIT_RUNTIME, "the current folder is gone", NULL);
        shepherd_end(shepherd);
    } else if (check_output_folder(&request, reason, sizeof(reason)) != ORTE_SUCCESS) {
        exit_code = run_complain(EXIT_RUNTIME, reason, NULL);
        shepherd_end(shepherd);
    } else {
        exit_code = run_until_end(shepherd, &request, NULL, NULL);
    }
    run_request_fini(&request);
    return exit_code;
}
