/* A timer wheel: many timers, each started and stopped in constant time, without allocation. Time
 * is passed in and comes from anywhere; it never goes back. A timer expires in the first call of
 * wheel_expire that is later than its time, or up to a tick after that: never early.
 *
 * Four circles of 64 slots: a slot of the first is a tick, one of the next a turn of the circle
 * before. A timer stands in the slot of the smallest circle that reaches its time, and moves inward
 * when that slot's time comes: three times, and once more for each turn of the last circle. */
#ifndef BASE_WHEEL_H
#define BASE_WHEEL_H

#include <base/data/list.h>
#include <keel/types.h>

enum { WHEEL_BITS = 6, WHEEL_SLOTS = 1 << WHEEL_BITS, WHEEL_CIRCLES = 4 };

/* A member of what it is the timer of, which frees itself only when the timer is stopped.
 * Initialised by list_init(&timer.link). */
struct wheel_timer {
    struct list link;
    uint64_t due; /* in ticks */
};

struct wheel {
    uint64_t tick; /* microseconds, or what the times are counted in */
    uint64_t now;  /* in ticks: all that was due then is in expired */
    struct list slots[WHEEL_CIRCLES][WHEEL_SLOTS];
    struct list expired;
};

/* Points to itself: it is not to be moved. */
void wheel_init(struct wheel *wheel, uint64_t tick, uint64_t now);
/* One that runs is started anew. A time that is over counts as the next tick. */
void wheel_start(struct wheel *wheel, struct wheel_timer *timer, uint64_t due);
/* One that does not run is left alone. */
static inline void wheel_stop(struct wheel_timer *timer)
{
    list_remove(&timer->link);
}
/* The next timer that has expired, stopped, in no particular order; NULL: none is left. Whoever is
 * called for it may start and stop any timer: a loop over this with the same time ends. */
struct wheel_timer *wheel_expire(struct wheel *wheel, uint64_t now);
/* No timer expires before this time, in the unit of those; UINT64_MAX: none runs. */
uint64_t wheel_next(const struct wheel *wheel);

#endif
