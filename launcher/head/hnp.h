/* The HNP (head node process): takes a job from the front end and sees it through. It maps the
 * ranks, starts the other nodes' daemons and wires them up (hnp_daemons.c), orders the launch
 * (hnp_launch.c), follows the ranks, decides how the job ends (hnp_end.c), and passes stdio between
 * daemons and front end (hnp_stdio.c). Everything runs on the loop.
 *
 *   idle -> daemons (-> topologies) -> wiring -> launching -> running -> draining -> done
 *
 * Every phase has a deadline or ends with its processes. */
#ifndef LAUNCHER_HEAD_HNP_H
#define LAUNCHER_HEAD_HNP_H

#include <launcher/front/channel.h>
#include <launcher/head/tools.h>
#include <launcher/map/plan.h>
#include <launcher/node/daemon.h>
#include <launcher/plm/plm.h>

enum phase {
    PHASE_IDLE,
    PHASE_DAEMONS,    /* agents are started; their daemons are to call home */
    PHASE_TOPOLOGIES, /* daemons tell what processors their nodes have */
    PHASE_WIRING,     /* daemons deeper in the tree link to their parents */
    PHASE_LAUNCHING,  /* the launch was ordered; ranks may run already */
    PHASE_RUNNING,
    PHASE_DRAINING, /* all ranks have ended; the last output comes */
    PHASE_DONE,
};

enum peer_state { PEER_STARTING, PEER_HOME, PEER_WIRED, PEER_LAUNCHED, PEER_DRAINED, PEER_LOST };

/* A daemon, by vpid; the first is this process. */
struct peer {
    enum peer_state state;
    char *node;                    /* owned: the node's name; keelrun's own may have no ranks */
    char *user;                    /* owned: whom the agent is to log in as; NULL: its choice */
    char *contact;                 /* owned; NULL until it calls home */
    uint64_t homeless_until;       /* its parent was lost: when it is lost as well; 0: it has one */
    char topology[TOPO_HASH_TEXT]; /* its hash; "": not asked for, or not known */
    int32_t signal;                /* that ends it, where it could say so; else 0 */
    char *slurm_said;     /* owned: how it has ended, before Slurm ended others; else NULL */
    char *untold_why;     /* owned: it is lost, and why its links broke; NULL: the user knows */
    bool silent;          /* it does not answer ... */
    bool told_silent;     /* ... and the user knows, but not yet that it answers again */
    bool takes_input;     /* ranks of its get standard input ... */
    uint64_t input_taken; /* ... and have taken so many bytes */
};

struct hnp_timers {
    struct loop_timer start, limit, grace, drain, step, repair, silence;
};

/* WAITING: for the ranks that get it; CLOSED: they take no more. */
enum input_state { INPUT_WAITING, INPUT_OPEN, INPUT_CLOSED };

/* Standard input on its way to the ranks that get it. */
struct hnp_input {
    enum input_state state;
    uint64_t given, credited; /* bytes that the front end has read, and may read again */
};

/* How the job ends. */
struct hnp_end {
    bool failing; /* the job is being ended; the first reason counts */
    int exit_code;
    unsigned interrupts; /* SIGINT, SIGTERM and SIGHUP so far */
    bool kill_ordered;
    uint32_t unkilled; /* ranks that had not ended when the timer after the kill last began */
    bool finished;     /* the front end was told to end */
    bool output_lost;  /* some of it, for want of memory */
    uint32_t untold;   /* daemons that are lost while Slurm may yet say why; the job goes on */
};

/* Either all ranks join the job or none does. */
struct hnp_joining {
    char *call;        /* owned: the call by which some rank joined; NULL: none has */
    uint32_t stranger; /* a rank that ended without joining; UINT32_MAX: none */
};

struct hnp {
    struct loop *loop; /* borrowed, as are the next three */
    struct shepherd *shepherd;
    struct channel_end *front;
    const struct service_ops *const *service_table;
    enum phase phase;
    struct run_request request;
    struct allocation allocation; /* the resource manager's; without nodes: none, or not used */
    struct job_plan plan;
    bool mapped;            /* the plan has ranks */
    struct list topologies; /* struct topology of hnp_plan.c */
    struct plm plm;
    struct daemon *daemon; /* NULL until a job is submitted */
    struct tools *tools;   /* likewise, and owned */
    bool uri_written;      /* to a file, removed at the end */
    char uuid[JOB_UUID_TEXT];
    orte_jobid_t family;
    uint8_t control_key[KEY_BYTES];

    struct peer *peers; /* owned, by vpid */
    uint32_t peer_count;
    uint32_t *daemon_of_node; /* owned */
    bool *ended;              /* owned, by rank */
    uint32_t unended;         /* ranks that have not ended */

    struct hnp_joining joining;
    struct list spawns; /* struct spawn_request of hnp_spawn.c */
    uint32_t spawn_count;

    struct hnp_input input;
    struct hnp_end end;
    struct hnp_timers timers;
    uint64_t held;            /* bit N: signal N, for ranks that do not exist yet */
    uint64_t silence_told_us; /* when the user was told of silent daemons last; 0: never */
    bool tree_stands;         /* all daemons are linked to their parents */
};

/* service_table: as in struct daemon_config. */
int hnp_create(struct hnp **hnp, struct loop *loop, struct shepherd *shepherd,
               const struct service_ops *const *service_table,
               struct channel_end *front) KEEL_MUST_CHECK;
void hnp_destroy(struct hnp *hnp);

/* hnp.c */
void hnp_enter(struct hnp *hnp, enum phase phase);
void hnp_check_launched(struct hnp *hnp);           /* have all daemons started their ranks? */
void hnp_order_all(struct hnp *hnp, uint8_t order); /* one without a body, to every living daemon */
/* The same with one, once the tree stands; takes the buffer. */
int hnp_broadcast(struct hnp *hnp, opal_buffer_t *order);
void hnp_tell(struct hnp *hnp, const char *format, ...) KEEL_PRINTF(2, 3);
/* Can it be sent to? */
bool hnp_peer_lives(const struct hnp *hnp, uint32_t vpid);
/* Has every daemon that is not lost reached this state? */
bool hnp_peers_reached(const struct hnp *hnp, enum peer_state state);
/* The nodes whose daemons have not, in short; malloc'd, NULL: no memory. count: how many. */
char *hnp_nodes_before(const struct hnp *hnp, enum peer_state state, uint32_t *count);

/* hnp_daemons.c */
void hnp_daemons_init(struct hnp *hnp);
void hnp_start_daemons(struct hnp *hnp);
void hnp_home(struct hnp *hnp, uint32_t vpid, char *contact);                /* takes the contact */
int hnp_unstarted(struct hnp *hnp, uint32_t starter, opal_buffer_t *buffer); /* REPORT_UNSTARTED */

void hnp_wire(struct hnp *hnp); /* the next phase: the tree */

/* hnp_plan.c */
/* The nodes, and the ranks' places, unless other nodes have to tell their topologies first. */
int hnp_plan(struct hnp *hnp, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* All daemons are home: the ranks are mapped when it is known what is needed. */
void hnp_ask_topologies(struct hnp *hnp);
int hnp_take_topology(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer);
void hnp_plan_fini(struct hnp *hnp);

/* hnp_launch.c */
void hnp_launch(struct hnp *hnp);
uint64_t hnp_launch_limit_us(void); /* what daemons have to start ranks */

/* hnp_uri.c: --report-uri */
int hnp_report_uri(struct hnp *hnp, char *reason, size_t reason_size) KEEL_MUST_CHECK;
void hnp_remove_uri(struct hnp *hnp);

/* hnp_spawn.c: REPORT_SPAWN and REPORT_SPAWNED */
int hnp_spawn(struct hnp *hnp, uint32_t asker, opal_buffer_t *buffer);
int hnp_spawned(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer);
/* A daemon is lost: what waits for its part fails. */
void hnp_spawn_lost(struct hnp *hnp, uint32_t vpid);
void hnp_spawn_fini(struct hnp *hnp);

/* hnp_end.c */
void hnp_end_dry(struct hnp *hnp); /* nothing was to be started */
/* The job has failed: the first call decides code and text. */
void hnp_fail(struct hnp *hnp, int exit_code, const char *format, ...) KEEL_PRINTF(3, 4);
void hnp_rank_failed(struct hnp *hnp, uint32_t rank, uint8_t stage, int error, const char *what);
/* joined: it has called keel_init, MPI_Init or the like; missing: what it should have called before
 * its end, "" for nothing. */
void hnp_rank_exited(struct hnp *hnp, uint32_t rank, int wait_status, bool joined,
                     const char *missing);
void hnp_rank_joined(struct hnp *hnp, char *call); /* takes the call's name */
void hnp_rank_broken(struct hnp *hnp, uint32_t rank, const char *reason);
/* A daemon cannot take part; none of its ranks was started. */
void hnp_peer_unable(struct hnp *hnp, uint32_t vpid, const char *why);
/* A daemon has started none of its part of count ranks that were added from first on. */
void hnp_ranks_unable(struct hnp *hnp, uint32_t vpid, uint32_t first, uint32_t count,
                      const char *why);
void hnp_rank_aborted(struct hnp *hnp, uint32_t rank, int status, const char *reason);
void hnp_peer_lost(struct hnp *hnp, uint32_t lost, const char *why);
/* A daemon that has ended by what srun says, and is not lost yet. HNP_VPID: none. */
uint32_t hnp_slurm_said(const struct hnp *hnp);
void hnp_signal(struct hnp *hnp, int signal);
void hnp_send_held(struct hnp *hnp); /* signals that came before the launch */
/* Are the ranks started, or about to be, and have they not all ended? */
bool hnp_has_ranks(const struct hnp *hnp);
void hnp_check_end(struct hnp *hnp); /* have all ranks ended? */
void hnp_check_drained(struct hnp *hnp);
void hnp_end_init(struct hnp *hnp);
/* Nothing is to be waited for any more: the front end may end. */
void hnp_finished(struct hnp *hnp);
/* What ranks have to end by themselves, rounded up. */
uint32_t hnp_grace_s(void);

/* hnp_silence.c */
void hnp_silence_init(struct hnp *hnp);
/* A daemon is silent, or heard again: the user is told if it lasts. */
void hnp_peer_silent(struct hnp *hnp, uint32_t vpid, bool is_silent);
/* A daemon is heard again, or lost: the user may be told that the others answer. */
void hnp_silence_over(struct hnp *hnp);

/* hnp_repair.c */
void hnp_repair_init(struct hnp *hnp);
/* Does the job go on without daemons that are lost? */
bool hnp_recovers(void);
/* A failure that the job outlives when it may; else as hnp_fail. */
void hnp_note_failure(struct hnp *hnp, int exit_code, const char *format, ...) KEEL_PRINTF(3, 4);
/* Ranks of one node, or this one (UINT32_MAX: all), have failed: if the job goes on, all are told.
 */
void hnp_tell_ended(struct hnp *hnp, uint32_t vpid, uint32_t rank);
/* The tree goes on without a daemon. */
void hnp_repair(struct hnp *hnp, uint32_t lost);
/* Daemons that have no parent, and so hear no order, are lost without further waiting. */
void hnp_lose_homeless(struct hnp *hnp);
int hnp_orphan(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer); /* REPORT_ORPHAN */
int hnp_rehomed(struct hnp *hnp, uint32_t vpid);                       /* REPORT_REHOMED */

/* hnp_stdio.c */
void hnp_stdio_init(struct hnp *hnp);
void hnp_input_lost(struct hnp *hnp, uint32_t vpid);     /* a daemon takes no more */
void hnp_resize(struct hnp *hnp, opal_buffer_t *buffer); /* FRONT_WINDOW */
void hnp_input(struct hnp *hnp, opal_buffer_t *buffer);
void hnp_written(struct hnp *hnp, opal_buffer_t *buffer);
void hnp_output_closed(struct hnp *hnp, opal_buffer_t *buffer);
void hnp_open_input(struct hnp *hnp); /* once all that get it are there */

#endif
