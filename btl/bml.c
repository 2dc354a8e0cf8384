#include <config.h>

#include <base/log.h>
#include <btl/base.h>
#include <btl/bml.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A peer and its rails. */
struct bml_peer {
    opal_proc_t *proc;       /* borrowed */
    struct keel_rail *rails; /* owned */
    size_t count;
};

struct bml {
    struct bml_peer *peers; /* sorted by the proc's address */
    size_t count;
};

/* Best first. */
static int compare_rails(const void *left, const void *right)
{
    const mca_btl_base_module_t *a = ((const struct keel_rail *) left)->btl;
    const mca_btl_base_module_t *b = ((const struct keel_rail *) right)->btl;
    if (a->btl_exclusivity != b->btl_exclusivity) {
        return a->btl_exclusivity > b->btl_exclusivity ? -1 : 1;
    }
    if (a->btl_latency != b->btl_latency) {
        return a->btl_latency < b->btl_latency ? -1 : 1;
    }
    if (a->btl_bandwidth != b->btl_bandwidth) {
        return a->btl_bandwidth > b->btl_bandwidth ? -1 : 1;
    }
    return 0;
}

size_t bml_choose(struct keel_rail *rails, size_t count)
{
    if (count > 1) {
        qsort(rails, count, sizeof(*rails), compare_rails);
    }
    size_t kept = 0;
    double total = 0;
    while (kept < count && rails[kept].btl->btl_exclusivity == rails[0].btl->btl_exclusivity) {
        total += rails[kept++].btl->btl_bandwidth;
    }
    for (size_t i = 0; i < kept; i++) {
        const mca_btl_base_module_t *btl = rails[i].btl;
        rails[i].weight = total > 0 ? btl->btl_bandwidth / total : 1.0 / (double) kept;
        rails[i].eager = btl->btl_latency == rails[0].btl->btl_latency;
        rails[i].send = btl->btl_flags & MCA_BTL_FLAGS_SEND;
        rails[i].rdma = btl->btl_flags & MCA_BTL_FLAGS_RDMA;
    }
    return kept;
}

static int compare_peers(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t) ((const struct bml_peer *) left)->proc;
    uintptr_t b = (uintptr_t) ((const struct bml_peer *) right)->proc;
    return a < b ? -1 : a > b;
}

static struct bml_peer *find_peer(const struct bml *bml, const opal_proc_t *proc)
{
    struct bml_peer key = {.proc = (opal_proc_t *) proc};
    return bml->count == 0 ? NULL
                           : bsearch(&key, bml->peers, bml->count, sizeof(key), compare_peers);
}

int bml_create(struct bml **bml)
{
    struct bml *made = calloc(1, sizeof(*made));
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *bml = made;
    return ORTE_SUCCESS;
}

static void give_back(struct keel_rail *rails, size_t count, opal_proc_t *proc)
{
    for (size_t i = 0; i < count; i++) {
        rails[i].btl->btl_del_procs(rails[i].btl, 1, &proc, &rails[i].endpoint);
    }
}

static void peer_fini(struct bml_peer *peer)
{
    give_back(peer->rails, peer->count, peer->proc);
    free(peer->rails);
}

void bml_destroy(struct bml *bml)
{
    if (!bml) {
        return;
    }
    for (size_t i = 0; i < bml->count; i++) {
        peer_fini(&bml->peers[i]);
    }
    free(bml->peers);
    free(bml);
}

/* Asks one module for all peers; endpoints[i] is NULL for those that it does not reach. */
static int ask_module(mca_btl_base_module_t *module, opal_proc_t **procs, size_t count,
                      struct mca_btl_base_endpoint_t **endpoints)
{
    opal_bitmap_t reachable;
    OBJ_CONSTRUCT(&reachable, opal_bitmap_t);
    int status = opal_bitmap_init(&reachable, (int) count);
    if (status == OPAL_SUCCESS) {
        status = module->btl_add_procs(module, count, procs, endpoints, &reachable);
    }
    for (size_t i = 0; i < count; i++) {
        if (endpoints[i] &&
            (status != OPAL_SUCCESS || !opal_bitmap_is_set_bit(&reachable, (int) i))) {
            module->btl_del_procs(module, 1, &procs[i], &endpoints[i]);
            endpoints[i] = NULL;
        }
    }
    OBJ_DESTRUCT(&reachable);
    return status;
}

/* Keeps the best of the modules that reach peer number i; candidates has room for all modules. */
static int choose_rails(struct bml_peer *peer, struct mca_btl_base_endpoint_t **endpoints,
                        size_t count, size_t i, struct keel_rail *candidates)
{
    size_t module_count;
    mca_btl_base_module_t **modules = btl_modules(&module_count);
    size_t found = 0;
    for (size_t m = 0; m < module_count; m++) {
        struct mca_btl_base_endpoint_t *endpoint = endpoints[m * count + i];
        if (endpoint) {
            candidates[found++] = (struct keel_rail){.btl = modules[m], .endpoint = endpoint};
        }
    }
    size_t kept = bml_choose(candidates, found);
    give_back(candidates + kept, found - kept, peer->proc);
    if (kept == 0) {
        return ORTE_ERR_UNREACH;
    }
    peer->rails = malloc(kept * sizeof(*peer->rails));
    if (!peer->rails) {
        give_back(candidates, kept, peer->proc);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    memcpy(peer->rails, candidates, kept * sizeof(*peer->rails));
    peer->count = kept;
    return ORTE_SUCCESS;
}

/* Appends the peers that some module reaches, not yet in order. */
static int keep_peers(struct bml *bml, opal_proc_t **procs, size_t count,
                      struct mca_btl_base_endpoint_t **endpoints, struct keel_rail *candidates,
                      char *reason, size_t reason_size)
{
    int result = ORTE_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        struct bml_peer peer = {.proc = procs[i]};
        int status = choose_rails(&peer, endpoints, count, i, candidates);
        if (status == ORTE_SUCCESS) {
            bml->peers[bml->count++] = peer;
        } else if (result == ORTE_SUCCESS) {
            result = status;
            snprintf(reason, reason_size, "%s on %s is reached by no component of the data plane",
                     ORTE_NAME_PRINT(&procs[i]->proc_name),
                     procs[i]->hostname ? procs[i]->hostname : "an unknown node");
        }
    }
    return result;
}

/* procs without those that have rails already; malloc'd. */
static opal_proc_t **new_procs(const struct bml *bml, opal_proc_t **procs, size_t *count)
{
    opal_proc_t **fresh = malloc((*count + 1) * sizeof(opal_proc_t *));
    size_t kept = 0;
    for (size_t i = 0; fresh && i < *count; i++) {
        if (!find_peer(bml, procs[i])) {
            fresh[kept++] = procs[i];
        }
    }
    *count = kept;
    return fresh;
}

int bml_add_procs(struct bml *bml, opal_proc_t **procs, size_t count, char *reason,
                  size_t reason_size)
{
    if (count > INT_MAX) {
        snprintf(reason, reason_size, "too many peers");
        return ORTE_ERR_BAD_PARAM;
    }
    size_t module_count;
    mca_btl_base_module_t **modules = btl_modules(&module_count);
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    snprintf(reason, reason_size, "out of memory");
    opal_proc_t **fresh = new_procs(bml, procs, &count);
    struct mca_btl_base_endpoint_t **endpoints =
        calloc(module_count * count + 1, sizeof(struct mca_btl_base_endpoint_t *));
    struct keel_rail *candidates = calloc(module_count + 1, sizeof(*candidates));
    struct bml_peer *peers = realloc(bml->peers, (bml->count + count + 1) * sizeof(*peers));
    if (peers) {
        bml->peers = peers;
    }
    if (!fresh || !endpoints || !candidates || !peers) {
        goto free_all;
    }
    for (size_t m = 0; count > 0 && m < module_count; m++) {
        int asked = ask_module(modules[m], fresh, count, endpoints + m * count);
        if (asked != OPAL_SUCCESS) {
            log_warn(LOG_BTL, "%s: its peers were not added: %s",
                     modules[m]->btl_component->btl_version.mca_component_name,
                     opal_strerror(asked));
        }
    }
    status = keep_peers(bml, fresh, count, endpoints, candidates, reason, reason_size);
    qsort(bml->peers, bml->count, sizeof(*bml->peers), compare_peers);
free_all:
    free(candidates);
    free(endpoints);
    free(fresh);
    return status;
}

int bml_del_procs(struct bml *bml, opal_proc_t **procs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bml_peer *peer = find_peer(bml, procs[i]);
        if (!peer) {
            continue;
        }
        struct bml_peer gone = *peer;
        bml->count--;
        memmove(peer, peer + 1, (size_t) (bml->peers + bml->count - peer) * sizeof(*peer));
        peer_fini(&gone);
    }
    return ORTE_SUCCESS;
}

const struct keel_rail *bml_rails(const struct bml *bml, const opal_proc_t *proc, size_t *count)
{
    const struct bml_peer *peer = find_peer(bml, proc);
    *count = peer ? peer->count : 0;
    return peer ? peer->rails : NULL;
}
