/* This process, as keel_init made it: what a room above bootstrap needs of it. Same thread rules as
 * keel.h. */
#ifndef BOOTSTRAP_PROCESS_H
#define BOOTSTRAP_PROCESS_H

#include <bootstrap/env.h>
#include <rml/core.h>

/* All NULL outside keel_init and keel_finalize; valid between them. */
const struct self *process_self(void);
const struct job_map *process_map(void); /* NULL too before communication is enabled */
struct rml *process_rml(void);

#endif
