/* What goes over a Unix datagram socket. Little-endian; pure functions between bytes and structs.
 *
 *   CARD    netstack 8, path, without its zero
 *   frame   kind 1 (its upper half: the channel), tag 1, zero 2, index 4, then data
 *   HELLO   kind 1, version 1, zero 2, index 4, from 8, to 8, epoch 8, echo 8, MAC 32
 *
 * The kernel tells from which socket a datagram comes, so a HELLO proves once whose socket that is.
 * index is a number of the receiver's own, by which it finds the sender. */
#ifndef TESTS_UDGRAM_WIRE_H
#define TESTS_UDGRAM_WIRE_H

#include <base/data/crypto.h>
#include <base/types/name.h>

enum { UDGRAM_VERSION = 1 };
enum udgram_kind { UDGRAM_AM = 1, UDGRAM_BYE, UDGRAM_HELLO };
enum {
    UDGRAM_PATH_BYTES = 108, /* of a socket's path, with its zero */
    UDGRAM_CARD_BYTES = 8 + UDGRAM_PATH_BYTES,
    UDGRAM_HEADER_BYTES = 8,
    UDGRAM_HELLO_BYTES = 40 + MAC_BYTES
};

struct udgram_card {
    uint64_t netstack; /* equal where processes see the same sockets */
    char path[UDGRAM_PATH_BYTES];
};

/* Returns the bytes written. */
size_t udgram_card_encode(uint8_t out[UDGRAM_CARD_BYTES], const struct udgram_card *card);
/* OPAL_ERR_UNPACK_FAILURE. */
int udgram_card_decode(struct udgram_card *card, const void *data, size_t size) KEEL_MUST_CHECK;

struct udgram_header {
    uint8_t kind, channel, tag;
    uint32_t index;
};

void udgram_header_encode(uint8_t out[UDGRAM_HEADER_BYTES], const struct udgram_header *header);
/* Of at least UDGRAM_HEADER_BYTES. */
struct udgram_header udgram_header_decode(const uint8_t *in);

struct udgram_hello {
    uint32_t index;               /* for frames to the speaker */
    orte_process_name_t from, to; /* speaker and listener */
    uint64_t epoch, echo;         /* btl/sessions/session.h */
};

/* path: the socket that the speaker sends from, which the MAC covers. */
void udgram_hello_encode(uint8_t out[UDGRAM_HELLO_BYTES], const struct udgram_hello *hello,
                         const char *path, const uint8_t key[KEY_BYTES]);
/* Who claims to speak; nothing is proven yet. */
int udgram_hello_decode(struct udgram_hello *hello, const uint8_t *in, size_t size) KEEL_MUST_CHECK;
/* OPAL_ERR_PERM. */
int udgram_hello_check(const uint8_t in[UDGRAM_HELLO_BYTES], const char *path,
                       const uint8_t key[KEY_BYTES]) KEEL_MUST_CHECK;

#endif
