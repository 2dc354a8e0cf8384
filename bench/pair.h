/* Two processes that measure something between them, each on a processor of its own. */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include <sys/types.h>

/* Of one operation, in seconds; cpu: of both processes. */
struct figure {
    double median, mean, cpu;
};

/* To the processor of this number among those that the program may use. */
void pair_bind(int number);
/* Calls run with a count of operations, batch after batch, for so long at least. */
struct figure pair_measure(pid_t other, void (*run)(void *arg, unsigned count), void *arg,
                           double seconds);

#endif
