#include <config.h>

#include <base/data/crypto.h>
#include <ctype.h>
#include <pthread.h>
#include <sodium.h>
#include <string.h>

_Static_assert(KEY_BYTES == crypto_kdf_KEYBYTES, "a key derives subkeys");
_Static_assert(KEY_BYTES <= crypto_kdf_BYTES_MAX, "a subkey is a key");
_Static_assert(crypto_kdf_CONTEXTBYTES == 8, "a purpose has 8 characters");
_Static_assert(KEY_BYTES <= crypto_generichash_KEYBYTES_MAX, "a key makes MACs");
_Static_assert(MAC_BYTES <= crypto_generichash_BYTES_MAX, "BLAKE2b is long enough for a MAC");
_Static_assert(sizeof(crypto_generichash_state) <= sizeof(struct crypto_hash) &&
                   _Alignof(crypto_generichash_state) <= _Alignof(struct crypto_hash),
               "struct crypto_hash holds libsodium's state");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int open_status; /* written inside once */

static void open_once(void)
{
    open_status = sodium_init() < 0 ? ORTE_ERROR : ORTE_SUCCESS;
}

int crypto_open(void)
{
    pthread_once(&once, open_once);
    return open_status;
}

void crypto_random(void *data, size_t size)
{
    randombytes_buf(data, size);
}

void crypto_derive(uint8_t subkey[KEY_BYTES], const uint8_t key[KEY_BYTES], const char *purpose,
                   uint64_t number)
{
    char context[crypto_kdf_CONTEXTBYTES] = {0};
    memcpy(context, purpose, strnlen(purpose, sizeof(context)));
    crypto_kdf_derive_from_key(subkey, KEY_BYTES, number, context, key);
}

void crypto_mac(uint8_t mac[MAC_BYTES], const uint8_t key[KEY_BYTES], const struct iovec *parts,
                size_t count)
{
    crypto_generichash_state state;
    crypto_generichash_init(&state, key, KEY_BYTES, MAC_BYTES);
    for (size_t i = 0; i < count; i++) {
        crypto_generichash_update(&state, parts[i].iov_base, parts[i].iov_len);
    }
    crypto_generichash_final(&state, mac, MAC_BYTES);
    sodium_memzero(&state, sizeof(state));
}

bool crypto_equal(const void *a, const void *b, size_t size)
{
    return sodium_memcmp(a, b, size) == 0;
}

void crypto_wipe(void *data, size_t size)
{
    sodium_memzero(data, size);
}

void crypto_to_hex(char *text, const uint8_t *data, size_t size)
{
    sodium_bin2hex(text, 2 * size + 1, data, size);
}

int crypto_from_hex(uint8_t *data, size_t size, const char *text)
{
    size_t digits = 0;
    while (isxdigit((unsigned char) text[digits])) {
        digits++;
    }
    if (text[digits] != '\0' || digits % 2 != 0 || digits / 2 != size) {
        return ORTE_ERR_BAD_PARAM;
    }
    return sodium_hex2bin(data, size, text, digits, NULL, NULL, NULL) == 0 ? ORTE_SUCCESS
                                                                           : ORTE_ERR_BAD_PARAM;
}

static crypto_generichash_state *state_of(struct crypto_hash *hash)
{
    return (crypto_generichash_state *) (void *) hash->state;
}

void crypto_hash_begin(struct crypto_hash *hash)
{
    crypto_generichash_init(state_of(hash), NULL, 0, 32);
}

void crypto_hash_update(struct crypto_hash *hash, const void *data, size_t size)
{
    crypto_generichash_update(state_of(hash), data, size);
}

void crypto_hash_end(struct crypto_hash *hash, uint8_t digest[32])
{
    crypto_generichash_final(state_of(hash), digest, 32);
}
