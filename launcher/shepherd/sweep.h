/* Ends the children of this process: the means by which a subreaper leaves nothing behind. A
 * child's orphans become this process's children in their turn, so killing and reaping until there
 * is no child left ends all descendants, whatever sessions and process groups they made for
 * themselves.
 *
 * A child that is not yet reaped keeps its pid, so no stranger is ever hit; nobody else may reap.
 */
#ifndef LAUNCHER_SHEPHERD_SWEEP_H
#define LAUNCHER_SHEPHERD_SWEEP_H

#include <keel/types.h>

/* The children of all threads of this process, at most max; more than that, some of them. */
size_t sweep_children(pid_t *pids, size_t max);
/* What a shepherd calls itself. One that is an orphan is busy ending what its daemon left. */
#define SHEPHERD_NAME "keel-shepherd"

/* SIGKILL to every child but the spared (and, if so asked, shepherds), and to the process group
 * that it leads. Returns how many children there are but the spared, ended ones and shepherds
 * included. */
size_t sweep_kill(const pid_t *spared, size_t count, bool spare_shepherds);
/* SIGKILL to every process that was started with this string, NAME=VALUE, in its environment, as
 * far as this user may read that. */
void sweep_marked(const char *variable);
/* Reaps every child but the spared, and kills them from kill_us (clock_us) on, again and again
 * until none is left; shepherds get 500 ms more. The time until the deadline begins anew when a
 * child ends, because many take long on a busy machine, but the whole is at most five times as
 * long. False: some are left after that. */
bool sweep_until(const pid_t *spared, size_t count, uint64_t kill_us, uint64_t deadline_us);

#endif
