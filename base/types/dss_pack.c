#include <config.h>

#include <base/types/dss.h>
#include <string.h>

static int pack_head(opal_buffer_t *buffer, int32_t count, opal_data_type_t type)
{
    int rc = OPAL_SUCCESS;
    if (dss_described(buffer)) {
        rc = dss_buffer_put_type(buffer, OPAL_INT32);
    }
    if (rc == OPAL_SUCCESS) {
        rc = dss_buffer_put_int32(buffer, count);
    }
    if (rc == OPAL_SUCCESS && dss_described(buffer)) {
        rc = dss_buffer_put_type(buffer, type);
    }
    return rc;
}

int dss_pack(opal_buffer_t *buffer, const void *src, int32_t num_values, opal_data_type_t type)
{
    if (!buffer || num_values < 0 || (!src && num_values > 0 && type != OPAL_NULL)) {
        return OPAL_ERR_BAD_PARAM;
    }
    const struct dss_type *info = dss_type_find(type);
    if (!info) {
        return OPAL_ERR_PACK_FAILURE;
    }
    size_t start = buffer->bytes_used;
    int rc = pack_head(buffer, num_values, type);
    if (rc == OPAL_SUCCESS) {
        rc = info->pack(buffer, src, num_values, type);
    }
    if (rc != OPAL_SUCCESS) {
        dss_buffer_cut(buffer, start);
    }
    return rc;
}

static int pack_numbers(opal_buffer_t *buffer, const char *from, size_t count, size_t width)
{
    char *to;
    int rc = dss_buffer_extend(buffer, count * width, &to);
    if (rc != OPAL_SUCCESS || count == 0) {
        return rc;
    }
    if (width == 1) {
        memcpy(to, from, count);
        return OPAL_SUCCESS;
    }
    for (size_t i = 0; i < count; i++) {
        dss_number_encode(to + i * width, width, dss_number_load(from + i * width, width, false));
    }
    return OPAL_SUCCESS;
}

int dss_pack_number(opal_buffer_t *buffer, const void *src, int32_t num_values,
                    opal_data_type_t type)
{
    const struct dss_type *info = dss_type_find(type);
    if (info->real != OPAL_UNDEF && (info->tagged || dss_described(buffer))) {
        int rc = dss_buffer_put_type(buffer, info->real);
        if (rc != OPAL_SUCCESS) {
            return rc;
        }
    }
    return pack_numbers(buffer, src, (size_t) num_values, info->memory);
}

static int pack_bytes(opal_buffer_t *buffer, const void *bytes, size_t count)
{
    if (count > INT32_MAX) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    int rc = dss_buffer_put_int32(buffer, (int32_t) count);
    return rc == OPAL_SUCCESS ? pack_numbers(buffer, bytes, count, 1) : rc;
}

int dss_pack_string(opal_buffer_t *buffer, const void *src, int32_t num_values,
                    opal_data_type_t type)
{
    (void) type;
    char *const *strings = src;
    int rc = OPAL_SUCCESS;
    for (int32_t i = 0; i < num_values && rc == OPAL_SUCCESS; i++) {
        rc = pack_bytes(buffer, strings[i], strings[i] ? strlen(strings[i]) + 1 : 0);
    }
    return rc;
}

int dss_pack_byte_object(opal_buffer_t *buffer, const void *src, int32_t num_values,
                         opal_data_type_t type)
{
    (void) type;
    opal_byte_object_t *const *objects = src;
    int rc = OPAL_SUCCESS;
    for (int32_t i = 0; i < num_values && rc == OPAL_SUCCESS; i++) {
        const opal_byte_object_t *object = objects[i];
        if (!object || object->size < 0 || (object->size > 0 && !object->bytes)) {
            return OPAL_ERR_BAD_PARAM;
        }
        rc = pack_bytes(buffer, object->bytes, (size_t) object->size);
    }
    return rc;
}

int dss_pack_null(opal_buffer_t *buffer, const void *src, int32_t num_values, opal_data_type_t type)
{
    (void) src;
    (void) type;
    char *to;
    int rc = dss_buffer_extend(buffer, (size_t) num_values, &to);
    if (rc == OPAL_SUCCESS && num_values > 0) {
        memset(to, 0, (size_t) num_values);
    }
    return rc;
}

/* A type byte, then the value without a head. OPAL_NULL stands for a missing value, and neither it
 * nor OPAL_UNDEF has anything behind it. */
static int pack_one_value(opal_buffer_t *buffer, const opal_dss_value_t *value)
{
    opal_data_type_t type = value ? value->type : OPAL_NULL;
    if (dss_value_too_deep(value)) {
        return OPAL_ERR_PACK_FAILURE;
    }
    int rc = dss_buffer_put_type(buffer, type);
    if (rc != OPAL_SUCCESS || type == OPAL_NULL || type == OPAL_UNDEF) {
        return rc;
    }
    const struct dss_type *info = dss_type_find(type);
    if (!info) {
        return OPAL_ERR_PACK_FAILURE;
    }
    if (info->structured) {
        return info->pack(buffer, &value->data, 1, type);
    }
    return value->data ? info->pack(buffer, value->data, 1, type) : OPAL_ERR_BAD_PARAM;
}

int dss_pack_value(opal_buffer_t *buffer, const void *src, int32_t num_values,
                   opal_data_type_t type)
{
    (void) type;
    opal_dss_value_t *const *values = src;
    int rc = OPAL_SUCCESS;
    for (int32_t i = 0; i < num_values && rc == OPAL_SUCCESS; i++) {
        rc = pack_one_value(buffer, values[i]);
    }
    return rc;
}

static int put_name_column(opal_buffer_t *buffer, int32_t count, char **at)
{
    int rc = OPAL_SUCCESS;
    if (dss_described(buffer)) {
        rc = dss_buffer_put_type(buffer, OPAL_UINT32);
    }
    return rc == OPAL_SUCCESS ? dss_buffer_extend(buffer, (size_t) count * 4, at) : rc;
}

/* All jobids, then all vpids. */
int dss_pack_name(opal_buffer_t *buffer, const void *src, int32_t num_values, opal_data_type_t type)
{
    (void) type;
    const orte_process_name_t *names = src;
    char *at;
    int rc = put_name_column(buffer, num_values, &at);
    for (int32_t i = 0; i < num_values && rc == OPAL_SUCCESS; i++) {
        dss_number_encode(at + (size_t) i * 4, 4, names[i].jobid);
    }
    if (rc == OPAL_SUCCESS) {
        rc = put_name_column(buffer, num_values, &at);
    }
    for (int32_t i = 0; i < num_values && rc == OPAL_SUCCESS; i++) {
        dss_number_encode(at + (size_t) i * 4, 4, names[i].vpid);
    }
    return rc;
}
