#include <config.h>

#include <base/settings/param.h>
#include <pml/peers/context.h>
#include <pml/peers/peer.h>
#include <pml/peers/stripe.h>
#include <pml/progress/progress.h>
#include <pml/requests/arrival.h>
#include <pml/requests/send.h>
#include <stdlib.h>

enum { REQUESTS_AT_ONCE = 64 }; /* that a pool grows by */

static struct {
    struct param unexpected_size, early_size, buffered_size, spin, sleep;
} params = {
    .unexpected_size =
        PARAM_SIZE("pml_unexpected_size", "64m", 0, INT64_C(1) << 40,
                   "Memory for the messages of a peer that no receive has matched; above it the "
                   "peer is asked to send no data before a receive is matched."),
    .early_size = PARAM_SIZE("pml_early_size", "64m", 0, INT64_C(1) << 40,
                             "Memory for messages of contexts that are not open yet."),
    .buffered_size = PARAM_SIZE("pml_buffered_size", "64m", 0, INT64_C(1) << 40,
                                "Memory for the copies of buffered sends."),
    .spin = PARAM_INT("pml_spin_us", "2000", 0, 86400000000, "us",
                      "How long a call that waits for messages polls while nothing happens, before "
                      "it sleeps."),
    .sleep = PARAM_INT("pml_sleep_max_ms", "100", 1, 86400000, "ms",
                       "How long a call that waits sleeps at most before it looks whether anything "
                       "has come, where whatever comes wakes it."),
};
PARAM_ROWS("pml", params);

/* ---- modules ---- */

static const struct ptl_upcalls upcalls = {
    .match = arrival_upcall_match,
    .matchi = arrival_upcall_matchi,
    .send_progress = send_upcall_progress,
    .recv_progress = recv_upcall_progress,
    .send_failed = send_upcall_failed,
    .put_wanted = send_upcall_put_wanted,
    .recv_failed = recv_upcall_failed,
    .peer_changed = peer_upcall_changed,
    .peer_ready = peer_upcall_ready,
};

static void module_init(struct mca_pml_base_ptl_t *module, struct pml *pml,
                        mca_ptl_base_module_t *ptl)
{
    module->pml = pml;
    module->ptl = ptl;
    if (ptl->ptl_request_init && ptl->ptl_request_fini && ptl->ptl_cache_size > 0 &&
        ptl->ptl_cache_bytes > 0) {
        pool_init(&module->sends, sizeof(struct send) + ptl->ptl_cache_bytes, _Alignof(struct send),
                  ptl->ptl_cache_size, ptl->ptl_cache_size, send_construct_cached, module);
    }
    for (mca_ptl_base_module_t *each = ptl; each; each = each->ptl_stack) {
        each->ptl_base = module;
    }
}

/* None of its requests is in use. */
static void module_fini(struct mca_pml_base_ptl_t *module)
{
    for (size_t i = module->sends.total; i > 0; i--) {
        struct send *send = pool_get(&module->sends);
        if (send->ptl.req_cached) {
            module->ptl->ptl_request_fini(module->ptl, &send->ptl);
        }
    }
    pool_fini(&module->sends);
}

static int open_modules(struct pml *pml, mca_ptl_base_component_t *const *components)
{
    int status =
        ptl_open(&pml->ptls, components, &upcalls, pml->host.has_thread, pml->host.lock != NULL);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    mca_ptl_base_module_t **ptls = ptl_modules(pml->ptls, &pml->module_count);
    pml->modules = calloc(pml->module_count, sizeof(*pml->modules));
    if (!pml->modules) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < pml->module_count; i++) {
        module_init(&pml->modules[i], pml, ptls[i]);
        pml->tells_time = pml->tells_time || !keel_ptl_extended(ptls[i]);
    }
    return OPAL_SUCCESS;
}

/* ---- its life ---- */

static void init(struct pml *pml, const struct pml_host *host)
{
    pml->host = *host;
    list_init(&pml->all_contexts);
    list_init(&pml->all_peers);
    list_init(&pml->due);
    list_init(&pml->short_of_room);
    list_init(&pml->changed);
    list_init(&pml->tells);
    list_init(&pml->ended);
    queues_init(&pml->peers);
    early_init(&pml->early, (size_t) param_int(&params.early_size));
    pml->unexpected_most = (size_t) param_int(&params.unexpected_size);
    pml->striped_most = STRIPE_WINDOW;
    pml->buffered_most = (size_t) param_int(&params.buffered_size);
    pml->stray.most = pml->unexpected_most;
    pml->spin_ns = (uint64_t) param_int(&params.spin) * 1000u;
    pml->sleep_ns = (uint64_t) param_int(&params.sleep) * 1000000u;
    pool_init(&pml->sends, sizeof(struct send), _Alignof(struct send), REQUESTS_AT_ONCE, 0,
              send_construct, NULL);
    pool_init(&pml->ended_sends, sizeof(struct keel_pml_request), _Alignof(struct keel_pml_request),
              REQUESTS_AT_ONCE, 0, NULL, NULL);
    pool_init(&pml->recvs, sizeof(struct recv), _Alignof(struct recv), REQUESTS_AT_ONCE, 0, NULL,
              NULL);
}

static void destroy(struct pml *pml)
{
    arrival_drop_early(pml);
    while (!list_empty(&pml->all_peers)) {
        peer_destroy(container_of(pml->all_peers.next, struct peer, all));
    }
    for (size_t i = 0; pml->modules && i < pml->module_count; i++) {
        module_fini(&pml->modules[i]);
    }
    ptl_close(pml->ptls);
    free(pml->modules);
    pool_fini(&pml->sends);
    pool_fini(&pml->ended_sends);
    pool_fini(&pml->recvs);
    contexts_fini(pml);
    queues_fini(&pml->peers);
    early_fini(&pml->early);
    free(pml);
}

int pml_open(struct pml **opened, const struct pml_host *host,
             mca_ptl_base_component_t *const *components)
{
    struct pml *pml = calloc(1, sizeof(*pml));
    if (!pml) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    init(pml, host);
    int status = open_modules(pml, components);
    if (status != OPAL_SUCCESS) {
        destroy(pml);
        return status;
    }
    *opened = pml;
    return OPAL_SUCCESS;
}

int pml_close(struct pml *pml)
{
    if (!list_empty(&pml->all_contexts) || progress_is_inside(pml) || pml->settling ||
        pml->callbacks > 0) {
        return OPAL_ERR_RESOURCE_BUSY;
    }
    destroy(pml);
    return OPAL_SUCCESS;
}

void pml_abandon(struct pml *pml)
{
    progress_end_peers(pml, OPAL_ERR_UNREACH);
    while (!list_empty(&pml->all_contexts)) {
        struct keel_pml_context *context =
            container_of(pml->all_contexts.next, struct keel_pml_context, all);
        arrival_drop(context);
        context_destroy(context);
    }
    destroy(pml);
}
