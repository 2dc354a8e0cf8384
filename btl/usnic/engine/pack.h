/* Messages to records: those that fit into a packet whole, several in one; larger ones in chunks.
 * And chunks to messages. */
#ifndef BTL_USNIC_PACK_H
#define BTL_USNIC_PACK_H

#include <base/data/list.h>
#include <btl/usnic/wire/packet.h>
#include <keel/btl.h>

/* A message that waits to be sent; a part of the caller's record of it. */
struct usnic_message {
    struct list link;
    const struct mca_btl_base_segment_t *segments; /* borrowed, and what they point to */
    size_t count;
    size_t total;    /* bytes of all segments */
    size_t position; /* bytes that were packed */
    uint8_t channel, tag;
    bool priority; /* does not wait for others to share its packet */
};

/* Whether a message of this size goes into one packet of this capacity. */
static inline bool usnic_pack_is_whole(size_t total, size_t capacity)
{
    return usnic_record_bytes(USNIC_RECORD_BYTES, total) <= capacity;
}
/* Adds a whole message, which must fit, at out; returns the bytes of the record. */
size_t usnic_pack_whole(uint8_t *out, const struct usnic_message *message);
/* Adds a chunk of at most room bytes, its header included. 0: that is too little. */
size_t usnic_pack_chunk(uint8_t *out, size_t room, struct usnic_message *message);

/* The message that is put together of the chunks of one flow. */
struct usnic_assembly {
    uint8_t *data;  /* owned; NULL: it lands elsewhere */
    uint32_t total; /* 0: there is none */
    uint32_t position;
    uint8_t channel, tag;
};

/* The chunk continues the message, or begins one of at most that many bytes. */
bool usnic_assembly_follows(const struct usnic_assembly *assembly,
                            const struct usnic_record *record, size_t max_message);

#endif
