#include <config.h>

#include <btl/plane/plane.h>

#include <base/data/array.h>
#include <base/data/crypto.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <base/types/name.h>
#include <btl/interface/base.h>
#include <btl/interface/farewell.h>
#include <btl/lock/lock.h>
#include <btl/plane/bml.h>
#include <btl/progress/progress.h>
#include <btl/progress/sleep.h>
#include <btl/progress/thread.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* So many passes without an event mean that nothing is left to be read: idle rails are polled now
 * and then only (btl/progress/progress.c), and quiet sockets now and then by those. */
#define EMPTY_PASSES 2048
/* A bound for the above: more than any queue holds. */
#define PASSES_MAX (1 << 20)

struct watch {
    keel_rails_fn changed;
    void *arg;
};

static const bool never;

/* Of plane_after_pass. */
struct after {
    const bool *wanted;
    void (*call)(void *arg);
    void *arg;
};

/* CLOSING: the choice of rails has ended, or is about to; the modules follow. */
enum plane_state { PLANE_CLOSED, PLANE_OPEN, PLANE_CLOSING };

/* Guarded by the lock, where it is used. */
static struct {
    enum plane_state state;
    struct bml *bml;
    struct watch *watches; /* owned */
    size_t watch_count;
    struct after afters[PLANE_AFTERS];
    struct pollfd *sleep; /* owned; of plane_rest: the caller's, then the modules' */
    atomic_bool polling;  /* without the lock: a thread is in here, the one with polls_here */
} plane = {.afters = {{.wanted = &never}, {.wanted = &never}}};

/* Set on each pass, so without a call for its address. */
static _Thread_local bool polls_here __attribute__((tls_model("initial-exec")));

/* --- who is in it --- */

/* The calling thread runs a pass, or a call of a module's where the lock is used. */
static bool is_inside(void)
{
    return polls_here || (btl_lock_used && btl_lock_holds() > 0);
}

bool plane_in_callback(void)
{
    return is_inside() || btl_calls_back();
}

bool plane_is_inside(void)
{
    return is_inside() || (btl_lock_used ? btl_progressing() : btl_callbacks > 0);
}

/* Not from inside itself: a module's callback may come back here through a blocking call. Nor by
 * two threads: one may be in keel_progress while another blocks in the RML. */
static inline bool enter(void)
{
    if (btl_lock_used) {
        if (plane.state != PLANE_OPEN || is_inside()) {
            return false;
        }
        btl_lock_take();
        return true;
    }
    if (plane.state != PLANE_OPEN || polls_here ||
        atomic_exchange_explicit(&plane.polling, true, memory_order_acquire)) {
        return false;
    }
    polls_here = true;
    return true;
}

static inline void leave(void)
{
    if (btl_lock_used) {
        btl_lock_drop();
        return;
    }
    polls_here = false;
    atomic_store_explicit(&plane.polling, false, memory_order_release);
}

bool plane_is_open(void)
{
    return plane.state == PLANE_OPEN;
}

/* Also in a child made by fork: the data plane is its parent's. */
static void forget(void)
{
    plane.state = PLANE_CLOSED;
    plane.bml = NULL;
    plane.watches = NULL;
    plane.sleep = NULL;
    for (unsigned i = 0; i < PLANE_AFTERS; i++) {
        plane.afters[i].wanted = &never;
    }
    plane.watch_count = 0;
    atomic_store(&plane.polling, false);
    polls_here = false;
    btl_callbacks = 0;
    btl_progress_end(false);
    farewell_over();
}

static void watch_forks(void)
{
    (void) pthread_atfork(NULL, NULL, forget);
}

/* --- progress --- */

static void rails_changed(opal_proc_t *proc)
{
    size_t count = plane.watch_count; /* those that watchers set hear of the next change */
    for (size_t i = 0; i < count; i++) {
        plane.watches[i].changed(&proc->proc_name, plane.watches[i].arg);
    }
}

static void settle_rails(void)
{
    if (bml_has_news && plane.bml) {
        bml_settle(plane.bml, rails_changed);
    }
}

static void call_after(void)
{
    for (unsigned i = 0; i < PLANE_AFTERS; i++) {
        const struct after *after = &plane.afters[i];
        if (*after->wanted && btl_callbacks == 0) {
            after->call(after->arg);
        }
    }
}

static void settle_locked(void)
{
    settle_rails();
    call_after();
}

int keel_host_progress(void)
{
    if (plane.state == PLANE_OPEN && btl_lock_used) {
        /* settles at its end; a watcher of the rails must not run another pass */
        return is_inside() ? 0 : btl_progress();
    }
    if (!enter()) {
        return 0;
    }
    int events = btl_progress();
    settle_rails();
    call_after();
    leave();
    return events;
}

void plane_after_pass(enum plane_after whose, const bool *wanted, void (*after)(void *arg),
                      void *arg)
{
    plane.afters[whose] = (struct after){wanted ? wanted : &never, after, arg};
}

/* Something is to be done at the end of the next pass. */
static bool is_unsettled(void)
{
    bool wanted = bml_has_news;
    for (unsigned i = 0; i < PLANE_AFTERS; i++) {
        wanted = wanted || *plane.afters[i].wanted;
    }
    return wanted;
}

/* Inside. NULL: it cannot sleep now. */
static struct pollfd *arm(size_t modules)
{
    if (!plane.sleep) {
        plane.sleep = calloc(modules + 1, sizeof(*plane.sleep));
    }
    return plane.sleep && !is_unsettled() && btl_sleep_arm(plane.sleep + 1) ? plane.sleep : NULL;
}

bool plane_rest(plane_rest_fn rest, void *arg, uint64_t until_us)
{
    if (btl_lock_used || btl_callbacks > 0 || !enter()) {
        return false;
    }
    size_t modules = btl_sleep_count();
    struct pollfd *watch = arm(modules);
    if (watch) {
        watch[0] = (struct pollfd){.fd = -1};
        rest(arg, until_us, watch, modules + 1);
    }
    btl_progress_look_everywhere();
    leave();
    return watch;
}

static int poll_plane(void *unused)
{
    (void) unused;
    return keel_host_progress();
}

plane_poll_fn plane_poll(void)
{
    return plane_is_open() && btl_threads().progress ? NULL : poll_plane;
}

void plane_farewell(void)
{
    btl_lock();
    if (plane_is_open()) {
        farewell_begin();
    }
    btl_unlock();
}

void plane_met(bool together)
{
    btl_lock();
    if (plane_is_open()) {
        farewell_met(together);
    }
    btl_unlock();
}

void plane_read_all(void)
{
    int empty = 0;
    for (int i = 0; i < PASSES_MAX && empty < EMPTY_PASSES && enter(); i++) {
        int events = btl_progress();
        leave();
        empty = events > 0 ? 0 : empty + 1;
    }
}

/* --- its life --- */

static int check_ops(const struct keel_host_ops *ops, const struct keel_host_options *options,
                     char *reason, size_t reason_size)
{
    if (!ops || !ops->me || !ops->put_card || !ops->get_card || !ops->pair_key) {
        snprintf(reason, reason_size,
                 "the host lacks a function: me, put_card, get_card and pair_key have to be there");
        return ORTE_ERR_BAD_PARAM;
    }
    if (options && options->size != sizeof(*options)) {
        snprintf(reason, reason_size, "options of %zu bytes, this library's have %zu",
                 options->size, sizeof(*options));
        return ORTE_ERR_BAD_PARAM;
    }
    return ORTE_SUCCESS;
}

static int open_rails(void)
{
    btl_lock(); /* a progress thread may run */
    int status = bml_create(&plane.bml);
    if (status == ORTE_SUCCESS) {
        btl_after_pass(settle_locked);
    }
    btl_unlock();
    return status;
}

static void close_all(void)
{
    btl_thread_stop();
    plane.state = PLANE_CLOSING;
    btl_progress_end(true);
    bml_destroy(plane.bml);
    btl_close();
    free(plane.watches);
    free(plane.sleep);
    forget();
}

/* What a process without keel_init has not done yet; the rest of what it needs comes with the
 * modules. */
static int open_base(const struct keel_host_ops *ops, void *host, char *reason, size_t reason_size)
{
    const opal_proc_t *me = ops->me(host);
    if (!me) {
        snprintf(reason, reason_size, "the host does not know its own process: me returned NULL");
        return ORTE_ERR_BAD_PARAM;
    }
    log_open();
    log_set_identity(me->hostname, ORTE_NAME_PRINT(&me->proc_name));
    return fault_open(reason, reason_size);
}

int keel_host_open(const struct keel_host_ops *ops, void *host,
                   const struct keel_host_options *options, char *reason, size_t reason_size)
{
    char unwanted[1];
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    reason_size = reason ? reason_size : sizeof(unwanted);
    reason = reason ? reason : unwanted;
    snprintf(reason, reason_size, "%s", "");
    int status = check_ops(ops, options, reason, reason_size);
    if (status == ORTE_SUCCESS && plane.state != PLANE_CLOSED) {
        snprintf(reason, reason_size, "the data plane of this process is open");
        status = ORTE_EXISTS;
    }
    if (status == ORTE_SUCCESS) {
        status = open_base(ops, host, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    (void) pthread_once(&once, watch_forks);
    btl_ask_threads((struct btl_threads){.multiple = options && options->thread_multiple,
                                         .progress = options && options->progress_thread});
    status = btl_open(ops, host, reason, reason_size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    plane.state = PLANE_OPEN;
    status = open_rails();
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "out of memory");
        close_all();
    }
    return status;
}

int keel_host_close(void)
{
    if (plane.state == PLANE_CLOSED) {
        return ORTE_ERROR;
    }
    if (plane.state == PLANE_CLOSING || plane_in_callback()) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    close_all();
    return ORTE_SUCCESS;
}

int keel_host_ft_event(int state)
{
    if (btl_calls_back() || !enter()) {
        return plane.state == PLANE_CLOSED ? ORTE_ERROR : ORTE_ERR_RESOURCE_BUSY;
    }
    int status = btl_ft_event(state);
    if (state == OPAL_CRS_RESTART) {
        bml_restore(plane.bml, rails_changed);
    }
    leave();
    return status;
}

/* --- peers and rails --- */

/* Index of the first entry that is NULL; count: there is none. */
static size_t first_missing(opal_proc_t *const *procs, size_t count)
{
    size_t i = 0;
    while (i < count && procs && procs[i]) {
        i++;
    }
    return i;
}

int keel_host_add_procs(opal_proc_t *const *procs, size_t count, char *reason, size_t reason_size)
{
    char unwanted[1];
    reason_size = reason ? reason_size : sizeof(unwanted);
    reason = reason ? reason : unwanted;
    snprintf(reason, reason_size, "%s", "");
    if (!plane_is_open()) {
        return ORTE_ERROR;
    }
    size_t missing = first_missing(procs, count);
    if (missing < count) {
        snprintf(reason, reason_size, "procs[%zu] of %zu is NULL", missing, count);
        return ORTE_ERR_BAD_PARAM;
    }
    btl_lock();
    int status = bml_add_procs(plane.bml, procs, count, reason, reason_size);
    btl_unlock();
    return status;
}

const struct keel_rail *keel_host_rails(const opal_proc_t *peer, size_t *count)
{
    if (!count) {
        return NULL;
    }
    *count = 0;
    if (!plane_is_open() || !peer) {
        return NULL;
    }
    btl_lock();
    const struct keel_rail *rails = bml_rails(plane.bml, peer, count);
    btl_unlock();
    return rails;
}

int keel_host_rails_watch(keel_rails_fn changed, void *arg)
{
    if (!changed) {
        return ORTE_ERR_BAD_PARAM;
    }
    btl_lock();
    bool room = array_resize(&plane.watches, plane.watch_count + 1, sizeof(*plane.watches));
    if (room) {
        plane.watches[plane.watch_count++] = (struct watch){changed, arg};
    }
    btl_unlock();
    return room ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

void keel_host_proc_ended(const opal_proc_t *peer)
{
    if (plane.state == PLANE_CLOSED || !peer) {
        return;
    }
    btl_enter();
    if (plane.state == PLANE_OPEN) {
        bml_peer_ended(plane.bml, peer);
    } else {
        btl_proc_ended(&peer->proc_name);
    }
    btl_leave();
}
