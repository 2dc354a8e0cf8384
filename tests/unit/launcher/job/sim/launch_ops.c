/* What production's objects ask for, and how the world answers. */
#include <config.h>

#include <signal.h>
#include <stdio.h>
#include <tests/unit/launcher/job/sim/launch_state.h>

enum { SOON_US = 200000, SETTLING_US = 800000, RANK_US = 1500000 };

static void set(struct launch *launch, struct launch_timer *timer, uint64_t wait_us,
                enum launch_event event, uint32_t who)
{
    timer->runs = true;
    timer->due_us = launch->queue.now + wait_us;
    timer->start++;
    sim_at(&launch->queue, timer->due_us, event, (int) who, (void *) timer->start);
}

static void stop(struct launch *launch, struct launch_timer *timer)
{
    if (launch->without != LAUNCH_NO_STOP) {
        timer->runs = false;
    }
}

/* --- the daemons --- */

static void set_dvm_timer(void *arg, enum dvm_timer timer, uint64_t wait_us)
{
    struct launch *launch = arg;
    set(launch, &launch->timers[timer], wait_us, ON_DVM_TIMER, timer);
}

static void stop_dvm_timer(void *arg, enum dvm_timer timer)
{
    struct launch *launch = arg;
    stop(launch, &launch->timers[timer]);
}

/* Of silence: tests/unit/launcher/job/test-silence. */
static void tell_of_silence(void *arg, const char *text)
{
    struct launch *launch = arg;
    if (launch->rules.closed) {
        launch_violated(launch, "the daemons have ended, and the user is told \"%s\"", text);
    }
}

static void came_home(void *arg, uint32_t vpid)
{
    struct launch *launch = arg;
    if (!launch->alive[vpid]) {
        launch_violated(launch, "%u came home and was dead", vpid);
    }
}

static void ask_topologies(void *arg)
{
    struct launch *launch = arg;
    if (launch_chance(launch, 2)) {
        launch_later(launch, 0, ON_KNOWN, 0, 0);
    } else {
        launch_report_later(launch, launch->rules.limits.home_us, ON_KNOWN, 0, 0);
    }
}

static void wire(void *arg, uint32_t vpid, uint32_t parent)
{
    struct launch *launch = arg;
    if (parent == 0 || !launch->dvm.daemons[parent].node) {
        launch_violated(launch, "%u is sent to %u", vpid, parent);
    }
    launch_report_later(launch, launch->rules.limits.home_us, ON_WIRED, 0, vpid);
}

static void announce(void *arg)
{
    struct launch *launch = arg;
    launch->announces++;
    for (uint32_t vpid = 0; vpid < launch->dvm.added; vpid++) {
        if (!dvm_is_lost(&launch->dvm, vpid)) {
            launch_report_later(launch, launch->rules.limits.home_us, ON_GROWN, 0, vpid);
        }
    }
}

static void join(void *arg, uint32_t vpid)
{
    struct launch *launch = arg;
    uint32_t parent = launch_parent(launch->rules.radix, launch->forgotten, vpid);
    uint8_t state = launch->dvm.daemons[parent].state;
    launch->joins++;
    if (state != DAEMON_WIRED && state != DAEMON_GROWING) {
        launch_violated(launch, "%u joins below %u, which is not linked", vpid, parent);
    }
    launch_report_later(launch, launch->rules.limits.home_us, ON_WIRED, 0, vpid);
}

static uint32_t parent_of(void *arg, uint32_t vpid)
{
    const struct launch *launch = arg;
    return launch_parent(launch->rules.radix, launch->forgotten, vpid);
}

static void forget(void *arg, uint32_t lost)
{
    struct launch *launch = arg;
    launch->forgets++;
    launch->forgotten[lost] = true;
    for (uint32_t vpid = lost + 1; vpid < launch->dvm.count; vpid++) {
        if (launch->dvm.daemons[vpid].homeless_until > 0 && launch->alive[vpid]) {
            launch_report_later(launch, launch->rules.limits.repair_us, ON_REHOMED, 0, vpid);
        }
    }
}

static void exit_all(void *arg, bool by_tree)
{
    struct launch *launch = arg;
    launch->exits_tree += by_tree;
    launch->exits_each += !by_tree;
}

static bool start_together(void *arg)
{
    const struct launch *launch = arg;
    return launch->rules.together;
}

static void read_reasons(void *arg)
{
    (void) arg;
}

static bool awaits_reason(void *arg, bool wait)
{
    struct launch *launch = arg;
    if (!wait) {
        dvm_explained(&launch->dvm);
        return false;
    }
    if (launch->rules.slurm && !launch->explaining) {
        launch->explaining = true;
        sim_at(&launch->queue, launch->queue.now + SETTLING_US, ON_EXPLAINED, 0, NULL);
    }
    return launch->rules.slurm;
}

static const char *explain(void *arg, uint32_t vpid, const char *why, char *text, size_t size)
{
    const struct launch *launch = arg;
    const char *said = launch->dvm.daemons[vpid].said;
    snprintf(text, size, "%s%s", said ? "srun says: " : "", said ? said : why);
    return text;
}

const struct dvm_ops launch_dvm_ops = {
    .set_timer = set_dvm_timer,
    .stop_timer = stop_dvm_timer,
    .tell = tell_of_silence,
    .came_home = came_home,
    .ask_topologies = ask_topologies,
    .wire = wire,
    .announce = announce,
    .join = join,
    .parent = parent_of,
    .forget = forget,
    .exit = exit_all,
    .start_together = start_together,
    .read_reasons = read_reasons,
    .awaits_reason = awaits_reason,
    .explain = explain,
};

/* --- a job --- */

static void set_job_timer(void *arg, enum job_timer timer, uint64_t wait_us)
{
    struct launch_job *own = arg;
    set(own->launch, &own->timers[timer], wait_us, ON_JOB_TIMER, own->number << 8 | timer);
}

static void stop_job_timer(void *arg, enum job_timer timer)
{
    struct launch_job *own = arg;
    stop(own->launch, &own->timers[timer]);
}

static void tell(void *arg, const char *text)
{
    struct launch_job *own = arg;
    launch_acts_tell(&own->acts, text);
}

static struct rules_job *rules_of(struct launch_job *own)
{
    return &own->launch->rules.jobs[own->number];
}

static void prepare(void *arg)
{
    struct launch_job *own = arg;
    if (rules_of(own)->prepare_fails) {
        job_fail(&own->job, 125, "not prepared");
    }
}

static uint32_t daemon_of(void *arg, uint32_t rank)
{
    struct launch_job *own = arg;
    return rules_of(own)->daemon_of[rank];
}

static const char *program(void *arg, uint32_t rank)
{
    (void) arg;
    (void) rank;
    return "prog";
}

/* A daemon of the job does what it is told: its ranks start, and end some time. */
static void launch_part(struct launch_job *own, uint32_t vpid)
{
    struct launch *launch = own->launch;
    bool unable = launch->troubles.unable && launch_chance(launch, 6);
    if (unable) {
        launch_later(launch, SOON_US, ON_UNABLE, own->number, vpid);
    }
    launch_report_later(launch, own->job.limits.launch_us, ON_LAUNCHED, own->number, vpid);
    for (uint32_t rank = 0; rank < own->job.rank_count; rank++) {
        if (daemon_of(own, rank) == vpid && !unable) {
            own->fates[rank].exists = true;
            launch_later(launch, RANK_US, ON_EXIT, own->number, rank);
        }
    }
}

static void launch_job(void *arg)
{
    struct launch_job *own = arg;
    struct launch *launch = own->launch;
    own->acts.launches++;
    for (uint32_t vpid = 0; vpid < launch->dvm.count; vpid++) {
        uint8_t state = launch->dvm.daemons[vpid].state;
        if (launch_joins(launch, vpid)) {
            continue;
        }
        if (state < DAEMON_WIRED) {
            launch_violated(launch, "launched, and %u is not linked", vpid);
        }
        if (state < DAEMON_UNEXPLAINED && !rules_of(own)->launch_fails) {
            launch_part(own, vpid);
        }
    }
    if (rules_of(own)->launch_fails) {
        job_fail(&own->job, 125, "not launched");
    }
}

static void launched(void *arg)
{
    (void) arg;
}

/* Ranks that a signal reaches end by it, or not. */
static void end_ranks(struct launch_job *own, int signal, bool survive, uint64_t within_us)
{
    struct launch *launch = own->launch;
    for (uint32_t rank = 0; rank < own->job.rank_count; rank++) {
        struct launch_fate *fate = &own->fates[rank];
        const struct dvm_daemon *daemon = &launch->dvm.daemons[daemon_of(own, rank)];
        if (fate->exists && !fate->gone && daemon->homeless_until == 0 &&
            !(survive && launch_chance(launch, 3))) {
            fate->wait_status = signal;
            fate->starts = true;
            launch_later(launch, within_us, ON_EXIT, own->number, rank);
        }
    }
}

static void signal_ranks(void *arg, int signal, enum job_starts starts)
{
    struct launch_job *own = arg;
    if (starts == STARTS_GO_ON) {
        own->acts.signals++;
    } else if (signal != SIGCONT) {
        own->acts.ends++;
        own->acts.end_signal = signal;
        end_ranks(own, signal, own->launch->troubles.deaf, SOON_US);
    }
}

static void kill_ranks(void *arg)
{
    struct launch_job *own = arg;
    own->acts.kills++;
    own->launch->report->kills++;
    end_ranks(own, SIGKILL, own->launch->troubles.immortal, SOON_US * 20);
}

static void drain(void *arg)
{
    struct launch_job *own = arg;
    struct launch *launch = own->launch;
    own->acts.drains++;
    for (uint32_t vpid = 0; vpid < launch->dvm.count; vpid++) {
        if (!dvm_is_lost(&launch->dvm, vpid)) {
            launch_report_later(launch, 5000000, ON_DRAINED, own->number, vpid);
        }
    }
}

static void ended(void *arg, uint32_t vpid, uint32_t rank)
{
    struct launch_job *own = arg;
    (void) vpid;
    (void) rank;
    own->acts.ended++;
}

static void part_lost(void *arg, uint32_t vpid)
{
    struct launch_job *own = arg;
    (void) vpid;
    own->acts.parts_lost++;
}

static void grown(void *arg)
{
    struct launch_job *own = arg;
    own->acts.grown++;
}

void launch_close(struct launch *launch)
{
    for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
        if (launch->rules.jobs[i].exists && launch->jobs[i].job.phase != JOB_DONE) {
            return;
        }
    }
    dvm_close(&launch->dvm);
}

static void over(void *arg)
{
    struct launch_job *own = arg;
    own->acts.overs++;
    launch_close(own->launch);
}

static void hurry(void *arg)
{
    struct launch_job *own = arg;
    own->acts.hurries++;
}

const struct job_ops launch_job_ops = {
    .set_timer = set_job_timer,
    .stop_timer = stop_job_timer,
    .tell = tell,
    .prepare = prepare,
    .launch = launch_job,
    .launched = launched,
    .signal = signal_ranks,
    .kill = kill_ranks,
    .drain = drain,
    .ended = ended,
    .part_lost = part_lost,
    .grown = grown,
    .over = over,
    .hurry = hurry,
    .daemon_of = daemon_of,
    .program = program,
};
