/* The state of a process or a thread, from its stat file in /proc; see proc(5). */
#ifndef BASE_PROCSTAT_H
#define BASE_PROCSTAT_H

#include <keel/types.h>
#include <stdint.h>
#include <sys/types.h>

struct procstat {
    char state; /* R, S, Z, ... */
    int parent, group;
    unsigned flags;        /* the kernel's PF_ */
    uint64_t start_time;   /* in clock ticks since the machine was started */
    uint64_t cpu_ms;       /* processor time that it has used */
    uint64_t memory_bytes; /* resident */
};

/* thread 0: the process as a whole. False: there is no such process or thread, or no /proc. Any
 * thread may call it. */
bool procstat_read(struct procstat *stat, pid_t process, pid_t thread) KEEL_MUST_CHECK;
/* Has the process ended or begun to? Its descriptors may be closed before its parent is told of the
 * end. True if there is no such process. */
bool process_is_ending(pid_t process);

#endif
