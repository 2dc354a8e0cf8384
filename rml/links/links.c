/* Links: where a message goes next, what waits for a link, and what happens when one comes or goes.
 */
#include <config.h>

#include <base/settings/log.h>
#include <base/types/name.h>
#include <oob/contact.h>
#include <rml/state/state.h>
#include <stdlib.h>
#include <string.h>

bool rml_is_daemon(const struct rml *rml)
{
    return rml->config.role == OOB_KEY_CONTROL;
}

/* --- the way to a peer --- */

static bool routed_way_is_up_locked(struct rml *rml, const orte_process_name_t *dest)
{
    orte_process_name_t target, name;
    if (rml_route_target(&rml->route, dest, &target) != ORTE_SUCCESS ||
        rml_route_hop(&rml->route, &target, &name) != ORTE_SUCCESS || name_equal(&name, dest)) {
        return false;
    }
    const struct rml_peer *hop = rml_peer_find(&rml->peers, &name);
    return hop && hop->state == RML_PEER_UP;
}

/* A link of its own, or a contact that one can be made from, beats the routed way; but who was
 * reached by the routed way stays on it, so that nothing is overtaken. */
static bool goes_direct_locked(struct rml *rml, const struct rml_peer *peer)
{
    bool can = peer->state == RML_PEER_UP ||
               (peer->state == RML_PEER_NEW && (peer->contact || peer->dialing || peer->broken ||
                                                rml_can_resolve_locked(rml, &peer->name)));
    return can && !(peer->path == RML_PATH_ROUTED && routed_way_is_up_locked(rml, &peer->name));
}

static int take_routed_way_locked(struct rml *rml, struct rml_peer *end,
                                  const orte_process_name_t *target, struct rml_peer **hop)
{
    orte_process_name_t name;
    int status = rml_route_hop(&rml->route, target, &name);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    struct rml_peer *next = rml_peer_get(&rml->peers, &name);
    if (!next) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (next->state == RML_PEER_DOWN && !rml_awaits_repair_locked(rml, &name)) {
        return ORTE_ERR_COMM_FAILURE;
    }
    if (end) {
        end->path = next == end ? RML_PATH_DIRECT : RML_PATH_ROUTED;
    }
    *hop = next;
    return ORTE_SUCCESS;
}

int rml_next_hop_locked(struct rml *rml, const orte_process_name_t *dest, struct rml_peer **hop)
{
    orte_process_name_t target;
    struct rml_peer *peer = rml_peer_find(&rml->peers, dest);
    if (!peer && rml_can_resolve_locked(rml, dest)) {
        peer = rml_peer_get(&rml->peers, dest);
    }
    if (peer && goes_direct_locked(rml, peer)) {
        peer->path = RML_PATH_DIRECT;
        *hop = peer;
        return ORTE_SUCCESS;
    }
    bool was_direct = peer && peer->state == RML_PEER_DOWN && peer->path == RML_PATH_DIRECT;
    if (was_direct && !rml_is_daemon(rml)) {
        return ORTE_ERR_COMM_FAILURE;
    }
    int status = rml_route_target(&rml->route, dest, &target);
    if (status != ORTE_SUCCESS) {
        return was_direct ? ORTE_ERR_COMM_FAILURE : status;
    }
    if (rml_is_daemon(rml)) {
        peer = rml_peer_get(&rml->peers, &target);
        if (peer && !name_equal(&target, dest) && goes_direct_locked(rml, peer)) {
            peer->path = RML_PATH_DIRECT;
            *hop = peer;
            return ORTE_SUCCESS;
        }
    }
    return take_routed_way_locked(rml, peer, &target, hop);
}

/* --- waiting for a link --- */

static size_t tx_bytes(const struct oob_tx *tx)
{
    return sizeof(*tx) + rml_iov_size(tx->iov, (size_t) tx->iov_count);
}

/* What waits for this process's own connect or question is its own memory, and not counted. */
bool rml_pend_room_locked(struct rml *rml, const struct rml_peer *hop, size_t bytes)
{
    unsigned held = 0;
    if (hop->contact || hop->resolving ||
        (bytes <= rml->pending_max && hop->pending_bytes <= rml->pending_max - bytes)) {
        return true;
    }
    rml->counters.overflow++;
    if (log_rate_ok("rml pending", &held)) {
        log_error(LOG_RML, "a message for %s, which has no link yet, is dropped: %zu bytes wait",
                  ORTE_NAME_PRINT(&hop->name), hop->pending_bytes);
    }
    return false;
}

void rml_pend_locked(struct rml_peer *hop, struct oob_tx *tx)
{
    list_append(&hop->pending[tx->class], &tx->link);
    hop->pending_bytes += tx_bytes(tx);
}

void rml_unpend_locked(struct rml_peer *peer, struct list *frames)
{
    for (int class = 0; class < OOB_CLASSES; class ++) {
        list_splice(frames, &peer->pending[class]);
    }
    peer->pending_bytes = 0;
}

void rml_unpend_credited_locked(struct rml_peer *peer, struct list *frames)
{
    for (int class = 0; class < OOB_CLASSES; class ++) {
        while (!list_empty(&peer->pending[class])) {
            struct oob_tx *tx = container_of(peer->pending[class].next, struct oob_tx, link);
            uint64_t bytes = rml_iov_size(tx->iov, (size_t) tx->iov_count);
            if (!rml_credit_take(&peer->credit[class], rml_stamp_cost((uint32_t) bytes))) {
                break;
            }
            list_remove(&tx->link);
            list_append(frames, &tx->link);
            peer->pending_bytes -= tx_bytes(tx);
        }
    }
}

int rml_make_link_locked(struct rml *rml, struct rml_peer *hop)
{
    if (!hop->contact && !hop->dialing && rml_can_resolve_locked(rml, &hop->name)) {
        rml_resolve_locked(rml, hop);
    }
    return hop->contact && !hop->dialing ? rml_dial_locked(rml, hop) : ORTE_SUCCESS;
}

void rml_fail_frames(struct list *frames, int status)
{
    for (struct list *link; (link = list_pop(frames));) {
        struct oob_tx *tx = container_of(link, struct oob_tx, link);
        tx->done(tx, status);
    }
}

/* --- connecting --- */

struct dial {
    struct list link; /* in rml->dials */
    struct loop_task task;
    struct rml *rml;
    orte_process_name_t name;
    char *contact; /* owned */
    enum oob_key key;
    bool detour;                                             /* beside the link that is there */
    uint64_t limit_us;                                       /* of oob_connect */
    void (*done)(void *arg, int status, const char *reason); /* may be NULL */
    void *arg;
};

static void dial_destroy(struct dial *dial)
{
    free(dial->contact);
    free(dial);
}

struct refusal {
    struct rml *rml;
    const struct rml_peer *hop;
};

/* Messages whose way is over a hop that cannot be reached. */
static void fail_over_hop(struct rml_peer *peer, void *arg)
{
    struct refusal *refusal = arg;
    struct rml_peer *hop = NULL;
    if (peer->session && rml_session_pending(peer->session) &&
        rml_next_hop_locked(refusal->rml, &peer->name, &hop) == ORTE_SUCCESS &&
        hop == refusal->hop) {
        rml_fail_session_locked(refusal->rml, peer, ORTE_ERR_UNREACH);
    }
}

void rml_unreachable_locked(struct rml *rml, struct rml_peer *hop, struct list *frames)
{
    struct refusal refusal = {rml, hop};
    rml_unpend_locked(hop, frames);
    if (hop->session) {
        rml_fail_session_locked(rml, hop, ORTE_ERR_UNREACH);
    }
    rml_peers_each(&rml->peers, fail_over_hop, &refusal);
}

/* The link can be made again where it was made. */
static void remember_home_locked(struct rml_peer *peer, struct dial *dial)
{
    free(peer->home);
    peer->home = dial->contact;
    peer->home_key = dial->key;
    dial->contact = NULL;
}

/* Every dial ends here once: messages that wait for a link that does not come fail. */
static void dial_end(struct dial *dial, int status, const char *reason)
{
    struct rml *rml = dial->rml;
    struct list frames = LIST_INIT(frames);
    pthread_mutex_lock(&rml->lock);
    list_remove(&dial->link);
    struct rml_peer *peer = rml_peer_find(&rml->peers, &dial->name);
    if (peer) {
        peer->dialing = false;
        if (status >= 0) {
            remember_home_locked(peer, dial);
        } else if (peer->state != RML_PEER_UP && !rml_mend_failed_locked(rml, peer, status) &&
                   !rml_awaits_repair_locked(rml, &peer->name)) {
            rml_unreachable_locked(rml, peer, &frames);
        }
    }
    bool tell = dial->done && !rml->ending;
    pthread_mutex_unlock(&rml->lock);
    if (status < 0) {
        log_at(LOG_RML, dial->detour ? LOG_DEBUG : LOG_INFO, "no %slink to %s: %s",
               dial->detour ? "other " : "", ORTE_NAME_PRINT(&dial->name),
               reason ? reason : opal_strerror(status));
    }
    rml_fail_frames(&frames, ORTE_ERR_UNREACH);
    if (tell) {
        dial->done(dial->arg, status, reason ? reason : "");
    }
    rml_wake(rml);
    dial_destroy(dial);
}

static void dialed(void *arg, int status, struct oob_link *link, const char *reason)
{
    (void) link;
    dial_end(arg, status, reason);
}

static void dial_on_loop(struct loop_task *task)
{
    struct dial *dial = container_of(task, struct dial, task);
    struct oob *oob = dial->rml->oob;
    int status = dial->detour
                     ? oob_detour(oob, dial->contact, dial->key, dialed, dial)
                     : oob_connect(oob, dial->contact, dial->key, dial->limit_us, dialed, dial);
    if (status != ORTE_SUCCESS) {
        dial_end(dial, status, NULL);
    }
}

static struct dial *dial_create(struct rml *rml, const orte_process_name_t *name,
                                const char *contact, enum oob_key key)
{
    struct dial *dial = calloc(1, sizeof(*dial));
    if (!dial) {
        return NULL;
    }
    dial->contact = strdup(contact);
    if (!dial->contact) {
        free(dial);
        return NULL;
    }
    dial->task.run = dial_on_loop;
    dial->rml = rml;
    dial->name = *name;
    dial->key = key;
    return dial;
}

static void dial_start_locked(struct rml *rml, struct dial *dial, struct rml_peer *peer)
{
    peer->dialing = true;
    if (peer->state == RML_PEER_DOWN) {
        peer->state = RML_PEER_NEW;
    }
    list_append(&rml->dials, &dial->link);
    loop_post(rml->config.loop, &dial->task);
}

int rml_dial_locked(struct rml *rml, struct rml_peer *peer)
{
    enum oob_key key = rml->config.role == OOB_KEY_PEERCRED ? OOB_KEY_APP : rml->config.role;
    struct dial *dial = dial_create(rml, &peer->name, peer->contact, key);
    if (!dial) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    dial_start_locked(rml, dial, peer);
    return ORTE_SUCCESS;
}

int rml_dial_home_locked(struct rml *rml, struct rml_peer *peer)
{
    struct dial *dial = dial_create(rml, &peer->name, peer->home, peer->home_key);
    if (!dial) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    dial->detour = peer->state == RML_PEER_UP;
    dial_start_locked(rml, dial, peer);
    return ORTE_SUCCESS;
}

int rml_connect(struct rml *rml, const char *text, enum oob_key key, uint64_t limit_us,
                void (*done)(void *arg, int status, const char *reason), void *arg)
{
    struct contact contact;
    char reason[256];
    if (contact_parse(&contact, text, reason, sizeof(reason)) != ORTE_SUCCESS) {
        log_debug(LOG_RML, "no contact string: %s", reason);
        return ORTE_ERR_BAD_PARAM;
    }
    struct dial *dial = dial_create(rml, &contact.name, text, key);
    if (!dial) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    dial->limit_us = limit_us;
    dial->done = done;
    dial->arg = arg;
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_get(&rml->peers, &contact.name);
    if (peer) {
        peer->upstream = true;
        dial_start_locked(rml, dial, peer);
    }
    pthread_mutex_unlock(&rml->lock);
    if (!peer) {
        dial_destroy(dial);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    return ORTE_SUCCESS;
}

void rml_dials_fini(struct rml *rml)
{
    for (struct list *link; (link = list_pop(&rml->dials));) {
        struct dial *dial = container_of(link, struct dial, link);
        (void) loop_cancel(rml->config.loop, &dial->task);
        dial_destroy(dial);
    }
}

/* --- links come and go --- */

static int on_admit(void *arg, const struct oob_peer *peer)
{
    const struct rml_config *config = &((struct rml *) arg)->config;
    return config->admit ? config->admit(config->arg, peer) : ORTE_SUCCESS;
}

static void tell_watchers(struct rml *rml, const struct oob_peer *peer, int status)
{
    struct rml_watcher watchers[RML_WATCHERS_MAX];
    pthread_mutex_lock(&rml->lock);
    size_t count = rml->watcher_count;
    memcpy(watchers, rml->watchers, count * sizeof(*watchers));
    pthread_mutex_unlock(&rml->lock);
    for (size_t i = 0; i < count; i++) {
        watchers[i].changed(watchers[i].arg, peer, status);
    }
    rml_wake(rml);
}

static bool is_upstream(const struct rml *rml, const orte_process_name_t *name)
{
    return rml->route.has_upstream && name_equal(&rml->route.upstream, name);
}

/* Both ends of a new link begin with the same credit. */
static void attach_locked(struct rml_peer *peer, struct oob_link *link)
{
    peer->link = oob_link_ref(link);
    peer->link_number++;
    peer->state = RML_PEER_UP;
    peer->gone = peer->ended = peer->parting = false;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_credit_begin(&peer->credit[class]);
        rml_grant_begin(&peer->grant[class]);
    }
}

static void on_up(void *arg, struct oob_link *link, const struct oob_peer *info)
{
    struct rml *rml = arg;
    struct oob_link *old = NULL;
    bool broken = false, resumed = false, upstream = false, heard = false;
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_get(&rml->peers, &info->name);
    if (peer) {
        old = peer->link;
        heard = peer->silent;
        peer->silent = false;
        upstream = peer->upstream;
        broken = peer->broken != NULL;
        resumed = peer->broken && peer->session && rml_session_is_with(peer->session, info->epoch);
        rml_mend_forget_locked(peer);
        attach_locked(peer, link);
        if (rml_awaits_repair_locked(rml, &peer->name)) {
            peer->path = RML_PATH_NONE; /* who has come here may be reached by no other way */
        }
        rml_know_locked(rml, peer, info->epoch);
        rml->upstream_down = rml->upstream_down && !is_upstream(rml, &info->name);
        rml_poke_all_locked(rml);
    }
    pthread_mutex_unlock(&rml->lock);
    oob_link_unref(old);
    if (!peer) {
        log_error(LOG_RML, "no memory for a link to %s", ORTE_NAME_PRINT(&info->name));
        return;
    }
    rml_silence_watch(rml, link, info, upstream);
    if (heard) {
        rml_tell_silence(rml, info, false);
    }
    rml_pass_waiting(rml, peer);
    if (resumed) {
        log_info(LOG_RML, "the link to %s is there again", ORTE_NAME_PRINT(&info->name));
        return;
    }
    if (broken) {
        tell_watchers(rml, info, ORTE_ERR_COMM_FAILURE); /* of the incarnation before */
    }
    tell_watchers(rml, info, ORTE_SUCCESS);
}

/* Messages go another way from now on, or fail. */
static void mark_down_locked(struct rml *rml, struct rml_peer *peer)
{
    struct rml_peer *hop = NULL;
    peer->state = RML_PEER_DOWN;
    if (is_upstream(rml, &peer->name)) {
        rml->upstream_down = true;
        rml_fail_receives_locked(rml);
    }
    if (rml_next_hop_locked(rml, &peer->name, &hop) != ORTE_SUCCESS) {
        rml_gone_locked(rml, peer);
    }
    rml_poke_all_locked(rml);
}

void rml_link_is_down(struct rml *rml, struct rml_peer *peer, const struct oob_peer *info,
                      int status)
{
    struct list frames = LIST_INIT(frames);
    pthread_mutex_lock(&rml->lock);
    rml_unpend_locked(peer, &frames);
    mark_down_locked(rml, peer);
    pthread_mutex_unlock(&rml->lock);
    rml_fail_frames(&frames, ORTE_ERR_COMM_FAILURE);
    log_debug(LOG_RML, "the link to %s is down: %s", ORTE_NAME_PRINT(&info->name),
              opal_strerror(status));
    tell_watchers(rml, info, status < 0 ? status : ORTE_ERR_NOT_AVAILABLE);
}

static void on_down(void *arg, struct oob_link *link, int status)
{
    struct rml *rml = arg;
    struct list frames = LIST_INIT(frames);
    struct oob_peer info = *oob_link_peer(link);
    bool mends = false;
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_find(&rml->peers, &info.name);
    bool mine = peer && peer->link == link;
    if (mine) {
        peer->link = NULL;
        rml_unpend_locked(peer, &frames);
        mends = rml_mend_locked(rml, peer, &info, status);
    }
    pthread_mutex_unlock(&rml->lock);
    if (!mine) {
        return;
    }
    rml_fail_frames(&frames, ORTE_ERR_COMM_FAILURE);
    oob_link_unref(link);
    if (!mends) {
        rml_link_is_down(rml, peer, &info, status);
    }
}

void rml_disconnect(struct rml *rml, const orte_process_name_t *name, bool flush)
{
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_find(&rml->peers, name);
    struct oob_link *link = peer && peer->link ? oob_link_ref(peer->link) : NULL;
    pthread_mutex_unlock(&rml->lock);
    if (link) {
        oob_link_close(link, flush);
        oob_link_unref(link);
    }
}

const struct oob_ops rml_oob_ops = {
    .admit = on_admit,
    .up = on_up,
    .frame = rml_on_frame,
    .down = on_down,
    .silent = rml_hear_silence,
};
