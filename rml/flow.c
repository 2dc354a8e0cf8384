/* Sessions at work: frames and words of the delivery protocol between the table of peers, the links
 * and the clock. What is decided is decided in rml/session.c. */
#include <config.h>

#include <base/clock.h>
#include <base/log.h>
#include <rml/outgoing.h>
#include <rml/state.h>
#include <stdlib.h>

enum { BATCH = 16, TICK_LEAST_US = 1000, FULL_TELL_US = 4000000 };

/* A frame without payload: an acknowledgement, a question, a link's credit, bad news. */
struct word {
    struct oob_tx tx;
    struct list link; /* while it is collected */
    struct oob_link *on;
};

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

/* --- words --- */

static void word_done(struct oob_tx *tx, int status)
{
    (void) status; /* whoever misses it asks again */
    free(container_of(tx, struct word, tx));
}

static struct word *word_create(const struct rml_header *header)
{
    struct word *word = calloc(1, sizeof(*word));
    if (!word) {
        return NULL;
    }
    list_init(&word->link);
    list_init(&word->tx.link);
    word->tx.class = rml_header_carrier(header);
    word->tx.header_size = RML_WIRE_SIZE;
    word->tx.done = word_done;
    rml_header_encode(word->tx.header, header);
    return word;
}

/* Puts a word on its way: it is collected, or waits for its link's credit. */
static void say_locked(struct rml *rml, const orte_process_name_t *dest,
                       const struct rml_stamp *stamp, struct list *words)
{
    struct rml_peer *hop = NULL;
    struct rml_header header = {
        .stamp = *stamp, .role = rml->config.role, .origin = rml->config.name, .dest = *dest};
    if (rml_next_hop_locked(rml, dest, &hop) != ORTE_SUCCESS || hop->state != RML_PEER_UP) {
        return;
    }
    struct word *word = word_create(&header);
    if (word && rml_way_open_locked(hop, &word->tx, &word->on)) {
        list_append(words, &word->link);
    }
}

/* Without a lock. */
static void send_words(struct list *words)
{
    for (struct list *link; (link = list_pop(words));) {
        struct word *word = container_of(link, struct word, link);
        struct oob_link *on = word->on;
        oob_send(on, &word->tx);
        oob_link_unref(on);
    }
}

/* What a session has to say now. */
static void speak_locked(struct rml *rml, struct rml_peer *peer, uint64_t now, struct list *words)
{
    struct rml_stamp stamp;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        while (rml_session_word(peer->session, class, now, &stamp)) {
            say_locked(rml, &peer->name, &stamp, words);
        }
    }
}

void rml_left(struct rml *rml, struct rml_peer *came, uint32_t number, enum oob_class class,
              uint64_t cost)
{
    struct oob_link *link = NULL;
    struct rml_header header = {.stamp = {.kind = RML_CREDIT, .class = class},
                                .role = rml->config.role,
                                .origin = rml->config.name};
    pthread_mutex_lock(&rml->lock);
    header.dest = came->name;
    header.stamp.epoch = rml->config.epoch;
    if (came->state == RML_PEER_UP && came->link_number == number &&
        rml_grant_left(&came->grant[class], cost)) {
        header.stamp.sequence = rml_grant_tell(&came->grant[class]);
        link = oob_link_ref(came->link);
    }
    pthread_mutex_unlock(&rml->lock);
    struct word *word = link ? word_create(&header) : NULL;
    if (word) {
        oob_send(link, &word->tx);
    }
    oob_link_unref(link);
}

void rml_say_unreachable(struct rml *rml, const struct rml_header *about, int status)
{
    struct list words = LIST_INIT(words);
    struct rml_stamp stamp = {
        .kind = RML_UNREACH,
        .class = about->stamp.class,
        .sequence = (uint64_t) about->dest.jobid << 32 | about->dest.vpid,
        .window = (uint32_t) -status,
        .ack_stream = about->stamp.stream,
        .epoch = rml->config.epoch,
        .dest_epoch = about->stamp.epoch,
    };
    pthread_mutex_lock(&rml->lock);
    say_locked(rml, &about->origin, &stamp, &words);
    pthread_mutex_unlock(&rml->lock);
    send_words(&words);
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

static void note_full_locked(struct rml *rml, struct rml_peer *peer)
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
        speak_locked(rml, peer, now, &words);
        check_silence_locked(rml, peer, now);
        uint64_t due = rml_session_due(peer->session);
        if (due == UINT64_MAX) {
            list_remove(&peer->timed);
        }
        next = due < next ? due : next;
    }
    rml->tick_at = next;
    pthread_mutex_unlock(&rml->lock);
    send_words(&words);
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

/* Was anything pending? */
static bool end_session_locked(struct rml *rml, struct rml_peer *peer, int status)
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
    if (end_session_locked(rml, peer, status)) {
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
            speak_locked(rml, peer, now, &words);
            rml_schedule_locked(rml, peer);
        }
        pthread_mutex_unlock(&rml->lock);
        send_batch(&batch);
    }
    send_words(&words);
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
        speak_locked(rml, peer, now, &words);
    }
    pthread_mutex_unlock(&rml->lock);
    send_words(&words);
}

/* --- hearing --- */

/* An incarnation ended with which messages were exchanged (used), or to which some were pending. */
static void raise_end_locked(struct rml *rml, const struct rml_peer *peer, bool used, bool failed)
{
    if (used || failed) {
        rml_raise_locked(rml, &peer->name,
                         used ? ORTE_RML_PEER_DISCONNECTED : ORTE_RML_PEER_UNREACH);
    }
}

/* The origin may be another incarnation than before. On the loop. */
static void apply_renewal_locked(struct rml *rml, struct rml_peer *peer, struct rml_heard *heard)
{
    bool failed = !list_empty(&heard->ended);
    rml_send_ended_locked(rml, &heard->ended, ORTE_ERR_COMM_FAILURE);
    if (!heard->renewed) {
        return;
    }
    log_info(LOG_RML, "%s is another incarnation now", ORTE_NAME_PRINT(&peer->name));
    peer->path = RML_PATH_NONE;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_assembly_abandon(&peer->assembly[class]);
    }
    if (heard->was_used) {
        rml_fail_receives_from_locked(rml, peer);
    }
    raise_end_locked(rml, peer, heard->was_used, failed);
}

void rml_know_locked(struct rml *rml, struct rml_peer *peer, uint64_t epoch)
{
    struct rml_heard heard = {.take = false};
    list_init(&heard.done);
    list_init(&heard.ended);
    if (!rml_session_locked(rml, peer)) {
        return;
    }
    rml_session_know(peer->session, epoch, &heard);
    apply_renewal_locked(rml, peer, &heard);
}

void rml_gone_locked(struct rml *rml, struct rml_peer *peer)
{
    bool failed = false, used = false;
    peer->gone = true;
    rml_tell_end_locked(rml, peer);
    if (peer->session) {
        failed = end_session_locked(rml, peer, ORTE_ERR_COMM_FAILURE);
        used = rml_session_forget(peer->session);
    }
    rml_fail_receives_from_locked(rml, peer);
    raise_end_locked(rml, peer, used, failed);
}

static void consider_locked(struct rml *rml, struct rml_peer *peer, const struct rml_stamp *stamp,
                            uint64_t now, struct rml_heard *heard)
{
    rml_session_receive(peer->session, stamp, now, heard);
    peer->gone = false;
    apply_renewal_locked(rml, peer, heard);
    rml_send_ended_locked(rml, &heard->done, ORTE_SUCCESS);
    if (heard->refused) {
        rml->counters.out_of_order++;
    }
}

static void answer_locked(struct rml *rml, struct rml_peer *peer, enum oob_class class,
                          const struct rml_heard *heard, uint64_t now, struct list *words)
{
    struct rml_stamp stamp;
    if (heard->reply) {
        rml_session_reply(peer->session, class, heard, &stamp);
        say_locked(rml, &peer->name, &stamp, words);
    }
    speak_locked(rml, peer, now, words);
    rml_schedule_locked(rml, peer);
}

void rml_hear(struct rml *rml, const struct oob_peer *from, const struct rml_header *header,
              const uint8_t *payload)
{
    struct rml_heard heard = {.take = false};
    struct list words = LIST_INIT(words);
    uint64_t now = clock_us();
    list_init(&heard.done);
    list_init(&heard.ended);
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_get(&rml->peers, &header->origin);
    bool known = peer && rml_session_locked(rml, peer);
    if (known) {
        consider_locked(rml, peer, &header->stamp, now, &heard);
    }
    pthread_mutex_unlock(&rml->lock);
    if (!known) {
        log_error(LOG_RML, "no memory to hear %s", ORTE_NAME_PRINT(&header->origin));
        return;
    }
    if (heard.restarted) {
        rml_assembly_abandon(&peer->assembly[header->stamp.class]);
    }
    if (heard.take) {
        rml_take(rml, from, peer, header, payload);
    }
    pthread_mutex_lock(&rml->lock);
    answer_locked(rml, peer, header->stamp.class, &heard, now, &words);
    pthread_mutex_unlock(&rml->lock);
    send_words(&words);
    if (heard.send) {
        rml_pump(rml, peer);
    }
}

void rml_hear_unreachable(struct rml *rml, const struct rml_header *header)
{
    const struct rml_stamp *stamp = &header->stamp;
    orte_process_name_t name = {(orte_jobid_t) (stamp->sequence >> 32),
                                (orte_vpid_t) stamp->sequence};
    int status = stamp->window == (uint32_t) -ORTE_ERR_COMM_FAILURE ? ORTE_ERR_COMM_FAILURE
                                                                    : ORTE_ERR_ADDRESSEE_UNKNOWN;
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_find(&rml->peers, &name);
    if (peer && peer->session && stamp->dest_epoch == rml->config.epoch &&
        stamp->ack_stream == peer->session->out[stamp->class].stream) {
        log_debug(LOG_RML, "%s cannot be reached: %s", ORTE_NAME_PRINT(&name),
                  opal_strerror(status));
        if (status == ORTE_ERR_COMM_FAILURE) {
            rml_gone_locked(rml, peer);
        } else {
            rml_fail_session_locked(rml, peer, status);
        }
    }
    pthread_mutex_unlock(&rml->lock);
}

/* --- credit of what was delivered --- */

void rml_hold_locked(struct rml *rml, struct rml_peer *peer, struct rml_message *message)
{
    message->origin = peer;
    struct rml_receiver *in = &peer->session->in[message->info.class];
    rml_receiver_hold(in, message->size + RML_FRAME_COST);
    if (rml_receiver_full(in)) {
        note_full_locked(rml, peer);
    }
}

void rml_consumed_locked(struct rml *rml, struct rml_message *message)
{
    struct rml_peer *peer = message->origin;
    if (!peer) {
        return;
    }
    message->origin = NULL;
    struct rml_receiver *in = &peer->session->in[message->info.class];
    rml_receiver_release(in, message->size + RML_FRAME_COST);
    if (!list_empty(&peer->full)) {
        note_full_locked(rml, peer);
    }
    if (rml_receiver_must_tell(in, 1)) {
        rml_poke_locked(rml, peer);
    }
}

/* --- life --- */

void rml_flow_init(struct rml *rml)
{
    list_init(&rml->timed);
    list_init(&rml->poked);
    list_init(&rml->full);
    list_init(&rml->tick_task.link);
    list_init(&rml->poke_task.link);
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
