/* How long a connect goes on: for how long it tries each of its addresses, in which order, and when
 * it gives up. Pure: the time, of one monotonic clock in microseconds, is the caller's.
 *
 * The addresses are tried in turns. Of several, each has a second in the first turn, so that one
 * that swallows everything costs little, and its full time later. A connect without a limit of its
 * own gives those a second turn that used up their first time. With a limit it tries all of them
 * turn after turn, after a wait each; but where every address refuses, or nobody listens there,
 * for some turns in a row, there is nobody to wait for. */
#ifndef BASE_PATIENCE_H
#define BASE_PATIENCE_H

#include <base/loop/backoff.h>
#include <stdbool.h>
#include <stddef.h>

struct patience {
    size_t count;      /* addresses, at most 32 */
    uint64_t full_us;  /* the time of an address */
    uint64_t until_us; /* 0: no limit of its own */
    unsigned refusals_max;
    size_t at;         /* the address that is tried */
    bool first;        /* turn */
    uint32_t slow;     /* a bit for each address that used up its time in the first turn */
    uint32_t refused;  /* likewise: for each that refused, in this turn */
    unsigned refusals; /* turns in a row in which all refused */
    struct backoff wait;
};

/* How an attempt at an address ended. */
enum patience_outcome {
    PATIENCE_SLOW,
    PATIENCE_REFUSED, /* nobody listens there, or who listens does not want this process */
    PATIENCE_FAILED,  /* it broke */
};

enum patience_next {
    PATIENCE_GO,   /* the address at is due */
    PATIENCE_WAIT, /* it is, after a wait */
    PATIENCE_OVER,
};

/* limit_us: from now; 0: none; UINT64_MAX: for ever. refusals_max: turns in which all addresses
 * refuse, that end a connect with a limit. */
void patience_begin(struct patience *patience, size_t count, uint64_t full_us, uint64_t limit_us,
                    unsigned refusals_max, uint64_t now_us);
/* Somebody was there: the limit begins anew. */
void patience_renew(struct patience *patience, uint64_t limit_us, uint64_t now_us);
/* What the address has. */
uint64_t patience_time(const struct patience *patience, uint64_t now_us);
/* What a time may grow to where the round trip is long. */
uint64_t patience_grown(uint64_t full_us);
/* The longest that the address can have, where its round trip is long; at least patience_time. */
uint64_t patience_longest(const struct patience *patience, uint64_t now_us);
enum patience_next patience_ended(struct patience *patience, enum patience_outcome outcome,
                                  struct backoff_chance *chance, uint64_t now_us,
                                  uint64_t *wait_us);
/* An attempt that had left_us, and longest_us at most, has seen a round trip: what is left for the
 * rest of the handshake, which takes two more when nothing is lost. Likewise for any other wait of
 * a few round trips. */
uint64_t patience_after_round_trip(uint64_t round_trip_us, uint64_t left_us, uint64_t longest_us);

#endif
