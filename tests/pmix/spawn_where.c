/* spawn_where COUNT PROGRAM [[job:]ATTRIBUTE=VALUE...]: the first rank starts so many of a program,
 * with these attributes, its own or the job's, and says how that ended. A value is true or false, a
 * number or a text: NULL where it is "null". Without "=" the attribute has none. */
#include "pmix_test.h"

static void load(pmix_info_t *info, const char *attribute, const char *value)
{
    bool yes = strcmp(value, "true") == 0;
    char *end;
    uint32_t number = (uint32_t) strtoul(value, &end, 10);
    if (yes || strcmp(value, "false") == 0) {
        PMIX_INFO_LOAD(info, attribute, &yes, PMIX_BOOL);
    } else if (*value && !*end) {
        PMIX_INFO_LOAD(info, attribute, &number, PMIX_UINT32);
    } else {
        PMIX_INFO_LOAD(info, attribute, strcmp(value, "null") == 0 ? NULL : value, PMIX_STRING);
    }
}

/* ATTRIBUTE=VALUE, or ATTRIBUTE */
static void load_assignment(pmix_info_t *info, char *assignment)
{
    char *value = strchr(assignment, '=');
    if (value) {
        *value++ = '\0';
        load(info, assignment, value);
    } else {
        PMIX_INFO_CONSTRUCT(info);
        PMIX_LOAD_KEY(info->key, assignment);
    }
}

static pmix_status_t spawn(char **argv, int attributes)
{
    pmix_nspace_t children;
    pmix_app_t app;
    pmix_info_t *job;
    size_t job_count = 0;
    pmix_status_t status;
    PMIX_APP_CONSTRUCT(&app);
    app.maxprocs = atoi(argv[0]);
    app.cmd = strdup(argv[1]);
    PMIX_ARGV_APPEND(status, app.argv, argv[1]);
    expect(PMIX_SUCCESS, status, "an argument");
    PMIX_INFO_CREATE(app.info, (size_t) attributes + 1);
    PMIX_INFO_CREATE(job, (size_t) attributes + 1);
    for (int i = 0; i < attributes; i++) {
        bool whole = strncmp(argv[2 + i], "job:", 4) == 0;
        load_assignment(whole ? &job[job_count++] : &app.info[app.ninfo++],
                        argv[2 + i] + (whole ? 4 : 0));
    }
    status = PMIx_Spawn(job, job_count, &app, 1, children);
    PMIX_INFO_FREE(job, (size_t) attributes + 1);
    PMIX_APP_DESTRUCT(&app);
    return status;
}

int main(int argc, char **argv)
{
    check(argc >= 3, "arguments");
    begin();
    if (me.rank == 0) {
        printf("PMIx_Spawn: %s\n", PMIx_Error_string(spawn(argv + 1, argc - 3)));
    }
    return end("spawn_where");
}
