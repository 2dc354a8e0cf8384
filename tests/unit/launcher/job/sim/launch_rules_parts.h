/* What the files of launch_rules.h share. */
#ifndef TESTS_UNIT_LAUNCHER_JOB_SIM_LAUNCH_RULES_PARTS_H
#define TESTS_UNIT_LAUNCHER_JOB_SIM_LAUNCH_RULES_PARTS_H

#include <tests/unit/launcher/job/sim/launch_rules.h>

enum { CODE_RUNTIME = 125, CODE_TIMEOUT = 124 };
enum { BY_KEELRUN = -1 }; /* in place of a wait status */

/* How a rank ended that has failed. */
void rules_describe_end(int wait_status, char *text, size_t size);
void rules_job_begin_end(struct rules *rules, struct rules_job *job, int signal, uint64_t grace_us);
void rules_job_end(struct rules *rules, struct rules_job *job);
void rules_job_fail(struct rules *rules, struct rules_job *job, int code, const char *text);
void rules_job_fail_of_rank(struct rules *rules, struct rules_job *job, uint32_t rank, int code,
                            const char *text, bool may_go_on);
void rules_job_kill(struct rules *rules, struct rules_job *job);
/* After every event: what follows from it. */
void rules_job_settle(struct rules *rules, struct rules_job *job);

#endif
