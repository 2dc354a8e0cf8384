#include <config.h>

#include <wireup/proto.h>

#include <base/data/strings.h>
#include <stdarg.h>
#include <stdlib.h>

#define STRINGS_MAX (1u << 20)

static int pack_bytes(opal_buffer_t *buffer, const void *data, size_t size)
{
    if (size > INT32_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    opal_byte_object_t object = {.size = (int32_t) size, .bytes = (uint8_t *) (uintptr_t) data};
    opal_byte_object_t *pointer = &object;
    return opal_dss.pack(buffer, &pointer, 1, OPAL_BYTE_OBJECT);
}

static int pack_value(opal_buffer_t *buffer, char letter, va_list *values)
{
    switch (letter) {
    case 'c': {
        uint8_t number = (uint8_t) va_arg(*values, int);
        return opal_dss.pack(buffer, &number, 1, OPAL_UINT8);
    }
    case 'u': {
        uint32_t number = va_arg(*values, uint32_t);
        return opal_dss.pack(buffer, &number, 1, OPAL_UINT32);
    }
    case 'i': {
        int32_t number = va_arg(*values, int32_t);
        return opal_dss.pack(buffer, &number, 1, OPAL_INT32);
    }
    case 'q': {
        uint64_t number = va_arg(*values, uint64_t);
        return opal_dss.pack(buffer, &number, 1, OPAL_UINT64);
    }
    case 'n': {
        orte_process_name_t name = va_arg(*values, orte_process_name_t);
        return opal_dss.pack(buffer, &name, 1, ORTE_NAME);
    }
    case 's': {
        const char *text = va_arg(*values, const char *);
        return opal_dss.pack(buffer, &text, 1, OPAL_STRING);
    }
    case 'b': {
        const void *data = va_arg(*values, const void *);
        return pack_bytes(buffer, data, va_arg(*values, size_t));
    }
    default:
        return ORTE_ERR_BAD_PARAM;
    }
}

static int pack_values(opal_buffer_t *buffer, const char *format, va_list *values)
{
    int status = ORTE_SUCCESS;
    for (; *format && status == ORTE_SUCCESS; format++) {
        status = pack_value(buffer, *format, values);
    }
    return status;
}

int proto_pack(opal_buffer_t *buffer, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int status = pack_values(buffer, format, &values);
    va_end(values);
    return status;
}

/* A message with these values behind its first byte; kind NULL: without that. */
static opal_buffer_t *new_message(const uint8_t *kind, const char *format, va_list *values)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    if (!buffer) {
        return NULL;
    }
    int status = kind ? opal_dss.pack(buffer, kind, 1, OPAL_UINT8) : OPAL_SUCCESS;
    if (status == OPAL_SUCCESS) {
        status = pack_values(buffer, format, values);
    }
    if (status != OPAL_SUCCESS) {
        OBJ_RELEASE(buffer);
        return NULL;
    }
    return buffer;
}

opal_buffer_t *proto_new(uint8_t kind, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    opal_buffer_t *buffer = new_message(&kind, format, &values);
    va_end(values);
    return buffer;
}

opal_buffer_t *proto_new_bare(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    opal_buffer_t *buffer = new_message(NULL, format, &values);
    va_end(values);
    return buffer;
}

opal_buffer_t *proto_whole(opal_buffer_t *buffer, int status)
{
    if (buffer && status != ORTE_SUCCESS) {
        OBJ_RELEASE(buffer);
        return NULL;
    }
    return buffer;
}

/* The sender's count may be 0: then nothing was read, and value is as it was. If it is more than 1,
 * the first was read all the same. */
static int unpack_plain(opal_buffer_t *buffer, void *value, opal_data_type_t type)
{
    int32_t count = 1;
    int status = opal_dss.unpack(buffer, value, &count, type);
    return status == OPAL_SUCCESS && count != 1 ? ORTE_ERR_UNPACK_FAILURE : status;
}

static int unpack_text(opal_buffer_t *buffer, char **text)
{
    int status = unpack_plain(buffer, text, OPAL_STRING);
    return status == OPAL_SUCCESS && !*text ? ORTE_ERR_UNPACK_FAILURE : status;
}

static int unpack_bytes(opal_buffer_t *buffer, uint8_t **data, size_t *size)
{
    opal_byte_object_t *object = NULL;
    int status = unpack_plain(buffer, &object, OPAL_BYTE_OBJECT);
    if (status == OPAL_SUCCESS) {
        *data = object->bytes;
        *size = (size_t) object->size;
    } else if (object) {
        free(object->bytes);
    }
    free(object);
    return status;
}

static int unpack_value(opal_buffer_t *buffer, char letter, va_list *values)
{
    switch (letter) {
    case 'c':
        return unpack_plain(buffer, va_arg(*values, uint8_t *), OPAL_UINT8);
    case 'u':
        return unpack_plain(buffer, va_arg(*values, uint32_t *), OPAL_UINT32);
    case 'i':
        return unpack_plain(buffer, va_arg(*values, int32_t *), OPAL_INT32);
    case 'q':
        return unpack_plain(buffer, va_arg(*values, uint64_t *), OPAL_UINT64);
    case 'n':
        return unpack_plain(buffer, va_arg(*values, orte_process_name_t *), ORTE_NAME);
    case 's':
        return unpack_text(buffer, va_arg(*values, char **));
    case 'b': {
        uint8_t **data = va_arg(*values, uint8_t **);
        return unpack_bytes(buffer, data, va_arg(*values, size_t *));
    }
    default:
        return ORTE_ERR_BAD_PARAM;
    }
}

/* Frees the strings and bytes of a format (before: sets them NULL, so that all can be freed). */
static void clear_values(const char *format, va_list *values, bool release)
{
    for (; *format; format++) {
        void **pointer = va_arg(*values, void **);
        if (*format == 'b') {
            *va_arg(*values, size_t *) = 0;
        }
        if (*format == 's' || *format == 'b') {
            if (release) {
                free(*pointer);
            }
            *pointer = NULL;
        }
    }
}

int proto_unpack(opal_buffer_t *buffer, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    clear_values(format, &values, false);
    va_end(values);
    int status = ORTE_SUCCESS;
    va_start(values, format);
    for (const char *letter = format; *letter && status == ORTE_SUCCESS; letter++) {
        status = unpack_value(buffer, *letter, &values);
    }
    va_end(values);
    if (status != ORTE_SUCCESS) {
        va_start(values, format);
        clear_values(format, &values, true);
        va_end(values);
    }
    return status;
}

size_t proto_left(const opal_buffer_t *buffer)
{
    return buffer->bytes_used - (size_t) (buffer->unpack_ptr - buffer->base_ptr);
}

int proto_unpack_u32s(opal_buffer_t *buffer, uint32_t count, uint32_t **numbers)
{
    if (proto_left(buffer) / sizeof(uint32_t) < count) {
        return ORTE_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
    }
    uint32_t *array = calloc(count, sizeof(*array));
    if (!array) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int32_t n = (int32_t) count;
    int status = opal_dss.unpack(buffer, array, &n, OPAL_UINT32);
    if (status == OPAL_SUCCESS && (uint32_t) n != count) {
        status = ORTE_ERR_UNPACK_FAILURE;
    }
    if (status != OPAL_SUCCESS) {
        free(array);
        return status;
    }
    *numbers = array;
    return ORTE_SUCCESS;
}

int proto_pack_strings(opal_buffer_t *buffer, char *const *strings)
{
    size_t count = strings_count(strings);
    int status =
        count <= STRINGS_MAX ? proto_pack(buffer, "u", (uint32_t) count) : ORTE_ERR_BAD_PARAM;
    if (status == OPAL_SUCCESS && count > 0) {
        status = opal_dss.pack(buffer, strings, (int32_t) count, OPAL_STRING);
    }
    return status;
}

int proto_unpack_strings(opal_buffer_t *buffer, char ***strings)
{
    uint32_t count;
    int status = proto_unpack(buffer, "u", &count);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (count > STRINGS_MAX || proto_left(buffer) / sizeof(uint32_t) < count) {
        return ORTE_ERR_UNPACK_READ_PAST_END_OF_BUFFER;
    }
    char **read = calloc((size_t) count + 1, sizeof(*read));
    if (!read) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int32_t n = (int32_t) count;
    if (count > 0) {
        status = opal_dss.unpack(buffer, read, &n, OPAL_STRING);
    }
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < count; i++) {
        if ((uint32_t) n != count || !read[i]) {
            status = ORTE_ERR_UNPACK_FAILURE;
        }
    }
    if (status != OPAL_SUCCESS) {
        for (uint32_t i = 0; i < count; i++) {
            free(read[i]);
        }
        free(read);
        return status;
    }
    *strings = read;
    return ORTE_SUCCESS;
}
