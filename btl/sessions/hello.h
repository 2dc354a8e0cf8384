/* The handshake of two processes over a wire without connections: hellos, by which each proves the
 * pair's key and a fresh epoch (btl/sessions/session.h) to the other. A hello tells where its
 * speaker is and by what number frames to it are told apart; the frames of a session carry a token,
 * which is made of the key and both epochs.
 *
 *   kind 1, version 1, address size 2, index 4, magic 4, largest message 4, from 8, to 8,
 *   epoch 8, echo 8, address, MAC 32
 *
 * Little-endian. echo: the listener's epoch as far as the speaker knows it, 0 if not. encode,
 * decode, check and token are pure functions. */
#ifndef BTL_HELLO_H
#define BTL_HELLO_H

#include <base/data/crypto.h>
#include <btl/peers/peer.h>
#include <btl/sessions/fabric_address.h>
#include <btl/sessions/session.h>

enum { BTL_HELLO_FIXED = 48 };
enum { BTL_HELLO_MAX = BTL_HELLO_FIXED + FABRIC_ADDRESS_MAX + MAC_BYTES };

/* What tells the hellos of one transport from those of others. */
struct btl_hello_format {
    uint8_t kind, version;
    uint8_t magic[4];
    const char *key;                   /* of the host's pair_key */
    const char *hello_mac, *token_mac; /* what the MACs are for */
};

struct btl_hello {
    uint32_t index; /* for frames to the speaker */
    uint32_t max_message;
    orte_process_name_t from, to;
    uint64_t epoch, echo;
    struct fabric_address address; /* the speaker's; the format does not travel */
};

/* Returns the bytes written. */
size_t btl_hello_encode(const struct btl_hello_format *format, uint8_t out[BTL_HELLO_MAX],
                        const struct btl_hello *hello, const uint8_t key[KEY_BYTES]);
/* Who claims to speak; nothing is proven yet. */
int btl_hello_decode(const struct btl_hello_format *format, struct btl_hello *hello,
                     const uint8_t *data, size_t size) KEEL_MUST_CHECK;
/* The MAC of one that was decoded. */
int btl_hello_check(const struct btl_hello_format *format, const uint8_t *data, size_t size,
                    const uint8_t key[KEY_BYTES]) KEEL_MUST_CHECK;
/* The token of the frames from one to the other. */
uint64_t btl_hello_token(const struct btl_hello_format *format, const uint8_t key[KEY_BYTES],
                         const orte_process_name_t *from, const orte_process_name_t *to,
                         uint64_t from_epoch, uint64_t to_epoch);

/* A part of an endpoint. */
struct btl_handshake {
    struct btl_session session;
    uint32_t index, their_index; /* in frames to me; in frames to the peer */
    uint64_t token, their_token; /* of my frames; of its frames */
    uint32_t max_message;        /* the peer's */
    uint64_t pause_us;           /* until the next hello; 0: the first one's */
    unsigned unheard;            /* hellos of the session that do not echo mine, apart in time */
    uint64_t unheard_us;         /* when the last of them came */
    bool bye_said, bye_answered; /* at the end of the session */
};

/* What a transport does for its handshakes. */
struct btl_greeter_ops {
    struct btl_hello_format format;
    size_t handshake_at; /* in the endpoint (offsetof) */
    /* Sends a hello to the peer. OUT_OF_RESOURCE: not now. */
    int (*send)(struct btl_peer *peer, const uint8_t *bytes, size_t size);
    /* The peer says that it is there. An error: that is no address of a peer of mine. */
    int (*locate)(struct btl_peer *peer, const struct fabric_address *address);
    /* Something would be lost with the session that there is. */
    bool (*in_flight)(const struct btl_peer *peer);
    /* On a wire that loses: the peer repeats itself, so it has not heard my answer. It is enough to
     * send something with the token (btl_hello_proved), which asks for no answer. NULL: hellos are
     * not lost. */
    void (*repeats)(struct btl_peer *peer);
    /* Another session has begun, whose tokens are known. NULL: there is nothing to do. */
    void (*begun)(struct btl_peer *peer);
};

/* A part of a module. */
struct btl_greeter {
    const struct btl_greeter_ops *ops; /* borrowed */
    struct btl_peers *peers;           /* borrowed */
    uint64_t last_epoch;
    uint32_t max_message; /* of a frame that my receive buffers hold; no peer has a smaller one */
    struct fabric_address address;
};

/* A session that ended, or none so far: nothing that comes proves anything. */
void btl_handshake_clear(struct btl_handshake *handshake);
static inline bool btl_handshake_proves(const struct btl_handshake *handshake, uint64_t token)
{
    return handshake->session.theirs != 0 && handshake->their_token == token;
}

/* Of connect of struct btl_peer_hooks: the peer waits for its turn; a hello is due unless said,
 * when the last one still goes to the same peer and says the same. Returns whether an answer is
 * awaited.
 */
bool btl_hello_say(struct btl_greeter *greeter, struct btl_peer *peer, bool said);
/* A frame has come whose token the session has: its sender knows my epoch, as if a hello had echoed
 * it. */
void btl_hello_proved(struct btl_greeter *greeter, struct btl_peer *peer);
/* The last message of a session has come. in_flight: something would be lost with it. */
void btl_hello_bye(struct btl_greeter *greeter, struct btl_peer *peer, bool in_flight);
/* The other end says that the session is over. */
void btl_hello_lost(struct btl_greeter *greeter, struct btl_peer *peer);
/* False: it proves nothing, and was dropped. */
bool btl_hello_received(struct btl_greeter *greeter, const uint8_t *data, size_t size);

#endif
