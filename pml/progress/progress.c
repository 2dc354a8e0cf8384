#include <config.h>

#include <base/data/clock.h>
#include <base/data/least.h>
#include <base/settings/log.h>
#include <pml/peers/stripe.h>
#include <pml/progress/progress.h>
#include <pml/requests/arrival.h>
#include <pml/requests/control.h>
#include <pml/requests/recv.h>
#include <pml/requests/send.h>

enum {
    PASSES_A_LOOK = 64, /* of one who waits, between looks at the clock */
    NAP_SHARE = 16,     /* one who has waited for so long sleeps for a 16th of that */
    NAP_MAX_US = 1000,  /* but not longer */
};

_Thread_local const struct progress_frame *progress_inside;

/* ---- what waits for room ---- */

static bool is_stalled(const struct keel_pml_request *request)
{
    return request->kind == REQUEST_SEND &&
           send_is_stalled(container_of(request, const struct send, super));
}

static bool resume(struct keel_pml_request *request)
{
    return request->kind == REQUEST_SEND ? send_resume(container_of(request, struct send, super))
                                         : recv_resume(container_of(request, struct recv, super));
}

/* The oldest that need not wait for its turn. */
static struct keel_pml_request *next_pending(struct peer *peer)
{
    struct keel_pml_request *request;

    list_for_each (request, &peer->pending, struct keel_pml_request, link) {
        if (!is_stalled(request)) {
            return request;
        }
    }
    return NULL;
}

static void try_again(struct peer *peer)
{
    struct keel_pml_request *request;

    while ((request = next_pending(peer))) {
        list_remove(&request->link);
        if (!resume(request)) {
            break;
        }
    }
    for (struct list *link;
         peer->rails && !stripe_is_full(peer) && (link = list_pop(&peer->rails->turns));) {
        if (!resume(container_of(link, struct keel_pml_request, link))) {
            break;
        }
    }
}

static void try_all_again(struct pml *pml)
{
    struct list due;

    list_init(&due);
    list_splice(&due, &pml->due);
    for (struct list *link; (link = list_pop(&due));) {
        try_again(container_of(link, struct peer, due));
    }
}

/* ---- peers that end ---- */

static void end_members(struct peer *peer)
{
    struct keel_pml_context *context;

    list_for_each (context, &peer->pml->all_contexts, struct keel_pml_context, all) {
        for (size_t i = 0; i < context->size; i++) {
            if (context->members[i].peer == peer) {
                recv_fail_member(&context->members[i], peer->gone);
            }
        }
    }
}

/* Nothing goes to it or comes from it any more; each request that needs it ends. */
static void end_peer(struct peer *peer, int status)
{
    struct ompi_proc_t *proc = (struct ompi_proc_t *) peer->proc;

    log_info(LOG_PTL, "process %u.%u: no more messages: %s", peer->proc->proc_name.jobid,
             peer->proc->proc_name.vpid, opal_strerror(status));
    peer->gone = status;
    pml_has_news(peer->pml);
    while (!list_empty(&peer->sending)) {
        send_fail(container_of(peer->sending.next, struct send, sending), status);
    }
    while (!list_empty(&peer->receiving)) {
        recv_fail(container_of(peer->receiving.next, struct recv, receiving), status);
    }
    end_members(peer);
    arrival_end_early(peer);
    (void) ptl_del_procs(1, &proc, &peer->paths);
}

/* To one that a message came from. */
static void find_paths(struct peer *peer)
{
    int status = peer_connect(peer);

    if (status == OPAL_ERR_OUT_OF_RESOURCE) {
        peer_has_changed(peer, OPAL_SUCCESS); /* later */
    } else if (status != OPAL_SUCCESS) {
        end_peer(peer, status);
    }
}

/* A message may have been lost with a path that no other one replaces: the order of those behind it
 * is lost, too. */
static void look_at_paths(struct peer *peer)
{
    struct ompi_proc_t *proc = (struct ompi_proc_t *) peer->proc;
    size_t lost = 0;

    if (peer->gone != OPAL_SUCCESS) {
        return;
    }
    if (peer->paths.count == 0) {
        find_paths(peer);
        return;
    }
    int status = ptl_renew_proc(peer->pml->ptls, proc, &peer->paths, &lost);
    if (peer->doubt != OPAL_SUCCESS || lost > 0) {
        end_peer(peer, peer->doubt != OPAL_SUCCESS ? peer->doubt : OPAL_ERR_UNREACH);
    } else if (status != OPAL_SUCCESS) {
        peer_has_changed(peer, OPAL_SUCCESS); /* no memory: later */
    } else {
        stripe_renew(peer);
        peer_is_due(peer); /* what a lost path did not take */
    }
}

/* ---- several threads ---- */

static void wake(struct pml *pml)
{
    if (pml->resting > 0 && pml->host.wake) {
        pml->host.wake(pml->host.arg);
    }
}

void pml_unlock_shared(struct pml *pml)
{
    if (pml->unsettled) {
        wake(pml);
    }
    pml->host.unlock(pml->unsettled);
}

/* ---- outside of the modules ---- */

static void settle(struct pml *pml)
{
    struct list changed;

    if (!list_empty(&pml->changed)) {
        list_init(&changed);
        list_splice(&changed, &pml->changed);
        for (struct list *link; (link = list_pop(&changed));) {
            look_at_paths(container_of(link, struct peer, change));
        }
    }
    if (!list_empty(&pml->due)) {
        try_all_again(pml);
    }
    for (struct list *link; (link = list_pop(&pml->tells));) {
        control_tell(container_of(link, struct member, tell));
    }
}

void pml_settle(struct pml *pml)
{
    if (pml->unsettled && !pml->settling) {
        pml->settling = true;
        pml->unsettled = false; /* callbacks of modules may bring more */
        settle(pml);
        pml->settling = false;
        wake(pml);
    }
}

/* Callbacks of users, outside of progress. */
static void run_callbacks(struct pml *pml)
{
    pml_lock(pml);
    if (!list_empty(&pml->ended)) {
        request_run_callbacks_locked(pml);
    }
    pml_unlock(pml);
}

static uint64_t ends_of(const struct pml *pml)
{
    return __atomic_load_n(&pml->ends, __ATOMIC_RELAXED);
}

int pml_run_callbacks(struct pml *pml)
{
    if ((!pml->host.lock && list_empty(&pml->ended)) || !progress_may_run(pml)) {
        return 0;
    }
    const uint64_t before = ends_of(pml);
    run_callbacks(pml);
    return (int) (ends_of(pml) - before);
}

static void complain(int status)
{
    unsigned held_back = 0;
    if (log_rate_ok("pml progress", &held_back)) {
        log_warn(LOG_PTL, "progress: %s", opal_strerror(status));
    }
}

/* Inside of progress: a pass over the PTLs. Where several threads use them, they have pml_settle
 * called after each pass. */
static inline void poll_ptls(struct pml *pml)
{
    int status = ptl_progress(pml->ptls, pml->tells_time ? clock_ns() : 0);
    if (status != OPAL_SUCCESS) {
        complain(status);
    }
    if (pml->unsettled && !pml->host.lock) {
        pml_settle(pml);
    }
}

/* The same: a pass over what the host has beside them. */
static inline void poll_host(struct pml *pml)
{
    if (pml->host.progress) {
        (void) pml->host.progress(pml->host.arg);
    }
}

/* Progress of what is below, outside of itself. */
static void drive(struct pml *pml, bool ptls)
{
    const struct progress_frame frame = {pml, progress_inside};

    progress_inside = &frame;
    if (ptls) {
        poll_ptls(pml);
    }
    poll_host(pml);
    if (!pml->host.lock) {
        pml_settle(pml); /* also after what the host did */
    }
    progress_inside = frame.outer;
    run_callbacks(pml);
}

void progress_end_peers(struct pml *pml, int status)
{
    struct peer *peer;

    list_for_each (peer, &pml->all_peers, struct peer, all) {
        end_peer(peer, status);
    }
}

int pml_progress(struct pml *pml)
{
    if (!progress_may_run(pml)) {
        return 0;
    }
    const uint64_t before = ends_of(pml);
    drive(pml, true);
    return (int) (ends_of(pml) - before);
}

/* ---- waiting ---- */

/* The innermost of this thread. */
static _Thread_local const struct waiter *waiting_here __attribute__((tls_model("initial-exec")));

struct waiter {
    struct pml *pml;
    const struct waiter *outer; /* up the stack of this thread; NULL: none */
    progress_tell_fn *tell;
    bool (*done)(void *arg);
    void *arg;
    unsigned passes;
    bool sleeps;
    bool naps;                 /* it could not sleep when it last tried */
    uint64_t now_ns, since_ns; /* since then nothing has happened */
    uint64_t events;           /* before that */
};

static bool is_over(const struct waiter *waiter)
{
    pml_lock(waiter->pml);
    const bool over = waiter->done(waiter->arg);
    pml_unlock(waiter->pml);
    return over;
}

/* Whether it has polled in vain for long enough. */
static void look_at_clock(struct waiter *waiter)
{
    const struct pml_host *host = &waiter->pml->host;

    if (waiter->passes++ % PASSES_A_LOOK != 0 && !waiter->sleeps) {
        return;
    }
    waiter->now_ns = clock_ns();
    if (!host->rest) {
        return;
    }
    const uint64_t events = host->events();
    if (waiter->since_ns == 0 || events != waiter->events) {
        waiter->events = events;
        waiter->since_ns = waiter->now_ns;
    }
    waiter->sleeps = waiter->now_ns - waiter->since_ns > waiter->pml->spin_ns;
}

/* Where one thread alone uses the PML: sleeps until something happens. False: that cannot be now.
 */
static bool sleep_on_ptls(const struct waiter *waiter)
{
    const struct pml *pml = waiter->pml;
    const struct pml_host *host = &pml->host;
    const uint64_t until_ns = waiter->now_ns + pml->sleep_ns;

    return host->rest_on_ptls && !host->lock && !pml->unsettled && list_empty(&pml->ended) &&
           host->rest_on_ptls(host->rest, host->arg, until_ns / 1000u);
}

/* Polls now and then. What could not sleep because something was due has polled before it naps. */
static void nap(struct waiter *waiter)
{
    const struct pml_host *host = &waiter->pml->host;
    const uint64_t waited_us = (waiter->now_ns - waiter->since_ns) / 1000u;
    const uint64_t us = least(waited_us / NAP_SHARE, NAP_MAX_US);

    if (waiter->naps || host->lock || !host->rest_on_ptls) {
        host->rest(host->arg, waiter->now_ns / 1000u + us, NULL, 0);
    }
    waiter->naps = !waiter->naps;
}

/* False: it is over. With several threads, an end that comes between its look and its sleep does
 * not wake it, so it never sleeps long. Apart from the loop of those who poll. */
static __attribute__((noinline)) bool sleep_a_bit(struct waiter *waiter)
{
    struct pml *pml = waiter->pml;

    pml_lock(pml);
    const bool over = waiter->done(waiter->arg);
    pml->resting += !over;
    pml_unlock(pml);
    if (!over) {
        if (sleep_on_ptls(waiter)) {
            waiter->naps = false;
        } else {
            nap(waiter);
        }
        pml_lock(pml);
        pml->resting--;
        pml_unlock(pml);
    }
    return !over;
}

bool progress_once(struct pml *pml, bool (*done)(void *arg), void *arg)
{
    const struct waiter waiter = {.pml = pml, .done = done, .arg = arg};
    if (is_over(&waiter)) {
        return true;
    }
    (void) pml_progress(pml);
    return is_over(&waiter);
}

/* Where one thread alone uses the PML: some passes with nothing between them but a look, until it
 * is over, or callbacks are due. True: it is over. */
static bool spin(const struct waiter *waiter)
{
    struct pml *pml = waiter->pml;
    const struct progress_frame frame = {pml, progress_inside};
    bool over = false;

    progress_inside = &frame;
    for (int i = 0; i < PASSES_A_LOOK && !over && list_empty(&pml->ended); i++) {
        poll_ptls(pml);
        over = waiter->done(waiter->arg);
        if (!over || pml->waits++ % PASSES_A_LOOK == 0) { /* those who never wait long, too */
            poll_host(pml);
        }
    }
    progress_inside = frame.outer;
    return over && list_empty(&pml->ended);
}

int progress_until(struct pml *pml, bool (*done)(void *arg), progress_tell_fn *tell, void *arg)
{
    struct waiter waiter = {
        .pml = pml, .outer = waiting_here, .tell = tell, .done = done, .arg = arg};

    if (is_over(&waiter)) {
        return OPAL_SUCCESS;
    }
    if (!progress_may_run(pml)) {
        return OPAL_ERR_RESOURCE_BUSY;
    }
    waiting_here = &waiter;
    do {
        if (!pml->host.lock && !waiter.sleeps) {
            if (spin(&waiter)) {
                break;
            }
            waiter.passes = 0; /* these were as many as between two looks */
        }
        look_at_clock(&waiter);
        if (waiter.sleeps && !sleep_a_bit(&waiter)) {
            break;
        }
        drive(pml, !(waiter.sleeps && pml->host.has_thread));
    } while (!is_over(&waiter));
    waiting_here = waiter.outer;
    return OPAL_SUCCESS;
}

void progress_tell(char *text, size_t size)
{
    text[0] = '\0';
    if (waiting_here) {
        waiting_here->tell(waiting_here->arg, text, size);
    }
}
