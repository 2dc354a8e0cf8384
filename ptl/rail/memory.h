/* Memory of a long message that gets and puts lead to. A handle is good on one rail, so each end
 * has one for each rail in use: grants for its own memory, which others access, and memories, the
 * peer's, which it accesses. */
#ifndef PTL_RAIL_MEMORY_H
#define PTL_RAIL_MEMORY_H

#include <ptl/rail/rail.h>

enum rail_memory_state {
    RAIL_MEMORY_ASKED, /* the answer has not come */
    RAIL_MEMORY_THERE,
    RAIL_MEMORY_NONE /* it cannot be accessed by this rail */
};

/* The peer's memory, or a piece of it, as one rail leads to it. */
struct rail_memory {
    struct list link;
    const struct rail_module *module;
    enum rail_memory_state state;
    uint64_t address;    /* of the message's first byte */
    size_t offset, size; /* of a piece, in the message; all of it: 0, SIZE_MAX */
    size_t left;         /* bytes of a piece that were not put there */
    uint16_t handle_size;
    uint8_t handle[];
};

/* Where all bytes of the convertor lie together; else NULL. */
void *rail_memory_of(const opal_convertor_t *convertor);

/* NULL: none of the list is the module's. */
struct rail_memory *rail_memory_find(const struct list *memories, const struct rail_module *module);
/* The module's, ASKED where it is new. NULL: no memory. */
struct rail_memory *rail_memory_by(struct list *memories, const struct rail_module *module);
/* That of this piece of the message's, which is new. NULL: no memory. */
struct rail_memory *rail_memory_add(struct list *memories, const struct rail_module *module,
                                    size_t offset, size_t size);
/* The module's that has the byte at this offset. NULL: none of the list does. */
struct rail_memory *rail_memory_at(const struct list *memories, const struct rail_module *module,
                                   size_t offset);
/* So many bytes were put there. It ends with the last ones of a piece. */
void rail_memory_filled(struct rail_memory *memory, size_t size);
/* The header has it, and a handle of the module's size: it is THERE. */
void rail_memory_set(struct rail_memory *memory, const struct rail_header *header);
void rail_memory_end(struct rail_memory *memory);
void rail_memories_end(struct list *memories);
/* For btl_put and btl_get. */
static inline mca_btl_base_registration_handle_t *rail_memory_handle(struct rail_memory *memory)
{
    return memory->handle_size > 0 ? (mca_btl_base_registration_handle_t *) memory->handle : NULL;
}

/* Opens all memory to accesses (MCA_BTL_REG_FLAG_*) by the module, once for each, and names it in
 * the header. False: there is no memory or handle. A module that pins opens it to all processes: it
 * does not know who asks. */
bool rail_grant(struct list *grants, struct rail_module *module,
                struct mca_btl_base_endpoint_t *endpoint, void *memory, size_t size,
                uint32_t access, struct rail_header *header) KEEL_MUST_CHECK;
/* Opens a piece of it, size bytes from offset on, to puts until as many of its bytes have come. */
bool rail_grant_piece(struct list *grants, struct rail_module *module, void *memory, size_t offset,
                      size_t size, struct rail_header *header) KEEL_MUST_CHECK;
/* Bytes that pieces of it open to the module. */
size_t rail_grants_open(const struct list *grants, const struct rail_module *module);
/* These bytes have come, by any rail: pieces that have all of theirs end. */
void rail_grants_came(struct list *grants, size_t offset, size_t size);
/* What comes late on any rail is not let in any more. */
void rail_grants_end(struct list *grants);

#endif
