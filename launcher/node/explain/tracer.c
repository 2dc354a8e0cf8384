#include <config.h>

#include <launcher/node/explain/tracer.h>

#include <base/data/bytes.h>
#include <base/net/sock.h>
#include <base/settings/param.h>
#include <errno.h>
#include <launcher/node/daemon.h>
#include <launcher/node/explain/stacks.h>
#include <launcher/node/service.h>
#include <launcher/shepherd/program.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wireup/proto.h>

static struct param stack_debugger =
    PARAM_STRING("stack_debugger", "gdb",
                 "The gdb, by name or path, that looks at the ranks of a job that hangs");
PARAM_ROWS("launcher", stack_debugger);

#define TRACER_APP 0u /* defined anew for each start, as agents do */
enum {
    OUTPUT_MAX = 1 << 20, /* of a debugger; the rest is dropped */
    READ_BYTES = 65536,
};

enum slot_state {
    SLOT_FREE,
    SLOT_STARTING,
    SLOT_RUNNING,
    SLOT_OPEN,   /* it has ended; its output has not */
    SLOT_CLOSED, /* its output has ended; it has not */
};

struct slot {
    struct tracer *tracer; /* borrowed */
    uint8_t state;
    uint32_t rank, number; /* number: of the order */
    bool killed;           /* it took too long */
    int fd;                /* owned; -1: none */
    struct loop_io io;
    struct loop_timer limit;
    struct blob output;
};

struct tracer {
    struct daemon *daemon; /* borrowed */
    uint32_t number;       /* of the order */
    uint32_t next;         /* the next rank to look at */
    bool told;             /* the order is done */
    char program[PATH_MAX];
    struct trace_limits limits;
    struct loop_timer end;
    struct slot slots[TRACERS_MAX];
};

static void advance(struct tracer *tracer);

static void report(struct daemon *daemon, uint32_t number, uint32_t rank,
                   const struct stacks *stacks, const char *why)
{
    opal_buffer_t *buffer = proto_new(REPORT_STACK, "uusu", number, rank, why, stacks->count);
    for (uint32_t i = 0; buffer && i < stacks->count; i++) {
        const struct stack *stack = &stacks->list[i];
        buffer =
            proto_whole(buffer, proto_pack(buffer, "cs", (uint8_t) stack->main, stack->frames));
    }
    daemon_report(daemon, buffer);
}

/* Nothing of the debugger is left: error: why it was not started, or 0. */
static void settle(struct slot *slot, int error)
{
    struct stacks stacks = {0};
    const char *output = (const char *) slot->output.data;
    char why[256] = "";
    if (error) {
        snprintf(why, sizeof(why), "the debugger is not started: %s", strerror(error));
    } else if (!output || stacks_parse(&stacks, output, slot->output.size) != ORTE_SUCCESS) {
        stacks_why(why, sizeof(why), output ? output : "", slot->output.size);
    }
    if (stacks.count == 0 && slot->killed) {
        snprintf(why, sizeof(why), "the debugger took too long (stack_trace_s, stack_traces_s)");
    }
    report(slot->tracer->daemon, slot->number, slot->rank, &stacks,
           stacks.count > 0 ? ""
           : why[0]         ? why
                            : "the debugger said nothing");
    stacks_fini(&stacks);
    blob_fini(&slot->output);
    loop_timer_stop(&slot->limit);
    slot->state = SLOT_FREE;
    advance(slot->tracer);
}

static void close_output(struct slot *slot)
{
    if (slot->fd >= 0) {
        loop_io_watch(&slot->io, 0);
    }
    fd_close(&slot->fd);
}

static void output_ready(struct loop_io *io, short events)
{
    struct slot *slot = container_of(io, struct slot, io);
    static char scratch[READ_BYTES];
    (void) events;
    ssize_t got = read(slot->fd, scratch, sizeof(scratch));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got > 0) {
        size_t room = OUTPUT_MAX - slot->output.size;
        size_t size = (size_t) got < room ? (size_t) got : room;
        (void) !blob_append(&slot->output, scratch, size);
        return;
    }
    close_output(slot);
    if (slot->state == SLOT_OPEN) {
        settle(slot, 0);
    } else {
        slot->state = SLOT_CLOSED;
    }
}

static void kill_slot(struct slot *slot)
{
    if (slot->state != SLOT_FREE) {
        slot->killed = true;
        shepherd_signal(slot->tracer->daemon->shepherd, TRACER_ID(slot - slot->tracer->slots),
                        SIGKILL);
    }
}

static void too_long(struct loop_timer *timer)
{
    kill_slot(container_of(timer, struct slot, limit));
}

static char words[][32] = {"-q",
                           "-nx",
                           "-batch",
                           "-iex",
                           "set auto-load no",
                           "-ex",
                           "set width 0",
                           "-ex",
                           "set print frame-arguments none",
                           "-ex",
                           "thread apply all bt 64",
                           "-p"};
enum { WORDS = sizeof(words) / sizeof(*words) };

static void start(struct tracer *tracer, struct slot *slot, uint32_t rank, uint32_t pid)
{
    static char locale[] = "LC_ALL=C", terminal[] = "TERM=dumb";
    char *env[] = {locale, terminal, NULL}, *argv[WORDS + 3] = {tracer->program}, process[16];
    snprintf(process, sizeof(process), "%u", pid);
    for (int i = 0; i < WORDS; i++) {
        argv[1 + i] = words[i];
    }
    argv[1 + WORDS] = process;
    struct start_app app = {.kind = PROC_RANK,
                            .program = tracer->program,
                            .argv = argv,
                            .env = env,
                            .out = STDIO_PIPE,
                            .err = STDIO_MERGED};
    struct start_proc proc = {.id = TRACER_ID(slot - tracer->slots), .in = STDIO_NULL};
    slot->state = SLOT_STARTING;
    slot->rank = rank;
    slot->number = tracer->number;
    slot->killed = false;
    loop_timer_start(&slot->limit, tracer->limits.each_us);
    shepherd_define_app(tracer->daemon->shepherd, TRACER_APP, &app);
    shepherd_start_proc(tracer->daemon->shepherd, TRACER_APP, &proc);
}

/* The next rank that has a process; false: none. */
static bool next_rank(struct tracer *tracer, uint32_t *rank, uint32_t *pid)
{
    struct daemon *daemon = tracer->daemon;
    struct doing doing;
    while (tracer->next < daemon->launch.map.size) {
        *rank = tracer->next++;
        if (local_doing(daemon, *rank, &doing) && doing.pid) {
            *pid = doing.pid;
            return true;
        }
    }
    return false;
}

static void tell_done(struct tracer *tracer, const char *why)
{
    tracer->told = true;
    loop_timer_stop(&tracer->end);
    daemon_report(tracer->daemon, proto_new(REPORT_TRACED, "us", tracer->number, why));
}

static void advance(struct tracer *tracer)
{
    bool busy = false;
    uint32_t rank, pid;
    for (int i = 0; i < TRACERS_MAX; i++) {
        struct slot *slot = &tracer->slots[i];
        if (slot->state == SLOT_FREE && next_rank(tracer, &rank, &pid)) {
            start(tracer, slot, rank, pid);
        }
        busy = busy || slot->state != SLOT_FREE;
    }
    if (!busy && !tracer->told) {
        tell_done(tracer, "");
    }
}

static void all_over(struct loop_timer *timer)
{
    struct tracer *tracer = container_of(timer, struct tracer, end);
    const struct stacks none = {0};
    uint32_t rank, pid;
    while (next_rank(tracer, &rank, &pid)) {
        report(tracer->daemon, tracer->number, rank, &none, "there was no time (stack_traces_s)");
    }
    tracer_stop(tracer->daemon);
}

static struct tracer *create(struct daemon *daemon)
{
    struct tracer *tracer = calloc(1, sizeof(*tracer));
    if (tracer) {
        tracer->daemon = daemon;
        loop_timer_init(&tracer->end, daemon->loop, all_over);
    }
    for (int i = 0; tracer && i < TRACERS_MAX; i++) {
        tracer->slots[i].tracer = tracer;
        tracer->slots[i].fd = -1;
        loop_timer_init(&tracer->slots[i].limit, daemon->loop, too_long);
    }
    return tracer;
}

void tracer_begin(struct daemon *daemon, uint32_t number, struct trace_limits limits)
{
    daemon->tracer = daemon->tracer ? daemon->tracer : create(daemon);
    struct tracer *tracer = daemon->tracer;
    if (!tracer) {
        daemon_report(daemon, proto_new(REPORT_TRACED, "us", number, strerror(ENOMEM)));
        return;
    }
    tracer_stop(daemon);
    tracer->number = number;
    tracer->limits = limits;
    tracer->told = false;
    const char *name = param_string(&stack_debugger);
    int found = program_resolve(name, tracer->program, sizeof(tracer->program));
    if (found < 0) {
        char why[PATH_MAX + 64];
        snprintf(why, sizeof(why), "%s: %s (stack_debugger)", name, strerror(-found));
        tell_done(tracer, why);
        return;
    }
    if (shepherd_is_stopped(daemon->shepherd)) {
        tell_done(tracer, "the shepherd that starts debuggers there is stopped");
        return;
    }
    tracer->next = 0;
    loop_timer_start(&tracer->end, limits.all_us);
    advance(tracer);
}

void tracer_stop(struct daemon *daemon)
{
    struct tracer *tracer = daemon->tracer;
    if (tracer) {
        tracer->next = UINT32_MAX;
        loop_timer_stop(&tracer->end);
    }
    for (int i = 0; tracer && i < TRACERS_MAX; i++) {
        kill_slot(&tracer->slots[i]);
    }
}

void tracer_destroy(struct daemon *daemon)
{
    struct tracer *tracer = daemon->tracer;
    if (!tracer) {
        return;
    }
    loop_timer_stop(&tracer->end);
    for (int i = 0; i < TRACERS_MAX; i++) {
        loop_timer_stop(&tracer->slots[i].limit);
        close_output(&tracer->slots[i]);
        blob_fini(&tracer->slots[i].output);
    }
    free(tracer);
    daemon->tracer = NULL;
}

/* --- the shepherd's events --- */

static struct slot *find(const struct daemon *daemon, uint32_t id)
{
    uint32_t slot = id - TRACER_ID(0);
    return daemon->tracer && slot < TRACERS_MAX ? &daemon->tracer->slots[slot] : NULL;
}

bool tracer_started(struct daemon *daemon, uint32_t id, const int fds[PROC_FDS])
{
    struct slot *slot = find(daemon, id);
    if (!slot) {
        return false;
    }
    slot->fd = fds[1];
    slot->state = slot->fd >= 0 ? SLOT_RUNNING : SLOT_CLOSED;
    if (slot->fd >= 0) {
        loop_io_init(&slot->io, daemon->loop, slot->fd, output_ready);
        loop_io_watch(&slot->io, EV_READ);
    }
    return true;
}

bool tracer_failed(struct daemon *daemon, uint32_t id, int error)
{
    struct slot *slot = find(daemon, id);
    if (slot) {
        settle(slot, error);
    }
    return slot != NULL;
}

bool tracer_exited(struct daemon *daemon, uint32_t id)
{
    struct slot *slot = find(daemon, id);
    if (slot && slot->state == SLOT_CLOSED) {
        settle(slot, 0);
    } else if (slot) {
        slot->state = SLOT_OPEN;
    }
    return slot != NULL;
}
