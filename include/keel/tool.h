/* Jobs from outside: which ones of this user's there are on this host, and, for a tool (a process
 * that has joined a job by keel_options.contact), what its nodes and ranks do. keel-ps(1) prints
 * it. */
#ifndef KEEL_TOOL_H
#define KEEL_TOOL_H

#include <keel/types.h>

BEGIN_C_DECLS

enum keel_job_place {
    KEEL_JOB_HERE,      /* its keelrun runs on this host */
    KEEL_JOB_ELSEWHERE, /* a daemon of it runs here, its keelrun on another host */
    KEEL_JOB_LEFT       /* nothing of it runs here: it was killed, and has left a session folder */
};
struct keel_job {
    const char *id; /* 32 hex digits */
    enum keel_job_place place;
    const char *contact; /* HERE: for keel_options.contact; else NULL */
};
typedef void (*keel_job_fn)(void *arg, const struct keel_job *job);
/* Visits this user's jobs by their session folders: those of keelruns with the same XDG_RUNTIME_DIR
 * and TMPDIR as this process. Asks nobody, changes nothing, needs no keel_init. What visit is given
 * ends with its call. Any thread, while no other changes the environment. */
void keel_jobs_each(keel_job_fn visit, void *arg) KEEL_EXPORT;

struct keel_job_state {
    uint32_t number; /* among those of its keelrun, from 1 on */
    const char *id;
    const char *phase;   /* "running", ... */
    const char *program; /* the first, as it was named */
    uint32_t pid;        /* of keelrun */
    uint64_t age_ms;     /* since it was submitted */
    uint32_t rank_count; /* 0: they are not mapped yet */
};
struct keel_node_state {
    uint32_t number; /* among those of its keelrun; 0 is keelrun's own node */
    const char *name;
    const char *state; /* "answers", "does not answer", "starting", "lost", ... */
    uint32_t pid;      /* of its daemon; 0: not known */
};
/* What a rank has counted; keel_tool_look(3) has the names. */
struct keel_counter {
    const char *name;
    uint64_t value;
};
struct keel_rank_state {
    uint32_t rank;
    uint32_t node;
    uint32_t pid;          /* 0: there is no process */
    const char *state;     /* in words: "running, after keel_init", "in fence 3", ... */
    uint64_t still_ms;     /* it has not moved on for so long, as far as its daemon can tell */
    uint64_t age_ms;       /* since it was started */
    uint64_t cpu_ms;       /* processor time that it has used */
    uint64_t memory_bytes; /* its resident memory */
    const struct keel_counter *counters;
    size_t counter_count; /* 0: it was not inside Keel when it was asked, or is no Keel program */
};
struct keel_look {
    void (*job)(void *arg, const struct keel_job_state *job);
    void (*node)(void *arg, const struct keel_node_state *node);
    void (*rank)(void *arg, const struct keel_rank_state *rank); /* those that are known of */
    /* With stacks: what keelrun prints on SIGQUIT. */
    void (*line)(void *arg, const char *line);
};
/* A tool asks keelrun for what its job does, and gives it to look: the job, its nodes, its ranks by
 * number, then lines. What look is given ends with its call. stacks: debuggers look at the ranks,
 * which takes some seconds; the job goes on. Blocks for at most timeout_ms, running callbacks; one
 * thread at a time. On an error nothing was called. ORTE_ERR_NOT_SUPPORTED: this is no tool;
 * ORTE_ERR_TIMEOUT; ORTE_ERR_COMM_FAILURE: keelrun has ended. */
int keel_tool_look(bool stacks, uint32_t timeout_ms, const struct keel_look *look,
                   void *arg) KEEL_EXPORT;

END_C_DECLS
#endif
