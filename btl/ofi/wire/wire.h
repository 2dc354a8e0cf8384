/* What goes over an ofi endpoint: hellos (btl/sessions/hello.h), and frames. Little-endian; pure
 * functions between bytes and structs. docs/wire.md draws them.
 *
 *   frame   kind 1 (its upper half: the channel), tag 1, sequence 2, index 4, token 8, then data
 *
 * The token of a direction is made of the pair's key and both epochs: who sends it has proved
 * himself. index is a number of the receiver's own, by which it finds the sender. */
#ifndef BTL_OFI_WIRE_H
#define BTL_OFI_WIRE_H

#include <base/data/le.h>
#include <btl/sessions/hello.h>

#define OFI_WIRE_VERSION 3

enum ofi_kind {
    OFI_AM = 1,      /* an active message with its channel and tag */
    OFI_BYE = 3,     /* the last of the sequence: the sender has deleted this peer */
    OFI_BYE_ACK = 4, /* outside the sequence: everything up to BYE was taken */
    OFI_HELLO = 5,
    OFI_LOST = 6 /* outside the sequence: the session has failed at the sender */
};

enum { OFI_HEADER_BYTES = 16 };

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

#define OFI_HELLO_FORMAT                                                               \
    {                                                                                  \
        .kind = OFI_HELLO, .version = OFI_WIRE_VERSION, .magic = {'K', 'L', 'o', 'f'}, \
        .key = "btl.ofi", .hello_mac = "keel ofi hello", .token_mac = "keel ofi token" \
    }

#endif
