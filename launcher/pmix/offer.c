#include <config.h>

#include <launcher/pmix/offer.h>

#include <base/log.h>
#include <bootstrap/proto.h>
#include <errno.h>
#include <launcher/bind.h>
#include <launcher/daemon.h>
#include <launcher/pmix/exchange.h>
#include <launcher/pmix/guard.h>
#include <launcher/pmix/listener.h>
#include <launcher/pmix/starter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHM_PREFIX "/dev/shm/keel-"

struct rank_state {
    bool connected, finalized, ended;
};

/* A namespace: the ranks that the user started, or what one of them has spawned. It has copies of
 * the daemon's numbers, which grow when more is spawned, while libpmix may be starting. */
struct group {
    struct list link;
    char nspace[JOB_UUID_TEXT + 32];
    pmix_proc_t parent;
    uint32_t first;     /* the number of its rank 0 in the job */
    uint32_t app_first; /* the number of its first program */
    struct job_map map;
    uint32_t *app_of;              /* owned */
    struct pmix_program *programs; /* owned */
    struct pmix_job job;
};

/* A connection or another node's question that came before the server runs. */
struct waiting {
    struct list link;
    uint32_t number;
    int connection; /* -1: a question */
    pmix_done_fn *done;
    void *done_arg;
};

enum server_state { SERVER_NOT_STARTED, SERVER_RUNNING, SERVER_FAILED };

struct offer {
    struct daemon *daemon;
    char servers[JOB_UUID_TEXT + 32];
    char *folder;             /* owned: for libpmix's files and the ranks' */
    char *shm_folder;         /* owned: for Open MPI's shared memory; NULL: there is none */
    struct rank_state *ranks; /* owned, by number */
    cpu_set_t *cpus;          /* owned, by local rank; NULL: not bound */
    struct list groups;       /* the user's first */
    struct pmix_server server;
    struct pmix_host host;
    struct listener *listener;
    struct exchange *exchange;
    struct starter *starter;
    enum server_state state;
    const struct pmix_module *module;
    struct list waiting;
};

/* --- groups --- */

static struct group *find_group(struct offer *offer, const char *nspace)
{
    struct group *group;
    list_for_each (group, &offer->groups, struct group, link) {
        if (strcmp(group->nspace, nspace) == 0) {
            return group;
        }
    }
    return NULL;
}

static struct group *group_of(struct offer *offer, uint32_t number)
{
    struct group *group;
    list_for_each (group, &offer->groups, struct group, link) {
        if (number >= group->first && number - group->first < group->map.size) {
            return group;
        }
    }
    return NULL;
}

/* The name of a rank, whose number is one of the job's. */
static pmix_proc_t name_of(struct offer *offer, uint32_t number)
{
    pmix_proc_t name = {.rank = PMIX_RANK_INVALID};
    const struct group *group = group_of(offer, number);
    if (group) {
        PMIX_LOAD_PROCID(&name, group->nspace, number - group->first);
    }
    return name;
}

/* The number of a rank of this node; false: it is not one. */
static bool find_local(struct offer *offer, const char *nspace, uint32_t rank, uint32_t *number)
{
    const struct group *group = find_group(offer, nspace);
    if (!group || rank >= group->map.size || !local_is_here(offer->daemon, group->first + rank)) {
        return false;
    }
    *number = group->first + rank;
    return true;
}

static void group_free(struct group *group)
{
    free(group->map.node_of);
    free(group->map.local_rank_of);
    free(group->app_of);
    free(group->programs);
    free(group);
}

/* Within the group: counted node by node. */
static void count_local_ranks(struct job_map *map)
{
    for (uint32_t rank = 0; rank < map->size; rank++) {
        map->local_rank_of[rank] = 0;
        for (uint32_t before = rank; before-- > 0;) {
            if (map->node_of[before] == map->node_of[rank]) {
                map->local_rank_of[rank] = map->local_rank_of[before] + 1;
                break;
            }
        }
    }
}

/* Fills the maps from the daemon's launch. */
static int copy_map(struct group *group, const struct launch *launch, uint32_t count,
                    uint32_t app_count)
{
    struct job_map *map = &group->map;
    *map = (struct job_map){.size = count,
                            .node_count = launch->map.node_count,
                            .node_names = launch->map.node_names,
                            .daemon_of_node = launch->map.daemon_of_node};
    map->node_of = calloc(count, sizeof(*map->node_of));
    map->local_rank_of = calloc(count, sizeof(*map->local_rank_of));
    group->app_of = calloc(count, sizeof(*group->app_of));
    group->programs = calloc(app_count, sizeof(*group->programs));
    if (!map->node_of || !map->local_rank_of || !group->app_of || !group->programs) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        map->node_of[rank] = launch->map.node_of[group->first + rank];
        group->app_of[rank] = launch->app_of[group->first + rank] - group->app_first;
    }
    for (uint32_t app = 0; app < app_count; app++) {
        group->programs[app] =
            (struct pmix_program){.argv = launch->apps[group->app_first + app].argv,
                                  .wdir = launch->apps[group->app_first + app].wdir};
    }
    count_local_ranks(map);
    return ORTE_SUCCESS;
}

/* what: NULL for the ranks that the user started. */
static struct group *group_add(struct offer *offer, const struct spawned *what)
{
    const struct launch *launch = &offer->daemon->launch;
    struct group *group = calloc(1, sizeof(*group));
    if (!group) {
        return NULL;
    }
    const char *uuid = launch->map.uuid;
    uint32_t apps = what ? what->app_count : launch->app_count;
    group->first = what ? what->first : 0;
    group->app_first = what ? what->app_first : 0;
    if (copy_map(group, launch, what ? what->count : launch->map.size, apps) != ORTE_SUCCESS) {
        group_free(group);
        return NULL;
    }
    if (what) {
        snprintf(group->nspace, sizeof(group->nspace), "keel-%s.%u", uuid, what->number);
        group->parent = name_of(offer, what->parent);
    } else {
        snprintf(group->nspace, sizeof(group->nspace), "keel-%s", uuid);
    }
    group->job = (struct pmix_job){.nspace = group->nspace,
                                   .parent = what ? &group->parent : NULL,
                                   .map = &group->map,
                                   .daemon = offer->daemon->name.vpid,
                                   .node = offer->daemon->node,
                                   .apps = group->programs,
                                   .app_count = apps,
                                   .app_of = group->app_of,
                                   .cpus = what ? NULL : offer->cpus,
                                   .folder = offer->folder,
                                   .universe = launch->universe};
    list_append(&offer->groups, &group->link);
    return group;
}

/* --- what the module asks of the daemon --- */

static void host_post(void *arg, struct loop_task *task)
{
    struct offer *offer = arg;
    loop_post(offer->daemon->loop, task);
}

static void host_log(void *arg, bool error, const char *text)
{
    (void) arg;
    log_at(LOG_LAUNCHER, error ? LOG_ERROR : LOG_INFO, "PMIx: %s", text);
}

static void host_connected(void *arg, const pmix_proc_t *rank)
{
    struct offer *offer = arg;
    uint32_t number;
    if (find_local(offer, rank->nspace, rank->rank, &number)) {
        offer->ranks[number].connected = true;
        offer->ranks[number].finalized = false;
        local_joined(offer->daemon, number, "MPI_Init");
    }
}

static void host_finalized(void *arg, const pmix_proc_t *rank)
{
    struct offer *offer = arg;
    uint32_t number;
    if (find_local(offer, rank->nspace, rank->rank, &number)) {
        offer->ranks[number].finalized = true;
    }
}

static void host_abort(void *arg, const pmix_proc_t *rank, int status, const char *reason)
{
    struct offer *offer = arg;
    uint32_t number;
    if (find_local(offer, rank->nspace, rank->rank, &number)) {
        daemon_report(offer->daemon, proto_new(REPORT_ABORT, "uis", number, (int32_t) status,
                                               strcmp(reason, "N/A") == 0 ? "MPI_Abort" : reason));
    }
}

static void host_gather(void *arg, const char *purpose, const pmix_proc_t *procs, size_t count,
                        const void *data, size_t size, pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    exchange_gather(offer->exchange, purpose, procs, count, data, size, done, done_arg);
}

static void host_modex(void *arg, const pmix_proc_t *rank, pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    exchange_modex(offer->exchange, rank, done, done_arg);
}

static void host_publish(void *arg, const pmix_proc_t *publisher, struct pmix_scope scope,
                         const struct pmix_item *items, size_t count, pmix_done_fn *done,
                         void *done_arg)
{
    struct offer *offer = arg;
    exchange_publish(offer->exchange, publisher, scope, items, count, done, done_arg);
}

static void host_lookup(void *arg, const pmix_proc_t *seeker, pmix_data_range_t range, char **keys,
                        uint32_t wait, uint32_t timeout_s, pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    exchange_lookup(offer->exchange, seeker, range, keys, wait, timeout_s, done, done_arg);
}

static void host_unpublish(void *arg, const pmix_proc_t *publisher, pmix_data_range_t range,
                           char **keys, pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    exchange_unpublish(offer->exchange, publisher, range, keys, done, done_arg);
}

static void host_spawn(void *arg, const pmix_proc_t *parent, const struct pmix_program *programs,
                       size_t count, pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    uint32_t number;
    if (!find_local(offer, parent->nspace, parent->rank, &number)) {
        done(done_arg, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    exchange_spawn(offer->exchange, number, programs, count, done, done_arg);
}

static void host_tell(void *arg, const char *text)
{
    struct offer *offer = arg;
    daemon_tell(offer->daemon, "%s", text);
}

static void host_notify(void *arg, const void *event, size_t size)
{
    struct offer *offer = arg;
    exchange_notify(offer->exchange, event, size);
}

static const struct pmix_host host_ops = {
    .post = host_post,
    .log = host_log,
    .connected = host_connected,
    .finalized = host_finalized,
    .abort = host_abort,
    .gather = host_gather,
    .modex = host_modex,
    .publish = host_publish,
    .lookup = host_lookup,
    .unpublish = host_unpublish,
    .spawn = host_spawn,
    .tell = host_tell,
    .notify = host_notify,
};

/* --- what comes before and after the start --- */

static void local_modex(struct offer *offer, uint32_t number, pmix_done_fn *done, void *done_arg)
{
    pmix_proc_t name = name_of(offer, number);
    offer->module->local_modex(&name, done, done_arg);
}

static void hand_over(uint32_t number, int connection)
{
    int error = guard_push(connection);
    if (error != 0) {
        close(connection);
        log_error(LOG_LAUNCHER, "PMIx: the connection of rank %u is lost: %s", number,
                  strerror(-error));
    }
}

static void wait_for_server(struct offer *offer, const struct waiting *what)
{
    struct waiting *waiting = malloc(sizeof(*waiting));
    if (waiting) {
        *waiting = *what;
        list_append(&offer->waiting, &waiting->link);
    } else if (what->connection >= 0) {
        close(what->connection);
    } else {
        what->done(what->done_arg, PMIX_ERR_NOMEM, NULL, 0);
    }
    starter_begin(offer->starter);
}

/* The server runs, or never will. */
static void settle_waiting(struct offer *offer)
{
    struct waiting *waiting;
    list_for_each (waiting, &offer->waiting, struct waiting, link) {
        list_remove(&waiting->link);
        bool running = offer->state == SERVER_RUNNING;
        if (waiting->connection >= 0 && running) {
            hand_over(waiting->number, waiting->connection);
        } else if (waiting->connection >= 0) {
            close(waiting->connection);
        } else if (running) {
            local_modex(offer, waiting->number, waiting->done, waiting->done_arg);
        } else {
            waiting->done(waiting->done_arg, PMIX_ERR_UNREACH, NULL, 0);
        }
        free(waiting);
    }
}

/* The job cannot go on. */
static void break_job(struct offer *offer, const char *reason)
{
    char text[512];
    struct waiting *waiting;
    uint32_t number = UINT32_MAX; /* the first that waits */
    list_for_each (waiting, &offer->waiting, struct waiting, link) {
        number = waiting->number < number ? waiting->number : number;
    }
    snprintf(text, sizeof(text), "called MPI_Init, but PMIx is not offered: %s", reason);
    local_broken(offer->daemon, number, text);
}

/* Tells the running server about a group that was spawned. */
static bool introduce(struct offer *offer, const struct group *group)
{
    char reason[256] = "";
    if (offer->module->add_job(&group->job, reason, sizeof(reason)) == 0) {
        return true;
    }
    log_error(LOG_LAUNCHER, "PMIx: what was spawned cannot be registered: %s", reason);
    return false;
}

static void started(void *arg, const struct pmix_module *module, const char *reason)
{
    struct offer *offer = arg;
    struct group *group;
    offer->module = module;
    offer->state = module ? SERVER_RUNNING : SERVER_FAILED;
    if (!module) {
        break_job(offer, reason);
    }
    list_for_each (group, &offer->groups, struct group, link) {
        if (module && group->first > 0) {
            (void) introduce(offer, group);
        }
    }
    settle_waiting(offer);
}

static const char *check_hello(void *arg, const struct vet_hello *hello)
{
    struct offer *offer = arg;
    uint32_t number;
    if (hello->uid != geteuid() || hello->gid != getegid()) {
        return "its credential names another user or group";
    }
    if (!find_group(offer, hello->nspace)) {
        return "it names another job";
    }
    if (!find_local(offer, hello->nspace, hello->rank, &number) || offer->ranks[number].ended) {
        return "it names no living rank of this node";
    }
    return offer->state == SERVER_FAILED ? "PMIx is not offered" : NULL;
}

static void arrived(void *arg, const struct vet_hello *hello, int connection)
{
    struct offer *offer = arg;
    uint32_t number = find_group(offer, hello->nspace)->first + hello->rank;
    if (offer->state == SERVER_RUNNING) {
        hand_over(number, connection);
        return;
    }
    struct waiting waiting = {.number = number, .connection = connection};
    wait_for_server(offer, &waiting);
}

static const struct listener_ops listener_ops = {.check = check_hello, .arrived = arrived};

static void asked_for_modex(void *arg, uint32_t number, pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    struct waiting waiting = {
        .number = number, .connection = -1, .done = done, .done_arg = done_arg};
    switch (offer->state) {
    case SERVER_RUNNING:
        local_modex(offer, number, done, done_arg);
        break;
    case SERVER_FAILED:
        done(done_arg, PMIX_ERR_UNREACH, NULL, 0);
        break;
    case SERVER_NOT_STARTED:
        wait_for_server(offer, &waiting);
        break;
    }
}

static void event_came(void *arg, const void *event, size_t size)
{
    struct offer *offer = arg;
    if (offer->state == SERVER_RUNNING) {
        offer->module->event(event, size);
    }
}

static bool find_numbers(void *arg, const char *nspace, uint32_t *first, uint32_t *count)
{
    const struct group *group = find_group(arg, nspace);
    if (group) {
        *first = group->first;
        *count = group->map.size;
    }
    return group != NULL;
}

static const struct exchange_ops exchange_ops = {
    .find = find_numbers, .modex = asked_for_modex, .event = event_came};

/* --- the job's start --- */

static uint32_t local_count(const struct daemon *daemon)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < daemon->launch.map.size; rank++) {
        count += local_is_here(daemon, rank);
    }
    return count;
}

/* Where ranks are bound, as local.c binds them. Without it they are only told less. */
static cpu_set_t *make_cpus(const struct daemon *daemon, uint32_t count)
{
    struct bind_map cores;
    char reason[256];
    if (daemon->launch.bind != BIND_CORE ||
        bind_map_make(&cores, reason, sizeof(reason)) != ORTE_SUCCESS) {
        return NULL;
    }
    cpu_set_t *cpus = calloc(count, sizeof(*cpus));
    for (uint32_t i = 0; cpus && i < count; i++) {
        cpus[i] = *bind_choose(&cores, i);
    }
    bind_map_fini(&cores);
    return cpus;
}

static int name_things(struct offer *offer)
{
    const struct daemon *daemon = offer->daemon;
    const char *uuid = daemon->launch.map.uuid;
    snprintf(offer->servers, sizeof(offer->servers), "keel-%s-server", uuid);
    if (asprintf(&offer->folder, "%s/pmix", daemon->session) < 0) {
        offer->folder = NULL;
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    return ORTE_SUCCESS;
}

/* Where Open MPI shall put shared memory files; the shepherd removes it. Without /dev/shm it
 * chooses itself. */
static int make_shm_folder(struct offer *offer)
{
    const struct daemon *daemon = offer->daemon;
    char *path;
    if (asprintf(&path, SHM_PREFIX "%s-%u", daemon->launch.map.uuid, daemon->name.vpid) < 0) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    shepherd_guard(daemon->shepherd, path); /* before it is there */
    if (mkdir(path, 0700) < 0) {
        log_info(LOG_LAUNCHER, "cannot make %s: %s", path, strerror(errno));
        free(path);
        return ORTE_SUCCESS;
    }
    offer->shm_folder = path;
    return ORTE_SUCCESS;
}

static int describe_job(struct offer *offer)
{
    struct daemon *daemon = offer->daemon;
    offer->ranks = calloc(daemon->launch.map.size, sizeof(*offer->ranks));
    offer->cpus = make_cpus(daemon, local_count(daemon));
    offer->server = (struct pmix_server){.nspace = offer->servers,
                                         .daemon = daemon->name.vpid,
                                         .node = daemon->node,
                                         .folder = offer->folder,
                                         .uid = geteuid(),
                                         .gid = getegid()};
    offer->host = host_ops;
    offer->host.arg = offer;
    return offer->ranks && group_add(offer, NULL) ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* The user's ranks. */
static struct group *first_group(struct offer *offer)
{
    return container_of(offer->groups.next, struct group, link);
}

static void job_end(void *state);

static int job_start(void **state, struct daemon *daemon, char *reason, size_t reason_size)
{
    struct offer *offer = calloc(1, sizeof(*offer));
    if (!offer) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    offer->daemon = daemon;
    list_init(&offer->waiting);
    list_init(&offer->groups);
    int status = name_things(offer);
    if (status == ORTE_SUCCESS) {
        status = make_shm_folder(offer);
    }
    if (status == ORTE_SUCCESS) {
        status = describe_job(offer);
    }
    if (status == ORTE_SUCCESS) {
        status = listener_create(&offer->listener, daemon->loop, local_count(daemon), &listener_ops,
                                 offer, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status =
            starter_create(&offer->starter, daemon->loop, listener_fd(offer->listener),
                           &offer->host, &offer->server, &first_group(offer)->job, started, offer);
    }
    if (status == ORTE_SUCCESS) {
        status = exchange_create(&offer->exchange, daemon, &exchange_ops, offer);
    }
    if (status != ORTE_SUCCESS) {
        job_end(offer);
        return status;
    }
    *state = offer;
    return ORTE_SUCCESS;
}

static void job_end(void *state)
{
    struct offer *offer = state;
    listener_destroy(offer->listener);
    if (offer->exchange) {
        exchange_close(offer->exchange); /* while the server can take the answers */
    }
    starter_end(offer->starter);
    offer->state = SERVER_FAILED;
    settle_waiting(offer);
    exchange_destroy(offer->exchange);
    free(offer->folder);
    free(offer->shm_folder);
    free(offer->ranks);
    struct group *group;
    list_for_each (group, &offer->groups, struct group, link) {
        list_remove(&group->link);
        group_free(group);
    }
    free(offer->cpus);
    free(offer);
}

/* --- environment: docs/mpi.md has the reasons --- */

/* Where Open MPI puts shared memory files. It names them after host and user, which nodes that are
 * simulated on one host share, and leaves them when it is killed. */
static const char *const backing_folders[] = {
    "OMPI_MCA_btl_vader_backing_directory=",
    "OMPI_MCA_osc_rdma_backing_directory=",
    "OMPI_MCA_osc_sm_backing_directory=",
    "OMPI_MCA_shmem_mmap_backing_file_base_dir=",
};

/* Has the user chosen this one? One of an outer keelrun does not count. */
static bool is_chosen(const struct vars *vars, const char *folder)
{
    size_t length = strlen(folder);
    for (size_t i = 0; vars->strings && vars->strings[i]; i++) {
        if (strncmp(vars->strings[i], folder, length) == 0) {
            return strncmp(vars->strings[i] + length, SHM_PREFIX, strlen(SHM_PREFIX)) != 0;
        }
    }
    return false;
}

static void add_backing_folders(const struct offer *offer, struct vars *vars)
{
    for (size_t i = 0; i < sizeof(backing_folders) / sizeof(*backing_folders); i++) {
        if (offer->shm_folder && !is_chosen(vars, backing_folders[i])) {
            vars_format(vars, "%s%s", backing_folders[i], offer->shm_folder);
        }
    }
}

static void add_pmix_vars(const struct offer *offer, const struct group *group, struct vars *vars)
{
    static const char *const versions[] = {"41", "4", "3", "2", "21"};
    vars_format(vars, "PMIX_NAMESPACE=%s", group->nspace);
    for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
        vars_format(vars, "PMIX_SERVER_URI%s=%s.%u;tcp4://127.0.0.1:%u", versions[i],
                    offer->servers, offer->server.daemon, listener_port(offer->listener));
    }
    vars_format(vars, "PMIX_SECURITY_MODE=native");
    vars_format(vars, "PMIX_BFROP_BUFFER_TYPE=PMIX_BFROP_BUFFER_NON_DESC");
    vars_format(vars, "PMIX_GDS_MODULE=hash");
    vars_format(vars, "PMIX_SERVER_TMPDIR=%s", offer->folder);
    vars_format(vars, "PMIX_SYSTEM_TMPDIR=%s", offer->folder);
    vars_format(vars, "PMIX_HOSTNAME=%s", offer->server.node);
    vars_format(vars, "PMIX_VERSION=%s", PMIX_SERVER_VERSION);
}

static uint32_t local_size(const struct group *group)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < group->map.size; rank++) {
        count += group->map.daemon_of_node[group->map.node_of[rank]] == group->job.daemon;
    }
    return count;
}

static struct group *group_of_app(struct offer *offer, uint32_t app)
{
    struct group *group;
    list_for_each (group, &offer->groups, struct group, link) {
        if (app >= group->app_first && app - group->app_first < group->job.app_count) {
            return group;
        }
    }
    return NULL;
}

static void app_vars(void *state, uint32_t app, struct vars *vars)
{
    struct offer *offer = state;
    const struct group *group = group_of_app(offer, app);
    if (!group) {
        return;
    }
    add_pmix_vars(offer, group, vars);
    vars_format(vars, "JSM_JSRUN_PORT=1");
    vars_format(vars, "OMPI_COMM_WORLD_SIZE=%u", group->map.size);
    vars_format(vars, "OMPI_COMM_WORLD_LOCAL_SIZE=%u", local_size(group));
    if (offer->daemon->launch.yield || group->first > 0) { /* the spawned are beyond the plan */
        vars_format(vars, "OMPI_MCA_mpi_oversubscribe=1");
    }
    add_backing_folders(offer, vars);
}

static void rank_vars(void *state, uint32_t number, struct vars *vars)
{
    const struct group *group = group_of(state, number);
    if (!group) {
        return;
    }
    uint32_t rank = number - group->first, local_rank = group->map.local_rank_of[rank];
    vars_format(vars, "PMIX_RANK=%u", rank);
    vars_format(vars, "OMPI_COMM_WORLD_RANK=%u", rank);
    vars_format(vars, "OMPI_COMM_WORLD_LOCAL_RANK=%u", local_rank);
    vars_format(vars, "OMPI_COMM_WORLD_NODE_RANK=%u", local_rank);
}

/* --- ranks --- */

/* Makes room for more ranks, and makes them known, before they are started. */
static int spawned(void *state, const struct spawned *what)
{
    struct offer *offer = state;
    uint32_t size = what->first + what->count;
    struct rank_state *ranks = realloc(offer->ranks, size * sizeof(*ranks));
    if (!ranks) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    memset(ranks + what->first, 0, what->count * sizeof(*ranks));
    offer->ranks = ranks;
    const struct group *group = group_add(offer, what);
    if (!group) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    return offer->state != SERVER_RUNNING || introduce(offer, group) ? ORTE_SUCCESS : ORTE_ERROR;
}

static void rank_started(void *state, uint32_t rank, pid_t pid, int fd)
{
    (void) state;
    (void) rank;
    (void) pid;
    (void) fd;
}

static const char *rank_ended(void *state, uint32_t rank, int wait_status)
{
    struct offer *offer = state;
    struct rank_state *ended = &offer->ranks[rank];
    (void) wait_status;
    ended->ended = true;
    if (!ended->connected || ended->finalized) {
        return NULL;
    }
    if (offer->state == SERVER_RUNNING) {
        pmix_proc_t name = name_of(offer, rank);
        offer->module->rank_failed(&name);
    }
    return "MPI_Finalize";
}

const struct service_ops pmix_service = {
    .name = "PMIx",
    .job_start = job_start,
    .app_vars = app_vars,
    .rank_vars = rank_vars,
    .spawned = spawned,
    .rank_started = rank_started,
    .rank_ended = rank_ended,
    .job_end = job_end,
};
