/* This process, as keel_init made it: what a room above bootstrap needs of it. Same thread rules as
 * keel.h. */
#ifndef BOOTSTRAP_PROCESS_H
#define BOOTSTRAP_PROCESS_H

#include <bootstrap/env.h>
#include <rml/interface/core.h>

/* All NULL outside keel_init and keel_finalize; valid between them. */
const struct self *process_self(void);
const struct job_map *process_map(void); /* NULL too before communication is enabled */
struct rml *process_rml(void);

/* Inside a callback of either plane. */
bool process_in_callback(void);
/* Around calls in which the ranks meet, fences among them: one at a time. False: another thread, or
 * this one up the stack, is in such a call. */
bool process_meet_begin(void);
void process_meet_end(void);
int process_fence(void);

#endif
