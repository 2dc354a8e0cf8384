/* Sessions at work: their frames between the table of peers, the links and the clock. What is
 * decided is decided in rml/delivery/session.c. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <rml/state/state.h>
#include <rml/traffic/outgoing.h>
#include <stdlib.h>

enum { BATCH = 16, TICK_LEAST_US = 1000, FULL_TELL_US = 4000000 };

/* --- the way to a link --- */

static uint64_t cost_of(const struct oob_tx *tx)
{
    return rml_stamp_cost((uint32_t) rml_iov_size(tx->iov, (size_t) tx->iov_count));
}

bool rml_way_open_locked(struct rml_peer *hop, struct oob_tx *tx, struct oob_link **link)
{
    if (hop->state == RML_PEER_UP && list_empty(&hop->pending[tx->class]) &&
        rml_credit_take(&hop->credit[tx->class], cost_of(tx))) {
        *link = oob_link_ref(hop->link);
        return true;
    }
    rml_pend_locked(hop, tx);
    return false;
}

void rml_pass_waiting(struct rml *rml, struct rml_peer *hop)
{
    struct list frames = LIST_INIT(frames);
    struct oob_link *link = NULL;
    pthread_mutex_lock(&rml->send_lock);
    pthread_mutex_lock(&rml->lock);
    if (hop->state == RML_PEER_UP) {
        link = oob_link_ref(hop->link);
        rml_unpend_credited_locked(hop, &frames);
    }
    pthread_mutex_unlock(&rml->lock);
    for (struct list *waiting; (waiting = list_pop(&frames));) {
        oob_send(link, container_of(waiting, struct oob_tx, link));
    }
    pthread_mutex_unlock(&rml->send_lock);
    oob_link_unref(link);
}

/* --- the clock --- */

void rml_schedule_locked(struct rml *rml, struct rml_peer *peer)
{
    uint64_t due = rml_session_due(peer->session);
    if (due == UINT64_MAX) {
        return;
    }
    if (list_empty(&peer->timed)) {
        list_append(&rml->timed, &peer->timed);
    }
    if (due < rml->tick_at) {
        rml->tick_at = due;
        loop_post(rml->config.loop, &rml->tick_task);
    }
}

/* A peer that has not answered for so long is given up; but what its link vouches for is there. */
static void check_silence_locked(struct rml *rml, struct rml_peer *peer, uint64_t now)
{
    uint64_t since = rml_session_silent(peer->session);
    if (rml->give_up_us == 0 || since == UINT64_MAX || now < since + rml->give_up_us ||
        peer->state == RML_PEER_UP) {
        return;
    }
    log_warn(LOG_RML, "%s has not answered for %llu s: messages to it fail",
             ORTE_NAME_PRINT(&peer->name), (unsigned long long) ((now - since) / 1000000u));
    rml_fail_session_locked(rml, peer, ORTE_ERR_UNREACH);
}

/* Somebody waits for a message that cannot come because others fill the queue: he is told. */
static void report_full_locked(struct rml_peer *peer, orte_rml_tag_t tag)
{
    uint64_t bytes = 0;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        bytes += peer->session->in[class].held;
    }
    log_warn(
        LOG_RML,
        "a receive of tag %u waits behind %llu bytes from %s that nobody has taken, and it may "
        "send no more",
        tag, (unsigned long long) bytes, ORTE_NAME_PRINT(&peer->name));
}

/* The next look at full queues; UINT64_MAX: there is none. */
static uint64_t look_at_full_locked(struct rml *rml, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    struct rml_peer *peer;
    list_for_each (peer, &rml->full, struct rml_peer, full) {
        if (now >= peer->full_since + FULL_TELL_US) {
            orte_rml_tag_t tag = rml_waiting_tag_locked(rml, peer);
            if (tag != ORTE_RML_TAG_INVALID) {
                report_full_locked(peer, tag);
            }
            peer->full_since = now; /* and again, as long as it lasts */
        }
        uint64_t due = peer->full_since + FULL_TELL_US;
        next = due < next ? due : next;
    }
    return next;
}

void rml_note_full_locked(struct rml *rml, struct rml_peer *peer)
{
    bool full = false;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        full = full || rml_receiver_full(&peer->session->in[class]);
    }
    if (!full) {
        list_remove(&peer->full);
    } else if (list_empty(&peer->full)) {
        peer->full_since = clock_us();
        list_append(&rml->full, &peer->full);
        if (peer->full_since + FULL_TELL_US < rml->tick_at) {
            rml->tick_at = peer->full_since + FULL_TELL_US;
            loop_post(rml->config.loop, &rml->tick_task);
        }
    }
}

static void tick(struct rml *rml)
{
    struct list words = LIST_INIT(words);
    uint64_t now = clock_us();
    struct rml_peer *peer;
    pthread_mutex_lock(&rml->lock);
    uint64_t next = look_at_full_locked(rml, now);
    list_for_each (peer, &rml->timed, struct rml_peer, timed) {
        rml_speak_locked(rml, peer, now, &words);
        check_silence_locked(rml, peer, now);
        uint64_t due = rml_session_due(peer->session);
        if (due == UINT64_MAX) {
            list_remove(&peer->timed);
        }
        next = due < next ? due : next;
    }
    rml->tick_at = next;
    pthread_mutex_unlock(&rml->lock);
    rml_send_words(&words);
    if (next < UINT64_MAX) {
        uint64_t wait = next > now + TICK_LEAST_US ? next - now : TICK_LEAST_US;
        loop_timer_start(&rml->tick_timer, wait);
    }
}

static void on_tick_timer(struct loop_timer *timer)
{
    tick(container_of(timer, struct rml, tick_timer));
}

static void on_tick_task(struct loop_task *task)
{
    tick(container_of(task, struct rml, tick_task));
}

/* --- sending --- */

struct rml_session *rml_session_locked(struct rml *rml, struct rml_peer *peer)
{
    if (!peer->session) {
        peer->session = malloc(sizeof(*peer->session));
        if (peer->session) {
            rml_session_init(peer->session, rml->config.epoch, rml->window, rml->unexpected_max);
        }
    }
    return peer->session;
}

bool rml_end_session_locked(struct rml *rml, struct rml_peer *peer, int status)
{
    struct list failed = LIST_INIT(failed);
    bool pending = rml_session_pending(peer->session);
    if (pending || peer->session->opening) {
        rml_session_fail(peer->session, &failed);
        rml_send_ended_locked(rml, &failed, status);
    }
    return pending;
}

void rml_fail_session_locked(struct rml *rml, struct rml_peer *peer, int status)
{
    if (rml_end_session_locked(rml, peer, status)) {
        rml_raise_locked(rml, &peer->name, ORTE_RML_PEER_UNREACH);
    }
}

struct batch {
    struct oob_tx *tx[BATCH];
    struct oob_link *link[BATCH];
    int count;
};

/* What may have been lost with another way is sent again. */
static void take_way_locked(struct rml_peer *peer, const struct rml_peer *hop, uint64_t now)
{
    if (peer->via != hop || peer->via_number != hop->link_number) {
        if (peer->via) {
            rml_session_repair(peer->session, now);
        }
        peer->via = hop;
        peer->via_number = hop->link_number;
    }
}

/* True: there may be more than fits. */
static bool fill_batch_locked(struct rml *rml, struct rml_peer *peer, uint64_t now,
                              struct batch *batch)
{
    struct rml_stamp stamp;
    struct rml_out *out;
    struct rml_peer *hop = NULL;
    batch->count = 0;
    int status = rml_next_hop_locked(rml, &peer->name, &hop);
    if (status != ORTE_SUCCESS) {
        rml_fail_session_locked(rml, peer, status);
        return false;
    }
    if (hop->state != RML_PEER_UP) {
        return false; /* its coming up is the next occasion */
    }
    take_way_locked(peer, hop, now);
    for (int class = 0; class < OOB_CLASSES; class ++) {
        bool held = rml->held && class == OOB_APP;
        while (!held && batch->count < BATCH &&
               (out = rml_session_next(peer->session, class, now, &stamp))) {
            struct oob_tx *tx = rml_send_tx_locked(rml, out, &stamp);
            if (rml_way_open_locked(hop, tx, &batch->link[batch->count])) {
                batch->tx[batch->count++] = tx;
            }
        }
    }
    return batch->count == BATCH;
}

static void send_batch(struct batch *batch)
{
    for (int i = 0; i < batch->count; i++) {
        oob_send(batch->link[i], batch->tx[i]);
        oob_link_unref(batch->link[i]);
    }
}

void rml_pump_ordered(struct rml *rml, struct rml_peer *peer)
{
    struct batch batch;
    struct list words = LIST_INIT(words);
    uint64_t now = clock_us();
    for (bool more = true; more;) {
        pthread_mutex_lock(&rml->lock);
        more = fill_batch_locked(rml, peer, now, &batch);
        if (!more) {
            rml_speak_locked(rml, peer, now, &words);
            rml_schedule_locked(rml, peer);
        }
        pthread_mutex_unlock(&rml->lock);
        send_batch(&batch);
    }
    rml_send_words(&words);
}

void rml_pump(struct rml *rml, struct rml_peer *peer)
{
    pthread_mutex_lock(&rml->send_lock);
    rml_pump_ordered(rml, peer);
    pthread_mutex_unlock(&rml->send_lock);
}

/* --- pumping later --- */

void rml_poke_locked(struct rml *rml, struct rml_peer *peer)
{
    if (peer->session && list_empty(&peer->poked)) {
        list_append(&rml->poked, &peer->poked);
        loop_post(rml->config.loop, &rml->poke_task);
    }
}

static void on_poke(struct loop_task *task)
{
    struct rml *rml = container_of(task, struct rml, poke_task);
    for (;;) {
        pthread_mutex_lock(&rml->lock);
        struct list *link = list_pop(&rml->poked);
        pthread_mutex_unlock(&rml->lock);
        if (!link) {
            return;
        }
        rml_pump(rml, container_of(link, struct rml_peer, poked));
    }
}

static void poke_pending(struct rml_peer *peer, void *arg)
{
    if (peer->session && rml_session_pending(peer->session)) {
        rml_poke_locked(arg, peer);
    }
}

void rml_poke_all_locked(struct rml *rml)
{
    rml_peers_each(&rml->peers, poke_pending, rml);
}

void rml_hurry(struct rml *rml)
{
    struct list words = LIST_INIT(words);
    uint64_t now = clock_us();
    struct rml_peer *peer;
    pthread_mutex_lock(&rml->lock);
    list_for_each (peer, &rml->timed, struct rml_peer, timed) {
        rml_session_hurry(peer->session, now);
        rml_speak_locked(rml, peer, now, &words);
    }
    pthread_mutex_unlock(&rml->lock);
    rml_send_words(&words);
}

/* --- life --- */

void rml_flow_init(struct rml *rml)
{
    list_init(&rml->timed);
    list_init(&rml->poked);
    list_init(&rml->full);
    rml->tick_task.run = on_tick_task;
    rml->poke_task.run = on_poke;
    rml->tick_at = UINT64_MAX;
    loop_timer_init(&rml->tick_timer, rml->config.loop, on_tick_timer);
}

struct failing {
    struct rml *rml;
    int status;
};

static void fail_visited(struct rml_peer *peer, void *arg)
{
    struct failing *failing = arg;
    if (peer->session) {
        rml_fail_session_locked(failing->rml, peer, failing->status);
    }
}

void rml_fail_sessions(struct rml *rml, int status)
{
    struct failing failing = {rml, status};
    pthread_mutex_lock(&rml->lock);
    rml_peers_each(&rml->peers, fail_visited, &failing);
    pthread_mutex_unlock(&rml->lock);
}

void rml_flow_fini(struct rml *rml)
{
    loop_timer_stop(&rml->tick_timer);
    (void) loop_cancel(rml->config.loop, &rml->tick_task);
    (void) loop_cancel(rml->config.loop, &rml->poke_task);
    rml_fail_sessions(rml, ORTE_ERR_COMM_FAILURE);
}
