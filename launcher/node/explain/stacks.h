/* What gdb's "thread apply all bt" or eu-stack says of a process, as stacks that can be compared
 * between ranks: without addresses and arguments. Pure. */
#ifndef LAUNCHER_NODE_STACKS_H
#define LAUNCHER_NODE_STACKS_H

#include <keel/types.h>

enum {
    STACKS_MAX = 32,         /* threads of a process that are told */
    STACK_FRAMES_MAX = 64,   /* of a thread */
    STACK_FRAME_BYTES = 256, /* a longer one is cut */
    STACK_BYTES_MAX = STACK_FRAMES_MAX * STACK_FRAME_BYTES,
};

struct stack {
    bool main;    /* of the process's first thread */
    bool crashed; /* it has stopped for the debugger (shepherd/crash.h): frames begin there */
    char *frames; /* owned: "FUNCTION at FILE:LINE" or "FUNCTION from LIBRARY", the innermost first,
                   * each with its newline */
};

struct stacks {
    struct stack list[STACKS_MAX];
    uint32_t count;
};

/* No thread with a frame: ORTE_ERR_NOT_FOUND, and stacks are empty. */
int stacks_parse(struct stacks *stacks, const char *text, size_t size) KEEL_MUST_CHECK;
/* The one that has crashed alone, if there is one. */
void stacks_keep_crashed(struct stacks *stacks);
void stacks_fini(struct stacks *stacks);
/* Why there is none: the line that says that the kernel refused, else the last one; "" for none. */
void stacks_why(char *why, size_t why_size, const char *text, size_t size);
/* Puts the kernel's reason in place of a refusal. tracer: the process that traces it, 0: none;
 * scope: what kernel.yama.ptrace_scope is, "" where there is no Yama. */
void stacks_forbidden(char *why, size_t size, int tracer, const char *scope);

#endif
