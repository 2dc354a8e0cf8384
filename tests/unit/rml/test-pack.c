/* Packed control messages: golden bytes, what is not worth it, and what nobody may make of it. */
#include <base/data/le.h>
#include <rml/message/pack.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { SIZE = 100000, MAX = 1 << 20 };

/* 64 times 'k' by another zlib: the stream need not be what ours would write. */
static const uint8_t golden[] = {0x40, 0x00, 0x00, 0x00, 0x78, 0x9c, 0xcb, 0xce,
                                 0xa6, 0x0c, 0x00, 0x00, 0x65, 0xcd, 0x1a, 0xc1};

START_TEST(golden_bytes)
{
    uint8_t *data;
    size_t size;
    ck_assert_int_eq(rml_unpack(golden, sizeof(golden), MAX, &data, &size), ORTE_SUCCESS);
    ck_assert_uint_eq(size, 64);
    for (size_t i = 0; i < size; i++) {
        ck_assert_uint_eq(data[i], 'k');
    }
    free(data);
}
END_TEST

START_TEST(what_was_packed_comes_back)
{
    uint8_t *data = malloc(SIZE), *back;
    size_t packed_size, size;
    for (size_t i = 0; i < SIZE; i++) {
        data[i] = (uint8_t) (i / 100 + (i % 7 == 0 ? i : 0));
    }
    uint8_t *packed = rml_pack(data, SIZE, &packed_size);
    ck_assert_ptr_nonnull(packed);
    ck_assert_uint_le(packed_size, SIZE - SIZE / 8);
    ck_assert_uint_eq(get_le32(packed), SIZE);
    ck_assert_int_eq(rml_unpack(packed, packed_size, SIZE, &back, &size), ORTE_SUCCESS);
    ck_assert(size == SIZE && memcmp(back, data, SIZE) == 0);
    free(back);
    free(packed);
    free(data);
}
END_TEST

START_TEST(noise_is_not_packed)
{
    uint8_t *data = malloc(SIZE);
    uint32_t random = 1;
    size_t size;
    for (size_t i = 0; i < SIZE; i++) {
        random = random * 1664525u + 1013904223u;
        data[i] = (uint8_t) (random >> 24);
    }
    ck_assert_ptr_null(rml_pack(data, SIZE, &size));
    ck_assert_ptr_null(rml_pack(data, 0, &size));
    ck_assert_ptr_null(rml_pack("aaaaa", 5, &size));
    free(data);
}
END_TEST

static void expect_status(const uint8_t *bytes, size_t size, size_t max, int status)
{
    uint8_t *data = NULL;
    size_t unpacked = 77;
    ck_assert_int_eq(rml_unpack(bytes, size, max, &data, &unpacked), status);
    ck_assert(!data && unpacked == 77);
}

static void expect_refused(const uint8_t *bytes, size_t size, size_t max)
{
    expect_status(bytes, size, max, ORTE_ERR_BAD_PARAM);
}

static void expect_too_much(const uint8_t *bytes, size_t size, size_t max)
{
    expect_status(bytes, size, max, ORTE_ERR_VALUE_OUT_OF_BOUNDS);
}

START_TEST(a_wrong_size_is_refused)
{
    uint8_t bytes[sizeof(golden) + 1] = {0};
    static const uint32_t claims[] = {0, 1, 63, 65, 1032 * 13, 0x7fffffff};
    for (size_t i = 0; i < sizeof(claims) / sizeof(*claims); i++) {
        memcpy(bytes, golden, sizeof(golden));
        put_le32(bytes, claims[i]);
        expect_refused(bytes, sizeof(golden), SIZE_MAX);
    }
    put_le32(bytes, 0x80000000);
    expect_too_much(bytes, sizeof(golden), SIZE_MAX);
    expect_too_much(golden, sizeof(golden), 63); /* more than is allowed */
    memcpy(bytes, golden, sizeof(golden));
    expect_refused(bytes, sizeof(bytes), MAX); /* something behind it */
    for (size_t size = 0; size < sizeof(golden); size++) {
        expect_refused(golden, size, MAX);
    }
    for (size_t at = 4; at < sizeof(golden); at++) { /* a broken stream */
        memcpy(bytes, golden, sizeof(golden));
        bytes[at] ^= 0x55;
        expect_refused(bytes, sizeof(golden), MAX);
    }
}
END_TEST

/* Little that stands for much: refused by its claim, without a look at the stream. */
START_TEST(a_bomb_is_refused)
{
    enum { ZEROS = 64 << 20 };
    uint8_t *zeros = calloc(1, ZEROS), *data = NULL;
    size_t packed_size, size;
    uint8_t *packed = rml_pack(zeros, ZEROS, &packed_size);
    ck_assert_ptr_nonnull(packed);
    ck_assert_uint_lt(packed_size, ZEROS / 100);
    expect_too_much(packed, packed_size, ZEROS - 1);
    put_le32(packed, 4096); /* and a claim that is less than it is */
    ck_assert_int_eq(rml_unpack(packed, packed_size, MAX, &data, &size), ORTE_ERR_BAD_PARAM);
    free(packed);
    free(zeros);
}
END_TEST

UNIT_MAIN("rml/pack")
