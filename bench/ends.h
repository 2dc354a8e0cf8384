/* Two processes that send each other messages: the same loops for whatever carries them.
 *
 * End 0 begins and measures. A message's first byte says whether it is the last one. Both blocking
 * calls copy: what was sent may be changed, what came lies in the receiver's memory. */
#ifndef BENCH_ENDS_H
#define BENCH_ENDS_H

#include <stdbool.h>
#include <stddef.h>

struct ends {
    void *arg;
    unsigned end; /* 0 or 1: which one this process is */
    /* Block; false: it failed, and said so. */
    bool (*send)(void *arg, const void *data, size_t size);
    bool (*recv)(void *arg, void *data, size_t size);
};

/* Binds this process to the processor of its end: of those that it may use, the first or the second
 * (the same, if there is no other). Before it starts threads. BENCH_AFFINITY=free in the
 * environment: it stays free. */
void ends_bind(unsigned end);

/* For each size, alternately: messages to and fro, one at a time; and messages one way, of which at
 * most a window is not confirmed by the other end. End 0 prints
 *   affinity LIST
 *   SIZE half-round-trip-us messages-per-s MB-per-s
 * False: something failed. */
bool ends_run(const struct ends *ends);

#endif
