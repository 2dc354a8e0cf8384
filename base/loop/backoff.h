/* How long to wait before the next attempt: twice as long each time, from a base to a cap, and half
 * of it by chance, so that many who failed together do not come again together. Pure. */
#ifndef BASE_BACKOFF_H
#define BASE_BACKOFF_H

#include <stdint.h>

struct backoff {
    uint64_t base_us, cap_us; /* 1 <= base <= cap */
    uint64_t next_us;         /* the bound of the next wait; 0: base */
};

/* A source of chance; every process seeds its own. */
struct backoff_chance {
    uint64_t state;
};

/* The next wait: between half of the bound and the bound. */
uint64_t backoff_next(struct backoff *backoff, struct backoff_chance *chance);

#endif
