/* opal_dss against bytes from elsewhere: cut short, lying about counts and lengths, nested. */
#include <tests/lib/unit.h>
#include <tests/unit/base/types/dss_golden.h>

static const int descriptions[] = {OPAL_DSS_BUFFER_NON_DESC, OPAL_DSS_BUFFER_FULLY_DESC};

static const char *hex_of(const struct golden *g, int description)
{
    return description == OPAL_DSS_BUFFER_FULLY_DESC ? g->described : g->plain;
}

/* Unpacks up to 16 values; frees what came. An assertion of Check that holds costs a system call:
 * the many cases here assert only what fails. */
static int try_unpack(opal_buffer_t *buffer, opal_data_type_t type)
{
    uint64_t space[16];
    memset(space, 0xa5, sizeof(space));
    int32_t count = 16;
    char *position = buffer->unpack_ptr;
    int rc = opal_dss.unpack(buffer, space, &count, type);
    if (rc == OPAL_SUCCESS || rc == OPAL_ERR_UNPACK_INADEQUATE_SPACE) {
        golden_free(type, space, count);
    } else if (count != 0 || buffer->unpack_ptr != position) {
        ck_abort_msg("type %d: a failed unpack (%d) left a trace", type, rc);
    }
    return rc;
}

static int try_bytes(int description, const void *bytes, size_t size, opal_data_type_t type)
{
    opal_buffer_t *buffer = golden_buffer((opal_dss_buffer_type_t) description, bytes, size);
    int rc = try_unpack(buffer, type);
    OBJ_RELEASE(buffer);
    return rc;
}

static int try_hex(int description, const char *hex, opal_data_type_t type)
{
    size_t size;
    uint8_t *bytes = golden_bytes(hex, &size);
    int rc = try_bytes(description, bytes, size, type);
    free(bytes);
    return rc;
}

START_TEST(every_truncation)
{
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < GOLDEN_COUNT; i++) {
            size_t size;
            uint8_t *bytes = golden_bytes(hex_of(&golden[i], descriptions[d]), &size);
            for (size_t cut = 0; cut < size; cut++) {
                int rc = try_bytes(descriptions[d], bytes, cut, golden[i].type);
                if (rc != OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER) {
                    ck_abort_msg("type %d cut to %zu of %zu bytes: %d", golden[i].type, cut, size,
                                 rc);
                }
            }
            ck_assert_int_eq(try_bytes(descriptions[d], bytes, size, golden[i].type), OPAL_SUCCESS);
            free(bytes);
        }
    }
}
END_TEST

/* Every byte of every golden item set to values that numbers, types and lengths dread. */
START_TEST(every_byte_changed)
{
    static const uint8_t values[] = {0x00, 0x01, 0x04, 0x07, 0x12, 0x13, 0x7f, 0x80, 0xfe, 0xff};
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < GOLDEN_COUNT; i++) {
            size_t size;
            uint8_t *bytes = golden_bytes(hex_of(&golden[i], descriptions[d]), &size);
            for (size_t at = 0; at < size; at++) {
                uint8_t kept = bytes[at];
                for (size_t v = 0; v < sizeof(values); v++) {
                    bytes[at] = values[v];
                    try_bytes(descriptions[d], bytes, size, golden[i].type);
                }
                bytes[at] = kept;
            }
            free(bytes);
        }
    }
}
END_TEST

/* Every golden item read as every type. */
START_TEST(every_type_confused)
{
    for (int d = 0; d < 2; d++) {
        for (int i = 0; i < GOLDEN_COUNT; i++) {
            for (int k = 0; k < GOLDEN_COUNT; k++) {
                int rc =
                    try_hex(descriptions[d], hex_of(&golden[i], descriptions[d]), golden[k].type);
                if (descriptions[d] == OPAL_DSS_BUFFER_FULLY_DESC) {
                    ck_assert_int_eq(rc, i == k ? OPAL_SUCCESS : OPAL_ERR_PACK_MISMATCH);
                }
            }
        }
    }
}
END_TEST

START_TEST(lying_counts)
{
    for (int i = 0; i < GOLDEN_COUNT; i++) {
        opal_data_type_t type = golden[i].type;
        ck_assert_int_eq(try_hex(0, "7fffffff 0000000000", type),
                         OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
        ck_assert_int_eq(try_hex(0, "ffffffff 0000000000", type), OPAL_ERR_UNPACK_FAILURE);
        ck_assert_int_eq(try_hex(0, "80000000", type), OPAL_ERR_UNPACK_FAILURE);
    }
    /* the count fits the space, but not the bytes that are left */
    ck_assert_int_eq(try_hex(0, "00000002 0000000000000001 00000000000000", OPAL_INT64),
                     OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
    ck_assert_int_eq(try_hex(0, "00000008 0f 0000000000000001", OPAL_SIZE),
                     OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
    /* a described count of another type */
    ck_assert_int_eq(try_hex(1, "0e 00000001 0e 00000001", OPAL_UINT32), OPAL_ERR_UNPACK_FAILURE);
}
END_TEST

START_TEST(lying_strings)
{
    ck_assert_int_eq(try_hex(0, "00000001 ffffffff 6100", OPAL_STRING), OPAL_ERR_UNPACK_FAILURE);
    ck_assert_int_eq(try_hex(0, "00000001 7fffffff 6100", OPAL_STRING),
                     OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
    /* no NUL at the end, a NUL before the end */
    ck_assert_int_eq(try_hex(0, "00000001 00000002 6162", OPAL_STRING), OPAL_ERR_UNPACK_FAILURE);
    ck_assert_int_eq(try_hex(0, "00000001 00000003 610000", OPAL_STRING), OPAL_ERR_UNPACK_FAILURE);
    /* the second of two */
    ck_assert_int_eq(try_hex(0, "00000002 00000002 6100 00000002 6162", OPAL_STRING),
                     OPAL_ERR_UNPACK_FAILURE);
    /* more than there is space for: only those that are wanted are read */
    ck_assert_int_eq(try_hex(0, "00000001 00000002 6100", OPAL_STRING), OPAL_SUCCESS);
}
END_TEST

START_TEST(lying_byte_objects)
{
    ck_assert_int_eq(try_hex(0, "00000001 ffffffff 6100", OPAL_BYTE_OBJECT),
                     OPAL_ERR_UNPACK_FAILURE);
    ck_assert_int_eq(try_hex(0, "00000001 00000003 6100", OPAL_BYTE_OBJECT),
                     OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER);
    ck_assert_int_eq(try_hex(0, "00000002 00000001 61 80000000", OPAL_BYTE_OBJECT),
                     OPAL_ERR_UNPACK_FAILURE);
}
END_TEST

START_TEST(lying_values)
{
    ck_assert_int_eq(try_hex(0, "00000001 c8 00", OPAL_DATA_VALUE), OPAL_ERR_UNPACK_FAILURE);
    /* the second value's type is unknown: the first is freed */
    ck_assert_int_eq(try_hex(0, "00000002 03 00000002 6100 c8", OPAL_DATA_VALUE),
                     OPAL_ERR_UNPACK_FAILURE);
    ck_assert_int_eq(try_hex(0, "00000001 03 00000002 6161", OPAL_DATA_VALUE),
                     OPAL_ERR_UNPACK_FAILURE);
}
END_TEST

static int unpack_nested(size_t depth)
{
    uint8_t *bytes = malloc(4 + depth + 1);
    memcpy(bytes, "\0\0\0\1", 4);
    memset(bytes + 4, OPAL_DATA_VALUE, depth);
    bytes[4 + depth] = OPAL_UNDEF;
    int rc = try_bytes(0, bytes, 4 + depth + 1, OPAL_DATA_VALUE);
    free(bytes);
    return rc;
}

START_TEST(nesting_is_bounded)
{
    ck_assert_int_eq(unpack_nested(0), OPAL_SUCCESS);
    ck_assert_int_eq(unpack_nested(16), OPAL_SUCCESS);
    ck_assert_int_eq(unpack_nested(17), OPAL_ERR_UNPACK_FAILURE);
    ck_assert_int_eq(unpack_nested(4000000), OPAL_ERR_UNPACK_FAILURE);
}
END_TEST

START_TEST(cyclic_values_are_refused)
{
    opal_dss_value_t ring = {.type = OPAL_DATA_VALUE}, *values[] = {&ring};
    ring.data = &ring;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    void *copy;
    char *text;
    size_t size;
    ck_assert_int_eq(opal_dss.pack(buffer, values, 1, OPAL_DATA_VALUE), OPAL_ERR_PACK_FAILURE);
    ck_assert_uint_eq(buffer->bytes_used, 0);
    ck_assert_int_eq(opal_dss.copy(&copy, &ring, OPAL_DATA_VALUE), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.size(&size, &ring, OPAL_DATA_VALUE), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.print(&text, NULL, &ring, OPAL_DATA_VALUE), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_dss.compare(&ring, &ring, OPAL_DATA_VALUE), OPAL_ERR_BAD_PARAM);
    OBJ_RELEASE(buffer);
}
END_TEST

START_TEST(peeks_at_anything)
{
    static const char *const heads[] = {"09", "09 000000", "09 00000001", "0e 00000001 09",
                                        "09 ffffffff 09"};
    static const int expected[] = {
        OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER,
        OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER,
        OPAL_ERR_UNPACK_READ_PAST_END_OF_BUFFER,
        OPAL_ERR_UNPACK_FAILURE,
        OPAL_ERR_UNPACK_FAILURE,
    };
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        opal_buffer_t *buffer = golden_hex_buffer(OPAL_DSS_BUFFER_FULLY_DESC, heads[i]);
        opal_data_type_t type = 1;
        int32_t count = 1;
        ck_assert_int_eq(opal_dss.peek(buffer, &type, &count), expected[i]);
        ck_assert_int_eq(type, OPAL_UNDEF);
        ck_assert_int_eq(count, 0);
        ck_assert_ptr_eq(buffer->unpack_ptr, buffer->base_ptr);
        OBJ_RELEASE(buffer);
    }
}
END_TEST

/* Pseudo-random bytes, read as a sequence of items of changing types. */
START_TEST(noise)
{
    uint32_t state = 12345;
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[64];
        for (size_t i = 0; i < sizeof(bytes); i++) {
            state = state * 1664525u + 1013904223u;
            bytes[i] = (uint8_t) (state >> 24);
            if (state & 0x10000) {
                bytes[i] %= 20; /* plausible types and small numbers */
            }
        }
        bytes[0] = round % 2 ? 0 : OPAL_INT32;
        memset(bytes + 1, 0, 3);
        opal_buffer_t *buffer =
            golden_buffer((opal_dss_buffer_type_t) (round % 2 == 0), bytes, state % sizeof(bytes));
        for (int k = 0; k < 4; k++) {
            try_unpack(buffer, golden[(round + k * 5) % GOLDEN_COUNT].type);
        }
        OBJ_RELEASE(buffer);
    }
}
END_TEST

UNIT_MAIN("dss-hostile")
