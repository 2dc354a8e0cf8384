#include <config.h>

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/launcher/job/sim/launch_state.h>

enum { FIRST_US = 1000, HOME_US = 400000, HORIZON_US = 4000000, EVENTS_MAX = 4000 };

static const struct fsm *const machines[] = {&dvm_fsm, &dvm_daemon_fsm, &job_fsm, &job_part_fsm};
enum { OF_DVM, OF_DAEMON, OF_JOB, OF_PART, MACHINES };

/* --- chance and time --- */

uint32_t launch_below(struct launch *launch, uint32_t limit)
{
    return sim_below(&launch->random, limit);
}

bool launch_chance(struct launch *launch, uint32_t one_in)
{
    return launch_below(launch, one_in) == 0;
}

void launch_later(struct launch *launch, uint64_t within_us, enum launch_event event, uint32_t job,
                  uint32_t number)
{
    uint64_t wait_us = within_us ? 1 + launch_below(launch, (uint32_t) within_us) : 1;
    sim_at(&launch->queue, launch->queue.now + wait_us, event, (int) (job << 8 | number), NULL);
}

void launch_report_later(struct launch *launch, uint64_t limit_us, enum launch_event event,
                         uint32_t job, uint32_t number)
{
    bool late = launch->troubles.late && launch_chance(launch, 6);
    bool twice = launch->troubles.twice && launch_chance(launch, 3);
    launch_later(launch, late ? 2 * limit_us : HOME_US / 2, event, job, number);
    if (twice) {
        launch_later(launch, HOME_US, event, job, number);
    }
    launch->report->late += late;
    launch->report->twice += twice;
}

/* --- the judgement --- */

void launch_violated(struct launch *launch, const char *format, ...)
{
    char text[600];
    va_list arguments;
    if (!launch->report->held) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    launch->report->held = false;
    snprintf(launch->report->reason, sizeof(launch->report->reason), "at %llu us, event %d: %s",
             (unsigned long long) launch->queue.now, launch->kind, text);
}

static void compare_timer(struct launch *launch, const char *what, const struct launch_timer *timer,
                          uint64_t deadline_us)
{
    uint64_t due_us = timer->runs ? timer->due_us : 0;
    if (due_us != deadline_us) {
        launch_violated(launch, "%s is due at %llu, and by the rules at %llu", what,
                        (unsigned long long) due_us, (unsigned long long) deadline_us);
    }
}

static void compare_job(struct launch *launch, struct launch_job *own)
{
    const struct rules_job *rules = &launch->rules.jobs[own->number];
    const struct launch_acts *is = &own->acts, *due = &rules->acts;
    if (memcmp(is, due, sizeof(*is)) != 0) {
        launch_violated(
            launch,
            "job %u: launched %u signalled %u ended %u killed %u drained %u told %u "
            "(%u lost) grown %u over %u \"%s\"; by the rules %u %u %u %u %u %u (%u) %u %u "
            "\"%s\"",
            own->number, is->launches, is->signals, is->ends, is->kills, is->drains, is->ended,
            is->parts_lost, is->grown, is->overs, is->line, due->launches, due->signals, due->ends,
            due->kills, due->drains, due->ended, due->parts_lost, due->grown, due->overs,
            due->line);
    }
    compare_timer(launch, "the time limit", &own->timers[JOB_TIMER_LIMIT], rules->limit_us);
    compare_timer(launch, "the launch", &own->timers[JOB_TIMER_LAUNCH], rules->launch_us);
    compare_timer(launch, "the grace", &own->timers[JOB_TIMER_GRACE], rules->grace_us);
    compare_timer(launch, "the drain", &own->timers[JOB_TIMER_DRAIN], rules->drain_us);
    if (!rules->over) {
        return;
    }
    int code = rules->code == 0 && rules->output_lost ? 125 : rules->code;
    if (job_exit_code(&own->job) != code) {
        launch_violated(launch, "job %u ends with %d, and by the rules with %d", own->number,
                        job_exit_code(&own->job), code);
    }
}

static void compare_dvm(struct launch *launch)
{
    const struct rules *rules = &launch->rules;
    uint64_t homeless_us = UINT64_MAX;
    compare_timer(launch, "the start", &launch->timers[DVM_TIMER_START], rules->start_us);
    for (uint32_t vpid = 1; vpid < rules->count && !rules->closed; vpid++) {
        uint64_t until_us = rules->homeless_us[vpid];
        homeless_us = until_us > 0 && until_us < homeless_us ? until_us : homeless_us;
    }
    const struct launch_timer *repair = &launch->timers[DVM_TIMER_REPAIR];
    if (homeless_us < UINT64_MAX && (!repair->runs || repair->due_us > homeless_us)) {
        launch_violated(launch, "nobody looks for those without a parent");
    }
    if (rules->closed && (repair->runs || launch->timers[DVM_TIMER_SILENCE].runs)) {
        launch_violated(launch, "the daemons have ended, and a timer runs");
    }
    if (launch->forgets != rules->forgets || launch->exits_each != rules->exits_each ||
        launch->exits_tree != rules->exits_tree) {
        launch_violated(launch, "forgot %u, ended %u and by the tree %u; by the rules %u %u %u",
                        launch->forgets, launch->exits_each, launch->exits_tree, rules->forgets,
                        rules->exits_each, rules->exits_tree);
    }
}

static void compare_growth(struct launch *launch)
{
    const struct rules *rules = &launch->rules;
    if (launch->announces != rules->announces || launch->joins != rules->joins) {
        launch_violated(launch, "announced %u, joined %u; by the rules %u %u", launch->announces,
                        launch->joins, rules->announces, rules->joins);
    }
}

static void compare(struct launch *launch)
{
    compare_growth(launch);
    compare_dvm(launch);
    for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
        if (launch->rules.jobs[i].exists) {
            compare_job(launch, &launch->jobs[i]);
        }
    }
}

/* --- the tables --- */

uint32_t launch_rows(void)
{
    uint32_t count = 0;
    for (int i = 0; i < MACHINES; i++) {
        count += machines[i]->row_count;
    }
    return count;
}

static const struct fsm_row *find_row(uint32_t number, int *machine)
{
    for (*machine = 0; number >= machines[*machine]->row_count; (*machine)++) {
        number -= machines[*machine]->row_count;
    }
    return &machines[*machine]->rows[number];
}

void launch_row_name(uint32_t number, char *text, size_t size)
{
    static const char *const names[] = {"daemons", "daemon", "job", "part"};
    int machine;
    const struct fsm_row *row = find_row(number, &machine);
    const struct fsm *fsm = machines[machine];
    snprintf(text, size, "%s: %s, %s", names[machine], fsm->states[row->state],
             fsm->events[row->event]);
}

static void add_row(struct launch *launch, int machine, struct fsm_row row)
{
    struct launch_table *table = &launch->tables[machine];
    table->rows[table->fsm.row_count++] = row;
}

static void copy_tables(struct launch *launch, uint32_t without)
{
    uint32_t number = 0;
    for (int i = 0; i < MACHINES; i++) {
        launch->tables[i].fsm = *machines[i];
        launch->tables[i].fsm.rows = launch->tables[i].rows;
        launch->tables[i].fsm.row_count = 0;
        for (uint32_t k = 0; k < machines[i]->row_count; k++, number++) {
            if (number != without) {
                add_row(launch, i, machines[i]->rows[k]);
            }
        }
    }
}

/* The action of the row of this state and event. */
static uint8_t action_of(int machine, uint8_t state, uint8_t event)
{
    return fsm_row(machines[machine], state, event)->action;
}

static void break_tables(struct launch *launch, enum launch_without without, uint32_t number)
{
    uint8_t home = action_of(OF_DAEMON, DAEMON_HOME, DAEMON_LINKS);
    uint8_t launched = action_of(OF_PART, PART_PENDING, PART_LAUNCHES);
    uint8_t end = action_of(OF_JOB, JOB_RUNNING, JOB_FAILS);
    copy_tables(launch, without == LAUNCH_WITHOUT_ROW ? number : UINT32_MAX);
    if (without == LAUNCH_MANY_REASONS) {
        add_row(launch, OF_JOB, (struct fsm_row){JOB_ENDING, JOB_FAILS, JOB_ENDING, end});
    } else if (without == LAUNCH_HOME_TWICE) {
        add_row(launch, OF_DAEMON,
                (struct fsm_row){DAEMON_HOME, DAEMON_CALLS_HOME, DAEMON_WIRED, home});
    } else if (without == LAUNCH_LAUNCHED_TWICE) {
        add_row(launch, OF_PART,
                (struct fsm_row){PART_LAUNCHED, PART_LAUNCHES, PART_DRAINED, launched});
    }
}

/* --- a schedule --- */

static void draw_troubles(struct launch *launch)
{
    launch->troubles = (struct launch_troubles){
        .deaths = launch_chance(launch, 2),
        .late = launch_chance(launch, 4),
        .twice = launch_chance(launch, 2),
        .silence = launch_chance(launch, 4),
        .bad_ranks = launch_chance(launch, 3),
        .interrupts = launch_chance(launch, 4),
        .deaf = launch_chance(launch, 3),
        .immortal = launch_chance(launch, 4),
        .agents = launch_chance(launch, 8),
        .unable = launch_chance(launch, 8),
        .spawn = launch_chance(launch, 4),
        .grows = launch_chance(launch, 3),
        .odd = launch_chance(launch, 8),
    };
}

static void make_daemons(struct launch *launch)
{
    struct rules *rules = &launch->rules;
    rules->count = 1 + launch_below(launch, LAUNCH_DAEMONS);
    launch->first = rules->count;
    rules->radix = 1 + launch_below(launch, 3);
    rules->slurm = launch_chance(launch, 3);
    rules->together = rules->slurm && launch_chance(launch, 2);
    rules->limits = (struct dvm_limits){.home_us = 2000007,
                                        .repair_us = 200000 + launch_below(launch, 400000),
                                        .suspicion_us = 900000};
    dvm_init(&launch->dvm, &launch_dvm_ops, launch);
    launch->dvm.fsm = &launch->tables[OF_DVM].fsm;
    launch->dvm.daemon_fsm = &launch->tables[OF_DAEMON].fsm;
    for (uint32_t vpid = 0; vpid < rules->count; vpid++) {
        char node[16];
        snprintf(node, sizeof(node), "n%u", vpid);
        launch->alive[vpid] = dvm_add(&launch->dvm, node) == ORTE_SUCCESS;
    }
}

static void make_job(struct launch *launch, uint32_t number, bool exists)
{
    struct launch_job *own = &launch->jobs[number];
    struct rules_job *rules = &launch->rules.jobs[number];
    own->number = number;
    rules->exists = exists;
    rules->stranger = rules->culprit = UINT32_MAX;
    rules->prepare_fails = launch->troubles.odd && launch_chance(launch, 4);
    rules->launch_fails = launch->troubles.odd && launch_chance(launch, 4);
    rules->limits = (struct job_limits){
        .timeout_s = launch_chance(launch, 4) ? 1 + launch_below(launch, 3) : 0,
        .launch_us = 1000011,
        .abort_grace_us = 300000 + launch_below(launch, 300000),
        .interrupt_grace_us = 300000 + launch_below(launch, 300000),
        .recovers = launch_chance(launch, 4),
    };
    if (exists) {
        own->launch = launch;
        job_init(&own->job, &launch->dvm, &launch_job_ops, own);
        own->job.fsm = &launch->tables[OF_JOB].fsm;
        own->job.part_fsm = &launch->tables[OF_PART].fsm;
    }
}

bool launch_joins(const struct launch *launch, uint32_t vpid)
{
    return dvm_grows(&launch->dvm) && vpid >= launch->dvm.added &&
           launch->dvm.daemons[vpid].state < DAEMON_WIRED;
}

void launch_plan_daemon(struct launch *launch, uint32_t vpid)
{
    const struct launch_troubles *troubles = &launch->troubles;
    launch_report_later(launch, launch->rules.limits.home_us, ON_HOME, 0, vpid);
    if (troubles->deaths && launch_chance(launch, 3)) {
        launch_later(launch, launch_chance(launch, 2) ? HOME_US : HORIZON_US, ON_DEATH, 0, vpid);
    }
    if (troubles->agents && launch_chance(launch, 4)) {
        launch_later(launch, HOME_US, ON_AGENT, 0, vpid);
    }
    for (int i = 0; i < 3 && troubles->silence; i++) {
        launch_later(launch, HORIZON_US, ON_SILENT, 0, vpid);
        launch_later(launch, HORIZON_US, ON_HEARD, 0, vpid);
    }
}

static void plan_user(struct launch *launch, uint32_t job)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    uint32_t count = launch->troubles.interrupts ? 1 + launch_below(launch, 4) : 0;
    uint32_t within_us = launch_chance(launch, 2) ? HORIZON_US : HOME_US;
    for (uint32_t i = 0; i < count; i++) {
        launch_later(launch, within_us, ON_SIGNAL, job,
                     (uint32_t) signals[launch_below(launch, 5)]);
    }
}

static void plan_job(struct launch *launch, uint32_t job)
{
    const struct launch_troubles *troubles = &launch->troubles;
    launch_later(launch, job == 0 || launch_chance(launch, 3) ? FIRST_US : HORIZON_US / 2,
                 ON_SUBMIT, job, 0);
    plan_user(launch, job);
    if (troubles->bad_ranks && launch_chance(launch, 2)) {
        launch_later(launch, HORIZON_US / 2, ON_JOIN, job, 0);
    }
    if (troubles->bad_ranks && launch_chance(launch, 4)) {
        launch_later(launch, HORIZON_US / 2, ON_ABORT, job, 0);
    }
    if (troubles->twice) { /* before its time */
        launch_later(launch, HORIZON_US / 2, ON_DRAINED, job,
                     launch_below(launch, launch->rules.count));
    }
    if (troubles->spawn) {
        launch_later(launch, HORIZON_US / 3, ON_SPAWN, job, 0);
    }
    if (troubles->odd) {
        static const enum launch_event odd[] = {ON_DRY, ON_EARLY_FAILURE, ON_NO_MEMORY, ON_SIGNAL};
        uint32_t within_us = launch_chance(launch, 2) ? FIRST_US : HORIZON_US / 4;
        launch_later(launch, within_us, odd[launch_below(launch, 4)], job, SIGINT);
    }
    if (job == 0 && launch_chance(launch, 16)) { /* keelrun's shepherd was killed */
        launch_later(launch, HORIZON_US, ON_NOTICE, 0, 0);
    }
}

static void set_up(struct launch *launch, uint64_t seed)
{
    launch->random.state = seed * UINT64_C(0x2545f4914f6cdd1d);
    sim_queue_reset(&launch->queue);
    launch->queue.now = 1;
    draw_troubles(launch);
    make_daemons(launch);
    uint32_t jobs = launch_chance(launch, 3) ? 2 : 1;
    for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
        make_job(launch, i, i < jobs);
        if (i < jobs) {
            plan_job(launch, i);
        }
    }
    for (uint32_t vpid = 1; vpid < launch->rules.count; vpid++) {
        launch_plan_daemon(launch, vpid);
    }
    for (uint32_t i = 0; i < 2 && launch->troubles.grows; i++) {
        launch_later(launch, HORIZON_US / 2, ON_GROW, 0, 0);
    }
    launch->report->daemons = launch->rules.count;
    launch->report->jobs = jobs;
}

static void tear_down(struct launch *launch)
{
    for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
        if (launch->jobs[i].launch) {
            launch->report->failed += launch->rules.jobs[i].code != 0;
            job_fini(&launch->jobs[i].job);
        }
    }
    dvm_fini(&launch->dvm);
}

/* A job that was never submitted is none. */
static bool is_over(const struct launch *launch)
{
    for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
        const struct rules_job *job = &launch->rules.jobs[i];
        if (job->exists && !job->over) {
            return false;
        }
    }
    return true;
}

static void run(struct launch *launch)
{
    struct sim_event event;
    while (launch->report->held && sim_next(&launch->queue, &event)) {
        launch->kind = event.kind;
        launch_happen(launch, &event);
        if (launch->queue.count == 0 || launch->queue.heap[0].at > event.at) {
            compare(launch);
        }
        if (++launch->report->events > EVENTS_MAX) {
            launch_violated(launch, "it does not end");
        }
    }
    if (launch->report->held && !is_over(launch)) {
        launch_violated(launch, "nothing happens any more, and it is not over");
    }
}

struct launch *launch_create(void)
{
    return calloc(1, sizeof(struct launch));
}

void launch_destroy(struct launch *launch)
{
    if (launch) {
        sim_queue_fini(&launch->queue);
    }
    free(launch);
}

void launch_run(struct launch *launch, uint64_t seed, enum launch_without without, uint32_t number,
                struct launch_report *report)
{
    struct sim_queue queue = launch->queue;
    *report = (struct launch_report){.held = true};
    *launch = (struct launch){.queue = queue, .report = report, .without = without};
    break_tables(launch, without, number);
    set_up(launch, seed);
    run(launch);
    tear_down(launch);
}
