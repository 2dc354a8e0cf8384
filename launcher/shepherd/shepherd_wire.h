/* The protocol of the daemon and its shepherd over a stream socketpair.
 *
 * Orders (daemon to shepherd) are frames: a header with the size of the body, and the body. Events
 * (shepherd to daemon) have one fixed size. Both ends are forks of one process, so integers are the
 * host's; sizes and counts are checked nevertheless.
 *
 * Descriptors travel beside events: a write that carries some begins with EVENT_FDS, which has
 * their number, and the events behind it use them up in order. */
#ifndef LAUNCHER_SHEPHERD_SHEPHERD_WIRE_H
#define LAUNCHER_SHEPHERD_SHEPHERD_WIRE_H

#include <base/bytes.h>
#include <launcher/shepherd/shepherd.h>

#define ORDER_BODY_MAX (16u << 20)

/* Orders to the shepherd; those to a daemon are in orders.h. */
enum order_type {
    HERD_APP = 1,
    HERD_SPAWN,
    HERD_SIGNAL,
    HERD_KILL_RANKS,
    HERD_KILL_ALL,
    HERD_GUARD,
    HERD_END,
    HERD_TYPES /* one more than the last */
};

struct order {
    enum order_type type;
    const char *body; /* borrowed from the queue */
    size_t size;
};

enum { EVENT_STARTED = 1, EVENT_FAILED, EVENT_EXITED, EVENT_FDS };

struct spawn_event {
    uint32_t type;
    uint32_t id;
    int32_t value;   /* the pid, the errno, the wait status, or the number of descriptors */
    uint32_t detail; /* STARTED: bit i: descriptor i has another end; FAILED: the stage */
};

/* An app as the shepherd keeps it: one block of memory. */
struct wire_app {
    uint32_t app;
    enum spawn_kind kind;
    enum spawn_stdio out, err;
    struct window window;
    bool socket;
    int error; /* not 0: it cannot be started, for this reason */
    const char *program, *wdir;
    char **argv, **env; /* NULL-ended */
    size_t env_count;
};
/* A process to start; everything is borrowed from the order. */
struct wire_proc {
    uint32_t app, id;
    enum spawn_stdio in;
    bool bound;
    cpu_set_t cpus;
    uint32_t env_count;
    const char *env; /* this many strings, one behind the other */
};

/* Append an order. ORTE_ERR_OUT_OF_RESOURCE: no memory, nothing was appended. An app or a process
 * whose strings exceed ORDER_BODY_MAX is replaced by one that fails with E2BIG. */
int order_put_app(struct bytes *to, uint32_t app, const struct spawn_app *spec) KEEL_MUST_CHECK;
int order_put_spawn(struct bytes *to, uint32_t app, const struct spawn_proc *proc) KEEL_MUST_CHECK;
int order_put_signal(struct bytes *to, uint32_t id, int signal) KEEL_MUST_CHECK;
int order_put_plain(struct bytes *to, enum order_type type) KEEL_MUST_CHECK;
int order_put_guard(struct bytes *to, const char *folder) KEEL_MUST_CHECK;

/* The next whole order: its size in the queue, 0: not all of it is there, -1: not an order. */
ptrdiff_t order_next(const struct bytes *from, struct order *order) KEEL_MUST_CHECK;
/* ORTE_ERR_BAD_PARAM: not such an order; ORTE_ERR_OUT_OF_RESOURCE. *app is freed with free. */
int order_get_app(const struct order *order, struct wire_app **app) KEEL_MUST_CHECK;
int order_get_spawn(const struct order *order, struct wire_proc *proc) KEEL_MUST_CHECK;
int order_get_signal(const struct order *order, uint32_t *id, int *signal) KEEL_MUST_CHECK;
int order_get_guard(const struct order *order, const char **folder) KEEL_MUST_CHECK;

#endif
