/* What the files of the daemon's side share: server.c, fence.c, ask.c. */
#ifndef LAUNCHER_NODE_SERVER_SERVER_INTERNAL_H
#define LAUNCHER_NODE_SERVER_SERVER_INTERNAL_H

#include <base/data/list.h>
#include <launcher/node/server/allgather.h>
#include <launcher/node/server/server.h>
#include <wireup/cards.h>
#include <wireup/proto.h>

enum rank_state { RANK_EXPECTED, RANK_JOINED, RANK_LEFT, RANK_GONE };

struct local_rank {
    enum rank_state state;
    struct blob cards;   /* published by fences that do not collect, for those who ask */
    uint32_t next_fence; /* the operation that its next fence is */
    uint64_t moved_us;   /* when it last said something here, or was told that a fence is passed */
    bool committed;      /* a first fence has published its cards */
    bool stranger;       /* it ended without having joined: no Keel program, or too early */
    bool looking;        /* it was asked what it does, and has not answered */
    char *waits;         /* owned: what it has answered; NULL: it has not */
    struct blob counters;
};

struct job {
    struct list link;
    struct job_map map;
    struct local_rank *ranks; /* owned, by rank; only local ones are used */
    uint32_t local_count;
    uint32_t *daemons;  /* owned, by rank */
    int fence_status;   /* the failure of an earlier fence */
    struct list fences; /* under way */
    uint32_t look;      /* the number of the last question */
    struct list asks;   /* for ranks of mine that have not published yet */
};

struct server {
    struct rml *rml;             /* borrowed */
    struct allgather *allgather; /* borrowed */
    uint32_t daemon;
    const struct server_ops *ops; /* borrowed */
    void *arg;
    struct list jobs;
    struct list early;
    unsigned early_count;
};

struct job *server_find_job(struct server *server, orte_jobid_t jobid);
bool job_is_local(const struct server *server, const struct job *job, uint32_t rank);
/* Send as rml_give does, and log a failure. */
int server_send_rank(struct server *server, orte_process_name_t rank, opal_buffer_t *buffer);
/* To a daemon of the family that jobid belongs to. */
int server_send_daemon(struct server *server, orte_jobid_t jobid, uint32_t vpid, orte_rml_tag_t tag,
                       opal_buffer_t *buffer);
/* Keeps a daemon's message about a job that is not known yet; true: kept, *buffer is NULL. */
bool server_keep_early(struct server *server, orte_jobid_t jobid, const struct rml_info *info,
                       opal_buffer_t **buffer);

/* fence.c: fences between all daemons of a job, with the cards that they collect. early: the rank
 * had joined and did not leave. */
int fence_from_rank(struct server *server, struct job *job, uint32_t rank, opal_buffer_t *buffer);
void fence_rank_gone(struct server *server, struct job *job, uint32_t rank, bool early);
/* Ranks of elsewhere are lost: no fence that is not passed can be. */
void fence_ranks_lost(struct job *job);
/* Other daemons have begun the operation with this key, or it has failed. */
void fence_begun(struct server *server, const char *key);
/* Has the rank come to a fence that is not passed? */
bool fence_holds(struct job *job, uint32_t rank, uint32_t *operation);
void fence_drop_all(struct server *server, struct job *job);

/* rank_look.c: what ranks do. */
int look_from_rank(struct server *server, struct job *job, uint32_t rank, opal_buffer_t *buffer);
void look_rank_gone(struct server *server, struct job *job, uint32_t rank);

/* ask.c: cards on demand. */
int ask_from_rank(struct server *server, struct job *job, uint32_t rank, opal_buffer_t *buffer);
int ask_from_daemon(struct server *server, const struct rml_info *info, opal_buffer_t **buffer);
int ask_answered(struct server *server, opal_buffer_t *buffer);
void ask_rank_committed(struct server *server, struct job *job, uint32_t rank);
void ask_rank_gone(struct server *server, struct job *job, uint32_t rank);
void ask_drop_all(struct job *job);

#endif
