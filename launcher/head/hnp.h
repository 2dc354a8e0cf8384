/* The HNP (head node process): takes a job from the front end and sees it through. What is to be
 * done is decided by launcher/job, which knows the states of the daemons and of the job; the HNP
 * feeds it what daemons, front end, timers and the plm say, and carries out what it asks for. It
 * maps the ranks and passes stdio between daemons and front end (hnp_stdio.c). Everything runs on
 * the loop. */
#ifndef LAUNCHER_HEAD_HNP_H
#define LAUNCHER_HEAD_HNP_H

#include <launcher/front/channel.h>
#include <launcher/head/tools.h>
#include <launcher/job/job.h>
#include <launcher/map/plan.h>
#include <launcher/node/daemon.h>
#include <launcher/plm/plm.h>

/* A daemon, by vpid, beyond what the dvm knows of it; the first is this process. */
struct peer {
    char *user;                    /* owned: whom the agent is to log in as; NULL: its choice */
    char *contact;                 /* owned; NULL until it calls home */
    char topology[TOPO_HASH_TEXT]; /* its hash; "": not asked for, or not known */
    bool examined;                 /* it is asked for its topology, or the hash */
    bool crashing;                 /* debuggers look at ranks of its that crash */
    int32_t signal;                /* that ends it, where it could say so; else 0 */
    bool takes_input;              /* ranks of its get standard input ... */
    uint64_t input_taken;          /* ... and have taken so many bytes */
};

#define NO_DAEMON UINT32_MAX

struct hnp_timer {
    struct loop_timer timer;
    struct hnp *hnp; /* borrowed */
    int number;      /* enum dvm_timer or job_timer */
};

struct hnp_timers {
    struct hnp_timer dvm[DVM_TIMERS], job[JOB_TIMERS];
    struct loop_timer step;
};

/* WAITING: for the ranks that get it; CLOSED: they take no more. */
enum input_state { INPUT_WAITING, INPUT_OPEN, INPUT_CLOSED };

/* Standard input on its way to the ranks that get it. */
struct hnp_input {
    enum input_state state;
    uint64_t given, credited; /* bytes that the front end has read, and may read again */
};

/* Nodes of the plan, whose topologies are needed. */
struct node_set {
    uint32_t *nodes; /* owned */
    uint32_t count;
};

/* What is known of nodes' processors. */
struct hnp_topologies {
    struct list known;            /* struct topology of hnp_plan.c */
    const struct node_set *asked; /* borrowed: whose are asked for a spawn; NULL: none */
};

/* What is added to the job. */
struct hnp_spawns {
    struct list requests; /* struct spawn_request of hnp_spawn.c */
    uint32_t count;       /* of those that were started */
    struct list orders;   /* struct kept_order of hnp_grow.c: what daemons hear that come later */
};

struct hnp_explanations {
    struct list under_way; /* struct explanation of hnp_explain.c */
    uint32_t last;         /* its number */
};

/* Ranks that crash. */
struct hnp_crashes {
    struct rank_stacks *stacks; /* owned: not told yet; NULL: none, */
    uint32_t ranks;             /* and how many ranks there were */
    uint32_t nodes;             /* where debuggers look at some */
    bool cut;                   /* these were told that their time is over */
    struct loop_timer timer;
};

/* What is borrowed of the process. */
struct hnp_config {
    struct loop *loop;
    struct shepherd *shepherd;
    struct channel_end *front;
    const struct service_ops *const *service_table; /* as in struct daemon_config */
};

struct hnp {
    struct hnp_config config;
    struct dvm dvm;
    struct job job;
    struct run_request request;
    struct allocation allocation; /* the resource manager's; without nodes: none, or not used */
    struct job_plan plan;
    bool mapped; /* the plan has ranks */
    struct hnp_topologies topologies;
    struct plm plm;
    struct daemon *daemon;       /* NULL until a job is submitted */
    struct tools *tools;         /* likewise, and owned */
    struct standing *standing;   /* owned: this is a standing DVM's HNP; NULL: a job's */
    struct submitter *submitter; /* owned: the job's DVM; NULL: it has daemons of its own */
    bool uri_written;            /* to a file, removed at the end */
    struct job_identity identity;

    struct peer *peers;       /* owned, by vpid: as many as the dvm has daemons */
    uint32_t *daemon_of_node; /* owned, by node, idle ones too; NO_DAEMON: none yet */
    struct hnp_spawns spawns;
    struct hnp_input input;
    struct hnp_timers timers;
    struct hnp_explanations explanations;
    struct hnp_crashes crashes;
    uint64_t submitted_us;     /* when the job was */
    struct hnp_report *report; /* owned; NULL: not asked for */
    bool finished;             /* the front end was told to end */
};

int hnp_create(struct hnp **hnp, const struct hnp_config *config) KEEL_MUST_CHECK;
void hnp_destroy(struct hnp *hnp);

/* hnp.c */
/* An order to all daemons, once the tree stands; takes the buffer. */
int hnp_broadcast(struct hnp *hnp, opal_buffer_t *order);
void hnp_tell(struct hnp *hnp, const char *format, ...) KEEL_PRINTF(2, 3);
/* Does it hear what is ordered all? */
bool hnp_peer_hears(const struct hnp *hnp, uint32_t vpid);

/* hnp_daemons.c */
extern const struct dvm_ops hnp_dvm_ops;
void hnp_daemons_init(struct hnp *hnp);
void hnp_start_daemons(struct hnp *hnp);
/* Those from first on; reason says why not. */
int hnp_start_agents(struct hnp *hnp, uint32_t first, char *reason,
                     size_t reason_size) KEEL_MUST_CHECK;
void hnp_home(struct hnp *hnp, uint32_t vpid, char *contact,
              const char *topology);                                         /* takes the contact */
int hnp_unstarted(struct hnp *hnp, uint32_t starter, opal_buffer_t *buffer); /* REPORT_UNSTARTED */

void hnp_tell_progress(struct hnp *hnp); /* FRONT_ASK_PROGRESS */
/* Tells the user which nodes have not called home, while the job waits for them. */
void hnp_tell_away(struct hnp *hnp);

/* hnp_plan.c */
/* The nodes, and the ranks' places, unless other nodes have to tell their topologies first. */
int hnp_plan(struct hnp *hnp, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* Tells the user of the ranks from the first on: bits of enum display, and --report-bindings. */
void hnp_show(struct hnp *hnp, uint32_t first, uint32_t display, bool bindings);
/* All daemons are home: the ranks are mapped, if they are not yet, when it is known what is needed.
 */
void hnp_ask_topologies(struct hnp *hnp);
int hnp_take_topology(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer);
/* The dvm has grown, and with it what is known of the nodes that were examined. False: a daemon has
 * not answered, reason says which. */
bool hnp_examined(struct hnp *hnp, char *reason, size_t reason_size);
/* A daemon is lost, which may have been asked. */
void hnp_unexamined(struct hnp *hnp, uint32_t vpid);
void hnp_plan_fini(struct hnp *hnp);

/* hnp_submit.c: a job on a standing DVM */
/* Gets the nodes from it, as an allocation. */
int hnp_submit_open(struct hnp *hnp, char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* The ranks are mapped: takes their slots; nothing where there is no DVM. */
int hnp_submit_take(struct hnp *hnp) KEEL_MUST_CHECK;
/* Adds to why they do not fit that other jobs have slots. */
void hnp_submit_explain(const struct hnp *hnp, char *reason, size_t reason_size);

/* hnp_launch.c */
void hnp_launch(struct hnp *hnp);
uint64_t hnp_launch_limit_us(void); /* what daemons have to start ranks */

/* hnp_grow.c: nodes that get a daemon while the job runs */
/* Starts one on each of these nodes of the plan that has none. The spawns are told when they have
 * joined, or are lost. */
int hnp_grow(struct hnp *hnp, const uint32_t *nodes, uint32_t count, char *reason,
             size_t reason_size) KEEL_MUST_CHECK;
/* An order that daemons need that are added later; it is copied. */
int hnp_keep_order(struct hnp *hnp, const opal_buffer_t *order) KEEL_MUST_CHECK;
void hnp_announce(struct hnp *hnp);                                        /* dvm_ops.announce */
void hnp_join(struct hnp *hnp, uint32_t vpid);                             /* dvm_ops.join */
int hnp_take_grown(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer); /* REPORT_GROWN */
void hnp_grow_fini(struct hnp *hnp);

/* hnp_uri.c: --report-uri */
int hnp_report_uri(struct hnp *hnp, char *reason, size_t reason_size) KEEL_MUST_CHECK;
void hnp_remove_uri(struct hnp *hnp);

/* hnp_spawn.c: REPORT_SPAWN and REPORT_SPAWNED */
int hnp_spawn(struct hnp *hnp, uint32_t asker, opal_buffer_t *buffer);
int hnp_spawned(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer);
/* The daemons that were added have joined, or are lost. */
void hnp_spawn_grown(struct hnp *hnp);
/* The topologies that the spawn needs cannot be found. */
void hnp_spawn_unable(struct hnp *hnp, const char *reason);
/* A daemon is lost: what waits for its part fails. */
void hnp_spawn_lost(struct hnp *hnp, uint32_t vpid);
void hnp_spawn_fini(struct hnp *hnp);

/* hnp_end.c */
extern const struct job_ops hnp_job_ops;
void hnp_end_init(struct hnp *hnp);
void hnp_job_limits(const struct hnp *hnp, struct job_limits *limits);
void hnp_rank_failed(struct hnp *hnp, uint32_t rank, uint8_t stage, int error, const char *what);
/* Nothing is to be waited for any more: the front end may end. */
void hnp_finished(struct hnp *hnp);
/* What ranks have to end by themselves, rounded up. */
uint32_t hnp_grace_s(void);

/* hnp_explain.c: what the ranks do: for the user, who asks by SIGQUIT, or whose time limit is over,
 * and then the job fails when it was told; and for tools. */
void hnp_explain_signal(struct hnp *hnp);
void hnp_explain_limit(struct hnp *hnp);
int hnp_take_states(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer); /* REPORT_STATES */
int hnp_take_stack(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer);  /* REPORT_STACK */
int hnp_take_traced(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer); /* REPORT_TRACED */
/* TOOL_LOOK: a tool has one question at a time. */
void hnp_look(struct hnp *hnp, const orte_process_name_t *tool, uint64_t number, bool stacks);
/* What is not known yet is not waited for any more. */
void hnp_explain_cut(struct hnp *hnp);
void hnp_explain_fini(struct hnp *hnp);
uint64_t hnp_traces_us(void); /* what debuggers have for all ranks; 0: they are not asked for */

/* hnp_crash.c */
void hnp_crash_init(struct hnp *hnp);
void hnp_crash_fini(struct hnp *hnp);
/* Where the stacks of a rank that crashes go. Borrowed; NULL: no memory. */
struct rank_stacks *hnp_crash_stacks(struct hnp *hnp, uint32_t rank);
int hnp_take_crashes(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer); /* REPORT_CRASHES */
/* All that crash at this daemon were looked at, or it is lost. */
void hnp_crash_over(struct hnp *hnp, uint32_t vpid);
/* Tells where ranks have crashed, those that did in one place together: a rank's end comes behind
 * the stacks of all that have crashed meanwhile. */
void hnp_crash_tell(struct hnp *hnp);
/* The same, and those that were looked at wait no more for others. */
void hnp_crash_cut(struct hnp *hnp);

/* hnp_look.c */
/* What is known of nodes and ranks. */
struct known {
    uint32_t daemon_count;
    const bool *awaited;  /* by vpid: it was asked, and has not answered */
    const uint32_t *pids; /* by vpid: the daemons'; 0: not known */
    const struct rank_states *states;
};
/* How many ranks a tool sees: none in a standing DVM, whose program is mapped but never runs. */
uint32_t hnp_look_count(const struct hnp *hnp);
/* The answer to TOOL_LOOK, but for the lines and the end. NULL: no memory. known NULL: nothing. */
opal_buffer_t *hnp_look_pack(const struct hnp *hnp, uint64_t number, const struct known *known);

/* hnp_report.c: --report; where it is not asked for they do nothing */
void hnp_report_begin(struct hnp *hnp);                  /* the request is there */
void hnp_report_job(struct hnp *hnp);                    /* the nodes are known */
void hnp_report_starts(struct hnp *hnp, uint32_t first); /* of this daemon, and those behind it */
void hnp_report_map(struct hnp *hnp);
void hnp_report_started(struct hnp *hnp, uint32_t vpid, uint32_t count); /* a daemon's ranks */
void hnp_report_ended(struct hnp *hnp, uint32_t rank, const struct rank_end *ended);
void hnp_report_message(struct hnp *hnp, const char *text);
int hnp_report_output_lost(struct hnp *hnp, opal_buffer_t *buffer); /* FRONT_OUTPUT_LOST */
void hnp_report_summary(struct hnp *hnp);
void hnp_report_fini(struct hnp *hnp);

/* hnp_repair.c */
/* Does the job go on without daemons that are lost? */
bool hnp_recovers(void);
uint64_t hnp_repair_limit_us(void);
/* Ranks of one node, or this one (vpid JOB_ALL), have failed, and the job goes on: all are told. */
void hnp_tell_ended(struct hnp *hnp, uint32_t vpid, uint32_t rank);
/* Adds which daemons are lost to an order: u count, count u. Takes the order. */
opal_buffer_t *hnp_add_losses(const struct hnp *hnp, opal_buffer_t *order);
/* The tree goes on without a daemon. */
void hnp_forget(struct hnp *hnp, uint32_t lost);
int hnp_orphan(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer); /* REPORT_ORPHAN */

/* hnp_stdio.c */
void hnp_stdio_init(struct hnp *hnp);
void hnp_input_lost(struct hnp *hnp, uint32_t vpid);     /* a daemon takes no more */
void hnp_resize(struct hnp *hnp, opal_buffer_t *buffer); /* FRONT_WINDOW */
void hnp_input(struct hnp *hnp, opal_buffer_t *buffer);
void hnp_written(struct hnp *hnp, opal_buffer_t *buffer);
void hnp_output_closed(struct hnp *hnp, opal_buffer_t *buffer);
void hnp_open_input(struct hnp *hnp); /* once all that get it are there */

#endif
