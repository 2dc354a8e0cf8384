/* A daemon's part when the tree of daemons grows: those that stand learn how many there are
 * (ORDER_GROW); one that is added takes its place among them (ORDER_JOIN). On the loop. */
#ifndef LAUNCHER_NODE_TREE_GROWTH_H
#define LAUNCHER_NODE_TREE_GROWTH_H

#include <launcher/node/daemon.h>

/* There are so many daemons, which are no fewer than before. */
int growth_set(struct daemon *daemon, uint32_t count) KEEL_MUST_CHECK;
/* The orders. */
int growth_take(struct daemon *daemon, opal_buffer_t *buffer);
int growth_join(struct daemon *daemon, opal_buffer_t *buffer);

#endif
