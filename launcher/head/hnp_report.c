/* The report of a job, where it is asked for: what happens, as lines for the front end, and at the
 * end what was counted. docs/report.md has the members of each event. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/data/array.h>
#include <base/data/clock.h>
#include <base/host/hostname.h>
#include <launcher/head/report.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wireup/proto.h>

enum { SCHEMA = 1, CODES = 256, SIGNALS = 128 };

/* One after the other, in this order; the time until a phase begins is that of the last one. */
enum phase {
    PHASE_PLANNING,
    PHASE_STARTING,
    PHASE_TOPOLOGIES,
    PHASE_WIRING,
    PHASE_LAUNCHING,
    PHASE_RUNNING,
    PHASE_ENDING,
    PHASE_DRAINING,
    PHASES
};
static const char *const phase_names[PHASES] = {"planning",  "starting", "topologies", "wiring",
                                                "launching", "running",  "ending",     "draining"};

/* When a node's daemon got so far; 0: it has not. */
struct node_times {
    uint64_t home_us, launched_us, drained_us;
};

struct hnp_report {
    struct fsm_watch watch;
    struct hnp *hnp;            /* borrowed */
    uint64_t began_us, wall_us; /* when the job came, by both clocks */
    enum phase phase;
    uint64_t phase_us, spent_us[PHASES];
    struct node_times *nodes; /* owned, by vpid */
    uint32_t node_count;
    uint32_t codes[CODES], signals[SIGNALS]; /* ranks that ended so */
    uint32_t peak_kib, peak_rank;
    uint32_t lost;
    struct report_lines lines; /* that are not sent yet */
    struct loop_task send;     /* that does it */
};

static struct report_lines *begin(struct hnp_report *report, const char *event)
{
    report_begin(&report->lines, event, report->wall_us + clock_us() - report->began_us);
    return &report->lines;
}

/* The lines of a pass of the loop go together. */
static void end(struct hnp_report *report)
{
    report_end(&report->lines);
    loop_post(report->hnp->config.loop, &report->send);
}

static void send_lines(struct loop_task *task)
{
    struct hnp_report *report = container_of(task, struct hnp_report, send);
    const char *lines = report_take(&report->lines);
    if (lines && *lines) {
        channel_send(report->hnp->config.front, proto_new(FRONT_REPORT, "s", lines));
    }
}

static const char *node_name(const struct hnp *hnp, uint32_t vpid)
{
    return hnp->dvm.daemons[vpid].node;
}

/* --- states --- */

static void enter(struct hnp_report *report, enum phase phase)
{
    uint64_t now = clock_us();
    report->spent_us[report->phase] += now - report->phase_us;
    report->phase = phase;
    report->phase_us = now;
}

static void daemons_changed(struct hnp_report *report, enum dvm_phase phase)
{
    static const enum phase phases[] = {[DVM_STARTING] = PHASE_STARTING,
                                        [DVM_TOPOLOGIES] = PHASE_TOPOLOGIES,
                                        [DVM_WIRING] = PHASE_WIRING};
    if (phase >= DVM_STARTING && phase <= DVM_WIRING) {
        enter(report, phases[phase]);
    }
}

static void job_changed(struct hnp_report *report, enum job_phase phase)
{
    static const enum phase phases[] = {
        [JOB_LAUNCHING] = PHASE_LAUNCHING, [JOB_RUNNING] = PHASE_RUNNING,
        [JOB_ENDING] = PHASE_ENDING,       [JOB_KILLING] = PHASE_ENDING,
        [JOB_DRAINING] = PHASE_DRAINING,
    };
    if (phase >= JOB_LAUNCHING && phase < JOB_DONE) {
        enter(report, phases[phase]);
    }
}

/* NULL: no memory. */
static struct node_times *times_of(struct hnp_report *report, uint32_t vpid)
{
    uint32_t count = report->hnp->dvm.count;
    if (vpid >= report->node_count) {
        if (!array_extend(&report->nodes, report->node_count, count, sizeof(*report->nodes))) {
            return NULL;
        }
        report->node_count = count;
    }
    return &report->nodes[vpid];
}

static void daemon_changed(struct hnp_report *report, uint32_t vpid, enum daemon_state state)
{
    struct node_times *times = times_of(report, vpid);
    if (times && state == DAEMON_HOME) {
        times->home_us = clock_us() - report->began_us;
    }
    report->lost += state == DAEMON_LOST;
}

static void part_changed(struct hnp_report *report, uint32_t vpid, enum part_state state)
{
    struct node_times *times = times_of(report, vpid);
    uint64_t now = clock_us() - report->began_us;
    if (times && state == PART_LAUNCHED) {
        times->launched_us = now;
    } else if (times && state == PART_DRAINED) {
        times->drained_us = now;
    }
}

static const char *note_change(struct hnp_report *report, const struct fsm *fsm,
                               const uint8_t *state)
{
    struct hnp *hnp = report->hnp;
    if (fsm == hnp->job.fsm) {
        job_changed(report, *state);
        return "job";
    }
    if (fsm == hnp->dvm.fsm) {
        daemons_changed(report, *state);
        return "daemons";
    }
    if (fsm == hnp->dvm.daemon_fsm) {
        const struct dvm_daemon *daemon =
            (const struct dvm_daemon *) ((const char *) state - offsetof(struct dvm_daemon, state));
        daemon_changed(report, (uint32_t) (daemon - hnp->dvm.daemons), *state);
        return "daemon";
    }
    part_changed(report, (uint32_t) (state - hnp->job.parts), *state);
    return "part";
}

static void changed(struct fsm_watch *watch, const struct fsm *fsm, const uint8_t *state,
                    uint8_t before, uint8_t event, const char *owner)
{
    struct hnp_report *report = container_of(watch, struct hnp_report, watch);
    const char *of = note_change(report, fsm, state);
    struct report_lines *lines = begin(report, "state");
    report_text(lines, "of", of);
    report_text(lines, "node", owner);
    report_text(lines, "from", fsm->states[before]);
    report_text(lines, "to", fsm->states[*state]);
    report_text(lines, "cause", fsm->events[event]);
    end(report);
}

/* --- what is asked for --- */

void hnp_report_begin(struct hnp *hnp)
{
    struct timespec now;
    struct hnp_report *report = hnp->request.report ? calloc(1, sizeof(*report)) : NULL;
    if (!report || !report_init(&report->lines)) {
        free(report);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    report->hnp = hnp;
    report->began_us = report->phase_us = clock_us();
    report->wall_us = (uint64_t) now.tv_sec * 1000000u + (uint64_t) now.tv_nsec / 1000u;
    report->watch.changed = changed;
    report->send.run = send_lines;
    hnp->job.watch = hnp->dvm.watch = &report->watch;
    hnp->report = report;
}

static void tell_job(struct hnp_report *report)
{
    const struct hnp *hnp = report->hnp;
    char host[256];
    struct report_lines *lines = begin(report, "job");
    host_name(host, sizeof(host));
    report_number(lines, "schema", SCHEMA);
    report_text(lines, "job", hnp->identity.uuid);
    report_text(lines, "host", host);
    report_number(lines, "pid", (uint64_t) getpid());
    report_open(lines, "programs", '[');
    for (size_t i = 0; i < hnp->request.app_count; i++) {
        report_text(lines, NULL, hnp->request.apps[i].argv[0]);
    }
    report_close(lines, '[');
    end(report);
}

static void tell_allocation(struct hnp_report *report)
{
    const struct job_plan *plan = &report->hnp->plan;
    struct report_lines *lines = begin(report, "allocation");
    report_open(lines, "nodes", '[');
    for (uint32_t node = 0; node < plan->node_count + plan->idle_count; node++) {
        report_open(lines, NULL, '{');
        report_text(lines, "node", plan->nodes[node].name);
        report_number(lines, "slots", plan->nodes[node].slots);
        report_close(lines, '{');
    }
    report_close(lines, '[');
    end(report);
}

void hnp_report_job(struct hnp *hnp)
{
    if (hnp->report) {
        tell_job(hnp->report);
        tell_allocation(hnp->report);
    }
}

static unsigned depth_of(const struct hnp *hnp, uint32_t vpid)
{
    return plm_starter(&hnp->plm, vpid) == HNP_VPID ? 1 : 2;
}

void hnp_report_starts(struct hnp *hnp, uint32_t first)
{
    for (uint32_t vpid = first; hnp->report && vpid < hnp->dvm.count; vpid++) {
        struct report_lines *lines = begin(hnp->report, "daemon");
        report_text(lines, "node", node_name(hnp, vpid));
        report_number(lines, "vpid", vpid);
        report_text(lines, "starter", node_name(hnp, plm_starter(&hnp->plm, vpid)));
        end(hnp->report);
    }
}

void hnp_report_map(struct hnp *hnp)
{
    const struct job_plan *plan = &hnp->plan;
    if (!hnp->report) {
        return;
    }
    struct report_lines *lines = begin(hnp->report, "map");
    report_open(lines, "ranks", '[');
    for (uint32_t rank = 0; rank < plan->rank_count; rank++) {
        report_text(lines, NULL, plan->nodes[plan->node_of[rank]].name);
    }
    report_close(lines, '[');
    end(hnp->report);
}

/* --- ranks --- */

void hnp_report_started(struct hnp *hnp, uint32_t vpid, uint32_t count)
{
    if (hnp->report) {
        struct report_lines *lines = begin(hnp->report, "ranks_started");
        report_text(lines, "node", node_name(hnp, vpid));
        report_number(lines, "count", count);
        end(hnp->report);
    }
}

static void count_end(struct hnp_report *report, uint32_t rank, const struct rank_end *ended)
{
    int status = ended->wait_status;
    if (WIFSIGNALED(status)) {
        report->signals[WTERMSIG(status) % SIGNALS]++;
    } else {
        report->codes[WEXITSTATUS(status)]++;
    }
    if (ended->peak_kib > report->peak_kib) {
        report->peak_kib = ended->peak_kib;
        report->peak_rank = rank;
    }
}

void hnp_report_ended(struct hnp *hnp, uint32_t rank, const struct rank_end *ended)
{
    int status = ended->wait_status;
    if (!hnp->report) {
        return;
    }
    struct report_lines *lines = begin(hnp->report, "rank_ended");
    count_end(hnp->report, rank, ended);
    report_number(lines, "rank", rank);
    report_text(lines, "node", hnp->plan.nodes[hnp->plan.node_of[rank]].name);
    report_number(lines, "pid", ended->pid);
    report_number(lines, WIFSIGNALED(status) ? "signal" : "code",
                  (uint64_t) (WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status)));
    report_text(lines, "missing", ended->missing);
    report_text(lines, "call", ended->call);
    report_text(lines, "core", ended->core);
    report_number(lines, "oom_kill", ended->oom_kill);
    report_number(lines, "peak_kib", ended->peak_kib);
    end(hnp->report);
}

/* --- what goes wrong --- */

void hnp_report_message(struct hnp *hnp, const char *text)
{
    if (hnp->report) {
        struct report_lines *lines = begin(hnp->report, "message");
        report_text(lines, "text", text);
        end(hnp->report);
    }
}

int hnp_report_output_lost(struct hnp *hnp, opal_buffer_t *buffer)
{
    char *where, *why;
    int status = proto_unpack(buffer, "ss", &where, &why);
    if (status == OPAL_SUCCESS && hnp->report) {
        struct report_lines *lines = begin(hnp->report, "output_lost");
        report_text(lines, "where", where);
        report_text(lines, "why", why);
        end(hnp->report);
    }
    free(where);
    free(why);
    return status;
}

/* --- the end --- */

static void put_time(struct report_lines *lines, const char *name, uint64_t us)
{
    if (us > 0) {
        report_seconds(lines, name, us);
    }
}

static void tell_node(struct hnp_report *report, uint32_t vpid)
{
    const struct node_times *times = &report->nodes[vpid];
    struct report_lines *lines = begin(report, "node");
    report_text(lines, "node", node_name(report->hnp, vpid));
    report_number(lines, "depth", vpid == HNP_VPID ? 0 : depth_of(report->hnp, vpid));
    put_time(lines, "home", times->home_us);
    put_time(lines, "launched", times->launched_us);
    put_time(lines, "drained", times->drained_us);
    end(report);
}

static void put_phases(const struct hnp_report *report, struct report_lines *lines)
{
    report_open(lines, "phases", '{');
    for (int i = 0; i < PHASES; i++) {
        put_time(lines, phase_names[i], report->spent_us[i]);
    }
    report_close(lines, '{');
}

static void put_counts(struct report_lines *lines, const char *list, const char *name,
                       const uint32_t *counts, uint32_t size)
{
    report_open(lines, list, '[');
    for (uint32_t i = 0; i < size; i++) {
        if (counts[i] > 0) {
            report_open(lines, NULL, '{');
            report_number(lines, name, i);
            report_number(lines, "ranks", counts[i]);
            report_close(lines, '{');
        }
    }
    report_close(lines, '[');
}

/* The node that was the last to start its ranks; where none has, to call home. */
static void put_slowest(const struct hnp_report *report, struct report_lines *lines)
{
    uint32_t slowest = UINT32_MAX;
    uint64_t most = 0;
    for (int launched = 1; launched >= 0 && slowest == UINT32_MAX; launched--) {
        for (uint32_t vpid = 0; vpid < report->node_count; vpid++) {
            const struct node_times *times = &report->nodes[vpid];
            uint64_t us = launched ? times->launched_us : times->home_us;
            if (us > most) {
                slowest = vpid;
                most = us;
            }
        }
    }
    if (slowest != UINT32_MAX) {
        report_text(lines, "slowest_node", node_name(report->hnp, slowest));
        report_seconds(lines, "slowest_seconds", most);
    }
}

static unsigned deepest(const struct hnp *hnp)
{
    unsigned most = 0;
    for (uint32_t vpid = 1; vpid < hnp->dvm.count; vpid++) {
        unsigned depth = depth_of(hnp, vpid);
        most = depth > most ? depth : most;
    }
    return most;
}

void hnp_report_summary(struct hnp *hnp)
{
    struct hnp_report *report = hnp->report;
    for (uint32_t vpid = 0; report && vpid < report->node_count; vpid++) {
        tell_node(report, vpid);
    }
    if (!report) {
        return;
    }
    struct report_lines *lines = begin(report, "summary");
    enter(report, report->phase);
    report_number(lines, "exit_code", (uint64_t) job_exit_code(&hnp->job));
    report_seconds(lines, "seconds", report->phase_us - report->began_us);
    put_phases(report, lines);
    put_slowest(report, lines);
    put_counts(lines, "codes", "code", report->codes, CODES);
    put_counts(lines, "signals", "signal", report->signals, SIGNALS);
    report_number(lines, "peak_kib", report->peak_kib);
    report_number(lines, "peak_rank", report->peak_rank);
    report_number(lines, "daemons_lost", report->lost);
    report_number(lines, "depth", deepest(hnp));
    report_end(lines);
    send_lines(&report->send);
}

void hnp_report_fini(struct hnp *hnp)
{
    if (hnp->report) {
        loop_cancel(hnp->config.loop, &hnp->report->send);
        report_fini(&hnp->report->lines);
        free(hnp->report->nodes);
    }
    free(hnp->report);
    hnp->report = NULL;
}
