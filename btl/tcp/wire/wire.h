/* What goes over a tcp link: the three messages that set it up, then frames. Little-endian; pure
 * functions between bytes and structs, no I/O. docs/wire.md draws them.
 *
 *   acceptor  -> CHALLENGE  magic version kind 0  nonce[16]
 *   initiator -> HELLO      magic version kind lane  from to incarnation nonce[16] mac[32]
 *   acceptor  -> WELCOME    magic version kind verdict  incarnation mac[32]
 *
 * A frame is a prefix {type 1, tag 1, sequence 2, length 4}, where sequence counts the frames of
 * this direction of the link from 0 and length the bytes behind the prefix, then what its type
 * needs:
 *
 *   AM    data                          an active message; its tag is in the prefix, its channel in
 *                                       the upper half of the type
 *   PUT   id handle address data        to be written at address; answered with DONE
 *   GET   id handle address size        answered with DATA and DONE, or with DONE alone
 *   DATA  id data                       what a GET asked for, all of it
 *   DONE  id status zero                a PUT or GET came to this
 *   BYE                                 the last frame: the sender closes the link on purpose */
#ifndef BTL_TCP_WIRE_H
#define BTL_TCP_WIRE_H

#include <base/data/crypto.h>
#include <btl/memory/region.h>

#define TCP_WIRE_VERSION 4

enum tcp_frame_type {
    TCP_FRAME_AM = 1,
    TCP_FRAME_PUT = 2,
    TCP_FRAME_GET = 3,
    TCP_FRAME_DATA = 4,
    TCP_FRAME_DONE = 5,
    TCP_FRAME_BYE = 6,
};

enum {
    TCP_PREFIX_BYTES = 8,
    TCP_HEADER_MAX = TCP_PREFIX_BYTES + 48, /* GET's */
    TCP_DONE_BYTES = TCP_PREFIX_BYTES + 16,
    TCP_AM_MAX = 4 << 20,   /* data of an AM */
    TCP_PIECE_MAX = 1 << 20 /* data of a PUT or DATA, size of a GET */
};

struct tcp_frame {
    enum tcp_frame_type type;
    uint8_t channel, tag;        /* AM */
    uint16_t sequence;           /* of the link's direction */
    uint64_t id;                 /* PUT, GET, DATA, DONE */
    struct region_handle handle; /* PUT, GET */
    uint64_t address;            /* PUT, GET */
    uint32_t size;               /* AM, PUT, DATA: bytes of data; GET: bytes asked for */
    int32_t status;              /* DONE: OPAL_SUCCESS or an error */
};

/* Writes the frame's header (all but its data) and returns the bytes written. */
size_t tcp_frame_encode(uint8_t out[TCP_HEADER_MAX], const struct tcp_frame *frame);
/* Numbers a frame that was encoded before it was its turn. */
void tcp_frame_number(uint8_t *header, uint16_t sequence);
/* The header's bytes (> 0), 0 when available bytes are too few to hold it, or
 * OPAL_ERR_UNPACK_FAILURE when this is no frame. */
int tcp_frame_decode(struct tcp_frame *frame, const uint8_t *data, size_t available);

enum {
    TCP_NONCE_BYTES = 16,
    TCP_CHALLENGE_BYTES = 24,
    TCP_HELLO_BYTES = 80,
    TCP_WELCOME_BYTES = 48,
    TCP_LANES = 7, /* most links to a peer beside the first */
};

enum tcp_verdict {
    TCP_VERDICT_ACCEPT = 0,
    TCP_VERDICT_CROSS = 1,  /* my own connect to you wins: wait for it */
    TCP_VERDICT_AGAIN = 2,  /* not now */
    TCP_VERDICT_REFUSE = 3, /* I have closed this peer's rail */
};

struct tcp_hello {
    uint8_t lane;    /* 0: the link that a peer must have; else a further one, at most TCP_LANES */
    bool lost;       /* lane 0: it has lost the link that it had */
    uint8_t address; /* of the other's card: that of the interface whose module is meant */
    orte_process_name_t from, to;
    uint64_t incarnation;
    uint8_t nonce[TCP_NONCE_BYTES];
};

struct tcp_welcome {
    enum tcp_verdict verdict;
    uint64_t incarnation;
};

/* The MACs cover everything that was said before them, under the key of the pair. */
void tcp_challenge_encode(uint8_t out[TCP_CHALLENGE_BYTES], const uint8_t nonce[TCP_NONCE_BYTES]);
int tcp_challenge_check(const uint8_t in[TCP_CHALLENGE_BYTES]) KEEL_MUST_CHECK;
void tcp_hello_encode(uint8_t out[TCP_HELLO_BYTES], const struct tcp_hello *hello,
                      const uint8_t challenge[TCP_CHALLENGE_BYTES], const uint8_t key[KEY_BYTES]);
/* Who claims to speak; nothing is proven yet. */
int tcp_hello_decode(struct tcp_hello *hello, const uint8_t in[TCP_HELLO_BYTES]) KEEL_MUST_CHECK;
int tcp_hello_check(const uint8_t in[TCP_HELLO_BYTES], const uint8_t challenge[TCP_CHALLENGE_BYTES],
                    const uint8_t key[KEY_BYTES]) KEEL_MUST_CHECK;
void tcp_welcome_encode(uint8_t out[TCP_WELCOME_BYTES], const struct tcp_welcome *welcome,
                        const uint8_t challenge[TCP_CHALLENGE_BYTES],
                        const uint8_t hello[TCP_HELLO_BYTES], const uint8_t key[KEY_BYTES]);
/* Checks the MAC too. */
int tcp_welcome_decode(struct tcp_welcome *welcome, const uint8_t in[TCP_WELCOME_BYTES],
                       const uint8_t challenge[TCP_CHALLENGE_BYTES],
                       const uint8_t hello[TCP_HELLO_BYTES],
                       const uint8_t key[KEY_BYTES]) KEEL_MUST_CHECK;
/* Whether these first bytes of a message can still become one of its kind: lets a stranger be
 * dropped at his first wrong byte. */
bool tcp_hello_plausible(const uint8_t *in, size_t size);

#endif
