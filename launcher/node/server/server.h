/* The daemon's side of wire-up: welcomes ranks, collects modex and fences over the daemons' tree,
 * fetches cards on demand. One struct server a daemon; everything on the loop. */
#ifndef LAUNCHER_NODE_SERVER_SERVER_H
#define LAUNCHER_NODE_SERVER_SERVER_H

#include <base/data/bytes.h>
#include <launcher/node/server/allgather.h>
#include <rml/interface/core.h>
#include <wireup/job_map.h>

struct server;

struct server_ops {
    /* A local rank said hello (keel_init) or goodbye (keel_finalize), or called keel_abort. */
    void (*joined)(void *arg, const orte_process_name_t *rank);
    void (*left)(void *arg, const orte_process_name_t *rank);
    void (*abort)(void *arg, const orte_process_name_t *rank, int status, const char *reason);
    /* It has answered server_look, or will not. */
    void (*looked)(void *arg);
};

/* What a rank does, as far as is known here. */
struct server_view {
    bool in_fence;
    uint32_t operation;          /* of that */
    uint64_t moved_us;           /* when it last said something, or passed a fence; 0: never */
    const char *waits;           /* borrowed: what it said that it waits in; "": nothing, or it did
                                  * not say */
    const struct blob *counters; /* borrowed: what it said of them (wireup/look.h) */
};

/* daemon: my vpid. Installs its handlers on rml; fences go over allgather, which outlives it. */
int server_create(struct server **server, struct rml *rml, struct allgather *allgather,
                  uint32_t daemon, const struct server_ops *ops, void *arg) KEEL_MUST_CHECK;
void server_destroy(struct server *server);
/* Takes a copy of the map; ranks of this job may be served from now on. Messages that other daemons
 * sent about the job earlier are kept (bounded) and handled now. */
int server_add_job(struct server *server, const struct job_map *map) KEEL_MUST_CHECK;
/* The rank is gone: fences that wait for it fail everywhere with ORTE_ERR_COMM_FAILURE. */
void server_rank_gone(struct server *server, const orte_process_name_t *rank);
/* Asks all local ranks of a job that have joined what they do: those that are inside Keel answer.
 * What they said before is forgotten. */
void server_look(struct server *server, orte_jobid_t job);
/* How many of them have not answered yet. */
uint32_t server_looks(struct server *server, orte_jobid_t job);
/* False: the rank is not here. */
bool server_view(struct server *server, const orte_process_name_t *rank, struct server_view *view);
/* This daemon is lost, and its ranks: the same. After allgather_daemon_lost. */
void server_daemon_lost(struct server *server, uint32_t vpid);
/* Ranks of anywhere have failed, and the job goes on: the local ones are told. */
void server_ranks_ended(struct server *server, orte_jobid_t job, const uint32_t *ranks,
                        uint32_t count);

#endif
