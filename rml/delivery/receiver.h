/* The receiving half of a stream: which frames continue it, when to acknowledge, and how much more
 * the sender may send. Pure (rml/message/stamp.h).
 *
 * Credit: at most window bytes may be on the way. It shrinks with what was delivered and not yet
 * consumed (held), so that held stays below held_max and one window; but a message that has begun
 * can always end, and so can the one that comes first when nothing is held. */
#ifndef RML_RECEIVER_H
#define RML_RECEIVER_H

#include <rml/message/stamp.h>

struct rml_receiver {
    uint64_t expected; /* position of the next frame */
    uint64_t limit;    /* the highest that was granted */
    uint64_t told;     /* the acknowledgement that was sent last */
    uint64_t ack_at;   /* 0: none is due */
    uint64_t gap_at;   /* the loss at this position was reported; UINT64_MAX: none was */
    uint64_t held;
    uint64_t rest; /* of the message under way */
    uint64_t window;
    uint64_t held_max;
    bool gap; /* to be reported */
    uint16_t stream;
};

enum rml_verdict {
    RML_TAKE,
    RML_OLD,      /* it has come before, or belongs to a stream that was given up */
    RML_LOST,     /* frames before it are missing */
    RML_FULL,     /* no room, as after a stream that was given up: it must come again */
    RML_TOO_MUCH, /* more than was granted */
};

/* window >= RML_WINDOW_MIN. */
void rml_receiver_init(struct rml_receiver *receiver, uint64_t window, uint64_t held_max);
/* The sender's stream as a frame names it. True: a later one, from position 0; what was under way
 * will not be continued. */
bool rml_receiver_stream(struct rml_receiver *receiver, uint16_t stream);
enum rml_verdict rml_receiver_take(struct rml_receiver *receiver, const struct rml_stamp *stamp,
                                   uint64_t now) KEEL_MUST_CHECK;
/* The sender asks where this stream stands: it has sent up to a position. */
void rml_receiver_probed(struct rml_receiver *receiver, uint64_t sent);
/* A message was delivered to somebody who may be slow; and was consumed. */
void rml_receiver_hold(struct rml_receiver *receiver, uint64_t bytes);
void rml_receiver_release(struct rml_receiver *receiver, uint64_t bytes);
/* An acknowledgement that would be due later is due now. */
void rml_receiver_hurry(struct rml_receiver *receiver);
/* Must an acknowledgement be sent now? ack_at says when, if not. */
bool rml_receiver_must_tell(const struct rml_receiver *receiver, uint64_t now);
/* Writes the acknowledgement into a frame that is about to be sent. */
void rml_receiver_tell(struct rml_receiver *receiver, struct rml_stamp *stamp);

/* Is so much held that the sender may have to wait? There is no room for the largest frame. */
static inline bool rml_receiver_full(const struct rml_receiver *receiver)
{
    uint64_t largest = RML_FRAME_MAX + RML_FRAME_COST;
    uint64_t room = largest < receiver->held_max / 2 ? largest : receiver->held_max / 2;
    return receiver->held > receiver->held_max - room;
}

#endif
