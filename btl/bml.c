#include <config.h>

#include <base/list.h>
#include <base/log.h>
#include <btl/base.h>
#include <btl/bml.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAILED (-1.0)
/* Peers that a module is asked for at a time. */
#define SLICE 512

struct rail_set {
    struct rail_set *older; /* owned: callers may still look at it */
    size_t count;
    struct keel_rail rails[];
};

/* A peer and its rails. */
struct bml_peer {
    opal_proc_t *proc;      /* borrowed */
    struct rail_set *rails; /* owned */
    /* Owned; NULL: none. Not used: with weight FAILED until they return, or standbys; their
     * endpoints stay, for callers that have them. */
    struct rail_set *aside;
};

/* What a module reported: proc is lost to it, or (NULL) everybody; or proc is back. */
struct news {
    struct list link;
    mca_btl_base_module_t *module;
    opal_proc_t *proc;
    bool back;
};

struct bml {
    struct bml_peer *peers; /* sorted by the proc's address */
    size_t count;
    struct list news;    /* struct news, oldest first; owned, not settled yet */
    opal_proc_t **ended; /* owned: peers whose processes have ended, which are few */
    size_t ended_count;
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

static bool set_has(const struct rail_set *set, const mca_btl_base_module_t *module,
                    const struct mca_btl_base_endpoint_t *endpoint)
{
    for (size_t i = 0; set && i < set->count; i++) {
        const struct keel_rail *rail = &set->rails[i];
        if (rail->btl == module && rail->endpoint == endpoint) {
            return true;
        }
    }
    return false;
}

/* Asked when a caller gives up an endpoint for good, which few do. */
static bool keeps(void *arg, const mca_btl_base_module_t *module,
                  const struct mca_btl_base_endpoint_t *endpoint)
{
    const struct bml *bml = arg;
    for (size_t i = 0; i < bml->count; i++) {
        const struct bml_peer *peer = &bml->peers[i];
        if (set_has(peer->rails, module, endpoint) || set_has(peer->aside, module, endpoint)) {
            return true;
        }
    }
    return false;
}

bool bml_has_news;

/* Inside a module: the peer is looked at later. */
static void note_news(void *arg, mca_btl_base_module_t *module, opal_proc_t *proc, bool back)
{
    struct bml *bml = arg;
    struct news *news = malloc(sizeof(*news));
    if (!news) {
        log_warn(LOG_BTL, "the rails to %s stay as they are, without or with %s: out of memory",
                 proc ? ORTE_NAME_PRINT(&proc->proc_name) : "all peers", btl_module_name(module));
        return;
    }
    *news = (struct news){.module = module, .proc = proc, .back = back};
    list_append(&bml->news, &news->link);
    bml_has_news = true;
}

/* The oldest; false: there is none. */
static bool take_news(struct bml *bml, struct news *taken)
{
    struct list *link = list_pop(&bml->news);
    if (!link) {
        return false;
    }
    struct news *news = container_of(link, struct news, link);
    *taken = *news;
    free(news);
    return true;
}

int bml_create(struct bml **bml)
{
    struct bml *made = calloc(1, sizeof(*made));
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    list_init(&made->news);
    btl_watch_peers(note_news, made);
    btl_set_keeper(keeps, made);
    *bml = made;
    return ORTE_SUCCESS;
}

static struct rail_set *set_make(const struct keel_rail *rails, size_t count)
{
    struct rail_set *set = malloc(sizeof(*set) + count * sizeof(*rails));
    if (set) {
        *set = (struct rail_set){.count = count};
        memcpy(set->rails, rails, count * sizeof(*rails));
    }
    return set;
}

static void set_free(struct rail_set *set)
{
    while (set) {
        struct rail_set *older = set->older;
        free(set);
        set = older;
    }
}

static void give_back(struct keel_rail *rails, size_t count, opal_proc_t *proc)
{
    for (size_t i = 0; i < count; i++) {
        btl_give_back(rails[i].btl, proc, rails[i].endpoint);
    }
}

static void peer_fini(struct bml_peer *peer)
{
    if (peer->aside) {
        give_back(peer->aside->rails, peer->aside->count, peer->proc);
    }
    give_back(peer->rails->rails, peer->rails->count, peer->proc);
    set_free(peer->aside);
    set_free(peer->rails);
}

void bml_destroy(struct bml *bml)
{
    if (!bml) {
        return;
    }
    struct news news;
    btl_watch_peers(NULL, NULL);
    btl_set_keeper(NULL, NULL);
    bml_has_news = false;
    while (take_news(bml, &news)) {
    }
    for (size_t i = 0; i < bml->count; i++) {
        peer_fini(&bml->peers[i]);
    }
    free(bml->peers);
    free(bml->ended);
    free(bml);
}

/* Asks one module for some peers; endpoints[i] is NULL for those that it does not reach. */
static int ask_slice(mca_btl_base_module_t *module, opal_proc_t **procs, size_t count,
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
        } else if (endpoints[i]) {
            btl_keep(module, endpoints[i]);
        }
    }
    OBJ_DESTRUCT(&reachable);
    return status;
}

/* The same for any number: what was added is counted until it is kept. */
static int ask_module(mca_btl_base_module_t *module, opal_proc_t **procs, size_t count,
                      struct mca_btl_base_endpoint_t **endpoints)
{
    int status = OPAL_SUCCESS;
    for (size_t at = 0; at < count; at += SLICE) {
        size_t some = count - at < SLICE ? count - at : SLICE;
        int asked = ask_slice(module, procs + at, some, endpoints + at);
        status = status == OPAL_SUCCESS ? asked : status;
    }
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
    peer->rails = set_make(candidates, kept);
    if (!peer->rails) {
        give_back(candidates, kept, peer->proc);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
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
static opal_proc_t **new_procs(const struct bml *bml, opal_proc_t *const *procs, size_t *count)
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

int bml_add_procs(struct bml *bml, opal_proc_t *const *procs, size_t count, char *reason,
                  size_t reason_size)
{
    if (count > INT_MAX) {
        snprintf(reason, reason_size, "too many peers");
        return ORTE_ERR_BAD_PARAM;
    }
    size_t module_count;
    mca_btl_base_module_t **modules = btl_modules(&module_count);
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    opal_proc_t **fresh = new_procs(bml, procs, &count);
    struct mca_btl_base_endpoint_t **endpoints =
        calloc(module_count * count + 1, sizeof(struct mca_btl_base_endpoint_t *));
    struct keel_rail *candidates = calloc(module_count + 1, sizeof(*candidates));
    struct bml_peer *peers = realloc(bml->peers, (bml->count + count + 1) * sizeof(*peers));
    if (peers) {
        bml->peers = peers;
    }
    if (!fresh || !endpoints || !candidates || !peers) {
        snprintf(reason, reason_size, "out of memory");
        goto free_all;
    }
    for (size_t m = 0; count > 0 && m < module_count; m++) {
        int asked = ask_module(modules[m], fresh, count, endpoints + m * count);
        if (asked != OPAL_SUCCESS) {
            log_warn(LOG_BTL, "%s: its peers were not added: %s", btl_module_name(modules[m]),
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

/* --- failures --- */

/* A module's place among those that are not used; -1: it has none. */
static int place_aside(const struct bml_peer *peer, const mca_btl_base_module_t *module)
{
    for (size_t i = 0; peer->aside && i < peer->aside->count; i++) {
        if (peer->aside->rails[i].btl == module) {
            return (int) i;
        }
    }
    return -1;
}

static bool is_same(const struct rail_set *set, const struct keel_rail *rails, size_t count)
{
    bool same = set->count == count;
    for (size_t i = 0; same && i < count; i++) {
        same = set->rails[i].btl == rails[i].btl && set->rails[i].endpoint == rails[i].endpoint;
    }
    return same;
}

/* The peer has these rails from now on, all of them chosen. A set that it had before is used again,
 * so that rails which come and go cost no memory. */
static bool set_rails(struct bml_peer *peer, const struct keel_rail *rails, size_t count)
{
    struct rail_set **place = &peer->rails;
    while (*place && !is_same(*place, rails, count)) {
        place = &(*place)->older;
    }
    struct rail_set *set = *place;
    if (set) {
        *place = set->older;
    } else {
        set = set_make(rails, count);
    }
    if (set) {
        set->older = peer->rails;
        peer->rails = set;
    }
    return set != NULL;
}

/* Asks the modules that have not failed; candidates has room for all. Returns how many were chosen.
 */
static size_t ask_others(struct bml_peer *peer, struct keel_rail *candidates)
{
    size_t module_count, found = 0;
    mca_btl_base_module_t **modules = btl_modules(&module_count);
    for (size_t m = 0; m < module_count; m++) {
        struct mca_btl_base_endpoint_t *endpoint = NULL;
        int place = place_aside(peer, modules[m]);
        if (place >= 0 && peer->aside->rails[place].weight != FAILED) {
            candidates[found++] = peer->aside->rails[place];
        } else if (place < 0 && ask_module(modules[m], &peer->proc, 1, &endpoint) == OPAL_SUCCESS &&
                   endpoint) {
            candidates[found++] = (struct keel_rail){.btl = modules[m], .endpoint = endpoint};
        }
    }
    size_t kept = bml_choose(candidates, found);
    for (size_t i = 0; i < found; i++) {
        int place = place_aside(peer, candidates[i].btl);
        if (i < kept && place >= 0) {
            peer->aside->rails[place] = peer->aside->rails[--peer->aside->count];
        } else if (i >= kept && place < 0) {
            give_back(&candidates[i], 1, peer->proc);
        }
    }
    return kept;
}

/* Room for count more among those that are not used. */
static bool aside_grow(struct bml_peer *peer, size_t count)
{
    size_t had = peer->aside ? peer->aside->count : 0;
    struct rail_set *aside =
        realloc(peer->aside, sizeof(*aside) + (had + count) * sizeof(*aside->rails));
    if (aside) {
        aside->older = NULL;
        aside->count = had;
        peer->aside = aside;
    }
    return aside != NULL;
}

static bool has_ended(const struct bml *bml, const opal_proc_t *proc)
{
    for (size_t i = 0; i < bml->ended_count; i++) {
        if (bml->ended[i] == proc) {
            return true;
        }
    }
    return false;
}

/* Takes a rail out, and finds others when it was the last. False: it was none of the peer's. */
static bool drop_rail(const struct bml *bml, struct bml_peer *peer,
                      const mca_btl_base_module_t *module)
{
    size_t module_count, kept = 0, lost = 0;
    btl_modules(&module_count);
    struct rail_set *now = peer->rails;
    struct keel_rail *left = malloc((module_count + now->count) * sizeof(*left));
    if (!left || !aside_grow(peer, now->count)) {
        free(left);
        return false;
    }
    for (size_t i = 0; i < now->count; i++) {
        if (now->rails[i].btl == module) {
            struct keel_rail *failed = &peer->aside->rails[peer->aside->count++];
            *failed = now->rails[i];
            failed->weight = FAILED;
            lost++;
        } else {
            left[kept++] = now->rails[i];
        }
    }
    bool changed = false;
    if (lost > 0) {
        if (kept > 0) {
            kept = bml_choose(left, kept);
        } else if (!has_ended(bml, peer->proc)) {
            kept = ask_others(peer, left);
        }
        changed = set_rails(peer, left, kept);
    }
    free(left);
    return changed;
}

void bml_peer_ended(struct bml *bml, const opal_proc_t *proc)
{
    struct bml_peer *peer = find_peer(bml, proc);
    if (!peer || has_ended(bml, proc)) {
        return;
    }
    opal_proc_t **ended = realloc(bml->ended, (bml->ended_count + 1) * sizeof(*ended));
    if (ended) { /* else it has rails again after a restart */
        bml->ended = ended;
        bml->ended[bml->ended_count++] = peer->proc;
    }
    for (size_t i = 0; i < peer->rails->count; i++) {
        btl_peer_ended(peer->rails->rails[i].btl, peer->rails->rails[i].endpoint);
    }
    for (size_t i = 0; peer->aside && i < peer->aside->count; i++) {
        btl_retry(peer->aside->rails[i].btl, peer->aside->rails[i].endpoint, false);
    }
}

/* The best of the rails and the standbys. False: they are what they were. */
static bool choose_again(struct bml_peer *peer)
{
    const struct rail_set *now = peer->rails;
    struct keel_rail *all = aside_grow(peer, now->count)
                                ? malloc((now->count + peer->aside->count + 1) * sizeof(*all))
                                : NULL;
    struct rail_set *aside = peer->aside;
    size_t found = now->count, left = 0;
    if (!all) {
        return false;
    }
    memcpy(all, now->rails, now->count * sizeof(*all));
    for (size_t i = 0; i < aside->count; i++) {
        if (aside->rails[i].weight != FAILED) {
            all[found++] = aside->rails[i];
        }
    }
    size_t kept = bml_choose(all, found);
    bool changed = !is_same(now, all, kept) && set_rails(peer, all, kept);
    if (changed) {
        for (size_t i = 0; i < aside->count; i++) {
            if (aside->rails[i].weight == FAILED) {
                aside->rails[left++] = aside->rails[i];
            }
        }
        for (size_t i = kept; i < found; i++) {
            all[i].weight = 0;
            aside->rails[left++] = all[i];
        }
        aside->count = left;
    }
    free(all);
    return changed;
}

/* A rail that had failed is a standby, and may be the best. */
static bool take_back(struct bml_peer *peer, const mca_btl_base_module_t *module)
{
    int place = place_aside(peer, module);
    if (place < 0 || peer->aside->rails[place].weight != FAILED) {
        return false;
    }
    peer->aside->rails[place].weight = 0;
    return choose_again(peer);
}

/* A module lost a peer, which it tries again unless it lost all of them. */
static bool lose(const struct bml *bml, struct bml_peer *peer, const struct news *news)
{
    bool changed = drop_rail(bml, peer, news->module);
    int place = place_aside(peer, news->module);
    if (place >= 0) {
        struct keel_rail *rail = &peer->aside->rails[place];
        rail->weight = FAILED; /* it may have been a standby */
        if (news->proc && !has_ended(bml, peer->proc)) {
            btl_retry(rail->btl, rail->endpoint, true);
        }
    }
    return changed;
}

void bml_settle(struct bml *bml, void (*changed)(void *arg, opal_proc_t *proc), void *arg)
{
    struct news news;
    bml_has_news = false; /* callbacks may bring more */
    while (take_news(bml, &news)) {
        for (size_t i = 0; i < bml->count; i++) {
            struct bml_peer *peer = &bml->peers[i];
            bool meant = !news.proc || peer->proc == news.proc;
            opal_proc_t *proc = peer->proc;
            if (meant && (news.back ? take_back(peer, news.module) : lose(bml, peer, &news))) {
                changed(arg, proc);
            }
        }
    }
}

void bml_restore(struct bml *bml, void (*changed)(void *arg, opal_proc_t *proc), void *arg)
{
    struct news news;
    while (take_news(bml, &news)) { /* of the life before */
    }
    for (size_t i = 0; i < bml->count; i++) {
        opal_proc_t *proc = bml->peers[i].proc;
        struct rail_set *aside = has_ended(bml, proc) ? NULL : bml->peers[i].aside;
        for (size_t r = 0; aside && r < aside->count; r++) {
            aside->rails[r].weight = 0;
        }
        if (aside && choose_again(&bml->peers[i])) {
            changed(arg, proc);
        }
    }
}

const struct keel_rail *bml_rails(const struct bml *bml, const opal_proc_t *proc, size_t *count)
{
    const struct bml_peer *peer = find_peer(bml, proc);
    *count = peer ? peer->rails->count : 0;
    return *count > 0 ? peer->rails->rails : NULL;
}
