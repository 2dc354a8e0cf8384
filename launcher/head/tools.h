/* The HNP's tools: processes of this user that keelrun did not start and that join its job from
 * outside (bootstrap/tool.h). Gives out their names, takes them back, and answers what they ask. On
 * the loop. */
#ifndef LAUNCHER_HEAD_TOOLS_H
#define LAUNCHER_HEAD_TOOLS_H

#include <rml/interface/core.h>

struct tools;

/* Writes the tool key into the session folder, from where whoever may read it takes it. count says
 * how many ranks there are, when a tool asks. */
int tools_create(struct tools **tools, struct rml *rml, orte_jobid_t family, const char *session,
                 uint32_t (*count)(void *arg), void *arg, char *reason,
                 size_t reason_size) KEEL_MUST_CHECK;
/* Before the RML goes. NULL is allowed. */
void tools_destroy(struct tools *tools);
/* May this proved peer be linked? ORTE_ERR_PERM, or ORTE_EXISTS: another guest has chosen its name.
 */
int tools_admit(const struct tools *tools, const struct oob_peer *peer) KEEL_MUST_CHECK;

#endif
