/* Keys, MACs and random bytes, on libsodium. */
#ifndef BASE_CRYPTO_H
#define BASE_CRYPTO_H

#include <keel/types.h>

#define KEY_BYTES 32
#define MAC_BYTES 32

/* Once per process before the rest; more calls are no-ops. Any thread. */
int crypto_open(void) KEEL_MUST_CHECK;
void crypto_random(void *data, size_t size);
/* A subkey for a purpose (a text; its first 8 characters count) and a number. */
void crypto_derive(uint8_t subkey[KEY_BYTES], const uint8_t key[KEY_BYTES], const char *purpose,
                   uint64_t number);
/* Keyed BLAKE2b over the parts, one behind the other; where one ends is not covered. */
void crypto_mac(uint8_t mac[MAC_BYTES], const uint8_t key[KEY_BYTES], const struct iovec *parts,
                size_t count);
/* Constant time. */
bool crypto_equal(const void *a, const void *b, size_t size);
/* Overwrites; not optimised away. */
void crypto_wipe(void *data, size_t size);
void crypto_to_hex(char *text, const uint8_t *data, size_t size); /* 2 * size + 1 characters */
/* The text must be exactly 2 * size hex digits. */
int crypto_from_hex(uint8_t *data, size_t size, const char *text) KEEL_MUST_CHECK;

/* BLAKE2b-256 of a stream. */
struct crypto_hash {
    uint8_t state[384] __attribute__((aligned(64)));
};
void crypto_hash_begin(struct crypto_hash *hash);
void crypto_hash_update(struct crypto_hash *hash, const void *data, size_t size);
void crypto_hash_end(struct crypto_hash *hash, uint8_t digest[32]);

#endif
