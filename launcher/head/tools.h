/* The HNP's tools: processes of this user that keelrun did not start and that join its job from
 * outside (bootstrap/tool.h). Gives out their names, takes them back, and answers what they ask. On
 * the loop. */
#ifndef LAUNCHER_HEAD_TOOLS_H
#define LAUNCHER_HEAD_TOOLS_H

#include <rml/interface/core.h>

struct tools;

/* What tools ask. */
struct tools_ops {
    uint32_t (*count)(void *arg); /* how many ranks are there? */
    /* What does the job do? With the ranks' stacks? The answer, with this number, goes to
     * tools_answer, at once or later. */
    void (*look)(void *arg, const orte_process_name_t *tool, uint64_t number, bool stacks);
};

/* Writes the tool key into the session folder, from where whoever may read it takes it. */
int tools_create(struct tools **tools, struct rml *rml, orte_jobid_t family, const char *session,
                 const struct tools_ops *ops, void *arg, char *reason,
                 size_t reason_size) KEEL_MUST_CHECK;
/* Takes the buffer; NULL stands for one that there was no memory for. */
void tools_answer(struct tools *tools, const orte_process_name_t *tool, opal_buffer_t *buffer);
/* Before the RML goes. NULL is allowed. */
void tools_destroy(struct tools *tools);
/* May this proved peer be linked? ORTE_ERR_PERM, or ORTE_EXISTS: another guest has chosen its name.
 */
int tools_admit(const struct tools *tools, const struct oob_peer *peer) KEEL_MUST_CHECK;

#endif
