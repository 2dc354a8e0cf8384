/* The protocol of the daemon and its shepherd over a stream socketpair.
 *
 * Commands (daemon to shepherd) are frames: a header with the size of the body, and the body.
 * Events (shepherd to daemon) have one fixed size. Both ends are forks of one process, so integers
 * are the host's; sizes and counts are checked nevertheless.
 *
 * Descriptors travel beside events: a write that carries some begins with EVENT_FDS, which has
 * their number, and the events behind it use them up in order. */
#ifndef LAUNCHER_SHEPHERD_SHEPHERD_WIRE_H
#define LAUNCHER_SHEPHERD_SHEPHERD_WIRE_H

#include <base/data/bytes.h>
#include <launcher/shepherd/shepherd.h>

#define COMMAND_BODY_MAX (16u << 20)

/* Commands to the shepherd; those to a daemon are in commands.h. */
enum command_type {
    COMMAND_APP = 1,
    COMMAND_START,
    COMMAND_SIGNAL,
    COMMAND_UMASK,
    COMMAND_KILL_RANKS,
    COMMAND_KILL_ALL,
    COMMAND_GUARD,
    COMMAND_CLEAR,
    COMMAND_END,
    COMMAND_TYPES /* one more than the last */
};

struct command {
    enum command_type type;
    const char *body; /* borrowed from the queue */
    size_t size;
};

enum { EVENT_STARTED = 1, EVENT_FAILED, EVENT_CRASHED, EVENT_EXITED, EVENT_CLEARED, EVENT_FDS };

struct shepherd_event {
    uint32_t type;
    uint32_t id;
    int32_t value;   /* the pid, the errno, the wait status, the number of descriptors, or of
                      * processes that do not end (CLEARED) */
    uint32_t detail; /* STARTED: bit i: descriptor i has another end; FAILED: the stage; EXITED: the
                      * most memory that it had, in KiB */
};

/* An app as the shepherd keeps it: one block of memory. */
struct wire_app {
    uint32_t app;
    enum proc_kind kind;
    enum proc_stdio out, err;
    struct window window;
    bool socket;
    int error;                  /* not 0: it cannot be started, for this reason */
    const char *program, *wdir; /* program NULL: it calls the shepherd's entry */
    char **argv, **env;         /* NULL-ended */
    size_t env_count;
};
/* A process to start; everything is borrowed from the command. */
struct wire_proc {
    uint32_t app, id;
    enum proc_stdio in;
    const char *cpus; /* NULL: not bound */
    uint32_t env_count;
    const char *env; /* this many strings, one behind the other */
};

/* Append a command. ORTE_ERR_OUT_OF_RESOURCE: no memory, nothing was appended. An app or a process
 * whose strings exceed COMMAND_BODY_MAX is replaced by one that fails with E2BIG. */
int command_put_app(struct bytes *to, uint32_t app, const struct start_app *spec) KEEL_MUST_CHECK;
int command_put_start(struct bytes *to, uint32_t app,
                      const struct start_proc *proc) KEEL_MUST_CHECK;
int command_put_signal(struct bytes *to, uint32_t id, int signal) KEEL_MUST_CHECK;
int command_put_umask(struct bytes *to, mode_t mask) KEEL_MUST_CHECK;
int command_put_plain(struct bytes *to, enum command_type type) KEEL_MUST_CHECK;
int command_put_guard(struct bytes *to, const char *folder) KEEL_MUST_CHECK;

/* The next whole command: its size in the queue, 0: not all of it is there, -1: not a command. */
ptrdiff_t command_next(const struct bytes *from, struct command *command) KEEL_MUST_CHECK;
/* ORTE_ERR_BAD_PARAM: not such a command; ORTE_ERR_OUT_OF_RESOURCE. *app is freed with free. */
int command_get_app(const struct command *command, struct wire_app **app) KEEL_MUST_CHECK;
int command_get_start(const struct command *command, struct wire_proc *proc) KEEL_MUST_CHECK;
int command_get_signal(const struct command *command, uint32_t *id, int *signal) KEEL_MUST_CHECK;
int command_get_umask(const struct command *command, mode_t *mask) KEEL_MUST_CHECK;
int command_get_guard(const struct command *command, const char **folder) KEEL_MUST_CHECK;

#endif
