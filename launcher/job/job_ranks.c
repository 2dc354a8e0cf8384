/* What becomes of ranks, and what it means for the job. */
#include <config.h>

#include <launcher/job/job_parts.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* How far a rank's failure goes: with recovery the job may go on. */
enum reach { OF_RANK, OF_JOB };

/* format goes on behind "rank N (program) on node X ". */
static KEEL_PRINTF(5, 6) void fail_by(struct job *job, uint32_t rank, enum reach reach,
                                      int exit_code, const char *format, ...)
{
    char what[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    void (*fail)(struct job *, int, const char *, ...) =
        reach == OF_RANK ? job_note_failure : job_fail;
    fail(job, exit_code, "rank %u (%s) on node %s %s", rank, job->ops->program(job->arg, rank),
         job->dvm->daemons[job->ops->daemon_of(job->arg, rank)].node, what);
    if (reach == OF_RANK && job_runs(job)) {
        job->ops->ended(job->arg, JOB_ALL, rank);
    }
}

/* A rank that never joined, and one that waits for it. */
static void check_strangers(struct job *job)
{
    if (job->joining.call && job->joining.stranger != JOB_ALL) {
        fail_by(job, job->joining.stranger, OF_JOB, 1,
                "ended without %s, which another rank has called", job->joining.call);
    }
}

static void judge(struct job *job, uint32_t rank, int wait_status, bool joined, const char *missing)
{
    if (WIFSIGNALED(wait_status)) {
        int signal = WTERMSIG(wait_status);
        fail_by(job, rank, OF_RANK, 128 + signal, "was killed by signal %d (%s%s)", signal,
                strsignal(signal), WCOREDUMP(wait_status) ? ", core dumped" : "");
    } else if (WEXITSTATUS(wait_status) != 0) {
        fail_by(job, rank, OF_RANK, WEXITSTATUS(wait_status), "exited with code %d",
                WEXITSTATUS(wait_status));
    } else if (missing[0]) {
        fail_by(job, rank, OF_RANK, 1, "exited without %s", missing);
    } else if (!joined && job->joining.stranger == JOB_ALL) {
        job->joining.stranger = rank;
        check_strangers(job);
    }
}

void job_rank_exited(struct job *job, uint32_t rank, int wait_status, bool joined,
                     const char *missing)
{
    if (job_end_rank(job, rank)) {
        judge(job, rank, wait_status, joined, missing);
        job_check(job);
    }
}

void job_rank_unstarted(struct job *job, uint32_t rank, int exit_code, const char *text)
{
    if (job_end_rank(job, rank)) {
        job_fail(job, exit_code, "%s", text);
        job_check(job);
    }
}

void job_rank_joined(struct job *job, const char *call)
{
    if (!job->joining.call) {
        job->joining.call = strdup(call);
        check_strangers(job);
    }
}

void job_rank_broken(struct job *job, uint32_t rank, const char *reason)
{
    fail_by(job, rank, OF_JOB, 1, "%s", reason);
}

void job_rank_aborted(struct job *job, uint32_t rank, int status, const char *reason)
{
    int code = status & 0xff;
    fail_by(job, rank, OF_JOB, code ? code : 1, "aborted the job with code %d%s%s", status,
            reason[0] ? ": " : "", reason);
}
