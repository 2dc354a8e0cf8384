/* The ofi frames and hello. */
#include <btl/ofi/wire/wire.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static const uint8_t key[KEY_BYTES] = {1, 2, 3};
static const struct btl_hello_format format = OFI_HELLO_FORMAT;
static const uint8_t other_key[KEY_BYTES] = {1, 2, 4};

START_TEST(headers_have_these_bytes)
{
    static const uint8_t golden[OFI_HEADER_BYTES] = {0x71, 255,  0x34, 0x12, 0x78, 0x56,
                                                     0x34, 0x12, 0xef, 0xcd, 0xab, 0x90,
                                                     0x78, 0x56, 0x34, 0x12};
    struct ofi_header header = {.kind = OFI_AM,
                                .channel = 7,
                                .tag = 255,
                                .sequence = 0x1234,
                                .index = 0x12345678,
                                .token = 0x1234567890abcdef};
    uint8_t bytes[OFI_HEADER_BYTES];

    ofi_header_encode(bytes, &header);
    ck_assert_mem_eq(bytes, golden, sizeof(golden));
    struct ofi_header back = ofi_header_decode(golden);
    ck_assert_uint_eq(back.kind, header.kind);
    ck_assert_uint_eq(back.channel, header.channel);
    ck_assert_uint_eq(back.tag, header.tag);
    ck_assert_uint_eq(back.sequence, header.sequence);
    ck_assert_uint_eq(back.index, header.index);
    ck_assert_uint_eq(back.token, header.token);
}
END_TEST

static const struct btl_hello hello = {
    .index = 7,
    .max_message = 65536,
    .from = {1, 2},
    .to = {1, 3},
    .epoch = 0x0102030405060708,
    .echo = 9,
    .address = {.size = 4, .bytes = {0xa, 0xb, 0xc, 0xd}},
};

static const uint8_t golden_start[BTL_HELLO_FIXED + 4] = {
    5, 3, 4, 0, 7, 0, 0, 0, 'K', 'L', 'o', 'f', 0, 0, 1, 0, 1, 0, 0, 0, 2, 0, 0,   0,   1,   0,
    0, 0, 3, 0, 0, 0, 8, 7, 6,   5,   4,   3,   2, 1, 9, 0, 0, 0, 0, 0, 0, 0, 0xa, 0xb, 0xc, 0xd,
};

START_TEST(hellos_have_these_bytes)
{
    uint8_t bytes[BTL_HELLO_MAX];
    struct btl_hello back;

    size_t size = btl_hello_encode(&format, bytes, &hello, key);
    ck_assert_uint_eq(size, sizeof(golden_start) + MAC_BYTES);
    ck_assert_mem_eq(bytes, golden_start, sizeof(golden_start));
    ck_assert_int_eq(btl_hello_decode(&format, &back, bytes, size), OPAL_SUCCESS);
    ck_assert_int_eq(btl_hello_check(&format, bytes, size, key), OPAL_SUCCESS);
    ck_assert_mem_eq(&back, &hello, sizeof(hello));
}
END_TEST

START_TEST(every_byte_of_a_hello_is_proved)
{
    uint8_t bytes[BTL_HELLO_MAX];
    struct btl_hello back;
    size_t size = btl_hello_encode(&format, bytes, &hello, key);

    ck_assert_int_ne(btl_hello_check(&format, bytes, size, other_key), OPAL_SUCCESS);
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= 1;
        ck_assert(btl_hello_decode(&format, &back, bytes, size) != OPAL_SUCCESS ||
                  btl_hello_check(&format, bytes, size, key) != OPAL_SUCCESS);
        bytes[at] ^= 1;
    }
}
END_TEST

START_TEST(hostile_hellos_are_refused)
{
    uint8_t bytes[BTL_HELLO_MAX];
    struct btl_hello back;
    size_t size = btl_hello_encode(&format, bytes, &hello, key);

    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        ck_assert_int_ne(btl_hello_decode(&format, &back, copy, cut), OPAL_SUCCESS);
        free(copy);
    }
    struct btl_hello nobody = hello;
    nobody.epoch = 0;
    size = btl_hello_encode(&format, bytes, &nobody, key);
    ck_assert_int_eq(btl_hello_decode(&format, &back, bytes, size), OPAL_ERR_UNPACK_FAILURE);
    nobody = hello;
    nobody.address.size = 0;
    size = btl_hello_encode(&format, bytes, &nobody, key);
    ck_assert_int_eq(btl_hello_decode(&format, &back, bytes, size), OPAL_ERR_UNPACK_FAILURE);
}
END_TEST

START_TEST(random_bytes_are_no_hello)
{
    uint8_t bytes[BTL_HELLO_MAX];
    struct btl_hello back;

    srand(3);
    for (int round = 0; round < 20000; round++) {
        size_t size = (size_t) rand() % sizeof(bytes);
        for (size_t i = 0; i < size; i++) {
            bytes[i] = (uint8_t) rand();
        }
        memcpy(bytes, golden_start, size < 12 ? size : 12);
        if (btl_hello_decode(&format, &back, bytes, size) == OPAL_SUCCESS) {
            ck_assert_uint_le(back.address.size, FABRIC_ADDRESS_MAX);
            ck_assert_int_ne(btl_hello_check(&format, bytes, size, key), OPAL_SUCCESS);
        }
    }
}
END_TEST

START_TEST(tokens_tell_everything_apart)
{
    const orte_process_name_t a = {1, 2}, b = {1, 3};
    uint64_t token = btl_hello_token(&format, key, &a, &b, 5, 6);

    ck_assert_uint_eq(btl_hello_token(&format, key, &a, &b, 5, 6), token);
    ck_assert_uint_ne(btl_hello_token(&format, other_key, &a, &b, 5, 6), token);
    ck_assert_uint_ne(btl_hello_token(&format, key, &b, &a, 6, 5), token);
    ck_assert_uint_ne(btl_hello_token(&format, key, &a, &b, 6, 5), token);
    ck_assert_uint_ne(btl_hello_token(&format, key, &a, &b, 5, 7), token);
    ck_assert_uint_ne(btl_hello_token(&format, key, &a, &b, 4, 6), token);
}
END_TEST

UNIT_MAIN("ofi-wire")
