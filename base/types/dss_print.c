#include <config.h>

#include <base/types/dss.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES_SHOWN = 32 };

/* Makes "PREFIX TYPE: text". */
static int print_line(char **output, const char *prefix, opal_data_type_t type, const char *format,
                      ...) KEEL_PRINTF(4, 5);

static int print_line(char **output, const char *prefix, opal_data_type_t type, const char *format,
                      ...)
{
    va_list args;
    char *text, *line;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    length = asprintf(&line, "%s%s: %s", prefix ? prefix : "", dss_type_find(type)->name, text);
    free(text);
    if (length < 0) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *output = line;
    return OPAL_SUCCESS;
}

int dss_print(char **output, char *prefix, void *src, opal_data_type_t type)
{
    if (!output) {
        return OPAL_ERR_BAD_PARAM;
    }
    const struct dss_type *info = dss_type_find(type);
    if (!info) {
        return OPAL_ERR_UNKNOWN_DATA_TYPE;
    }
    if (!src && type != OPAL_NULL) {
        return print_line(output, prefix, type, "(null)");
    }
    return info->print(output, prefix, src, type);
}

int dss_print_number(char **output, char *prefix, void *src, opal_data_type_t type)
{
    const struct dss_type *info = dss_type_find(type);
    uint64_t value = dss_number_load(src, info->memory, info->is_signed);
    if (type == OPAL_BOOL) {
        return print_line(output, prefix, type, "%s", value ? "true" : "false");
    }
    if (type == OPAL_BYTE) {
        return print_line(output, prefix, type, "0x%02" PRIx64, value);
    }
    if ((type == ORTE_VPID || type == ORTE_JOBID) && value >= ORTE_VPID_WILDCARD) {
        return print_line(output, prefix, type, "%s",
                          value == ORTE_VPID_WILDCARD ? "WILDCARD" : "INVALID");
    }
    if (type == OPAL_DATA_TYPE) {
        const struct dss_type *named = dss_type_find((opal_data_type_t) value);
        return print_line(output, prefix, type, "%" PRIu64 " (%s)", value,
                          named ? named->name : "unknown");
    }
    if (info->is_signed) {
        return print_line(output, prefix, type, "%" PRId64, (int64_t) value);
    }
    return print_line(output, prefix, type, "%" PRIu64, value);
}

/* Text from elsewhere may go to a terminal: what is not printable ASCII is shown as \xHH. */
int dss_print_string(char **output, char *prefix, void *src, opal_data_type_t type)
{
    const unsigned char *from = src;
    char *text = malloc(strlen(src) * 4 + 1);
    if (!text) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    char *to = text;
    for (; *from; from++) {
        if (*from >= ' ' && *from < 0x7f) {
            *to++ = (char) *from;
        } else {
            to += sprintf(to, "\\x%02x", *from);
        }
    }
    *to = '\0';
    int rc = print_line(output, prefix, type, "\"%s\"", text);
    free(text);
    return rc;
}

int dss_print_byte_object(char **output, char *prefix, void *src, opal_data_type_t type)
{
    const opal_byte_object_t *object = src;
    char hex[2 * BYTES_SHOWN + 1] = "";
    int32_t shown = object->bytes && object->size > 0 ? object->size : 0;
    if (shown > BYTES_SHOWN) {
        shown = BYTES_SHOWN;
    }
    for (int32_t i = 0; i < shown; i++) {
        sprintf(hex + 2 * i, "%02x", object->bytes[i]);
    }
    return print_line(output, prefix, type, "%" PRId32 " bytes %s%s", object->size, hex,
                      shown < object->size ? "..." : "");
}

int dss_print_null(char **output, char *prefix, void *src, opal_data_type_t type)
{
    (void) src;
    return print_line(output, prefix, type, "(null)");
}

int dss_print_value(char **output, char *prefix, void *src, opal_data_type_t type)
{
    const opal_dss_value_t *value = src;
    if (dss_value_too_deep(value)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (value->type == OPAL_UNDEF) {
        return print_line(output, prefix, type, "(empty)");
    }
    char *inner;
    int rc = dss_print(&inner, NULL, value->data, value->type);
    if (rc == OPAL_SUCCESS) {
        rc = print_line(output, prefix, type, "%s", inner);
        free(inner);
    }
    return rc;
}

int dss_print_name(char **output, char *prefix, void *src, opal_data_type_t type)
{
    return print_line(output, prefix, type, "%s", ORTE_NAME_PRINT(src));
}

/* Stream 0 is standard error, as for opal_output; above it a stream is a file descriptor; a
 * negative one is silent. */
static int stream_fd(int stream)
{
    return stream == 0 ? STDERR_FILENO : stream;
}

int dss_dump(int output_stream, void *src, opal_data_type_t type)
{
    char *line;
    int rc = dss_print(&line, NULL, src, type);
    if (rc != OPAL_SUCCESS) {
        return rc;
    }
    if (output_stream >= 0 && dprintf(stream_fd(output_stream), "%s\n", line) < 0) {
        rc = OPAL_ERR_FILE_WRITE_FAILURE;
    }
    free(line);
    return rc;
}

void dss_dump_data_types(int output)
{
    if (output < 0) {
        return;
    }
    for (unsigned type = 0; type <= UINT8_MAX; type++) {
        const struct dss_type *info = dss_type_find((opal_data_type_t) type);
        if (info) {
            dprintf(stream_fd(output), "%3u %s\n", type, info->name);
        }
    }
}
