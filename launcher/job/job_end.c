/* Why a job ends: the first reason decides. */
#include <config.h>

#include <launcher/job/job_parts.h>

#include <stdarg.h>
#include <stdio.h>

static void fail(struct job *job, int exit_code, const char *text)
{
    if (!fsm_row(job->fsm, job->phase, JOB_FAILS)) {
        log_info(LOG_LAUNCHER, "after the end began: %s", text);
        return;
    }
    job->end.exit_code = job->end.exit_code ? job->end.exit_code : exit_code;
    job->ops->tell(job->arg, text);
    job_take(job, JOB_FAILS);
}

void job_fail(struct job *job, int exit_code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fail(job, exit_code, text);
}

void job_note_failure(struct job *job, int exit_code, const char *format, ...)
{
    char text[1024], line[1100];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (!job->limits.recovers || !job_runs(job)) {
        fail(job, exit_code, text);
        return;
    }
    snprintf(line, sizeof(line), "%s%s", text, job->unended > 0 ? "; the job goes on" : "");
    job->ops->tell(job->arg, line);
    if (job->end.exit_code == 0) {
        job->end.exit_code = exit_code;
    }
}
