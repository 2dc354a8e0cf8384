/* What --display, --report-bindings and --dry-run show of a plan. */
#ifndef LAUNCHER_MAP_SHOW_H
#define LAUNCHER_MAP_SHOW_H

#include <launcher/map/plan.h>

/* The parts that request->display asks for, as lines, or as one JSON object (docs/mapping.md has
 * both), of the ranks from the first on; malloc'd. NULL: no memory. */
char *plan_show(const struct job_plan *plan, const struct run_request *request, uint32_t first);
/* "rank 0 on alpha: bound to processors 0-1 [BB/..]", "rank 0 on alpha: not bound"; malloc'd. NULL:
 * no memory. */
char *binding_line(const struct job_plan *plan, uint32_t rank);

#endif
