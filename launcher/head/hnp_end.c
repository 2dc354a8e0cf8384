/* A job: what it asks for, and its end. When all ranks have ended and their output is there, the
 * front end gets the code. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <errno.h>
#include <launcher/shepherd/program.h>
#include <stdio.h>
#include <string.h>
#include <wireup/proto.h>

static struct param abort_grace =
    PARAM_INT("abort_grace_ms", "1000", 0, 600000, "ms",
              "Between SIGTERM and SIGKILL to the ranks of a job that has failed");
PARAM_ROWS("launcher", abort_grace);
static struct param interrupt_grace =
    PARAM_INT("interrupt_grace_ms", "2000", 0, 600000, "ms",
              "Between an interrupt that keelrun passed on and SIGKILL to the ranks");
PARAM_ROWS("launcher", interrupt_grace);

#define STEP_END_US 2000000u /* for srun, when its daemons were told to end */

uint32_t hnp_grace_s(void)
{
    return (uint32_t) ((param_int(&abort_grace) + 999) / 1000);
}

void hnp_job_limits(const struct hnp *hnp, struct job_limits *limits)
{
    *limits = (struct job_limits){
        .timeout_s = hnp->request.timeout_s > 0 ? (uint32_t) hnp->request.timeout_s : 0,
        .launch_us = hnp_launch_limit_us(),
        .abort_grace_us = (uint64_t) param_int(&abort_grace) * 1000u,
        .interrupt_grace_us = (uint64_t) param_int(&interrupt_grace) * 1000u,
        .recovers = hnp_recovers(),
    };
}

void hnp_finished(struct hnp *hnp)
{
    if (!hnp->finished) {
        loop_timer_stop(&hnp->timers.step);
        hnp_report_summary(hnp);
        channel_send(hnp->config.front,
                     proto_new(FRONT_EXIT, "i", (int32_t) job_exit_code(&hnp->job)));
    }
    hnp->finished = true;
}

static void step_over(struct loop_timer *timer)
{
    log_warn(LOG_LAUNCHER, "srun does not end");
    hnp_finished(container_of(timer, struct hnp, timers.step));
}

/* --- what the job asks for --- */

static void set_timer(void *arg, enum job_timer timer, uint64_t wait_us)
{
    struct hnp *hnp = arg;
    loop_timer_start(&hnp->timers.job[timer].timer, wait_us);
}

static void stop_timer(void *arg, enum job_timer timer)
{
    struct hnp *hnp = arg;
    loop_timer_stop(&hnp->timers.job[timer].timer);
}

static void tell(void *arg, const char *text)
{
    hnp_tell(arg, "%s", text);
}

static void prepare(void *arg)
{
    struct hnp *hnp = arg;
    char reason[512] = "";
    int status = hnp_report_uri(hnp, reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        job_fail(&hnp->job, EXIT_RUNTIME, "%s", reason[0] ? reason : opal_strerror(status));
    }
}

static void launch(void *arg)
{
    hnp_report_map(arg);
    hnp_launch(arg);
}

static void launched(void *arg)
{
    struct hnp *hnp = arg;
    if (!dvm_grows(&hnp->dvm)) {
        plm_started(&hnp->plm);
    }
}

static void order_signal(void *arg, int signal, enum job_starts starts)
{
    if (starts == STARTS_END) {
        hnp_explain_cut(arg);
    }
    (void) !hnp_broadcast(arg, proto_new(ORDER_SIGNAL, "ic", (int32_t) signal, (uint8_t) starts));
}

static void order_kill(void *arg)
{
    (void) !hnp_broadcast(arg, proto_new(ORDER_KILL, ""));
}

static void order_drain(void *arg)
{
    hnp_explain_cut(arg);
    (void) !hnp_broadcast(arg, proto_new(ORDER_END, ""));
}

static void tell_ended(void *arg, uint32_t vpid, uint32_t rank)
{
    hnp_tell_ended(arg, vpid, rank);
}

static void part_lost(void *arg, uint32_t vpid)
{
    hnp_input_lost(arg, vpid);
    hnp_spawn_lost(arg, vpid);
}

static void grown(void *arg)
{
    struct hnp *hnp = arg;
    plm_started(&hnp->plm);
    hnp_spawn_grown(hnp);
}

static void over(void *arg)
{
    struct hnp *hnp = arg;
    plm_started(&hnp->plm);
    dvm_close(&hnp->dvm);
    if (plm_end(&hnp->plm)) {
        loop_timer_start(&hnp->timers.step, STEP_END_US);
    } else {
        hnp_finished(hnp);
    }
}

static void hurry(void *arg)
{
    hnp_finished(arg);
}

static uint32_t daemon_of(void *arg, uint32_t rank)
{
    const struct hnp *hnp = arg;
    return hnp->daemon_of_node[hnp->plan.node_of[rank]];
}

static const char *program(void *arg, uint32_t rank)
{
    const struct hnp *hnp = arg;
    return hnp->request.apps[hnp->plan.app_of[rank]].argv[0];
}

const struct job_ops hnp_job_ops = {
    .set_timer = set_timer,
    .stop_timer = stop_timer,
    .tell = tell,
    .prepare = prepare,
    .launch = launch,
    .launched = launched,
    .signal = order_signal,
    .kill = order_kill,
    .drain = order_drain,
    .ended = tell_ended,
    .part_lost = part_lost,
    .grown = grown,
    .over = over,
    .hurry = hurry,
    .daemon_of = daemon_of,
    .program = program,
};

static void on_timer(struct loop_timer *timer)
{
    struct hnp_timer *own = container_of(timer, struct hnp_timer, timer);
    if (own->number == JOB_TIMER_LIMIT) {
        hnp_explain_limit(own->hnp);
        return;
    }
    job_timer(&own->hnp->job, (enum job_timer) own->number, clock_us());
}

void hnp_end_init(struct hnp *hnp)
{
    for (int i = 0; i < JOB_TIMERS; i++) {
        hnp->timers.job[i].hnp = hnp;
        hnp->timers.job[i].number = i;
        loop_timer_init(&hnp->timers.job[i].timer, hnp->config.loop, on_timer);
    }
    loop_timer_init(&hnp->timers.step, hnp->config.loop, step_over);
}

/* --- a rank that was not started --- */

static const char *explain_start(int error, const char *what)
{
    return error == ENOENT && !strchr(what, '/')
               ? "it is neither in PATH nor in the folder where it starts"
               : program_strerror(error);
}

void hnp_rank_failed(struct hnp *hnp, uint32_t rank, uint8_t stage, int error, const char *what)
{
    static const char *const steps[] = {"make a process for", "enter the folder", "bind"};
    bool missing = error == ENOENT || error == ENOTDIR || error == ELIBACC;
    int code = stage != START_EXEC ? EXIT_RUNTIME : missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    char text[1024];
    snprintf(text, sizeof(text), "cannot %s %s on node %s (rank %u): %s",
             stage < START_EXEC ? steps[stage] : "start", what,
             hnp->dvm.daemons[daemon_of(hnp, rank)].node, rank,
             stage == START_EXEC ? explain_start(error, what) : strerror(error));
    job_rank_unstarted(&hnp->job, rank, code, text);
}
