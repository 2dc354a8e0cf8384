/* The headers that rails put before the bytes of a message, little-endian:
 *
 *   0 u8 type, and in its upper half the version  1 u8 flags
 *   MATCH, RNDV: 2 u16 context  4 i32 source  8 i32 tag  12 u16 sequence  14 u16 zero
 *   others:      2 zero  8 u64 id
 *   RNDV, WANT, MEMORY, PULL: 16 u64 bytes  24 u64 own id
 *   FRAG, LANDED:             16 u64 bytes  24 u64 offset
 *   PULL:                     32 u64 offset
 *   with memory, behind these: u64 address  u16 handle bytes  six zero  the handle
 *
 * and then, of MATCH and RNDV, the first bytes of the message, of FRAG those from its offset. An id
 * names a request of the process that gets it, an own id one of the process that sends it.
 *
 * RNDV announces a message that is to be answered, by ACK when its receiver has all that it wants
 * of it, by NACK when nobody wants it. The receiver moves what lies behind the first bytes, piece
 * by piece, over any rails: it gets a piece from the memory that RNDV names, or asks for it with
 * PULL. On the other rails it asks for that memory with WANT, whose bytes are the receiver's number
 * of the rail; MEMORY answers with it in the place of the own id, over any rail, and without a
 * handle where there is none. After a PULL the piece comes by puts to the memory that it names,
 * each of which LANDED tells of, or as FRAGs. Who pulled all of them has told the sender enough: no
 * ACK follows.
 *
 * Any of them may stand behind a number, where more than one rail may lead to a process (link.h):
 *
 *   NUMBERED, CAME, LOST: 0 u8 type  1 u8 flags  2 zero  4 u32 number  8 u32 came
 *   NUMBERED with PART:   12 u32 offset  16 u32 whole
 *
 * came: all frames to the sender with numbers before it have come. CAME says only that, and its
 * number is zero; LOST that its sender has given this process up. Behind NUMBERED stands a frame,
 * or nothing, or with PART a piece of a frame that has whole bytes. */
#ifndef PTL_RAIL_WIRE_H
#define PTL_RAIL_WIRE_H

#include <base/data/le.h>
#include <keel/btl.h>
#include <keel/ptl_base.h>

enum rail_type {
    RAIL_MATCH = MCA_PTL_HDR_TYPE_MATCH,
    RAIL_RNDV = MCA_PTL_HDR_TYPE_RNDV,
    RAIL_FRAG = MCA_PTL_HDR_TYPE_FRAG,
    RAIL_ACK = MCA_PTL_HDR_TYPE_ACK,
    RAIL_NACK,
    RAIL_LANDED,
    RAIL_WANT,
    RAIL_MEMORY,
    RAIL_PULL,
    RAIL_NUMBERED,
    RAIL_CAME,
    RAIL_LOST
};

/* Of all headers, 0 to 15; another one is understood by nobody. */
enum { RAIL_VERSION = 3 };

enum {
    RAIL_FLAG_ACK = MCA_PTL_FLAGS_ACK, /* RNDV: always */
    RAIL_FLAG_FETCH = 2,       /* RNDV, MEMORY: all of the message may be fetched from here */
    RAIL_FLAG_PUT = 4,         /* PULL: the bytes may be put there */
    RAIL_FLAG_PART = 8,        /* NUMBERED: a piece */
    RAIL_FLAG_CONTIGUOUS = 16, /* RNDV: of memory that may be asked for by WANT */
    RAIL_FLAG_PIECE = 32,      /* PULL: no others may be put there */
};

enum {
    RAIL_MATCH_BYTES = 16, /* and of ACK and NACK */
    RAIL_LONG_BYTES = 32,
    RAIL_PULL_BYTES = 40,
    RAIL_MEMORY_BYTES = 16, /* more where there is memory, and the handle behind them */
    RAIL_MOST_BYTES = RAIL_PULL_BYTES + RAIL_MEMORY_BYTES + MCA_BTL_REG_HANDLE_MAX_SIZE,
    RAIL_NUMBER_BYTES = 12,
    RAIL_PART_BYTES = 20, /* NUMBERED with PART */
};

struct rail_header {
    uint8_t type, flags;
    mca_ptl_base_match_header_t match; /* MATCH, RNDV: those of its fields that travel */
    uint64_t id;
    uint64_t bytes; /* RNDV, MEMORY: of the message; FRAG: of it; LANDED: that landed; PULL: asked
                       for; WANT: a number */
    uint64_t own_id;
    uint64_t offset; /* in the message */
    /* Of the process that sent it; PULL: where the message's first byte goes. */
    uint64_t address;
    uint16_t handle_size;
    const void *handle; /* borrowed: decoded, it lies in the message */
};

/* What a header begins with. */
static inline uint8_t rail_first_byte(uint8_t type)
{
    return (uint8_t) (RAIL_VERSION << 4 | type);
}
static inline unsigned rail_version_of(uint8_t first_byte)
{
    return first_byte >> 4;
}
/* By its flags it names memory. */
bool rail_has_memory(const struct rail_header *header);
/* Writes at most RAIL_MOST_BYTES; returns how many. */
size_t rail_encode(uint8_t *to, const struct rail_header *header);
/* The first RAIL_MATCH_BYTES of MATCH and RNDV, with type and flags of the former: by two words,
 * which whoever copies the header finds as they were stored. */
static inline void rail_encode_match(uint8_t *to, const mca_ptl_base_match_header_t *match)
{
    put_le64(to, rail_first_byte(RAIL_MATCH) | (uint64_t) match->hdr_contextid << 16 |
                     (uint64_t) (uint32_t) match->hdr_src << 32);
    put_le64(to + 8, (uint32_t) match->hdr_tag | (uint64_t) match->hdr_msg_seq << 32);
}
/* Of MATCH and RNDV: hdr_contextid, hdr_src, hdr_tag and hdr_msg_seq. False: no rank has this
 * source, or it is the tag that receivers mean any by. */
KEEL_MUST_CHECK static inline bool rail_decode_match(mca_ptl_base_match_header_t *match,
                                                     const uint8_t *from)
{
    match->hdr_contextid = get_le16(from + 2);
    match->hdr_src = (int32_t) get_le32(from + 4);
    match->hdr_tag = (int32_t) get_le32(from + 8);
    match->hdr_msg_seq = get_le16(from + 12);
    return match->hdr_src >= 0 && match->hdr_tag != INT32_MIN && get_le16(from + 14) == 0;
}
/* Of size bytes, which are the header and perhaps more; *taken: how many the header has. BAD_PARAM:
 * not a header of this version, and nothing is written. */
int rail_decode(struct rail_header *header, const uint8_t *from, size_t size,
                size_t *taken) KEEL_MUST_CHECK;

enum rail_part_kind {
    RAIL_PART_NONE, /* of CAME */
    RAIL_PART_LOST,
    RAIL_PART_WHOLE,
    RAIL_PART_SOME
};

/* What stands behind a number. */
struct rail_part {
    enum rail_part_kind kind;
    uint32_t number, came;
    uint32_t offset, whole; /* bytes; of SOME */
    const uint8_t *bytes;   /* borrowed: they lie in the message */
    size_t size;
};

/* RAIL_NUMBER_BYTES, of a frame whose came is not known yet; of CAME; of LOST. */
void rail_encode_number(uint8_t *to, uint32_t number);
void rail_encode_came(uint8_t *to, uint32_t came);
void rail_encode_lost(uint8_t *to);
void rail_set_came(uint8_t *to, uint32_t came);
static inline uint32_t rail_number_of(const uint8_t *numbered)
{
    return get_le32(numbered + 4);
}
/* RAIL_PART_BYTES, for a piece of the frame that begins with this NUMBERED header. */
void rail_encode_part(uint8_t *to, const uint8_t *numbered, uint32_t offset, uint32_t whole);
/* False: it makes no sense. */
bool rail_decode_number(struct rail_part *part, const uint8_t *from, size_t size) KEEL_MUST_CHECK;

#endif
