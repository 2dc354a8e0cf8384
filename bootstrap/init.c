/* The life of a process: keel_init to keel_finalize. */
#include <config.h>

#include <base/loop/handover.h>
#include <bootstrap/backend.h>
#include <bootstrap/host.h>
#include <bootstrap/pmix/pmix.h>
#include <bootstrap/process.h>
#include <bootstrap/tool.h>

#include <base/data/clock.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/lock/lock.h>
#include <btl/plane/plane.h>
#include <keel/keel.h>
#include <pml/process/process.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct param finalize_timeout =
    PARAM_INT("finalize_timeout_s", "3600", 0, 30 * 86400, "s",
              "How long keel_finalize waits for the other ranks; 0: as long as it takes");
PARAM_ROWS("bootstrap", finalize_timeout);

struct keel {
    struct keel_options options;
    struct self self;
    struct loop *loop;
    struct rml *rml;
    struct pmix_client *pmix; /* SELF_PMIX */
    struct tool_door door;    /* SELF_TOOL */
    struct backend *backend;  /* NULL until communication is enabled */
    struct host host;
};

/* The process's own: keel_init's interface has no context. Set by keel_init, cleared by
 * keel_finalize; the application calls these, and the rest, from one thread at a time. */
static struct keel *the_keel;
/* In a child made by fork: its parent's, whose links and thread it must not touch. */
static struct keel *volatile parents_keel;

/* A thread is in keel_fence, keel_ft_event or keel_finalize, where the ranks meet. */
static atomic_bool meeting;

static void forget_parent(void)
{
    atomic_store(&meeting, false);
    if (the_keel) {
        parents_keel = the_keel;
        the_keel = NULL;
        rml_install(NULL);
    }
}

static void watch_forks(void)
{
    (void) pthread_atfork(NULL, NULL, forget_parent);
}

/* The lock also guards the back end; it is given up while this thread waits. */
static int fence(struct keel *keel, uint64_t deadline_us)
{
    btl_lock();
    int status = keel->backend->ops->fence(keel->backend, deadline_us, plane_poll(), NULL);
    btl_unlock();
    return status;
}

static bool in_callback(struct keel *keel)
{
    return rml_in_callback(keel->rml) || plane_in_callback() || pml_process_in_callback();
}

static int give_app_key(void *arg)
{
    struct keel *keel = arg;
    oob_set_key(rml_oob(keel->rml), OOB_KEY_APP, keel->backend->map.app_key);
    return ORTE_SUCCESS;
}

static void rank_ended(void *arg, uint32_t rank)
{
    struct keel *keel = arg;
    keel_host_proc_ended(&keel->host.procs[rank]);
}

/* --- messages by source and tag --- */

static opal_proc_t *proc_of(void *arg, size_t rank)
{
    return &((struct keel *) arg)->host.procs[rank];
}

static int progress_rml(void *arg)
{
    return rml_progress(((struct keel *) arg)->rml);
}

static void rest_in_rml(void *arg, uint64_t until_us, struct pollfd *watch, size_t count)
{
    rml_rest(((struct keel *) arg)->rml, until_us, watch, count);
}

static void wake_in_rml(void *arg)
{
    rml_wake(((struct keel *) arg)->rml);
}

/* Before a peer may send one: a message is kept until its context is opened. Where no module
 * carries messages, there are none. */
static int open_messages(struct keel *keel)
{
    const struct pml_host host = {.me = host_ops.me(&keel->host),
                                  .job_size = keel->backend->map.size,
                                  .proc = proc_of,
                                  .progress = progress_rml,
                                  .rest = rest_in_rml,
                                  .wake = wake_in_rml,
                                  .arg = keel};
    int status = pml_process_open(&host);
    return status == ORTE_ERR_NOT_AVAILABLE ? ORTE_SUCCESS : status;
}

static int make_rails(struct keel *keel, char *reason, size_t reason_size)
{
    uint32_t size = keel->backend->map.size;
    opal_proc_t **procs = calloc(size, sizeof(opal_proc_t *));
    if (!procs) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t rank = 0; rank < size; rank++) {
        procs[rank] = &keel->host.procs[rank];
    }
    int status = keel_host_add_procs(procs, size, reason, reason_size);
    free(procs);
    btl_lock();
    keel->backend->ended = rank_ended;
    keel->backend->ended_arg = keel;
    btl_unlock();
    return status;
}

/* The hand-off: the peers' cards to the modules, and the rails to the application. */
static int hand_off(struct keel *keel, char *reason, size_t reason_size)
{
    const struct keel_host_options options = {.size = sizeof(options),
                                              .thread_multiple = keel->options.thread_multiple,
                                              .progress_thread = keel->options.progress_thread};
    int status = keel_host_open(&host_ops, &keel->host, &options, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    rml_set_poll(keel->rml, plane_poll(), NULL); /* blocking receives serve the peers' puts */
    uint64_t deadline = backend_init_deadline();
    status = fence(keel, deadline);
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "the exchange of cards failed: %s", opal_strerror(status));
        return status;
    }
    status = make_rails(keel, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = open_messages(keel);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    /* nobody sends before everybody is ready to receive */
    keel->backend->silent = true;
    status = fence(keel, deadline);
    keel->backend->silent = false;
    return status;
}

static int create_backend(struct keel *keel, char *reason, size_t reason_size)
{
    switch (keel->self.kind) {
    case SELF_NATIVE:
        return native_create(&keel->backend, keel->rml, &keel->self, reason, reason_size);
    case SELF_PMIX:
        return pmix_create(&keel->backend, keel->rml, keel->loop, keel->pmix, &keel->self, reason,
                           reason_size);
    case SELF_TOOL:
        return tool_create(&keel->backend, keel->rml, keel->loop, &keel->door, &keel->self, reason,
                           reason_size);
    default:
        return singleton_create(&keel->backend, keel->rml, &keel->self, reason, reason_size);
    }
}

/* --- tools --- */

struct rename_call {
    struct rml *rml;
    const orte_process_name_t *name;
};

static int rename_rml(void *arg)
{
    struct rename_call *call = arg;
    rml_rename(call->rml, call->name);
    return ORTE_SUCCESS;
}

/* What orte_rml.get_new_name stands for in a tool. */
static int ask_name(void *arg, orte_process_name_t *name)
{
    struct keel *keel = arg;
    char reason[512] = "";
    struct rename_call call = {keel->rml, name};
    int status = tool_ask_name(keel->loop, &keel->door, name, reason, sizeof(reason));
    if (status == ORTE_SUCCESS) {
        status = handover_call(keel->loop, rename_rml, &call);
    }
    if (status != ORTE_SUCCESS) {
        log_error(LOG_BOOTSTRAP, "this tool gets no name: %s",
                  reason[0] ? reason : opal_strerror(status));
        return status;
    }
    keel->self.name = *name;
    log_set_identity(keel->self.node, ORTE_NAME_PRINT(name));
    return ORTE_SUCCESS;
}

static int get_name(struct keel *keel)
{
    orte_process_name_t name;
    bool named = keel->self.name.jobid != ORTE_JOBID_INVALID;
    return keel->self.kind != SELF_TOOL || named ? ORTE_SUCCESS : orte_rml.get_new_name(&name);
}

/* A process with a contact string is a tool, whatever its environment says. */
static int become_tool(struct keel *keel, char *reason, size_t reason_size)
{
    char *contact = NULL;
    int status = tool_contact(keel->options.contact, &contact, reason, reason_size);
    if (status != ORTE_SUCCESS || !contact) {
        return status;
    }
    status = tool_door_open(&keel->door, contact, reason, reason_size);
    self_become_tool(&keel->self);
    keel->options.data_plane = false;
    return status;
}

/* Until it has one, a tool's RML goes by a name that nobody else has. */
static orte_process_name_t first_name(const struct keel *keel)
{
    char uuid[JOB_UUID_TEXT];
    if (keel->self.kind != SELF_TOOL) {
        return keel->self.name;
    }
    return (orte_process_name_t){job_uuid_make(uuid) | 1, 0};
}

/* What orte_rml.enable_comm stands for: the links, the cards, the rails. */
static int enable(struct keel *keel, char *reason, size_t reason_size)
{
    int status = get_name(keel);
    if (status == ORTE_SUCCESS) {
        status = create_backend(keel, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = handover_call(keel->loop, give_app_key, keel);
    }
    if (status == ORTE_SUCCESS) {
        status = host_init(&keel->host, keel->backend, keel->self.session_dir);
    }
    if (status == ORTE_SUCCESS && keel->options.data_plane) {
        status = hand_off(keel, reason, reason_size);
    } else if (status == ORTE_SUCCESS && keel->backend->announces) {
        status = keel->backend->ops->fence(keel->backend, backend_init_deadline(), NULL, NULL);
    }
    return status;
}

static int enable_for_rml(void *arg)
{
    char reason[512] = "";
    int status = enable(arg, reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        log_error(LOG_BOOTSTRAP, "communication cannot be enabled: %s",
                  reason[0] ? reason : opal_strerror(status));
    }
    return status;
}

/* Undoes whatever part of keel_init was done. */
static void tear_down(struct keel *keel)
{
    if (keel->rml) {
        rml_set_poll(keel->rml, NULL, NULL);
    }
    pml_process_end();
    (void) keel_host_close();
    if (keel->backend) {
        keel->backend->ops->leave(keel->backend);
    }
    host_fini(&keel->host);
    if (keel->rml) {
        rml_install(NULL);
        rml_flush(keel->rml);
    }
    if (keel->loop) {
        loop_stop(keel->loop);
    }
    rml_destroy(keel->rml);
    loop_destroy(keel->loop);
    pmix_client_leave(keel->pmix);
    tool_door_close(&keel->door);
    free(keel);
}

/* The RML, ready but for enable_comm. */
static int create_core(struct keel *keel, char *reason, size_t reason_size)
{
    int status = become_tool(keel, reason, reason_size);
    if (status == ORTE_SUCCESS && keel->self.kind != SELF_TOOL) {
        status = self_read(&keel->self, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (keel->self.kind == SELF_PMIX) {
        status = pmix_client_join(&keel->pmix, &keel->self, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (keel->self.yield && !param_is_set("btl_yield") &&
        param_override("btl_yield", "1") != ORTE_SUCCESS) {
        return ORTE_ERROR;
    }
    log_open();
    log_set_identity(keel->self.node, ORTE_NAME_PRINT(&keel->self.name));
    status = fault_open(reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = loop_create(&keel->loop);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    struct rml_config config = {
        .loop = keel->loop,
        .name = first_name(keel),
        .role = keel->self.kind == SELF_TOOL ? OOB_KEY_TOOL : OOB_KEY_PEERCRED,
        .dispatch = RML_DISPATCH_PROGRESS,
        .job_size = keel->self.kind == SELF_TOOL ? 0 : keel->self.size,
        .unix_dir = keel->self.session_dir,
        .arg = keel,
        .enable = enable_for_rml,
        .ask_name = keel->self.kind == SELF_TOOL ? ask_name : NULL,
        .leave = btl_lock_leave,
        .back = btl_lock_return,
    };
    crypto_random(&config.epoch, sizeof(config.epoch));
    status = rml_create(&keel->rml, &config, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    status = loop_start_thread(keel->loop);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    rml_install(keel->rml);
    return ORTE_SUCCESS;
}

int keel_init(const struct keel_options *options)
{
    struct keel_options chosen = KEEL_OPTIONS_DEFAULT;
    if (the_keel) {
        return ORTE_EXISTS;
    }
    if (options && options->size != sizeof(*options)) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct keel *keel = calloc(1, sizeof(*keel));
    if (!keel) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void) pthread_once(&once, watch_forks);
    keel->options = options ? *options : chosen;
    char reason[512] = "";
    int status = create_core(keel, reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        log_error(LOG_BOOTSTRAP, "keel_init: %s", reason[0] ? reason : opal_strerror(status));
        goto undo;
    }
    the_keel = keel;
    if (keel->options.enable_comm) {
        status = orte_rml.enable_comm();
    }
    if (status == ORTE_SUCCESS) {
        return ORTE_SUCCESS;
    }
    the_keel = NULL;
undo:
    tear_down(keel);
    return status;
}

static int leave_job(struct keel *keel)
{
    int status = ORTE_SUCCESS;
    rml_end_exceptions(keel->rml);
    if (keel->backend) {
        /* everybody has stopped sending before anybody's modules close */
        int64_t seconds = param_int(&finalize_timeout);
        uint64_t deadline = seconds ? clock_us() + (uint64_t) seconds * 1000000u : 0;
        plane_farewell();
        status = fence(keel, deadline);
        plane_met(status == ORTE_SUCCESS);
        if (status != ORTE_SUCCESS) {
            log_warn(LOG_BOOTSTRAP, "leaving without the other ranks: %s", opal_strerror(status));
        }
        keel->backend->together = status == ORTE_SUCCESS;
    }
    the_keel = NULL;
    tear_down(keel);
    return status;
}

int keel_finalize(void)
{
    if (!process_meet_begin()) {
        return ORTE_ERR_RESOURCE_BUSY;
    }
    /* from a callback the caller's caller would return into freed memory */
    int status = !the_keel               ? ORTE_ERROR
                 : in_callback(the_keel) ? ORTE_ERR_NOT_SUPPORTED
                                         : leave_job(the_keel);
    process_meet_end();
    return status;
}

const orte_process_name_t *keel_my_name(void)
{
    return the_keel ? &the_keel->self.name : NULL;
}

int keel_tool_job(orte_jobid_t *job, uint32_t *ranks)
{
    if (!the_keel || the_keel->self.kind != SELF_TOOL) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    if (!job || !ranks) {
        return ORTE_ERR_BAD_PARAM;
    }
    return the_keel->backend ? tool_job(the_keel->backend, job, ranks) : ORTE_ERR_COMM_DISABLED;
}

int keel_tool_look(bool stacks, uint32_t timeout_ms, const struct keel_look *look, void *arg)
{
    if (!the_keel || the_keel->self.kind != SELF_TOOL) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    if (!look || !look->job || !look->node || !look->rank || !look->line) {
        return ORTE_ERR_BAD_PARAM;
    }
    return the_keel->backend
               ? tool_look(the_keel->backend, stacks, (uint64_t) timeout_ms * 1000u, look, arg)
               : ORTE_ERR_COMM_DISABLED;
}

uint32_t keel_job_size(void)
{
    return the_keel ? the_keel->self.size : 0;
}

int keel_progress(void)
{
    return the_keel
               ? rml_progress(the_keel->rml) + keel_host_progress() + pml_process_run_callbacks()
               : 0;
}

int keel_fence(void)
{
    if (!process_meet_begin()) {
        return ORTE_ERR_RESOURCE_BUSY;
    }
    int status = process_fence();
    process_meet_end();
    return status;
}

void keel_abort(int status, const char *format, ...)
{
    char reason[1024] = "";
    if (format) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(reason, sizeof(reason), format, arguments);
        va_end(arguments);
    }
    int code = (status & 0xff) == 0 ? 1 : status; /* what of it the system keeps */
    if (the_keel && the_keel->backend && the_keel->self.kind != SELF_SINGLETON) {
        the_keel->backend->ops->abort(the_keel->backend, code, reason);
    } else {
        log_error(LOG_BOOTSTRAP, "aborted%s%s", reason[0] ? ": " : "", reason);
    }
    _exit(code);
}

int keel_modex_send(const char *key, const void *data, size_t size)
{
    if (!the_keel || !the_keel->backend) {
        return ORTE_ERR_COMM_DISABLED;
    }
    btl_lock();
    int status = backend_put_card(the_keel->backend, key, data, size);
    btl_unlock();
    return status;
}

/* A card on its way to keel_modex_recv. */
struct received {
    bool done;
    int status;
    void *data;
    size_t size;
};

static void card_received(void *arg, int status, const void *data, size_t size)
{
    struct received *received = arg;
    received->status = status;
    received->size = size;
    if (status == ORTE_SUCCESS && size > 0) {
        received->data = malloc(size);
        if (received->data) {
            memcpy(received->data, data, size);
        } else {
            received->status = ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    __atomic_store_n(&received->done, true, __ATOMIC_RELEASE);
}

int keel_modex_recv(const orte_process_name_t *peer, const char *key, void **data, size_t *size)
{
    struct keel *keel = the_keel;
    if (!keel || !keel->backend) {
        return ORTE_ERR_COMM_DISABLED;
    }
    if (!peer || !key || !cards_key_valid(key) || !data || !size) {
        return ORTE_ERR_BAD_PARAM;
    }
    if (peer->jobid != keel->self.name.jobid) {
        return ORTE_ERR_NOT_FOUND;
    }
    struct received received = {0};
    btl_lock();
    backend_get_card(keel->backend, peer->vpid, key, card_received, &received);
    btl_unlock();
    /* answered always: by the daemon, or with COMM_FAILURE when the link to it breaks */
    int status = rml_wait(keel->rml, &received.done, 0, plane_poll(), NULL);
    if (status == ORTE_SUCCESS) {
        status = received.status;
    }
    if (status == ORTE_SUCCESS) {
        *data = received.data;
        *size = received.size;
    }
    return status;
}

const struct keel_rail *keel_rails(const orte_process_name_t *peer, size_t *count)
{
    return keel_host_rails(keel_proc(peer), count);
}

int keel_rails_watch(keel_rails_fn changed, void *arg)
{
    return the_keel ? keel_host_rails_watch(changed, arg) : ORTE_ERROR;
}

opal_proc_t *keel_proc(const orte_process_name_t *peer)
{
    if (!the_keel || !the_keel->host.procs || !peer || peer->jobid != the_keel->self.name.jobid ||
        peer->vpid >= the_keel->self.size) {
        return NULL;
    }
    return &the_keel->host.procs[peer->vpid];
}

/* --- for rooms above --- */

const struct self *process_self(void)
{
    return the_keel ? &the_keel->self : NULL;
}

const struct job_map *process_map(void)
{
    return the_keel && the_keel->backend ? &the_keel->backend->map : NULL;
}

struct rml *process_rml(void)
{
    return the_keel ? the_keel->rml : NULL;
}

bool process_in_callback(void)
{
    return the_keel && in_callback(the_keel);
}

bool process_meet_begin(void)
{
    return !atomic_exchange(&meeting, true);
}

void process_meet_end(void)
{
    atomic_store(&meeting, false);
}

int process_fence(void)
{
    return the_keel && the_keel->backend ? fence(the_keel, 0) : ORTE_ERR_COMM_DISABLED;
}
