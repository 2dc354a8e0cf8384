#include <config.h>

#include <base/data/least.h>
#include <btl/usnic/engine/pack.h>
#include <string.h>

enum { CHUNK_LEAST = 256 }; /* a chunk at the end of a packet has so many bytes, or is the last */

/* Bytes from a position in the segments. */
static void copy(uint8_t *out, const struct usnic_message *message, size_t from, size_t size)
{
    for (size_t i = 0; i < message->count && size > 0; i++) {
        const struct mca_btl_base_segment_t *segment = &message->segments[i];
        size_t length = (size_t) segment->seg_len;
        if (from >= length) {
            from -= length;
            continue;
        }
        size_t part = least(length - from, size);
        memcpy(out, (const uint8_t *) segment->seg_addr.pval + from, part);
        out += part;
        size -= part;
        from = 0;
    }
}

/* What fills a record up goes over the wire: it must be no memory of this process. */
static size_t finish(uint8_t *out, size_t header, size_t size)
{
    size_t bytes = usnic_record_bytes(header, size);

    memset(out + header + size, 0, bytes - header - size);
    return bytes;
}

size_t usnic_pack_whole(uint8_t *out, const struct usnic_message *message)
{
    const struct usnic_record record = {.kind = USNIC_WHOLE,
                                        .channel = message->channel,
                                        .tag = message->tag,
                                        .size = (uint16_t) message->total};
    size_t header = usnic_record_encode(out, &record);

    copy(out + header, message, 0, message->total);
    return finish(out, header, message->total);
}

size_t usnic_pack_chunk(uint8_t *out, size_t room, struct usnic_message *message)
{
    size_t left = message->total - message->position;

    room &= ~(size_t) 7;
    if (room < USNIC_CHUNK_BYTES + least(left, CHUNK_LEAST)) {
        return 0;
    }
    size_t size = least(left, room - USNIC_CHUNK_BYTES);
    const struct usnic_record record = {.kind = USNIC_CHUNK,
                                        .channel = message->channel,
                                        .tag = message->tag,
                                        .size = (uint16_t) size,
                                        .offset = (uint32_t) message->position,
                                        .total = (uint32_t) message->total};
    size_t header = usnic_record_encode(out, &record);
    copy(out + header, message, message->position, size);
    message->position += size;
    return finish(out, header, size);
}

bool usnic_assembly_follows(const struct usnic_assembly *assembly,
                            const struct usnic_record *record, size_t max_message)
{
    if (record->total == 0 || record->total > max_message || record->size == 0 ||
        record->offset != assembly->position || record->size > record->total - record->offset) {
        return false;
    }
    return assembly->total == 0
               ? record->offset == 0
               : record->total == assembly->total && record->channel == assembly->channel &&
                     record->tag == assembly->tag;
}
