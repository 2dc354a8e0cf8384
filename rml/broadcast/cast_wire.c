#include <config.h>

#include <base/types/name.h>
#include <rml/broadcast/cast_wire.h>

void rml_cast_encode(uint8_t bytes[RML_CAST_SIZE], const struct rml_cast_header *header)
{
    bytes[0] = RML_CAST_VERSION;
    bytes[1] = (uint8_t) header->kind;
    bytes[2] = (uint8_t) header->format;
    bytes[3] = (uint8_t) header->role;
    put_le32(bytes + 4, header->tag);
    put_le32(bytes + 8, header->job);
    put_le32(bytes + 12, 0);
    name_put(bytes + 16, &header->origin);
    put_le64(bytes + 24, header->number);
    put_le64(bytes + 32, header->other);
}

static bool has_payload(enum rml_cast_kind kind)
{
    return kind == RML_CAST_UP || kind == RML_CAST_DOWN;
}

int rml_cast_decode(struct rml_cast_header *header, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    if (size < RML_CAST_SIZE || bytes[0] != RML_CAST_VERSION || bytes[1] >= RML_CAST_KINDS ||
        bytes[2] >= RML_FORMATS || bytes[3] >= OOB_KEYS || get_le32(bytes + 12) != 0) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct rml_cast_header read = {
        .kind = bytes[1],
        .format = bytes[2],
        .role = bytes[3],
        .tag = get_le32(bytes + 4),
        .job = get_le32(bytes + 8),
        .origin = name_get(bytes + 16),
        .number = get_le64(bytes + 24),
        .other = get_le64(bytes + 32),
    };
    bool payload = has_payload(read.kind);
    if (payload ? read.tag == ORTE_RML_TAG_INVALID || read.number == 0
                : size != RML_CAST_SIZE || read.tag != 0 || read.format != RML_RAW) {
        return ORTE_ERR_BAD_PARAM;
    }
    *header = read;
    return ORTE_SUCCESS;
}
