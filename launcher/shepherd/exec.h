/* One process: from a exec_plan to a running program. Only for a process without threads. */
#ifndef LAUNCHER_SHEPHERD_EXEC_H
#define LAUNCHER_SHEPHERD_EXEC_H

#include <launcher/shepherd/shepherd.h>
#include <sched.h>

struct exec_plan {
    const char *program; /* NULL: entry */
    int (*entry)(void);  /* what a fork of this process calls, with the parent's environment */
    const char *wdir;    /* NULL: the parent's */
    char *const *argv, *const *env;
    const cpu_set_t *cpus; /* of cpus_size bytes; NULL: not bound */
    size_t cpus_size;
    int fds[PROC_FDS]; /* become 0, 1, 2 and RANK_SOCKET; above that, close-on-exec, and closed for
                        * entry. -1: the parent's own, or no socket */
    bool traceable;    /* its parent, and what that starts, may trace it under Yama, too */
    int death_signal;  /* what it gets when its parent is gone */
};
struct exec_error {
    enum start_stage stage;
    int error; /* 0: none */
};

/* Starts it as the leader of a session and a process group of its own, with every signal at its
 * default and none blocked (the caller has no handlers installed). Returns the pid when the program
 * runs; else -1 with the reason, and nothing is left. */
pid_t exec_process(const struct exec_plan *plan, struct exec_error *error) KEEL_MUST_CHECK;

#endif
