/* MPI_Comm_spawn: more processes, as a namespace of their own. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct spawn {
    struct loop_task task;
    struct inside_task answer;
    pmix_proc_t parent;
    struct pmix_program *programs; /* owned; the strings are libpmix's, until it is answered */
    size_t count;
    pmix_spawn_cbfunc_t done;
    void *cbdata;
    pmix_status_t status; /* the answer */
    pmix_nspace_t nspace;
};

static void free_texts(char **texts)
{
    for (char **text = texts; texts && *text; text++) {
        free(*text);
    }
    free(texts);
}

static void spawn_free(struct spawn *spawn)
{
    for (size_t i = 0; i < spawn->count; i++) {
        free((void *) (uintptr_t) spawn->programs[i].argv);
        free_texts(spawn->programs[i].info);
    }
    free(spawn->programs);
    free(spawn);
}

static void answer(struct inside_task *task, bool alive)
{
    struct spawn *spawn = container_of(task, struct spawn, answer);
    if (alive) {
        spawn->done(spawn->status, spawn->nspace, spawn->cbdata);
    }
    spawn_free(spawn);
}

static void spawned(void *arg, pmix_status_t status, const void *data, size_t size)
{
    struct spawn *spawn = arg;
    spawn->status = status;
    if (status == PMIX_SUCCESS && size <= PMIX_MAX_NSLEN) {
        memcpy(spawn->nspace, data, size);
        spawn->nspace[size] = '\0';
    }
    worker_do_inside(&spawn->answer);
}

static void run_spawn(struct loop_task *task)
{
    struct spawn *spawn = container_of(task, struct spawn, task);
    pmix_host->spawn(pmix_host->arg, &spawn->parent, spawn->programs, spawn->count, spawned, spawn);
}

/* The program's own name first, whatever argv begins with. */
static char **make_argv(const pmix_app_t *app)
{
    size_t count = 0;
    while (app->argv && app->argv[count]) {
        count++;
    }
    char **argv = calloc(count + 2, sizeof(*argv));
    if (argv) {
        argv[0] = app->cmd;
        for (size_t i = 1; i < count; i++) {
            argv[i] = app->argv[i];
        }
    }
    return argv;
}

/* A program's, or else the whole job's; NULL: there is none. */
static const pmix_info_t *find_info(const pmix_app_t *app, const pmix_info_t info[],
                                    size_t info_count, const char *key)
{
    const pmix_info_t *found = module_find(app->info, app->ninfo, key);
    return found ? found : module_find(info, info_count, key);
}

/* The same, of a text. */
static const char *find_text(const pmix_app_t *app, const pmix_info_t info[], size_t info_count,
                             const char *key)
{
    const pmix_info_t *found = find_info(app, info, info_count, key);
    return found && found->value.type == PMIX_STRING ? found->value.data.string : NULL;
}

/* What says where ranks go, as MPI_Comm_spawn calls it. The HNP says which of it there is. */
static const struct place {
    const char *attribute, *key;
    bool flag;
} places[] = {
    {PMIX_HOST, "host", false},
    {PMIX_HOSTFILE, "hostfile", false},
    {PMIX_ADD_HOST, "add-host", false},
    {PMIX_ADD_HOSTFILE, "add-hostfile", false},
    {PMIX_MAPBY, "map_by", false},
    {PMIX_PPR, "ppr", false},
    {PMIX_RANKBY, "rank_by", false},
    {PMIX_BINDTO, "bind_to", false},
    {"pmix.mapper", "mapper", false},
    {PMIX_CPUS_PER_PROC, "cpus-per-proc", false},
    {PMIX_CPU_LIST, "cpu-list", false},
    {PMIX_NO_OVERSUBSCRIBE, "no-oversubscribe", true},
    {PMIX_NO_PROCS_ON_HEAD, "no-procs-on-head", true},
    {PMIX_REPORT_BINDINGS, "report-bindings", true},
    {PMIX_DISPLAY_MAP, "display-map", true},
    {PMIX_DISPLAY_ALLOCATION, "display-allocation", true},
    {PMIX_DISPLAY_TOPOLOGY, "display-topology", false},
};
#define PLACES (sizeof(places) / sizeof(*places))

/* KEY=VALUE; of a type that no such attribute has, the type, which the HNP refuses. NULL: no
 * memory. */
static char *make_assignment(const struct place *place, const pmix_value_t *value)
{
    const char *key = place->key;
    char *text = NULL;
    int size;
    if (place->flag && PMIX_CHECK_TRUE(value)) {
        size = asprintf(&text, "%s=true", key);
        return size < 0 ? NULL : text;
    }
    switch (value->type) {
    case PMIX_STRING:
        size = asprintf(&text, "%s=%s", key, value->data.string ? value->data.string : "");
        break;
    case PMIX_UINT32:
        size = asprintf(&text, "%s=%u", key, value->data.uint32);
        break;
    case PMIX_INT:
        size = asprintf(&text, "%s=%d", key, value->data.integer);
        break;
    default:
        size = asprintf(&text, "%s=%s", key, PMIx_Data_type_string(value->type));
    }
    return size < 0 ? NULL : text;
}

/* NULL: no memory. */
static char **make_info(const pmix_app_t *app, const pmix_info_t info[], size_t info_count)
{
    size_t used = 0;
    char **made = calloc(PLACES + 1, sizeof(*made));
    for (size_t i = 0; i < PLACES && made; i++) {
        const pmix_info_t *found = find_info(app, info, info_count, places[i].attribute);
        if (!found || (places[i].flag && pmix_check_true(&found->value) == PMIX_BOOL_FALSE)) {
            continue;
        }
        made[used] = make_assignment(&places[i], &found->value);
        if (!made[used++]) {
            free_texts(made);
            return NULL;
        }
    }
    return made;
}

/* info: the whole job's, which a program's own overrules. Without a cwd of its own a program has
 * the parent's, for libpmix sets it. */
static pmix_status_t add_program(struct spawn *spawn, const pmix_app_t *app,
                                 const pmix_info_t info[], size_t info_count)
{
    const char *wdir = find_text(app, info, info_count, PMIX_WDIR);
    if (!app->cmd || app->maxprocs < 1) {
        return PMIX_ERR_BAD_PARAM;
    }
    char **argv = make_argv(app);
    if (!argv) {
        return PMIX_ERR_NOMEM;
    }
    struct pmix_program *program = &spawn->programs[spawn->count++];
    *program = (struct pmix_program){.argv = argv,
                                     .wdir = wdir ? wdir : app->cwd,
                                     .path = find_text(app, info, info_count, PMIX_PREFIX),
                                     .env = app->env,
                                     .count = (uint32_t) app->maxprocs};
    program->info = make_info(app, info, info_count);
    return program->info ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
}

pmix_status_t up_spawn(const pmix_proc_t *rank, const pmix_info_t info[], size_t info_count,
                       const pmix_app_t apps[], size_t app_count, pmix_spawn_cbfunc_t done,
                       void *cbdata)
{
    struct spawn *spawn = calloc(1, sizeof(*spawn));
    if (!spawn || !(spawn->programs = calloc(app_count + 1, sizeof(*spawn->programs)))) {
        free(spawn);
        return PMIX_ERR_NOMEM;
    }
    spawn->task.run = run_spawn;
    spawn->answer.run = answer;
    spawn->parent = *rank;
    spawn->done = done;
    spawn->cbdata = cbdata;
    pmix_status_t status = app_count > 0 ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    for (size_t i = 0; i < app_count && status == PMIX_SUCCESS; i++) {
        status = add_program(spawn, &apps[i], info, info_count);
    }
    if (status != PMIX_SUCCESS) {
        spawn_free(spawn);
        return status;
    }
    module_post(&spawn->task);
    return PMIX_SUCCESS;
}
