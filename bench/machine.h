/* What a measurement depends on besides the program: the machine, and who else uses it. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdio.h>

/* Time that processors spent on anything, in ms since boot, summed; and the wall's clock. */
struct machine_use {
    double busy_ms, wall_ms;
};

void machine_use_read(struct machine_use *use);

/* Share of all processors, in percent, that processes other than our own took since then. own_ms is
 * what our own took. */
double machine_use_by_others(const struct machine_use *since, double own_ms);

/* Processors, affinity, kernel, scheduler, load; with a warning when the machine is not idle. Looks
 * on for a moment. */
void machine_describe(FILE *out);

/* "NAME: the first line that `COMMAND --version` prints", or that it is missing. */
void machine_describe_program(FILE *out, const char *name, const char *command);

#endif
