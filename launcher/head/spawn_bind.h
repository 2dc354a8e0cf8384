/* What ranks that MPI programs add are bound to, in a job that is bound. */
#ifndef LAUNCHER_HEAD_SPAWN_BIND_H
#define LAUNCHER_HEAD_SPAWN_BIND_H

#include <launcher/head/hnp.h>

struct spawn_binding;

/* Of the job as it is; hnp is borrowed. */
int spawn_binding_create(struct spawn_binding **binding, const struct hnp *hnp) KEEL_MUST_CHECK;
void spawn_binding_destroy(struct spawn_binding *binding);
/* The processors of one more rank of this node: the object of --bind-to with the fewest ranks;
 * where ranks are bound one by one (PE=n, rankfiles), those of the job's rank there that the fewest
 * share.
 * "": it is not bound, for all objects have as many ranks as processors. malloc'd; NULL: no memory.
 */
char *spawn_binding_choose(struct spawn_binding *binding, uint32_t node) KEEL_MUST_CHECK;
/* How many were not bound for that reason. */
uint32_t spawn_binding_unbound(const struct spawn_binding *binding);

#endif
