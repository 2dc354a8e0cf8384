#include <config.h>

#include <rml/delivery/session.h>

void rml_session_init(struct rml_session *session, uint64_t self, uint64_t window,
                      uint64_t held_max)
{
    *session = (struct rml_session){.self = self};
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_sender_init(&session->out[class]);
        rml_receiver_init(&session->in[class], window, held_max);
    }
}

/* --- incarnations --- */

/* Somebody else speaks under the peer's name: it may be new, or a frame may be late. */
static void doubt(struct rml_session *session, uint64_t now)
{
    if (session->doubt_at == 0 || now >= session->doubt_at + RML_DOUBT_US) {
        session->doubt++;
        session->doubt_at = now > 0 ? now : 1;
        session->ask_who = true;
    }
}

/* What is held stays held: it is in memory still. */
static void renew_in(struct rml_session *session)
{
    for (int class = 0; class < OOB_CLASSES; class ++) {
        struct rml_receiver *in = &session->in[class];
        uint64_t held = in->held;
        rml_receiver_init(in, in->window, in->held_max);
        in->held = held;
    }
}

static void renew_out(struct rml_session *session, struct list *ended)
{
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_sender_fail(&session->out[class], ended);
        rml_sender_init(&session->out[class]);
    }
}

/* What waits was queued for whoever comes after the one that was forgotten. */
static void renumber_out(struct rml_session *session)
{
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_sender_renumber(&session->out[class]);
    }
}

bool rml_session_pending(const struct rml_session *session)
{
    for (int class = 0; class < OOB_CLASSES; class ++) {
        if (!rml_sender_idle(&session->out[class])) {
            return true;
        }
    }
    return false;
}

void rml_session_know(struct rml_session *session, uint64_t peer, struct rml_heard *heard)
{
    if (session->peer == peer) {
        return;
    }
    bool forgotten = session->peer == 0;
    uint64_t before = forgotten ? session->last : session->peer;
    session->peer = peer;
    session->last = 0;
    session->opening = false;
    session->doubt_at = 0;
    session->ask_who = false;
    if (before != 0 && before != peer) {
        heard->renewed = true;
        heard->was_used = session->used;
        session->used = false;
        renew_in(session);
        if (forgotten) {
            renumber_out(session);
        } else {
            renew_out(session, &heard->ended);
        }
    }
    heard->send = rml_session_pending(session);
}

bool rml_session_forget(struct rml_session *session)
{
    bool used = session->used;
    session->used = false;
    if (session->peer != 0) {
        session->last = session->peer;
        session->peer = 0;
        session->opening = false;
    }
    return used;
}

void rml_session_restart(struct rml_session *session, uint64_t self, struct list *ended)
{
    session->self = self;
    renew_in(session);
    renew_out(session, ended);
    session->doubt_at = 0;
    session->ask_who = false;
    session->announce = rml_session_forget(session) || session->announce;
}

/* The question who is there tells the peer that somebody else asks. */
bool rml_session_announce(struct rml_session *session, uint64_t now)
{
    bool announce = session->announce;
    session->announce = false;
    if (announce) {
        doubt(session, now);
    }
    return announce;
}

bool rml_session_is_with(const struct rml_session *session, uint64_t peer)
{
    return (session->peer ? session->peer : session->last) == peer;
}

/* --- receiving --- */

static void take_ack(struct rml_session *session, const struct rml_stamp *stamp, uint64_t now,
                     struct rml_heard *heard)
{
    struct rml_sender *out = &session->out[stamp->class];
    if (stamp->ack_stream != out->stream) {
        return;
    }
    if (!rml_sender_ack(out, stamp->ack, stamp->window, now, &heard->done)) {
        heard->refused = true;
        return;
    }
    if (stamp->gap) {
        (void) rml_sender_gap(out, now);
    }
    heard->send = heard->send || out->cursor != &out->frames;
}

static void take_data(struct rml_session *session, const struct rml_stamp *stamp, uint64_t now,
                      struct rml_heard *heard)
{
    switch (rml_receiver_take(&session->in[stamp->class], stamp, now)) {
    case RML_TAKE:
        heard->take = true;
        session->used = true;
        return;
    case RML_TOO_MUCH:
        heard->refused = true;
        return;
    case RML_OLD:
    case RML_LOST:
    case RML_FULL:
        return;
    }
}

static void reply(const struct rml_stamp *stamp, uint64_t number, struct rml_heard *heard)
{
    heard->reply = true;
    heard->reply_to = stamp->epoch;
    heard->number = number;
}

/* Whether a frame comes from the incarnation of the peer that is believed to live. */
static bool check_origin(struct rml_session *session, const struct rml_stamp *stamp, uint64_t now,
                         struct rml_heard *heard)
{
    if (stamp->epoch == 0) {
        return false;
    }
    bool answers = stamp->kind == RML_ACK && stamp->dest_epoch == session->self &&
                   session->doubt_at > 0 && stamp->sequence == session->doubt;
    if (session->peer == 0 || (stamp->epoch != session->peer && answers)) {
        rml_session_know(session, stamp->epoch, heard);
    }
    if (stamp->epoch == session->peer) {
        return true;
    }
    doubt(session, now);
    if (stamp->kind == RML_PROBE && stamp->dest_epoch == 0) { /* it asks the same of me */
        reply(stamp, stamp->sequence, heard);
    }
    return false;
}

/* Is it for this incarnation? Whoever does not know it, or thinks of another one, is answered. */
static bool check_dest(const struct rml_session *session, const struct rml_stamp *stamp,
                       struct rml_heard *heard)
{
    if (stamp->dest_epoch == session->self) {
        return true;
    }
    if (stamp->dest_epoch != 0) {
        reply(stamp, 0, heard);
    } else if (stamp->kind == RML_PROBE) {
        reply(stamp, stamp->sequence, heard);
    } else {
        heard->refused = true;
    }
    return false;
}

void rml_session_receive(struct rml_session *session, const struct rml_stamp *stamp, uint64_t now,
                         struct rml_heard *heard)
{
    struct rml_receiver *in = &session->in[stamp->class];
    if (!check_origin(session, stamp, now, heard) || !check_dest(session, stamp, heard)) {
        return;
    }
    take_ack(session, stamp, now, heard);
    if (stamp->kind == RML_ACK || heard->refused) {
        return;
    }
    heard->restarted = rml_receiver_stream(in, stamp->stream);
    if (stamp->kind == RML_DATA) {
        take_data(session, stamp, now, heard);
    } else if (stamp->stream == in->stream) {
        rml_receiver_probed(in, stamp->sequence);
    }
}

/* --- sending --- */

void rml_session_push(struct rml_session *session, enum oob_class class, struct rml_out *frame,
                      uint64_t now)
{
    rml_sender_push(&session->out[class], frame, now);
    if (session->peer == 0 && !session->opening) {
        session->opening = true;
        rml_sender_probe_at(&session->out[class], now);
    }
}

void rml_session_open(struct rml_session *session, uint64_t now)
{
    if (session->peer == 0 && !session->opening) {
        session->opening = true;
        rml_sender_probe_at(&session->out[OOB_APP], now);
    }
}

static void stamp_own(struct rml_session *session, enum oob_class class, enum rml_kind kind,
                      struct rml_stamp *stamp)
{
    stamp->kind = kind;
    stamp->class = class;
    stamp->stream = session->out[class].stream;
    stamp->epoch = session->self;
    stamp->dest_epoch = session->peer;
    rml_receiver_tell(&session->in[class], stamp);
}

struct rml_out *rml_session_next(struct rml_session *session, enum oob_class class, uint64_t now,
                                 struct rml_stamp *stamp)
{
    if (session->peer == 0) {
        return NULL;
    }
    struct rml_out *frame = rml_sender_next(&session->out[class], now);
    if (!frame) {
        return NULL;
    }
    session->used = true;
    *stamp =
        (struct rml_stamp){.ask = frame->ask, .length = frame->length, .sequence = frame->sequence};
    stamp_own(session, class, RML_DATA, stamp);
    return frame;
}

void rml_session_reply(struct rml_session *session, enum oob_class class,
                       const struct rml_heard *heard, struct rml_stamp *stamp)
{
    *stamp = (struct rml_stamp){.sequence = heard->number};
    if (heard->reply_to == session->peer) {
        stamp_own(session, class, RML_ACK, stamp);
        return;
    }
    stamp->kind = RML_ACK; /* a stranger has sent nothing yet */
    stamp->class = class;
    stamp->epoch = session->self;
    stamp->dest_epoch = heard->reply_to;
}

bool rml_session_word(struct rml_session *session, enum oob_class class, uint64_t now,
                      struct rml_stamp *stamp)
{
    struct rml_sender *out = &session->out[class];
    if (session->ask_who) {
        session->ask_who = false;
        *stamp = (struct rml_stamp){.ask = true, .sequence = session->doubt};
        stamp_own(session, class, RML_PROBE, stamp);
        stamp->dest_epoch = 0;
        return true;
    }
    if (rml_sender_probe(out, now)) {
        *stamp = (struct rml_stamp){.ask = true, .sequence = session->peer ? out->sent : 0};
        stamp_own(session, class, RML_PROBE, stamp);
        return true;
    }
    if (session->peer != 0 && rml_receiver_must_tell(&session->in[class], now)) {
        *stamp = (struct rml_stamp){.sequence = 0};
        stamp_own(session, class, RML_ACK, stamp);
        return true;
    }
    return false;
}

void rml_session_repair(struct rml_session *session, uint64_t now)
{
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_sender_rewind(&session->out[class], now);
        if (session->peer == 0 && !rml_sender_idle(&session->out[class])) {
            rml_sender_probe_at(&session->out[class], now);
        }
    }
}

void rml_session_fail(struct rml_session *session, struct list *failed)
{
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_sender_fail(&session->out[class], failed);
    }
    session->opening = false;
}

static uint64_t sooner(uint64_t due, uint64_t at)
{
    return at > 0 && at < due ? at : due;
}

uint64_t rml_session_due(const struct rml_session *session)
{
    uint64_t due = UINT64_MAX;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        due = sooner(due, session->out[class].probe_at);
        due = sooner(due, session->peer != 0 ? session->in[class].ack_at : 0);
    }
    return due;
}

void rml_session_hurry(struct rml_session *session, uint64_t now)
{
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_receiver_hurry(&session->in[class]);
        if (!rml_sender_idle(&session->out[class])) {
            rml_sender_probe_at(&session->out[class], now);
        }
    }
}

uint64_t rml_session_silent(const struct rml_session *session)
{
    uint64_t since = UINT64_MAX;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        since = sooner(since, session->out[class].silent_since);
    }
    return since;
}
