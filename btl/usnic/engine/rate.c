#include <config.h>

#include <btl/usnic/engine/rate.h>
#include <btl/usnic/engine/wire.h>

enum {
    FIRST_PACKETS = 32, /* the window at the beginning */
    LEAST_PACKETS = 4,
    QUEUE_US = 500,   /* a round trip may take so much longer than the least, */
    QUEUE_ROUNDS = 1, /* or so many times the least */
    LOSS_SHARE = 4    /* one of so many packets lost: the network is full */
};

void usnic_rate_init(struct usnic_rate *rate, size_t credit, size_t most, size_t packet)
{
    *rate = (struct usnic_rate){.credit = credit,
                                .window = FIRST_PACKETS * packet,
                                .most = most,
                                .packet = packet,
                                .starting = true};
}

bool usnic_rate_allows(const struct usnic_rate *rate, size_t under_way, size_t charge)
{
    size_t limit = rate->credit < rate->window ? rate->credit : rate->window;

    return under_way == 0 || under_way + charge <= limit;
}

static void cut(struct usnic_rate *rate, size_t window)
{
    size_t least = LEAST_PACKETS * rate->packet;

    rate->starting = false;
    rate->window = window > least ? window : least;
}

/* How much longer the last round trip took than an empty network and a receiver that is awake do,
 * and than may be. */
static uint64_t excess(const struct usnic_rtt *rtt)
{
    uint64_t least = usnic_rtt_least(rtt);
    uint64_t queue = QUEUE_ROUNDS * least, floor = QUEUE_US * USNIC_STAMPS_PER_US;
    uint64_t most = least + (queue > floor ? queue : floor);

    return rtt->latest > most ? rtt->latest - most : 0;
}

/* A round trip is over: the window follows what happened in it. */
static void turn(struct usnic_rate *rate, const struct usnic_rtt *rtt)
{
    uint64_t over = excess(rtt);

    if (over > 0) {
        uint64_t part = (uint64_t) rate->window * over / (2 * (uint64_t) rtt->latest);
        cut(rate, rate->window - (size_t) part);
    } else if (rate->lost * LOSS_SHARE > rate->acked + rate->lost) {
        cut(rate, rate->window - rate->window / 4);
    } else if (rate->limited) {
        rate->window += rate->starting ? rate->window : 2 * rate->packet;
        rate->window = rate->window < rate->most ? rate->window : rate->most;
    }
    rate->acked = rate->lost = 0;
    rate->limited = false;
}

void usnic_rate_acked(struct usnic_rate *rate, const struct usnic_rtt *rtt, size_t charge,
                      size_t lost, uint64_t echo, uint64_t now)
{
    rate->acked += charge;
    rate->lost += lost;
    if (echo >= rate->round) {
        turn(rate, rtt);
        rate->round = now;
    }
}
