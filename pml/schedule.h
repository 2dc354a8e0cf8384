/* How the bytes behind a first fragment are divided among rails. Pure. */
#ifndef PML_SCHEDULE_H
#define PML_SCHEDULE_H

#include <keel/types.h>

enum {
    SCHEDULE_RAILS = 8,  /* more than these of a peer's are not used */
    SCHEDULE_SLOWEST = 4 /* rails of less than the fastest's weight divided by this are left out */
};

struct schedule_rail {
    double weight;   /* relative speed, more than 0 */
    size_t min, max; /* bytes of a piece, but for the last one */
    uint64_t given;  /* bytes of this message that it was given */
};

/* Which rail takes the next piece of what is left (more than 0 bytes), and how much of it: so that
 * all rails end at the same time. */
size_t schedule_next(const struct schedule_rail *rails, size_t count, size_t left, size_t *size);

#endif
