#include <config.h>

#include <base/data/array.h>
#include <base/data/list.h>
#include <base/settings/log.h>
#include <base/types/name.h>
#include <btl/interface/base.h>
#include <btl/plane/bml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rails that were given out; callers may still look at older ones. */
struct rail_set {
    struct rail_set *older; /* owned */
    size_t count;
    struct keel_rail rails[];
};

/* How one module leads to a peer. */
struct way {
    struct mca_btl_base_endpoint_t *endpoint; /* NULL: not asked, or not reached */
    bool failed;                              /* until it returns, or a restart */
    bool refused;                             /* the module did not lead to it, when asked */
};

/* A peer whose rails were asked for, that has come by itself, or that has ended. */
struct bml_peer {
    struct list link;       /* in peers */
    opal_proc_t *proc;      /* borrowed */
    struct rail_set *rails; /* owned; NULL: not chosen yet */
    bool ended;             /* its process, as the host knows: no other way is tried */
    struct way ways[];      /* beside bml.modules */
};

/* All that an unused peer costs. */
struct known {
    opal_proc_t *proc;     /* borrowed */
    struct bml_peer *peer; /* owned; NULL: not used yet */
};

/* What a module reported: proc is lost to it, or (NULL) everybody; or proc is back. */
struct news {
    struct list link;
    mca_btl_base_module_t *module;
    opal_proc_t *proc;
    bool back;
};

struct bml {
    mca_btl_base_module_t **modules; /* owned; the highest exclusivity first */
    bool *lost;                      /* owned; beside modules: it has lost everybody */
    struct keel_rail *candidates;    /* owned; room for a rail of each */
    size_t module_count;
    struct known *known; /* owned; sorted by name */
    size_t count;
    struct list peers; /* those of known that have one */
    struct list news;  /* struct news, oldest first; owned, not settled yet */
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

/* --- peers --- */

static int compare_known(const void *left, const void *right)
{
    return name_compare(&((const struct known *) left)->proc->proc_name,
                        &((const struct known *) right)->proc->proc_name);
}

static struct known *find_known(const struct bml *bml, const orte_process_name_t *name)
{
    opal_proc_t proc = {.proc_name = *name};
    struct known key = {.proc = &proc};
    return bml->count == 0 ? NULL
                           : bsearch(&key, bml->known, bml->count, sizeof(key), compare_known);
}

/* NULL: not known, or (logged) no memory. */
static struct bml_peer *peer_of(struct bml *bml, const orte_process_name_t *name)
{
    struct known *known = find_known(bml, name);
    if (!known || known->peer) {
        return known ? known->peer : NULL;
    }
    struct bml_peer *peer = calloc(1, sizeof(*peer) + bml->module_count * sizeof(*peer->ways));
    if (!peer) {
        log_warn(LOG_BTL, "no rails to %s: out of memory", ORTE_NAME_PRINT(name));
        return NULL;
    }
    peer->proc = known->proc;
    for (size_t m = 0; m < bml->module_count; m++) {
        peer->ways[m].failed = bml->lost[m];
    }
    known->peer = peer;
    list_append(&bml->peers, &peer->link);
    return peer;
}

static size_t place_of(const struct bml *bml, const mca_btl_base_module_t *module)
{
    size_t m = 0;
    while (bml->modules[m] != module) {
        m++;
    }
    return m;
}

/* Whether a module leads to the peer, now that it is to. */
static bool is_open(const struct bml *bml, struct bml_peer *peer, size_t m)
{
    struct way *way = &peer->ways[m];
    if (!way->endpoint && !way->failed && !peer->ended) {
        mca_btl_base_module_t *module = bml->modules[m];
        int status = module->btl_add_procs(module, 1, &peer->proc, &way->endpoint, NULL);
        if (status != OPAL_SUCCESS) {
            log_warn(LOG_BTL, "%s: %s was not added: %s", btl_module_name(module),
                     ORTE_NAME_PRINT(&peer->proc->proc_name), opal_strerror(status));
        } else if (way->endpoint) {
            btl_keep(module, way->endpoint);
        }
        way->refused = !way->endpoint;
    }
    return way->endpoint && !way->failed;
}

static bool is_same(const struct rail_set *set, const struct keel_rail *rails, size_t count)
{
    bool same = set->count == count;
    for (size_t i = 0; same && i < count; i++) {
        same = set->rails[i].btl == rails[i].btl;
    }
    return same;
}

static bool has_rail(const struct bml_peer *peer, const mca_btl_base_module_t *module)
{
    for (size_t i = 0; peer->rails && i < peer->rails->count; i++) {
        if (peer->rails->rails[i].btl == module) {
            return true;
        }
    }
    return false;
}

/* A set that the peer had before is used again, so that rails which come and go cost no memory. */
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
        set = malloc(sizeof(*set) + count * sizeof(*rails));
    }
    if (set) {
        set->count = count;
        memcpy(set->rails, rails, count * sizeof(*rails));
        set->older = peer->rails;
        peer->rails = set;
    }
    return set != NULL;
}

/* The peer's rails are those of the first class of exclusivity that has any. False: they are what
 * they were. */
static bool choose_rails(struct bml *bml, struct bml_peer *peer)
{
    struct keel_rail *rails = bml->candidates;
    size_t count = 0;
    for (size_t m = 0; m < bml->module_count; m++) {
        mca_btl_base_module_t *module = bml->modules[m];
        if (count > 0 && module->btl_exclusivity != rails[0].btl->btl_exclusivity) {
            break;
        }
        if (is_open(bml, peer, m)) {
            rails[count++] = (struct keel_rail){.btl = module, .endpoint = peer->ways[m].endpoint};
        }
    }
    count = bml_choose(rails, count);
    return !(peer->rails && is_same(peer->rails, rails, count)) && set_rails(peer, rails, count);
}

const struct keel_rail *bml_rails(struct bml *bml, const opal_proc_t *proc, size_t *count)
{
    struct bml_peer *peer = peer_of(bml, &proc->proc_name);
    if (peer && !peer->rails && choose_rails(bml, peer) && peer->rails->count == 0) {
        log_warn(LOG_BTL, "no rail to %s: %s", ORTE_NAME_PRINT(&proc->proc_name),
                 peer->ended ? "its process has ended" : "no module reaches it any more");
    }
    *count = peer && peer->rails ? peer->rails->count : 0;
    return *count > 0 ? peer->rails->rails : NULL;
}

static bool is_reached(const struct bml *bml, const opal_proc_t *proc)
{
    size_t m = 0;
    while (m < bml->module_count && !btl_reaches(bml->modules[m], proc)) {
        m++;
    }
    return m < bml->module_count;
}

/* Sorts them, and drops those that stand there twice. */
static void sort_known(struct bml *bml, size_t count)
{
    qsort(bml->known, count, sizeof(*bml->known), compare_known);
    bml->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || compare_known(&bml->known[bml->count - 1], &bml->known[i]) != 0) {
            bml->known[bml->count++] = bml->known[i];
        }
    }
}

int bml_add_procs(struct bml *bml, opal_proc_t *const *procs, size_t count, char *reason,
                  size_t reason_size)
{
    int status = ORTE_SUCCESS;
    if (!array_resize(&bml->known, bml->count + count, sizeof(*bml->known))) {
        snprintf(reason, reason_size, "out of memory");
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    size_t total = bml->count;
    for (size_t i = 0; i < count; i++) {
        const orte_process_name_t *name = &procs[i]->proc_name;
        if (find_known(bml, name)) {
            continue;
        }
        if (is_reached(bml, procs[i])) {
            bml->known[total++] = (struct known){.proc = procs[i]};
        } else if (status == ORTE_SUCCESS) {
            status = ORTE_ERR_UNREACH;
            snprintf(reason, reason_size, "%s on %s is reached by no component of the data plane",
                     ORTE_NAME_PRINT(name),
                     procs[i]->hostname ? procs[i]->hostname : "an unknown node");
        }
    }
    sort_known(bml, total);
    return status;
}

/* --- what modules and the host tell --- */

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

/* Inside a module: what comes from the peer is to name its endpoint. */
static void note_met(void *arg, mca_btl_base_module_t *module, const orte_process_name_t *name)
{
    struct bml *bml = arg;
    struct bml_peer *peer = peer_of(bml, name);
    if (peer) {
        (void) is_open(bml, peer, place_of(bml, module));
    }
}

/* Inside a module, and often: the others that lead to the peer are asked, best first, until one is
 * connected; those before it are to connect. */
static bool connects(void *arg, const mca_btl_base_module_t *except,
                     const orte_process_name_t *name)
{
    struct bml *bml = arg;
    struct bml_peer *peer = peer_of(bml, name);
    for (size_t m = 0; peer && m < bml->module_count; m++) {
        mca_btl_base_module_t *module = bml->modules[m];
        if (module != except && !peer->ways[m].refused && is_open(bml, peer, m) &&
            btl_connected(module, peer->ways[m].endpoint)) {
            return true;
        }
    }
    return false;
}

/* Asked when a caller gives up an endpoint for good, which few do. */
static bool owns(void *arg, const mca_btl_base_module_t *module,
                 const struct mca_btl_base_endpoint_t *endpoint)
{
    struct bml *bml = arg;
    size_t m = place_of(bml, module);
    struct bml_peer *peer;
    list_for_each (peer, &bml->peers, struct bml_peer, link) {
        if (peer->ways[m].endpoint == endpoint) {
            return true;
        }
    }
    return false;
}

void bml_peer_ended(struct bml *bml, const opal_proc_t *proc)
{
    struct bml_peer *peer = peer_of(bml, &proc->proc_name);
    if (!peer || peer->ended) {
        return;
    }
    peer->ended = true;
    if (!peer->rails) {
        (void) choose_rails(bml, peer); /* of how it came by itself */
    }
    for (size_t m = 0; m < bml->module_count; m++) {
        struct way *way = &peer->ways[m];
        if (way->endpoint) {
            btl_retry(bml->modules[m], way->endpoint, false);
        }
        btl_peer_ended(bml->modules[m], &proc->proc_name, way->endpoint);
        way->failed = way->failed || !has_rail(peer, bml->modules[m]);
    }
}

/* What a module reported of a peer. True: its rails have changed. */
static bool take(struct bml *bml, struct bml_peer *peer, const struct news *news)
{
    mca_btl_base_module_t *module = news->module;
    struct way *way = &peer->ways[place_of(bml, module)];
    if (news->proc && !way->endpoint) {
        return false; /* of somebody else's endpoint */
    }
    way->failed = !news->back;
    if (way->failed && news->proc && !peer->ended) {
        btl_retry(module, way->endpoint, true); /* one that lost all is not tried again */
    }
    return choose_rails(bml, peer);
}

void bml_settle(struct bml *bml, void (*changed)(opal_proc_t *proc))
{
    struct news news;
    bml_has_news = false; /* callbacks may bring more */
    while (take_news(bml, &news)) {
        const struct known *known = news.proc ? find_known(bml, &news.proc->proc_name) : NULL;
        if (known && known->peer && take(bml, known->peer, &news)) {
            changed(known->proc);
        }
        if (news.proc) {
            continue;
        }
        bml->lost[place_of(bml, news.module)] = true;
        struct bml_peer *peer;
        list_for_each (peer, &bml->peers, struct bml_peer, link) {
            if (take(bml, peer, &news)) {
                changed(peer->proc);
            }
        }
    }
}

void bml_restore(struct bml *bml, void (*changed)(opal_proc_t *proc))
{
    struct news news;
    struct bml_peer *peer;
    while (take_news(bml, &news)) { /* of the life before */
    }
    memset(bml->lost, 0, bml->module_count * sizeof(*bml->lost));
    list_for_each (peer, &bml->peers, struct bml_peer, link) {
        for (size_t m = 0; m < bml->module_count && !peer->ended; m++) {
            peer->ways[m].failed = false;
        }
        if (peer->rails && choose_rails(bml, peer)) {
            changed(peer->proc);
        }
    }
}

/* --- its life --- */

int bml_create(struct bml **bml)
{
    size_t count;
    mca_btl_base_module_t **modules = btl_modules(&count);
    struct bml *made = calloc(1, sizeof(*made));
    *bml = made;
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    list_init(&made->peers);
    list_init(&made->news);
    made->modules = calloc(count + 1, sizeof(*modules));
    made->lost = calloc(count + 1, sizeof(*made->lost));
    made->candidates = calloc(count + 1, sizeof(*made->candidates));
    if (!made->modules || !made->lost || !made->candidates) {
        bml_destroy(made);
        *bml = NULL;
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < count; i++) {
        made->candidates[i].btl = modules[i];
    }
    qsort(made->candidates, count, sizeof(*made->candidates), compare_rails);
    for (; made->module_count < count; made->module_count++) {
        made->modules[made->module_count] = made->candidates[made->module_count].btl;
    }
    btl_watch_peers(note_news, made);
    btl_set_owner(&(struct btl_owner){owns, note_met, connects, made});
    return ORTE_SUCCESS;
}

/* All peers of a module at once: they are waited for together, and none begins another session
 * while others are waited for. Without memory the end of the module ends them. */
static void give_back(const struct bml *bml, size_t m)
{
    opal_proc_t **procs = calloc(bml->count + 1, sizeof(*procs));
    struct mca_btl_base_endpoint_t **endpoints = calloc(bml->count + 1, sizeof(*endpoints));
    const struct bml_peer *peer;
    size_t count = 0;

    list_for_each (peer, &bml->peers, struct bml_peer, link) {
        if (procs && endpoints && peer->ways[m].endpoint) {
            procs[count] = peer->proc;
            endpoints[count++] = peer->ways[m].endpoint;
        }
    }
    if (count > 0) {
        btl_give_back(bml->modules[m], count, procs, endpoints);
    }
    free(endpoints);
    free(procs);
}

static void peer_free(struct bml_peer *peer)
{
    for (struct rail_set *older; peer->rails; peer->rails = older) {
        older = peer->rails->older;
        free(peer->rails);
    }
    free(peer);
}

void bml_destroy(struct bml *bml)
{
    if (!bml) {
        return;
    }
    struct news news;
    btl_watch_peers(NULL, NULL);
    btl_set_owner(NULL);
    bml_has_news = false;
    while (take_news(bml, &news)) {
    }
    for (size_t m = 0; m < bml->module_count; m++) {
        give_back(bml, m);
    }
    for (struct list *link; (link = list_pop(&bml->peers));) {
        peer_free(container_of(link, struct bml_peer, link));
    }
    free(bml->known);
    free(bml->candidates);
    free(bml->lost);
    free(bml->modules);
    free(bml);
}
