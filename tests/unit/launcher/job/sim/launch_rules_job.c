/* What the front end and the daemons say of a job. */
#include <config.h>

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <tests/unit/launcher/job/sim/launch_rules_parts.h>

void rules_fail(struct rules *rules, uint32_t job, int code, const char *text)
{
    rules_job_fail(rules, &rules->jobs[job], code, text);
}

void rules_dry(struct rules *rules, uint32_t number)
{
    struct rules_job *job = &rules->jobs[number];
    if (!job->launched && !job->over) {
        rules_job_end(rules, job);
    }
}

void rules_launched(struct rules *rules, uint32_t job, uint32_t vpid)
{
    rules->jobs[job].part_launched[vpid] |=
        rules->lost[vpid] == RULES_LIVES && !rules->jobs[job].absent[vpid];
    rules_job_settle(rules, &rules->jobs[job]);
}

void rules_drained(struct rules *rules, uint32_t job, uint32_t vpid)
{
    bool counts =
        rules->jobs[job].draining && !rules->jobs[job].over && !rules->jobs[job].absent[vpid];
    rules->jobs[job].part_drained[vpid] |= counts && rules->lost[vpid] == RULES_LIVES;
    rules_job_settle(rules, &rules->jobs[job]);
}

void rules_unable(struct rules *rules, uint32_t number, uint32_t vpid, const char *why)
{
    struct rules_job *job = &rules->jobs[number];
    char text[LAUNCH_LINE];
    for (uint32_t rank = 0; rank < job->rank_count; rank++) {
        job->ended[rank] |= job->daemon_of[rank] == vpid;
    }
    snprintf(text, sizeof(text), "node n%u: %s", vpid, why);
    rules_job_fail(rules, job, CODE_RUNTIME, text);
    rules_job_settle(rules, job);
}

static void describe(const struct rules_job *job, uint32_t rank, const char *what, char *text,
                     size_t size)
{
    snprintf(text, size, "rank %u (prog, pid %u) on node n%u %s", rank, job->pids[rank],
             job->daemon_of[rank], what);
}

static void check_strangers(struct rules *rules, struct rules_job *job)
{
    char text[LAUNCH_LINE];
    if (job->joined && job->stranger != UINT32_MAX) {
        describe(job, job->stranger, "ended without MPI_Init, which another rank has called", text,
                 sizeof(text));
        rules_job_fail_of_rank(rules, job, job->stranger, 1, text, false);
    }
}

/* Rule 4. */
void rules_exited(struct rules *rules, uint32_t number, uint32_t rank, const struct rank_end *end)
{
    int wait_status = end->wait_status;
    struct rules_job *job = &rules->jobs[number];
    char what[160], text[LAUNCH_LINE];
    int signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    int code = signal ? 128 + signal : WEXITSTATUS(wait_status);
    job->pids[rank] = end->pid;
    if (job->ended[rank]) {
        return;
    }
    job->ended[rank] = true;
    if (job->has_reason) {
        bool told_to = wait_status == job->acts.end_signal;
        job->after[rank] =
            told_to || (job->killed && wait_status == SIGKILL) ? BY_KEELRUN : wait_status;
    }
    snprintf(what, sizeof(what), "exited without %s", end->missing);
    if (code) {
        rules_describe_end(wait_status, what, sizeof(what));
    }
    if (code || end->missing[0]) {
        describe(job, rank, what, text, sizeof(text));
        rules_job_fail_of_rank(rules, job, rank, code ? code : 1, text, true);
    } else if (!end->joined && job->stranger == UINT32_MAX) {
        job->stranger = rank;
        check_strangers(rules, job);
    }
    rules_job_settle(rules, job);
}

void rules_unstarted(struct rules *rules, uint32_t number, uint32_t rank, int code,
                     const char *text)
{
    struct rules_job *job = &rules->jobs[number];
    if (!job->ended[rank]) {
        job->ended[rank] = true;
        rules_job_fail(rules, job, code, text);
        rules_job_settle(rules, job);
    }
}

void rules_joined(struct rules *rules, uint32_t number)
{
    struct rules_job *job = &rules->jobs[number];
    bool first = !job->joined;
    job->joined = true;
    if (first) {
        check_strangers(rules, job);
    }
}

void rules_aborted(struct rules *rules, uint32_t number, uint32_t rank, uint32_t pid, int status)
{
    struct rules_job *job = &rules->jobs[number];
    job->pids[rank] = pid;
    char what[128], text[LAUNCH_LINE];
    snprintf(what, sizeof(what), "aborted the job with code %d: enough", status);
    describe(job, rank, what, text, sizeof(text));
    rules_job_fail_of_rank(rules, job, rank, (status & 0xff) ? status & 0xff : 1, text, false);
}

void rules_output_lost(struct rules *rules, uint32_t number)
{
    struct rules_job *job = &rules->jobs[number];
    if (!job->output_lost) {
        launch_acts_tell(&job->acts, "no memory for output: some of it is lost");
    }
    job->output_lost = true;
}

/* Rule 5. */
static void interrupt(struct rules *rules, struct rules_job *job, int signal)
{
    job->interrupts++;
    if (job->interrupts == 1) {
        if (!job->has_reason && !job->draining && !job->over) {
            job->code = 128 + signal;
            rules_job_begin_end(rules, job, signal, job->limits.interrupt_grace_us);
        }
    } else if (job->over) {
        job->acts.hurries++;
    } else if (job->draining) {
        rules_job_end(rules, job);
    } else {
        rules_job_kill(rules, job);
    }
}

void rules_signal(struct rules *rules, uint32_t number, int signal)
{
    struct rules_job *job = &rules->jobs[number];
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) {
        interrupt(rules, job, signal);
    } else if (!job->launched && !job->over) {
        job->held |= UINT64_C(1) << signal;
    } else if (!job->draining && !job->over) {
        job->acts.signals++;
    }
}
