/* Services: what a daemon offers to the programs that it starts besides Keel's own wire-up, so that
 * MPI programs find the process manager that they expect. A service is one operations table, which
 * the program hands to its daemon (launcher/services.c); it sees a job from its start to its end on
 * this node. Everything runs on the loop.
 *
 * What a service may call: daemon_report, daemon_tell, daemon_ask_spawn, local_is_here,
 * local_joined, local_heard and local_broken of daemon.h; the daemon's allgather, rml and loop;
 * daemon->launch for the job and daemon->session for a folder that is removed at the end. */
#ifndef LAUNCHER_NODE_SERVICE_H
#define LAUNCHER_NODE_SERVICE_H

#include <launcher/shepherd/vars.h>
#include <sys/types.h>

enum { SERVICES_MAX = 8 }; /* of a daemon */

struct blob;
struct daemon;
struct spawned;
struct services; /* those of one daemon's job */

/* What a rank does, as far as its daemon can tell. */
struct doing {
    uint32_t pid;      /* 0: not started */
    bool crashed;      /* it has stopped for a debugger, at a signal that is about to end it */
    char what[96];     /* "in ...": a call of Keel's or MPI's */
    uint64_t moved_us; /* when it last said something, or began */
    uint64_t began_us; /* when it was started */
    uint64_t cpu_ms, memory_bytes;
    const struct blob
        *counters; /* borrowed: what it has counted (wireup/look.h); NULL: not known */
};

struct service_ops {
    const char *name;
    bool socket; /* ranks inherit a socket of it as descriptor RANK_SOCKET; at most one service */

    /* daemon->launch is known, no rank was started. *state is passed to the rest. On an error the
     * job runs without this service: only job_end is not called either. */
    int (*job_start)(void **state, struct daemon *daemon, char *reason, size_t reason_size);
    /* Adds what all ranks of a program need, replacing what is there; called once a program. */
    void (*app_vars)(void *state, uint32_t app, struct vars *vars);
    /* Adds what this rank alone needs to an empty list: names that the program's list may hold. */
    void (*rank_vars)(void *state, uint32_t rank, struct vars *vars);
    /* More ranks were added to the job, and are not started yet; app_vars and rank_vars follow.
     * NULL: those that are spawned are not served. */
    int (*spawned)(void *state, const struct spawned *what);
    /* fd: the other end of its socket, non-blocking, the service's; -1: none was asked for, or it
     * was lost. */
    void (*rank_started)(void *state, uint32_t rank, pid_t pid, int fd);
    /* The process has ended: has all that it said been handled? false: not yet; the service calls
     * local_heard once, and rank_ended comes then. NULL: always. */
    bool (*rank_heard)(void *state, uint32_t rank, int wait_status);
    /* The process has ended; what it still said is handled now. Returns the call that should have
     * come before its end ("MPI_Finalize"), a constant: the job has failed then; NULL: none. */
    const char *(*rank_ended)(void *state, uint32_t rank, int wait_status);
    /* What does a rank that runs do? Untouched where the service does not know. NULL: it never
     * does. */
    void (*rank_doing)(void *state, uint32_t rank, struct doing *doing);
    /* Ends whatever is left and frees. Ranks may still be there when the daemon is made to end.
     * False: the process keeps something of it, and is not to serve another job. */
    bool (*job_end)(void *state);
};

/* All of them, in one call each. services_start never fails: what cannot be offered is told. NULL
 * (no memory) offers nothing. */
struct services *services_start(struct daemon *daemon);
int services_spawned(struct services *services, const struct spawned *what) KEEL_MUST_CHECK;
bool services_want_socket(const struct services *services, uint32_t app);
void services_app_vars(struct services *services, uint32_t app, struct vars *vars);
void services_rank_vars(struct services *services, uint32_t rank, struct vars *vars);
void services_rank_started(struct services *services, uint32_t rank, pid_t pid, int fd);
/* How many of them are still to call local_heard. */
uint32_t services_rank_unheard(struct services *services, uint32_t rank, int wait_status);
void services_rank_doing(struct services *services, uint32_t rank, struct doing *doing);
const char *services_rank_ended(struct services *services, uint32_t rank, int wait_status);
bool services_end(struct services *services); /* job_end */

#endif
