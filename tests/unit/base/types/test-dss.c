/* opal_dss: bytes, round trips, error codes, buffers. Hostile input: test-dss-hostile.c. */
#include <tests/lib/unit.h>
#include <tests/unit/base/types/dss_golden.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static orte_process_name_t golden_name = {0x00010002, 3};

static const char *hex_of(const struct golden *g, int description)
{
    return description == OPAL_DSS_BUFFER_FULLY_DESC ? g->described : g->plain;
}

static opal_buffer_t *new_buffer(int description)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    ck_assert_ptr_nonnull(buffer);
    ck_assert_int_eq(buffer->type, OPAL_DSS_BUFFER_NON_DESC);
    ck_assert_int_eq(opal_dss.set_buffer_type(buffer, (opal_dss_buffer_type_t) description), 0);
    return buffer;
}

static void check_bytes(const opal_buffer_t *buffer, const char *hex, opal_data_type_t type)
{
    size_t size;
    uint8_t *bytes = golden_bytes(hex, &size);
    ck_assert_msg(buffer->bytes_used == size && memcmp(buffer->base_ptr, bytes, size) == 0,
                  "type %d: bytes differ (%zu packed, %zu expected)", type, buffer->bytes_used,
                  size);
    free(bytes);
}

START_TEST(packs_golden_bytes)
{
    for (int description = 0; description <= 1; description++) {
        for (int i = 0; i < GOLDEN_COUNT; i++) {
            const struct golden *g = &golden[i];
            opal_buffer_t *buffer = new_buffer(description);
            ck_assert_int_eq(opal_dss.pack(buffer, g->values, g->count, g->type), OPAL_SUCCESS);
            check_bytes(buffer, hex_of(g, description), g->type);
            OBJ_RELEASE(buffer);
            ck_assert_ptr_null(buffer);
        }
    }
}
END_TEST

static void check_value(const struct golden *g, const char *read, int32_t i)
{
    const char *expected = g->values ? (const char *) g->values + (size_t) i * g->stride : NULL;
    const char *found = read + (size_t) i * g->stride;
    if (!expected) {
        ck_assert_int_eq(*found, 0);
    } else if (golden_is_pointer(g->type)) {
        const void *a = *(void *const *) expected, *b = *(void *const *) found;
        ck_assert_int_eq(a == NULL, b == NULL);
        if (a) {
            ck_assert_msg(opal_dss.compare(a, b, g->type) == OPAL_EQUAL, "type %d", g->type);
        }
    } else {
        ck_assert_msg(opal_dss.compare(expected, found, g->type) == OPAL_EQUAL, "type %d", g->type);
    }
}

START_TEST(unpacks_golden_bytes)
{
    for (int description = 0; description <= 1; description++) {
        for (int i = 0; i < GOLDEN_COUNT; i++) {
            const struct golden *g = &golden[i];
            uint64_t space[16];
            memset(space, 0xa5, sizeof(space));
            opal_buffer_t *buffer =
                golden_hex_buffer((opal_dss_buffer_type_t) description, hex_of(g, description));
            int32_t count = g->count + 1; /* more space than values */
            ck_assert_int_eq(opal_dss.unpack(buffer, space, &count, g->type), OPAL_SUCCESS);
            ck_assert_int_eq(count, g->count);
            for (int32_t k = 0; k < count; k++) {
                check_value(g, (char *) space, k);
            }
            golden_free(g->type, space, count);
            count = 1;
            ck_assert_int_eq(opal_dss.unpack(buffer, space, &count, g->type),
                             OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
            ck_assert_int_eq(count, 0);
            OBJ_RELEASE(buffer);
        }
    }
}
END_TEST

START_TEST(packs_no_values)
{
    for (int description = 0; description <= 1; description++) {
        opal_buffer_t *buffer = new_buffer(description);
        for (int i = 0; i < GOLDEN_COUNT; i++) {
            ck_assert_int_eq(opal_dss.pack(buffer, NULL, 0, golden[i].type), OPAL_SUCCESS);
        }
        for (int i = 0; i < GOLDEN_COUNT; i++) {
            uint64_t space = 0xa5a5a5a5a5a5a5a5;
            int32_t count = 1;
            ck_assert_int_eq(opal_dss.unpack(buffer, &space, &count, golden[i].type), OPAL_SUCCESS);
            ck_assert_int_eq(count, 0);
            ck_assert_uint_eq(space, 0xa5a5a5a5a5a5a5a5);
        }
        OBJ_RELEASE(buffer);
    }
}
END_TEST

START_TEST(loop_until_end)
{
    opal_buffer_t *buffer = new_buffer(0);
    for (int32_t i = 0; i < 1000; i++) {
        ck_assert_int_eq(opal_dss.pack(buffer, &i, 1, OPAL_INT32), OPAL_SUCCESS);
    }
    int rc, sum = 0, rounds = 0;
    int32_t value, count = 1;
    while ((rc = opal_dss.unpack(buffer, &value, &count, OPAL_INT32)) == OPAL_SUCCESS) {
        ck_assert_int_eq(value, rounds++);
        sum += value;
        count = 1;
    }
    ck_assert_int_eq(rc, OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
    ck_assert_int_eq(rounds, 1000);
    ck_assert_int_eq(sum, 499500);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(too_little_space)
{
    for (int description = 0; description <= 1; description++) {
        for (int i = 0; i < GOLDEN_COUNT; i++) {
            const struct golden *g = &golden[i];
            if (g->count < 2) {
                continue;
            }
            uint64_t space[16] = {0};
            opal_buffer_t *buffer =
                golden_hex_buffer((opal_dss_buffer_type_t) description, hex_of(g, description));
            int32_t count = 0;
            ck_assert_int_eq(opal_dss.unpack(buffer, space, &count, g->type),
                             OPAL_ERR_UNPACK_INADEQUATE_SPACE);
            ck_assert_ptr_eq(buffer->unpack_ptr, buffer->base_ptr);
            count = g->count - 1;
            ck_assert_int_eq(opal_dss.unpack(buffer, space, &count, g->type),
                             OPAL_ERR_UNPACK_INADEQUATE_SPACE);
            ck_assert_int_eq(count, g->count - 1);
            for (int32_t k = 0; k < count; k++) {
                check_value(g, (char *) space, k);
            }
            golden_free(g->type, space, count);
            count = 1;
            ck_assert_int_eq(opal_dss.unpack(buffer, space, &count, g->type),
                             OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
            OBJ_RELEASE(buffer);
        }
    }
}
END_TEST

START_TEST(wrong_type_can_be_retried)
{
    opal_buffer_t *buffer = new_buffer(1);
    int32_t packed = 77, read = 0, count = 1;
    ck_assert_int_eq(opal_dss.pack(buffer, &packed, 1, OPAL_INT32), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss.unpack(buffer, &read, &count, OPAL_UINT32), OPAL_ERR_PACK_MISMATCH);
    ck_assert_int_eq(count, 0);
    count = 1;
    ck_assert_int_eq(opal_dss.unpack(buffer, &read, &count, OPAL_INT32), OPAL_SUCCESS);
    ck_assert_int_eq(read, 77);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(pack_refuses)
{
    opal_buffer_t *buffer = new_buffer(0);
    int value = 1;
    ck_assert_int_eq(opal_dss.pack(NULL, &value, 1, OPAL_INT), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.pack(buffer, NULL, 1, OPAL_INT), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.pack(buffer, &value, -1, OPAL_INT), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.pack(buffer, &value, 1, OPAL_UNDEF), OPAL_ERR_PACK_FAILURE);
    ck_assert_int_eq(opal_dss.pack(buffer, &value, 1, 200), OPAL_ERR_PACK_FAILURE);
    opal_byte_object_t bad[] = {{.size = -1}, {.size = 4, .bytes = NULL}};
    opal_byte_object_t *objects[] = {&golden_object, &bad[0]};
    ck_assert_int_eq(opal_dss.pack(buffer, objects, 2, OPAL_BYTE_OBJECT), OPAL_ERR_BAD_PARAM);
    objects[1] = &bad[1];
    ck_assert_int_eq(opal_dss.pack(buffer, objects, 2, OPAL_BYTE_OBJECT), OPAL_ERR_BAD_PARAM);
    objects[1] = NULL;
    ck_assert_int_eq(opal_dss.pack(buffer, objects, 2, OPAL_BYTE_OBJECT), OPAL_ERR_BAD_PARAM);
    opal_dss_value_t odd = {.type = 200, .data = &value}, *values[] = {&odd};
    ck_assert_int_eq(opal_dss.pack(buffer, values, 1, OPAL_DATA_VALUE), OPAL_ERR_PACK_FAILURE);
    odd = (opal_dss_value_t){.type = OPAL_INT32, .data = NULL};
    ck_assert_int_eq(opal_dss.pack(buffer, values, 1, OPAL_DATA_VALUE), OPAL_ERR_BAD_PARAM);
    ck_assert_uint_eq(buffer->bytes_used, 0); /* nothing of what failed stays */
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(unpack_refuses)
{
    opal_buffer_t *buffer = golden_hex_buffer(0, "00000001 09 00000005");
    int value;
    int32_t count = 1;
    ck_assert_int_eq(opal_dss.unpack(NULL, &value, &count, OPAL_INT), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.unpack(buffer, NULL, &count, OPAL_INT), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.unpack(buffer, &value, NULL, OPAL_INT), OPAL_ERR_BAD_PARAM);
    count = -1;
    ck_assert_int_eq(opal_dss.unpack(buffer, &value, &count, OPAL_INT), OPAL_ERR_BAD_PARAM);
    count = 1;
    ck_assert_int_eq(opal_dss.unpack(buffer, &value, &count, 200), OPAL_ERR_UNPACK_FAILURE);
    count = 1;
    ck_assert_int_eq(opal_dss.unpack(buffer, &value, &count, OPAL_INT), OPAL_SUCCESS);
    ck_assert_int_eq(value, 5);
    OBJ_RELEASE(buffer);
}
END_TEST

static int unpack_int_from(const char *hex, void *to, opal_data_type_t type)
{
    opal_buffer_t *buffer = golden_hex_buffer(0, hex);
    int32_t count = 1;
    int rc = opal_dss.unpack(buffer, to, &count, type);
    OBJ_RELEASE(buffer);
    return rc;
}

START_TEST(other_widths)
{
    int i;
    ck_assert_int_eq(unpack_int_from("00000001 07 ff", &i, OPAL_INT), OPAL_SUCCESS);
    ck_assert_int_eq(i, -1);
    ck_assert_int_eq(unpack_int_from("00000001 0d ffff", &i, OPAL_INT), OPAL_SUCCESS);
    ck_assert_int_eq(i, 65535);
    ck_assert_int_eq(unpack_int_from("00000001 0a ffffffff80000000", &i, OPAL_INT), OPAL_SUCCESS);
    ck_assert_int_eq(i, INT32_MIN);
    ck_assert_int_eq(unpack_int_from("00000001 0a ffffffff7fffffff", &i, OPAL_INT),
                     OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_int_eq(unpack_int_from("00000001 0f 0000000080000000", &i, OPAL_INT),
                     OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    size_t size;
    ck_assert_int_eq(unpack_int_from("00000001 0e fffffffe", &size, OPAL_SIZE), OPAL_SUCCESS);
    ck_assert_uint_eq(size, 0xfffffffe);
    ck_assert_int_eq(unpack_int_from("00000001 09 fffffffe", &size, OPAL_SIZE),
                     OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    unsigned u;
    ck_assert_int_eq(unpack_int_from("00000001 0e 89abcdef", &u, OPAL_UINT), OPAL_SUCCESS);
    ck_assert_uint_eq(u, 0x89abcdef);
    uint8_t b = 0xa5; /* a bool is 0 or 1, whatever arrives */
    ck_assert_int_eq(unpack_int_from("00000001 0c 80", &b, OPAL_BOOL), OPAL_SUCCESS);
    ck_assert_int_eq(b, 1);
    ck_assert_int_eq(unpack_int_from("00000001 0e 00000100", &b, OPAL_BOOL), OPAL_SUCCESS);
    ck_assert_int_eq(b, 1);
    ck_assert_int_eq(unpack_int_from("00000001 0e 00000000", &b, OPAL_BOOL), OPAL_SUCCESS);
    ck_assert_int_eq(b, 0);
    ck_assert_int_eq(unpack_int_from("00000001 03 00000000", &i, OPAL_INT), OPAL_ERR_PACK_MISMATCH);
}
END_TEST

START_TEST(peek_described)
{
    opal_buffer_t *buffer = new_buffer(1);
    opal_data_type_t type;
    int32_t count = 9;
    ck_assert_int_eq(opal_dss.peek(buffer, &type, &count), OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
    ck_assert_int_eq(type, OPAL_UNDEF);
    ck_assert_int_eq(count, 0);
    ck_assert_int_eq(opal_dss.pack(buffer, &golden_name, 1, ORTE_NAME), OPAL_SUCCESS);
    for (int i = 0; i < 2; i++) { /* a peek moves nothing */
        ck_assert_int_eq(opal_dss.peek(buffer, &type, &count), OPAL_SUCCESS);
        ck_assert_int_eq(type, ORTE_NAME);
        ck_assert_int_eq(count, 1);
    }
    orte_process_name_t name;
    ck_assert_int_eq(opal_dss.unpack(buffer, &name, &count, type), OPAL_SUCCESS);
    ck_assert_uint_eq(name.vpid, 3);
    ck_assert_int_eq(opal_dss.peek(NULL, &type, &count), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.peek(buffer, NULL, &count), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.peek(buffer, &type, NULL), OPAL_ERR_BAD_PARAM);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(peek_plain)
{
    opal_buffer_t *buffer = golden_hex_buffer(0, "00000001 00000007");
    opal_data_type_t type = 5;
    int32_t count = 9;
    ck_assert_int_eq(opal_dss.peek(buffer, &type, &count), OPAL_ERR_UNKNOWN_DATA_TYPE);
    ck_assert_int_eq(type, OPAL_UNDEF);
    ck_assert_int_eq(count, 0);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(buffer_type_is_fixed_by_content)
{
    opal_buffer_t *buffer = new_buffer(0);
    ck_assert_int_eq(opal_dss.set_buffer_type(buffer, 2), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.set_buffer_type(NULL, 0), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.pack(buffer, &golden_seven, 1, OPAL_INT32), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss.set_buffer_type(buffer, 1), OPAL_ERR_BUFFER);
    ck_assert_int_eq(buffer->type, OPAL_DSS_BUFFER_NON_DESC);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(unload_and_load)
{
    opal_buffer_t *buffer = new_buffer(0);
    void *payload = buffer;
    int32_t size = 1, count = 1, value = 0;
    ck_assert_int_eq(opal_dss.unload(buffer, &payload, &size), OPAL_SUCCESS);
    ck_assert_ptr_null(payload);
    ck_assert_int_eq(size, 0);
    ck_assert_int_eq(opal_dss.pack(buffer, &golden_seven, 1, OPAL_INT32), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss.unpack(buffer, &value, &count, OPAL_INT32), OPAL_SUCCESS);
    /* the whole payload, what is unpacked included */
    ck_assert_int_eq(opal_dss.unload(buffer, &payload, &size), OPAL_SUCCESS);
    ck_assert_int_eq(size, 8);
    ck_assert_ptr_null(buffer->base_ptr);
    ck_assert_uint_eq(buffer->bytes_used, 0);

    ck_assert_int_eq(opal_dss.load(buffer, payload, -1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.load(buffer, NULL, 4), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.load(NULL, payload, size), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.load(buffer, payload, size), OPAL_SUCCESS);
    ck_assert_ptr_eq(buffer->base_ptr, payload);
    ck_assert_int_eq(opal_dss.pack(buffer, &(int32_t){8}, 1, OPAL_INT32), OPAL_SUCCESS);
    for (int32_t expected = 7; expected <= 8; expected++) {
        count = 1;
        ck_assert_int_eq(opal_dss.unpack(buffer, &value, &count, OPAL_INT32), OPAL_SUCCESS);
        ck_assert_int_eq(value, expected);
    }
    ck_assert_int_eq(opal_dss.load(buffer, NULL, 0), OPAL_SUCCESS); /* empties */
    ck_assert_uint_eq(buffer->bytes_used, 0);
    ck_assert_int_eq(opal_dss.unload(NULL, &payload, &size), OPAL_ERR_BAD_PARAM);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(copy_payload_copies_the_rest)
{
    opal_buffer_t *src = new_buffer(1), *dest = new_buffer(0), *other = new_buffer(0);
    int32_t value, count = 1;
    for (int32_t i = 1; i <= 3; i++) {
        ck_assert_int_eq(opal_dss.pack(src, &i, 1, OPAL_INT32), OPAL_SUCCESS);
    }
    ck_assert_int_eq(opal_dss.unpack(src, &value, &count, OPAL_INT32), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss.copy_payload(dest, src), OPAL_SUCCESS);
    ck_assert_int_eq(dest->type, OPAL_DSS_BUFFER_FULLY_DESC);
    for (int32_t i = 2; i <= 3; i++) {
        ck_assert_int_eq(opal_dss.unpack(dest, &value, &count, OPAL_INT32), OPAL_SUCCESS);
        ck_assert_int_eq(value, i);
    }
    ck_assert_int_eq(opal_dss.pack(other, &value, 1, OPAL_INT32), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss.copy_payload(other, src), OPAL_ERR_BUFFER);
    ck_assert_int_eq(opal_dss.copy_payload(NULL, src), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.copy_payload(dest, NULL), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.copy_payload(src, src), OPAL_SUCCESS); /* 2 3 2 3 */
    for (int i = 0; i < 4; i++) {
        count = 1;
        ck_assert_int_eq(opal_dss.unpack(src, &value, &count, OPAL_INT32), OPAL_SUCCESS);
        ck_assert_int_eq(value, 2 + i % 2);
    }
    OBJ_RELEASE(src);
    OBJ_RELEASE(dest);
    OBJ_RELEASE(other);
}
END_TEST

START_TEST(copies_and_sizes)
{
    for (int i = 0; i < GOLDEN_COUNT; i++) {
        const struct golden *g = &golden[i];
        void *value = (void *) g->values, *made = NULL;
        if (golden_is_pointer(g->type)) {
            value = *(void *const *) g->values;
        }
        size_t size = 0;
        ck_assert_int_eq(opal_dss.size(&size, value, g->type), OPAL_SUCCESS);
        ck_assert_uint_ge(size, 1);
        if (!golden_is_pointer(g->type)) {
            ck_assert_uint_eq(size, g->stride);
        }
        ck_assert_int_eq(opal_dss.copy(&made, value, g->type), OPAL_SUCCESS);
        ck_assert_ptr_ne(made, value);
        if (value) {
            ck_assert_int_eq(opal_dss.compare(made, value, g->type), OPAL_EQUAL);
        }
        opal_dss_value_t holder = {.type = g->type, .data = made};
        opal_dss.release(&holder);
        ck_assert_ptr_null(holder.data);
    }
    void *made;
    size_t size;
    ck_assert_int_eq(opal_dss.size(&size, golden_hi, OPAL_STRING), OPAL_SUCCESS);
    ck_assert_uint_eq(size, 3);
    ck_assert_int_eq(opal_dss.copy(NULL, golden_hi, OPAL_STRING), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.copy(&made, NULL, OPAL_INT32), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.copy(&made, golden_hi, 200), OPAL_ERR_UNKNOWN_DATA_TYPE);
    ck_assert_int_eq(opal_dss.size(NULL, NULL, OPAL_INT32), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.size(&size, NULL, 200), OPAL_ERR_UNKNOWN_DATA_TYPE);
}
END_TEST

START_TEST(compares)
{
    int8_t low = -1, high = 1;
    ck_assert_int_eq(opal_dss.compare(&low, &high, OPAL_INT8), OPAL_VALUE2_GREATER);
    ck_assert_int_eq(opal_dss.compare(&low, &high, OPAL_UINT8), OPAL_VALUE1_GREATER);
    ck_assert_int_eq(opal_dss.compare("b", "a", OPAL_STRING), OPAL_VALUE2_GREATER);
    ck_assert_int_eq(opal_dss.compare("a", "ab", OPAL_STRING), OPAL_VALUE1_GREATER);
    ck_assert_int_eq(opal_dss.compare("a", "a", OPAL_STRING), OPAL_EQUAL);
    ck_assert_int_eq(opal_dss.compare(&golden_no_bytes, &golden_object, OPAL_BYTE_OBJECT),
                     OPAL_VALUE2_GREATER);
    ck_assert_int_eq(opal_dss.compare(&golden_values[0], &golden_values[1], OPAL_DATA_VALUE),
                     OPAL_ERR_TYPE_MISMATCH);
    ck_assert_int_eq(opal_dss.compare(NULL, &high, OPAL_INT8), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.compare(&low, &high, 200), OPAL_ERR_UNKNOWN_DATA_TYPE);

    orte_process_name_t any_of_job = {0x00010002, ORTE_VPID_WILDCARD}, other = {0x00010003, 3};
    ck_assert_int_eq(opal_dss.compare(&golden_name, &any_of_job, ORTE_NAME), OPAL_EQUAL);
    ck_assert_int_eq(opal_dss.compare(ORTE_NAME_WILDCARD, &other, ORTE_NAME), OPAL_EQUAL);
    ck_assert_int_eq(opal_dss.compare(&any_of_job, &other, ORTE_NAME), OPAL_VALUE2_GREATER);
    ck_assert_int_eq(opal_dss.compare(&other, &golden_name, ORTE_NAME), OPAL_VALUE1_GREATER);
    orte_vpid_t any = ORTE_VPID_WILDCARD, five = 5;
    ck_assert_int_eq(opal_dss.compare(&any, &five, ORTE_VPID), OPAL_EQUAL);
    ck_assert_int_eq(opal_dss.compare(&five, &any, ORTE_JOBID), OPAL_EQUAL);
    ck_assert_int_eq(opal_dss.compare(&any, &five, OPAL_UINT32), OPAL_VALUE1_GREATER);
}
END_TEST

START_TEST(set_and_get)
{
    opal_dss_value_t *value = OBJ_NEW(opal_dss_value_t);
    void *data = value;
    int32_t *number = malloc(sizeof(*number));
    *number = 5;
    ck_assert_int_eq(opal_dss.set(value, NULL, OPAL_INT32), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.set(NULL, number, OPAL_INT32), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.set(value, number, 200), OPAL_ERR_UNKNOWN_DATA_TYPE);
    ck_assert_int_eq(opal_dss.set(value, number, OPAL_INT32), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss.set(value, number, OPAL_INT32), OPAL_ERR_DATA_OVERWRITE_ATTEMPT);
    ck_assert_int_eq(opal_dss.get(&data, value, OPAL_UINT32), OPAL_ERR_TYPE_MISMATCH);
    ck_assert_int_eq(opal_dss.get(NULL, value, OPAL_INT32), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.get(&data, NULL, OPAL_INT32), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.get(&data, value, OPAL_INT32), OPAL_SUCCESS);
    ck_assert_ptr_eq(data, number);
    opal_dss.release(value);
    ck_assert_int_eq(opal_dss.set(value, strdup("again"), OPAL_STRING), OPAL_SUCCESS);
    OBJ_RELEASE(value); /* frees the string */
    opal_dss.release(NULL);
}
END_TEST

static void check_print(void *src, opal_data_type_t type, const char *expected)
{
    char *line = NULL, prefix[] = "> ";
    ck_assert_int_eq(opal_dss.print(&line, prefix, src, type), OPAL_SUCCESS);
    ck_assert_str_eq(line, expected);
    free(line);
}

START_TEST(prints)
{
    bool yes = true;
    opal_data_type_t type = OPAL_INT32, odd = 200;
    orte_vpid_t any = ORTE_VPID_WILDCARD;
    char text[] = "a\x1b[31mb";
    check_print(&golden_seven, OPAL_INT32, "> OPAL_INT32: 7");
    check_print(&(int64_t){-9}, OPAL_INT64, "> OPAL_INT64: -9");
    check_print(&(uint64_t){UINT64_MAX}, OPAL_UINT64, "> OPAL_UINT64: 18446744073709551615");
    check_print(&yes, OPAL_BOOL, "> OPAL_BOOL: true");
    check_print(&golden_answer, OPAL_BYTE, "> OPAL_BYTE: 0x2a");
    check_print(text, OPAL_STRING, "> OPAL_STRING: \"a\\x1b[31mb\"");
    check_print(NULL, OPAL_STRING, "> OPAL_STRING: (null)");
    check_print(&golden_object, OPAL_BYTE_OBJECT, "> OPAL_BYTE_OBJECT: 3 bytes 010203");
    check_print(&type, OPAL_DATA_TYPE, "> OPAL_DATA_TYPE: 9 (OPAL_INT32)");
    check_print(&odd, OPAL_DATA_TYPE, "> OPAL_DATA_TYPE: 200 (unknown)");
    check_print(NULL, OPAL_NULL, "> OPAL_NULL: (null)");
    check_print(&golden_values[3], OPAL_DATA_VALUE,
                "> OPAL_DATA_VALUE: OPAL_DATA_VALUE: OPAL_UINT8: 42");
    check_print(&golden_values[4], OPAL_DATA_VALUE, "> OPAL_DATA_VALUE: (empty)");
    check_print(&golden_name, ORTE_NAME, "> ORTE_NAME: [[1,2],3]");
    check_print(&any, ORTE_VPID, "> ORTE_VPID: WILDCARD");
    char *line;
    ck_assert_int_eq(opal_dss.print(NULL, NULL, &yes, OPAL_BOOL), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.print(&line, NULL, &yes, 200), OPAL_ERR_UNKNOWN_DATA_TYPE);
}
END_TEST

START_TEST(dumps)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(opal_dss.dump(ends[1], &golden_seven, OPAL_INT32), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss.dump(-1, &golden_seven, OPAL_INT32), OPAL_SUCCESS);
    char text[4096];
    ssize_t got = read(ends[0], text, sizeof(text) - 1);
    ck_assert_int_gt(got, 0);
    text[got] = '\0';
    ck_assert_str_eq(text, "OPAL_INT32: 7\n");
    opal_dss.dump_data_types(ends[1]);
    close(ends[1]);
    FILE *stream = fdopen(ends[0], "r");
    int lines = 0;
    while (fgets(text, sizeof(text), stream)) {
        lines++;
    }
    ck_assert_int_eq(lines, GOLDEN_COUNT);
    fclose(stream);
    ck_assert_int_eq(opal_dss.dump(1, &golden_seven, 200), OPAL_ERR_UNKNOWN_DATA_TYPE);
}
END_TEST

START_TEST(every_type_has_a_name)
{
    for (int i = 0; i < GOLDEN_COUNT; i++) {
        char *name = opal_dss.lookup_data_type(golden[i].type);
        ck_assert_ptr_nonnull(name);
        free(name);
    }
    char *name = opal_dss.lookup_data_type(ORTE_NAME);
    ck_assert_str_eq(name, "ORTE_NAME");
    free(name);
    ck_assert_ptr_null(opal_dss.lookup_data_type(OPAL_UNDEF));
    ck_assert_ptr_null(opal_dss.lookup_data_type(200));
}
END_TEST

/* A type of an application: two numbers, packed by the table's own functions. */
struct point {
    int32_t x, y;
};

static int point_pack(opal_buffer_t *buffer, const void *src, int32_t count, opal_data_type_t type)
{
    (void) type;
    return opal_dss.pack(buffer, src, 2 * count, OPAL_INT32);
}

static int point_unpack(opal_buffer_t *buffer, void *dest, int32_t *count, opal_data_type_t type)
{
    (void) type;
    int32_t numbers = 2 * *count;
    return opal_dss.unpack(buffer, dest, &numbers, OPAL_INT32);
}

static int point_copy(void **dest, void *src, opal_data_type_t type)
{
    (void) type;
    *dest = malloc(sizeof(struct point));
    memcpy(*dest, src, sizeof(struct point));
    return OPAL_SUCCESS;
}

static int point_compare(const void *a, const void *b, opal_data_type_t type)
{
    (void) type;
    return memcmp(a, b, sizeof(struct point)) == 0 ? OPAL_EQUAL : OPAL_VALUE1_GREATER;
}

static int point_size(size_t *size, void *src, opal_data_type_t type)
{
    (void) src;
    (void) type;
    *size = sizeof(struct point);
    return OPAL_SUCCESS;
}

static int point_print(char **output, char *prefix, void *src, opal_data_type_t type)
{
    (void) prefix;
    (void) src;
    (void) type;
    *output = strdup("point");
    return OPAL_SUCCESS;
}

static void point_release(opal_dss_value_t *value)
{
    free(value->data);
}

static int register_point(const char *name, opal_data_type_t *type)
{
    return opal_dss.register_type(point_pack, point_unpack, point_copy, point_compare, point_size,
                                  point_print, point_release, false, name, type);
}

START_TEST(registers_types)
{
    opal_data_type_t type = OPAL_UNDEF, again = OPAL_UNDEF, fixed = 60, taken = OPAL_INT32,
                     low = 25;
    ck_assert_int_eq(opal_dss_open(), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss_open(), OPAL_SUCCESS);
    ck_assert_int_eq(register_point("POINT", &type), OPAL_SUCCESS);
    ck_assert_int_ge(type, OPAL_DSS_ID_DYNAMIC);
    ck_assert_int_eq(register_point("POINT", &again), OPAL_ERR_DATA_TYPE_REDEF);
    ck_assert_int_eq(register_point("OPAL_INT32", &again), OPAL_ERR_DATA_TYPE_REDEF);
    ck_assert_int_eq(register_point("OTHER", &taken), OPAL_ERR_DATA_TYPE_REDEF);
    ck_assert_int_eq(register_point("OTHER", &low), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(register_point("OTHER", &fixed), OPAL_SUCCESS);
    ck_assert_int_eq(fixed, 60);
    ck_assert_int_eq(register_point(NULL, &again), OPAL_ERR_BAD_PARAM);

    for (int description = 0; description <= 1; description++) {
        opal_buffer_t *buffer = new_buffer(description);
        struct point points[2] = {{1, 2}, {3, 4}}, read[2];
        opal_dss_value_t value = {.type = type, .data = points}, *values[] = {&value}, *got;
        int32_t count = 2;
        ck_assert_int_eq(opal_dss.pack(buffer, points, 2, type), OPAL_SUCCESS);
        ck_assert_int_eq(opal_dss.pack(buffer, values, 1, OPAL_DATA_VALUE), OPAL_SUCCESS);
        ck_assert_int_eq(opal_dss.unpack(buffer, read, &count, type), OPAL_SUCCESS);
        ck_assert_int_eq(count, 2);
        ck_assert_int_eq(memcmp(points, read, sizeof(points)), 0);
        count = 1;
        ck_assert_int_eq(opal_dss.unpack(buffer, &got, &count, OPAL_DATA_VALUE), OPAL_SUCCESS);
        ck_assert_int_eq(opal_dss.compare(got, &value, OPAL_DATA_VALUE), OPAL_EQUAL);
        OBJ_RELEASE(got);
        OBJ_RELEASE(buffer);
    }
    ck_assert_int_eq(opal_dss_close(), OPAL_SUCCESS);
    char *name = opal_dss.lookup_data_type(type);
    ck_assert_str_eq(name, "POINT");
    free(name);
    ck_assert_int_eq(opal_dss_close(), OPAL_SUCCESS);
    ck_assert_ptr_null(opal_dss.lookup_data_type(type));
    ck_assert_int_eq(opal_dss_close(), OPAL_ERROR);
}
END_TEST

START_TEST(table_of_types_is_bounded)
{
    opal_data_type_t type = OPAL_UNDEF;
    char name[16];
    int made = 0, rc;
    ck_assert_int_eq(opal_dss_open(), OPAL_SUCCESS);
    do {
        type = OPAL_UNDEF;
        snprintf(name, sizeof(name), "TYPE_%d", made);
        rc = register_point(name, &type);
    } while (rc == OPAL_SUCCESS && ++made < 300);
    ck_assert_int_eq(rc, OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(made, 255 - ORTE_DAEMON_CMD);
    ck_assert_int_eq(opal_dss_close(), OPAL_SUCCESS);
}
END_TEST

static void *open_and_close(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        if (opal_dss_open() != OPAL_SUCCESS || opal_dss_close() != OPAL_SUCCESS) {
            return arg;
        }
    }
    return NULL;
}

START_TEST(opens_from_many_threads)
{
    pthread_t threads[4];
    opal_data_type_t type = OPAL_UNDEF;
    ck_assert_int_eq(opal_dss_open(), OPAL_SUCCESS);
    ck_assert_int_eq(register_point("POINT", &type), OPAL_SUCCESS);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, open_and_close, &type), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    char *name = opal_dss.lookup_data_type(type); /* our open kept it */
    ck_assert_ptr_nonnull(name);
    free(name);
    ck_assert_int_eq(opal_dss_close(), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss_close(), OPAL_ERROR);
}
END_TEST

START_TEST(grows)
{
    enum { SIZE = 5 << 20 };
    uint8_t *bytes = malloc(SIZE), *read = malloc(SIZE);
    opal_buffer_t *buffer = new_buffer(0);
    int32_t number = 1, count = 1;
    for (size_t i = 0; i < SIZE; i++) {
        bytes[i] = (uint8_t) (i * 7 + i / 256);
    }
    ck_assert_int_eq(opal_dss.pack(buffer, &number, 1, OPAL_INT32), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss.unpack(buffer, &number, &count, OPAL_INT32), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss.pack(buffer, bytes, SIZE, OPAL_BYTE), OPAL_SUCCESS);
    count = SIZE;
    ck_assert_int_eq(opal_dss.unpack(buffer, read, &count, OPAL_BYTE), OPAL_SUCCESS);
    ck_assert_int_eq(memcmp(bytes, read, SIZE), 0);
    free(bytes);
    free(read);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(stays_below_int32_max)
{
    char byte = 0;
    opal_buffer_t *buffer = new_buffer(0), *dest = new_buffer(0);
    /* Only the sizes are looked at: there is no memory behind such a buffer. */
    buffer->base_ptr = buffer->unpack_ptr = buffer->pack_ptr = malloc(1);
    buffer->bytes_used = buffer->bytes_allocated = INT32_MAX;
    ck_assert_int_eq(opal_dss.pack(buffer, &byte, 1, OPAL_BYTE), OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_uint_eq(buffer->bytes_used, INT32_MAX);
    ck_assert_int_eq(opal_dss.pack(dest, &byte, 1, OPAL_BYTE), OPAL_SUCCESS);
    ck_assert_int_eq(opal_dss.copy_payload(dest, buffer), OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_uint_eq(dest->bytes_used, 5);
    uint64_t number = 0;
    ck_assert_int_eq(opal_dss.pack(dest, &number, INT32_MAX, OPAL_UINT64),
                     OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_uint_eq(dest->bytes_used, 5);
    OBJ_RELEASE(dest);
    OBJ_RELEASE(buffer);
}
END_TEST

UNIT_MAIN("dss")
