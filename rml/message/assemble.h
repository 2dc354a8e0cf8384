/* Assembles the frames of one stream into messages. The frames come once and in order
 * (rml/delivery); what they claim of their message is checked, and memory grows with the bytes that
 * came, not with the size that the first frame claims. */
#ifndef RML_ASSEMBLE_H
#define RML_ASSEMBLE_H

#include <rml/message/message.h>

struct rml_assembly {
    struct rml_message *message; /* owned; under way, or NULL */
    uint32_t total;              /* what the message under way will have */
    size_t capacity;             /* of its memory */
    bool skipping;               /* the rest of a message that is not wanted */
};

/* What a frame did. */
enum rml_assembled {
    RML_ASSEMBLED_MORE,   /* taken; the message is not whole yet, or is skipped */
    RML_ASSEMBLED_WHOLE,  /* *message is the caller's now */
    RML_ASSEMBLED_BROKEN, /* does not continue what came before: both are dropped */
    RML_ASSEMBLED_NO_MEMORY,
};

/* header is decoded and fits the payload. */
enum rml_assembled rml_assemble(struct rml_assembly *assembly, const struct rml_header *header,
                                const void *payload, struct rml_message **message) KEEL_MUST_CHECK;
/* This frame's message is not wanted: neither it nor what follows of it is kept. */
void rml_assembly_skip(struct rml_assembly *assembly, const struct rml_header *header);
/* The rest of the message under way will not come. */
void rml_assembly_abandon(struct rml_assembly *assembly);

#endif
