/* What goes over an ofi endpoint: frames, and the hello by which two processes prove the job's key
 * to each other. Little-endian; pure functions between bytes and structs. docs/wire.md draws them.
 *
 *   frame   kind 1 (its upper half: the channel), tag 1, sequence 2, index 4, token 8, then data
 *   HELLO   kind 1, version 1, address size 2, index 4, magic 4, largest message 4, from 8, to 8,
 *           epoch 8, echo 8, address, MAC 32
 *
 * A HELLO tells the speaker's epoch, and in echo the listener's as far as the speaker knows it, 0
 * if not. A process believes in a peer once that has echoed its own, fresh epoch. The token of a
 * direction is made of the pair's key and both epochs: who sends it has proved himself. index is a
 * number of the receiver's own, by which it finds the sender. */
#ifndef BTL_OFI_WIRE_H
#define BTL_OFI_WIRE_H

#include <base/crypto.h>
#include <base/name.h>
#include <btl/ofi/ofi_card.h>

#define OFI_WIRE_VERSION 3

enum ofi_kind {
    OFI_AM = 1,      /* an active message with its channel and tag */
    OFI_BYE = 3,     /* the last of the sequence: the sender has deleted this peer */
    OFI_BYE_ACK = 4, /* outside the sequence: everything up to BYE was taken */
    OFI_HELLO = 5,
    OFI_LOST = 6 /* outside the sequence: the session has failed at the sender */
};

enum { OFI_HEADER_BYTES = 16, OFI_HELLO_FIXED = 48 };
enum { OFI_HELLO_MAX = OFI_HELLO_FIXED + FABRIC_ADDRESS_MAX + MAC_BYTES };

struct ofi_header {
    uint8_t kind, channel, tag;
    uint16_t sequence;
    uint32_t index;
    uint64_t token;
};

static inline void ofi_header_encode(uint8_t *out, const struct ofi_header *header)
{
    out[0] = (uint8_t) (header->kind | header->channel << 4);
    out[1] = header->tag;
    put_le16(out + 2, header->sequence);
    put_le32(out + 4, header->index);
    put_le64(out + 8, header->token);
}

/* Of at least OFI_HEADER_BYTES. */
static inline struct ofi_header ofi_header_decode(const uint8_t *in)
{
    return (struct ofi_header){.kind = in[0] & 0x0f,
                               .channel = in[0] >> 4,
                               .tag = in[1],
                               .sequence = get_le16(in + 2),
                               .index = get_le32(in + 4),
                               .token = get_le64(in + 8)};
}

struct ofi_hello {
    uint32_t index; /* for frames to the speaker */
    uint32_t max_message;
    orte_process_name_t from, to;
    uint64_t epoch, echo;
    struct fabric_address address; /* the speaker's; the format does not travel */
};

/* Returns the bytes written. */
size_t ofi_hello_encode(uint8_t out[OFI_HELLO_MAX], const struct ofi_hello *hello,
                        const uint8_t key[KEY_BYTES]);
/* Who claims to speak; nothing is proven yet. */
int ofi_hello_decode(struct ofi_hello *hello, const uint8_t *data, size_t size) KEEL_MUST_CHECK;
/* The MAC of one that was decoded. */
int ofi_hello_check(const uint8_t *data, size_t size, const uint8_t key[KEY_BYTES]) KEEL_MUST_CHECK;

/* The token of the frames from one to the other. */
uint64_t ofi_token(const uint8_t key[KEY_BYTES], const orte_process_name_t *from,
                   const orte_process_name_t *to, uint64_t from_epoch, uint64_t to_epoch);

#endif
