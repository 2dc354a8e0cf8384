/* spawn_where COUNT PROGRAM [ATTRIBUTE=VALUE...]: the first rank starts so many of a program, with
 * these attributes, and says how that ended. */
#include "pmix_test.h"

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
        PMIX_INFO_LOAD(&app.info[i], argv[2 + i], value, PMIX_STRING);
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
