#include <config.h>

#include <rml/delivery/receiver.h>

enum { AT_ONCE = 1 }; /* as ack_at: long ago */

static void reset_positions(struct rml_receiver *receiver)
{
    receiver->expected = 0;
    receiver->limit = RML_WINDOW_FIRST;
    receiver->told = 0;
    receiver->ack_at = 0;
    receiver->gap_at = UINT64_MAX;
    receiver->gap = false;
    receiver->rest = 0;
}

void rml_receiver_init(struct rml_receiver *receiver, uint64_t window, uint64_t held_max)
{
    *receiver = (struct rml_receiver){.window = window, .held_max = held_max};
    reset_positions(receiver);
}

bool rml_receiver_stream(struct rml_receiver *receiver, uint16_t stream)
{
    if (!rml_stream_later(stream, receiver->stream)) {
        return false;
    }
    receiver->stream = stream;
    reset_positions(receiver);
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What may come beyond what is expected. */
static uint64_t room(const struct rml_receiver *receiver)
{
    uint64_t room = receiver->held < receiver->held_max ? receiver->held_max - receiver->held : 0;
    uint64_t needed = receiver->rest;
    if (receiver->held == 0 && needed == 0) {
        needed = RML_FRAME_MAX;
    }
    if (needed > 0) { /* with the cost of its frames; more frames than these are not cut */
        needed += (needed / RML_FRAME_MAX + 2) * RML_FRAME_COST;
    }
    return least(receiver->window, room > needed ? room : needed);
}

static uint64_t limit_now(const struct rml_receiver *receiver)
{
    uint64_t limit = receiver->expected + room(receiver);
    return limit > receiver->limit ? limit : receiver->limit;
}

/* Once for each loss, until the sender asks again. */
static void report_gap(struct rml_receiver *receiver)
{
    if (receiver->gap_at != receiver->expected) {
        receiver->gap_at = receiver->expected;
        receiver->gap = true;
        receiver->ack_at = AT_ONCE;
    }
}

static void acknowledge(struct rml_receiver *receiver, bool at_once, uint64_t now)
{
    if (at_once) {
        receiver->ack_at = AT_ONCE;
    } else if (receiver->ack_at == 0) {
        receiver->ack_at = now + RML_ACK_DELAY_US;
    }
}

static void advance(struct rml_receiver *receiver, const struct rml_stamp *stamp, uint64_t now)
{
    receiver->expected += rml_stamp_cost(stamp->length);
    receiver->rest = stamp->rest;
    receiver->gap_at = UINT64_MAX;
    receiver->gap = false;
    acknowledge(receiver, stamp->ask || receiver->expected - receiver->told >= RML_ACK_BYTES, now);
}

enum rml_verdict rml_receiver_take(struct rml_receiver *receiver, const struct rml_stamp *stamp,
                                   uint64_t now)
{
    if (stamp->stream != receiver->stream) {
        return RML_OLD;
    }
    if (stamp->sequence < receiver->expected) {
        acknowledge(receiver, stamp->ask, now); /* the sender does not know yet */
        return RML_OLD;
    }
    if (stamp->sequence > receiver->expected) {
        report_gap(receiver);
        return RML_LOST;
    }
    if (receiver->rest == 0 && receiver->held > receiver->held_max + receiver->window) {
        return RML_FULL;
    }
    if (stamp->sequence + rml_stamp_cost(stamp->length) > receiver->limit) {
        return RML_TOO_MUCH;
    }
    advance(receiver, stamp, now);
    return RML_TAKE;
}

void rml_receiver_probed(struct rml_receiver *receiver, uint64_t sent)
{
    receiver->gap = sent > receiver->expected;
    receiver->ack_at = AT_ONCE;
}

void rml_receiver_hold(struct rml_receiver *receiver, uint64_t bytes)
{
    receiver->held += bytes;
}

/* A sender that may have used up half of its window is told of new room. */
void rml_receiver_release(struct rml_receiver *receiver, uint64_t bytes)
{
    receiver->held -= bytes < receiver->held ? bytes : receiver->held;
    bool short_of = receiver->limit - receiver->expected < receiver->window / 2;
    uint64_t gain = limit_now(receiver) - receiver->limit;
    if (short_of && gain > 0 && (gain >= receiver->window / 4 || receiver->held == 0)) {
        receiver->ack_at = AT_ONCE;
    }
}

void rml_receiver_hurry(struct rml_receiver *receiver)
{
    if (receiver->ack_at > 0) {
        receiver->ack_at = AT_ONCE;
    }
}

bool rml_receiver_must_tell(const struct rml_receiver *receiver, uint64_t now)
{
    return receiver->ack_at > 0 && now >= receiver->ack_at;
}

void rml_receiver_tell(struct rml_receiver *receiver, struct rml_stamp *stamp)
{
    receiver->limit = limit_now(receiver);
    receiver->told = receiver->expected;
    receiver->ack_at = 0;
    stamp->ack_stream = receiver->stream;
    stamp->ack = receiver->expected;
    stamp->window = (uint32_t) (receiver->limit - receiver->expected);
    stamp->gap = receiver->gap;
    receiver->gap = false;
}
