/* spawn_where COUNT PROGRAM [ATTRIBUTE=VALUE...]: the first rank starts so many of a program, with
 * these attributes, and says how that ended. A value is true or false, a number or a text. */
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
        PMIX_INFO_LOAD(info, attribute, value, PMIX_STRING);
    }
}

static pmix_status_t spawn(char **argv, int attributes)
{
    pmix_nspace_t children;
    pmix_app_t app;
    pmix_status_t status;
    PMIX_APP_CONSTRUCT(&app);
    app.maxprocs = atoi(argv[0]);
    app.cmd = strdup(argv[1]);
    PMIX_ARGV_APPEND(status, app.argv, argv[1]);
    expect(PMIX_SUCCESS, status, "an argument");
    PMIX_INFO_CREATE(app.info, (size_t) attributes + 1);
    app.ninfo = (size_t) attributes;
    for (int i = 0; i < attributes; i++) {
        char *value = strchr(argv[2 + i], '=');
        check(value, argv[2 + i]);
        *value++ = '\0';
        load(&app.info[i], argv[2 + i], value);
    }
    status = PMIx_Spawn(NULL, 0, &app, 1, children);
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
