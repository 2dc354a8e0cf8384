/* Another process of this node, held so that its pid cannot be mistaken for a later process's. */
#ifndef BTL_SM_PROCESS_H
#define BTL_SM_PROCESS_H

#include <keel/types.h>

struct sm_process {
    pid_t pid;
    uint64_t start_time;
    int pidfd;        /* -1: not opened yet */
    bool gone;        /* once true, always */
    uint64_t seen_ns; /* when it was last seen to be there */
};

/* Field 22 of /proc/PID/stat. NOT_FOUND: no such process, or no such file. */
int sm_process_start_time(pid_t pid, uint64_t *start_time) KEEL_MUST_CHECK;
void sm_process_init(struct sm_process *process, pid_t pid, uint64_t start_time);
/* True when it has ended (also as a zombie), or its pid is another process's by now. The first call
 * opens a descriptor, later ones cost one system call. */
bool sm_process_gone(struct sm_process *process);
/* The same for a copy from or to its memory, by a look of the last millisecond: so soon its pid is
 * nobody else's, and the kernel refuses to copy if it has ended meanwhile. */
bool sm_process_gone_lately(struct sm_process *process);
/* True when the descriptor is held: then the pid means this process until the next call of
 * sm_process_gone says otherwise. */
bool sm_process_held(const struct sm_process *process);
void sm_process_fini(struct sm_process *process);

#endif
