/* keel-pmix.so: starts and ends libpmix's server, and the upcalls about clients themselves. */
#include <config.h>

#include <launcher/pmix/module/pmix_module_internal.h>

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const struct pmix_host *pmix_host;

static struct {
    hwloc_topology_t topology;
    char *shared; /* owned: the file through which libpmix shares the topology */
    struct pmix_server server;
    uint32_t tool_count; /* on libpmix's thread */
} state;

void module_post(struct loop_task *task)
{
    pmix_host->post(pmix_host->arg, task);
}

void module_log(bool error, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    pmix_host->log(pmix_host->arg, error, text);
}

uint32_t module_daemon(void)
{
    return state.server.daemon;
}

bool module_number(const pmix_value_t *value, uint32_t *number)
{
    int64_t wide;
    switch (value->type) {
    case PMIX_INT:
        wide = value->data.integer;
        break;
    case PMIX_INT32:
        wide = value->data.int32;
        break;
    case PMIX_UINT:
        wide = value->data.uint;
        break;
    case PMIX_UINT32:
        wide = value->data.uint32;
        break;
    case PMIX_UINT16:
        wide = value->data.uint16;
        break;
    case PMIX_SIZE:
        wide = value->data.size > UINT32_MAX ? -1 : (int64_t) value->data.size;
        break;
    default:
        return false;
    }
    if (wide < 0 || wide > UINT32_MAX) {
        return false;
    }
    *number = (uint32_t) wide;
    return true;
}

const pmix_info_t *module_find(const pmix_info_t info[], size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&info[i], key)) {
            return &info[i];
        }
    }
    return NULL;
}

bool module_is_local(const struct pmix_job *job, uint32_t rank)
{
    return job->map->daemon_of_node[job->map->node_of[rank]] == job->daemon;
}

struct answer module_copy(pmix_status_t status, const void *data, size_t size)
{
    struct answer answer = {.status = status};
    if (status != PMIX_SUCCESS || size == 0) {
        return answer;
    }
    answer.data = malloc(size);
    if (!answer.data) {
        answer.status = PMIX_ERR_NOMEM;
        return answer;
    }
    memcpy(answer.data, data, size);
    answer.size = size;
    return answer;
}

/* --- clients --- */

enum client_news { CLIENT_CONNECTED, CLIENT_FINALIZED, CLIENT_ABORTED, ANSWER_ONLY };

/* Something a client did, on its way to the loop. */
struct client_call {
    struct loop_task task;
    struct work work;
    enum client_news news;
    pmix_proc_t rank;
    int status;
    char text[256];
    pmix_op_cbfunc_t done; /* may be NULL */
    void *cbdata;
};

static void answer_client(struct work *work)
{
    struct client_call *call = container_of(work, struct client_call, work);
    if (call->done) {
        call->done(call->status, call->cbdata);
    }
    free(call);
}

static void let_go(void *arg)
{
    struct client_call *call = arg;
    call->status = PMIX_SUCCESS;
    worker_do(&call->work);
}

static void run_client_call(struct loop_task *task)
{
    struct client_call *call = container_of(task, struct client_call, task);
    pmix_status_t answer = PMIX_SUCCESS;
    switch (call->news) {
    case CLIENT_CONNECTED:
        pmix_host->connected(pmix_host->arg, &call->rank);
        break;
    case CLIENT_FINALIZED:
        pmix_host->finalized(pmix_host->arg, &call->rank, let_go, call);
        return;
    case CLIENT_ABORTED:
        answer = pmix_host->abort(pmix_host->arg, &call->rank, call->status, call->text);
        break;
    case ANSWER_ONLY:
        answer = call->status;
        break;
    }
    call->status = answer;
    worker_do(&call->work);
}

static pmix_status_t post_client_call(enum client_news news, const pmix_proc_t *rank, int status,
                                      const char *text, pmix_op_cbfunc_t done, void *cbdata)
{
    struct client_call *call = calloc(1, sizeof(*call));
    if (!call) {
        return PMIX_ERR_NOMEM;
    }
    *call = (struct client_call){.task.run = run_client_call,
                                 .work.run = answer_client,
                                 .news = news,
                                 .status = status,
                                 .done = done,
                                 .cbdata = cbdata};
    if (rank) {
        call->rank = *rank;
    }
    snprintf(call->text, sizeof(call->text), "%s", text ? text : "");
    module_post(&call->task);
    return PMIX_SUCCESS;
}

pmix_status_t answer_later(pmix_op_cbfunc_t done, void *cbdata, pmix_status_t status)
{
    return post_client_call(ANSWER_ONLY, NULL, status, NULL, done, cbdata);
}

static pmix_status_t up_connected(const pmix_proc_t *rank, void *object, pmix_info_t info[],
                                  size_t info_count, pmix_op_cbfunc_t done, void *cbdata)
{
    (void) object;
    (void) info;
    (void) info_count;
    return post_client_call(CLIENT_CONNECTED, rank, 0, NULL, done, cbdata);
}

/* The client waits for the answer, so its end is never seen before its PMIx_Finalize. */
static pmix_status_t up_finalized(const pmix_proc_t *rank, void *object, pmix_op_cbfunc_t done,
                                  void *cbdata)
{
    (void) object;
    return post_client_call(CLIENT_FINALIZED, rank, 0, NULL, done, cbdata);
}

/* Whomever it names, the job ends: there is no meaning of half a job in MPI. */
static pmix_status_t up_abort(const pmix_proc_t *rank, void *object, int status, const char text[],
                              pmix_proc_t procs[], size_t count, pmix_op_cbfunc_t done,
                              void *cbdata)
{
    (void) object;
    (void) procs;
    (void) count;
    return post_client_call(CLIENT_ABORTED, rank, status, text, done, cbdata);
}

/* A tool; the daemon has vetted it. One that was started as a rank brings its name. */
static void up_tool_connected(pmix_info_t info[], size_t count, pmix_tool_connection_cbfunc_t done,
                              void *cbdata)
{
    pmix_proc_t name;
    pmix_nspace_t nspace;
    snprintf(nspace, sizeof(nspace), "%s.%u.%u", state.server.tools, state.server.daemon,
             ++state.tool_count);
    PMIX_LOAD_PROCID(&name, nspace, 0);
    for (size_t i = 0; i < count; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_NSPACE)) {
            PMIX_LOAD_NSPACE(name.nspace, info[i].value.data.string);
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_RANK)) {
            name.rank = info[i].value.data.rank;
        }
    }
    done(PMIX_SUCCESS, &name, cbdata);
}

static pmix_server_module_t upcalls = {
    .client_connected2 = up_connected,
    .client_finalized = up_finalized,
    .abort = up_abort,
    .fence_nb = up_fence,
    .direct_modex = up_direct_modex,
    .publish = up_publish,
    .lookup = up_lookup,
    .unpublish = up_unpublish,
    .spawn = up_spawn,
    .connect = up_connect,
    .disconnect = up_disconnect,
    .register_events = up_register_events,
    .deregister_events = up_deregister_events,
    .notify_event = up_notify,
    .query = up_query,
    .tool_connected = up_tool_connected,
    .group = up_group,
    .log = up_log,
    .job_control = up_job_control,
};

/* --- start and end --- */

/* What the ranks share of this node: no devices, which take most of the time to find. */
static int load_topology(hwloc_topology_t *out)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) < 0) {
        return -1;
    }
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(topology) < 0) {
        hwloc_topology_destroy(topology);
        return -1;
    }
    *out = topology;
    return 0;
}

static pmix_status_t init_server(const struct pmix_server *server)
{
    pmix_topology_t topology = {(char *) "hwloc", state.topology};
    pmix_rank_t rank = server->daemon;
    bool yes = true;
    pmix_info_t info[7];
    PMIX_INFO_LOAD(&info[0], PMIX_SERVER_NSPACE, server->nspace, PMIX_STRING);
    PMIX_INFO_LOAD(&info[1], PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&info[2], PMIX_SERVER_TMPDIR, server->folder, PMIX_STRING);
    PMIX_INFO_LOAD(&info[3], PMIX_SYSTEM_TMPDIR, server->folder, PMIX_STRING);
    PMIX_INFO_LOAD(&info[4], PMIX_HOSTNAME, server->node, PMIX_STRING);
    PMIX_INFO_LOAD(&info[5], PMIX_SERVER_SHARE_TOPOLOGY, &yes, PMIX_BOOL);
    memset(&info[6], 0, sizeof(info[6]));
    PMIX_LOAD_KEY(info[6].key, PMIX_TOPOLOGY2);
    info[6].value.type = PMIX_TOPO;
    info[6].value.data.topo = &topology; /* borrowed: libpmix keeps the topology, not this struct */
    pmix_status_t status = PMIx_server_init(&upcalls, info, 7);
    for (size_t i = 0; i < 6; i++) {
        PMIX_INFO_DESTRUCT(&info[i]);
    }
    return status;
}

static void forget(void)
{
    if (state.shared) {
        unlink(state.shared);
        free(state.shared);
    }
    state.shared = NULL;
    state.topology = NULL; /* libpmix destroys the topology, or it ends with the process */
}

/* libpmix does not look whether it got memory. What its start takes, with room to spare. */
enum { START_BYTES = 32 << 20 };

static bool has_memory(void)
{
    void *room = mmap(NULL, START_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && munmap(room, START_BYTES) == 0;
}

static int start(const struct pmix_host *host, const struct pmix_server *server,
                 const struct pmix_job *job, char *reason, size_t reason_size)
{
    pmix_host = host;
    state.server = *server;
    if (!has_memory()) {
        snprintf(reason, reason_size, "no memory for libpmix: %s", strerror(errno));
        return -1;
    }
    if (load_topology(&state.topology) < 0) {
        snprintf(reason, reason_size, "hwloc cannot read the topology");
        return -1;
    }
    if (asprintf(&state.shared, "%s/hwloc.sm", server->folder) < 0) {
        state.shared = NULL;
    }
    pmix_status_t status = init_server(server);
    if (status != PMIX_SUCCESS) {
        snprintf(reason, reason_size, "PMIx_server_init: %s", PMIx_Error_string(status));
        forget();
        return -1;
    }
    query_add_job(job);
    int error = registration_make(job, server, reason, reason_size);
    if (error == 0 && (error = worker_start()) != 0) {
        snprintf(reason, reason_size, "no thread: %s", strerror(error));
    }
    if (error != 0) {
        PMIx_server_finalize();
        forget();
        return -1;
    }
    return 0;
}

/* --- jobs that are added --- */

enum { ADD_LIMIT_S = 5 };

/* The loop waits for it, but not for ever. */
struct addition {
    struct work work;
    const struct pmix_job *job;
    pthread_mutex_t lock;
    pthread_cond_t finished;
    bool done, abandoned; /* guarded by lock */
    int status;
    char reason[256];
};

static void addition_free(struct addition *addition)
{
    pthread_cond_destroy(&addition->finished);
    pthread_mutex_destroy(&addition->lock);
    free(addition);
}

static void run_addition(struct work *work)
{
    struct addition *addition = container_of(work, struct addition, work);
    addition->status =
        registration_make(addition->job, &state.server, addition->reason, sizeof(addition->reason));
    pthread_mutex_lock(&addition->lock);
    addition->done = true;
    bool abandoned = addition->abandoned;
    pthread_cond_signal(&addition->finished);
    pthread_mutex_unlock(&addition->lock);
    if (abandoned) {
        addition_free(addition);
    }
}

/* Was it done in time? */
static bool await_addition(struct addition *addition)
{
    struct timespec limit;
    clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += ADD_LIMIT_S;
    pthread_mutex_lock(&addition->lock);
    while (!addition->done &&
           pthread_cond_timedwait(&addition->finished, &addition->lock, &limit) == 0) {
    }
    bool done = addition->done;
    addition->abandoned = !done;
    pthread_mutex_unlock(&addition->lock);
    return done;
}

static int add_job(const struct pmix_job *job, char *reason, size_t reason_size)
{
    struct addition *addition = calloc(1, sizeof(*addition));
    if (!addition) {
        snprintf(reason, reason_size, "no memory");
        return -1;
    }
    addition->work.run = run_addition;
    addition->job = job;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&addition->lock, NULL);
    pthread_cond_init(&addition->finished, &attributes);
    pthread_condattr_destroy(&attributes);
    worker_do(&addition->work);
    if (!await_addition(addition)) {
        snprintf(reason, reason_size, "libpmix does not answer");
        return -1;
    }
    int status = addition->status;
    snprintf(reason, reason_size, "%s", addition->reason);
    addition_free(addition);
    if (status == 0) {
        query_add_job(job);
    }
    return status;
}

static void stop(void)
{
    worker_end();
    PMIx_server_finalize();
    events_end();
    forget();
}

static const struct pmix_module module = {
    .start = start,
    .add_job = add_job,
    .local_modex = local_modex,
    .event = take_event,
    .rank_failed = rank_failed,
    .stop = stop,
};

KEEL_EXPORT pmix_module_entry keel_pmix_module;

const struct pmix_module *keel_pmix_module(void)
{
    return &module;
}
