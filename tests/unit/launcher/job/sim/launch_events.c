/* What happens in the world: each event is told to production's objects and to the rules. */
#include <config.h>

#include <signal.h>
#include <stdio.h>
#include <tests/unit/launcher/job/sim/launch_state.h>

enum { TOGETHER_US = 2000, NOTICE_US = 300000, AGAIN_US = 300000, RANKS_MAX = 12, SPAWNED_MAX = 3 };

#define UNSTARTED "cannot start prog"
#define GONE "its link is down"

/* --- daemons --- */

/* The head's own link to it breaks, or is closed: is it lost? */
static bool is_needed(struct launch *launch, uint32_t vpid, bool closed)
{
    bool needs = dvm_needs_link(&launch->dvm, vpid, closed);
    if (needs != rules_needs_link(&launch->rules, vpid, closed)) {
        launch_violated(launch, "the link to %u is %s when it is %s", vpid,
                        needs ? "needed" : "not needed", closed ? "closed" : "broken");
    }
    return needs;
}

/* Its parent notices, once it is linked to that, and until then the head. */
static void notice(struct launch *launch, uint32_t vpid)
{
    bool child = launch_parent(launch->rules.radix, launch->forgotten, vpid) == 0;
    if (vpid == 0 && !launch->rules.started) {
        return;
    }
    if (launch->without == LAUNCH_NO_LOSS_AT_THE_END && launch->jobs[0].job.phase == JOB_DRAINING) {
        return;
    }
    bool own = child || (launch->rules.home[vpid] && !launch->rules.wired[vpid]);
    if (own && vpid > 0 && !is_needed(launch, vpid, false)) {
        return;
    }
    dvm_lost(&launch->dvm, vpid, GONE, launch->queue.now);
    rules_lost(&launch->rules, vpid, GONE);
    launch->report->losses++;
}

/* A daemon that has not called home has no links that could break: its agent may say something, or
 * nobody does. */
static void die(struct launch *launch, uint32_t vpid)
{
    launch->alive[vpid] = false;
    launch->report->deaths++;
    if (launch->rules.slurm && launch_chance(launch, 2)) {
        launch_later(launch, 0, ON_SAID, 0, vpid);
    }
    if (launch->dvm.daemons[vpid].state != DAEMON_STARTING || launch_chance(launch, 3)) {
        launch_later(launch, NOTICE_US, ON_NOTICE, 0, vpid);
        if (launch->troubles.twice && launch_chance(launch, 2)) {
            launch_later(launch, NOTICE_US, ON_NOTICE, 0, vpid);
        }
    } else if (launch_chance(launch, 2)) {
        launch_later(launch, NOTICE_US, ON_AGENT, 0, vpid);
    }
}

static void agent_fails(struct launch *launch, uint32_t vpid)
{
    char text[64];
    snprintf(text, sizeof(text), "node n%u: its agent ended with code 255", vpid);
    if (vpid >= launch->first) {
        if (!launch->rules.home[vpid]) {
            dvm_lost(&launch->dvm, vpid, text, launch->queue.now);
            rules_lost(&launch->rules, vpid, text);
        }
        return;
    }
    for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
        if (launch->rules.jobs[i].submitted && !launch->rules.home[vpid]) {
            job_fail(&launch->jobs[i].job, 125, "%s", text);
            rules_fail(&launch->rules, i, 125, text);
        }
    }
}

static void grow(struct launch *launch)
{
    static const char *const nodes[LAUNCH_DAEMONS] = {"n0", "n1", "n2", "n3",
                                                      "n4", "n5", "n6", "n7"};
    struct rules *rules = &launch->rules;
    uint32_t first = launch->dvm.count, count = launch_below(launch, 4);
    bool can = rules->stands && !rules->growing && !rules->closed;
    if (first + count > LAUNCH_DAEMONS) {
        return;
    }
    if ((dvm_grow(&launch->dvm, nodes + first, count) == ORTE_SUCCESS) != can) {
        launch_violated(launch, can ? "it does not grow" : "it grows");
    }
    if (can) {
        rules_grow(rules, count);
        launch->report->added += count;
    }
    for (uint32_t vpid = first; can && vpid < first + count; vpid++) {
        launch->alive[vpid] = true;
        launch_plan_daemon(launch, vpid);
    }
}

static void daemon_event(struct launch *launch, enum launch_event event, uint32_t vpid)
{
    struct dvm *dvm = &launch->dvm;
    uint64_t now = launch->queue.now;
    switch (event) {
    case ON_HOME:
        if (launch->alive[vpid]) {
            dvm_home(dvm, vpid);
            rules_home(&launch->rules, vpid);
        }
        break;
    case ON_WIRED:
        if (launch->alive[vpid]) {
            (void) is_needed(launch, vpid, true); /* it has closed its link home */
            dvm_wired(dvm, vpid);
            rules_wired(&launch->rules, vpid);
        }
        break;
    case ON_GROWN:
        if (launch->alive[vpid]) {
            dvm_has_grown(dvm, vpid);
            rules_has_grown(&launch->rules, vpid);
        }
        break;
    case ON_REHOMED:
        if (launch->alive[vpid] && !dvm_is_lost(dvm, vpid)) {
            dvm_rehomed(dvm, vpid, now);
            launch->rules.homeless_us[vpid] = 0;
        }
        break;
    case ON_SAID:
        dvm_said(dvm, vpid, RULES_SAID);
        launch->rules.said[vpid] = true;
        break;
    default:
        dvm_silent(dvm, vpid, event == ON_SILENT, now);
        launch->report->silences++;
        break;
    }
}

/* --- jobs --- */

/* May ranks go there? */
static bool takes_ranks(const struct launch *launch, uint32_t vpid)
{
    return !dvm_is_lost(&launch->dvm, vpid) && !launch_joins(launch, vpid);
}

/* Where a rank goes: a daemon that takes some, as one at least does (submit, spawn). */
static uint32_t place(struct launch *launch)
{
    uint32_t vpid = launch_below(launch, launch->dvm.count);
    while (!takes_ranks(launch, vpid)) {
        vpid = (vpid + 1) % launch->dvm.count;
    }
    return vpid;
}

static bool has_room(const struct launch *launch, const struct launch_job *own, uint32_t count)
{
    bool any = false;
    for (uint32_t vpid = 0; vpid < launch->dvm.count; vpid++) {
        any |= takes_ranks(launch, vpid);
    }
    return any && launch->rules.jobs[own->number].rank_count + count <= LAUNCH_RANKS;
}

void launch_draw_fate(struct launch *launch, struct launch_fate *fate)
{
    bool bad = launch->troubles.bad_ranks && launch_chance(launch, 4);
    uint32_t how = launch_below(launch, 6);
    *fate = (struct launch_fate){.finalizes = true, .starts = true, .joined = true};
    if (bad) {
        fate->wait_status = how == 0 ? SIGSEGV : how == 1 ? 3 << 8 : 0;
        fate->finalizes = how != 2;
        fate->starts = how != 3;
        fate->joined = how != 4;
    }
}

static void add_ranks(struct launch *launch, struct launch_job *own, uint32_t count)
{
    struct rules_job *rules = &launch->rules.jobs[own->number];
    if (job_add_ranks(&own->job, count) != ORTE_SUCCESS) {
        launch_violated(launch, "no memory");
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        rules->daemon_of[rules->rank_count] = place(launch);
        launch_draw_fate(launch, &own->fates[rules->rank_count]);
        rules->rank_count++;
    }
}

static void spawn(struct launch *launch, struct launch_job *own)
{
    uint32_t first = own->job.rank_count;
    if (!job_runs(&own->job) || !has_room(launch, own, SPAWNED_MAX)) {
        return;
    }
    add_ranks(launch, own, 1 + launch_below(launch, SPAWNED_MAX));
    for (uint32_t rank = first; rank < own->job.rank_count; rank++) {
        uint32_t vpid = launch->rules.jobs[own->number].daemon_of[rank];
        own->fates[rank].exists = true;
        job_join_daemon(&own->job, vpid);
        rules_join_daemon(&launch->rules, own->number, vpid);
        launch_later(launch, AGAIN_US, ON_EXIT, own->number, rank);
    }
}

/* The first job has the daemons started. One that comes later finds them standing, or is none. */
static void submit(struct launch *launch, struct launch_job *own)
{
    struct rules *rules = &launch->rules;
    bool first = !rules->started;
    if (own->job.phase != JOB_IDLE) {
        return;
    }
    if ((!first && !rules->stands && launch->queue.now > TOGETHER_US) ||
        !has_room(launch, own, RANKS_MAX)) {
        rules_drop(rules, own->number);
        launch_close(launch);
        return;
    }
    add_ranks(launch, own, 1 + launch_below(launch, RANKS_MAX));
    if (job_submit(&own->job, &rules->jobs[own->number].limits) != ORTE_SUCCESS) {
        launch_violated(launch, "no memory");
    }
    rules_submit(rules, own->number);
    if (first) {
        rules_start(rules);
        dvm_start(&launch->dvm, &rules->limits);
    }
}

static uint32_t pid_of(uint32_t rank)
{
    return 1000 + rank;
}

static void exits(struct launch *launch, struct launch_job *own, uint32_t rank)
{
    struct launch_fate *fate = &own->fates[rank];
    uint32_t vpid = launch->rules.jobs[own->number].daemon_of[rank];
    bool again = fate->gone && !(launch->troubles.twice && launch_chance(launch, 2));
    if (!fate->exists || again || (!launch->alive[vpid] && launch_chance(launch, 2))) {
        return;
    }
    fate->gone = true;
    if (!fate->starts) {
        job_rank_unstarted(&own->job, rank, 127, UNSTARTED);
        rules_unstarted(&launch->rules, own->number, rank, 127, UNSTARTED);
        return;
    }
    const char *missing = fate->finalizes ? "" : "MPI_Finalize";
    struct rank_end end = {.pid = pid_of(rank),
                           .wait_status = fate->wait_status,
                           .joined = fate->joined,
                           .missing = missing,
                           .call = "",
                           .core = ""};
    job_rank_exited(&own->job, rank, &end);
    rules_exited(&launch->rules, own->number, rank, &end);
    if (launch->troubles.twice && launch_chance(launch, 3)) {
        fate->wait_status = 7 << 8;
        launch_later(launch, AGAIN_US, ON_EXIT, own->number, rank);
    }
}

static void aborts(struct launch *launch, struct launch_job *own)
{
    uint32_t rank = launch_below(launch, own->job.rank_count);
    uint32_t vpid = launch->rules.jobs[own->number].daemon_of[rank];
    int status = (int) launch_below(launch, 3) * 128;
    if (!job_has_ranks(&own->job) || dvm_is_lost(&launch->dvm, vpid)) {
        return;
    }
    job_rank_aborted(&own->job, rank, pid_of(rank), status, "enough");
    rules_aborted(&launch->rules, own->number, rank, pid_of(rank), status);
}

static void from_user(struct launch *launch, struct launch_job *own, int signal)
{
    job_signal(&own->job, signal);
    rules_signal(&launch->rules, own->number, signal);
    launch->report->interrupts++;
}

static void part_event(struct launch *launch, struct launch_job *own, enum launch_event event,
                       uint32_t vpid)
{
    if (!launch->alive[vpid] && launch_chance(launch, 2)) {
        return;
    }
    if (event == ON_LAUNCHED) {
        job_launched(&own->job, vpid);
        rules_launched(&launch->rules, own->number, vpid);
    } else if (event == ON_DRAINED) {
        job_drained(&own->job, vpid);
        rules_drained(&launch->rules, own->number, vpid);
    } else if (!dvm_is_lost(&launch->dvm, vpid)) {
        job_unable(&own->job, vpid, 0, own->job.rank_count, "no room");
        rules_unable(&launch->rules, own->number, vpid, "no room");
    }
}

static void job_event(struct launch *launch, struct launch_job *own, enum launch_event event,
                      uint32_t number)
{
    struct rules *rules = &launch->rules;
    if (!rules->jobs[own->number].exists) {
        return;
    }
    switch (event) {
    case ON_SUBMIT:
        submit(launch, own);
        break;
    case ON_EXIT:
        exits(launch, own, number);
        break;
    case ON_SIGNAL:
        from_user(launch, own, (int) number);
        break;
    case ON_JOIN:
        if (job_has_ranks(&own->job)) {
            job_rank_joined(&own->job, "MPI_Init");
            rules_joined(rules, own->number);
        }
        break;
    case ON_ABORT:
        aborts(launch, own);
        break;
    case ON_SPAWN:
        spawn(launch, own);
        break;
    case ON_NO_MEMORY:
        if (own->job.phase != JOB_DONE) {
            job_output_lost(&own->job);
            rules_output_lost(rules, own->number);
        }
        break;
    case ON_DRY:
        job_end_dry(&own->job);
        rules_dry(rules, own->number);
        break;
    case ON_EARLY_FAILURE:
        job_fail(&own->job, 2, "no such node");
        rules_fail(rules, own->number, 2, "no such node");
        break;
    default:
        part_event(launch, own, event, number);
        break;
    }
}

static void timer_event(struct launch *launch, const struct sim_event *event)
{
    struct launch_job *own = &launch->jobs[event->who >> 8];
    bool of_job = event->kind == ON_JOB_TIMER;
    int number = event->who & 0xff;
    struct launch_timer *timer = of_job ? &own->timers[number] : &launch->timers[number];
    if (!timer->runs || timer->start != (uintptr_t) event->what) {
        return;
    }
    timer->runs = false;
    if (of_job) {
        job_timer(&own->job, (enum job_timer) number, launch->queue.now);
    } else {
        dvm_timer(&launch->dvm, (enum dvm_timer) number, launch->queue.now);
    }
}

void launch_happen(struct launch *launch, const struct sim_event *event)
{
    uint32_t number = event->who & 0xff;
    bool timer = event->kind == ON_DVM_TIMER || event->kind == ON_JOB_TIMER;
    rules_advance(&launch->rules, event->at, timer);
    switch (event->kind) {
    case ON_DVM_TIMER:
    case ON_JOB_TIMER:
        timer_event(launch, event);
        break;
    case ON_KNOWN:
        dvm_topologies_known(&launch->dvm);
        rules_known(&launch->rules);
        break;
    case ON_EXPLAINED:
        launch->explaining = false;
        dvm_explained(&launch->dvm);
        rules_explained(&launch->rules);
        break;
    case ON_DEATH:
        die(launch, number);
        break;
    case ON_NOTICE:
        notice(launch, number);
        break;
    case ON_AGENT:
        agent_fails(launch, number);
        break;
    case ON_GROW:
        grow(launch);
        break;
    case ON_HOME:
    case ON_WIRED:
    case ON_GROWN:
    case ON_REHOMED:
    case ON_SAID:
    case ON_SILENT:
    case ON_HEARD:
        daemon_event(launch, (enum launch_event) event->kind, number);
        break;
    default:
        job_event(launch, &launch->jobs[event->who >> 8], (enum launch_event) event->kind, number);
        break;
    }
}
