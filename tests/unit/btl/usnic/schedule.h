/* A random schedule: messages, faults, sleeps, sessions that end, all from a seed. */
#ifndef TESTS_UNIT_BTL_USNIC_SCHEDULE_H
#define TESTS_UNIT_BTL_USNIC_SCHEDULE_H

#include <tests/unit/btl/usnic/sim.h>

/* Returns what does not hold; NULL: all does. Adds to totals, which may be NULL. */
const char *schedule_run(uint64_t seed, struct sim_totals *totals);

#endif
