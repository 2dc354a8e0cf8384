#include <config.h>

#include <btl/usnic/engine/rtt.h>
#include <btl/usnic/wire/packet.h>

#define US USNIC_STAMPS_PER_US

enum {
    FIRST_US = 10000, /* the timeout before anything was measured */
    LEAST_US = 1000,
    MOST_US = 1000000,
    PROBE_US = 200,      /* added to two round trips: the receiver's delayed acknowledgement */
    PERIOD_US = 1000000, /* of the least */
    DOUBLINGS = 10,
    LATE_MOST = 2000 * US /* and two round trips: packets that were overtaken for longer are lost */
};

void usnic_rtt_init(struct usnic_rtt *rtt, uint64_t now_us)
{
    *rtt = (struct usnic_rtt){.least = UINT32_MAX, .least_before = UINT32_MAX, .period_us = now_us};
}

static void turn_period(struct usnic_rtt *rtt, uint64_t now_us)
{
    if (now_us - rtt->period_us >= PERIOD_US) {
        rtt->least_before = now_us - rtt->period_us < 2 * PERIOD_US ? rtt->least : UINT32_MAX;
        rtt->least = UINT32_MAX;
        rtt->late /= 2;
        rtt->period_us = now_us;
    }
}

void usnic_rtt_sample(struct usnic_rtt *rtt, uint32_t sample, uint64_t now_us)
{
    sample = sample > 0 ? sample : 1;
    turn_period(rtt, now_us);
    rtt->least = sample < rtt->least ? sample : rtt->least;
    if (rtt->smoothed == 0) {
        rtt->smoothed = sample;
        rtt->variance = sample / 2;
    } else {
        uint32_t off = sample > rtt->smoothed ? sample - rtt->smoothed : rtt->smoothed - sample;
        rtt->variance += off / 4 - rtt->variance / 4;
        rtt->smoothed += sample / 8 - rtt->smoothed / 8;
    }
    rtt->doublings = 0;
}

void usnic_rtt_backoff(struct usnic_rtt *rtt)
{
    rtt->doublings += rtt->doublings < DOUBLINGS;
}

void usnic_rtt_spurious(struct usnic_rtt *rtt, uint32_t late)
{
    uint32_t most = LATE_MOST + (rtt->smoothed < MOST_US * US ? 2 * rtt->smoothed : 0);

    late = late < most ? late + late / 4 : most;
    rtt->late = late > rtt->late ? late : rtt->late;
}

static uint64_t steady_us(const struct usnic_rtt *rtt)
{
    return rtt->smoothed > 0 ? ((uint64_t) rtt->smoothed + 4 * (uint64_t) rtt->variance) / US
                             : FIRST_US;
}

uint64_t usnic_rtt_timeout_us(const struct usnic_rtt *rtt)
{
    uint64_t timeout = steady_us(rtt);

    timeout = (timeout > LEAST_US ? timeout : LEAST_US) << rtt->doublings;
    return timeout < MOST_US ? timeout : MOST_US;
}

uint64_t usnic_rtt_probe_us(const struct usnic_rtt *rtt)
{
    uint64_t timeout = usnic_rtt_timeout_us(rtt);
    uint64_t probe = rtt->smoothed > 0 ? 2 * (uint64_t) rtt->smoothed / US + PROBE_US : FIRST_US;

    return probe < timeout ? probe : timeout;
}

uint32_t usnic_rtt_reorder(const struct usnic_rtt *rtt)
{
    uint32_t quarter = rtt->smoothed / 4;

    return quarter > rtt->late ? quarter : rtt->late;
}
