/* A host for tests of the data plane: forks processes and gives each a struct keel_host_ops over
 * shared memory. Linux only; the calling process is single-threaded.
 *
 * KEEL_TEST_NETWORKS="PID PID ...": the processes are, in turn, in the network namespaces of these.
 */
#ifndef TESTS_MINIHOST_H
#define TESTS_MINIHOST_H

#include <keel/host.h>

#define MINIHOST_SHARED_PER_RANK ((size_t) 16 << 20)

struct minihost_state;

struct minihost {
    int rank, size;
    opal_proc_t *procs;    /* size of them; procs[rank] is this process */
    unsigned char *shared; /* zeroed memory that all processes see, at the same address */
    size_t shared_size;    /* MINIHOST_SHARED_PER_RANK * size */
    struct minihost_state *state;
};

struct minihost_options {
    int size;            /* processes: 1 to 16 */
    int nodes;           /* simulated nodes, ranks in blocks; 0: 1 */
    bool late_cards;     /* get_card answers from minihost_progress, not at once */
    unsigned timeout_ms; /* for the whole run, later on a busy machine; 0: 20 s */
};

extern const struct keel_host_ops minihost_ops; /* its host argument is the struct minihost */

/* A process that is nobody's peer, without a folder: has no need of a struct minihost. */
extern const struct keel_host_ops minihost_alone;
extern opal_proc_t minihost_myself;

/* Runs fn in each process. True: all returned 0 in time. Else reason tells the first failure, and
 * what still ran was killed. */
bool minihost_run(const struct minihost_options *options, int (*fn)(struct minihost *, void *),
                  void *arg, char *reason, size_t reason_size);
/* Waits for all processes, calling progress (which may be NULL) meanwhile. Ends this process when
 * another one failed. */
void minihost_barrier(struct minihost *host, int (*progress)(void));
/* Answers card requests that wait; returns their number. */
int minihost_progress(struct minihost *host);
/* Reports a failure and ends this process. */
void minihost_fail(struct minihost *host, const char *format, ...) KEEL_PRINTF(2, 3)
    __attribute__((noreturn));
/* Reports the place and the condition, unless it holds. */
#define minihost_must(host_, condition)                                                   \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            minihost_fail(host_, "rank %d: %s:%d: %s", (host_)->rank, __FILE__, __LINE__, \
                          #condition);                                                    \
        }                                                                                 \
    } while (0)
/* Ends this process when another one failed: for loops that wait. */
void minihost_check(struct minihost *host);

#endif
