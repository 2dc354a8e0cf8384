#include <config.h>

#include <base/types/dss.h>
#include <stdlib.h>
#include <string.h>

/* Reads an item's head. The count is compared with the bytes left before anyone uses it. */
static int unpack_head(opal_buffer_t *buffer, const struct dss_type *info, opal_data_type_t type,
                       int32_t *count)
{
    opal_data_type_t found = type;
    int rc = dss_buffer_take_head(buffer, &found, count);
    if (rc == OPAL_SUCCESS && found != type) {
        rc = OPAL_ERR_PACK_MISMATCH;
    }
    if (rc == OPAL_SUCCESS &&
        (uint64_t) *count * info->min_wire > (uint64_t) dss_buffer_left(buffer)) {
        rc = OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
    }
    return rc;
}

static int unpack_names(opal_buffer_t *buffer, orte_process_name_t *names, int32_t count,
                        int32_t packed);

int dss_unpack(opal_buffer_t *buffer, void *dest, int32_t *num_values, opal_data_type_t type)
{
    if (!buffer || !dest || !num_values || *num_values < 0) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (*num_values == 0) {
        return OPAL_ERR_UNPACK_INADEQUATE_SPACE;
    }
    char *position = buffer->unpack_ptr;
    int32_t packed = 0;
    const struct dss_type *info = dss_type_find(type);
    int rc = info ? unpack_head(buffer, info, type, &packed) : OPAL_ERR_UNPACK_FAILURE;
    int32_t count = packed < *num_values ? packed : *num_values;
    if (rc == OPAL_SUCCESS && type == ORTE_NAME) {
        rc = unpack_names(buffer, dest, count, packed);
    } else if (rc == OPAL_SUCCESS) {
        rc = info->unpack(buffer, dest, &count, type);
    }
    if (rc != OPAL_SUCCESS) {
        buffer->unpack_ptr = position;
        *num_values = 0;
        return rc;
    }
    if (packed > *num_values) {
        /* What follows cannot be found any more: the next read meets the end. */
        buffer->unpack_ptr = buffer->base_ptr + buffer->bytes_used;
        return OPAL_ERR_UNPACK_INADEQUATE_SPACE;
    }
    *num_values = packed;
    return OPAL_SUCCESS;
}

static bool is_integer(opal_data_type_t type)
{
    return (type >= OPAL_INT8 && type <= OPAL_INT64) || (type >= OPAL_UINT8 && type <= OPAL_UINT64);
}

/* The type that the numbers of a type were packed as. */
static int take_wire_type(opal_buffer_t *buffer, const struct dss_type *info, opal_data_type_t type,
                          opal_data_type_t *wire)
{
    if (info->real == OPAL_UNDEF) {
        *wire = type;
        return OPAL_SUCCESS;
    }
    if (!info->tagged && !dss_described(buffer)) {
        *wire = info->real;
        return OPAL_SUCCESS;
    }
    int rc = dss_buffer_take_type(buffer, wire);
    if (rc != OPAL_SUCCESS) {
        return rc;
    }
    bool fits = info->tagged ? is_integer(*wire) : *wire == info->real;
    return fits ? OPAL_SUCCESS : OPAL_ERR_PACK_MISMATCH;
}

/* Whether a number that was packed with another width fits. */
static bool number_fits(const struct dss_type *info, bool wire_signed, uint64_t value)
{
    unsigned bits = 8u * info->memory - (info->is_signed ? 1 : 0);
    uint64_t most = bits == 64 ? UINT64_MAX : ((uint64_t) 1 << bits) - 1;
    if (wire_signed && (int64_t) value < 0) {
        return info->is_signed && ~value <= most;
    }
    return value <= most;
}

static int convert_numbers(const struct dss_type *info, const struct dss_type *wire,
                           const char *from, char *to, size_t count)
{
    bool is_bool = info->memory == sizeof(bool); /* no other tagged type is that narrow */
    for (size_t i = 0; i < count && !is_bool && wire->memory != info->memory; i++) {
        uint64_t value = dss_number_decode(from + i * wire->memory, wire->memory, wire->is_signed);
        if (!number_fits(info, wire->is_signed, value)) {
            return OPAL_ERR_VALUE_OUT_OF_BOUNDS;
        }
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t value = dss_number_decode(from + i * wire->memory, wire->memory, wire->is_signed);
        dss_number_store(to + i * info->memory, info->memory, is_bool ? value != 0 : value);
    }
    return OPAL_SUCCESS;
}

int dss_unpack_number(opal_buffer_t *buffer, void *dest, int32_t *num_values, opal_data_type_t type)
{
    const struct dss_type *info = dss_type_find(type);
    opal_data_type_t wire_type;
    int rc = take_wire_type(buffer, info, type, &wire_type);
    if (rc != OPAL_SUCCESS) {
        return rc;
    }
    const struct dss_type *wire = dss_type_find(wire_type);
    size_t count = (size_t) *num_values;
    const char *from;
    rc = dss_buffer_take(buffer, count * wire->memory, &from);
    if (rc != OPAL_SUCCESS || count == 0) {
        return rc;
    }
    if (info->tagged) {
        return convert_numbers(info, wire, from, dest, count);
    }
    if (info->memory == 1) {
        memcpy(dest, from, count);
        return OPAL_SUCCESS;
    }
    for (size_t i = 0; i < count; i++) {
        dss_number_store((char *) dest + i * info->memory, info->memory,
                         dss_number_decode(from + i * info->memory, info->memory, false));
    }
    return OPAL_SUCCESS;
}

/* Reads a length and that many bytes. */
static int take_bytes(opal_buffer_t *buffer, int32_t *size, const char **bytes)
{
    int rc = dss_buffer_take_int32(buffer, size);
    if (rc != OPAL_SUCCESS) {
        return rc;
    }
    return *size >= 0 ? dss_buffer_take(buffer, (size_t) *size, bytes) : OPAL_ERR_UNPACK_FAILURE;
}

/* A string's bytes with the terminating NUL, which is the only one; size 0 for a NULL string. */
static int take_string(opal_buffer_t *buffer, int32_t *size, const char **text)
{
    int rc = take_bytes(buffer, size, text);
    if (rc == OPAL_SUCCESS && *size > 0 &&
        memchr(*text, '\0', (size_t) *size) != *text + *size - 1) {
        rc = OPAL_ERR_UNPACK_FAILURE;
    }
    return rc;
}

/* Tries count reads and moves back: nothing is allocated for items of which one is malformed. */
static int check_items(opal_buffer_t *buffer, int32_t count,
                       int (*take)(opal_buffer_t *buffer, int32_t *size, const char **bytes))
{
    char *position = buffer->unpack_ptr;
    int rc = OPAL_SUCCESS;
    for (int32_t i = 0; i < count && rc == OPAL_SUCCESS; i++) {
        int32_t size;
        const char *bytes;
        rc = take(buffer, &size, &bytes);
    }
    buffer->unpack_ptr = position;
    return rc;
}

static void free_strings(char **strings, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        free(strings[i]);
        strings[i] = NULL;
    }
}

int dss_unpack_string(opal_buffer_t *buffer, void *dest, int32_t *num_values, opal_data_type_t type)
{
    (void) type;
    char **strings = dest;
    int rc = check_items(buffer, *num_values, take_string);
    for (int32_t i = 0; i < *num_values && rc == OPAL_SUCCESS; i++) {
        int32_t size;
        const char *text;
        rc = take_string(buffer, &size, &text);
        strings[i] = NULL;
        if (rc == OPAL_SUCCESS && size > 0) {
            strings[i] = malloc((size_t) size);
            rc = strings[i] ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
        }
        if (rc != OPAL_SUCCESS) {
            free_strings(strings, i);
        } else if (size > 0) {
            memcpy(strings[i], text, (size_t) size);
        }
    }
    return rc;
}

static void free_byte_objects(opal_byte_object_t **objects, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        free(objects[i]->bytes);
        free(objects[i]);
        objects[i] = NULL;
    }
}

int dss_unpack_byte_object(opal_buffer_t *buffer, void *dest, int32_t *num_values,
                           opal_data_type_t type)
{
    opal_byte_object_t **objects = dest;
    int rc = check_items(buffer, *num_values, take_bytes);
    for (int32_t i = 0; i < *num_values && rc == OPAL_SUCCESS; i++) {
        opal_byte_object_t packed;
        const char *bytes;
        objects[i] = NULL;
        rc = take_bytes(buffer, &packed.size, &bytes);
        if (rc == OPAL_SUCCESS) {
            packed.bytes = (uint8_t *) (uintptr_t) bytes; /* only read */
            rc = dss_copy_byte_object((void **) &objects[i], &packed, type);
        }
        if (rc != OPAL_SUCCESS) {
            free_byte_objects(objects, i);
        }
    }
    return rc;
}

int dss_unpack_null(opal_buffer_t *buffer, void *dest, int32_t *num_values, opal_data_type_t type)
{
    (void) type;
    const char *from;
    int rc = dss_buffer_take(buffer, (size_t) *num_values, &from);
    if (rc == OPAL_SUCCESS && *num_values > 0) {
        memset(dest, 0, (size_t) *num_values);
    }
    return rc;
}

/* A value within a value is a run of type bytes: its length is the depth. */
static bool packed_too_deep(const opal_buffer_t *buffer)
{
    size_t left = dss_buffer_left(buffer);
    size_t depth = 0;
    while (depth < left && (uint8_t) buffer->unpack_ptr[depth] == OPAL_DATA_VALUE) {
        if (++depth > DSS_VALUE_DEPTH_MAX) {
            return true;
        }
    }
    return false;
}

/* Reads the data of a value whose type is known; on failure the value stays empty. */
static int unpack_data(opal_buffer_t *buffer, const struct dss_type *info, opal_dss_value_t *value,
                       opal_data_type_t type)
{
    int32_t one = 1;
    void *data = NULL;
    int rc;
    if (info->structured) {
        rc = info->unpack(buffer, &data, &one, type);
    } else {
        size_t size = 0;
        rc = info->size(&size, NULL, type);
        if (rc != OPAL_SUCCESS) {
            return rc;
        }
        data = calloc(1, size > 0 ? size : 1);
        if (!data) {
            return OPAL_ERR_OUT_OF_RESOURCE;
        }
        rc = info->unpack(buffer, data, &one, type);
        if (rc != OPAL_SUCCESS) {
            free(data);
        }
    }
    if (rc == OPAL_SUCCESS) {
        value->type = type;
        value->data = data;
    }
    return rc;
}

static int unpack_one_value(opal_buffer_t *buffer, opal_dss_value_t **made)
{
    opal_data_type_t type;
    if (packed_too_deep(buffer)) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    int rc = dss_buffer_take_type(buffer, &type);
    if (rc != OPAL_SUCCESS || type == OPAL_NULL) {
        return rc;
    }
    const struct dss_type *info = dss_type_find(type);
    if (!info && type != OPAL_UNDEF) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    opal_dss_value_t *value = OBJ_NEW(opal_dss_value_t);
    if (!value) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    rc = info ? unpack_data(buffer, info, value, type) : OPAL_SUCCESS;
    if (rc != OPAL_SUCCESS) {
        OBJ_RELEASE(value);
        return rc;
    }
    *made = value;
    return OPAL_SUCCESS;
}

int dss_unpack_value(opal_buffer_t *buffer, void *dest, int32_t *num_values, opal_data_type_t type)
{
    (void) type;
    opal_dss_value_t **values = dest;
    for (int32_t i = 0; i < *num_values; i++) {
        values[i] = NULL;
        int rc = unpack_one_value(buffer, &values[i]);
        if (rc == OPAL_SUCCESS) {
            continue;
        }
        while (i-- > 0) {
            OBJ_RELEASE(values[i]);
        }
        return rc;
    }
    return OPAL_SUCCESS;
}

static int take_name_column(opal_buffer_t *buffer, int32_t packed, const char **at)
{
    opal_data_type_t wire = OPAL_UINT32;
    int rc = OPAL_SUCCESS;
    if (dss_described(buffer)) {
        rc = dss_buffer_take_type(buffer, &wire);
    }
    if (rc == OPAL_SUCCESS && wire != OPAL_UINT32) {
        rc = OPAL_ERR_PACK_MISMATCH;
    }
    return rc == OPAL_SUCCESS ? dss_buffer_take(buffer, (size_t) packed * 4, at) : rc;
}

/* Names lie in columns, so that even the first of them are found only with the packed count. */
static int unpack_names(opal_buffer_t *buffer, orte_process_name_t *names, int32_t count,
                        int32_t packed)
{
    const char *jobids, *vpids;
    int rc = take_name_column(buffer, packed, &jobids);
    if (rc == OPAL_SUCCESS) {
        rc = take_name_column(buffer, packed, &vpids);
    }
    for (int32_t i = 0; i < count && rc == OPAL_SUCCESS; i++) {
        names[i].jobid = (orte_jobid_t) dss_number_decode(jobids + (size_t) i * 4, 4, false);
        names[i].vpid = (orte_vpid_t) dss_number_decode(vpids + (size_t) i * 4, 4, false);
    }
    return rc;
}

int dss_unpack_name(opal_buffer_t *buffer, void *dest, int32_t *num_values, opal_data_type_t type)
{
    (void) type;
    return unpack_names(buffer, dest, *num_values, *num_values);
}
