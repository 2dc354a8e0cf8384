/* How a rank ended, as its daemon tells it, and as text for the user. Pure. */
#ifndef LAUNCHER_JOB_RANK_END_H
#define LAUNCHER_JOB_RANK_END_H

#include <keel/types.h>

/* Strings are borrowed for the call; "": there is nothing of it. */
struct rank_end {
    uint32_t pid;
    uint32_t peak_kib; /* the most memory that it had */
    int32_t wait_status;
    uint8_t joined;      /* it had called keel_init, MPI_Init or the like */
    const char *missing; /* what it should have called before its end */
    const char *call;    /* that it was in: "in fence 7" */
    const char *core;    /* its core file */
    uint8_t oom_kill;    /* its control group has counted a kill for want of memory meanwhile */
};

/* What keelrun exits with for it; 0: it has not failed. */
int rank_end_code(const struct rank_end *end);
/* "signal 11 (SIGSEGV, Segmentation fault)"; real-time signals have no name of their own. */
void rank_end_print_signal(int signal, char *text, size_t size);
/* "was killed by signal 9 (SIGKILL, Killed) in fence 7"; of one that has failed, or of count. */
void rank_end_print(const struct rank_end *end, uint32_t count, char *text, size_t size);

#endif
