/* What daemons say about broadcasts, on RML_TAG_XCAST: 40 bytes, little-endian, before the payload
 * of those that have one. docs/wire.md draws it and gives the reasons. */
#ifndef RML_CAST_WIRE_H
#define RML_CAST_WIRE_H

#include <rml/message/rml_wire.h>

#define RML_CAST_VERSION 1u
#define RML_CAST_SIZE 40u

enum rml_cast_kind {
    RML_CAST_UP,   /* to the root: please broadcast */
    RML_CAST_DOWN, /* from it, to daemons and from them to ranks */
    RML_CAST_JOIN, /* to a parent: number is the last that I have, other what is done below me */
    RML_CAST_DONE, /* to a parent: everything up to number is here and below */
    RML_CAST_OVER, /* to a rank: its broadcasts up to number are everywhere */
    RML_CAST_KINDS,
};

struct rml_cast_header {
    enum rml_cast_kind kind;
    enum rml_format format; /* of the payload */
    enum oob_key role;      /* DOWN: what the origin proved */
    orte_rml_tag_t tag;     /* UP, DOWN: of the message, ... */
    orte_jobid_t job;       /* ... and the job that gets it */
    orte_process_name_t origin;
    uint64_t number; /* UP: the origin's; DOWN: the root's */
    uint64_t other;  /* DOWN: the origin's */
};

void rml_cast_encode(uint8_t bytes[RML_CAST_SIZE], const struct rml_cast_header *header);
/* Pure. The payload follows the header. ORTE_ERR_BAD_PARAM, header untouched: nothing that
 * rml_cast_encode writes. */
int rml_cast_decode(struct rml_cast_header *header, const void *data, size_t size) KEEL_MUST_CHECK;

#endif
