/* How much a flow may have under way: what the receiver grants of its socket's buffer, and a window
 * that follows the delay, of which the time that packets waited for a process to look is no part.
 * Counted in the bytes that packets take of that buffer. A loss alone cuts nothing: only a queue
 * that stands does, or many losses in one round trip. */
#ifndef BTL_USNIC_RATE_H
#define BTL_USNIC_RATE_H

#include <btl/usnic/engine/rtt.h>

struct usnic_rate {
    size_t credit; /* granted */
    size_t window;
    size_t most;        /* of the window */
    size_t packet;      /* what a full one takes */
    bool starting;      /* the window doubles with every round trip, until the delay grows */
    bool limited;       /* something had to wait since the last acknowledgement */
    uint64_t round;     /* what was sent before this belongs to the present round trip */
    size_t acked, lost; /* in it */
    uint32_t lowest;    /* of its delays; UINT32_MAX: none was measured */
    uint64_t period_us; /* of the least round trip; when another begins, */
    unsigned drain;     /* for so many round trips little is sent: any queue must empty */
    uint64_t high;      /* since what was sent then, all delays were too long; 0: they are not */
};

void usnic_rate_init(struct usnic_rate *rate, size_t credit, size_t most, size_t packet);
/* A packet that takes so much may be sent beside those under way. */
bool usnic_rate_allows(const struct usnic_rate *rate, size_t under_way, size_t charge);
/* The network took so long for a packet and its acknowledgement, at least. */
void usnic_rate_sample(struct usnic_rate *rate, uint32_t sample);
/* So much was acknowledged, or taken for lost, by an answer to what was sent at echo; now: the
 * stamp of the last packet sent. */
void usnic_rate_acked(struct usnic_rate *rate, const struct usnic_rtt *rtt, size_t charge,
                      size_t lost, uint64_t echo, uint64_t now);

#endif
