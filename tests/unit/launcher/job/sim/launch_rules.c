#include <config.h>

#include <launcher/request/nodes/hostlist.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tests/unit/launcher/job/sim/launch_rules_parts.h>

enum { KILLED_US = 3000000, OUTPUT_US = 5000000 };

static void lose(struct rules *rules, uint32_t vpid, const char *why);

void launch_acts_tell(struct launch_acts *acts, const char *line)
{
    acts->lines++;
    for (const char *c = line; *c; c++) {
        acts->text = (acts->text ^ (unsigned char) *c) * UINT64_C(0x100000001b3);
    }
    memset(acts->line, 0, sizeof(acts->line));
    snprintf(acts->line, sizeof(acts->line), "%s", line);
}

uint32_t launch_parent(uint32_t radix, const bool *forgotten, uint32_t vpid)
{
    uint32_t parent = vpid == 0 ? UINT32_MAX : (vpid - 1) / radix;
    while (parent != UINT32_MAX && parent != 0 && forgotten[parent]) {
        parent = (parent - 1) / radix;
    }
    return parent;
}

static uint32_t parent_of(const struct rules *rules, uint32_t vpid)
{
    return launch_parent(rules->radix, rules->forgotten, vpid);
}

bool rules_runs(const struct rules_job *job)
{
    return job->launched && !job->has_reason && !job->draining && !job->over;
}

static uint32_t unended(const struct rules_job *job)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        count += !job->ended[rank];
    }
    return count;
}

/* --- the end --- */

/* How a rank ended that has failed. */
void rules_describe_end(int wait_status, char *text, size_t size)
{
    int signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    if (signal) {
        snprintf(text, size, "was killed by signal %d (SIG%s, %s)", signal, sigabbrev_np(signal),
                 strsignal(signal));
    } else {
        snprintf(text, size, "exited with code %d", WEXITSTATUS(wait_status));
    }
}

static void close_all(struct rules *rules)
{
    for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
        if (rules->jobs[i].exists && !rules->jobs[i].over) {
            return;
        }
    }
    rules->closed = true;
    rules->exits_tree += rules->stands;
    rules->exits_each += !rules->stands;
    rules->start_us = 0;
}

void rules_job_end(struct rules *rules, struct rules_job *job)
{
    job->over = true;
    job->acts.overs++;
    job->limit_us = job->launch_us = job->grace_us = job->drain_us = 0;
    close_all(rules);
}

/* "; ranks 1-2 were ended by keelrun": those that ended so after the reason. */
static void list_alike(struct rules_job *job, int status, char *line)
{
    char list[LAUNCH_LINE] = "";
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        uint32_t first = rank;
        while (rank < job->rank_count && job->after[rank] == status) {
            job->after[rank++] = 0;
        }
        if (rank > first) {
            sprintf(list + strlen(list), rank - first > 1 ? "%s%u-%u" : "%s%u", count ? ", " : " ",
                    first, rank - 1);
            count += rank - first;
        }
    }
    if (count == 0) {
        return;
    }
    sprintf(line + strlen(line), "%srank%s%s ", line[0] ? "; " : "", count == 1 ? "" : "s", list);
    char how[LAUNCH_LINE] = "was ended by keelrun";
    if (status != BY_KEELRUN) {
        rules_describe_end(status, how, sizeof(how));
    }
    bool were = count > 1 && strncmp(how, "was", 3) == 0;
    sprintf(line + strlen(line), "%s%s", were ? "were" : "", were ? how + 3 : how);
}

/* Rule 12. */
static void tell_followers(struct rules_job *job)
{
    char line[4 * LAUNCH_LINE] = "";
    unsigned told = 0;
    if (job->culprit == UINT32_MAX) {
        return;
    }
    job->after[job->culprit] = 0;
    list_alike(job, BY_KEELRUN, line);
    for (uint32_t rank = 0; rank < job->rank_count && told < 3; rank++) {
        if (job->after[rank] != 0) {
            list_alike(job, job->after[rank], line);
            told++;
        }
    }
    if (line[0]) {
        launch_acts_tell(&job->acts, line);
    }
}

/* Rules 2 and 5. */
void rules_job_begin_end(struct rules *rules, struct rules_job *job, int signal, uint64_t grace_us)
{
    job->has_reason = true;
    job->launch_us = 0;
    if (!job->launched) {
        rules_job_end(rules, job);
        return;
    }
    job->acts.ends++;
    job->acts.end_signal = signal;
    job->grace_us = rules->now_us + grace_us;
    rules_job_settle(rules, job);
}

/* Rule 1. */
void rules_job_fail(struct rules *rules, struct rules_job *job, int code, const char *text)
{
    if (job->has_reason || job->draining || job->over) {
        return;
    }
    job->code = job->code ? job->code : code;
    launch_acts_tell(&job->acts, text);
    rules_job_begin_end(rules, job, SIGTERM, job->limits.abort_grace_us);
}

/* Rule 9. */
static void fail_or_go_on(struct rules *rules, struct rules_job *job, int code, const char *text)
{
    char line[LAUNCH_LINE];
    if (!job->limits.recovers || !rules_runs(job)) {
        rules_job_fail(rules, job, code, text);
        return;
    }
    snprintf(line, sizeof(line), "%s%s", text, unended(job) > 0 ? "; the job goes on" : "");
    launch_acts_tell(&job->acts, line);
    job->code = job->code ? job->code : code;
    job->acts.ended++;
}

/* A reason that is the end of this rank. */
void rules_job_fail_of_rank(struct rules *rules, struct rules_job *job, uint32_t rank, int code,
                            const char *text, bool may_go_on)
{
    bool before = job->has_reason || job->draining || job->over;
    (may_go_on ? fail_or_go_on : rules_job_fail)(rules, job, code, text);
    if (!before && job->has_reason) {
        job->culprit = rank;
    }
}

void rules_job_kill(struct rules *rules, struct rules_job *job)
{
    job->killed = true;
    job->acts.kills++;
    job->unkilled = unended(job);
    job->grace_us = rules->now_us + KILLED_US;
}

/* Rule 6. */
void rules_job_settle(struct rules *rules, struct rules_job *job)
{
    bool all_launched = true, all_drained = true, explained = true;
    if (!job->launched || job->over) {
        return;
    }
    for (uint32_t vpid = 0; vpid < rules->count; vpid++) {
        bool lost = rules->lost[vpid] == RULES_LOST || job->absent[vpid];
        bool drained = job->part_drained[vpid];
        all_launched &= job->part_launched[vpid] || drained || job->absent[vpid] ||
                        rules->lost[vpid] != RULES_LIVES;
        all_drained &= drained || lost;
        explained &= drained || lost || rules->lost[vpid] != RULES_UNEXPLAINED;
    }
    if (all_launched && !job->has_reason && !job->all_launched) {
        job->all_launched = true;
        job->launch_us = 0;
    }
    if ((job->all_launched || job->has_reason) && !job->draining && unended(job) == 0 &&
        explained) {
        job->draining = true;
        job->grace_us = 0;
        job->drain_us = job->code ? rules->now_us + OUTPUT_US : 0;
        tell_followers(job);
        job->acts.drains++;
    }
    if (job->draining && all_drained) {
        rules_job_end(rules, job);
    }
}

/* --- deadlines --- */

static KEEL_PRINTF(3, 4) void fail_late(struct rules *rules, struct rules_job *job,
                                        const char *format, ...)
{
    char text[LAUNCH_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    rules_job_fail(rules, job, CODE_RUNTIME, text);
}

/* "node n1: its daemon has not", of those that have not done it and are not lost. */
static void name_late(const struct rules *rules, const bool *done, char *text, size_t size)
{
    char names[LAUNCH_DAEMONS][12];
    const char *late[LAUNCH_DAEMONS] = {NULL};
    uint32_t count = 0;
    for (uint32_t vpid = 0; vpid < rules->count; vpid++) {
        if (!done[vpid] && rules->lost[vpid] == RULES_LIVES) {
            snprintf(names[count], sizeof(names[count]), "n%u", vpid);
            late[count] = names[count];
            count++;
        }
    }
    char *list = hostlist_print(late, count);
    snprintf(text, size, "node%s %s: %s", count == 1 ? "" : "s", list ? list : "",
             count == 1 ? "its daemon has not" : "none of their daemons has");
    free(list);
}

static void grown(struct rules *rules)
{
    rules->growing = false;
    rules->start_us = 0;
    for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
        rules->jobs[i].acts.grown += rules->jobs[i].submitted && !rules->jobs[i].over;
    }
}

/* Rule 11. */
static void grow_over(struct rules *rules)
{
    char why[160];
    bool home = rules->examined;
    snprintf(why, sizeof(why), "%s within %u s (plm_start_timeout_s)",
             !home               ? "its daemon has not called home"
             : !rules->announced ? "a daemon that was added has not reported its node's processors"
             : !rules->joining   ? "the tree of daemons has not grown"
                                 : "its daemon has not found its place in the tree",
             (unsigned) (rules->limits.home_us / 1000000u));
    rules->start_us = home ? 0 : rules->now_us + rules->limits.home_us;
    for (uint32_t vpid = rules->added; vpid < rules->count; vpid++) {
        if (rules->lost[vpid] == RULES_LIVES && !(home ? rules->wired : rules->home)[vpid]) {
            lose(rules, vpid, why);
        }
    }
    if (home && rules->growing) {
        grown(rules);
    }
}

static void start_over(struct rules *rules)
{
    if (rules->growing) {
        grow_over(rules);
        return;
    }
    unsigned limit_s = (unsigned) (rules->limits.home_us / 1000000u);
    char who[LAUNCH_LINE / 2];
    name_late(rules, rules->asked ? rules->wired : rules->home, who, sizeof(who));
    rules->start_us = 0;
    for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
        struct rules_job *job = &rules->jobs[i];
        if (!job->submitted) {
            continue;
        }
        if (rules->asked && !rules->known) {
            fail_late(rules, job,
                      "a daemon has not reported its node's processors within %u s "
                      "(plm_start_timeout_s)",
                      limit_s);
        } else {
            fail_late(rules, job, "%s %s within %u s (plm_start_timeout_s)", who,
                      rules->asked ? "found its place in the tree" : "called home", limit_s);
        }
    }
}

static void launch_over(struct rules *rules, struct rules_job *job)
{
    char who[LAUNCH_LINE / 2];
    bool done[LAUNCH_DAEMONS];
    for (uint32_t vpid = 0; vpid < rules->count; vpid++) {
        done[vpid] = job->part_launched[vpid] || job->part_drained[vpid] || job->absent[vpid];
    }
    name_late(rules, done, who, sizeof(who));
    job->launch_us = 0;
    fail_late(rules, job, "%s started its ranks within %u s (plm_launch_timeout_s)", who,
              (unsigned) (job->limits.launch_us / 1000000u));
}

/* Rule 10: those who had time until then. */
static void homeless_over(struct rules *rules, uint64_t until_us)
{
    for (uint32_t vpid = 1; vpid < rules->count; vpid++) {
        if (rules->homeless_us[vpid] > 0 && rules->homeless_us[vpid] <= until_us) {
            lose(rules, vpid,
                 "its parent in the tree was lost, and it has found no other in time "
                 "(routed_repair_timeout_ms)");
        }
    }
}

static void grace_over(struct rules *rules, struct rules_job *job)
{
    char line[LAUNCH_LINE];
    uint32_t left = unended(job);
    job->grace_us = 0;
    if (!job->killed) {
        homeless_over(rules, UINT64_MAX);
        if (!job->draining && !job->over) {
            rules_job_kill(rules, job);
        }
    } else if (left < job->unkilled) {
        job->unkilled = left;
        job->grace_us = rules->now_us + KILLED_US;
    } else {
        snprintf(line, sizeof(line), "%u ranks do not end although they were killed", left);
        launch_acts_tell(&job->acts, line);
        rules_job_end(rules, job);
    }
}

static void limit_over(struct rules *rules, struct rules_job *job)
{
    char text[LAUNCH_LINE];
    job->limit_us = 0;
    snprintf(text, sizeof(text), "the time limit of %u s is over", job->limits.timeout_s);
    rules_job_fail(rules, job, CODE_TIMEOUT, text);
}

static void drain_over(struct rules *rules, struct rules_job *job)
{
    launch_acts_tell(&job->acts, "some output of the ranks may be missing");
    rules_job_end(rules, job);
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
    return b > 0 && b < a ? b : a;
}

static uint64_t next_deadline(const struct rules *rules)
{
    uint64_t next = earliest(UINT64_MAX, rules->start_us);
    for (uint32_t vpid = 1; vpid < rules->count && !rules->closed; vpid++) {
        next = earliest(next, rules->homeless_us[vpid]);
    }
    for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
        const struct rules_job *job = &rules->jobs[i];
        next = earliest(earliest(next, job->limit_us), job->launch_us);
        next = earliest(earliest(next, job->grace_us), job->drain_us);
    }
    return next;
}

static void job_deadlines(struct rules *rules, struct rules_job *job)
{
    uint64_t now = rules->now_us;
    if (job->limit_us == now) {
        limit_over(rules, job);
    } else if (job->launch_us == now) {
        launch_over(rules, job);
    } else if (job->grace_us == now) {
        grace_over(rules, job);
    } else if (job->drain_us == now) {
        drain_over(rules, job);
    }
}

void rules_advance(struct rules *rules, uint64_t now_us, bool now_too)
{
    for (;;) {
        uint64_t next = next_deadline(rules);
        if (now_too ? next > now_us : next >= now_us) {
            break;
        }
        rules->now_us = next;
        if (rules->start_us == next) {
            start_over(rules);
        }
        homeless_over(rules, next);
        for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
            job_deadlines(rules, &rules->jobs[i]);
        }
    }
    rules->now_us = now_us;
}

/* --- daemons --- */

static void launch(struct rules *rules, struct rules_job *job)
{
    if (!job->submitted || job->over || job->launched) {
        return;
    }
    if (job->prepare_fails) {
        rules_job_fail(rules, job, CODE_RUNTIME, "not prepared");
        return;
    }
    job->launched = true;
    job->acts.launches++;
    job->launch_us = rules->now_us + job->limits.launch_us;
    if (job->launch_fails) {
        rules_job_fail(rules, job, CODE_RUNTIME, "not launched");
    } else {
        job->acts.signals += (unsigned) __builtin_popcountll(job->held);
    }
    rules_job_settle(rules, job);
}

/* Has each done it, of those that live? */
static bool all(const struct rules *rules, const bool *done)
{
    for (uint32_t vpid = 0; vpid < rules->count; vpid++) {
        if (!done[vpid] && rules->lost[vpid] == RULES_LIVES) {
            return false;
        }
    }
    return true;
}

/* Those below a daemon that is linked, or is to be the first of all. */
static void join_below(struct rules *rules, uint32_t parent)
{
    for (uint32_t vpid = rules->added; vpid < rules->count; vpid++) {
        rules->joins += rules->home[vpid] && !rules->wired[vpid] &&
                        rules->lost[vpid] == RULES_LIVES && parent_of(rules, vpid) == parent;
    }
}

/* Rule 11: how far are those that were added? */
static void look_at_added(struct rules *rules)
{
    rules->examined |= all(rules, rules->home);
    if (rules->announced && !rules->joining && all(rules, rules->knows)) {
        rules->joining = true;
        for (uint32_t vpid = 0; vpid < rules->added; vpid++) {
            if (rules->lost[vpid] == RULES_LIVES) {
                join_below(rules, vpid);
            }
        }
    }
    if (rules->joining && all(rules, rules->wired)) {
        grown(rules);
    }
}

/* How far have the daemons come? */
static void look(struct rules *rules)
{
    if (rules->growing && !rules->closed) {
        look_at_added(rules);
    }
    if (rules->started && !rules->asked && !rules->closed && all(rules, rules->home)) {
        rules->asked = true;
        for (uint32_t vpid = 1; vpid < rules->count; vpid++) {
            char text[LAUNCH_LINE];
            snprintf(text, sizeof(text), "lost the daemon of node n%u", vpid);
            for (uint32_t i = 0; i < LAUNCH_JOBS && rules->lost[vpid] != RULES_LIVES; i++) {
                if (rules->jobs[i].submitted) {
                    rules_job_fail(rules, &rules->jobs[i], CODE_RUNTIME, text);
                }
            }
        }
    }
    if (rules->known && !rules->stands && !rules->closed && all(rules, rules->wired)) {
        rules->stands = true;
        rules->start_us = 0;
        for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
            launch(rules, &rules->jobs[i]);
        }
    }
}

void rules_drop(struct rules *rules, uint32_t number)
{
    rules->jobs[number].exists = false;
    close_all(rules);
}

void rules_submit(struct rules *rules, uint32_t number)
{
    struct rules_job *job = &rules->jobs[number];
    if (job->over) {
        return;
    }
    job->submitted = true;
    for (uint32_t vpid = 0; vpid < rules->count; vpid++) {
        job->absent[vpid] =
            rules->lost[vpid] != RULES_LIVES || (rules->growing && !rules->wired[vpid]);
    }
    if (job->limits.timeout_s > 0) {
        job->limit_us = rules->now_us + job->limits.timeout_s * UINT64_C(1000000);
    }
    if (rules->stands) {
        launch(rules, job);
    }
}

void rules_start(struct rules *rules)
{
    rules->started = true;
    rules->home[0] = rules->wired[0] = true;
    rules->start_us = rules->now_us + rules->limits.home_us;
    look(rules);
}

void rules_home(struct rules *rules, uint32_t vpid)
{
    rules->home[vpid] = true;
    look(rules);
}

/* Rule 11: the others are told. */
static void announce(struct rules *rules)
{
    rules->announced = true;
    rules->announces++;
    for (uint32_t vpid = 0; vpid < rules->added; vpid++) {
        rules->knows[vpid] = false;
    }
    look(rules);
}

void rules_known(struct rules *rules)
{
    if (rules->growing && rules->examined && !rules->announced && !rules->closed) {
        announce(rules);
        return;
    }
    if (!rules->asked || rules->closed || rules->stands) {
        return;
    }
    rules->known = true;
    for (uint32_t vpid = 1; vpid < rules->count; vpid++) {
        rules->wired[vpid] |= parent_of(rules, vpid) == 0;
    }
    look(rules);
}

void rules_wired(struct rules *rules, uint32_t vpid)
{
    bool leads = !rules->wired[vpid] && rules->joining && rules->growing && !rules->closed &&
                 rules->lost[vpid] == RULES_LIVES;
    rules->wired[vpid] = rules->home[vpid];
    if (leads) {
        join_below(rules, vpid);
    }
    look(rules);
}

bool rules_needs_link(const struct rules *rules, uint32_t vpid, bool closed)
{
    bool lives = rules->lost[vpid] == RULES_LIVES;
    bool wiring = rules->known && !rules->stands, joining = rules->growing && rules->joining;
    bool unlinked = rules->home[vpid] && !rules->wired[vpid] && lives;
    bool child = (rules->home[vpid] || !lives) && parent_of(rules, vpid) == 0;
    return child || (unlinked && !(closed && !rules->closed && (wiring || joining)));
}

void rules_grow(struct rules *rules, uint32_t count)
{
    rules->growing = true;
    rules->examined = rules->announced = rules->joining = false;
    rules->added = rules->count;
    rules->start_us = rules->now_us + rules->limits.home_us;
    for (; count > 0; count--) {
        uint32_t vpid = rules->count++;
        rules->knows[vpid] = true;
        for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
            rules->jobs[i].absent[vpid] = true;
        }
    }
    look(rules);
}

void rules_has_grown(struct rules *rules, uint32_t vpid)
{
    rules->knows[vpid] = true;
    look(rules);
}

void rules_join_daemon(struct rules *rules, uint32_t job, uint32_t vpid)
{
    rules->jobs[job].part_launched[vpid] |= rules->jobs[job].absent[vpid];
    rules->jobs[job].absent[vpid] = false;
}

/* Rule 7. why NULL: it comes later. */
static void lose_part(struct rules *rules, struct rules_job *job, uint32_t vpid, const char *why)
{
    char text[LAUNCH_LINE];
    if (!job->submitted || job->over) {
        return;
    }
    if (job->absent[vpid]) {
        job->acts.parts_lost += why != NULL;
        return;
    }
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        job->ended[rank] |= job->daemon_of[rank] == vpid;
    }
    if (!job->part_drained[vpid] && why) {
        snprintf(text, sizeof(text), "lost the daemon of node n%u: %s", vpid, why);
        fail_or_go_on(rules, job, CODE_RUNTIME, text);
        job->acts.parts_lost++;
        job->code = job->code ? job->code : CODE_RUNTIME;
    }
    rules_job_settle(rules, job);
}

static void lose_in_jobs(struct rules *rules, uint32_t vpid, const char *why)
{
    for (uint32_t i = 0; i < LAUNCH_JOBS; i++) {
        lose_part(rules, &rules->jobs[i], vpid, why);
    }
}

void rules_explained(struct rules *rules)
{
    for (uint32_t vpid = 0; vpid < rules->count; vpid++) {
        if (rules->lost[vpid] == RULES_UNEXPLAINED) {
            rules->lost[vpid] = RULES_LOST;
            lose_in_jobs(rules, vpid, rules->why[vpid]);
        }
    }
}

static void orphan(struct rules *rules, uint32_t lost)
{
    rules->homeless_us[lost] = 0;
    if (lost == 0 || !rules->stands || rules->closed) {
        return;
    }
    for (uint32_t vpid = lost + 1; vpid < rules->count; vpid++) {
        bool has_parent =
            rules->wired[vpid] || (rules->growing && rules->joining && rules->home[vpid]);
        if (rules->lost[vpid] == RULES_LIVES && has_parent && parent_of(rules, vpid) == lost) {
            rules->homeless_us[vpid] = rules->now_us + rules->limits.repair_us;
        }
    }
    rules->forgotten[lost] = true;
    rules->forgets++;
}

static bool any_runs(const struct rules *rules)
{
    return rules_runs(&rules->jobs[0]) || rules_runs(&rules->jobs[1]);
}

static void lose(struct rules *rules, uint32_t vpid, const char *why)
{
    for (uint32_t first = 1; first < rules->count && !rules->said[vpid]; first++) {
        if (rules->said[first] && rules->home[first] && rules->lost[first] == RULES_LIVES) {
            lose(rules, first, "");
            break;
        }
    }
    if (rules->lost[vpid] != RULES_LIVES || rules->closed) {
        return;
    }
    snprintf(rules->why[vpid], sizeof(rules->why[vpid]), "%s",
             rules->said[vpid] ? "srun says: " RULES_SAID : why);
    if (vpid > 0 && rules->started && !rules->asked && rules->together &&
        !all(rules, rules->home)) {
        rules->lost[vpid] = RULES_LOST; /* rule 3 */
        look(rules);
        return;
    }
    bool wait = rules->wired[vpid] && any_runs(rules); /* rule 8 */
    if (!wait) {
        rules_explained(rules);
    }
    bool later = wait && rules->slurm;
    rules->lost[vpid] = later ? RULES_UNEXPLAINED : RULES_LOST;
    orphan(rules, vpid);
    lose_in_jobs(rules, vpid, later ? NULL : rules->why[vpid]);
    look(rules);
}

void rules_lost(struct rules *rules, uint32_t vpid, const char *why)
{
    lose(rules, vpid, why);
}
