/* Cuts a message's scatter list into the pieces of frames. Pure. */
#ifndef RML_CUT_H
#define RML_CUT_H

#include <stddef.h>
#include <sys/uio.h>

/* Where the cut stands in a scatter list. */
struct rml_cut {
    const struct iovec *parts; /* borrowed */
    size_t count;
    size_t index;
    size_t offset; /* in parts[index] */
};

/* The next frame's pieces: at most RML_FRAME_MAX bytes in OOB_TX_IOV pieces. Returns the bytes. */
size_t rml_cut_next(struct rml_cut *cut, struct iovec *pieces, int *piece_count);
/* Frames of a message of size bytes; an empty message is one. */
size_t rml_cut_count(const struct iovec *parts, size_t count, size_t size);

#endif
