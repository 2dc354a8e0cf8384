/* A standing DVM, to its own files. */
#ifndef LAUNCHER_HEAD_STANDING_PARTS_H
#define LAUNCHER_HEAD_STANDING_PARTS_H

#include <launcher/head/hnp.h>
#include <launcher/head/standing.h>
#include <launcher/request/nodes/node_list.h>
#include <launcher/standing/talk.h>

/* In this order; STOP is that of keel-dvm --stop. ENDED: it has hung up, and not all of its daemons
 * have ended yet. */
enum submission_state { TALKS_NEW, TALKS_WAITS, TALKS_PLANS, TALKS_RUNS, TALKS_STOP, TALKS_ENDED };

/* A keelrun, with its job. */
struct submission {
    struct list link;
    struct standing *standing;
    struct talk talk;
    enum submission_state state;
    struct loop_timer timer; /* in states that do not last */
    uint64_t job;
    uint32_t mask;   /* its umask */
    char **env;      /* owned: its environment */
    uint32_t *slots; /* owned, by node: what it has taken; NULL: nothing yet */
    uint32_t slot_count;
    struct node_list hosts; /* to be added or removed; empty: this is a job */
    bool adds;
    uint32_t *daemons; /* owned: the vpids of the standing daemons that run one for it */
    uint32_t daemon_count;
};

struct standing {
    struct hnp *hnp;
    struct dvm_user user;
    int listener;
    struct loop_io listener_io;
    struct loop_timer pause_timer; /* no descriptor is left: the listener is not watched */
    struct list submissions;
    struct submission *planner; /* of them, TALKS_PLANS; NULL: none */
    struct loop_timer end_timer;
    uint64_t last_job;
    uint32_t *used;        /* owned, by node */
    struct node_set added; /* that are being added */
    bool ending;
};

static inline uint32_t standing_daemon(const struct standing *standing, uint32_t node)
{
    return standing->hnp->daemon_of_node[node];
}

/* It has a daemon, and was not removed. */
bool standing_offers(const struct standing *standing, uint32_t node);

/* standing_hosts.c: nodes that are added and removed */
/* What this keel-dvm asks for, whose turn it is. It is answered when that is done. */
void standing_change(struct submission *submission);
/* Those that were added are there, or lost. */
void standing_grown(struct standing *standing);

#endif
