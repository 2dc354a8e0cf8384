/* What this process does, for its daemon, which asks (CLIENT_LOOK). */
#ifndef BOOTSTRAP_LOOK_ANSWER_H
#define BOOTSTRAP_LOOK_ANSWER_H

#include <rml/interface/core.h>

/* The answer to the question with this number. In the thread that waits, from within its wait.
 * NULL: no memory. */
opal_buffer_t *look_answer(struct rml *rml, orte_jobid_t job, uint32_t number);

#endif
