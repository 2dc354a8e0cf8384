/* The daemons that this one starts for the HNP, as their parent in the tree of agents: the HNP says
 * which (ORDER_START), and who of them has called home (ORDER_STARTED); it is told who cannot be
 * started (REPORT_UNSTARTED), and starts that one itself. On the loop. */
#ifndef LAUNCHER_NODE_ONWARD_H
#define LAUNCHER_NODE_ONWARD_H

#include <keel/buffer.h>
#include <keel/types.h>

struct daemon;

/* One daemon to start; the strings are owned. */
struct start_node {
    uint32_t vpid;
    char *node; /* the node's name */
    char *host; /* where the agent is to go: HOST or USER@HOST */
};

struct start_order {
    char **words;      /* owned: the agent's */
    char **program;    /* owned: the daemon's */
    uint32_t max;      /* agents at a time; 0: all */
    uint32_t retries;  /* of each, as in struct agents_config */
    uint32_t limit_ms; /* what an agent may take, with all of them */
    uint32_t count;
    struct start_node *nodes; /* owned */
};

int start_order_pack(opal_buffer_t *buffer, const struct start_order *order) KEEL_MUST_CHECK;
/* Checks everything but whose the numbers are; on error order is untouched. */
int start_order_unpack(opal_buffer_t *buffer, struct start_order *order) KEEL_MUST_CHECK;
void start_order_fini(struct start_order *order);

int onward_start(struct daemon *daemon, opal_buffer_t *buffer);   /* ORDER_START */
int onward_started(struct daemon *daemon, opal_buffer_t *buffer); /* ORDER_STARTED */
void onward_destroy(struct daemon *daemon);

#endif
