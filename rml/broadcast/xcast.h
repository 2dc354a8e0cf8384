/* Broadcasts over the daemons' tree; rml_xcast and rml_rejoin are in core.h. */
#ifndef RML_XCAST_H
#define RML_XCAST_H

#include <rml/interface/core.h>

int rml_xcast_init(struct rml *rml) KEEL_MUST_CHECK;
/* When no completion runs any more. */
void rml_xcast_fini(struct rml *rml);
/* The tree has changed: who is below this daemon now gets the broadcasts. lost: who is not any
 * more; UINT32_MAX: nobody. On the loop, or before it runs. */
void rml_xcast_children(struct rml *rml, uint32_t lost);
/* Tells the parent in the tree, which is a new one, what this daemon has. On the loop. */
void rml_xcast_join(struct rml *rml);

#endif
