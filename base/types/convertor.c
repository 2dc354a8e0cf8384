#include <config.h>

#include <keel/convertor.h>
#include <string.h>

static const struct iovec *segments_of(const opal_convertor_t *convertor)
{
    return convertor->segments ? convertor->segments : &convertor->one;
}

void opal_convertor_prepare(opal_convertor_t *convertor, void *base, size_t size)
{
    *convertor = (opal_convertor_t){
        .one = {.iov_base = base, .iov_len = size},
        .segment_count = 1,
        .size = size,
    };
}

int opal_convertor_prepare_iovec(opal_convertor_t *convertor, const struct iovec *segments,
                                 uint32_t count)
{
    if (!convertor || (!segments && count > 0)) {
        return OPAL_ERR_BAD_PARAM;
    }
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (segments[i].iov_len > SIZE_MAX - size ||
            (!segments[i].iov_base && segments[i].iov_len > 0)) {
            return OPAL_ERR_BAD_PARAM;
        }
        size += segments[i].iov_len;
    }
    *convertor = (opal_convertor_t){
        .segments = segments,
        .segment_count = count,
        .size = size,
    };
    return OPAL_SUCCESS;
}

/* Moves on by at most size bytes and returns how many. The position never rests at the end of a
 * segment: it is in a segment that has bytes left, or behind the last one. */
static size_t convertor_advance(opal_convertor_t *convertor, size_t size)
{
    const struct iovec *segments = segments_of(convertor);
    size_t moved = 0;
    while (convertor->segment_index < convertor->segment_count) {
        size_t left = segments[convertor->segment_index].iov_len - convertor->segment_offset;
        size_t step = size - moved < left ? size - moved : left;
        moved += step;
        if (step < left) {
            convertor->segment_offset += step;
            break;
        }
        convertor->segment_index++;
        convertor->segment_offset = 0;
    }
    convertor->bytes_converted += moved;
    return moved;
}

/* Moves in contiguous data to a position that is not behind its end. */
static void move_together(opal_convertor_t *convertor, size_t position)
{
    const bool at_end = position == convertor->size;
    convertor->bytes_converted = position;
    convertor->segment_index = at_end;
    convertor->segment_offset = at_end ? 0 : position;
}

int opal_convertor_set_position(opal_convertor_t *convertor, size_t *position)
{
    if (!convertor || !position) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (!convertor->segments) {
        *position = *position < convertor->size ? *position : convertor->size;
        move_together(convertor, *position);
        return OPAL_SUCCESS;
    }
    if (*position < convertor->bytes_converted) {
        convertor->segment_index = 0;
        convertor->segment_offset = 0;
        convertor->bytes_converted = 0;
    }
    convertor_advance(convertor, *position - convertor->bytes_converted);
    *position = convertor->bytes_converted;
    return OPAL_SUCCESS;
}

size_t opal_convertor_get_packed_size(const opal_convertor_t *convertor)
{
    return convertor->size;
}

void *opal_convertor_current(const opal_convertor_t *convertor, size_t *size)
{
    const struct iovec *segments = segments_of(convertor);
    size_t offset = convertor->segment_offset;
    for (uint32_t i = convertor->segment_index; i < convertor->segment_count; i++) {
        size_t left = segments[i].iov_len - offset;
        if (left > 0) {
            *size = *size < left ? *size : left;
            return (char *) segments[i].iov_base + offset;
        }
        offset = 0;
    }
    *size = 0;
    return NULL;
}

/* Of contiguous data: where the next *size bytes are, cut to those that are left; moves on. */
static char *take_together(opal_convertor_t *convertor, size_t *size)
{
    size_t here = convertor->bytes_converted, left = convertor->size - here;
    *size = *size < left ? *size : left;
    move_together(convertor, here + *size);
    return (char *) convertor->one.iov_base + here;
}

size_t opal_convertor_pack_bytes(opal_convertor_t *convertor, void *dest, size_t size)
{
    size_t done = 0;
    if (!convertor->segments) {
        const char *from = take_together(convertor, &size);
        if (size > 0) {
            memcpy(dest, from, size);
        }
        return size;
    }
    while (done < size) {
        size_t part = size - done;
        const void *from = opal_convertor_current(convertor, &part);
        if (!from) {
            break;
        }
        memcpy((char *) dest + done, from, part);
        done += convertor_advance(convertor, part);
    }
    return done;
}

size_t opal_convertor_unpack_bytes(opal_convertor_t *convertor, const void *src, size_t size)
{
    size_t done = 0;
    if (!convertor->segments) {
        char *to = take_together(convertor, &size);
        if (size > 0) {
            memcpy(to, src, size);
        }
        return size;
    }
    while (done < size) {
        size_t part = size - done;
        void *to = opal_convertor_current(convertor, &part);
        if (!to) {
            break;
        }
        memcpy(to, (const char *) src + done, part);
        done += convertor_advance(convertor, part);
    }
    return done;
}

int opal_convertor_need_buffers(const opal_convertor_t *convertor, size_t size)
{
    size_t left = convertor->size - convertor->bytes_converted;
    if (size > left) {
        size = left;
    }
    size_t together = size;
    return opal_convertor_current(convertor, &together) && together < size ? 1 : 0;
}
