/* The shepherd: a tiny process that starts, watches and ends the processes of one daemon.
 *
 * It is forked first thing in main, before anything is loaded, opened or threaded, so that no fork
 * ever happens in a process with threads. It is the subreaper of all it starts, holds the daemon's
 * lifeline, and when the daemon is gone (an end of file on their socket) it kills every descendant
 * and removes the guarded folders. When the shepherd itself is killed, its children die with it
 * (PR_SET_PDEATHSIG) and the daemon, a subreaper too, ends whatever is left.
 *
 * docs/architecture.md draws the process tree. */
#ifndef LAUNCHER_SHEPHERD_SHEPHERD_H
#define LAUNCHER_SHEPHERD_SHEPHERD_H

#include <base/host/pty.h>
#include <base/loop/loop.h>
#include <keel/types.h>

struct shepherd;

enum proc_kind {
    PROC_RANK,  /* killed at once when the daemon is gone */
    PROC_AGENT, /* starts a daemon elsewhere, or is one: gets 500 ms to end by itself */
    PROC_STEP,  /* an agent that ends its daemons by SIGKILL when it gets SIGTERM: this comes when
                 * they had 300 ms of the 500 to notice that the daemon here is gone */
};

/* What the standard descriptors of a process are: pipes and ptys have their other end in the
 * daemon. Where no pty can be had, it is a pipe. MERGED, of stderr alone: what stdout is. */
enum proc_stdio { STDIO_NULL, STDIO_PIPE, STDIO_INHERIT, STDIO_PTY, STDIO_MERGED };

/* The descriptors that a process may get from the daemon: the standard ones, and RANK_SOCKET, one
 * end of a socket pair, for a program that speaks to its daemon on an inherited descriptor. */
enum { RANK_SOCKET = 3, PROC_FDS };

/* What many processes have in common; sent once. */
struct start_app {
    enum proc_kind kind;
    const char *program; /* a path, already resolved (see program_resolve); NULL: a fork of the
                          * shepherd that calls its entry, with the shepherd's environment */
    char *const *argv;
    char *const *env;
    const char *wdir; /* NULL: the daemon's */
    enum proc_stdio out, err;
    struct window window; /* of ptys */
    bool socket;          /* its processes get RANK_SOCKET */
};
/* One process. */
struct start_proc {
    uint32_t id;      /* the caller's, unique among the living */
    char *const *env; /* NAME=VALUE: replaces or adds to the app's */
    const char *cpus; /* the kernel's numbers, "0,2-5"; NULL: not bound */
    enum proc_stdio in;
};

enum start_stage { START_FORK, START_WDIR, START_BIND, START_EXEC };

struct shepherd_ops {
    /* Exactly one of these for each start; fds (the other ends; -1 where there is none) are
     * non-blocking and the callee's. */
    void (*started)(void *arg, uint32_t id, pid_t pid, int fds[PROC_FDS]);
    void (*failed)(void *arg, uint32_t id, enum start_stage stage, int error);
    /* peak_kib: the most memory that it, or a process that it has waited for, had. */
    void (*exited)(void *arg, uint32_t id, int wait_status, uint32_t peak_kib);
    /* The shepherd has ended without a command, or is stopped after shepherd_must_answer. */
    void (*lost)(void *arg);
    /* It is stopped at the signal that is about to end it (crash.h), until it gets SIGCONT. NULL:
     * it gets that. */
    void (*crashed)(void *arg, uint32_t id);
};

/* Forks the shepherd; returns in the daemon only, which becomes a subreaper. Single-threaded
 * process. 0 or -errno. */
int shepherd_start(struct shepherd **shepherd) KEEL_MUST_CHECK;
/* Also starts processes that are no programs, but call entry and exit with what it returns: what
 * this process has loaded until now need not be loaded again. */
int shepherd_start_with(struct shepherd **shepherd, int (*entry)(void)) KEEL_MUST_CHECK;
/* Delivers events on this loop from now on. */
int shepherd_attach(struct shepherd *shepherd, struct loop *loop, const struct shepherd_ops *ops,
                    void *arg) KEEL_MUST_CHECK;

/* All on the loop. They queue and return; the order is kept. */
void shepherd_define_app(struct shepherd *shepherd, uint32_t app, const struct start_app *spec);
void shepherd_start_proc(struct shepherd *shepherd, uint32_t app, const struct start_proc *proc);
/* To the process and its whole process group. The process need not be started yet. */
void shepherd_signal(struct shepherd *shepherd, uint32_t id, int signal);
/* Of what it starts from now on. */
void shepherd_umask(struct shepherd *shepherd, mode_t mask);
/* What was to be started and has not been yet will not be, but fails with ECANCELED. This
 * overtakes all commands that wait. */
void shepherd_cancel_starts(struct shepherd *shepherd);
/* SIGKILL to every rank that it started, with all their descendants; agents go on. Until all are
 * gone, starts fail with ECANCELED. */
void shepherd_kill_ranks(struct shepherd *shepherd);
/* SIGKILL to every process that it started, with all their descendants; agents and theirs get
 * SIGTERM first and 500 ms. Until all are gone, starts fail with ECANCELED. */
void shepherd_kill_all(struct shepherd *shepherd);
/* From now on, lost is called if the shepherd is stopped (SIGSTOP) and leaves commands unread. */
void shepherd_must_answer(struct shepherd *shepherd);
bool shepherd_is_stopped(const struct shepherd *shepherd);
pid_t shepherd_pid(const struct shepherd *shepherd);
/* A folder to remove, with everything in it, at the end; absolute path, or a pattern of
 * session_remove. Removed without following links, and only if it belongs to this user. It need not
 * be there yet: session_path, guard, session_open leaves no moment in which a kill -9 leaves it
 * behind. Also before attach. */
void shepherd_guard(struct shepherd *shepherd, const char *folder);

/* For `lost`: does what the shepherd cannot do any more. Ends all remaining descendants of the
 * daemon (agents get 500 ms) and removes the guarded folders; blocks for at most two seconds. The
 * shepherd accepts no more commands, but wants its shepherd_end. */
void shepherd_reap_orphans(struct shepherd *shepherd);
/* Kills what still runs, removes the folders, forgets the apps, and drops what has not been told:
 * from now on it may be attached again, for another job. Blocks, at most two seconds; not from
 * within its callbacks. False: it cannot, and wants its shepherd_end. */
bool shepherd_clear(struct shepherd *shepherd) KEEL_MUST_CHECK;
/* Orderly end: kills what still runs, removes the folders, waits for the shepherd's own end (at
 * most two seconds). Not from within its callbacks. NULL is allowed. */
void shepherd_end(struct shepherd *shepherd);

#endif
