/* A daemon's part when others are lost. The HNP says who is (ORDER_LOST); whoever has lost its
 * parent in the tree goes to the HNP, which names the next one (ORDER_REHOME). On the loop. */
#ifndef LAUNCHER_NODE_TREE_REPAIR_H
#define LAUNCHER_NODE_TREE_REPAIR_H

#include <launcher/node/daemon.h>

/* The link to the parent is down: asks the HNP for another. Where that fails, daemon_ops.cut_off is
 * called. */
void repair_begin(struct daemon *daemon, const char *why);
/* The orders. */
int repair_take_lost(struct daemon *daemon, opal_buffer_t *buffer);
int repair_take_ended(struct daemon *daemon, opal_buffer_t *buffer);
int repair_take_rehome(struct daemon *daemon, opal_buffer_t *buffer);
/* ORDER_GONE, or the link to the HNP told so: this daemon and those below it end. */
void repair_hnp_gone(struct daemon *daemon, const char *reason);
/* The losses in an order: u count, count u. */
int repair_take_losses(struct daemon *daemon, opal_buffer_t *buffer) KEEL_MUST_CHECK;
/* The parent in the tree is linked: takes the place below it, and reports so. */
void repair_linked(struct daemon *daemon, uint8_t report);
/* Goes on without a daemon; nothing happens when it was lost before. */
void repair_lose(struct daemon *daemon, uint32_t lost);

#endif
