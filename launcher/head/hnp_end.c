/* How a job ends: the first reason decides the exit code; the rest of the ranks get SIGTERM, then
 * SIGKILL; when all have ended and their output is there, the front end gets the code. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <errno.h>
#include <launcher/node/home.h>
#include <launcher/request/nodes/hostlist.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <wireup/proto.h>

static struct param abort_grace =
    PARAM_INT("abort_grace_ms", "1000", 0, 600000, "ms",
              "Between SIGTERM and SIGKILL to the ranks of a job that has failed");
PARAM_ROWS("launcher", abort_grace);
static struct param interrupt_grace =
    PARAM_INT("interrupt_grace_ms", "2000", 0, 600000, "ms",
              "Between an interrupt that keelrun passed on and SIGKILL to the ranks");
PARAM_ROWS("launcher", interrupt_grace);

#define UNKILLABLE_US 3000000u /* after SIGKILL */
#define DRAIN_US 5000000u      /* for the last output of a job that failed */
#define STEP_END_US 2000000u   /* for srun, when its daemons were told to end */

uint32_t hnp_grace_s(void)
{
    return (uint32_t) ((param_int(&abort_grace) + 999) / 1000);
}

void hnp_finished(struct hnp *hnp)
{
    if (!hnp->end.finished) {
        loop_timer_stop(&hnp->timers.step);
        int32_t code =
            hnp->end.exit_code == 0 && hnp->end.output_lost ? EXIT_RUNTIME : hnp->end.exit_code;
        channel_send(hnp->front, proto_new(FRONT_EXIT, "i", code));
    }
    hnp->end.finished = true;
}

static void step_over(struct loop_timer *timer)
{
    log_warn(LOG_LAUNCHER, "srun does not end");
    hnp_finished(container_of(timer, struct hnp, timers.step));
}

static void finish(struct hnp *hnp)
{
    if (hnp->phase == PHASE_DONE) {
        return;
    }
    loop_timer_stop(&hnp->timers.start);
    plm_started(&hnp->plm);
    loop_timer_stop(&hnp->timers.limit);
    loop_timer_stop(&hnp->timers.grace);
    loop_timer_stop(&hnp->timers.drain);
    hnp_enter(hnp, PHASE_DONE);
    if (hnp->daemon) {
        hnp_order_all(hnp, ORDER_EXIT);
    }
    if (plm_end(&hnp->plm)) {
        loop_timer_start(&hnp->timers.step, STEP_END_US);
    } else {
        hnp_finished(hnp);
    }
}

void hnp_end_dry(struct hnp *hnp)
{
    finish(hnp);
}

void hnp_check_drained(struct hnp *hnp)
{
    if (hnp->phase == PHASE_DRAINING && hnp_peers_reached(hnp, PEER_DRAINED)) {
        finish(hnp);
    }
}

void hnp_check_end(struct hnp *hnp)
{
    bool launched =
        hnp->phase == PHASE_RUNNING || (hnp->phase == PHASE_LAUNCHING && hnp->end.failing);
    if (!launched || hnp->unended > 0 || hnp->end.untold > 0) {
        return;
    }
    loop_timer_stop(&hnp->timers.grace);
    hnp_enter(hnp, PHASE_DRAINING);
    if (hnp->end.failing || hnp->end.exit_code != 0) {
        loop_timer_start(&hnp->timers.drain, DRAIN_US);
    }
    hnp_order_all(hnp, ORDER_END);
    hnp_check_drained(hnp);
}

/* Are those that do not run yet to be started? */
enum starts { STARTS_GO_ON, STARTS_END };

static void order_signal(struct hnp *hnp, int32_t signal, enum starts starts)
{
    (void) !hnp_broadcast(hnp, proto_new(ORDER_SIGNAL, "ic", signal, (uint8_t) starts));
}

static void order_kill(struct hnp *hnp)
{
    hnp->end.kill_ordered = true;
    hnp->end.unkilled = hnp->unended;
    hnp_order_all(hnp, ORDER_KILL);
    loop_timer_start(&hnp->timers.grace, UNKILLABLE_US);
}

static void grace_over(struct loop_timer *timer)
{
    struct hnp *hnp = container_of(timer, struct hnp, timers.grace);
    if (!hnp->end.kill_ordered) {
        hnp_lose_homeless(hnp);
        if (hnp_has_ranks(hnp)) { /* elsewhere */
            order_kill(hnp);
        }
        return;
    }
    if (hnp->unended < hnp->end.unkilled) { /* there are many, or the machine is busy */
        hnp->end.unkilled = hnp->unended;
        loop_timer_start(&hnp->timers.grace, UNKILLABLE_US);
        return;
    }
    hnp_tell(hnp, "%u ranks do not end although they were killed", hnp->unended);
    finish(hnp);
}

static void drain_over(struct loop_timer *timer)
{
    struct hnp *hnp = container_of(timer, struct hnp, timers.drain);
    hnp_tell(hnp, "some output of the ranks may be missing");
    finish(hnp);
}

static void limit_over(struct loop_timer *timer)
{
    struct hnp *hnp = container_of(timer, struct hnp, timers.limit);
    hnp_fail(hnp, EXIT_TIMEOUT, "the time limit of %u s is over", hnp->request.timeout_s);
}

char *hnp_nodes_before(const struct hnp *hnp, enum peer_state state, uint32_t *count)
{
    const char **names = calloc(hnp->peer_count, sizeof(*names));
    *count = 0;
    for (uint32_t vpid = 0; names && vpid < hnp->peer_count; vpid++) {
        if (hnp->peers[vpid].state < state) {
            names[(*count)++] = hnp->peers[vpid].node;
        }
    }
    char *text = names ? hostlist_print(names, *count) : NULL;
    free(names);
    return text;
}

/* Starting takes too long: who is late, and with what? */
static void start_over(struct loop_timer *timer)
{
    static const struct {
        enum peer_state state;
        const char *what;
        uint64_t (*limit_us)(void);
        const char *limit_name;
    } steps[] = {
        {PEER_HOME, "called home", home_limit_us, "plm_start_timeout_s"},
        {PEER_WIRED, "found its place in the tree", home_limit_us, "plm_start_timeout_s"},
        {PEER_LAUNCHED, "started its ranks", hnp_launch_limit_us, "plm_launch_timeout_s"},
    };
    struct hnp *hnp = container_of(timer, struct hnp, timers.start);
    if (hnp->phase == PHASE_TOPOLOGIES) {
        hnp_fail(
            hnp, EXIT_RUNTIME,
            "a daemon has not reported its node's processors within %u s (plm_start_timeout_s)",
            (unsigned) (home_limit_us() / 1000000u));
        return;
    }
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        if (!hnp_peers_reached(hnp, steps[i].state)) {
            uint32_t count;
            char *nodes = hnp_nodes_before(hnp, steps[i].state, &count);
            hnp_fail(hnp, EXIT_RUNTIME, "node%s %s: %s %s within %u s (%s)", count == 1 ? "" : "s",
                     nodes ? nodes : "?",
                     count == 1 ? "its daemon has not" : "none of their daemons has", steps[i].what,
                     (unsigned) (steps[i].limit_us() / 1000000u), steps[i].limit_name);
            free(nodes);
            return;
        }
    }
}

/* Ends the ranks, or the job at once where none was started. */
static void begin_end(struct hnp *hnp, int signal, struct param *grace)
{
    if (hnp->phase < PHASE_LAUNCHING) {
        finish(hnp);
        return;
    }
    order_signal(hnp, signal, STARTS_END);
    order_signal(hnp, SIGCONT, STARTS_END);
    loop_timer_start(&hnp->timers.grace, (uint64_t) param_int(grace) * 1000u);
    hnp_check_end(hnp);
}

void hnp_fail(struct hnp *hnp, int exit_code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (hnp->end.failing || hnp->phase >= PHASE_DRAINING) {
        log_info(LOG_LAUNCHER, "after the end began: %s", text);
        return;
    }
    hnp->end.failing = true;
    hnp->end.exit_code = hnp->end.exit_code ? hnp->end.exit_code : exit_code;
    hnp_tell(hnp, "%s", text);
    begin_end(hnp, SIGTERM, &abort_grace);
}

/* --- ranks --- */

static const char *node_of(const struct hnp *hnp, uint32_t rank)
{
    return hnp->plan.nodes[hnp->plan.node_of[rank]].name;
}

/* How far a rank's failure goes: with recovery the job may go on. */
enum reach { OF_RANK, OF_JOB };

/* format goes on behind "rank N (program) on node X ". */
static KEEL_PRINTF(5, 6) void fail_by(struct hnp *hnp, uint32_t rank, enum reach reach,
                                      int exit_code, const char *format, ...)
{
    char what[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    void (*fail)(struct hnp *, int, const char *, ...) =
        reach == OF_RANK ? hnp_note_failure : hnp_fail;
    fail(hnp, exit_code, "rank %u (%s) on node %s %s", rank,
         hnp->request.apps[hnp->plan.app_of[rank]].argv[0], node_of(hnp, rank), what);
    if (reach == OF_RANK) {
        hnp_tell_ended(hnp, UINT32_MAX, rank);
    }
}

static void rank_ended(struct hnp *hnp, uint32_t rank)
{
    if (!hnp->ended[rank]) {
        hnp->ended[rank] = true;
        hnp->unended--;
    }
}

void hnp_rank_failed(struct hnp *hnp, uint32_t rank, uint8_t stage, int error, const char *what)
{
    rank_ended(hnp, rank);
    if (stage == START_EXEC) {
        int code = error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
        hnp_fail(hnp, code, "cannot start %s on node %s (rank %u): %s", what, node_of(hnp, rank),
                 rank, strerror(error));
    } else {
        static const char *const steps[] = {"make a process for", "enter the folder", "bind"};
        hnp_fail(hnp, EXIT_RUNTIME, "cannot %s %s on node %s (rank %u): %s",
                 stage < START_EXEC ? steps[stage] : "start", what, node_of(hnp, rank), rank,
                 strerror(error));
    }
    hnp_check_end(hnp);
}

/* A rank that never joined, and one that waits for it. */
static void check_strangers(struct hnp *hnp)
{
    if (hnp->joining.call && hnp->joining.stranger != UINT32_MAX) {
        fail_by(hnp, hnp->joining.stranger, OF_JOB, 1,
                "ended without %s, which another rank has called", hnp->joining.call);
    }
}

void hnp_rank_exited(struct hnp *hnp, uint32_t rank, int wait_status, bool joined,
                     const char *missing)
{
    rank_ended(hnp, rank);
    if (WIFSIGNALED(wait_status)) {
        int signal = WTERMSIG(wait_status);
        fail_by(hnp, rank, OF_RANK, 128 + signal, "was killed by signal %d (%s%s)", signal,
                strsignal(signal), WCOREDUMP(wait_status) ? ", core dumped" : "");
    } else if (WEXITSTATUS(wait_status) != 0) {
        fail_by(hnp, rank, OF_RANK, WEXITSTATUS(wait_status), "exited with code %d",
                WEXITSTATUS(wait_status));
    } else if (missing[0]) {
        fail_by(hnp, rank, OF_RANK, 1, "exited without %s", missing);
    } else if (!joined && hnp->joining.stranger == UINT32_MAX) {
        hnp->joining.stranger = rank;
        check_strangers(hnp);
    }
    hnp_check_end(hnp);
}

void hnp_rank_joined(struct hnp *hnp, char *call)
{
    if (hnp->joining.call) {
        free(call);
        return;
    }
    hnp->joining.call = call;
    check_strangers(hnp);
}

void hnp_rank_broken(struct hnp *hnp, uint32_t rank, const char *reason)
{
    fail_by(hnp, rank, OF_JOB, 1, "%s", reason);
}

void hnp_rank_aborted(struct hnp *hnp, uint32_t rank, int status, const char *reason)
{
    int code = status & 0xff;
    fail_by(hnp, rank, OF_JOB, code ? code : 1, "aborted the job with code %d%s%s", status,
            reason[0] ? ": " : "", reason);
}

/* --- daemons --- */

static void ranks_of_ended(struct hnp *hnp, uint32_t vpid, uint32_t first, uint32_t end)
{
    for (uint32_t rank = first; rank < end; rank++) {
        if (hnp->daemon_of_node[hnp->plan.node_of[rank]] == vpid) {
            rank_ended(hnp, rank);
        }
    }
}

void hnp_ranks_unable(struct hnp *hnp, uint32_t vpid, uint32_t first, uint32_t count,
                      const char *why)
{
    ranks_of_ended(hnp, vpid, first, first + count);
    hnp_fail(hnp, EXIT_RUNTIME, "node %s: more ranks cannot be started: %s", hnp->peers[vpid].node,
             why);
    hnp_check_end(hnp);
}

void hnp_peer_unable(struct hnp *hnp, uint32_t vpid, const char *why)
{
    ranks_of_ended(hnp, vpid, 0, hnp->plan.rank_count);
    hnp_fail(hnp, EXIT_RUNTIME, "node %s: %s", hnp->peers[vpid].node, why);
    hnp_check_end(hnp);
}

/* Its ranks are ended by its shepherd. Returns whether all output of the node is here. */
static bool lose_peer(struct hnp *hnp, uint32_t vpid)
{
    bool drained = hnp->peers[vpid].state == PEER_DRAINED;
    hnp->peers[vpid].state = PEER_LOST;
    ranks_of_ended(hnp, vpid, 0, hnp->plan.rank_count);
    return drained;
}

/* Where one srun starts all daemons, it ends them when one of them cannot start. Which that is it
 * says when it has ended itself, and that is the reason, not the loss of those that had come home.
 */
static bool is_lost_with_others(const struct hnp *hnp)
{
    return hnp->phase == PHASE_DAEMONS && hnp->plm.step_runs && !hnp_peers_reached(hnp, PEER_HOME);
}

/* Why a daemon's links broke, if Slurm has said why it ended it, or it said itself by what signal.
 */
static const char *why_ended(struct hnp *hnp, const struct peer *peer, const char *why, char *text,
                             size_t size)
{
    if (peer->slurm_said) {
        snprintf(text, size, "srun says: %s", peer->slurm_said);
        return text;
    }
    if (hnp->plm.step.reason[0]) {
        return hnp->plm.step.reason;
    }
    if (peer->signal == 0) {
        return why;
    }
    const char *name = sigabbrev_np(peer->signal);
    bool slurm = plm_is_slurm(&hnp->plm);
    snprintf(text, size, "%s ended it by SIG%s%s", slurm ? "Slurm" : "somebody", name ? name : "?",
             slurm ? ": scancel, the time limit or a node that failed" : "");
    return text;
}

uint32_t hnp_slurm_said(const struct hnp *hnp)
{
    for (uint32_t vpid = HNP_VPID + 1; vpid < hnp->peer_count; vpid++) {
        if (hnp->peers[vpid].slurm_said && hnp_peer_lives(hnp, vpid)) {
            return vpid;
        }
    }
    return HNP_VPID;
}

static void tell_loss(struct hnp *hnp, uint32_t lost, const char *why)
{
    char said[192];
    hnp_note_failure(hnp, EXIT_RUNTIME, "lost the daemon of node %s: %s", hnp->peers[lost].node,
                     why_ended(hnp, &hnp->peers[lost], why, said, sizeof(said)));
    hnp_tell_ended(hnp, lost, UINT32_MAX);
    hnp_input_lost(hnp, lost);
    hnp_spawn_lost(hnp, lost);
    if (hnp->end.exit_code == 0) { /* too late to fail, but output may be missing */
        hnp->end.exit_code = EXIT_RUNTIME;
    }
}

/* May Slurm yet say that it has cancelled the step? False where the loss is to be told at once: the
 * job has not begun, or ends already. */
static bool must_settle(struct hnp *hnp)
{
    bool runs = hnp->phase == PHASE_LAUNCHING || hnp->phase == PHASE_RUNNING;
    if (!runs || hnp->end.failing) {
        step_settle(&hnp->plm.step);
    }
    return !step_is_settled(&hnp->plm.step);
}

static void step_settled(struct step *step)
{
    struct hnp *hnp = container_of(step, struct hnp, plm.step);
    for (uint32_t vpid = 1; hnp->end.untold > 0 && vpid < hnp->peer_count; vpid++) {
        char *why = hnp->peers[vpid].untold_why;
        if (why) {
            hnp->peers[vpid].untold_why = NULL;
            hnp->end.untold--;
            tell_loss(hnp, vpid, why);
            free(why);
        }
    }
    hnp_check_end(hnp);
}

void hnp_peer_lost(struct hnp *hnp, uint32_t lost, const char *why)
{
    step_read(&hnp->plm.step);
    uint32_t first = hnp->peers[lost].slurm_said ? HNP_VPID : hnp_slurm_said(hnp);
    if (first !=
        HNP_VPID) { /* Slurm has ended this one because of it, and its link is still tried */
        hnp_peer_lost(hnp, first, "");
    }
    if (hnp->peers[lost].state == PEER_LOST || hnp->phase == PHASE_DONE) {
        return;
    }
    if (is_lost_with_others(hnp)) {
        log_info(LOG_LAUNCHER, "lost the daemon of node %s: %s", hnp->peers[lost].node, why);
        (void) lose_peer(hnp, lost);
        return;
    }
    bool untold = must_settle(hnp);
    bool drained = lose_peer(hnp, lost);
    hnp_silence_over(hnp);
    if (lost != HNP_VPID && hnp->tree_stands) {
        hnp_repair(hnp, lost);
    }
    if (!drained && untold) {
        hnp->peers[lost].untold_why = strdup(why);
        hnp->end.untold += hnp->peers[lost].untold_why != NULL;
    }
    if (!drained && !hnp->peers[lost].untold_why) {
        tell_loss(hnp, lost, why);
    }
    hnp_check_launched(hnp);
    hnp_check_end(hnp);
    hnp_check_drained(hnp);
}

/* --- signals from the user --- */

bool hnp_has_ranks(const struct hnp *hnp)
{
    return hnp->phase >= PHASE_LAUNCHING && hnp->phase < PHASE_DRAINING;
}

void hnp_send_held(struct hnp *hnp)
{
    for (int signal = 1; signal < 64; signal++) {
        if (hnp->held & (UINT64_C(1) << signal)) {
            order_signal(hnp, signal, STARTS_GO_ON);
        }
    }
}

void hnp_signal(struct hnp *hnp, int signal)
{
    bool interrupt = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
    if (!interrupt) {
        if (hnp_has_ranks(hnp)) {
            order_signal(hnp, signal, STARTS_GO_ON);
        } else if (hnp->phase < PHASE_LAUNCHING) {
            hnp->held |= UINT64_C(1) << signal;
        }
        return;
    }
    if (++hnp->end.interrupts > 1) {
        if (hnp->phase == PHASE_DONE) {
            hnp_finished(hnp);
        } else if (hnp_has_ranks(hnp)) {
            order_kill(hnp);
        } else {
            finish(hnp);
        }
        return;
    }
    if (hnp->end.failing || hnp->phase >= PHASE_DRAINING) {
        return;
    }
    hnp->end.failing = true;
    hnp->end.exit_code = 128 + signal;
    begin_end(hnp, signal, &interrupt_grace);
}

void hnp_end_init(struct hnp *hnp)
{
    loop_timer_init(&hnp->timers.start, hnp->loop, start_over);
    loop_timer_init(&hnp->timers.limit, hnp->loop, limit_over);
    loop_timer_init(&hnp->timers.grace, hnp->loop, grace_over);
    loop_timer_init(&hnp->timers.drain, hnp->loop, drain_over);
    loop_timer_init(&hnp->timers.step, hnp->loop, step_over);
    hnp->plm.step.settled = step_settled;
}
