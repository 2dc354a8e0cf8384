/* keelrun's side of the talk with a standing DVM: which nodes there are, and the start of its job's
 * daemons on them. */
#ifndef LAUNCHER_STANDING_SUBMITTER_H
#define LAUNCHER_STANDING_SUBMITTER_H

#include <base/loop/loop.h>
#include <keel/types.h>
#include <launcher/standing/talk.h>

struct submitter;

struct standing_node {
    char *name;           /* owned */
    uint32_t slots, used; /* slots 0: its daemon is lost */
};

/* On the loop. */
struct submitter_ops {
    /* A daemon of the job has written this line to its standard error. */
    void (*said)(void *arg, const char *line);
    /* A daemon of the job does not run. */
    void (*unstarted)(void *arg, uint32_t vpid, const char *why);
    /* There is no DVM any more. Once. */
    void (*over)(void *arg, const char *why);
};

/* Connects to the DVM of a URI file, and waits for this job's turn to be planned: other keelruns
 * that plan at the moment come first. Blocks, at most for ten minutes; signals that end the process
 * do so meanwhile. limit_s: what the job may wait; 0: as long as that. ORTE_ERR_TIMEOUT: this is
 * over. */
int submitter_open(struct submitter **submitter, const char *file, uint32_t limit_s, char *reason,
                   size_t reason_size) KEEL_MUST_CHECK;
void submitter_close(struct submitter *submitter);
/* Borrowed. */
const struct standing_node *submitter_nodes(const struct submitter *submitter, uint32_t *count);
void submitter_serve(struct submitter *submitter, struct loop *loop,
                     const struct submitter_ops *ops, void *arg);
/* The job takes so many slots of each node; others may plan theirs. False: no memory. */
bool submitter_take(struct submitter *submitter, const uint32_t *slots) KEEL_MUST_CHECK;
/* Has a daemon started: on this node, told this text. A failure comes by unstarted. */
bool submitter_start(struct submitter *submitter, uint32_t vpid, const char *node, const char *text,
                     size_t size) KEEL_MUST_CHECK;

/* keel-dvm --add-host, --add-hostfile, --remove-host: has the DVM of a URI file change, and waits
 * until it has. */
int submitter_change(const char *file, enum talk_change change, const char *hosts,
                     uint64_t limit_us, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* keel-dvm --stop: has the DVM of a URI file end, and waits until it has. */
int submitter_stop(const char *file, uint64_t limit_us, char *reason,
                   size_t reason_size) KEEL_MUST_CHECK;

#endif
