/* A memory barrier in the threads of other processes, for two that each write one word and read the
 * other's, where one does so often and the other rarely (Linux membarrier). The frequent side
 * enlists once, and then needs a compiler barrier alone; the rare one calls barrier_everywhere
 * between its write and its read. One of the two sees the other. */
#ifndef BASE_BARRIER_H
#define BASE_BARRIER_H

#include <keel/types.h>

/* This process's threads take part from now on; again after it was restarted. False: the kernel
 * does not have it. */
bool barrier_enlist(void);
/* Returns when each thread that runs in any process that takes part, and this one, has made a
 * barrier. A system call that interrupts other processors. False: nothing happened. */
bool barrier_everywhere(void);

#endif
