/* spawn PROGRAM: the first rank starts two more of this program, by its name and the folders where
 * it is to be looked for; they know whose they are, and parent and children connect and meet in a
 * fence. */
#include "pmix_test.h"

#include <libgen.h>

static bool is_spawned(pmix_proc_t *parent)
{
    pmix_proc_t job = proc_of(PMIX_RANK_WILDCARD);
    pmix_value_t *value = NULL;
    pmix_info_t optional;
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, NULL, PMIX_BOOL);
    pmix_status_t status = PMIx_Get(&job, PMIX_SPAWNED, &optional, 1, &value);
    if (status != PMIX_SUCCESS || !value->data.flag) {
        return false;
    }
    expect(PMIX_SUCCESS, PMIx_Get(&job, PMIX_PARENT_ID, NULL, 0, &value), "the parent");
    check(value->type == PMIX_PROC, "its name");
    *parent = *value->data.proc;
    return true;
}

static void start_children(char *program, pmix_nspace_t nspace)
{
    char folder[] = "/", folders[512], *arguments[] = {program, program, NULL};
    char *copy = strdup(program);
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(basename(copy));
    snprintf(folders, sizeof(folders), "/nonexistent:%s", dirname(copy));
    free(copy);
    for (int i = 0; arguments[i]; i++) {
        pmix_status_t status;
        PMIX_ARGV_APPEND(status, app.argv, arguments[i]);
        expect(PMIX_SUCCESS, status, "an argument");
    }
    app.maxprocs = 2;
    PMIX_INFO_CREATE(app.info, 2);
    app.ninfo = 2;
    PMIX_INFO_LOAD(&app.info[0], PMIX_WDIR, folder, PMIX_STRING);
    PMIX_INFO_LOAD(&app.info[1], PMIX_PREFIX, folders, PMIX_STRING);
    expect(PMIX_SUCCESS, PMIx_Spawn(NULL, 0, &app, 1, nspace), "PMIx_Spawn");
    PMIX_APP_DESTRUCT(&app);
}

static void meet(const pmix_proc_t *parent, const char *children)
{
    pmix_proc_t both[2] = {*parent};
    PMIX_LOAD_PROCID(&both[1], children, PMIX_RANK_WILDCARD);
    expect(PMIX_SUCCESS, PMIx_Connect(both, 2, NULL, 0), "connect");
    expect(PMIX_SUCCESS, PMIx_Fence(both, 2, NULL, 0), "a fence of two namespaces");
    expect(PMIX_SUCCESS, PMIx_Disconnect(both, 2, NULL, 0), "disconnect");
}

int main(int argc, char **argv)
{
    pmix_proc_t parent;
    pmix_nspace_t children;
    char folder[16] = "";
    check(argc == 2, "arguments");
    begin();
    if (is_spawned(&parent)) {
        check(size == 2 && parent.rank == 0, "a child's job and parent");
        check(getcwd(folder, sizeof(folder)) && strcmp(folder, "/") == 0, "its folder");
        meet(&parent, me.nspace);
        return end("child");
    }
    if (me.rank == 0) {
        start_children(argv[1], children);
        check(strncmp(children, me.nspace, strlen(me.nspace)) == 0, "the children's namespace");
        meet(&me, children);
    }
    return end("spawn");
}
