/* What keelrun answers a tool that asks what a job does (TOOL_LOOK in wireup/proto.h): records, in
 * the order in which struct keel_look is given them, and an end. Pure. */
#ifndef WIREUP_LOOK_H
#define WIREUP_LOOK_H

#include <keel/buffer.h>
#include <keel/tool.h>

/* Each adds a record. On error drop the buffer. */
int look_pack_job(opal_buffer_t *buffer, const struct keel_job_state *job) KEEL_MUST_CHECK;
int look_pack_node(opal_buffer_t *buffer, const struct keel_node_state *node) KEEL_MUST_CHECK;
int look_pack_rank(opal_buffer_t *buffer, const struct keel_rank_state *rank) KEEL_MUST_CHECK;
int look_pack_line(opal_buffer_t *buffer, const char *line) KEEL_MUST_CHECK;
int look_pack_end(opal_buffer_t *buffer) KEEL_MUST_CHECK;

/* Gives the records to look. On an error, they make no sense, it is given none. */
int look_unpack(opal_buffer_t *buffer, const struct keel_look *look, void *arg) KEEL_MUST_CHECK;

#endif
