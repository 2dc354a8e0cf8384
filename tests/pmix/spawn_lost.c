/* spawn_lost PROGRAM FOLDER: says "ready", and when FOLDER/go is there the first rank starts three
 * more of this program, whose node is lost meanwhile: that ends with an error. Then three others,
 * which have to be placed elsewhere. FOLDER/over ends the other ranks. */
#include "pmix_test.h"

static bool is_spawned(void)
{
    pmix_proc_t job = proc_of(PMIX_RANK_WILDCARD);
    pmix_value_t *value = NULL;
    pmix_info_t optional;
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, NULL, PMIX_BOOL);
    return PMIx_Get(&job, PMIX_SPAWNED, &optional, 1, &value) == PMIX_SUCCESS && value->data.flag;
}

static void wait_for(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (int i = 0; access(path, F_OK) != 0; i++) {
        check(i < 3000, path);
        usleep(10000);
    }
}

static pmix_status_t spawn(char *program)
{
    pmix_nspace_t nspace;
    pmix_app_t app;
    pmix_status_t status;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(program);
    app.maxprocs = 3;
    PMIX_ARGV_APPEND(status, app.argv, program);
    expect(PMIX_SUCCESS, status, "an argument");
    status = PMIx_Spawn(NULL, 0, &app, 1, nspace);
    PMIX_APP_DESTRUCT(&app);
    return status;
}

int main(int argc, char **argv)
{
    expect(PMIX_SUCCESS, PMIx_Init(&me, NULL, 0), "PMIx_Init");
    if (is_spawned()) {
        return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
    }
    check(argc == 3, "arguments");
    printf("ready\n");
    fflush(stdout);
    wait_for(argv[2], me.rank == 0 ? "go" : "over");
    if (me.rank == 0) {
        check(spawn(argv[1]) != PMIX_SUCCESS, "more ranks on a lost node");
        printf("the first failed\n");
        expect(PMIX_SUCCESS, spawn(argv[1]), "more ranks on the others");
        printf("the second went well\n");
        fflush(stdout);
        wait_for(argv[2], "over");
    }
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
