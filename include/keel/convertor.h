/* opal_convertor_t: a position in user memory, contiguous or scattered, from which a BTL packs the
 * bytes it sends and into which a receiver unpacks them. One thread at a time; never allocates. */
#ifndef KEEL_CONVERTOR_H
#define KEEL_CONVERTOR_H

#include <keel/types.h>

BEGIN_C_DECLS

struct opal_convertor_t {
    const struct iovec *segments; /* borrowed; NULL for contiguous data, which lies in one */
    struct iovec one;
    uint32_t segment_count;
    uint32_t segment_index; /* where the position is */
    size_t segment_offset;  /* and how far into that segment */
    size_t bytes_converted; /* the position, from the start */
    size_t size;            /* of the whole data */
};
typedef struct opal_convertor_t opal_convertor_t;

/* Contiguous memory; the position is at its start. */
void opal_convertor_prepare(opal_convertor_t *convertor, void *base, size_t size)
    KEEL_PUBLIC(opal_convertor_prepare);
/* A scatter list, borrowed until the convertor is no longer used. OPAL_ERR_BAD_PARAM: its sizes
 * overflow. */
int opal_convertor_prepare_iovec(opal_convertor_t *convertor, const struct iovec *segments,
                                 uint32_t count) KEEL_PUBLIC(opal_convertor_prepare_iovec);
/* Moves to *position, cut to the end; writes back where it is. */
int opal_convertor_set_position(opal_convertor_t *convertor, size_t *position)
    KEEL_PUBLIC(opal_convertor_set_position);
size_t opal_convertor_get_packed_size(const opal_convertor_t *convertor)
    KEEL_PUBLIC(opal_convertor_get_packed_size);
/* Copies up to size bytes from (pack) or to (unpack) the data at the position and moves on; returns
 * the bytes copied. */
size_t opal_convertor_pack_bytes(opal_convertor_t *convertor, void *dest, size_t size)
    KEEL_PUBLIC(opal_convertor_pack_bytes);
size_t opal_convertor_unpack_bytes(opal_convertor_t *convertor, const void *src, size_t size)
    KEEL_PUBLIC(opal_convertor_unpack_bytes);
/* The address of the next *size bytes where they lie together (*size is cut to what does), without
 * moving on; NULL at the end. */
void *opal_convertor_current(const opal_convertor_t *convertor, size_t *size)
    KEEL_PUBLIC(opal_convertor_current);
/* 1 when the next size bytes do not lie together and must be packed, else 0. */
int opal_convertor_need_buffers(const opal_convertor_t *convertor, size_t size)
    KEEL_PUBLIC(opal_convertor_need_buffers);

END_C_DECLS
#endif
