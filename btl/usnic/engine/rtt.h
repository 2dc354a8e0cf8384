/* How long a packet's way and its acknowledgement's take: smoothed, with variance, the least of the
 * recent; and the times that follow from it. Times are in stamps (sixteenths of a microsecond) or,
 * where the name says so, in microseconds. */
#ifndef BTL_USNIC_RTT_H
#define BTL_USNIC_RTT_H

#include <keel/types.h>

struct usnic_rtt {
    uint32_t smoothed; /* 0: nothing was measured */
    uint32_t variance;
    uint32_t least, least_before; /* of the present and the last period */
    uint32_t late;                /* by how much packets were overtaken */
    uint64_t period_us;           /* begin of the present one */
    uint8_t doublings;            /* of the timeout */
};

void usnic_rtt_init(struct usnic_rtt *rtt, uint64_t now_us);
/* A packet and its acknowledgement took so long, without the receiver's delay. Ends a backoff. */
void usnic_rtt_sample(struct usnic_rtt *rtt, uint32_t sample, uint64_t now_us);
/* The timeout has passed: the next one is twice as long. */
void usnic_rtt_backoff(struct usnic_rtt *rtt);
/* A packet that was taken for lost had only been late by so much. */
void usnic_rtt_spurious(struct usnic_rtt *rtt, uint32_t late);

/* When nothing was acknowledged for so long, a packet is sent again: 1 ms to 1 s. */
uint64_t usnic_rtt_timeout_us(const struct usnic_rtt *rtt);
/* The same for the first time in a row: the last of a burst may be lost. */
uint64_t usnic_rtt_probe_us(const struct usnic_rtt *rtt);
/* A packet is lost when one that was sent later has been acknowledged for so long. */
uint32_t usnic_rtt_reorder(const struct usnic_rtt *rtt);

static inline uint32_t usnic_rtt_least(const struct usnic_rtt *rtt)
{
    return rtt->least < rtt->least_before ? rtt->least : rtt->least_before;
}

#endif
