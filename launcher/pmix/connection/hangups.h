/* Ends of connections, one at a time. libpmix 4.2.2 completes a collective among ranks of one node
 * each time that it loses one of them while the others wait in it, but carries that out, and frees
 * the collective, only before it waits for events again. So two ends between two waits would free
 * it twice. An end that may not be seen yet looks like a connection with nothing to read; libpmix
 * looks again after its next wait, since its events are level-triggered.
 *
 * Used by the one thread that reads the connections. */
#ifndef LAUNCHER_PMIX_CONNECTION_HANGUPS_H
#define LAUNCHER_PMIX_CONNECTION_HANGUPS_H

#include <stdbool.h>
#include <stdint.h>

enum { HANGUPS_MAX = 1 << 16 };

struct hangups {
    uint32_t shown;
    uint32_t looked[HANGUPS_MAX]; /* by descriptor: shown + 1 at the last look; 0: none */
};

/* A connection is found ended, at most once between two waits for each descriptor (below
 * HANGUPS_MAX). May it be seen? Only if no other was since the last look at this one. */
bool hangups_show(struct hangups *hangups, int fd);
/* The descriptor is closed. */
void hangups_forget(struct hangups *hangups, int fd);

#endif
