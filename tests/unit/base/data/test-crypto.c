#include <config.h>

#include <base/data/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

/* The expected digests were computed with Python's hashlib.blake2b (digest_size 32). */

static uint8_t key[KEY_BYTES];

static void begin(void)
{
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    for (unsigned i = 0; i < sizeof(key); i++) {
        key[i] = (uint8_t) i;
    }
}

static void check_hex(const uint8_t *data, const char *expected)
{
    char text[65];
    crypto_to_hex(text, data, 32);
    ck_assert_str_eq(text, expected);
}

START_TEST(hash_of_a_stream)
{
    struct crypto_hash hash;
    uint8_t digest[32];
    static char letters[1000000];
    begin();
    crypto_hash_begin(&hash);
    crypto_hash_end(&hash, digest);
    check_hex(digest, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");

    crypto_hash_begin(&hash);
    crypto_hash_update(&hash, "a", 1);
    crypto_hash_update(&hash, "", 0);
    crypto_hash_update(&hash, "bc", 2);
    crypto_hash_end(&hash, digest);
    check_hex(digest, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");

    memset(letters, 'a', sizeof(letters));
    crypto_hash_begin(&hash);
    for (size_t done = 0, part = 1; done < sizeof(letters); done += part, part = part * 3 + 1) {
        part = part < sizeof(letters) - done ? part : sizeof(letters) - done;
        crypto_hash_update(&hash, letters + done, part);
    }
    crypto_hash_end(&hash, digest);
    check_hex(digest, "0741850f36cba4259628355d1073e24ddb9ca0e1bfac36fd39ae5dc2101e23a4");
}
END_TEST

START_TEST(mac_covers_key_and_every_byte)
{
    uint8_t data[100], mac[MAC_BYTES], other[MAC_BYTES];
    struct iovec parts[3] = {{data, 1}, {data + 1, 0}, {data + 1, 99}};
    begin();
    for (unsigned i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t) i;
    }
    crypto_mac(mac, key, parts, 3);
    check_hex(mac, "5c0ab21018b1328b7612b997a8899146f97aab2dc0a3d8f7113717558bf25e5a");
    for (unsigned i = 0; i < sizeof(data); i++) {
        data[i] ^= 0x40;
        crypto_mac(other, key, parts, 3);
        ck_assert(!crypto_equal(mac, other, MAC_BYTES));
        data[i] ^= 0x40;
    }
    parts[2].iov_len = 98;
    crypto_mac(other, key, parts, 3);
    ck_assert(!crypto_equal(mac, other, MAC_BYTES));
    parts[2].iov_len = 99;
    for (unsigned i = 0; i < KEY_BYTES; i++) {
        key[i] ^= 1;
        crypto_mac(other, key, parts, 3);
        ck_assert(!crypto_equal(mac, other, MAC_BYTES));
        key[i] ^= 1;
    }
    crypto_mac(other, key, parts, 3);
    ck_assert(crypto_equal(mac, other, MAC_BYTES));
}
END_TEST

/* BLAKE2b with the number as salt and the purpose as personalisation. */
START_TEST(subkeys_depend_on_purpose_and_number)
{
    uint8_t subkey[KEY_BYTES];
    begin();
    crypto_derive(subkey, key, "record", 1);
    check_hex(subkey, "318e97616c881b00e20cc12d5479ec6834e992c7d08824bec31fe7fab259341f");
    crypto_derive(subkey, key, "record", 0);
    check_hex(subkey, "246cdc91a68b12add29ce4e6742132baf471e4667fe2369182aeb29a06171e70");
    crypto_derive(subkey, key, "12345678", 1);
    check_hex(subkey, "b4316c1ddea4362ba0bc005cc7c280802d93d05e29b5b3b116532bfdc2329dd6");
    crypto_derive(subkey, key, "123456789", 1);
    check_hex(subkey, "b4316c1ddea4362ba0bc005cc7c280802d93d05e29b5b3b116532bfdc2329dd6");
}
END_TEST

START_TEST(hex_is_exact)
{
    static const uint8_t data[4] = {0x00, 0x9f, 0xab, 0xff};
    static const char *const bad[] = {"",          "009fabf",  "009fabff0", "009fabff00",
                                      "009fab:ff", "009fabfg", " 009fabff", "009fabff "};
    uint8_t back[4];
    char text[9];
    begin();
    crypto_to_hex(text, data, 4);
    ck_assert_str_eq(text, "009fabff");
    ck_assert_int_eq(crypto_from_hex(back, 4, "009FabfF"), ORTE_SUCCESS);
    ck_assert(memcmp(back, data, 4) == 0);
    memset(back, 0x55, sizeof(back));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_int_eq(crypto_from_hex(back, 4, bad[i]), ORTE_ERR_BAD_PARAM);
        ck_assert_uint_eq(back[0], 0x55);
    }
    crypto_to_hex(text, data, 0);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(crypto_from_hex(back, 0, ""), ORTE_SUCCESS);
}
END_TEST

START_TEST(random_bytes_and_wiping)
{
    static const uint8_t zero[32];
    uint8_t a[32] = {0}, b[32] = {0};
    begin();
    crypto_random(a, sizeof(a));
    crypto_random(b, sizeof(b));
    ck_assert(!crypto_equal(a, b, sizeof(a)));
    ck_assert(!crypto_equal(a, zero, sizeof(a)));
    ck_assert(crypto_equal(a, a, sizeof(a)));
    crypto_wipe(a, sizeof(a));
    ck_assert(crypto_equal(a, zero, sizeof(a)));
}
END_TEST

UNIT_MAIN("crypto")
