#include <config.h>

#include <base/data/bytes.h>
#include <base/types/dss.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ALLOCATION = 128 };

static void buffer_forget(opal_buffer_t *buffer)
{
    buffer->base_ptr = NULL;
    buffer->pack_ptr = NULL;
    buffer->unpack_ptr = NULL;
    buffer->bytes_allocated = 0;
    buffer->bytes_used = 0;
}

static void buffer_construct(opal_object_t *object)
{
    opal_buffer_t *buffer = (opal_buffer_t *) object;
    buffer->type = OPAL_DSS_BUFFER_NON_DESC;
    buffer_forget(buffer);
}

static void buffer_destruct(opal_object_t *object)
{
    opal_buffer_t *buffer = (opal_buffer_t *) object;
    free(buffer->base_ptr);
    buffer_forget(buffer);
}

const opal_class_t opal_buffer_t_class = {
    .cls_name = "opal_buffer_t",
    .cls_parent = OBJ_CLASS(opal_object_t),
    .cls_sizeof = sizeof(opal_buffer_t),
    .cls_construct = buffer_construct,
    .cls_destruct = buffer_destruct,
};

/* Doubles the allocation until size bytes, at most INT32_MAX, fit. */
static int buffer_reserve(opal_buffer_t *buffer, size_t size)
{
    if (size <= buffer->bytes_allocated) {
        return OPAL_SUCCESS;
    }
    size_t capacity = buffer->bytes_allocated;
    size_t unpacked = buffer->bytes_used - dss_buffer_left(buffer);
    char *grown = bytes_grow(buffer->base_ptr, &capacity, size, FIRST_ALLOCATION, INT32_MAX);
    if (!grown) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    buffer->base_ptr = grown;
    buffer->pack_ptr = grown + buffer->bytes_used;
    buffer->unpack_ptr = grown + unpacked;
    buffer->bytes_allocated = capacity;
    return OPAL_SUCCESS;
}

int dss_buffer_extend(opal_buffer_t *buffer, size_t bytes, char **at)
{
    if (bytes > INT32_MAX || buffer->bytes_used > INT32_MAX - bytes) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    int rc = buffer_reserve(buffer, buffer->bytes_used + bytes);
    if (rc != OPAL_SUCCESS) {
        return rc;
    }
    *at = buffer->pack_ptr;
    buffer->bytes_used += bytes;
    if (bytes > 0) {
        buffer->pack_ptr += bytes;
    }
    return OPAL_SUCCESS;
}

void dss_buffer_cut(opal_buffer_t *buffer, size_t bytes)
{
    buffer->bytes_used = bytes;
    if (buffer->base_ptr) {
        buffer->pack_ptr = buffer->base_ptr + bytes;
    }
}

int dss_buffer_take(opal_buffer_t *buffer, size_t bytes, const char **at)
{
    if (bytes > dss_buffer_left(buffer)) {
        return OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
    }
    *at = buffer->unpack_ptr;
    if (bytes > 0) {
        buffer->unpack_ptr += bytes;
    }
    return OPAL_SUCCESS;
}

int dss_buffer_put_type(opal_buffer_t *buffer, opal_data_type_t type)
{
    char *at;
    int rc = dss_buffer_extend(buffer, sizeof(type), &at);
    if (rc == OPAL_SUCCESS) {
        *at = (char) type;
    }
    return rc;
}

int dss_buffer_take_type(opal_buffer_t *buffer, opal_data_type_t *type)
{
    const char *at;
    int rc = dss_buffer_take(buffer, sizeof(*type), &at);
    if (rc == OPAL_SUCCESS) {
        *type = (opal_data_type_t) *at;
    }
    return rc;
}

int dss_buffer_put_int32(opal_buffer_t *buffer, int32_t value)
{
    char *at;
    int rc = dss_buffer_extend(buffer, sizeof(value), &at);
    if (rc == OPAL_SUCCESS) {
        dss_number_encode(at, sizeof(value), (uint32_t) value);
    }
    return rc;
}

int dss_buffer_take_int32(opal_buffer_t *buffer, int32_t *value)
{
    const char *at;
    int rc = dss_buffer_take(buffer, sizeof(*value), &at);
    if (rc == OPAL_SUCCESS) {
        *value = (int32_t) dss_number_decode(at, sizeof(*value), true);
    }
    return rc;
}

int dss_set_buffer_type(opal_buffer_t *buffer, opal_dss_buffer_type_t type)
{
    if (!buffer || (type != OPAL_DSS_BUFFER_NON_DESC && type != OPAL_DSS_BUFFER_FULLY_DESC)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (buffer->bytes_used > 0) {
        return OPAL_ERR_BUFFER;
    }
    buffer->type = type;
    return OPAL_SUCCESS;
}

int dss_buffer_take_head(opal_buffer_t *buffer, opal_data_type_t *type, int32_t *count)
{
    opal_data_type_t count_type = OPAL_INT32;
    bool described = dss_described(buffer);
    int rc = described ? dss_buffer_take_type(buffer, &count_type) : OPAL_SUCCESS;
    if (rc == OPAL_SUCCESS && count_type != OPAL_INT32) {
        rc = OPAL_ERR_UNPACK_FAILURE;
    }
    if (rc == OPAL_SUCCESS) {
        rc = dss_buffer_take_int32(buffer, count);
    }
    if (rc == OPAL_SUCCESS && *count < 0) {
        rc = OPAL_ERR_UNPACK_FAILURE;
    }
    return rc == OPAL_SUCCESS && described ? dss_buffer_take_type(buffer, type) : rc;
}

int dss_peek(opal_buffer_t *buffer, opal_data_type_t *type, int32_t *num_values)
{
    if (!buffer || !type || !num_values) {
        return OPAL_ERR_BAD_PARAM;
    }
    opal_data_type_t next = OPAL_UNDEF;
    int32_t count = 0;
    int rc;
    if (dss_buffer_left(buffer) == 0) {
        rc = OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
    } else if (!dss_described(buffer)) {
        rc = OPAL_ERR_UNKNOWN_DATA_TYPE;
    } else {
        char *position = buffer->unpack_ptr;
        rc = dss_buffer_take_head(buffer, &next, &count);
        buffer->unpack_ptr = position;
    }
    *type = rc == OPAL_SUCCESS ? next : OPAL_UNDEF;
    *num_values = rc == OPAL_SUCCESS ? count : 0;
    return rc;
}

int dss_unload(opal_buffer_t *buffer, void **payload, int32_t *bytes_used)
{
    if (!buffer || !payload || !bytes_used) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (buffer->bytes_used > INT32_MAX) {
        return OPAL_ERR_BUFFER;
    }
    if (buffer->bytes_used == 0) {
        free(buffer->base_ptr);
        buffer_forget(buffer);
    }
    *payload = buffer->base_ptr;
    *bytes_used = (int32_t) buffer->bytes_used;
    buffer_forget(buffer);
    return OPAL_SUCCESS;
}

int dss_load(opal_buffer_t *buffer, void *payload, int32_t bytes_used)
{
    if (!buffer || bytes_used < 0 || (!payload && bytes_used > 0)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (payload != buffer->base_ptr) {
        free(buffer->base_ptr);
    }
    buffer_forget(buffer);
    if (payload) {
        buffer->base_ptr = payload;
        buffer->unpack_ptr = payload;
        buffer->pack_ptr = buffer->base_ptr + bytes_used;
        buffer->bytes_allocated = (size_t) bytes_used;
        buffer->bytes_used = (size_t) bytes_used;
    }
    return OPAL_SUCCESS;
}

int dss_copy_payload(opal_buffer_t *dest, opal_buffer_t *src)
{
    if (!dest || !src) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (dest->bytes_used > 0 && dest->type != src->type) {
        return OPAL_ERR_BUFFER;
    }
    size_t left = dss_buffer_left(src);
    char *to;
    int rc = dss_buffer_extend(dest, left, &to);
    if (rc != OPAL_SUCCESS) {
        return rc;
    }
    dest->type = src->type;
    if (left > 0) {
        memcpy(to, src->unpack_ptr, left);
    }
    return OPAL_SUCCESS;
}
