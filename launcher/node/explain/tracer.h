/* Looks at the stacks of this node's ranks with a debugger, a few at a time, and reports them
 * (REPORT_STACK, then REPORT_TRACED). The debuggers are the shepherd's children, as the ranks are.
 * Each has a deadline, and so have all together. Everything runs on the loop. */
#ifndef LAUNCHER_NODE_TRACER_H
#define LAUNCHER_NODE_TRACER_H

#include <keel/buffer.h>
#include <launcher/shepherd/shepherd.h>

enum { TRACERS_MAX = 4 }; /* at a time */
/* The shepherd's ids of them: between those of ranks and of agents. */
#define TRACER_ID(slot) (0x7fff0000u | (slot))

struct daemon;

struct trace_limits {
    uint64_t each_us, all_us; /* all_us 0: none is looked at */
};

/* What a debugger has to look at a rank. */
uint64_t tracer_each_us(void);
/* Do ranks that crash stop for it? */
bool tracer_wants_crashes(void);
/* The rank is stopped at the signal that is about to end it: a debugger looks at it, and that is
 * reported. It goes on when the HNP says so, which waits for those of other nodes. */
void tracer_crashed(struct daemon *daemon, uint32_t rank);
/* ORDER_CRASHED */
int tracer_release(struct daemon *daemon, opal_buffer_t *buffer) KEEL_MUST_CHECK;
/* Reports that a rank that crashes has no stack. */
void tracer_missed(struct daemon *daemon, uint32_t rank, const char *why);

/* Looks at all ranks that run; one who is not done with an earlier order drops that. */
void tracer_begin(struct daemon *daemon, uint32_t number, struct trace_limits limits);
/* Kills the debuggers; those that wait for their turn are not looked at. */
void tracer_stop(struct daemon *daemon);
void tracer_destroy(struct daemon *daemon);

/* The shepherd's events; false: not of a tracer. */
bool tracer_started(struct daemon *daemon, uint32_t id, const int fds[PROC_FDS]);
bool tracer_failed(struct daemon *daemon, uint32_t id, int error);
bool tracer_exited(struct daemon *daemon, uint32_t id);

#endif
