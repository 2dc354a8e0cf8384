/* Messages on a stream of bytes, each in a frame: its size, 4 bytes, little-endian, and itself. */
#ifndef WIREUP_FRAME_H
#define WIREUP_FRAME_H

#include <base/data/bytes.h>
#include <keel/buffer.h>

#define FRAME_HEADER 4u

/* Puts a message, or what is not yet read of it, behind what waits. ORTE_ERR_OUT_OF_RESOURCE: that
 * is nothing or more than max bytes, or no memory; nothing was put. */
int frame_put(struct bytes *out, const opal_buffer_t *buffer, size_t max) KEEL_MUST_CHECK;
/* Takes the next message out of what has come; *buffer, which is the caller's, NULL: it is not
 * whole yet. ORTE_ERR_UNPACK_FAILURE: it is empty, or has more than max bytes, at most INT32_MAX;
 * ORTE_ERR_OUT_OF_RESOURCE: nothing was taken. */
int frame_next(struct bytes *in, size_t max, opal_buffer_t **buffer) KEEL_MUST_CHECK;

#endif
