#include <config.h>

#include <launcher/job/job_parts.h>

#include <base/data/array.h>
#include <launcher/request/run_request.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define UNKILLABLE_US 3000000u /* after SIGKILL */
#define DRAIN_US 5000000u      /* for the last output of a job that failed */

/* --- the phases --- */

enum job_action {
    ACT_AWAIT,
    ACT_LAUNCH,
    ACT_RUN,
    ACT_TERMINATE,
    ACT_KILL,
    ACT_WAIT_KILLED,
    ACT_DRAIN,
    ACT_GIVE_UP_RANKS,
    ACT_GIVE_UP_OUTPUT,
    ACT_FINISH,
    ACT_HURRY,
};

static const char *const phases[] = {"idle",   "waiting", "launching", "running",
                                     "ending", "killing", "draining",  "done"};
static const char *const events[] = {"submitted",         "daemons stand", "dry run",
                                     "all launched",      "fails",         "interrupted",
                                     "interrupted again", "grace over",    "unkillable",
                                     "all ended",         "drain over",    "all drained"};
static const char *const actions[] = {
    "wait for daemons", "launch",           "stop the launch's deadline",
    "end ranks",        "kill ranks",       "kill or wait on",
    "drain output",     "give up on ranks", "give up on output",
    "finish",           "exit at once"};
static const struct fsm_row rows[] = {
    {JOB_IDLE, JOB_IS_SUBMITTED, JOB_WAITING, ACT_AWAIT},
    {JOB_IDLE, JOB_IS_DRY, JOB_DONE, ACT_FINISH},
    {JOB_IDLE, JOB_FAILS, JOB_DONE, ACT_FINISH},
    {JOB_IDLE, JOB_IS_INTERRUPTED, JOB_DONE, ACT_FINISH},
    {JOB_WAITING, JOB_HAS_DAEMONS, JOB_LAUNCHING, ACT_LAUNCH},
    {JOB_WAITING, JOB_IS_DRY, JOB_DONE, ACT_FINISH},
    {JOB_WAITING, JOB_FAILS, JOB_DONE, ACT_FINISH},
    {JOB_WAITING, JOB_IS_INTERRUPTED, JOB_DONE, ACT_FINISH},
    {JOB_LAUNCHING, JOB_ALL_LAUNCHED, JOB_RUNNING, ACT_RUN},
    {JOB_LAUNCHING, JOB_FAILS, JOB_ENDING, ACT_TERMINATE},
    {JOB_LAUNCHING, JOB_IS_INTERRUPTED, JOB_ENDING, ACT_TERMINATE},
    {JOB_RUNNING, JOB_ALL_ENDED, JOB_DRAINING, ACT_DRAIN},
    {JOB_RUNNING, JOB_FAILS, JOB_ENDING, ACT_TERMINATE},
    {JOB_RUNNING, JOB_IS_INTERRUPTED, JOB_ENDING, ACT_TERMINATE},
    {JOB_ENDING, JOB_ALL_ENDED, JOB_DRAINING, ACT_DRAIN},
    {JOB_ENDING, JOB_GRACE_OVER, JOB_KILLING, ACT_KILL},
    {JOB_ENDING, JOB_IS_PRESSED, JOB_KILLING, ACT_KILL},
    {JOB_KILLING, JOB_ALL_ENDED, JOB_DRAINING, ACT_DRAIN},
    {JOB_KILLING, JOB_GRACE_OVER, JOB_KILLING, ACT_WAIT_KILLED},
    {JOB_KILLING, JOB_IS_PRESSED, JOB_KILLING, ACT_KILL},
    {JOB_KILLING, JOB_UNKILLABLE, JOB_DONE, ACT_GIVE_UP_RANKS},
    {JOB_DRAINING, JOB_ALL_DRAINED, JOB_DONE, ACT_FINISH},
    {JOB_DRAINING, JOB_DRAIN_OVER, JOB_DONE, ACT_GIVE_UP_OUTPUT},
    {JOB_DRAINING, JOB_IS_PRESSED, JOB_DONE, ACT_FINISH},
    {JOB_DONE, JOB_IS_PRESSED, JOB_DONE, ACT_HURRY},
};
const struct fsm job_fsm = {
    .of = "job",
    .changes = LOG_INFO,
    .states = phases,
    .events = events,
    .actions = actions,
    .rows = rows,
    .row_count = sizeof(rows) / sizeof(*rows),
};

static void set_timer(struct job *job, enum job_timer timer, uint64_t wait_us)
{
    job->ops->set_timer(job->arg, timer, wait_us);
}

static void stop_timer(struct job *job, enum job_timer timer)
{
    job->ops->stop_timer(job->arg, timer);
}

static void await(struct job *job)
{
    uint64_t limit_us = (uint64_t) job->limits.timeout_s * 1000000u;
    if (limit_us > 0) {
        uint64_t waited_us = job->limits.waited_us;
        set_timer(job, JOB_TIMER_LIMIT, limit_us > waited_us ? limit_us - waited_us : 1);
    }
}

static void launch(struct job *job)
{
    set_timer(job, JOB_TIMER_LAUNCH, job->limits.launch_us);
    job->ops->launch(job->arg);
    for (int signal = 1; signal < 64 && job_runs(job); signal++) {
        if (job->held & (UINT64_C(1) << signal)) {
            job->ops->signal(job->arg, signal, STARTS_GO_ON);
        }
    }
    job_check(job);
}

static void run(struct job *job)
{
    stop_timer(job, JOB_TIMER_LAUNCH);
    job->ops->launched(job->arg);
}

static void terminate(struct job *job)
{
    stop_timer(job, JOB_TIMER_LAUNCH);
    job->ops->signal(job->arg, job->end.signal, STARTS_END);
    job->ops->signal(job->arg, SIGCONT, STARTS_END);
    set_timer(job, JOB_TIMER_GRACE, job->end.grace_us);
    job_check(job);
}

static void wait_on(struct job *job)
{
    job->end.unkilled = job->unended;
    set_timer(job, JOB_TIMER_GRACE, UNKILLABLE_US);
}

static void kill_ranks(struct job *job)
{
    job->ops->kill(job->arg);
    wait_on(job);
}

static void wait_killed(struct job *job)
{
    if (job->unended < job->end.unkilled) { /* there are many, or the machine is busy */
        wait_on(job);
    } else {
        job_take(job, JOB_UNKILLABLE);
    }
}

static void drain(struct job *job)
{
    stop_timer(job, JOB_TIMER_GRACE);
    job_tell_followers(job);
    if (job->end.exit_code != 0) {
        set_timer(job, JOB_TIMER_DRAIN, DRAIN_US);
    }
    job->ops->drain(job->arg);
}

static void finish(struct job *job)
{
    for (int timer = 0; timer < JOB_TIMERS; timer++) {
        stop_timer(job, (enum job_timer) timer);
    }
    job->ops->over(job->arg);
}

static void give_up_ranks(struct job *job)
{
    char text[96];
    snprintf(text, sizeof(text), "%u ranks do not end although they were killed", job->unended);
    job->ops->tell(job->arg, text);
    finish(job);
}

static void give_up_output(struct job *job)
{
    job->ops->tell(job->arg, "some output of the ranks may be missing");
    finish(job);
}

static void hurry(struct job *job)
{
    job->ops->hurry(job->arg);
}

void job_take(struct job *job, enum job_event event)
{
    static void (*const acts[])(struct job *) = {
        [ACT_AWAIT] = await,
        [ACT_LAUNCH] = launch,
        [ACT_RUN] = run,
        [ACT_TERMINATE] = terminate,
        [ACT_KILL] = kill_ranks,
        [ACT_WAIT_KILLED] = wait_killed,
        [ACT_DRAIN] = drain,
        [ACT_GIVE_UP_RANKS] = give_up_ranks,
        [ACT_GIVE_UP_OUTPUT] = give_up_output,
        [ACT_FINISH] = finish,
        [ACT_HURRY] = hurry,
    };
    int action = fsm_take(job->fsm, &job->phase, (uint8_t) event, "", job->watch);
    if (action >= 0) {
        acts[action](job);
    }
}

void job_check(struct job *job)
{
    const uint32_t *in = job->in_part;
    if (in[PART_PENDING] == 0) {
        job_take(job, JOB_ALL_LAUNCHED);
    }
    if (job->unended == 0 && in[PART_UNEXPLAINED] == 0) {
        job_take(job, JOB_ALL_ENDED);
    }
    if (in[PART_PENDING] + in[PART_LAUNCHED] + in[PART_UNEXPLAINED] == 0) {
        job_take(job, JOB_ALL_DRAINED);
    }
}

bool job_has_ranks(const struct job *job)
{
    return job->phase >= JOB_LAUNCHING && job->phase < JOB_DRAINING;
}

bool job_runs(const struct job *job)
{
    return job->phase == JOB_LAUNCHING || job->phase == JOB_RUNNING;
}

bool job_is_ending(const struct job *job)
{
    return job->phase >= JOB_ENDING;
}

int job_exit_code(const struct job *job)
{
    return job->end.exit_code == 0 && job->end.output_lost ? EXIT_RUNTIME : job->end.exit_code;
}

/* --- events --- */

int job_submit(struct job *job, const struct job_limits *limits)
{
    uint32_t count = job->dvm->count;
    job->parts = calloc((size_t) count + 1, sizeof(*job->parts));
    if (!job->parts) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    job->in_part[PART_ABSENT] = count;
    for (uint32_t vpid = 0; vpid < count; vpid++) {
        bool joins = dvm_grows(job->dvm) && job->dvm->daemons[vpid].state < DAEMON_WIRED;
        if (!joins && !dvm_is_lost(job->dvm, vpid)) {
            job_take_part(job, vpid, PART_BEGINS, NULL);
        }
    }
    job->limits = *limits;
    job->end.signal = SIGTERM;
    job->end.grace_us = limits->abort_grace_us;
    job_take(job, JOB_IS_SUBMITTED);
    if (dvm_stands(job->dvm)) {
        job_stand(job);
    }
    return ORTE_SUCCESS;
}

void job_stand(struct job *job)
{
    if (job->phase == JOB_WAITING) {
        job->ops->prepare(job->arg);
        job_take(job, JOB_HAS_DAEMONS);
    }
}

void job_end_dry(struct job *job)
{
    job_take(job, JOB_IS_DRY);
}

void job_launched(struct job *job, uint32_t vpid)
{
    job_take_part(job, vpid, PART_LAUNCHES, NULL);
}

void job_join_daemon(struct job *job, uint32_t vpid)
{
    job_take_part(job, vpid, PART_JOINS, NULL);
}

void job_drained(struct job *job, uint32_t vpid)
{
    if (job->phase == JOB_DRAINING) {
        job_take_part(job, vpid, PART_DRAINS, NULL);
    }
}

void job_unable(struct job *job, uint32_t vpid, uint32_t first, uint32_t end, const char *text)
{
    job_end_ranks(job, vpid, first, end);
    job_fail(job, EXIT_RUNTIME, "node %s: %s", job->dvm->daemons[vpid].node, text);
    job_check(job);
}

void job_output_lost(struct job *job)
{
    if (!job->end.output_lost) {
        job->ops->tell(job->arg, "no memory for output: some of it is lost");
    }
    job->end.output_lost = true;
}

static bool is_pending(const void *arg, uint32_t vpid)
{
    const struct job *job = arg;
    return job->parts[vpid] == PART_PENDING;
}

/* Starting the ranks takes too long. */
static void late(struct job *job)
{
    uint32_t count;
    char *nodes = dvm_name_nodes(job->dvm, is_pending, job, &count);
    job_fail(job, EXIT_RUNTIME,
             "node%s %s: %s started its ranks within %u s (plm_launch_timeout_s)",
             count == 1 ? "" : "s", nodes ? nodes : "?",
             count == 1 ? "its daemon has not" : "none of their daemons has",
             (unsigned) (job->limits.launch_us / 1000000u));
    free(nodes);
}

void job_timer(struct job *job, enum job_timer timer, uint64_t now_us)
{
    switch (timer) {
    case JOB_TIMER_LIMIT:
        job_fail(job, EXIT_TIMEOUT, "the time limit of %u s is over", job->limits.timeout_s);
        break;
    case JOB_TIMER_LAUNCH:
        late(job);
        break;
    case JOB_TIMER_GRACE:
        if (job->phase == JOB_ENDING) { /* which may end the last ranks */
            dvm_lose_homeless(job->dvm, now_us);
        }
        job_take(job, JOB_GRACE_OVER);
        break;
    default:
        job_take(job, JOB_DRAIN_OVER);
        break;
    }
}

bool job_is_interruptible(const struct job *job)
{
    return fsm_row(job->fsm, job->phase, JOB_IS_INTERRUPTED) != NULL;
}

static void interrupt(struct job *job, int signal)
{
    if (++job->end.interrupts > 1) {
        job_take(job, JOB_IS_PRESSED);
    } else if (job_is_interruptible(job)) {
        job->end.exit_code = 128 + signal;
        job->end.signal = signal;
        job->end.grace_us = job->limits.interrupt_grace_us;
        job_take(job, JOB_IS_INTERRUPTED);
    }
}

void job_signal(struct job *job, int signal)
{
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) {
        interrupt(job, signal);
    } else if (job_has_ranks(job)) {
        job->ops->signal(job->arg, signal, STARTS_GO_ON);
    } else if (job->phase < JOB_LAUNCHING && signal > 0 && signal < 64) {
        job->held |= UINT64_C(1) << signal;
    }
}

/* --- life --- */

void job_init(struct job *job, struct dvm *dvm, const struct job_ops *ops, void *arg)
{
    *job = (struct job){.fsm = &job_fsm, .part_fsm = &job_part_fsm, .dvm = dvm, .ops = ops};
    job->arg = arg;
    job->user.ops = &job_user_ops;
    job->joining.stranger = job->end.culprit = JOB_ALL;
    list_append(&dvm->users, &job->user.link);
}

int job_add_ranks(struct job *job, uint32_t count)
{
    size_t all = (size_t) job->rank_count + count;
    if (!array_extend(&job->ended, job->rank_count, all, sizeof(*job->ended)) ||
        !array_extend(&job->ranks, job->rank_count, all, sizeof(*job->ranks))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    job->rank_count += count;
    job->unended += count;
    return ORTE_SUCCESS;
}

void job_fini(struct job *job)
{
    list_remove(&job->user.link);
    free(job->parts);
    free(job->ended);
    free(job->ranks);
    free(job->joining.call);
    job->parts = NULL;
}
