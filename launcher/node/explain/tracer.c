#include <config.h>

#include <launcher/node/explain/tracer.h>

#include <base/data/bytes.h>
#include <base/net/sock.h>
#include <base/settings/param.h>
#include <base/text/sysfile.h>
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

static struct {
    struct param debugger, each, crashes;
} params = {
    .debugger = PARAM_STRING("stack_debugger", "gdb,eu-stack",
                             "What looks at ranks that hang or crash: gdb or eu-stack, by name or "
                             "path; of several the first that is there"),
    .each = PARAM_INT("stack_trace_s", "5", 1, 3600, "s", "What a debugger has to look at a rank"),
    .crashes = PARAM_BOOL("stack_traces", "0",
                          "Ranks that crash stop until debuggers have looked at all that do "
                          "(--stack-traces)"),
};
PARAM_ROWS("launcher", params);

static const char no_time[] = "there was no time (stack_traces_s)";

#define TRACER_APP 0u /* defined anew for each start, as agents do */
enum {
    OUTPUT_MAX = 1 << 20, /* of a debugger; the rest is dropped */
    READ_BYTES = 65536,
    CRASHED_MAX = 64, /* that wait for a debugger */
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
    struct daemon *daemon;                        /* borrowed */
    uint32_t number;                              /* of the order */
    uint32_t next;                                /* the next rank to look at */
    bool told;                                    /* the order is done */
    uint32_t crashed[CRASHED_MAX], crashed_count; /* they come before the order's */
    bool crashing;                                /* one of them has not been looked at ... */
    bool alone;                                   /* ... and other nodes' are not waited for */
    bool cut; /* nor is there time for those that crash meanwhile */
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

void tracer_missed(struct daemon *daemon, uint32_t rank, const char *why)
{
    static const struct stacks none;
    report(daemon, STACK_OF_CRASH, rank, &none, why);
}

/* Why the kernel has refused, if it has. */
static void explain_refusal(const struct slot *slot, char *why, size_t size)
{
    char path[64], status[4096], scope[16];
    struct doing doing = {0};
    int tracer = 0;
    (void) local_doing(slot->tracer->daemon, slot->rank, &doing);
    snprintf(path, sizeof(path), "/proc/%u/status", doing.pid);
    (void) sysfile_text(path, status, sizeof(status));
    (void) sysfile_text("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
    const char *line = strstr(status, "\nTracerPid:");
    if (line) {
        (void) sscanf(line, "\nTracerPid: %d", &tracer);
    }
    stacks_forbidden(why, size, tracer, scope);
}

/* One that was killed meanwhile needs no reason. */
static void report_slot(const struct slot *slot, struct stacks *stacks, const char *why)
{
    struct daemon *daemon = slot->tracer->daemon;
    struct doing doing;
    bool crash = slot->number == STACK_OF_CRASH;
    if (crash) {
        stacks_keep_crashed(stacks);
    }
    if (!crash || stacks->count > 0 || local_doing(daemon, slot->rank, &doing)) {
        report(daemon, slot->number, slot->rank, stacks, stacks->count > 0 ? "" : why);
    }
}

/* The first that ends ends the job: those that have crashed go on when all of them were looked at.
 */
static void let_go(struct tracer *tracer)
{
    bool open = tracer->crashed_count > 0;
    for (int i = 0; i < TRACERS_MAX; i++) {
        const struct slot *slot = &tracer->slots[i];
        open = open || (slot->state != SLOT_FREE && slot->number == STACK_OF_CRASH);
    }
    if (open || !tracer->crashing) {
        return;
    }
    tracer->crashing = tracer->cut = false;
    daemon_report(tracer->daemon, proto_new(REPORT_CRASHES, "c", (uint8_t) 0));
    if (tracer->alone) {
        local_continue_crashed(tracer->daemon);
    }
}

/* Nothing of the debugger is left: error: why it was not started, or 0. */
static void settle(struct slot *slot, int error)
{
    struct stacks stacks = {0};
    const char *output = (const char *) slot->output.data;
    char why[256] = "";
    if (error) {
        snprintf(why, sizeof(why), "the debugger is not started: %s", program_strerror(error));
    } else if (!output || stacks_parse(&stacks, output, slot->output.size) != ORTE_SUCCESS) {
        stacks_why(why, sizeof(why), output ? output : "", slot->output.size);
        explain_refusal(slot, why, sizeof(why));
    }
    if (stacks.count == 0 && slot->killed) {
        snprintf(why, sizeof(why), "the debugger took too long (stack_trace_s, stack_traces_s)");
    }
    report_slot(slot, &stacks, why[0] ? why : "the debugger said nothing");
    stacks_fini(&stacks);
    blob_fini(&slot->output);
    loop_timer_stop(&slot->limit);
    slot->state = SLOT_FREE;
    advance(slot->tracer);
    let_go(slot->tracer); /* also behind an order: one that crashed and waited for it may be gone */
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

enum { WORDS = 12, WORD_BYTES = 32 };
static char gdb_words[WORDS][WORD_BYTES] = {"-q",
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
static char eu_stack_words[WORDS][WORD_BYTES] = {"-m", "-s", "-n", "64", "-p"};

static bool is_eu_stack(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strstr(slash ? slash : program, "eu-stack") != NULL;
}

static void start(struct tracer *tracer, struct slot *slot, uint32_t number, uint32_t rank,
                  uint32_t pid)
{
    static char locale[] = "LC_ALL=C", terminal[] = "TERM=dumb";
    char *env[] = {locale, terminal, NULL}, *argv[WORDS + 3] = {tracer->program}, process[16];
    char(*words)[WORD_BYTES] = is_eu_stack(tracer->program) ? eu_stack_words : gdb_words;
    int count = 1;
    snprintf(process, sizeof(process), "%u", pid);
    for (int i = 0; i < WORDS && words[i][0]; i++) {
        argv[count++] = words[i];
    }
    argv[count] = process;
    struct start_app app = {.kind = PROC_RANK,
                            .program = tracer->program,
                            .argv = argv,
                            .env = env,
                            .out = STDIO_PIPE,
                            .err = STDIO_MERGED};
    struct start_proc proc = {.id = TRACER_ID(slot - tracer->slots), .in = STDIO_NULL};
    slot->state = SLOT_STARTING;
    slot->rank = rank;
    slot->number = number;
    slot->killed = false;
    loop_timer_start(&slot->limit,
                     number == STACK_OF_CRASH ? tracer_each_us() : tracer->limits.each_us);
    shepherd_define_app(tracer->daemon->shepherd, TRACER_APP, &app);
    shepherd_start_proc(tracer->daemon->shepherd, TRACER_APP, &proc);
}

/* The next rank that has a process; false: none. A process has one debugger at a time, and that of
 * one that crashes comes for the crash. */
static bool next_rank(struct tracer *tracer, uint32_t *rank, uint32_t *pid)
{
    static const struct stacks none;
    struct daemon *daemon = tracer->daemon;
    struct doing doing;
    while (tracer->next < daemon->launch.map.size) {
        *rank = tracer->next++;
        if (!local_doing(daemon, *rank, &doing) || !doing.pid) {
            continue;
        }
        *pid = doing.pid;
        if (!doing.crashed) {
            return true;
        }
        report(daemon, tracer->number, *rank, &none, "it has crashed");
    }
    return false;
}

static void tell_done(struct tracer *tracer, const char *why)
{
    tracer->told = true;
    loop_timer_stop(&tracer->end);
    daemon_report(tracer->daemon, proto_new(REPORT_TRACED, "us", tracer->number, why));
}

static bool is_looked_at(const struct tracer *tracer, uint32_t rank)
{
    bool found = false;
    for (int i = 0; i < TRACERS_MAX; i++) {
        found = found || (tracer->slots[i].state != SLOT_FREE && tracer->slots[i].rank == rank);
    }
    return found;
}

/* The next of those that crash; false: none. An order's debugger may look at it still. */
static bool next_crashed(struct tracer *tracer, uint32_t *rank, uint32_t *pid)
{
    struct doing doing;
    uint32_t at = 0;
    bool found = false;
    while (at < tracer->crashed_count && !found) {
        *rank = tracer->crashed[at];
        if (is_looked_at(tracer, *rank)) {
            at++;
            continue;
        }
        tracer->crashed_count--;
        memmove(&tracer->crashed[at], &tracer->crashed[at + 1],
                (tracer->crashed_count - at) * sizeof(*tracer->crashed));
        found = local_doing(tracer->daemon, *rank, &doing);
        *pid = found ? doing.pid : 0;
    }
    return found;
}

static void advance(struct tracer *tracer)
{
    bool busy = false;
    uint32_t rank, pid;
    for (int i = 0; i < TRACERS_MAX; i++) {
        struct slot *slot = &tracer->slots[i];
        if (slot->state == SLOT_FREE && next_crashed(tracer, &rank, &pid)) {
            start(tracer, slot, STACK_OF_CRASH, rank, pid);
        } else if (slot->state == SLOT_FREE && next_rank(tracer, &rank, &pid)) {
            start(tracer, slot, tracer->number, rank, pid);
        }
        busy = busy || (slot->state != SLOT_FREE && slot->number != STACK_OF_CRASH);
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
        report(tracer->daemon, tracer->number, rank, &none, no_time);
    }
    tracer_stop(tracer->daemon);
}

static struct tracer *create(struct daemon *daemon)
{
    struct tracer *tracer = calloc(1, sizeof(*tracer));
    if (tracer) {
        tracer->daemon = daemon;
        tracer->next = UINT32_MAX;
        tracer->told = true;
        loop_timer_init(&tracer->end, daemon->loop, all_over);
    }
    for (int i = 0; tracer && i < TRACERS_MAX; i++) {
        tracer->slots[i].tracer = tracer;
        tracer->slots[i].fd = -1;
        loop_timer_init(&tracer->slots[i].limit, daemon->loop, too_long);
    }
    return tracer;
}

static struct tracer *open_tracer(struct daemon *daemon)
{
    daemon->tracer = daemon->tracer ? daemon->tracer : create(daemon);
    return daemon->tracer;
}

/* The first of those that may be; false: why says why there is none. */
static bool find_debugger(struct tracer *tracer, char *why, size_t size)
{
    const char *given = param_string(&params.debugger), *names = given ? given : "";
    int found = -ENOENT;
    for (const char *at = names; *at && found < 0; at += *at == ',') {
        size_t length = strcspn(at, ",");
        char *name = strndup(at, length);
        found = name ? program_resolve(name, tracer->program, sizeof(tracer->program)) : -ENOMEM;
        free(name);
        at += length;
    }
    snprintf(why, size, "%s: %s (stack_debugger)", names, strerror(-found));
    return found >= 0;
}

uint64_t tracer_each_us(void)
{
    return (uint64_t) param_int(&params.each) * 1000000u;
}

bool tracer_wants_crashes(void)
{
    return param_bool(&params.crashes);
}

static void tell_crashing(struct tracer *tracer)
{
    if (!tracer->crashing) {
        tracer->crashing = true;
        tracer->alone = false;
        daemon_report(tracer->daemon, proto_new(REPORT_CRASHES, "c", (uint8_t) 1));
    }
}

void tracer_crashed(struct daemon *daemon, uint32_t rank)
{
    char why[PATH_MAX + 64] = "there is no memory";
    struct tracer *tracer = open_tracer(daemon);
    if (!tracer || !find_debugger(tracer, why, sizeof(why))) {
        tracer_missed(daemon, rank, why);
        shepherd_signal(daemon->shepherd, rank, SIGCONT);
    } else if (tracer->cut || tracer->crashed_count == CRASHED_MAX) { /* it goes on with others */
        tracer_missed(daemon, rank, tracer->cut ? no_time : "too many ranks crash at a time");
    } else {
        tracer->crashed[tracer->crashed_count++] = rank;
        tell_crashing(tracer);
        advance(tracer);
    }
}

/* Debuggers have no more time for those that crash. */
static void cut_crashes(struct tracer *tracer)
{
    for (; tracer->crashed_count > 0; tracer->crashed_count--) {
        tracer_missed(tracer->daemon, tracer->crashed[tracer->crashed_count - 1], no_time);
    }
    for (int i = 0; i < TRACERS_MAX; i++) {
        if (tracer->slots[i].number == STACK_OF_CRASH) {
            kill_slot(&tracer->slots[i]);
        }
    }
}

int tracer_release(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint8_t cut;
    struct tracer *tracer = daemon->tracer;
    int status = proto_unpack(buffer, "c", &cut);
    if (status != OPAL_SUCCESS || !tracer) {
        return status;
    }
    if (!cut && !tracer->crashing) {
        local_continue_crashed(daemon);
    } else if (!cut) {
        tracer->alone = true;
    } else if (tracer->crashing) {
        tracer->cut = true;
        cut_crashes(tracer);
        let_go(tracer);
    }
    return ORTE_SUCCESS;
}

void tracer_begin(struct daemon *daemon, uint32_t number, struct trace_limits limits)
{
    struct tracer *tracer = open_tracer(daemon);
    char why[PATH_MAX + 64];
    if (!tracer) {
        daemon_report(daemon, proto_new(REPORT_TRACED, "us", number, strerror(ENOMEM)));
        return;
    }
    tracer_stop(daemon);
    tracer->number = number;
    tracer->limits = limits;
    tracer->told = false;
    if (!find_debugger(tracer, why, sizeof(why))) {
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
        if (tracer->slots[i].number != STACK_OF_CRASH) {
            kill_slot(&tracer->slots[i]);
        }
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
