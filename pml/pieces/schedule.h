/* How the bytes behind a first fragment are divided among rails. Pure. */
#ifndef PML_SCHEDULE_H
#define PML_SCHEDULE_H

#include <keel/types.h>

enum {
    SCHEDULE_RAILS = 8,  /* more than these of a peer's are not used */
    SCHEDULE_SLOWEST = 4 /* rails of less than the fastest's weight divided by this are left out */
};

struct schedule_rail {
    double weight;   /* relative speed; 0: it takes nothing now */
    size_t min, max; /* bytes of a piece, but for the last one; max 0: it has no room now */
    uint64_t queued; /* bytes that it has to move before */
};

/* Which rail takes the next piece of what is left (more than 0 bytes), and how much of it: so that
 * all rails end at the same time. One whose share would be less than its min is left out. Returns
 * count if none of those that are worth it has room. */
size_t schedule_next(const struct schedule_rail *rails, size_t count, size_t left, size_t *size);

#endif
