#include <config.h>

#include <base/types/name.h>
#include <limits.h>
#include <rml/message/rml_wire.h>

_Static_assert(RML_WIRE_SIZE <= OOB_HEADER_MAX,
               "the OOB carries the header apart from the payload");
_Static_assert(RML_WIRE_SIZE + RML_FRAME_MAX <= OOB_FRAME_MAX, "a frame fits into an OOB frame");

enum { FLAG_FIRST = 1, FLAG_LAST = 2, FLAG_ASK = 4, FLAG_GAP = 8 };

static uint8_t header_flags(const struct rml_header *header)
{
    return (uint8_t) ((rml_header_first(header) ? FLAG_FIRST : 0) |
                      (rml_header_last(header) ? FLAG_LAST : 0) |
                      (header->stamp.ask ? FLAG_ASK : 0) | (header->stamp.gap ? FLAG_GAP : 0));
}

void rml_header_encode(uint8_t bytes[RML_WIRE_SIZE], const struct rml_header *header)
{
    const struct rml_stamp *stamp = &header->stamp;
    bytes[0] = RML_WIRE_VERSION;
    bytes[1] = (uint8_t) stamp->class;
    bytes[2] = header_flags(header);
    bytes[3] = (uint8_t) header->role;
    bytes[4] = (uint8_t) header->format;
    bytes[5] = (uint8_t) stamp->kind;
    put_le16(bytes + 6, header->hops);
    put_le32(bytes + 8, header->tag);
    put_le32(bytes + 12, stamp->length);
    put_le32(bytes + 16, header->total);
    put_le32(bytes + 20, header->offset);
    name_put(bytes + 24, &header->origin);
    name_put(bytes + 32, &header->dest);
    put_le64(bytes + 40, stamp->epoch);
    put_le64(bytes + 48, stamp->dest_epoch);
    put_le64(bytes + 56, stamp->sequence);
    put_le64(bytes + 64, stamp->ack);
    put_le32(bytes + 72, stamp->window);
    put_le16(bytes + 76, stamp->stream);
    put_le16(bytes + 78, stamp->ack_stream);
}

static bool name_is_one_process(const orte_process_name_t *name)
{
    return name->jobid < ORTE_JOBID_WILDCARD && name->vpid < ORTE_VPID_WILDCARD;
}

/* Only a message without bytes has a frame without bytes. */
static bool extent_valid(const struct rml_header *header, size_t payload)
{
    uint32_t length = header->stamp.length;
    return length == payload && length <= RML_FRAME_MAX && header->total <= INT_MAX &&
           header->offset <= header->total && length <= header->total - header->offset &&
           (length > 0 || header->total == 0);
}

static bool content_valid(const struct rml_header *header, size_t payload)
{
    if (header->stamp.kind == RML_DATA) {
        bool packed = header->format >= RML_PACKED_NON_DESC;
        return header->tag != ORTE_RML_TAG_INVALID && header->stamp.dest_epoch != 0 &&
               (!packed || header->stamp.class == OOB_CONTROL) && extent_valid(header, payload);
    }
    return payload == 0 && header->stamp.length == 0 && header->tag == 0 && header->total == 0 &&
           header->offset == 0 && header->format == RML_RAW;
}

static struct rml_header read_header(const uint8_t *bytes)
{
    return (struct rml_header){
        .stamp = {.kind = bytes[5],
                  .class = bytes[1],
                  .ask = bytes[2] & FLAG_ASK,
                  .gap = bytes[2] & FLAG_GAP,
                  .length = get_le32(bytes + 12),
                  .epoch = get_le64(bytes + 40),
                  .dest_epoch = get_le64(bytes + 48),
                  .sequence = get_le64(bytes + 56),
                  .ack = get_le64(bytes + 64),
                  .window = get_le32(bytes + 72),
                  .stream = get_le16(bytes + 76),
                  .ack_stream = get_le16(bytes + 78)},
        .role = bytes[3],
        .format = bytes[4],
        .hops = get_le16(bytes + 6),
        .tag = get_le32(bytes + 8),
        .total = get_le32(bytes + 16),
        .offset = get_le32(bytes + 20),
        .origin = name_get(bytes + 24),
        .dest = name_get(bytes + 32),
    };
}

int rml_header_decode(struct rml_header *header, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    if (size < RML_WIRE_SIZE || bytes[0] != RML_WIRE_VERSION || bytes[1] >= OOB_CLASSES ||
        bytes[3] >= OOB_KEYS || bytes[4] >= RML_FORMATS || bytes[5] >= RML_KINDS) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct rml_header read = read_header(bytes);
    if (read.stamp.epoch == 0 || !content_valid(&read, size - RML_WIRE_SIZE) ||
        bytes[2] != header_flags(&read) || !name_is_one_process(&read.origin) ||
        !name_is_one_process(&read.dest)) {
        return ORTE_ERR_BAD_PARAM;
    }
    read.stamp.rest = read.total - read.offset - read.stamp.length;
    *header = read;
    return ORTE_SUCCESS;
}
