/* What the delivery protocol says in every frame, and the numbers that all its parts share. The
 * protocol's parts (sender, receiver, session, credit) are pure: no sockets, no clock, no threads;
 * time comes in as microseconds of any monotonic clock, and the owner's lock guards them.
 *
 * A stream is what one process sends to another in one class. Its positions count bytes: each frame
 * takes its payload's length and RML_FRAME_COST, so that empty messages count too. One number so
 * serves as sequence, as cumulative acknowledgement and as credit. */
#ifndef RML_STAMP_H
#define RML_STAMP_H

#include <oob/oob.h>

#define RML_FRAME_MAX (256u * 1024u)
#define RML_FRAME_COST 256u
/* What may be sent before the destination has said how much it takes. */
#define RML_WINDOW_FIRST (1u << 20)
#define RML_WINDOW_MIN RML_WINDOW_FIRST
#define RML_ACK_BYTES (64u * 1024u)
#define RML_ACK_DELAY_US 50000u
#define RML_PROBE_FIRST_US 200000u
#define RML_PROBE_MAX_US 2000000u

enum rml_kind {
    RML_DATA,
    RML_ACK,     /* nothing but the acknowledgement that every frame carries */
    RML_PROBE,   /* asks for one; the only kind that may not know the destination's incarnation */
    RML_UNREACH, /* a daemon on the way: the destination cannot be reached */
    RML_CREDIT,  /* between the ends of a link: how much it may carry (rml/delivery/credit.h) */
    RML_KINDS,
};

struct rml_stamp {
    enum rml_kind kind;
    enum oob_class class; /* the stream's */
    bool ask;             /* acknowledge at once */
    bool gap;             /* of an acknowledgement: what follows it was lost, send again */
    uint16_t stream;      /* begins anew, at position 0, when the sender gave messages up */
    uint16_t ack_stream;
    uint32_t length; /* of the payload */
    uint32_t rest;   /* bytes of the message behind this frame */
    uint32_t window; /* bytes that may be sent beyond ack */
    uint64_t epoch;  /* the origin's incarnation */
    uint64_t dest_epoch;
    uint64_t sequence; /* position of the frame; of a probe: the end of what was sent */
    uint64_t ack;      /* everything before this position of the reverse stream has arrived */
};

static inline uint64_t rml_stamp_cost(uint32_t length)
{
    return (uint64_t) length + RML_FRAME_COST;
}

/* Is stream a later than b? Their numbers wrap. */
static inline bool rml_stream_later(uint16_t a, uint16_t b)
{
    return (int16_t) (uint16_t) (a - b) > 0;
}

#endif
