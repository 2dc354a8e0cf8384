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

#define SHARED_MEMORY "/dev/shm"
#define SHM_PREFIX SHARED_MEMORY "/keel-"

struct rank_state {
    bool connected, finalized, ended;
};

/* A connection or another node's question that came before the server runs. */
struct waiting {
    struct list link;
    uint32_t rank;
    int connection; /* -1: a question */
    pmix_done_fn *done;
    void *done_arg;
};

enum server_state { SERVER_NOT_STARTED, SERVER_RUNNING, SERVER_FAILED };

struct offer {
    struct daemon *daemon;
    char nspace[JOB_UUID_TEXT + 16], servers[JOB_UUID_TEXT + 16];
    char *folder;              /* owned: for libpmix's files and the ranks' */
    char *shm_folder;          /* owned: for Open MPI's shared memory; NULL: there is none */
    struct rank_state *ranks;  /* owned, by rank */
    struct pmix_program *apps; /* owned */
    cpu_set_t *cpus;           /* owned, by local rank; NULL: not bound */
    struct pmix_job job;
    struct pmix_server server;
    struct pmix_host host;
    struct listener *listener;
    struct exchange *exchange;
    struct starter *starter;
    enum server_state state;
    const struct pmix_module *module;
    struct list waiting;
};

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

static struct rank_state *rank_of(struct offer *offer, const pmix_proc_t *rank)
{
    bool known =
        strcmp(rank->nspace, offer->nspace) == 0 && local_is_here(offer->daemon, rank->rank);
    return known ? &offer->ranks[rank->rank] : NULL;
}

static void host_connected(void *arg, const pmix_proc_t *rank)
{
    struct offer *offer = arg;
    struct rank_state *state = rank_of(offer, rank);
    if (state) {
        state->connected = true;
        state->finalized = false;
        local_joined(offer->daemon, rank->rank, "MPI_Init");
    }
}

static void host_finalized(void *arg, const pmix_proc_t *rank)
{
    struct rank_state *state = rank_of(arg, rank);
    if (state) {
        state->finalized = true;
    }
}

static void host_abort(void *arg, const pmix_proc_t *rank, int status, const char *reason)
{
    struct offer *offer = arg;
    if (rank_of(offer, rank)) {
        daemon_report(offer->daemon,
                      proto_new(REPORT_ABORT, "uis", (uint32_t) rank->rank, (int32_t) status,
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
    .tell = host_tell,
    .notify = host_notify,
};

/* --- what comes before and after the start --- */

static void local_modex(struct offer *offer, uint32_t rank, pmix_done_fn *done, void *done_arg)
{
    pmix_proc_t name;
    PMIX_LOAD_PROCID(&name, offer->nspace, rank);
    offer->module->local_modex(&name, done, done_arg);
}

static void hand_over(uint32_t rank, int connection)
{
    int error = guard_push(connection);
    if (error != 0) {
        close(connection);
        log_error(LOG_LAUNCHER, "PMIx: the connection of rank %u is lost: %s", rank,
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
            hand_over(waiting->rank, waiting->connection);
        } else if (waiting->connection >= 0) {
            close(waiting->connection);
        } else if (running) {
            local_modex(offer, waiting->rank, waiting->done, waiting->done_arg);
        } else {
            waiting->done(waiting->done_arg, PMIX_ERR_UNREACH, NULL, 0);
        }
        free(waiting);
    }
}

static void started(void *arg, const struct pmix_module *module, const char *reason)
{
    struct offer *offer = arg;
    offer->module = module;
    offer->state = module ? SERVER_RUNNING : SERVER_FAILED;
    if (!module) {
        char text[512];
        struct waiting *waiting;
        uint32_t rank = UINT32_MAX;
        list_for_each (waiting, &offer->waiting, struct waiting, link) {
            rank = waiting->rank < rank ? waiting->rank : rank;
        }
        snprintf(text, sizeof(text), "called MPI_Init, but PMIx is not offered: %s", reason);
        local_broken(offer->daemon, rank, text);
    }
    settle_waiting(offer);
}

static const char *check_hello(void *arg, const struct vet_hello *hello)
{
    struct offer *offer = arg;
    if (hello->uid != geteuid() || hello->gid != getegid()) {
        return "its credential names another user or group";
    }
    if (strcmp(hello->nspace, offer->nspace) != 0) {
        return "it names another job";
    }
    if (!local_is_here(offer->daemon, hello->rank) || offer->ranks[hello->rank].ended) {
        return "it names no living rank of this node";
    }
    return offer->state == SERVER_FAILED ? "PMIx is not offered" : NULL;
}

/* Open MPI's shared memory files go into a folder that the shepherd removes. */
static void make_shm_folder(struct offer *offer)
{
    if (offer->shm_folder && mkdir(offer->shm_folder, 0700) < 0 && errno != EEXIST) {
        log_error(LOG_LAUNCHER, "cannot make %s: %s", offer->shm_folder, strerror(errno));
    }
}

static void arrived(void *arg, const struct vet_hello *hello, int connection)
{
    struct offer *offer = arg;
    if (offer->state == SERVER_RUNNING) {
        hand_over(hello->rank, connection);
        return;
    }
    if (list_empty(&offer->waiting)) {
        make_shm_folder(offer);
    }
    struct waiting waiting = {.rank = hello->rank, .connection = connection};
    wait_for_server(offer, &waiting);
}

static const struct listener_ops listener_ops = {.check = check_hello, .arrived = arrived};

static void asked_for_modex(void *arg, uint32_t rank, pmix_done_fn *done, void *done_arg)
{
    struct offer *offer = arg;
    struct waiting waiting = {.rank = rank, .connection = -1, .done = done, .done_arg = done_arg};
    switch (offer->state) {
    case SERVER_RUNNING:
        local_modex(offer, rank, done, done_arg);
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

static const struct exchange_ops exchange_ops = {.modex = asked_for_modex, .event = event_came};

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
    snprintf(offer->nspace, sizeof(offer->nspace), "keel-%s", uuid);
    snprintf(offer->servers, sizeof(offer->servers), "keel-%s-server", uuid);
    if (asprintf(&offer->folder, "%s/pmix", daemon->session) < 0) {
        offer->folder = NULL;
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (access(SHARED_MEMORY, W_OK) == 0 &&
        asprintf(&offer->shm_folder, SHM_PREFIX "%s-%u", uuid, daemon->name.vpid) < 0) {
        offer->shm_folder = NULL;
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (offer->shm_folder) {
        shepherd_guard(daemon->shepherd, offer->shm_folder);
    }
    return ORTE_SUCCESS;
}

static int describe_job(struct offer *offer)
{
    struct daemon *daemon = offer->daemon;
    const struct launch *launch = &daemon->launch;
    offer->ranks = calloc(launch->map.size, sizeof(*offer->ranks));
    offer->apps = calloc(launch->app_count, sizeof(*offer->apps));
    if (!offer->ranks || !offer->apps) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < launch->app_count; i++) {
        offer->apps[i] = (struct pmix_program){launch->apps[i].argv, launch->apps[i].wdir};
    }
    offer->cpus = make_cpus(daemon, local_count(daemon));
    offer->job = (struct pmix_job){.nspace = offer->nspace,
                                   .map = &launch->map,
                                   .daemon = daemon->name.vpid,
                                   .node = daemon->node,
                                   .apps = offer->apps,
                                   .app_count = launch->app_count,
                                   .app_of = launch->app_of,
                                   .cpus = offer->cpus,
                                   .folder = offer->folder,
                                   .universe = launch->universe};
    offer->server = (struct pmix_server){.nspace = offer->servers,
                                         .daemon = daemon->name.vpid,
                                         .node = daemon->node,
                                         .folder = offer->folder,
                                         .uid = geteuid(),
                                         .gid = getegid()};
    offer->host = host_ops;
    offer->host.arg = offer;
    return ORTE_SUCCESS;
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
    int status = name_things(offer);
    if (status == ORTE_SUCCESS) {
        status = describe_job(offer);
    }
    if (status == ORTE_SUCCESS) {
        status = listener_create(&offer->listener, daemon->loop, local_count(daemon), &listener_ops,
                                 offer, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = starter_create(&offer->starter, daemon->loop, listener_fd(offer->listener),
                                &offer->host, &offer->server, &offer->job, started, offer);
    }
    if (status == ORTE_SUCCESS) {
        status = exchange_create(&offer->exchange, daemon, offer->nspace, &exchange_ops, offer);
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
    free(offer->apps);
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
    for (size_t i = 0; i < vars->count; i++) {
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

static void add_pmix_vars(const struct offer *offer, struct vars *vars)
{
    static const char *const versions[] = {"41", "4", "3", "2", "21"};
    vars_format(vars, "PMIX_NAMESPACE=%s", offer->nspace);
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

static void app_vars(void *state, uint32_t app, struct vars *vars)
{
    struct offer *offer = state;
    const struct daemon *daemon = offer->daemon;
    (void) app;
    add_pmix_vars(offer, vars);
    vars_format(vars, "JSM_JSRUN_PORT=1");
    vars_format(vars, "OMPI_COMM_WORLD_SIZE=%u", daemon->launch.map.size);
    vars_format(vars, "OMPI_COMM_WORLD_LOCAL_SIZE=%u", local_count(daemon));
    vars_format(vars, "OMPI_UNIVERSE_SIZE=%u", daemon->launch.universe);
    if (daemon->launch.yield) {
        vars_format(vars, "OMPI_MCA_mpi_oversubscribe=1");
    }
    add_backing_folders(offer, vars);
}

static void rank_vars(void *state, uint32_t rank, struct vars *vars)
{
    struct offer *offer = state;
    uint32_t local_rank = offer->daemon->launch.map.local_rank_of[rank];
    vars_format(vars, "PMIX_RANK=%u", rank);
    vars_format(vars, "OMPI_COMM_WORLD_RANK=%u", rank);
    vars_format(vars, "OMPI_COMM_WORLD_LOCAL_RANK=%u", local_rank);
    vars_format(vars, "OMPI_COMM_WORLD_NODE_RANK=%u", local_rank);
}

/* --- ranks --- */

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
        pmix_proc_t name;
        PMIX_LOAD_PROCID(&name, offer->nspace, rank);
        offer->module->rank_failed(&name);
    }
    return "MPI_Finalize";
}

const struct service_ops pmix_service = {
    .name = "PMIx",
    .job_start = job_start,
    .app_vars = app_vars,
    .rank_vars = rank_vars,
    .rank_started = rank_started,
    .rank_ended = rank_ended,
    .job_end = job_end,
};
