/* One run of a command: how long it took, what it cost, how it ended. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum run_end { RUN_PASSED, RUN_FAILED, RUN_DID_NOT_END };

struct run {
    enum run_end end;
    double wall_ms;    /* from before it was started until its end was seen */
    double cpu_ms;     /* user and system, of all descendants that were waited for */
    size_t lines;      /* that it wrote to its standard output */
    char output[2048]; /* how that begins */
    char reason[256];  /* empty: passed */
};

/* Once, before the first run: processes that a command leaves behind become our children. */
void run_prepare(void);

/* The folder of this program's file. */
bool run_own_folder(char *folder, size_t size);

/* The first program of this name that PATH has, else "". */
bool run_find(char path[PATH_MAX], const char *name);

/* Blocks until the command has ended, or for limit_ms; then it and all that is left of it is
 * killed. */
void run_command(const char *const argv[], unsigned limit_ms, struct run *run);

#endif
