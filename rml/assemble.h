/* Assembles the frames of one origin and class into messages. Frames of a message come one after
 * the other; memory grows with the bytes that came, not with the size that the first frame claims.
 */
#ifndef RML_ASSEMBLE_H
#define RML_ASSEMBLE_H

#include <rml/message.h>

struct rml_assembly {
    uint64_t next;               /* sequence of the message that comes next */
    struct rml_message *message; /* owned; under way, or NULL */
    uint32_t total;              /* what the message under way will have */
    size_t capacity;             /* of its memory */
};

/* What a frame did. */
enum rml_assembled {
    RML_ASSEMBLED_MORE,   /* taken; the message is not whole yet */
    RML_ASSEMBLED_WHOLE,  /* *message is the caller's now */
    RML_ASSEMBLED_OLD,    /* of a message that was already complete: not taken */
    RML_ASSEMBLED_BROKEN, /* does not continue what came before: not taken */
    RML_ASSEMBLED_NO_MEMORY,
};

/* header is decoded and fits the payload. *lost becomes the number of messages that are missing
 * before this one (they are given up). A message under way that the frame does not continue is
 * given up too, and counted. */
enum rml_assembled rml_assemble(struct rml_assembly *assembly, const struct rml_header *header,
                                const void *payload, struct rml_message **message,
                                uint64_t *lost) KEEL_MUST_CHECK;
/* The message of this frame was refused, which is no loss: the next one is expected. */
void rml_assembly_skip(struct rml_assembly *assembly, uint64_t sequence);
/* The rest of the message under way will not come. */
void rml_assembly_abandon(struct rml_assembly *assembly);
/* Forgets everything: the origin's next incarnation begins at 0. */
void rml_assembly_reset(struct rml_assembly *assembly);

#endif
