#include <config.h>

#include <base/clock.h>
#include <base/log.h>
#include <pml/control.h>
#include <pml/peer.h>
#include <pml/progress.h>
#include <pml/recv.h>
#include <pml/send.h>

enum { PASSES_A_TIME = 16 }; /* of one who waits, between looks at the clock */

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
    while (!list_empty(&peer->sending)) {
        send_fail(container_of(peer->sending.next, struct send, sending), status);
    }
    while (!list_empty(&peer->receiving)) {
        recv_fail(container_of(peer->receiving.next, struct recv, receiving), status);
    }
    end_members(peer);
    (void) ptl_del_procs(1, &proc, &peer->paths);
}

/* A message may have been lost with a path: without others that take its place (pml/README.md) the
 * order of those behind it is lost, too. */
static void look_at_paths(struct peer *peer)
{
    struct ompi_proc_t *proc = (struct ompi_proc_t *) peer->proc;
    size_t lost = 0;

    if (peer->gone != OPAL_SUCCESS || peer->paths.count == 0) {
        return;
    }
    int status = ptl_renew_proc(peer->pml->ptls, proc, &peer->paths, &lost);
    if (peer->doubt != OPAL_SUCCESS || lost > 0) {
        end_peer(peer, peer->doubt != OPAL_SUCCESS ? peer->doubt : OPAL_ERR_UNREACH);
    } else if (status != OPAL_SUCCESS) {
        peer_has_changed(peer, OPAL_SUCCESS); /* no memory: later */
    }
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
    }
}

int pml_run_callbacks(struct pml *pml)
{
    const uint64_t before = pml->ends;

    if (!list_empty(&pml->ended) && progress_may_run(pml)) {
        request_run_callbacks(pml);
    }
    return (int) (pml->ends - before);
}

int progress_at(struct pml *pml, uint64_t now_ns)
{
    const uint64_t before = pml->ends;
    unsigned held_back = 0;

    if (!progress_may_run(pml)) {
        return 0;
    }
    pml->inside = true;
    int status = ptl_progress(pml->ptls, now_ns);
    if (status != OPAL_SUCCESS && log_rate_ok("pml progress", &held_back)) {
        log_warn(LOG_PTL, "progress: %s", opal_strerror(status));
    }
    if (pml->host.progress) {
        (void) pml->host.progress(pml->host.arg);
    }
    pml_settle(pml);
    pml->inside = false;
    (void) pml_run_callbacks(pml);
    return (int) (pml->ends - before);
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
    return progress_at(pml, clock_ns());
}

int progress_until(struct pml *pml, bool (*done)(void *arg), void *arg)
{
    uint64_t now = 0;

    if (!progress_may_run(pml)) {
        return done(arg) ? OPAL_SUCCESS : OPAL_ERR_RESOURCE_BUSY;
    }
    for (unsigned pass = 0; !done(arg); pass++) {
        now = pass % PASSES_A_TIME == 0 ? clock_ns() : now;
        (void) progress_at(pml, now);
    }
    return OPAL_SUCCESS;
}
