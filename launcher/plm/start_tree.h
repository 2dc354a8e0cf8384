/* Who starts whom, where there are many nodes: keelrun starts every block-th daemon, and that the
 * rest of its block. Both are about the square root of their number, so no daemon is further away
 * than two agents. Pure. */
#ifndef LAUNCHER_PLM_START_TREE_H
#define LAUNCHER_PLM_START_TREE_H

#include <stdint.h>

/* The size of a block for so many daemons but keelrun's; 1: keelrun starts all. threshold: from so
 * many on there is a tree; 0: never. */
uint32_t start_tree_block(uint32_t daemons, uint32_t threshold);
/* Who starts the daemon vpid (1 or more), unless keelrun does: the first of its block, which may be
 * itself. */
uint32_t start_tree_head(uint32_t block, uint32_t vpid);

#endif
