/* What becomes of ranks, and what it means for the job. */
#include <config.h>

#include <launcher/job/job_parts.h>

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORE_FLAG = 0x80 }; /* of a wait status: a core file was written */

/* How far a rank's failure goes: with recovery the job may go on. */
enum reach { OF_RANK, OF_JOB };

/* "rank N (program, pid P) on node X" */
static void name_rank(const struct job *job, uint32_t rank, char *text, size_t size)
{
    char pid[24] = "";
    if (job->ranks[rank].pid) {
        snprintf(pid, sizeof(pid), ", pid %u", job->ranks[rank].pid);
    }
    snprintf(text, size, "rank %u (%s%s) on node %s", rank, job->ops->program(job->arg, rank), pid,
             job->dvm->daemons[job->ops->daemon_of(job->arg, rank)].node);
}

/* format goes on behind its name. */
static KEEL_PRINTF(5, 6) void fail_by(struct job *job, uint32_t rank, enum reach reach,
                                      int exit_code, const char *format, ...)
{
    char name[512], what[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    void (*fail)(struct job *, int, const char *, ...) =
        reach == OF_RANK ? job_note_failure : job_fail;
    bool began = job_is_ending(job);
    name_rank(job, rank, name, sizeof(name));
    fail(job, exit_code, "%s %s", name, what);
    job->end.culprit = !began && job_is_ending(job) ? rank : job->end.culprit;
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

static void judge(struct job *job, uint32_t rank, const struct rank_end *end)
{
    char text[1024];
    int code = rank_end_code(end);
    if (code != 0) {
        rank_end_print(end, 1, text, sizeof(text));
        fail_by(job, rank, OF_RANK, code, "%s", text);
    } else if (!end->joined && job->joining.stranger == JOB_ALL) {
        job->joining.stranger = rank;
        check_strangers(job);
    }
}

static enum rank_after_end place(const struct job *job, int wait_status)
{
    bool killed = job->phase == JOB_KILLING && wait_status == SIGKILL;
    if (!job_is_ending(job)) {
        return PLACE_BEFORE;
    }
    return killed || wait_status == job->end.signal ? PLACE_BY_KEELRUN : PLACE_AFTER;
}

static void note_pid(struct job *job, uint32_t rank, uint32_t pid)
{
    job->ranks[rank].pid = pid ? pid : job->ranks[rank].pid;
}

void job_rank_exited(struct job *job, uint32_t rank, const struct rank_end *end)
{
    note_pid(job, rank, end->pid);
    if (job_end_rank(job, rank)) {
        job->ranks[rank].wait_status = end->wait_status;
        job->ranks[rank].place = place(job, end->wait_status & ~CORE_FLAG);
        judge(job, rank, end);
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

void job_rank_broken(struct job *job, uint32_t rank, uint32_t pid, const char *reason)
{
    note_pid(job, rank, pid);
    fail_by(job, rank, OF_JOB, 1, "%s", reason);
}

void job_rank_aborted(struct job *job, uint32_t rank, uint32_t pid, int status, const char *reason)
{
    int code = status & 0xff;
    note_pid(job, rank, pid);
    fail_by(job, rank, OF_JOB, code ? code : 1, "aborted the job with code %d%s%s", status,
            reason[0] ? ": " : "", reason);
}
