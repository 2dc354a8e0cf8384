/* Every type of opal_dss with values and the bytes that they are packed as. */
#ifndef TESTS_DSS_GOLDEN_H
#define TESTS_DSS_GOLDEN_H

#include <keel/buffer.h>
#include <stdlib.h>
#include <string.h>

struct golden {
    opal_data_type_t type;
    int32_t count;
    const void *values;
    size_t stride;         /* bytes from one value to the next in memory */
    const char *plain;     /* hex, OPAL_DSS_BUFFER_NON_DESC */
    const char *described; /* hex, OPAL_DSS_BUFFER_FULLY_DESC */
};

static uint8_t golden_octets[] = {1, 2, 3};
static opal_byte_object_t golden_object = {3, golden_octets}, golden_no_bytes = {0, NULL};
static int32_t golden_seven = 7;
static int golden_five = 5;
static uint8_t golden_answer = 42;
static char golden_hi[] = "hi";
static opal_dss_value_t golden_inner = {.type = OPAL_UINT8, .data = &golden_answer};
static opal_dss_value_t golden_values[] = {
    {.type = OPAL_INT32, .data = &golden_seven},
    {.type = OPAL_STRING, .data = golden_hi},
    {.type = OPAL_INT, .data = &golden_five},
    {.type = OPAL_DATA_VALUE, .data = &golden_inner},
    {.type = OPAL_UNDEF},
    {.type = OPAL_BYTE_OBJECT, .data = &golden_object},
};

static const struct golden golden[] = {
    {OPAL_BYTE, 2, (const uint8_t[]){0xab, 0xcd}, 1, "00000002 abcd", "09 00000002 01 abcd"},
    {OPAL_BOOL, 2, (const bool[]){true, false}, sizeof(bool), "00000002 0c 0100",
     "09 00000002 02 0c 0100"},
    {OPAL_STRING, 3, (char *const[]){(char *) "ab", NULL, (char *) ""}, sizeof(char *),
     "00000003 00000003 616200 00000000 00000001 00",
     "09 00000003 03 00000003 616200 00000000 00000001 00"},
    {OPAL_SIZE, 1, (const size_t[]){0x01020304}, sizeof(size_t), "00000001 0f 0000000001020304",
     "09 00000001 04 0f 0000000001020304"},
    {OPAL_PID, 1, (const pid_t[]){4242}, sizeof(pid_t), "00000001 0e 00001092",
     "09 00000001 05 0e 00001092"},
    {OPAL_INT, 2, (const int[]){-2, 1}, sizeof(int), "00000002 09 fffffffe 00000001",
     "09 00000002 06 09 fffffffe 00000001"},
    {OPAL_INT8, 2, (const int8_t[]){-1, 2}, 1, "00000002 ff 02", "09 00000002 07 ff 02"},
    {OPAL_INT16, 2, (const int16_t[]){-2, 0x1234}, 2, "00000002 fffe 1234",
     "09 00000002 08 fffe 1234"},
    {OPAL_INT32, 2, (const int32_t[]){-3, 0x12345678}, 4, "00000002 fffffffd 12345678",
     "09 00000002 09 fffffffd 12345678"},
    {OPAL_INT64, 1, (const int64_t[]){-4}, 8, "00000001 fffffffffffffffc",
     "09 00000001 0a fffffffffffffffc"},
    {OPAL_UINT, 1, (const unsigned[]){0x89abcdef}, sizeof(unsigned), "00000001 09 89abcdef",
     "09 00000001 0b 09 89abcdef"},
    {OPAL_UINT8, 2, (const uint8_t[]){0, 255}, 1, "00000002 00 ff", "09 00000002 0c 00 ff"},
    {OPAL_UINT16, 1, (const uint16_t[]){0xbeef}, 2, "00000001 beef", "09 00000001 0d beef"},
    {OPAL_UINT32, 1, (const uint32_t[]){0xdeadbeef}, 4, "00000001 deadbeef",
     "09 00000001 0e deadbeef"},
    {OPAL_UINT64, 1, (const uint64_t[]){0x0123456789abcdef}, 8, "00000001 0123456789abcdef",
     "09 00000001 0f 0123456789abcdef"},
    {OPAL_BYTE_OBJECT, 2, (opal_byte_object_t *const[]){&golden_object, &golden_no_bytes},
     sizeof(void *), "00000002 00000003 010203 00000000",
     "09 00000002 10 00000003 010203 00000000"},
    {OPAL_DATA_TYPE, 1, (const opal_data_type_t[]){OPAL_INT32}, 1, "00000001 09",
     "09 00000001 11 0c 09"},
    {OPAL_NULL, 2, NULL, 1, "00000002 00 00", "09 00000002 12 00 00"},
    {OPAL_DATA_VALUE, 7,
     (opal_dss_value_t *const[]){&golden_values[0], &golden_values[1], NULL, &golden_values[2],
                                 &golden_values[3], &golden_values[4], &golden_values[5]},
     sizeof(void *),
     "00000007 09 00000007 03 00000003 686900 12 06 09 00000005 13 0c 2a 00 "
     "10 00000003 010203",
     "09 00000007 13 09 00000007 03 00000003 686900 12 06 09 00000005 13 0c 2a 00 "
     "10 00000003 010203"},
    {ORTE_STD_CNTR, 1, (const int32_t[]){-1}, 4, "00000001 ffffffff", "09 00000001 1f 09 ffffffff"},
    {ORTE_NAME, 2, (const orte_process_name_t[]){{0x00010002, 3}, {0x00010002, 4}}, 8,
     "00000002 00010002 00010002 00000003 00000004",
     "09 00000002 20 0e 00010002 00010002 0e 00000003 00000004"},
    {ORTE_VPID, 1, (const orte_vpid_t[]){9}, 4, "00000001 00000009", "09 00000001 21 0e 00000009"},
    {ORTE_JOBID, 1, (const orte_jobid_t[]){0x00010002}, 4, "00000001 00010002",
     "09 00000001 22 0e 00010002"},
    {ORTE_EXIT_CODE, 1, (const int32_t[]){-15}, 4, "00000001 fffffff1",
     "09 00000001 26 09 fffffff1"},
    {ORTE_RML_TAG, 1, (const uint32_t[]){12345}, 4, "00000001 00003039",
     "09 00000001 2f 0e 00003039"},
    {ORTE_DAEMON_CMD, 1, (const uint8_t[]){4}, 1, "00000001 04", "09 00000001 30 0c 04"},
};

enum { GOLDEN_COUNT = sizeof(golden) / sizeof(golden[0]) };

/* Whether a type's values in memory are pointers to them. */
static inline bool golden_is_pointer(opal_data_type_t type)
{
    return type == OPAL_STRING || type == OPAL_BYTE_OBJECT || type == OPAL_DATA_VALUE;
}

/* The bytes of a hex text, malloc'd. */
static inline uint8_t *golden_bytes(const char *hex, size_t *size)
{
    uint8_t *bytes = malloc(strlen(hex) / 2 + 1);
    size_t digits = 0;
    for (; *hex; hex++) {
        if (*hex == ' ') {
            continue;
        }
        uint8_t digit = (uint8_t) (*hex <= '9' ? *hex - '0' : *hex - 'a' + 10);
        bytes[digits / 2] = (uint8_t) (digits % 2 ? bytes[digits / 2] | digit : digit << 4);
        digits++;
    }
    *size = digits / 2;
    return bytes;
}

/* A buffer that holds a copy of the bytes, exactly as long as they are. */
static inline opal_buffer_t *golden_buffer(opal_dss_buffer_type_t type, const void *bytes,
                                           size_t size)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    opal_dss.set_buffer_type(buffer, type);
    void *copy = malloc(size > 0 ? size : 1);
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    opal_dss.load(buffer, copy, (int32_t) size);
    return buffer;
}

static inline opal_buffer_t *golden_hex_buffer(opal_dss_buffer_type_t type, const char *hex)
{
    size_t size;
    uint8_t *bytes = golden_bytes(hex, &size);
    opal_buffer_t *buffer = golden_buffer(type, bytes, size);
    free(bytes);
    return buffer;
}

/* Frees what unpack made. */
static inline void golden_free(opal_data_type_t type, void *values, int32_t count)
{
    void **pointers = values;
    for (int32_t i = 0; i < count && golden_is_pointer(type); i++) {
        opal_dss_value_t value = {.type = type, .data = pointers[i]};
        opal_dss.release(&value);
    }
}

#endif
