/* The answer to a rank's PMIx_Finalize. Open MPI unloads its modules when it has it, even
 * when a thread of its own has yet to run a callback in one of them, which was ready since
 * MPI_Init: where processors are short, it crashes. A program that ends soon after its beginning is
 * therefore answered when none of its threads waits for a processor. */
#ifndef LAUNCHER_PMIX_FINALIZE_H
#define LAUNCHER_PMIX_FINALIZE_H

#include <base/loop/loop.h>
#include <stdbool.h>
#include <sys/types.h>

struct finalizes;

typedef void finalize_fn(void *arg);

int finalizes_create(struct finalizes **finalizes, struct loop *loop) KEEL_MUST_CHECK;
/* What waits is answered. */
void finalizes_destroy(struct finalizes *finalizes);
/* Has answer called exactly once: now, or on the loop within half a second. since_us: when the
 * rank, a process that leads its group, connected; -1 for pid: not known. */
void finalizes_answer(struct finalizes *finalizes, pid_t pid, uint64_t since_us,
                      finalize_fn *answer, void *arg);

/* Whether a thread of the process waits for a processor, or has one. A process of one thread only
 * waits for another one to end, as a shell does; then all processes of its group are looked at. */
bool process_is_busy(pid_t pid);

#endif
