/* Whether a job may be registered with libpmix. A rank that asks for something that is missing or
 * wrong there waits for ever, without a message. Pure. */
#ifndef LAUNCHER_PMIX_JOB_CHECK_H
#define LAUNCHER_PMIX_JOB_CHECK_H

#include <launcher/pmix/pmix_module.h>

/* 0, or -1 and the reason. */
int pmix_job_check(const struct pmix_job *job, char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
