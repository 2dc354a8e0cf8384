/* The nodes that a spawn adds to its job. */
#ifndef LAUNCHER_HEAD_SPAWN_NODES_H
#define LAUNCHER_HEAD_SPAWN_NODES_H

#include <launcher/head/hnp.h>
#include <launcher/node/orders/orders.h>

/* Is one of its nodes without a daemon? */
bool spawn_lacks_daemons(const struct hnp *hnp, const struct spawned *spawned);
/* Names its idle nodes in it, which have daemons. They become the first of the idle ones; they are
 * the job's when spawn_add_nodes is called. */
int spawn_name_nodes(struct hnp *hnp, struct spawned *spawned) KEEL_MUST_CHECK;
void spawn_add_nodes(struct hnp *hnp, const struct spawned *spawned);
/* Idle nodes whose daemon is lost have none. False: there were some; reason: which, and why. */
bool spawn_drop_lost(struct hnp *hnp, char *reason, size_t reason_size);

#endif
