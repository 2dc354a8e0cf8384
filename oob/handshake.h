/* The handshake that begins every link: a pure state machine over bytes, without I/O, clock or
 * randomness of its own. docs/wire.md has the messages and the key schedule.
 *
 * Both ends prove that they hold the same key over the whole transcript, agree on protection, and
 * derive fresh keys. The acceptor's last message, the verdict, is its caller's decision. */
#ifndef OOB_HANDSHAKE_H
#define OOB_HANDSHAKE_H

#include <base/data/crypto.h>
#include <oob/oob.h>
#include <oob/oob_wire.h>
#include <oob/record.h>

enum oob_security { OOB_SECURITY_NONE, OOB_SECURITY_AUTH, OOB_SECURITY_ENCRYPT, OOB_SECURITIES };

/* What this end brings. */
struct handshake_self {
    orte_process_name_t name;
    uint64_t epoch;
    enum oob_security security;
    bool attested; /* a unix socket whose other end has this user, says the kernel */
    bool aes;      /* AES-256-GCM can be used */
    bool ping;     /* connector: it wants the verdict, and no link */
    const uint8_t *keys[OOB_KEYS]; /* borrowed while the handshake runs; NULL: not held. PEERCRED's
                                    * is never looked at */
};

/* From crypto_random; a handshake must not reuse it. */
struct handshake_random {
    uint8_t nonce[32];
    uint8_t secret[32];
};

enum handshake_state {
    HANDSHAKE_HELLO,   /* acceptor: waits for the connector's hello */
    HANDSHAKE_ANSWER,  /* connector: waits for the answer */
    HANDSHAKE_PROOF,   /* acceptor: waits for the proof */
    HANDSHAKE_PROVED,  /* acceptor: handshake_verdict is due */
    HANDSHAKE_VERDICT, /* connector: waits for the verdict */
    HANDSHAKE_DONE,
    HANDSHAKE_FAILED,
};

struct handshake {
    enum handshake_state state;
    struct handshake_self self;
    struct handshake_random random;
    orte_process_name_t wanted; /* connector: whom it wants */
    uint8_t in[WIRE_MESSAGE_MAX];
    size_t in_size, in_want; /* of the message that is expected: its head first, then all of it */
    uint8_t out[WIRE_MESSAGE_MAX];
    size_t out_size; /* to be sent; the caller sets it 0 */
    uint8_t hello[WIRE_HELLO_SIZE];
    uint8_t answer[WIRE_ANSWER_SIZE];
    uint8_t proof[WIRE_PROOF_SIZE];
    uint8_t master[KEY_BYTES];

    /* From PROVED (acceptor) or DONE (connector) on. */
    orte_process_name_t peer;
    uint64_t peer_epoch;
    enum oob_key key;
    bool ping;                 /* acceptor: there will be no link */
    enum record_cipher cipher; /* RECORD_PLAIN: no records */
    uint8_t tx_key[KEY_BYTES], rx_key[KEY_BYTES];

    /* When FAILED. */
    int status;
    enum wire_reason reason; /* of a refusal, either side's */
    bool refused_by_peer;    /* it had proved its key: its refusal is final */
    char text[160];
};

/* Begin; the connector's hello is then in out. */
void handshake_connect(struct handshake *handshake, const struct handshake_self *self,
                       const struct handshake_random *random, const orte_process_name_t *wanted,
                       enum oob_key key);
void handshake_accept(struct handshake *handshake, const struct handshake_self *self,
                      const struct handshake_random *random);
/* How many bytes may be read for it now; 0: none. */
size_t handshake_wants(const struct handshake *handshake);
/* Bytes that came, at most as many as it wants. out may have a message afterwards, a refusal
 * included. */
void handshake_input(struct handshake *handshake, const void *data, size_t size);
/* The acceptor's decision in PROVED: WIRE_WELCOME ends in DONE, all else in FAILED. status goes
 * with WIRE_DENIED. */
void handshake_verdict(struct handshake *handshake, enum wire_reason reason, int status);
/* What an acceptor says, whatever has been said before, to somebody whom it has no room for. */
void handshake_busy(uint8_t verdict[WIRE_VERDICT_SIZE]);
/* Forgets all secrets. */
void handshake_wipe(struct handshake *handshake);

#endif
