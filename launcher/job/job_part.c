/* A job's parts, one at each daemon; and what the dvm tells of those. */
#include <config.h>

#include <launcher/job/job_parts.h>

#include <base/data/array.h>
#include <launcher/request/run_request.h>

enum part_action { PART_NOTHING, PART_DROP, PART_END_RANKS, PART_TELL_LOSS };

static const char *const part_states[] = {"absent",  "pending",     "launched",
                                          "drained", "unexplained", "lost"};
static const char *const part_events[] = {"begins",  "joins", "launched",
                                          "drained", "lost",  "lost for now"};
static const char *const part_actions[] = {"", "nothing is waited for", "its ranks have ended",
                                           "its ranks have ended, and the job fails"};
static const struct fsm_row part_rows[] = {
    {PART_ABSENT, PART_BEGINS, PART_PENDING, PART_NOTHING},
    {PART_ABSENT, PART_JOINS, PART_LAUNCHED, PART_NOTHING},
    {PART_ABSENT, PART_IS_LOST, PART_LOST, PART_DROP},
    {PART_PENDING, PART_LAUNCHES, PART_LAUNCHED, PART_NOTHING},
    {PART_PENDING, PART_DRAINS, PART_DRAINED, PART_NOTHING},
    {PART_PENDING, PART_IS_LOST, PART_LOST, PART_TELL_LOSS},
    {PART_PENDING, PART_IS_LOST_FOR_NOW, PART_UNEXPLAINED, PART_END_RANKS},
    {PART_LAUNCHED, PART_DRAINS, PART_DRAINED, PART_NOTHING},
    {PART_LAUNCHED, PART_IS_LOST, PART_LOST, PART_TELL_LOSS},
    {PART_LAUNCHED, PART_IS_LOST_FOR_NOW, PART_UNEXPLAINED, PART_END_RANKS},
    {PART_UNEXPLAINED, PART_IS_LOST, PART_LOST, PART_TELL_LOSS},
};
const struct fsm job_part_fsm = {
    .of = "part of the job on ",
    .changes = LOG_DEBUG,
    .states = part_states,
    .events = part_events,
    .actions = part_actions,
    .rows = part_rows,
    .row_count = sizeof(part_rows) / sizeof(*part_rows),
};

bool job_end_rank(struct job *job, uint32_t rank)
{
    bool first = !job->ended[rank];
    job->ended[rank] = true;
    job->unended -= first;
    return first;
}

void job_end_ranks(struct job *job, uint32_t vpid, uint32_t first, uint32_t end)
{
    for (uint32_t rank = first; rank < end; rank++) {
        if (job->ops->daemon_of(job->arg, rank) == vpid) {
            (void) job_end_rank(job, rank);
        }
    }
}

static void tell_loss(struct job *job, uint32_t vpid, const char *why)
{
    job_note_failure(job, EXIT_RUNTIME, "lost the daemon of node %s: %s",
                     job->dvm->daemons[vpid].node, why);
    if (job_runs(job)) {
        job->ops->ended(job->arg, vpid, JOB_ALL);
    }
    job->ops->part_lost(job->arg, vpid);
    if (job->end.exit_code == 0) { /* too late to fail, but output may be missing */
        job->end.exit_code = EXIT_RUNTIME;
    }
}

void job_take_part(struct job *job, uint32_t vpid, enum part_event event, const char *why)
{
    if (!job->parts) {
        return; /* not submitted */
    }
    uint8_t *part = &job->parts[vpid], before = *part;
    int action =
        fsm_take(job->part_fsm, part, (uint8_t) event, job->dvm->daemons[vpid].node, job->watch);
    if (action < 0) {
        return;
    }
    job->in_part[before]--;
    job->in_part[*part]++;
    if (action == PART_DROP) {
        job->ops->part_lost(job->arg, vpid);
    } else if (action != PART_NOTHING) {
        job_end_ranks(job, vpid, 0, job->rank_count);
    }
    if (action == PART_TELL_LOSS) {
        tell_loss(job, vpid, why);
    }
    job_check(job);
}

/* --- what the dvm tells --- */

static void stands(struct dvm_user *user)
{
    job_stand(container_of(user, struct job, user));
}

static void failed(struct dvm_user *user, const char *text)
{
    struct job *job = container_of(user, struct job, user);
    if (job->phase == JOB_WAITING) {
        job_fail(job, EXIT_RUNTIME, "%s", text);
    }
}

static bool runs(const struct dvm_user *user)
{
    return job_runs((const struct job *) ((const char *) user - offsetof(struct job, user)));
}

static void lost(struct dvm_user *user, uint32_t vpid, const char *why)
{
    struct job *job = container_of(user, struct job, user);
    if (job->phase != JOB_DONE) {
        job_take_part(job, vpid, why ? PART_IS_LOST : PART_IS_LOST_FOR_NOW, why);
    }
}

static int grows(struct dvm_user *user, uint32_t count)
{
    struct job *job = container_of(user, struct job, user);
    if (!job->parts) {
        return ORTE_SUCCESS; /* not submitted */
    }
    if (!array_resize(&job->parts, count, sizeof(*job->parts))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t vpid = job->dvm->count; vpid < count; vpid++) {
        job->parts[vpid] = PART_ABSENT;
        job->in_part[PART_ABSENT]++;
    }
    return ORTE_SUCCESS;
}

/* What became of each is known by now. */
static void grown(struct dvm_user *user)
{
    struct job *job = container_of(user, struct job, user);
    if (job->parts && job->phase != JOB_DONE) {
        job->ops->grown(job->arg);
    }
}

const struct dvm_user_ops job_user_ops = {
    .stands = stands, .failed = failed, .runs = runs, .lost = lost, .grows = grows, .grown = grown};
