/* The RML's frame header on the wire: 80 bytes, little-endian, before at most RML_FRAME_MAX bytes
 * of payload. docs/wire.md draws it and gives the reasons. */
#ifndef RML_RML_WIRE_H
#define RML_RML_WIRE_H

#include <keel/rml.h>
#include <rml/message/stamp.h>

#define RML_WIRE_VERSION 2u
#define RML_WIRE_SIZE 80u

/* What the payload was when it was sent: plain bytes, or an opal_buffer_t of either type; or the
 * latter, packed (rml/message/pack.h), which only control messages are. */
enum rml_format {
    RML_RAW,
    RML_BUFFER_NON_DESC,
    RML_BUFFER_FULLY_DESC,
    RML_PACKED_NON_DESC,
    RML_PACKED_FULLY_DESC,
    RML_FORMATS,
};

/* Only RML_DATA has a payload, and with it format, tag, total and offset. */
struct rml_header {
    struct rml_stamp stamp;
    enum oob_key role; /* what the origin proved to the first daemon on the way */
    enum rml_format format;
    uint16_t hops; /* relays passed so far */
    orte_rml_tag_t tag;
    uint32_t total;  /* bytes of the message, at most INT_MAX */
    uint32_t offset; /* of this frame within the message; with length and stamp.rest the total */
    orte_process_name_t origin;
    orte_process_name_t dest;
};

static inline bool rml_header_first(const struct rml_header *header)
{
    return header->stamp.kind == RML_DATA && header->offset == 0;
}

static inline bool rml_header_last(const struct rml_header *header)
{
    return header->stamp.kind == RML_DATA && header->stamp.length == header->total - header->offset;
}

/* The class that a frame travels in: acknowledgements never wait behind data, but that a process
 * ended is told behind what it said last. */
static inline enum oob_class rml_header_carrier(const struct rml_header *header)
{
    enum rml_kind kind = header->stamp.kind;
    bool in_order = kind == RML_DATA || kind == RML_PROBE || kind == RML_UNREACH;
    return in_order ? header->stamp.class : OOB_CONTROL;
}

void rml_header_encode(uint8_t bytes[RML_WIRE_SIZE], const struct rml_header *header);
/* Pure. data is a whole frame; its payload follows the header and has the length that the header
 * says. ORTE_ERR_BAD_PARAM for anything that rml_header_encode would not write; header is then
 * untouched. */
int rml_header_decode(struct rml_header *header, const void *data, size_t size) KEEL_MUST_CHECK;

#endif
