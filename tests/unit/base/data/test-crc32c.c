/* CRC-32C: known sums, by the processor's instruction and without it. */
#include <base/data/crc32c.h>
#include <string.h>
#include <tests/lib/unit.h>

/* From RFC 3720, B.4, and the sum of the nine digits that every catalogue of sums has. */
START_TEST(known_bytes_have_their_sums)
{
    uint8_t zeros[32] = {0}, ones[32], up[32], down[32];

    memset(ones, 0xff, sizeof(ones));
    for (uint8_t i = 0; i < 32; i++) {
        up[i] = i;
        down[i] = (uint8_t) (31 - i);
    }
    ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283);
    ck_assert_uint_eq(crc32c(0, zeros, 32), 0x8a9136aa);
    ck_assert_uint_eq(crc32c(0, ones, 32), 0x62a8ab43);
    ck_assert_uint_eq(crc32c(0, up, 32), 0x46dd794e);
    ck_assert_uint_eq(crc32c(0, down, 32), 0x113fdb5c);
    ck_assert_uint_eq(crc32c_table(0, "123456789", 9), 0xe3069283);
    ck_assert_uint_eq(crc32c(0, NULL, 0), 0);
}
END_TEST

START_TEST(both_ways_and_parts_give_the_same)
{
    uint8_t bytes[1500];

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t) (i * 7 + i / 3);
    }
    for (size_t from = 0; from < 9; from++) {
        for (size_t size = 0; from + size <= sizeof(bytes); size += 1 + size / 100) {
            uint32_t whole = crc32c(0, bytes + from, size);
            ck_assert_uint_eq(whole, crc32c_table(0, bytes + from, size));
            uint32_t part = crc32c(0, bytes + from, size / 3);
            ck_assert_uint_eq(whole, crc32c(part, bytes + from + size / 3, size - size / 3));
        }
    }
}
END_TEST

UNIT_MAIN("crc32c")
