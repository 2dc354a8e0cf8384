#include <config.h>

#include <base/types/dss.h>
#include <stdlib.h>
#include <string.h>

static void value_construct(opal_object_t *object)
{
    opal_dss_value_t *value = (opal_dss_value_t *) object;
    value->type = OPAL_UNDEF;
    value->data = NULL;
}

static void value_destruct(opal_object_t *object)
{
    dss_release((opal_dss_value_t *) object);
}

const opal_class_t opal_dss_value_t_class = {
    .cls_name = "opal_dss_value_t",
    .cls_parent = OBJ_CLASS(opal_object_t),
    .cls_sizeof = sizeof(opal_dss_value_t),
    .cls_construct = value_construct,
    .cls_destruct = value_destruct,
};

bool dss_value_too_deep(const opal_dss_value_t *value)
{
    unsigned depth = 0;
    while (value && value->type == OPAL_DATA_VALUE) {
        if (++depth > DSS_VALUE_DEPTH_MAX) {
            return true;
        }
        value = value->data;
    }
    return false;
}

static bool needs_data(opal_data_type_t type)
{
    return type != OPAL_UNDEF && type != OPAL_NULL;
}

int dss_set(opal_dss_value_t *value, void *new_value, opal_data_type_t type)
{
    if (!value || (!new_value && needs_data(type))) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (type != OPAL_UNDEF && !dss_type_find(type)) {
        return OPAL_ERR_UNKNOWN_DATA_TYPE;
    }
    if (value->data) {
        return OPAL_ERR_DATA_OVERWRITE_ATTEMPT;
    }
    value->type = type;
    value->data = new_value;
    return OPAL_SUCCESS;
}

int dss_get(void **data, opal_dss_value_t *value, opal_data_type_t type)
{
    if (!data || !value) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (value->type != type) {
        return OPAL_ERR_TYPE_MISMATCH;
    }
    *data = value->data;
    return OPAL_SUCCESS;
}

void dss_release(opal_dss_value_t *value)
{
    if (!value) {
        return;
    }
    if (value->data) {
        const struct dss_type *info = dss_type_find(value->type);
        if (info) {
            info->release(value);
        } else {
            free(value->data);
        }
    }
    value->type = OPAL_UNDEF;
    value->data = NULL;
}

void dss_release_plain(opal_dss_value_t *value)
{
    free(value->data);
}

void dss_release_byte_object(opal_dss_value_t *value)
{
    opal_byte_object_t *object = value->data;
    free(object->bytes);
    free(object);
}

void dss_release_value(opal_dss_value_t *value)
{
    opal_dss_value_t *inner = value->data;
    OBJ_RELEASE(inner);
}

/* Copies. */

int dss_copy(void **dest, void *src, opal_data_type_t type)
{
    if (!dest || (!src && type != OPAL_NULL && type != OPAL_STRING)) {
        return OPAL_ERR_BAD_PARAM;
    }
    const struct dss_type *info = dss_type_find(type);
    return info ? info->copy(dest, src, type) : OPAL_ERR_UNKNOWN_DATA_TYPE;
}

int dss_copy_fixed(void **dest, void *src, opal_data_type_t type)
{
    size_t size = dss_type_find(type)->memory;
    void *made = calloc(1, size);
    if (!made) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (src) {
        memcpy(made, src, size);
    }
    *dest = made;
    return OPAL_SUCCESS;
}

int dss_copy_string(void **dest, void *src, opal_data_type_t type)
{
    (void) type;
    char *made = src ? strdup(src) : NULL;
    if (src && !made) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *dest = made;
    return OPAL_SUCCESS;
}

int dss_copy_byte_object(void **dest, void *src, opal_data_type_t type)
{
    (void) type;
    const opal_byte_object_t *from = src;
    if (from->size < 0 || (from->size > 0 && !from->bytes)) {
        return OPAL_ERR_BAD_PARAM;
    }
    opal_byte_object_t *made = malloc(sizeof(*made));
    uint8_t *bytes = from->size > 0 ? malloc((size_t) from->size) : NULL;
    if (!made || (from->size > 0 && !bytes)) {
        free(made);
        free(bytes);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (from->size > 0) {
        memcpy(bytes, from->bytes, (size_t) from->size);
    }
    made->size = from->size;
    made->bytes = bytes;
    *dest = made;
    return OPAL_SUCCESS;
}

int dss_copy_value(void **dest, void *src, opal_data_type_t type)
{
    (void) type;
    const opal_dss_value_t *from = src;
    if (dss_value_too_deep(from)) {
        return OPAL_ERR_BAD_PARAM;
    }
    opal_dss_value_t *made = OBJ_NEW(opal_dss_value_t);
    if (!made) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (from->data) {
        int rc = dss_copy(&made->data, from->data, from->type);
        if (rc != OPAL_SUCCESS) {
            OBJ_RELEASE(made);
            return rc;
        }
    }
    made->type = from->type;
    *dest = made;
    return OPAL_SUCCESS;
}

/* Comparisons. */

int dss_compare(const void *value1, const void *value2, opal_data_type_t type)
{
    if (!value1 || !value2) {
        return OPAL_ERR_BAD_PARAM;
    }
    const struct dss_type *info = dss_type_find(type);
    return info ? info->compare(value1, value2, type) : OPAL_ERR_UNKNOWN_DATA_TYPE;
}

static int order(bool first_greater, bool second_greater)
{
    if (first_greater) {
        return OPAL_VALUE1_GREATER;
    }
    return second_greater ? OPAL_VALUE2_GREATER : OPAL_EQUAL;
}

int dss_compare_number(const void *value1, const void *value2, opal_data_type_t type)
{
    const struct dss_type *info = dss_type_find(type);
    uint64_t a = dss_number_load(value1, info->memory, info->is_signed);
    uint64_t b = dss_number_load(value2, info->memory, info->is_signed);
    if (info->is_signed) {
        return order((int64_t) a > (int64_t) b, (int64_t) b > (int64_t) a);
    }
    return order(a > b, b > a);
}

static int compare_ids(uint32_t a, uint32_t b)
{
    if (a == ORTE_VPID_WILDCARD || b == ORTE_VPID_WILDCARD) {
        return OPAL_EQUAL;
    }
    return order(a > b, b > a);
}

int dss_compare_id(const void *value1, const void *value2, opal_data_type_t type)
{
    (void) type;
    return compare_ids((uint32_t) dss_number_load(value1, 4, false),
                       (uint32_t) dss_number_load(value2, 4, false));
}

int dss_compare_name(const void *value1, const void *value2, opal_data_type_t type)
{
    (void) type;
    const orte_process_name_t *a = value1, *b = value2;
    int result = compare_ids(a->jobid, b->jobid);
    return result == OPAL_EQUAL ? compare_ids(a->vpid, b->vpid) : result;
}

/* The original's order: the string that strcmp puts first is the greater one. */
int dss_compare_string(const void *value1, const void *value2, opal_data_type_t type)
{
    (void) type;
    int result = strcmp(value1, value2);
    return order(result<0, result> 0);
}

int dss_compare_byte_object(const void *value1, const void *value2, opal_data_type_t type)
{
    (void) type;
    const opal_byte_object_t *a = value1, *b = value2;
    int result = order(a->size > b->size, b->size > a->size);
    if (result == OPAL_EQUAL && a->size > 0) {
        int difference = memcmp(a->bytes, b->bytes, (size_t) a->size);
        result = order(difference > 0, difference < 0);
    }
    return result;
}

int dss_compare_null(const void *value1, const void *value2, opal_data_type_t type)
{
    (void) value1;
    (void) value2;
    (void) type;
    return OPAL_EQUAL;
}

int dss_compare_value(const void *value1, const void *value2, opal_data_type_t type)
{
    (void) type;
    const opal_dss_value_t *a = value1, *b = value2;
    if (a->type != b->type) {
        return OPAL_ERR_TYPE_MISMATCH;
    }
    if (dss_value_too_deep(a) || dss_value_too_deep(b)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (!a->data || !b->data) {
        return order(a->data != NULL, b->data != NULL);
    }
    return dss_compare(a->data, b->data, a->type);
}

/* Sizes in memory. */

int dss_size(size_t *size, void *src, opal_data_type_t type)
{
    if (!size) {
        return OPAL_ERR_BAD_PARAM;
    }
    const struct dss_type *info = dss_type_find(type);
    return info ? info->size(size, src, type) : OPAL_ERR_UNKNOWN_DATA_TYPE;
}

int dss_size_fixed(size_t *size, void *src, opal_data_type_t type)
{
    (void) src;
    *size = dss_type_find(type)->memory;
    return OPAL_SUCCESS;
}

int dss_size_string(size_t *size, void *src, opal_data_type_t type)
{
    (void) type;
    *size = src ? strlen(src) + 1 : sizeof(char *);
    return OPAL_SUCCESS;
}

int dss_size_byte_object(size_t *size, void *src, opal_data_type_t type)
{
    (void) type;
    const opal_byte_object_t *object = src;
    if (object && object->size < 0) {
        return OPAL_ERR_BAD_PARAM;
    }
    *size = sizeof(*object) + (object ? (size_t) object->size : 0);
    return OPAL_SUCCESS;
}

int dss_size_value(size_t *size, void *src, opal_data_type_t type)
{
    (void) type;
    const opal_dss_value_t *value = src;
    if (dss_value_too_deep(value)) {
        return OPAL_ERR_BAD_PARAM;
    }
    size_t inner = 0;
    if (value && value->data) {
        int rc = dss_size(&inner, value->data, value->type);
        if (rc != OPAL_SUCCESS) {
            return rc;
        }
    }
    *size = sizeof(*value) + inner;
    return OPAL_SUCCESS;
}
