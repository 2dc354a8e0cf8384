#include <config.h>

#include <base/data/least.h>
#include <btl/usnic/engine/rate.h>
#include <btl/usnic/wire/packet.h>

enum {
    FIRST_PACKETS = 32, /* the window at the beginning */
    LEAST_PACKETS = 4,
    QUEUE_US = 500,   /* a round trip may take so much longer than the least, */
    QUEUE_ROUNDS = 1, /* or so many times the least */
    EMPTY_PARTS = 4,  /* below such a part of that, there is no queue to speak of */
    DRAIN_ROUNDS = 2, /* the queue empties, then its round trip is measured */
    HIGH_US = 5000,   /* for which delays are too long until the window is cut */
    LOSS_SHARE = 4    /* one of so many packets lost: the network is full */
};

void usnic_rate_init(struct usnic_rate *rate, size_t credit, size_t most, size_t packet)
{
    *rate = (struct usnic_rate){.credit = credit,
                                .window = FIRST_PACKETS * packet,
                                .most = most,
                                .packet = packet,
                                .starting = true,
                                .lowest = UINT32_MAX};
}

bool usnic_rate_allows(const struct usnic_rate *rate, size_t under_way, size_t charge)
{
    size_t limit = least(rate->credit, rate->window);

    if (rate->drain > 0) {
        limit = least(limit, LEAST_PACKETS * rate->packet);
    }

    return under_way == 0 || under_way + charge <= limit;
}

static void cut(struct usnic_rate *rate, size_t window)
{
    size_t fewest = LEAST_PACKETS * rate->packet;

    rate->starting = false;
    rate->window = window > fewest ? window : fewest;
}

void usnic_rate_sample(struct usnic_rate *rate, uint32_t sample)
{
    rate->lowest = (uint32_t) least(sample, rate->lowest);
}

/* By how much a round trip may be longer than one through an empty network. */
static uint64_t allowed(const struct usnic_rtt *rtt)
{
    uint64_t queue = QUEUE_ROUNDS * (uint64_t) usnic_rtt_least(rtt);
    uint64_t floor = QUEUE_US * USNIC_STAMPS_PER_US;

    return queue > floor ? queue : floor;
}

/* Delays were too long all the round trip. A moment's may come from a host that was busy. */
static void slow_down(struct usnic_rate *rate, uint64_t over, uint64_t echo)
{
    rate->starting = false;
    if (rate->high == 0) {
        rate->high = echo;
    } else if (echo - rate->high >= HIGH_US * USNIC_STAMPS_PER_US) {
        cut(rate, rate->window - (size_t) (rate->window * over / (2 * (uint64_t) rate->lowest)));
        rate->high = echo;
    }
}

static void speed_up(struct usnic_rate *rate)
{
    rate->window += rate->starting ? rate->window : 2 * rate->packet;
    rate->window = least(rate->window, rate->most);
}

/* A queue that stands for long would become the least round trip. Returns whether it is emptied. */
static bool drains(struct usnic_rate *rate, const struct usnic_rtt *rtt)
{
    if (rate->drain > 0) {
        rate->drain--;
        return true;
    }
    bool long_enough = usnic_rtt_least(rtt) > QUEUE_US * USNIC_STAMPS_PER_US;
    if (rate->period_us != rtt->period_us && long_enough) {
        rate->drain = DRAIN_ROUNDS;
    }
    rate->period_us = rtt->period_us;
    return rate->drain > 0;
}

static void follow(struct usnic_rate *rate, const struct usnic_rtt *rtt, uint64_t echo)
{
    uint64_t empty = usnic_rtt_least(rtt), most = empty + allowed(rtt);

    if (rate->lowest > most && rate->lowest < UINT32_MAX) {
        slow_down(rate, rate->lowest - most, echo);
        return;
    }
    rate->high = 0;
    rate->starting |= rate->lowest < empty + allowed(rtt) / EMPTY_PARTS;
    if (rate->lost * LOSS_SHARE > rate->acked + rate->lost) {
        cut(rate, rate->window - rate->window / 4);
    } else if (rate->limited) {
        speed_up(rate);
    }
}

/* A round trip is over: the window follows what happened in it. */
static void turn(struct usnic_rate *rate, const struct usnic_rtt *rtt, uint64_t echo)
{
    if (!drains(rate, rtt)) {
        follow(rate, rtt, echo);
    }
    rate->acked = rate->lost = 0;
    rate->limited = false;
    rate->lowest = UINT32_MAX;
}

void usnic_rate_acked(struct usnic_rate *rate, const struct usnic_rtt *rtt, size_t charge,
                      size_t lost, uint64_t echo, uint64_t now)
{
    rate->acked += charge;
    rate->lost += lost;
    if (echo >= rate->round) {
        turn(rate, rtt, echo);
        rate->round = now;
    }
}
