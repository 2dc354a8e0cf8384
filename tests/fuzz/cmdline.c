/* keelrun's command line: one argument a line. What is taken describes a job, and can be submitted.
 * Parameters of --mca stay with the process: those that the fuzzer makes are the known ones. */
#include <config.h>

#include <launcher/request/run_request.h>
#include <launcher/request/submit.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

enum { ARGS_MAX = 64, REASON_MAX = 512 };

/* Cuts the text at its newlines; a parameter's name becomes one of a few. */
static int cut(char *text, char **argv)
{
    static char program[] = "keelrun", name[] = "btl";
    int argc = 0;
    argv[argc++] = program;
    for (char *rest = text; rest && argc < ARGS_MAX - 1;) {
        char *word = strsep(&rest, "\n");
        bool parameter = strstr(argv[argc - 1], "mca") && *argv[argc - 1] == '-';
        argv[argc++] = parameter && word[0] > 'a' ? name : word;
    }
    argv[argc] = NULL;
    return argc;
}

static void check(struct run_request *request)
{
    fuzz_check(request->app_count > 0, "there is a program");
    for (size_t i = 0; i < request->app_count; i++) {
        fuzz_check(request->apps[i].argv && request->apps[i].argv[0], "each has its name");
    }
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    struct run_request again;
    fuzz_check(submit_pack(buffer, request) == ORTE_SUCCESS &&
                   submit_unpack(buffer, &again) == ORTE_SUCCESS,
               "what was asked for can be submitted");
    fuzz_check(again.app_count == request->app_count && again.hosts.count == request->hosts.count,
               "and is the same");
    run_request_fini(&again);
    OBJ_RELEASE(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    char *text = feed_text(&feed);
    char **argv = calloc(ARGS_MAX, sizeof(*argv));
    char *reason = calloc(1, REASON_MAX);
    int argc = cut(text, argv);
    struct run_request request = {0};
    enum cmdline_result result = cmdline_parse(&request, argc, argv, reason, REASON_MAX);
    if (result == CMDLINE_RUN) {
        check(&request);
    } else if (result == CMDLINE_ERROR) {
        fuzz_check(*reason != '\0', "an error has its reason");
    }
    run_request_fini(&request);
    free(reason);
    free(argv);
    free(text);
    return 0;
}
