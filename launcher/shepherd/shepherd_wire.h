/* The protocol of the daemon and its shepherd over a stream socketpair.
 *
 * Commands (daemon to shepherd) are messages in frames (wireup/frame.h). Events (shepherd to
 * daemon) have one fixed size; both ends are forks of one process, so their integers are the
 * host's.
 *
 * Descriptors travel beside events: a write that carries some begins with EVENT_FDS, which has
 * their number, and the events behind it use them up in order. */
#ifndef LAUNCHER_SHEPHERD_SHEPHERD_WIRE_H
#define LAUNCHER_SHEPHERD_SHEPHERD_WIRE_H

#include <keel/buffer.h>
#include <launcher/shepherd/shepherd.h>

#define COMMAND_BYTES_MAX (16u << 20)

/* The first byte of a command; the letters say what follows it (wireup/proto.h). */
enum command_type {
    COMMAND_APP = 1,    /* struct wire_app */
    COMMAND_START,      /* struct wire_proc */
    COMMAND_SIGNAL,     /* u id, u signal */
    COMMAND_UMASK,      /* u mask */
    COMMAND_KILL_RANKS, /* - */
    COMMAND_KILL_ALL,   /* - */
    COMMAND_GUARD,      /* s folder */
    COMMAND_CLEAR,      /* - */
    COMMAND_END,        /* - */
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

/* An app as the shepherd keeps it; all of it is owned. */
struct wire_app {
    uint32_t app;
    unsigned kind, out, err; /* enum proc_kind, enum proc_stdio */
    struct window window;
    bool socket;
    uint32_t error;       /* not 0: it cannot be started, for this reason */
    char *program, *wdir; /* NULL as in struct start_app */
    char **argv, **env;
};
/* A process to start; all of it is owned. */
struct wire_proc {
    uint32_t app, id;
    unsigned in; /* enum proc_stdio */
    char *cpus;  /* NULL: not bound */
    char **env;
};

/* NULL: no memory. An app or a process that has more than COMMAND_BYTES_MAX, or too many strings,
 * is replaced by one that fails with E2BIG. */
opal_buffer_t *command_app(uint32_t app, const struct start_app *spec);
opal_buffer_t *command_start(uint32_t app, const struct start_proc *proc);

/* What stands behind the first byte. An error: not such a command, or no memory; nothing is owned.
 */
int command_read_app(opal_buffer_t *buffer, struct wire_app *app) KEEL_MUST_CHECK;
int command_read_start(opal_buffer_t *buffer, struct wire_proc *proc) KEEL_MUST_CHECK;
void wire_app_fini(struct wire_app *app);
void wire_proc_fini(struct wire_proc *proc);

#endif
