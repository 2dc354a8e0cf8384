/* What a measurement depends on besides the program: the machine, and who else uses it. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdbool.h>
#include <stdio.h>

/* Time that processors spent on anything, in ms since boot, summed; what this process and its
 * children that ended took of it; and the wall's clock. */
struct machine_use {
    double busy_ms, own_ms, wall_ms;
};

void machine_use_read(struct machine_use *use);

/* How much others, the host of a virtual machine among them, took meanwhile: sums over any number
 * of whiles. */
struct machine_noise {
    double others_ms, all_ms; /* of all processors */
    double lost_ms, spun_ms;  /* of programs that only look at the clock */
};

/* Adds a while that began then. */
void machine_noise_add(struct machine_noise *noise, const struct machine_use *since);
/* Spins for a moment on each of the first two processors that this process may use, and adds what
 * it did not get of them. */
void machine_noise_spin(struct machine_noise *noise);
void machine_noise_join(struct machine_noise *noise, const struct machine_noise *more);
/* The larger share of the two. */
double machine_noise_percent(const struct machine_noise *noise);
/* Too much for a figure to mean anything. */
bool machine_is_noisy(const struct machine_noise *noise);

/* Processors, affinity, kernel, scheduler, load; with a warning when the machine is not idle. Looks
 * on for a moment. */
void machine_describe(FILE *out);

/* "NAME: the first line that `COMMAND --version` prints", or that it is missing. */
void machine_describe_program(FILE *out, const char *name, const char *command);

#endif
