/* The sending half of a stream: keeps the frames until the destination has acknowledged them, hands
 * them out in their order as credit allows, and again after a loss. Pure (rml/message/stamp.h). */
#ifndef RML_SENDER_H
#define RML_SENDER_H

#include <base/data/list.h>
#include <rml/message/stamp.h>

/* A frame of the stream; embedded in its owner's, who leaves it alone until it is acknowledged or
 * given back by rml_sender_fail, and not lent out. */
struct rml_out {
    struct list link; /* in the sender's frames */
    uint64_t sequence;
    uint32_t length;
    bool ask;  /* wants to be acknowledged at once */
    bool lent; /* handed out by rml_sender_next, not yet returned: it cannot be handed out again */
};

struct rml_sender {
    struct list frames;  /* not acknowledged, in order */
    struct list *cursor; /* the next to hand out; &frames: none */
    uint64_t end;        /* position behind the last frame */
    uint64_t sent;       /* the cursor's */
    uint64_t high;       /* the highest that sent has been */
    uint64_t acked;
    uint64_t limit;      /* credit: nothing beyond it may be sent */
    uint64_t probe_at;   /* 0: nothing is waited for */
    uint64_t probe_wait; /* grows while the destination is silent */
    uint64_t resent;     /* acked and time of the last resend that the destination asked for */
    uint64_t resent_at;
    uint64_t silent_since; /* since when an answer is waited for; 0: it is not */
    uint16_t stream;
};

void rml_sender_init(struct rml_sender *sender);
/* Appends a frame: sets its sequence. length and ask are filled. */
void rml_sender_push(struct rml_sender *sender, struct rml_out *frame, uint64_t now);
/* The next frame to send, lent out until rml_sender_returned; NULL: nothing may be sent now. */
struct rml_out *rml_sender_next(struct rml_sender *sender, uint64_t now);
void rml_sender_returned(struct rml_out *frame);
/* The destination has everything before ack, and takes window more. Acknowledged frames go to
 * done. False: the values are impossible and nothing happened. */
bool rml_sender_ack(struct rml_sender *sender, uint64_t ack, uint32_t window, uint64_t now,
                    struct list *done) KEEL_MUST_CHECK;
/* The destination misses what comes after its acknowledgement. True: it will be sent again. */
bool rml_sender_gap(struct rml_sender *sender, uint64_t now);
/* Everything that is not acknowledged is sent again: what was on the way may be lost. */
void rml_sender_rewind(struct rml_sender *sender, uint64_t now);
/* Is it time to ask the destination how far it is? The next time follows. */
bool rml_sender_probe(struct rml_sender *sender, uint64_t now);
/* Makes rml_sender_probe true at a time. */
void rml_sender_probe_at(struct rml_sender *sender, uint64_t at);
/* The destination's successor knows nothing of the stream: it begins at its beginning, with what
 * waits, none of which is lent out or was ever sent. */
void rml_sender_renumber(struct rml_sender *sender);
/* Gives up: all frames go to failed, and the stream's number grows. */
void rml_sender_fail(struct rml_sender *sender, struct list *failed);

static inline bool rml_sender_idle(const struct rml_sender *sender)
{
    return list_empty(&sender->frames);
}

#endif
