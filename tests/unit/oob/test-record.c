/* oob/record.h: what is sealed opens once, in its place, unchanged, or not at all. */
#include <base/data/le.h>
#include <oob/record.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static const uint8_t secret[KEY_BYTES] = {1, 2, 3};
static struct record_key tx, rx;
static uint8_t record[RECORD_SIZE_MAX], copy[RECORD_SIZE_MAX];

/* The protections that this machine has: cipher times encrypt. */
enum { KINDS = 4 };

static bool begin(int kind)
{
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    enum record_cipher cipher = kind & 1 ? RECORD_AES256GCM : RECORD_CHACHA20POLY1305;
    if (cipher == RECORD_AES256GCM && !record_can_aes()) {
        return false;
    }
    record_key_init(&tx, cipher, kind & 2, secret);
    record_key_init(&rx, cipher, kind & 2, secret);
    return true;
}

static size_t seal(size_t size, uint8_t first)
{
    for (size_t i = 0; i < size; i++) {
        record[RECORD_HEAD_SIZE + i] = (uint8_t) (first + i);
    }
    return record_seal(&tx, record, size);
}

START_TEST(round_trip)
{
    static const size_t sizes[] = {1, 2, 15, 16, 17, 4095, 65535, RECORD_PAYLOAD_MAX};
    for (int kind = 0; kind < KINDS; kind++) {
        if (!begin(kind)) {
            continue;
        }
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t size = sizes[i];
            ck_assert_uint_eq(seal(size, (uint8_t) i), size + RECORD_HEAD_SIZE + RECORD_TAG_SIZE);
            ck_assert_uint_eq(get_le32(record), size);
            ck_assert_int_eq(record_open(&rx, record, sizeof record),
                             (int) (size + RECORD_HEAD_SIZE + RECORD_TAG_SIZE));
            for (size_t at = 0; at < size; at++) {
                ck_assert_uint_eq(record[RECORD_HEAD_SIZE + at], (uint8_t) (i + at));
            }
        }
    }
}
END_TEST

START_TEST(hides_the_payload_only_when_asked)
{
    for (int kind = 0; kind < KINDS; kind++) {
        if (!begin(kind)) {
            continue;
        }
        seal(64, 'A');
        uint8_t clear[64];
        for (int i = 0; i < 64; i++) {
            clear[i] = (uint8_t) ('A' + i);
        }
        bool visible = memcmp(record + RECORD_HEAD_SIZE, clear, sizeof clear) == 0;
        ck_assert_int_eq(visible, !(kind & 2));
    }
}
END_TEST

START_TEST(every_flipped_bit_is_noticed)
{
    for (int kind = 0; kind < KINDS; kind++) {
        if (!begin(kind)) {
            continue;
        }
        size_t size = seal(40, 7);
        memcpy(copy, record, size);
        for (size_t bit = 0; bit < size * 8; bit++) {
            memcpy(record, copy, size);
            record[bit / 8] ^= (uint8_t) (1u << bit % 8);
            rx.number = 0;
            /* A flipped length may also ask for bytes that are not there. */
            int status = record_open(&rx, record, size);
            ck_assert_int_le(status, 0);
            ck_assert(status < 0 || bit < 32);
        }
        memcpy(record, copy, size);
        rx.number = 0;
        ck_assert_int_eq(record_open(&rx, record, size), (int) size);
    }
}
END_TEST

START_TEST(replay_reorder_and_gap_are_noticed)
{
    for (int kind = 0; kind < KINDS; kind++) {
        if (!begin(kind)) {
            continue;
        }
        uint8_t records[3][64];
        size_t size = 0;
        for (int i = 0; i < 3; i++) {
            size = seal(20, (uint8_t) i);
            memcpy(records[i], record, size);
        }
        memcpy(copy, records[0], size);
        ck_assert_int_eq(record_open(&rx, copy, size), (int) size);
        memcpy(copy, records[0], size);
        ck_assert_int_lt(record_open(&rx, copy, size), 0); /* again */
        rx.number = 1;
        memcpy(copy, records[2], size);
        ck_assert_int_lt(record_open(&rx, copy, size), 0); /* one left out */
        rx.number = 1;
        memcpy(copy, records[1], size);
        ck_assert_int_eq(record_open(&rx, copy, size), (int) size);
    }
}
END_TEST

START_TEST(other_keys_do_not_open)
{
    for (int kind = 0; kind < KINDS; kind++) {
        if (!begin(kind)) {
            continue;
        }
        size_t size = seal(10, 1);
        uint8_t other[KEY_BYTES];
        memcpy(other, secret, sizeof other);
        other[31] ^= 1;
        record_key_init(&rx, rx.cipher, rx.encrypt, other);
        ck_assert_int_lt(record_open(&rx, record, size), 0);
    }
    /* Nor does the same key with another protection. */
    begin(0);
    size_t size = seal(10, 1);
    record_key_init(&rx, RECORD_CHACHA20POLY1305, true, secret);
    ck_assert_int_lt(record_open(&rx, record, size), 0);
}
END_TEST

START_TEST(a_cut_record_waits)
{
    ck_assert(begin(2));
    size_t size = seal(100, 1);
    for (size_t there = 0; there < size; there++) {
        ck_assert_int_eq(record_open(&rx, record, there), 0);
    }
    ck_assert_int_eq(record_open(&rx, record, size), (int) size);
}
END_TEST

START_TEST(lengths_out_of_range_are_refused_at_once)
{
    static const uint32_t lengths[] = {0, RECORD_PAYLOAD_MAX + 1, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        ck_assert(begin(2));
        uint8_t head[RECORD_HEAD_SIZE];
        put_le32(head, lengths[i]);
        ck_assert_int_lt(record_open(&rx, head, sizeof head), 0);
    }
}
END_TEST

/* "keel", and again, under each protection; computed by other programs from docs/wire.md. */
START_TEST(golden_bytes)
{
    static const char *const golden[KINDS][2] = {
        {"040000006b65656c2fc4da6f79d0c671c217d6a1e6471e41",
         "040000006b65656c99322f240a9cdc5dddec838708898ce3"},
        {"040000006b65656c3b01983f717ef18350e8461dd18bcec0",
         "040000006b65656c03b42606a8c6f3d23959cb4baf026266"},
        {"04000000142ae1cd6a7b07051dbeda8d50dc5eb78c07c45f",
         "04000000f4574a8c0d852bfa801aef1f9bc093d176e295dd"},
        {"0400000055c4ed9f89a2b2cef320b6250cf5bb032ed367bc",
         "0400000078fa788b2c584e177b970e321a661b766cc1d76d"},
    };
    for (int kind = 0; kind < KINDS; kind++) {
        for (int number = 0; begin(kind) && number < 2; number++) {
            tx.number = (uint64_t) number;
            memcpy(record + RECORD_HEAD_SIZE, "keel", 4);
            size_t size = record_seal(&tx, record, 4);
            char hex[2 * sizeof copy + 1];
            crypto_to_hex(hex, record, size);
            ck_assert_str_eq(hex, golden[kind][number]);
        }
    }
}
END_TEST

UNIT_MAIN("record")
