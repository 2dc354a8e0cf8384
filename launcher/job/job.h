/* A job, from its submission to its end, as the head sees it: its phases, what its ranks and its
 * daemons have come to, and the reason and the code with which it ends. The first reason counts:
 * what comes later only goes to the log.
 *
 * No input and output: events come by calls, with the time, and what is to be done goes to struct
 * job_ops. All calls in one thread, that of its dvm. docs/launch-states.md has the states. */
#ifndef LAUNCHER_JOB_JOB_H
#define LAUNCHER_JOB_JOB_H

#include <launcher/job/dvm.h>
#include <launcher/job/rank_end.h>

enum job_phase {
    JOB_IDLE,
    JOB_WAITING,   /* for its daemons */
    JOB_LAUNCHING, /* the launch was ordered; ranks may run already */
    JOB_RUNNING,
    JOB_ENDING,   /* it has failed or was interrupted: the ranks were told to end */
    JOB_KILLING,  /* they were killed */
    JOB_DRAINING, /* all ranks have ended; the last output comes */
    JOB_DONE,
};

/* Of the job at one daemon. */
enum part_state {
    PART_ABSENT, /* the job has none there */
    PART_PENDING,
    PART_LAUNCHED,    /* its ranks were started, or failed to */
    PART_DRAINED,     /* all its output is here */
    PART_UNEXPLAINED, /* the daemon is lost, and Slurm may yet say why */
    PART_LOST,
    PART_STATES, /* their number */
};

enum job_timer { JOB_TIMER_LIMIT, JOB_TIMER_LAUNCH, JOB_TIMER_GRACE, JOB_TIMER_DRAIN, JOB_TIMERS };

struct job_limits {
    uint32_t timeout_s;          /* 0: none (--timeout) */
    uint64_t waited_us;          /* of it, before the job began */
    uint64_t launch_us;          /* to start the ranks (plm_launch_timeout_s) */
    uint64_t abort_grace_us;     /* from SIGTERM to SIGKILL (abort_grace_ms) */
    uint64_t interrupt_grace_us; /* from an interrupt to SIGKILL (interrupt_grace_ms) */
    bool recovers;               /* it goes on without ranks and daemons that fail */
};

/* Are ranks that do not run yet to be started? */
enum job_starts { STARTS_GO_ON, STARTS_END };

#define JOB_ALL UINT32_MAX

/* All are called within a call of this file, and may call it again. */
struct job_ops {
    void (*set_timer)(void *arg, enum job_timer timer, uint64_t wait_us); /* also if it runs */
    void (*stop_timer)(void *arg, enum job_timer timer);
    void (*tell)(void *arg, const char *text); /* a line for the user */
    /* About to be launched: the last moment for what may make it fail without having begun. */
    void (*prepare)(void *arg);
    void (*launch)(void *arg);
    void (*launched)(void *arg); /* all daemons have started their ranks */
    void (*signal)(void *arg, int signal, enum job_starts starts); /* to all ranks */
    void (*kill)(void *arg);
    /* All ranks have ended: daemons drain their output, and say so. */
    void (*drain)(void *arg);
    /* The job goes on, and these ranks have failed: those of a daemon, or (JOB_ALL) one of all. */
    void (*ended)(void *arg, uint32_t vpid, uint32_t rank);
    /* A daemon takes no more part, or will take none. */
    void (*part_lost)(void *arg, uint32_t vpid);
    void (*grown)(void *arg); /* the daemons that were added have joined, or are lost */
    void (*over)(void *arg);  /* it is done; job_exit_code says how */
    void (*hurry)(void *arg); /* it is done, and the user waits no longer for what comes then */
    uint32_t (*daemon_of)(void *arg, uint32_t rank);
    const char *(*program)(void *arg, uint32_t rank);
};

/* How it ends. */
struct job_end {
    int exit_code;
    unsigned interrupts; /* SIGINT, SIGTERM and SIGHUP so far */
    int signal;          /* that ranks get when they are to end */
    uint64_t grace_us;   /* and what they have after it */
    uint32_t unkilled;   /* ranks that had not ended when the timer after the kill last began */
    bool output_lost;    /* some of it, for want of memory */
    uint32_t culprit;    /* the rank that is the reason; JOB_ALL: none is */
};

/* Either all ranks join the job or none does. */
struct job_joining {
    char *call;        /* owned: the call by which some rank joined; NULL: none has */
    uint32_t stranger; /* a rank that ended without joining; JOB_ALL: none */
};

/* Of a rank that ended: had the end of the job begun, and was it what ended the rank? TOLD: after,
 * and the user knows. */
enum rank_after_end { PLACE_BEFORE, PLACE_AFTER, PLACE_BY_KEELRUN, PLACE_TOLD };

struct job_rank {
    uint32_t pid;        /* 0: not known */
    int32_t wait_status; /* of one that has ended */
    uint8_t place;       /* enum rank_after_end */
};

struct job {
    uint8_t phase;              /* enum job_phase */
    const struct fsm *fsm;      /* borrowed: job_fsm */
    const struct fsm *part_fsm; /* borrowed: job_part_fsm */
    struct fsm_watch *watch;    /* borrowed; NULL: nobody */
    struct dvm *dvm;            /* borrowed */
    struct dvm_user user;       /* of it */
    const struct job_ops *ops;  /* borrowed */
    void *arg;                  /* of ops */
    struct job_limits limits;
    uint8_t *parts; /* owned, by vpid: enum part_state; NULL: not submitted */
    uint32_t in_part[PART_STATES];
    bool *ended;                  /* owned, by rank */
    struct job_rank *ranks;       /* owned */
    uint32_t rank_count, unended; /* unended: ranks that have not ended */
    uint64_t held;                /* bit N: signal N, for ranks that do not exist yet */
    struct job_joining joining;
    struct job_end end;
};

extern const struct fsm job_fsm, job_part_fsm;

void job_init(struct job *job, struct dvm *dvm, const struct job_ops *ops, void *arg);
void job_fini(struct job *job);
/* More ranks, behind those that there are. */
int job_add_ranks(struct job *job, uint32_t count) KEEL_MUST_CHECK;

/* job.c: the phases */
/* It waits for its daemons, which may be none: those of the dvm as it is now. */
int job_submit(struct job *job, const struct job_limits *limits) KEEL_MUST_CHECK;
void job_end_dry(struct job *job); /* nothing was to be started */
void job_launched(struct job *job, uint32_t vpid);
/* Ranks are added at a daemon, which has had no part so far, or has. */
void job_join_daemon(struct job *job, uint32_t vpid);
void job_drained(struct job *job, uint32_t vpid);
/* A daemon has started none of its ranks from first to end - 1; text: why. */
void job_unable(struct job *job, uint32_t vpid, uint32_t first, uint32_t end, const char *text);
/* A timer is over. */
void job_timer(struct job *job, enum job_timer timer, uint64_t now_us);
/* From the user. */
void job_signal(struct job *job, int signal);
/* Would SIGINT, SIGTERM or SIGHUP end it? Not when it ends already. */
bool job_is_interruptible(const struct job *job);
/* Some output is lost, for want of memory. */
void job_output_lost(struct job *job);

/* Are the ranks started, or about to be, and have they not all ended? */
bool job_has_ranks(const struct job *job);
/* The same, and the job is not being ended. */
bool job_runs(const struct job *job);
bool job_is_ending(const struct job *job);
int job_exit_code(const struct job *job);

/* job_end.c: the reason */
/* The job has failed: the first call decides code and text. It may be over within the call. */
void job_fail(struct job *job, int exit_code, const char *format, ...) KEEL_PRINTF(3, 4);

/* job_ranks.c: what becomes of ranks */
/* It cannot be started; text: why, which exit_code says, too. */
void job_rank_unstarted(struct job *job, uint32_t rank, int exit_code, const char *text);
void job_rank_exited(struct job *job, uint32_t rank, const struct rank_end *end);
void job_rank_joined(struct job *job, const char *call);
/* The job cannot go on; reason continues "rank N (program, pid P) on node X". pid 0: not known. */
void job_rank_broken(struct job *job, uint32_t rank, uint32_t pid, const char *reason);
void job_rank_aborted(struct job *job, uint32_t rank, uint32_t pid, int status, const char *reason);

#endif
