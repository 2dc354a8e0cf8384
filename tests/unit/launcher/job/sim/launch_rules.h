/* What has to become of jobs on daemons, by the rules of docs/launch-states.md and without their
 * states: facts, deadlines, and what follows from them. It is told what production's objects are
 * told, and says what they must have asked for. */
#ifndef TESTS_UNIT_LAUNCHER_JOB_SIM_LAUNCH_RULES_H
#define TESTS_UNIT_LAUNCHER_JOB_SIM_LAUNCH_RULES_H

#include <launcher/job/job.h>

enum { LAUNCH_DAEMONS = 8, LAUNCH_RANKS = 32, LAUNCH_JOBS = 2, LAUNCH_LINE = 400 };

/* What was asked for, how often. */
struct launch_acts {
    unsigned launches, signals, ends, kills, drains, ended, parts_lost, grown, overs, hurries,
        lines;
    int end_signal;
    uint64_t text; /* of all lines */
    char line[LAUNCH_LINE];
};

void launch_acts_tell(struct launch_acts *acts, const char *line);

struct rules_job {
    struct job_limits limits;
    bool exists; /* else the schedule has no such job */
    bool prepare_fails, launch_fails;
    bool submitted, launched, all_launched, has_reason, killed, draining, over;
    bool part_launched[LAUNCH_DAEMONS], part_drained[LAUNCH_DAEMONS];
    bool absent[LAUNCH_DAEMONS]; /* it has no part there: the daemon was lost before the job came,
                                  * or was added later */
    uint32_t rank_count, daemon_of[LAUNCH_RANKS];
    bool ended[LAUNCH_RANKS];
    uint32_t pids[LAUNCH_RANKS];
    uint32_t culprit;        /* the rank that is the reason; UINT32_MAX: none is */
    int after[LAUNCH_RANKS]; /* the wait status of those that ended after the reason; else 0 */
    bool joined, output_lost;
    uint32_t stranger; /* UINT32_MAX: none */
    int code;
    unsigned interrupts;
    uint32_t unkilled;
    uint64_t held;
    uint64_t limit_us, launch_us, grace_us, drain_us; /* deadlines; 0: none */
    struct launch_acts acts;
};

enum rules_loss { RULES_LIVES, RULES_UNEXPLAINED, RULES_LOST };

struct rules {
    uint32_t count, radix;
    struct dvm_limits limits;
    bool slurm, together;
    bool started, asked, known, stands, closed;
    bool home[LAUNCH_DAEMONS], wired[LAUNCH_DAEMONS], said[LAUNCH_DAEMONS],
        forgotten[LAUNCH_DAEMONS];
    enum rules_loss lost[LAUNCH_DAEMONS];
    char why[LAUNCH_DAEMONS][128];
    uint64_t homeless_us[LAUNCH_DAEMONS]; /* deadlines */
    uint64_t start_us;
    unsigned forgets, exits_each, exits_tree, announces, joins;
    /* Daemons are added, from this one on: all are home or lost; what is needed of their topologies
     * is known, and the others are told; all of these know. */
    uint32_t added;
    bool growing, examined, announced, joining, knows[LAUNCH_DAEMONS];
    uint64_t now_us;
    struct rules_job jobs[LAUNCH_JOBS];
};

#define RULES_SAID "task 0: Killed"

/* In a tree of this radix without those that were forgotten; UINT32_MAX: the root. */
uint32_t launch_parent(uint32_t radix, const bool *forgotten, uint32_t vpid);
bool rules_runs(const struct rules_job *job);

/* Deadlines that are over before now or, if that too, now. */
void rules_advance(struct rules *rules, uint64_t now_us, bool now_too);
/* The schedule has no such job after all. */
void rules_drop(struct rules *rules, uint32_t job);
void rules_submit(struct rules *rules, uint32_t job);
void rules_start(struct rules *rules);
void rules_home(struct rules *rules, uint32_t vpid);
void rules_known(struct rules *rules);
void rules_wired(struct rules *rules, uint32_t vpid);
/* So many daemons are added. */
void rules_grow(struct rules *rules, uint32_t count);
void rules_has_grown(struct rules *rules, uint32_t vpid);
/* Ranks are added there. */
void rules_join_daemon(struct rules *rules, uint32_t job, uint32_t vpid);
bool rules_needs_link(const struct rules *rules, uint32_t vpid, bool closed);
void rules_lost(struct rules *rules, uint32_t vpid, const char *why);
void rules_explained(struct rules *rules);
void rules_fail(struct rules *rules, uint32_t job, int code, const char *text);
void rules_dry(struct rules *rules, uint32_t job);
void rules_launched(struct rules *rules, uint32_t job, uint32_t vpid);
void rules_drained(struct rules *rules, uint32_t job, uint32_t vpid);
void rules_unable(struct rules *rules, uint32_t job, uint32_t vpid, const char *text);
void rules_exited(struct rules *rules, uint32_t job, uint32_t rank, const struct rank_end *end);
void rules_unstarted(struct rules *rules, uint32_t job, uint32_t rank, int code, const char *text);
void rules_joined(struct rules *rules, uint32_t job);
void rules_aborted(struct rules *rules, uint32_t job, uint32_t rank, uint32_t pid, int status);
void rules_signal(struct rules *rules, uint32_t job, int signal);
void rules_output_lost(struct rules *rules, uint32_t job);

#endif
