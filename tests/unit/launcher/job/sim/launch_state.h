/* What the files of the simulated launches share. */
#ifndef TESTS_UNIT_LAUNCHER_JOB_SIM_LAUNCH_STATE_H
#define TESTS_UNIT_LAUNCHER_JOB_SIM_LAUNCH_STATE_H

#include <launcher/job/dvm_parts.h>
#include <launcher/job/job_parts.h>
#include <tests/lib/sim/queue.h>
#include <tests/unit/launcher/job/sim/launch.h>
#include <tests/unit/launcher/job/sim/launch_rules.h>

enum { LAUNCH_ROWS = 64 };

/* What happens; of a job, number is a daemon, a rank or a signal. */
enum launch_event {
    ON_SUBMIT,
    ON_HOME,
    ON_KNOWN,
    ON_WIRED,
    ON_GROW,
    ON_GROWN, /* a daemon knows that the tree grows */
    ON_LAUNCHED,
    ON_EXIT,
    ON_DRAINED,
    ON_DEATH,
    ON_NOTICE, /* somebody sees it */
    ON_SAID,   /* the resource manager does */
    ON_EXPLAINED,
    ON_REHOMED,
    ON_SILENT,
    ON_HEARD,
    ON_AGENT, /* the daemon's agent fails */
    ON_SIGNAL,
    ON_JOIN,
    ON_ABORT,
    ON_UNABLE,
    ON_SPAWN,
    ON_NO_MEMORY,
    ON_DRY,
    ON_EARLY_FAILURE,
    ON_DVM_TIMER,
    ON_JOB_TIMER,
};

struct launch_timer {
    bool runs;
    uint64_t due_us;
    uintptr_t start; /* the number of its last start */
};

/* What a rank will come to. */
struct launch_fate {
    bool exists, gone;
    int wait_status;
    bool joined, finalizes, starts;
};

struct launch_job {
    struct launch *launch; /* NULL: there is none */
    uint32_t number;
    struct job job;
    struct launch_acts acts;
    struct launch_timer timers[JOB_TIMERS];
    struct launch_fate fates[LAUNCH_RANKS];
};

/* The kinds of trouble that a schedule has. */
struct launch_troubles {
    bool deaths, late, twice, silence, bad_ranks, interrupts, deaf, immortal, agents, unable, spawn,
        grows;
    bool odd; /* what is rare */
};

/* A table with a row more or less. */
struct launch_table {
    struct fsm fsm;
    struct fsm_row rows[LAUNCH_ROWS];
};

struct launch {
    struct sim_queue queue;
    struct sim_random random;
    struct dvm dvm;
    struct launch_job jobs[LAUNCH_JOBS];
    struct launch_timer timers[DVM_TIMERS];
    struct rules rules;
    struct launch_troubles troubles;
    struct launch_table tables[4];
    bool alive[LAUNCH_DAEMONS];
    bool forgotten[LAUNCH_DAEMONS];
    bool explaining;
    unsigned forgets, exits_each, exits_tree, announces, joins;
    uint32_t first; /* daemons, before any was added */
    enum launch_without without;
    struct launch_report *report;
    int kind; /* of the event that happens */
};

extern const struct dvm_ops launch_dvm_ops;
extern const struct job_ops launch_job_ops;

bool launch_chance(struct launch *launch, uint32_t one_in);
uint32_t launch_below(struct launch *launch, uint32_t limit);
/* Later by 0 to within_us. */
void launch_later(struct launch *launch, uint64_t within_us, enum launch_event event, uint32_t job,
                  uint32_t number);
/* The same; or late, or twice, where the schedule has such troubles. */
void launch_report_later(struct launch *launch, uint64_t limit_us, enum launch_event event,
                         uint32_t job, uint32_t number);
void launch_violated(struct launch *launch, const char *format, ...) KEEL_PRINTF(2, 3);

/* Is it one that was added, and not linked yet? */
bool launch_joins(const struct launch *launch, uint32_t vpid);
/* What happens to a daemon by itself. */
void launch_plan_daemon(struct launch *launch, uint32_t vpid);

/* launch_ops.c: the daemons are to end if all jobs are over. */
void launch_close(struct launch *launch);

/* launch_events.c */
void launch_happen(struct launch *launch, const struct sim_event *event);
void launch_draw_fate(struct launch *launch, struct launch_fate *fate);

#endif
