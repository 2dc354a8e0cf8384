/* What the files of a job share. */
#ifndef LAUNCHER_JOB_JOB_PARTS_H
#define LAUNCHER_JOB_JOB_PARTS_H

#include <launcher/job/job.h>

enum job_event {
    JOB_IS_SUBMITTED,
    JOB_HAS_DAEMONS,
    JOB_IS_DRY,
    JOB_ALL_LAUNCHED,
    JOB_FAILS,
    JOB_IS_INTERRUPTED,
    JOB_IS_PRESSED, /* interrupted again */
    JOB_GRACE_OVER,
    JOB_UNKILLABLE, /* killed ranks do not end */
    JOB_ALL_ENDED,
    JOB_DRAIN_OVER,
    JOB_ALL_DRAINED,
};

/* An event of the job, with all that follows from it. */
void job_take(struct job *job, enum job_event event);
/* What has been reached by all daemons and ranks that are not lost? */
void job_check(struct job *job);
void job_stand(struct job *job); /* the daemons stand */

/* job_part.c */
enum part_event {
    PART_BEGINS,
    PART_JOINS,
    PART_LAUNCHES,
    PART_DRAINS,
    PART_IS_LOST,
    PART_IS_LOST_FOR_NOW
};
extern const struct dvm_user_ops job_user_ops;
/* An event of its part at this daemon; why: of a loss, else NULL. */
void job_take_part(struct job *job, uint32_t vpid, enum part_event event, const char *why);
/* A rank has ended. False: it had before. */
bool job_end_rank(struct job *job, uint32_t rank);
/* The same for those of a daemon from first to end - 1. */
void job_end_ranks(struct job *job, uint32_t vpid, uint32_t first, uint32_t end);

/* job_end.c */
/* A failure that the job outlives when it may; else as job_fail. */
void job_note_failure(struct job *job, int exit_code, const char *format, ...) KEEL_PRINTF(3, 4);

/* job_followers.c: the ranks that ended after the one that is the reason, in one line. */
void job_tell_followers(struct job *job);

#endif
