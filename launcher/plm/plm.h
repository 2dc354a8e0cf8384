/* Starting the other nodes' daemons. What is the same however they are started is in plm.c; each
 * way to start them is one operations table. An agent's id is AGENT_ID(vpid) where it starts one
 * daemon, AGENT_ID(HNP_VPID) where it starts all. Everything runs on the loop. */
#ifndef LAUNCHER_PLM_PLM_H
#define LAUNCHER_PLM_PLM_H

#include <launcher/agent/agents.h>
#include <launcher/node/orders/home.h>
#include <launcher/plm/remote.h>
#include <launcher/plm/step.h>
#include <launcher/shepherd/shepherd.h>

struct plm;
struct submitter; /* launcher/standing/submitter.h */

/* What its owner, the head, is asked for and told. */
struct plm_owner {
    /* The node of a daemon; borrowed. */
    const char *(*node)(void *arg, uint32_t vpid);
    /* Whom the agent is to log in as there; borrowed, NULL: its choice. */
    const char *(*user)(void *arg, uint32_t vpid);
    /* Has this daemon called home? */
    bool (*is_home)(void *arg, uint32_t vpid);
    /* Does the job end already? */
    bool (*is_failing)(void *arg);
    /* Sends an order to one that has called home; takes the buffer. */
    int (*order)(void *arg, uint32_t vpid, opal_buffer_t *buffer);
    /* This daemon does not come, and why. True: the owner goes on without it, and knows; else all
     * that fail are told together, by fail. */
    bool (*goes_on)(void *arg, uint32_t vpid, const char *why);
    /* The daemons cannot be started; exit_code: keelrun's. */
    void (*fail)(void *arg, int exit_code, const char *text);
    /* A line for the user. */
    void (*tell)(void *arg, const char *text);
    /* What plm_end has let wait is over. */
    void (*ended)(void *arg);
};

struct plm_config {
    struct job_identity job;
    uint32_t count; /* daemons, the HNP included */
    uint32_t first; /* that is to be started, of them; 1 at the first start */
    uint32_t radix;
    const char *contact;         /* borrowed: the HNP's */
    char *const *settings;       /* borrowed: as in struct home */
    bool topology;               /* daemons are to report their nodes' topologies */
    bool simulated;              /* the other nodes are this one */
    struct submitter *submitter; /* borrowed: starts them, on a standing DVM; NULL: agents do */
    const char *slurm_job;       /* borrowed: the allocation's; NULL: there is none */
    bool outlives_daemons;       /* the job goes on without a daemon that is lost */
    uint32_t grace_s;            /* what ranks have to end by themselves */
};

#define STEP_ID AGENT_ID(HNP_VPID)

struct plm_ops {
    /* Starts the agents. keeld: the daemon's program. False: the job has failed. */
    bool (*start)(struct plm *plm, char *keeld);
    /* The same for more daemons, later. */
    bool (*grow)(struct plm *plm, char *keeld);
    /* Adds to what this daemon (HNP_VPID: all of them) is told who it is. False: no memory. The
     * strings are freed by home_fini. */
    bool (*fill)(const struct plm *plm, uint32_t vpid, struct home *home);
    /* The rest may be NULL. */
    const struct agent_ops *step; /* of the agent of all daemons, STEP_ID; their arg is the plm */
    void (*came_home)(struct plm *plm, uint32_t vpid); /* one more daemon has */
    void (*unstarted)(struct plm *plm, uint32_t starter, uint32_t vpid, const char *why);
    void (*lost)(struct plm *plm, uint32_t vpid); /* it is not waited for any more */
    void (*stop)(struct plm *plm);                /* nothing is started or waited for any more */
    void (*fini)(struct plm *plm);
    /* keelrun is about to end. True: not before the agent has. */
    bool (*end)(struct plm *plm);
};

extern const struct plm_ops plm_rsh;   /* an agent for each, or children of this node */
extern const struct plm_ops plm_slurm; /* one srun for all */

/* The start of one daemon (plm_rsh.c). */
struct rsh_start {
    uint32_t starter; /* whose agent it is, or will be */
    char *why;        /* owned: it cannot be started by keelrun either; NULL: it may yet come */
    bool told;        /* and the user knows */
};

struct rsh {
    struct agents *agents;    /* owned */
    struct rsh_start *starts; /* owned, by vpid */
    uint32_t size;            /* of them */
    struct remote remote;
    uint32_t block;             /* start_tree.h */
    struct loop_timer patience; /* with those that may still fail */
    uint64_t started_us;
    bool shown; /* the user has seen what a failed agent said */
};

struct plm {
    struct loop *loop; /* borrowed, as are the next three */
    struct shepherd *shepherd;
    struct channel_end *front;
    const struct plm_owner *owner;
    void *arg;
    const struct plm_ops *ops; /* NULL: no other nodes */
    struct plm_config config;
    struct rsh rsh;
    bool step_runs;      /* plm_slurm.c: srun has not ended */
    uint32_t step_count; /* daemons up to the last of those that it has started */
    bool ending;         /* keelrun is about to end */
    struct step step;    /* of Slurm, if there is one */
};

/* The parameter plm. */
enum plm_choice { PLM_AUTO, PLM_SLURM, PLM_RSH, PLM_SSH };
enum plm_choice plm_choice(void);

/* For its owner. */
void plm_init(struct plm *plm, struct loop *loop, struct shepherd *shepherd,
              struct channel_end *front, const struct plm_owner *owner, void *arg);
void plm_fini(struct plm *plm);
/* Starts daemons from config->first on; again where there are more later. keeld: the daemon's
 * program. A failure is told to the owner. */
void plm_start(struct plm *plm, const struct plm_config *config, char *keeld);
/* A daemon is lost: if it has not called home, it is not waited for. */
void plm_lost(struct plm *plm, uint32_t vpid);
extern const struct agent_ops plm_agents; /* their arg is the plm */
/* One more daemon has called home. */
void plm_came_home(struct plm *plm, uint32_t vpid);
/* A daemon that was to start another one says why it cannot. */
void plm_unstarted(struct plm *plm, uint32_t starter, uint32_t vpid, const char *why);
/* Agents that end are no news any more: all daemons are there, or the job ends. */
void plm_started(struct plm *plm);
/* keelrun is about to end. True: not before ended is called. */
bool plm_end(struct plm *plm);
bool plm_is_slurm(const struct plm *plm);
/* The daemon whose agent starts this one, as it is now. */
uint32_t plm_starter(const struct plm *plm, uint32_t vpid);

/* For the ways to start daemons. */
void plm_fail(struct plm *plm, int exit_code, const char *format, ...) KEEL_PRINTF(3, 4);
/* plm_rsh.c, for other ways that start some daemons by an agent each. words: the agent's. */
bool rsh_open(struct plm *plm, char *const *words, char *const *program);
bool rsh_start_added(struct plm *plm); /* from config.first on */
bool rsh_fill(const struct plm *plm, uint32_t vpid, struct home *home);
void rsh_came_home(struct plm *plm, uint32_t vpid);
void rsh_fini(struct plm *plm);
void rsh_lost(struct plm *plm, uint32_t vpid);
void rsh_stop(struct plm *plm);
const char *plm_node(const struct plm *plm, uint32_t vpid);
bool plm_is_home(const struct plm *plm, uint32_t vpid);
/* What a daemon (HNP_VPID: all of them) is told; malloc'd. NULL: reason says why. */
char *plm_home(const struct plm *plm, uint32_t vpid, size_t *size, char *reason,
               size_t reason_size);

#endif
