/* What keelrun and keeld have in common: one node's part of a job. A daemon follows the HNP's
 * orders (orders.h), starts its ranks through its shepherd (local.c), carries their output (iof.h)
 * and reports. keelrun is the daemon of its own node as well: it orders itself like any other.
 * Everything runs on the loop. */
#ifndef LAUNCHER_NODE_DAEMON_H
#define LAUNCHER_NODE_DAEMON_H

#include <base/data/list.h>
#include <base/host/topo.h>
#include <base/loop/loop.h>
#include <launcher/agent/agent.h>
#include <launcher/node/iof.h>
#include <launcher/node/orders/home.h>
#include <launcher/node/orders/orders.h>
#include <launcher/node/server/allgather.h>
#include <launcher/node/server/server.h>
#include <launcher/shepherd/shepherd.h>
#include <rml/interface/core.h>

#define HNP_VPID 0u
#define DAEMONS_MAX (NODES_MAX + 1u) /* of a job, lost ones included */

enum { LINK_WHY_BYTES = 320 }; /* room for why a link is down */

struct daemon;

struct daemon_config {
    const struct job_identity *job; /* borrowed for the call */
    uint32_t vpid, count, radix;    /* count: daemons, the HNP included */
    const char *node;               /* this node's name */
    const char *hnp_contact;        /* NULL: this is the HNP */
    const struct home *home;        /* borrowed: what this daemon was told; NULL: this is the HNP */
    struct shepherd *shepherd;      /* borrowed */
    struct loop *loop;              /* borrowed */
    /* Borrowed: what is offered to the ranks, ended by NULL; at most SERVICES_MAX (service.h). */
    const struct service_ops *const *service_table;
};

/* What its owner (hnp.c, keeld.c) wants to know. */
struct daemon_ops {
    /* The link to another daemon is up (why NULL) or down; closed: by one of its ends. */
    void (*link)(void *arg, uint32_t vpid, const char *why, bool closed);
    /* Another daemon is silent, or heard again (rml_config.silent). */
    void (*silent)(void *arg, uint32_t vpid, bool is_silent);
    /* The shepherd was killed; this node's processes have been ended. */
    void (*shepherd_lost)(void *arg);
    /* ORDER_EXIT. */
    void (*exit)(void *arg);
    /* May a peer that is neither daemon nor rank be linked? NULL: none may. ORTE_EXISTS: not under
     * this name, which another has. */
    int (*admit)(void *arg, const struct oob_peer *peer);
    /* There is no way to the HNP any more. NULL in the HNP. */
    void (*cut_off)(void *arg);
};

struct local_rank;  /* local.c */
struct service_ops; /* service.h */
struct services;
struct names;     /* name_server.h */
struct onward;    /* onward.h */
struct tracer;    /* tracer.h */
struct explainer; /* explain.c */
struct doing;     /* service.h */

/* Who asks for more ranks. */
struct spawned_watcher {
    struct list link;
    /* The answer to REPORT_SPAWN, perhaps to another's: requests are told apart by their numbers.
     */
    void (*fn)(void *arg, uint64_t request, int status, uint32_t number);
    void *arg;
};

/* How far the local ranks are. */
struct local_progress {
    uint32_t starting, started, living;
    bool launched;                   /* those that the user started; and the HNP knows */
    uint32_t spawns, spawns_settled; /* how often ranks were added; how often the HNP was told */
    bool any_joined;                 /* and the HNP knows */
    uint64_t oom_kills;              /* in this control group, as far as they were looked at */
};

/* Its place among the daemons. */
struct daemon_tree {
    uint32_t count, radix;
    bool homeless; /* the link to the parent is down, and to no other up */
    char homeless_why[LINK_WHY_BYTES];
};

struct node_topology {
    char *text; /* owned; NULL: not asked for, or there is none */
    char *why;  /* owned: why there is none; NULL: it was not asked for */
};

struct spawn_requests {
    struct list watchers; /* struct spawned_watcher, borrowed */
    uint64_t last_number; /* of those that services number */
};

struct daemon {
    orte_process_name_t name;
    struct daemon_tree tree;
    char *node;                /* owned */
    char *session;             /* owned: this daemon's session folder */
    int held;                  /* owned: the lock on that folder (leftovers.h); -1: none */
    char *contact;             /* owned: the unix socket's, for ranks */
    char *hnp_contact;         /* owned; NULL in the HNP */
    struct loop *loop;         /* borrowed */
    struct shepherd *shepherd; /* borrowed */
    struct rml *rml;
    struct server *server;
    struct iof *iof;
    const struct daemon_ops *ops;
    void *arg;
    struct agent_watcher agents; /* of this node's agents */

    struct launch launch;     /* map.size 0: no job yet */
    struct local_rank *ranks; /* owned, by rank; only local ones are used */
    struct local_progress progress;
    const struct service_ops *const *service_table; /* borrowed */
    struct services *services;                      /* owned: of these; NULL: none, or no job yet */
    struct spawn_requests requests;
    struct node_topology topology;
    bool listens;                /* other nodes can link to it */
    const struct home *home;     /* borrowed; NULL in the HNP */
    struct onward *onward;       /* owned: the daemons that this one starts; NULL: none */
    struct hosts *hosts;         /* owned: daemons of other jobs that this one has; NULL: none */
    struct tracer *tracer;       /* owned; NULL until stacks are asked for */
    struct explainer *explainer; /* owned; NULL until it is asked what the ranks do */
    struct names *names;         /* owned: published by ranks */
    struct allgather *allgather; /* owned: between the daemons, for services */
};

/* Opens session folder, RML and unix listener. reason gets the text of an error. */
int daemon_create(struct daemon **daemon, const struct daemon_config *config,
                  const struct daemon_ops *ops, void *arg, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* Opens TCP listeners too, unless they are, and renews the contact string: for daemons that other
 * nodes link to. */
int daemon_listen(struct daemon *daemon, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* Frees; the shepherd, ended or cleared after it, removes the session folder. False: something of
 * its job may be left in this process, which is not to serve another one. */
bool daemon_destroy(struct daemon *daemon);

/* Sends an order to a daemon, or a report to the HNP; takes the buffer, logs a failure. */
int daemon_order(struct daemon *daemon, uint32_t vpid, opal_buffer_t *buffer);
/* To all daemons, this one included, over the tree; takes the buffer, logs a failure. */
int daemon_order_all(struct daemon *daemon, opal_buffer_t *buffer);
void daemon_report(struct daemon *daemon, opal_buffer_t *buffer);
/* A request for more ranks, with a number of daemon->requests.last_number; puts as in struct
 * spawned. The answer goes to all watchers, on the loop; a watcher is borrowed until it is removed
 * from its list. */
int daemon_ask_spawn(struct daemon *daemon, uint64_t request, uint32_t parent, char *const *puts,
                     const struct spawn_wish *wishes, size_t count) KEEL_MUST_CHECK;
void daemon_watch_spawned(struct daemon *daemon, struct spawned_watcher *watcher);
/* It cannot take part in the job: what it could not do, and why (NULL: status says it). */
void daemon_report_unable(struct daemon *daemon, const char *what, const char *reason, int status);
/* A line for the user, printed by keelrun. */
void daemon_tell(struct daemon *daemon, const char *format, ...) KEEL_PRINTF(2, 3);

/* topology.c: reads this node's, once; writes its hash, or "" where it cannot be read. */
void topology_read(struct daemon *daemon, char hash[TOPO_HASH_TEXT]);
int topology_report(struct daemon *daemon, opal_buffer_t *buffer); /* ORDER_TOPOLOGY */

/* local.c */
int local_launch(struct daemon *daemon, struct launch *launch);  /* takes the launch */
int local_spawn(struct daemon *daemon, struct spawned *spawned); /* takes the programs */
/* To every rank that runs, or is about to. SIGKILL: with all that they started. */
void local_signal(struct daemon *daemon, int signal);
void local_resize(struct daemon *daemon, struct window window); /* the ptys */
/* What a rank does; false: it is not here, or has ended. */
bool local_doing(struct daemon *daemon, uint32_t rank, struct doing *doing);
/* Ranks that have stopped in a crash end now. */
void local_continue_crashed(struct daemon *daemon);
/* While allgather and rml are there. False: this process is not to serve another job. */
bool local_end_services(struct daemon *daemon);
void local_destroy(struct daemon *daemon);
bool local_may_link(struct daemon *daemon, const struct oob_peer *peer);
bool local_is_here(const struct daemon *daemon, uint32_t rank);
/* The rank has called this (a constant: "MPI_Init"), which all ranks of a job must when one does.
 */
void local_joined(struct daemon *daemon, uint32_t rank, const char *call);
/* What an ended rank said has been handled, after a service had said no (rank_heard). */
void local_heard(struct daemon *daemon, uint32_t rank);
/* The job cannot go on: reason continues "rank N (program) on node X ...". */
void local_broken(struct daemon *daemon, uint32_t rank, const char *reason);
/* It aborts the job. */
void local_aborted(struct daemon *daemon, uint32_t rank, int status, const char *reason);
/* keel_init and keel_finalize. */
void local_welcomed(struct daemon *daemon, uint32_t rank);
void local_left(struct daemon *daemon, uint32_t rank);
extern const struct shepherd_ops local_shepherd_ops; /* its arg is the daemon */

#endif
