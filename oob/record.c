#include <config.h>

#include <oob/record.h>

#include <base/data/le.h>
#include <string.h>

enum { NONCE_SIZE = 12 };

_Static_assert(crypto_aead_aes256gcm_NPUBBYTES == NONCE_SIZE, "nonce");
_Static_assert(crypto_aead_chacha20poly1305_ietf_NPUBBYTES == NONCE_SIZE, "nonce");
_Static_assert(crypto_aead_aes256gcm_ABYTES == RECORD_TAG_SIZE, "tag");
_Static_assert(crypto_aead_chacha20poly1305_ietf_ABYTES == RECORD_TAG_SIZE, "tag");
_Static_assert(crypto_aead_aes256gcm_KEYBYTES == KEY_BYTES, "key");
_Static_assert(crypto_aead_chacha20poly1305_ietf_KEYBYTES == KEY_BYTES, "key");

bool record_can_aes(void)
{
    return crypto_aead_aes256gcm_is_available() != 0;
}

void record_key_init(struct record_key *key, enum record_cipher cipher, bool encrypt,
                     const uint8_t secret[KEY_BYTES])
{
    key->cipher = cipher;
    key->encrypt = encrypt;
    key->number = 0;
    memcpy(key->key, secret, KEY_BYTES);
    if (cipher == RECORD_AES256GCM) {
        crypto_aead_aes256gcm_beforenm(&key->aes, secret);
    }
}

void record_key_wipe(struct record_key *key)
{
    crypto_wipe(key, sizeof *key);
}

static void next_nonce(struct record_key *key, uint8_t nonce[NONCE_SIZE])
{
    put_le32(nonce, 0);
    put_le64(nonce + 4, key->number++);
}

size_t record_seal(struct record_key *key, uint8_t *record, size_t payload_size)
{
    put_le32(record, (uint32_t) payload_size);
    /* What is secret is behind what is only authentic. */
    size_t clear = RECORD_HEAD_SIZE + (key->encrypt ? 0 : payload_size);
    size_t secret = key->encrypt ? payload_size : 0;
    uint8_t *tag = record + RECORD_HEAD_SIZE + payload_size;
    uint8_t nonce[NONCE_SIZE];
    next_nonce(key, nonce);
    if (key->cipher == RECORD_AES256GCM) {
        crypto_aead_aes256gcm_encrypt_detached_afternm(record + clear, tag, NULL, record + clear,
                                                       secret, record, clear, NULL, nonce,
                                                       &key->aes);
    } else {
        crypto_aead_chacha20poly1305_ietf_encrypt_detached(record + clear, tag, NULL,
                                                           record + clear, secret, record, clear,
                                                           NULL, nonce, key->key);
    }
    return RECORD_HEAD_SIZE + payload_size + RECORD_TAG_SIZE;
}

int record_open(struct record_key *key, uint8_t *record, size_t size)
{
    if (size < RECORD_HEAD_SIZE) {
        return 0;
    }
    size_t payload_size = get_le32(record);
    if (payload_size == 0 || payload_size > RECORD_PAYLOAD_MAX) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    size_t whole = RECORD_HEAD_SIZE + payload_size + RECORD_TAG_SIZE;
    if (size < whole) {
        return 0;
    }
    size_t clear = RECORD_HEAD_SIZE + (key->encrypt ? 0 : payload_size);
    size_t secret = key->encrypt ? payload_size : 0;
    const uint8_t *tag = record + RECORD_HEAD_SIZE + payload_size;
    uint8_t nonce[NONCE_SIZE];
    next_nonce(key, nonce);
    int wrong;
    if (key->cipher == RECORD_AES256GCM) {
        wrong = crypto_aead_aes256gcm_decrypt_detached_afternm(
            record + clear, NULL, record + clear, secret, tag, record, clear, nonce, &key->aes);
    } else {
        wrong = crypto_aead_chacha20poly1305_ietf_decrypt_detached(
            record + clear, NULL, record + clear, secret, tag, record, clear, nonce, key->key);
    }
    return wrong ? ORTE_ERR_PERM : (int) whole;
}
