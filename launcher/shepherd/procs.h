/* The processes that a shepherd has started, as long as they live, and their end. All children of
 * the calling process are taken for theirs, or for what they left behind. */
#ifndef LAUNCHER_SHEPHERD_PROCS_H
#define LAUNCHER_SHEPHERD_PROCS_H

#include <launcher/shepherd/shepherd.h>

struct proc {
    pid_t pid;
    uint32_t id;
    enum proc_kind kind;
};

/* What is to end; each includes the one before. */
enum killing { KILL_NOBODY, KILL_RANKS, KILL_ALL };

/* All zero: none. */
struct procs {
    struct proc *list; /* owned */
    size_t count;
    enum killing killing;     /* until nothing of it is left */
    uint64_t kill_started_us; /* clock_us */
    bool steps_signalled;     /* since then */
};

/* Room for one more. False: no memory. */
bool procs_reserve(struct procs *procs) KEEL_MUST_CHECK;
/* There is room. */
void procs_add(struct procs *procs, struct proc proc);
/* False: it is none of these. */
bool procs_find(const struct procs *procs, pid_t pid, uint32_t *id);
/* It was reaped. False: it is none of these. */
bool procs_remove(struct procs *procs, pid_t pid, uint32_t *id);
/* To the process with this id and its group. */
void procs_signal(const struct procs *procs, uint32_t id, int signal);

/* Begins to end them: ranks by SIGKILL, agents by SIGTERM first. No-op if as much is under way. */
void procs_kill(struct procs *procs, enum killing killing);
/* Goes on with it, until killing is KILL_NOBODY: every few milliseconds. */
void procs_kill_step(struct procs *procs);

#endif
