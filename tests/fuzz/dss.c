/* opal_dss: values of any type out of any bytes. What comes out packs, and unpacks to the same. */
#include <config.h>

#include <base/types/dss.h>
#include <keel/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

enum { VALUES_MAX = 16, WIDTH_MAX = 16 };

static bool is_pointer(opal_data_type_t type)
{
    return type == OPAL_STRING || type == OPAL_BYTE_OBJECT || type == OPAL_DATA_VALUE;
}

static void release(opal_data_type_t type, void *values, int32_t count)
{
    void **pointers = values;
    for (int32_t i = 0; i < count && is_pointer(type); i++) {
        opal_dss_value_t value = {.type = type, .data = pointers[i]};
        opal_dss.release(&value);
    }
}

static void print_and_size(opal_data_type_t type, void *value)
{
    char *text = NULL;
    char prefix[] = "  ";
    size_t size = 0;
    if (opal_dss.print(&text, prefix, value, type) == OPAL_SUCCESS) {
        free(text);
    }
    (void) opal_dss.size(&size, value, type);
}

/* The values pack into another buffer, and come out of it equal. */
static void again(opal_data_type_t type, void *values, int32_t count, uint8_t description)
{
    uint64_t space[VALUES_MAX * WIDTH_MAX / 8] = {0};
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    int32_t got = VALUES_MAX;
    fuzz_check(opal_dss.set_buffer_type(buffer, description) == OPAL_SUCCESS, "it is empty");
    fuzz_check(opal_dss.pack(buffer, values, count, type) == OPAL_SUCCESS, "what came out packs");
    fuzz_check(opal_dss.unpack(buffer, space, &got, type) == OPAL_SUCCESS && got == count,
               "what was packed unpacks");
    const struct dss_type *row = dss_type_find(type);
    size_t width = is_pointer(type) ? sizeof(void *) : row->memory;
    for (int32_t i = 0; i < count; i++) {
        char *one = (char *) values + (size_t) i * width;
        char *other = (char *) space + (size_t) i * width;
        void *a = is_pointer(type) ? *(void **) one : one;
        void *b = is_pointer(type) ? *(void **) other : other;
        if (type != OPAL_NULL && a && b) {
            fuzz_check(opal_dss.compare(a, b, type) == OPAL_EQUAL, "it is equal");
            print_and_size(type, a);
        }
    }
    release(type, space, got);
    OBJ_RELEASE(buffer);
}

static void unpack(opal_buffer_t *buffer, opal_data_type_t type, int32_t wish)
{
    uint64_t space[VALUES_MAX * WIDTH_MAX / 8] = {0};
    int32_t count = wish;
    char *before = buffer->unpack_ptr;
    int status = opal_dss.unpack(buffer, space, &count, type);
    fuzz_check(buffer->unpack_ptr >= buffer->base_ptr &&
                   buffer->unpack_ptr <= buffer->base_ptr + buffer->bytes_used,
               "the position stays in the buffer");
    if (status == OPAL_SUCCESS) {
        fuzz_check(count >= 0 && count <= wish, "no more values than there is space for");
        again(type, space, count, buffer->type);
        release(type, space, count);
    } else if (status == OPAL_ERR_UNPACK_INADEQUATE_SPACE) {
        fuzz_check(count >= 0 && count <= wish, "no more values than there is space for");
        release(type, space, count);
    } else {
        fuzz_check(count == 0 && buffer->unpack_ptr == before, "a failed unpack leaves no trace");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const opal_data_type_t types[] = {
        OPAL_BYTE,       OPAL_BOOL,        OPAL_STRING, OPAL_SIZE,       OPAL_PID,
        OPAL_INT,        OPAL_INT8,        OPAL_INT16,  OPAL_INT32,      OPAL_INT64,
        OPAL_UINT,       OPAL_UINT8,       OPAL_UINT16, OPAL_UINT32,     OPAL_UINT64,
        OPAL_DATA_TYPE,  OPAL_BYTE_OBJECT, OPAL_NULL,   OPAL_DATA_VALUE, ORTE_STD_CNTR,
        ORTE_NAME,       ORTE_VPID,        ORTE_JOBID,  ORTE_EXIT_CODE,  ORTE_RML_TAG,
        ORTE_DAEMON_CMD,
    };
    struct feed feed = {data, size};
    uint8_t choice = feed_byte(&feed);
    size_t payload_size;
    uint8_t wishes[8] = {0};
    for (size_t i = 0; i < (size_t) choice % 8 + 1; i++) {
        wishes[i] = feed_byte(&feed);
    }
    uint8_t *payload = feed_copy(&feed, feed.left, &payload_size);
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    if (payload_size > 0 &&
        opal_dss.load(buffer, payload, (int32_t) payload_size) == OPAL_SUCCESS) {
        buffer->type = choice & 8 ? OPAL_DSS_BUFFER_FULLY_DESC : OPAL_DSS_BUFFER_NON_DESC;
        for (size_t i = 0; i < (size_t) choice % 8 + 1; i++) {
            opal_data_type_t type = types[wishes[i] % (sizeof(types) / sizeof(*types))];
            opal_data_type_t peeked;
            int32_t count;
            (void) opal_dss.peek(buffer, &peeked, &count);
            unpack(buffer, type, 1 + wishes[i] / 32 * 2);
        }
    } else {
        free(payload);
    }
    OBJ_RELEASE(buffer);
    return 0;
}
