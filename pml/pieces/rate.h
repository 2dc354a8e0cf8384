/* How fast a rail is: bytes over the time in which it had any to move, until they were there. Time
 * is passed in. */
#ifndef PML_RATE_H
#define PML_RATE_H

#include <keel/types.h>

#define RATE_MEMORY_NS UINT64_C(200000000) /* of busy time; then what was before counts half */
#define RATE_PRIOR_NS UINT64_C(2000000)    /* the speed that a rail claims counts as much as this */

struct rate {
    double moved, busy_ns; /* bytes, and the time that they took */
    uint64_t queued;       /* bytes under way */
    uint64_t seen_ns;      /* busy time was counted up to here; 0: nothing was under way yet */
};

/* speed: MB/s that the rail claims. */
void rate_init(struct rate *rate, double speed);
/* What was measured is forgotten, also the time that bytes under way have taken so far: the rail
 * claims this speed anew. */
void rate_claim(struct rate *rate, double speed, uint64_t now_ns);
/* These bytes are under way. */
void rate_begin(struct rate *rate, uint64_t bytes, uint64_t now_ns);
/* They are there. */
void rate_end(struct rate *rate, uint64_t bytes, uint64_t now_ns);
/* They will not be told of any more. */
void rate_drop(struct rate *rate, uint64_t bytes, uint64_t now_ns);

/* It was idle for long: what was measured before counts as little as a claim. */
void rate_age(struct rate *rate);

/* MB/s, more than 0. */
static inline double rate_speed(const struct rate *rate)
{
    return (rate->moved + 1) * 1000 / rate->busy_ns;
}

#endif
