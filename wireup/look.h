/* What keelrun answers a tool that asks what a job does (TOOL_LOOK in wireup/proto.h): records, in
 * the order in which struct keel_look is given them, and an end. Pure. */
#ifndef WIREUP_LOOK_H
#define WIREUP_LOOK_H

#include <keel/buffer.h>
#include <keel/tool.h>

enum {
    LOOK_COUNTERS_MAX = 256,
    LOOK_COUNTERS_BYTES = 16384, /* of a rank, packed */
};

/* Adds a counter to a rank's. */
int look_pack_counter(opal_buffer_t *counters, const char *name, uint64_t value) KEEL_MUST_CHECK;

/* Each adds a record. A rank's counters come packed. On error drop the buffer. */
int look_pack_job(opal_buffer_t *buffer, const struct keel_job_state *job) KEEL_MUST_CHECK;
int look_pack_node(opal_buffer_t *buffer, const struct keel_node_state *node) KEEL_MUST_CHECK;
int look_pack_rank(opal_buffer_t *buffer, const struct keel_rank_state *rank, const void *counters,
                   size_t counters_bytes) KEEL_MUST_CHECK;
int look_pack_line(opal_buffer_t *buffer, const char *line) KEEL_MUST_CHECK;
int look_pack_end(opal_buffer_t *buffer) KEEL_MUST_CHECK;

/* Gives the records to look. On an error, they make no sense, it is given none. */
int look_unpack(opal_buffer_t *buffer, const struct keel_look *look, void *arg) KEEL_MUST_CHECK;

#endif
