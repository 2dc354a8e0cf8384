/* Sealed records: one direction of a link's protection. Pure; the owner's lock or thread guards it.
 *
 * The nonce is the record's number, so a record that is replayed, reordered or left out does not
 * open. With encrypt the payload is secret and authentic, without it only authentic. */
#ifndef OOB_RECORD_H
#define OOB_RECORD_H

#include <base/data/crypto.h>
#include <keel/types.h>
#include <oob/oob_wire.h>
#include <sodium.h>

enum record_cipher { RECORD_PLAIN, RECORD_AES256GCM, RECORD_CHACHA20POLY1305, RECORD_CIPHERS };

struct record_key {
    enum record_cipher cipher;
    bool encrypt;
    uint64_t number; /* of the next record */
    uint8_t key[KEY_BYTES];
    crypto_aead_aes256gcm_state aes;
};

/* True where the processor has what AES-256-GCM needs. */
bool record_can_aes(void);
/* Not for RECORD_PLAIN. */
void record_key_init(struct record_key *key, enum record_cipher cipher, bool encrypt,
                     const uint8_t secret[KEY_BYTES]);
void record_key_wipe(struct record_key *key);

/* Seals in place: the payload (1 to RECORD_PAYLOAD_MAX bytes) lies behind RECORD_HEAD_SIZE bytes,
 * RECORD_TAG_SIZE bytes are free behind it. Returns the size of the whole record. */
size_t record_seal(struct record_key *key, uint8_t *record, size_t payload_size);
/* Opens in place the record that begins the bytes. Its whole size, with the payload behind
 * RECORD_HEAD_SIZE bytes; 0: the record is not all there; < 0: an ORTE status, a length out of
 * range or a record that is not the next one. */
int record_open(struct record_key *key, uint8_t *record, size_t size) KEEL_MUST_CHECK;

#endif
