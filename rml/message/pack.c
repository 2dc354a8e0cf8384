#include <config.h>

#include <base/data/le.h>
#include <limits.h>
#include <rml/message/pack.h>
#include <stdlib.h>
#include <zlib.h>

/* No byte of a stream stands for more than 1032 bytes. */
enum { RATIO_MAX = 1032, SAVED_LEAST = 8 };

uint8_t *rml_pack(const void *data, size_t size, size_t *packed_size)
{
    size_t most = size - size / SAVED_LEAST;
    z_stream stream = {.next_in = (z_const Bytef *) data, .avail_in = (uInt) size};
    if (size > INT_MAX || most <= RML_PACK_HEAD || deflateInit(&stream, Z_BEST_SPEED) != Z_OK) {
        return NULL;
    }
    uint8_t *packed = malloc(most);
    int status = Z_MEM_ERROR;
    if (packed) {
        stream.next_out = packed + RML_PACK_HEAD;
        stream.avail_out = (uInt) (most - RML_PACK_HEAD);
        status = deflate(&stream, Z_FINISH);
    }
    size_t used = RML_PACK_HEAD + stream.total_out;
    (void) deflateEnd(&stream);
    if (status != Z_STREAM_END) {
        free(packed);
        return NULL;
    }
    put_le32(packed, (uint32_t) size);
    *packed_size = used;
    return packed;
}

static bool inflate_all(const uint8_t *data, size_t size, uint8_t *to, size_t to_size)
{
    z_stream stream = {.next_in = (z_const Bytef *) data, .avail_in = (uInt) size};
    if (inflateInit(&stream) != Z_OK) {
        return false;
    }
    stream.next_out = to;
    stream.avail_out = (uInt) to_size;
    int status = inflate(&stream, Z_FINISH);
    bool whole = status == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
    (void) inflateEnd(&stream);
    return whole;
}

int rml_unpack(const void *data, size_t size, size_t max, uint8_t **unpacked, size_t *unpacked_size)
{
    const uint8_t *bytes = data;
    if (size <= RML_PACK_HEAD || size > INT_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    size_t claimed = get_le32(bytes), stream = size - RML_PACK_HEAD;
    if (claimed > max || claimed > INT_MAX) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (claimed == 0 || claimed / RATIO_MAX > stream) {
        return ORTE_ERR_BAD_PARAM;
    }
    uint8_t *to = malloc(claimed);
    if (!to) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (!inflate_all(bytes + RML_PACK_HEAD, stream, to, claimed)) {
        free(to);
        return ORTE_ERR_BAD_PARAM;
    }
    *unpacked = to;
    *unpacked_size = claimed;
    return ORTE_SUCCESS;
}

bool rml_format_is_packed(enum rml_format format)
{
    return format == RML_PACKED_NON_DESC || format == RML_PACKED_FULLY_DESC;
}

enum rml_format rml_format_packed(enum rml_format format)
{
    return format == RML_BUFFER_FULLY_DESC ? RML_PACKED_FULLY_DESC : RML_PACKED_NON_DESC;
}

static enum rml_format format_unpacked(enum rml_format format)
{
    return format == RML_PACKED_FULLY_DESC ? RML_BUFFER_FULLY_DESC
           : format == RML_PACKED_NON_DESC ? RML_BUFFER_NON_DESC
                                           : format;
}

int rml_message_unpack(struct rml_message *message, size_t max)
{
    uint8_t *data;
    size_t size;
    if (!rml_format_is_packed(message->format)) {
        return ORTE_SUCCESS;
    }
    int status = rml_unpack(message->data, message->size, max, &data, &size);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    free(message->data);
    message->data = data;
    message->size = size;
    message->format = format_unpacked(message->format);
    return ORTE_SUCCESS;
}
