/* The bytes of udgram's cards, frames and hellos. */
#include <base/types/name.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/udgram/wire.h>
#include <tests/lib/unit.h>

static const uint8_t golden_card[] = {8, 7, 6, 5, 4, 3, 2, 1, '/', 't', '/', 's'};

START_TEST(card_has_these_bytes)
{
    const struct udgram_card card = {.netstack = 0x0102030405060708, .path = "/t/s"};
    struct udgram_card back;
    uint8_t bytes[UDGRAM_CARD_BYTES];

    ck_assert_uint_eq(udgram_card_encode(bytes, &card), sizeof(golden_card));
    ck_assert_mem_eq(bytes, golden_card, sizeof(golden_card));
    ck_assert_int_eq(udgram_card_decode(&back, bytes, sizeof(golden_card)), OPAL_SUCCESS);
    ck_assert_uint_eq(back.netstack, card.netstack);
    ck_assert_str_eq(back.path, card.path);
}
END_TEST

START_TEST(hostile_cards_are_refused)
{
    struct udgram_card card;
    uint8_t bytes[UDGRAM_CARD_BYTES];

    for (size_t size = 0; size <= 8; size++) {
        ck_assert_int_eq(udgram_card_decode(&card, golden_card, size), OPAL_ERR_UNPACK_FAILURE);
    }
    memset(bytes, '/', sizeof(bytes));
    ck_assert_int_eq(udgram_card_decode(&card, bytes, sizeof(bytes)), OPAL_ERR_UNPACK_FAILURE);
    ck_assert_int_eq(udgram_card_decode(&card, bytes, sizeof(bytes) - 1), OPAL_SUCCESS);
    bytes[20] = '\0';
    ck_assert_int_eq(udgram_card_decode(&card, bytes, 40), OPAL_ERR_UNPACK_FAILURE);
    bytes[8] = 'x';
    ck_assert_int_eq(udgram_card_decode(&card, bytes, 12), OPAL_ERR_UNPACK_FAILURE);
}
END_TEST

START_TEST(header_has_these_bytes)
{
    static const uint8_t golden[] = {0x71, 255, 0, 0, 4, 3, 2, 1};
    const struct udgram_header header = {
        .kind = UDGRAM_AM, .channel = 7, .tag = 255, .index = 0x01020304};
    uint8_t bytes[UDGRAM_HEADER_BYTES];

    udgram_header_encode(bytes, &header);
    ck_assert_mem_eq(bytes, golden, sizeof(golden));
    struct udgram_header back = udgram_header_decode(golden);
    ck_assert_uint_eq(back.kind, UDGRAM_AM);
    ck_assert_uint_eq(back.channel, 7);
    ck_assert_uint_eq(back.tag, 255);
    ck_assert_uint_eq(back.index, 0x01020304);
}
END_TEST

static const uint8_t key[KEY_BYTES] = {1, 2, 3};
static const struct udgram_hello hello = {.index = 9,
                                          .from = {0x10, 0x20},
                                          .to = {0x30, 0x40},
                                          .epoch = 0x0102030405060708,
                                          .echo = 0x1112131415161718};

START_TEST(hello_has_these_bytes)
{
    static const uint8_t golden[] = {
        3,    1, 0, 0, 9, 0, 0, 0, 0x10, 0, 0, 0, 0x20, 0,    0,    0,    0x30, 0,    0,    0,
        0x40, 0, 0, 0, 8, 7, 6, 5, 4,    3, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11};
    uint8_t bytes[UDGRAM_HELLO_BYTES];
    struct udgram_hello back;

    udgram_hello_encode(bytes, &hello, "/t/s", key);
    ck_assert_uint_eq(sizeof(golden) + MAC_BYTES, sizeof(bytes));
    ck_assert_mem_eq(bytes, golden, sizeof(golden));
    ck_assert_int_eq(udgram_hello_decode(&back, bytes, sizeof(bytes)), OPAL_SUCCESS);
    ck_assert_uint_eq(back.index, hello.index);
    ck_assert(name_equal(&back.from, &hello.from) && name_equal(&back.to, &hello.to));
    ck_assert_uint_eq(back.epoch, hello.epoch);
    ck_assert_uint_eq(back.echo, hello.echo);
    ck_assert_int_eq(udgram_hello_check(bytes, "/t/s", key), OPAL_SUCCESS);
}
END_TEST

/* Another byte, another socket, another length. */
START_TEST(hostile_hellos_are_refused)
{
    uint8_t bytes[UDGRAM_HELLO_BYTES + 1] = {0};
    struct udgram_hello back;

    udgram_hello_encode(bytes, &hello, "/t/s", key);
    ck_assert_int_eq(udgram_hello_check(bytes, "/t/x", key), OPAL_ERR_PERM);
    ck_assert_int_eq(udgram_hello_decode(&back, bytes, sizeof(bytes)), OPAL_ERR_UNPACK_FAILURE);
    for (size_t size = 0; size < UDGRAM_HELLO_BYTES; size++) {
        uint8_t *exact = malloc(size + !size); /* so that a read beyond it shows */
        memcpy(exact, bytes, size);
        ck_assert_int_eq(udgram_hello_decode(&back, exact, size), OPAL_ERR_UNPACK_FAILURE);
        free(exact);
    }
    for (size_t i = 0; i < UDGRAM_HELLO_BYTES; i++) {
        bytes[i] ^= 1;
        ck_assert_int_eq(udgram_hello_check(bytes, "/t/s", key), OPAL_ERR_PERM);
        bytes[i] ^= 1;
    }
}
END_TEST

UNIT_MAIN("udgram-wire")
