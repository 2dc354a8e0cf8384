#include <config.h>

#include <pml/pieces/rate.h>

void rate_claim(struct rate *rate, double speed, uint64_t now_ns)
{
    rate->seen_ns = rate->queued > 0 ? now_ns : rate->seen_ns;
    rate->moved = speed * (double) RATE_PRIOR_NS / 1000;
    rate->busy_ns = (double) RATE_PRIOR_NS;
}

void rate_init(struct rate *rate, double speed)
{
    *rate = (struct rate){0};
    rate_claim(rate, speed, 0);
}

static void advance(struct rate *rate, uint64_t now_ns)
{
    if (rate->queued > 0) {
        rate->busy_ns += (double) (now_ns - rate->seen_ns);
    }
    rate->seen_ns = now_ns;
}

void rate_age(struct rate *rate)
{
    rate->moved *= (double) RATE_PRIOR_NS / rate->busy_ns;
    rate->busy_ns = (double) RATE_PRIOR_NS;
}

void rate_begin(struct rate *rate, uint64_t bytes, uint64_t now_ns)
{
    advance(rate, now_ns);
    rate->queued += bytes;
}

void rate_drop(struct rate *rate, uint64_t bytes, uint64_t now_ns)
{
    advance(rate, now_ns);
    rate->queued -= bytes < rate->queued ? bytes : rate->queued;
}

void rate_end(struct rate *rate, uint64_t bytes, uint64_t now_ns)
{
    rate_drop(rate, bytes, now_ns);
    rate->moved += (double) bytes;
    if (rate->busy_ns > (double) RATE_MEMORY_NS) {
        rate->moved /= 2;
        rate->busy_ns /= 2;
    }
}
