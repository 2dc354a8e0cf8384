/* Daemons in a tree, of which some die while they broadcast and send to each other: production's
 * rml_tree, rml_cast and rml_session in simulated processes, repaired as the launcher does it. The
 * root never dies.
 *
 * What must hold: whoever lives gets every broadcast of whoever lives once, all in one order, and
 * in the order of its origin; and every message from the living, once and in order. */
#ifndef TESTS_LIB_SIM_FOREST_H
#define TESTS_LIB_SIM_FOREST_H

#include <stdbool.h>
#include <stdint.h>

/* A part that the test takes out. */
enum forest_without {
    FOREST_WHOLE,
    FOREST_NO_NUMBER, /* a broadcast is taken whatever its number */
    FOREST_NO_KEEP,   /* it is dropped once it was sent to those below */
    FOREST_NO_REPAIR, /* whoever lost its parent is told of no other */
};

struct forest;

struct forest_report {
    bool held;
    char reason[160];
    uint32_t nodes, events, deaths, relays; /* relays: deaths of those that had others below */
    uint32_t casts, messages;
};

struct forest *forest_create(void);
void forest_destroy(struct forest *forest);
void forest_run(struct forest *forest, uint64_t seed, enum forest_without without,
                struct forest_report *report);

#endif
