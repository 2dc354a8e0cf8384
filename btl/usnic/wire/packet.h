/* What goes over usnic's wire: packets, which have a header, then records, then ranges. All numbers
 * are little-endian; pure functions between bytes and structs. docs/wire.md draws them.
 *
 *   header   kind and version 1, ranges 1, credit 2, index 4, token 8, sequence 4, ack 4, stamp 4,
 *            echo 4, delay 4, length 2, flags 1, waited 1, crc 4
 *   record   size 2, kind and channel 1, tag 1; of a chunk: offset 4, total 4; data; zeros up to
 *            a multiple of 8
 *   range    offset 2, count 2: so many packets from ack + offset have been received
 *
 * The first byte of a packet is below 0xe0; others are the handshake's and the path checker's. */
#ifndef BTL_USNIC_PACKET_H
#define BTL_USNIC_PACKET_H

#include <base/data/le.h>
#include <keel/types.h>

enum { USNIC_VERSION = 1 };

enum usnic_kind {
    USNIC_PACKET = 1, /* has a sequence number, and records */
    USNIC_ACK = 2     /* has none */
};

enum { USNIC_SUMMED = 1 }; /* flag: crc is set */

enum {
    USNIC_HEADER_BYTES = 44,
    USNIC_RANGE_BYTES = 4,
    USNIC_RANGES = 64, /* in a packet at most */
    USNIC_RECORD_BYTES = 4,
    USNIC_CHUNK_BYTES = 12 /* a chunk's, in place of that */
};

/* Of the biggest packet of control and the smallest MTU. */
enum { USNIC_MTU_LEAST = USNIC_HEADER_BYTES + USNIC_RANGES * USNIC_RANGE_BYTES + 64 };

/* A stamp is the sender's time in sixteenths of a microsecond, and differs from packet to packet.
 */
enum { USNIC_STAMPS_PER_US = 16 };

#define USNIC_NO_ECHO UINT32_MAX

enum { USNIC_WAITED_MOST = 31 };

struct usnic_header {
    uint8_t kind;
    uint8_t ranges;    /* how many */
    uint16_t credit;   /* in units of USNIC_CREDIT_BYTES */
    uint32_t index;    /* of the receiver's own: finds the session */
    uint64_t token;    /* proves it */
    uint32_t sequence; /* of a PACKET */
    uint32_t ack;      /* what the speaker expects next */
    uint32_t stamp;
    uint32_t echo;   /* the stamp of the PACKET that the speaker received last, */
    uint32_t delay;  /* and how long ago, in the same unit; USNIC_NO_ECHO: there is no echo */
    uint16_t length; /* of the records */
    uint8_t flags;
    uint8_t waited; /* before the speaker looked, that packet may have waited for 2^waited us;
                       0: not at all */
    uint32_t crc;   /* of all other bytes */
};

enum { USNIC_CREDIT_BYTES = 256 };

struct usnic_range {
    uint32_t first, end; /* sequence numbers; end is not in it */
};

void usnic_header_encode(uint8_t out[USNIC_HEADER_BYTES], const struct usnic_header *header);
/* Of a whole packet. False: it is none of this version, or its size is not what its header says. */
bool usnic_header_decode(struct usnic_header *header, const uint8_t *data, size_t size);
/* The length in the header of one that was decoded. */
static inline uint16_t usnic_header_length(const uint8_t *data)
{
    return get_le16(data + 36);
}

void usnic_ranges_encode(uint8_t *out, uint32_t ack, const struct usnic_range *ranges,
                         size_t count);
struct usnic_range usnic_range_decode(const uint8_t *in, uint32_t ack);

/* Sets flags and crc of a packet that is complete. */
void usnic_packet_sum(uint8_t *data, size_t size);
/* Of one that usnic_header_decode took. wanted: one without a checksum is not sound. */
bool usnic_packet_is_sound(const uint8_t *data, size_t size, bool wanted);

enum usnic_record_kind { USNIC_WHOLE = 1, USNIC_CHUNK = 2 };

struct usnic_record {
    uint8_t kind, channel, tag; /* channel: below 16 */
    uint16_t size;
    uint32_t offset, total; /* of a chunk, in its message */
};

/* Bytes of a record and its header, with what fills them up. */
static inline size_t usnic_record_bytes(size_t header, size_t size)
{
    return (header + size + 7) & ~(size_t) 7;
}
/* Writes the header; returns its size. */
size_t usnic_record_encode(uint8_t *out, const struct usnic_record *record);
/* The record at *at, which moves behind it; *data: its bytes. False: it breaks the protocol. */
bool usnic_record_decode(struct usnic_record *record, const uint8_t *records, size_t length,
                         size_t *at, const uint8_t **data);

#endif
