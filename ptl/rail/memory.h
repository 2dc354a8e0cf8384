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

/* The peer's memory, as one rail leads to it. */
struct rail_memory {
    struct list link;
    const struct rail_module *module;
    enum rail_memory_state state;
    uint64_t address; /* of the message's first byte */
    uint16_t handle_size;
    uint8_t handle[];
};

/* Where all bytes of the convertor lie together; else NULL. */
void *rail_memory_of(const opal_convertor_t *convertor);

/* NULL: none of the list is the module's. */
struct rail_memory *rail_memory_find(const struct list *memories, const struct rail_module *module);
/* The module's, ASKED where it is new. NULL: no memory. */
struct rail_memory *rail_memory_by(struct list *memories, const struct rail_module *module);
/* The header has it, and a handle of the module's size: it is THERE. */
void rail_memory_set(struct rail_memory *memory, const struct rail_header *header);
void rail_memory_end(struct rail_memory *memory);
void rail_memories_end(struct list *memories);
/* For btl_put and btl_get. */
static inline mca_btl_base_registration_handle_t *rail_memory_handle(struct rail_memory *memory)
{
    return memory->handle_size > 0 ? (mca_btl_base_registration_handle_t *) memory->handle : NULL;
}

/* Opens memory to accesses (MCA_BTL_REG_FLAG_*) by the module, once for each, and names it in the
 * header. False: there is no memory or handle. */
bool rail_grant(struct list *grants, struct rail_module *module,
                struct mca_btl_base_endpoint_t *endpoint, void *memory, size_t size,
                uint32_t access, struct rail_header *header) KEEL_MUST_CHECK;
/* What comes late on any rail is not let in any more. */
void rail_grants_end(struct list *grants);

#endif
