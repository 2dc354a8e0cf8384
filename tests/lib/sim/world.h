/* Processes that send messages to each other through the RML's own delivery protocol, over a
 * network that loses, delays and reorders, while links break and processes end and start anew. One
 * schedule is one seed. The objects under test are production's: session, sender, receiver, credit.
 *
 * What must hold: every message arrives at most once, in order for its origin, destination and
 * class, and only at the incarnation that it was sent to; every message of a process that lives
 * completes exactly once, as delivered only if it was, and as failed only if its destination ended
 * or was given up; memory stays in its bounds. */
#ifndef TESTS_LIB_SIM_WORLD_H
#define TESTS_LIB_SIM_WORLD_H

#include <rml/delivery/session.h>
#include <tests/lib/sim/network.h>

/* A part of the protocol that the test takes out, by undoing its effect from outside. */
enum sim_without { SIM_WHOLE, SIM_NO_DEDUP, SIM_NO_ACK, SIM_NO_EPOCH };

struct sim_world;

struct sim_report {
    bool held;         /* the invariants did */
    char reason[160];  /* if not */
    uint32_t events;   /* that happened */
    uint32_t messages; /* sent */
    uint32_t failed;   /* of these, with an error */
    uint32_t faults;
    uint32_t resent; /* frames that were handed out more than once */
};

struct sim_world *sim_world_create(void);
void sim_world_destroy(struct sim_world *world);
void sim_world_run(struct sim_world *world, uint64_t seed, enum sim_without without,
                   struct sim_report *report);

#endif
