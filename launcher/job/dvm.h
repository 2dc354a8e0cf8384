/* The daemons of the nodes, as the head sees them: how they start, and what becomes of the others
 * when one is lost. Jobs run on them, several at a time; each is told what concerns it.
 *
 * No input and output: events come by calls, with the time, and what is to be done goes to struct
 * dvm_ops. All calls in one thread. docs/launch-states.md has the states. */
#ifndef LAUNCHER_JOB_DVM_H
#define LAUNCHER_JOB_DVM_H

#include <base/data/list.h>
#include <keel/types.h>
#include <launcher/job/fsm.h>

enum dvm_phase {
    DVM_DOWN,
    DVM_STARTING,   /* agents are started; their daemons are to call home */
    DVM_TOPOLOGIES, /* daemons tell what processors their nodes have, where that is needed */
    DVM_WIRING,     /* daemons deeper in the tree link to their parents */
    DVM_STANDS,     /* jobs can be launched, in this and the next four */
    DVM_ADDING,     /* it grows: agents of more daemons are started, which are to call home */
    DVM_EXAMINING,  /* these tell what processors their nodes have, where that is needed */
    DVM_ANNOUNCING, /* the others are to know that the tree grows */
    DVM_JOINING,    /* those that were added link to their parents */
    DVM_OVER,       /* the daemons were told to end */
};

enum daemon_state {
    DAEMON_STARTING,
    DAEMON_HOME,        /* it has called home */
    DAEMON_WIRED,       /* it is linked to its parent in the tree */
    DAEMON_GROWING,     /* the same, and it is to know that the tree grows */
    DAEMON_UNEXPLAINED, /* it is lost, and Slurm may yet say why */
    DAEMON_LOST,
    DAEMON_STATES, /* their number */
};

/* The first is this process. */
struct dvm_daemon {
    uint8_t state;           /* enum daemon_state */
    char *node;              /* owned */
    char *why;               /* owned: it is lost: why its links broke */
    char *said;              /* owned: how a resource manager says that it has ended; else NULL */
    uint64_t homeless_until; /* its parent was lost: when it is lost as well; 0: it has one */
    bool silent;             /* it does not answer ... */
    bool told_silent;        /* ... and the user knows, but not yet that it answers again */
};

enum dvm_timer { DVM_TIMER_START, DVM_TIMER_REPAIR, DVM_TIMER_SILENCE, DVM_TIMERS };

struct dvm_limits {
    uint64_t home_us;      /* to call home and to link to the parents (plm_start_timeout_s) */
    uint64_t repair_us;    /* to find a new parent (routed_repair_timeout_ms) */
    uint64_t suspicion_us; /* from a daemon's silence to its loss; 0: it is never lost for that */
};

/* All are called within a call of this file, and may call it again. */
struct dvm_ops {
    void (*set_timer)(void *arg, enum dvm_timer timer, uint64_t wait_us); /* also if it runs */
    void (*stop_timer)(void *arg, enum dvm_timer timer);
    void (*tell)(void *arg, const char *text); /* a line for the user */
    /* One more has called home. */
    void (*came_home)(void *arg, uint32_t vpid);
    /* All have: dvm_topologies_known is to be called when what is needed is known. */
    void (*ask_topologies)(void *arg);
    /* All that stand are to know that the tree grows: dvm_has_grown is to be called for each. */
    void (*announce)(void *arg);
    /* This one, which was added, is to link to its parent, and to say so (dvm_wired). */
    void (*join)(void *arg, uint32_t vpid);
    /* The daemon is to link to this parent, which is not the first. */
    void (*wire)(void *arg, uint32_t vpid, uint32_t parent);
    /* In the tree, as it is without those that were forgotten. */
    uint32_t (*parent)(void *arg, uint32_t vpid);
    /* The tree goes on without this one, in all daemons. */
    void (*forget)(void *arg, uint32_t lost);
    /* All that live are to end; by_tree: a broadcast reaches them. */
    void (*exit)(void *arg, bool by_tree);
    /* Does one agent, which runs, start all daemons, and end them when it fails to start one? */
    bool (*start_together)(void *arg);
    /* Takes in what a resource manager has said so far, by dvm_said. */
    void (*read_reasons)(void *arg);
    /* May it yet say why a daemon is lost? dvm_explained is called when it has, or has not in time.
     * wait false: nobody waits for it any longer; dvm_explained is called before this returns. */
    bool (*awaits_reason)(void *arg, bool wait);
    /* Why a daemon was lost, from why its links broke and what else is known; text: room for it. */
    const char *(*explain)(void *arg, uint32_t vpid, const char *why, char *text, size_t size);
};

struct dvm_user;

/* What a job is told and asked. */
struct dvm_user_ops {
    void (*stands)(struct dvm_user *user); /* it can be launched */
    /* The daemons cannot be started. */
    void (*failed)(struct dvm_user *user, const char *text);
    /* Is it launched, and does not end yet? */
    bool (*runs)(const struct dvm_user *user);
    /* A daemon is lost; why NULL: the reason comes by a second call. */
    void (*lost)(struct dvm_user *user, uint32_t vpid, const char *why);
    /* There will be so many daemons. No effect on failure. NULL: nothing is kept by daemon. */
    int (*grows)(struct dvm_user *user, uint32_t count);
    void (*grown)(struct dvm_user *user); /* of those that were added, who is not lost has joined */
};

struct dvm_user {
    struct list link;
    const struct dvm_user_ops *ops;
};

struct dvm {
    uint8_t phase;                /* enum dvm_phase */
    const struct fsm *fsm;        /* borrowed: dvm_fsm */
    const struct fsm *daemon_fsm; /* borrowed: dvm_daemon_fsm */
    struct fsm_watch *watch;      /* borrowed; NULL: nobody */
    const struct dvm_ops *ops;    /* borrowed */
    void *arg;                    /* of ops */
    struct dvm_limits limits;
    struct dvm_daemon *daemons;       /* owned, by vpid */
    uint32_t count;                   /* of daemons */
    uint32_t added;                   /* the first of those that were added last */
    uint32_t in_state[DAEMON_STATES]; /* of them */
    struct list users;                /* struct dvm_user */
    uint64_t now_us;                  /* of the loss that is handled */
    uint64_t silence_told_us;         /* when the user was told of silent daemons last; 0: never */
    bool silence_due;                 /* the timer runs */
};

extern const struct fsm dvm_fsm, dvm_daemon_fsm;

void dvm_init(struct dvm *dvm, const struct dvm_ops *ops, void *arg);
void dvm_fini(struct dvm *dvm);
/* One more daemon; the first stands for this process, which is home. */
int dvm_add(struct dvm *dvm, const char *node) KEEL_MUST_CHECK;

/* dvm.c: how they start */
void dvm_start(struct dvm *dvm, const struct dvm_limits *limits);
void dvm_home(struct dvm *dvm, uint32_t vpid);
void dvm_topologies_known(struct dvm *dvm);
void dvm_wired(struct dvm *dvm, uint32_t vpid);
void dvm_close(struct dvm *dvm);
/* Do jobs run, or could they? */
bool dvm_stands(const struct dvm *dvm);
/* A timer is over. */
void dvm_timer(struct dvm *dvm, enum dvm_timer timer, uint64_t now_us);

/* Can it be sent to? */
bool dvm_lives(const struct dvm *dvm, uint32_t vpid);
bool dvm_is_lost(const struct dvm *dvm, uint32_t vpid);
/* The nodes of the daemons that are chosen, in short; malloc'd, NULL: no memory. count: how many.
 */
char *dvm_name_nodes(const struct dvm *dvm, bool (*chosen)(const void *arg, uint32_t vpid),
                     const void *arg, uint32_t *count);

/* dvm_grow.c: daemons that are added while jobs run. They get the next vpids; whoever of them does
 * not come is lost, and no job ends for that. */
/* By none: all that there are may be examined. ORTE_ERR_NOT_AVAILABLE: it does not stand, or grows
 * already. The users are told when it has grown (grown), at the latest after three times
 * limits.home_us. */
int dvm_grow(struct dvm *dvm, const char *const *nodes, uint32_t count) KEEL_MUST_CHECK;
/* This daemon knows how many there are now. */
void dvm_has_grown(struct dvm *dvm, uint32_t vpid);
bool dvm_grows(const struct dvm *dvm);

/* dvm_loss.c: those that are lost */
void dvm_lost(struct dvm *dvm, uint32_t vpid, const char *why, uint64_t now_us);
/* Is it lost when this process's link to it is down? closed: by one of its ends. */
bool dvm_needs_link(const struct dvm *dvm, uint32_t vpid, bool closed);
/* A resource manager says how it has ended, which is why others end. */
void dvm_said(struct dvm *dvm, uint32_t vpid, const char *how);
/* One that has ended by its word, and is not lost yet. 0: none. */
uint32_t dvm_first_said(const struct dvm *dvm);
/* What awaits_reason has let wait is over. */
void dvm_explained(struct dvm *dvm);
/* It has a new parent. */
void dvm_rehomed(struct dvm *dvm, uint32_t vpid, uint64_t now_us);
/* Daemons that have no parent, and so hear no order, are lost without further waiting. */
void dvm_lose_homeless(struct dvm *dvm, uint64_t now_us);

/* dvm_silence.c: a daemon is silent, or heard again; the user is told if it lasts. */
void dvm_silent(struct dvm *dvm, uint32_t vpid, bool is_silent, uint64_t now_us);

#endif
