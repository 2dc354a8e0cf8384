#include <tests/lib/unit.h>

#include <base/data/le.h>

START_TEST(test_lowest_byte_first)
{
    const uint8_t expected[] = {0x02, 0x01, 0x06, 0x05, 0x04, 0x83, 0x0e,
                                0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08, 0x87};
    uint8_t bytes[sizeof(expected)];
    put_le16(bytes, 0x0102);
    put_le32(bytes + 2, 0x83040506u);
    put_le64(bytes + 6, 0x8708090a0b0c0d0eu);
    ck_assert_mem_eq(bytes, expected, sizeof(expected));
    ck_assert_uint_eq(get_le16(expected), 0x0102);
    ck_assert_uint_eq(get_le32(expected + 2), 0x83040506u);
    ck_assert_uint_eq(get_le64(expected + 6), 0x8708090a0b0c0d0eu);
}
END_TEST

START_TEST(test_any_address)
{
    uint8_t bytes[16];
    for (unsigned at = 0; at < 8; at++) {
        put_le64(bytes + at, 0x0102030405060708u + at);
        ck_assert_uint_eq(get_le64(bytes + at), 0x0102030405060708u + at);
        ck_assert_uint_eq(get_le32(bytes + at + 4), 0x01020304u);
        ck_assert_uint_eq(get_le16(bytes + at + 6), 0x0102u);
    }
}
END_TEST

UNIT_MAIN("le")
