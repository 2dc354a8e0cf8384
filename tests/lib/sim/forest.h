/* Daemons in a tree, of which some die, and whose links break, while they broadcast and send to
 * each other.
 *
 * Production's objects: rml_tree, rml_cast, rml_session with its senders and receivers, and, on
 * each link, rml_credit. What the daemons say to each other of broadcasts and of the repair are
 * messages of these sessions, as in production, and may be lost, come twice or late on their way:
 * with a link that breaks, with a daemon, or because a relay has no room.
 *
 * Modelled, for they hold sockets or threads in production: which way a frame goes
 * (rml/links/links.c), that what was under way is sent again when the way changes (take_way_locked
 * in rml/traffic/flow.c), that a broken link is made again or given up (rml/links/mend.c), and who
 * says what when a daemon is lost (launcher/node/tree_repair.c, launcher/head/hnp_repair.c). A link
 * is made at both its ends at once. The root never dies.
 *
 * What must hold: whoever lives gets every broadcast of whoever lives once, all in one order, and
 * in the order of its origin; and every message from the living, once and in order. Every message
 * of the living completes once: as delivered only if it was, as failed only if its destination is
 * lost. Nobody is lost but those that were killed, unless a link did not come again. */
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
    FOREST_NO_DEDUP,  /* a frame is taken although it came before */
    FOREST_NO_ACK,    /* acknowledgements are not heard */
};

struct forest;

struct forest_report {
    bool held;
    char reason[160];
    uint32_t nodes, events, casts, messages;
    uint32_t deaths, relays; /* relays: deaths of those that had others below */
    uint32_t breaks, mended; /* links that broke; that came again */
    uint32_t resent;         /* frames that were handed out more than once */
};

struct forest *forest_create(void);
void forest_destroy(struct forest *forest);
void forest_run(struct forest *forest, uint64_t seed, enum forest_without without,
                struct forest_report *report);

#endif
