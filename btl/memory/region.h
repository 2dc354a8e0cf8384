/* Registered regions behind flat handles: {index, generation}, checked at every access against
 * region, bounds, rights and endpoint. A handle is dead from region_remove on, also when its slot
 * is used again. The table's owner guards it: one thread at a time. */
#ifndef BTL_REGION_H
#define BTL_REGION_H

#include <btl/interface/call.h>

struct region_handle {
    uint32_t index;
    uint32_t generation; /* odd while the region lives; starts random */
    uint64_t base;       /* the address at the owner: lets an offset be computed, never trusted */
    uint64_t size;
};

struct region_table;

/* A key: a handle in 16 bytes, for layers above. The first word has index and generation. */
#define REGION_KEY_WORDS 2
/* handle: one of the module's, or a copy. */
void btl_key_of(mca_btl_base_module_t *module, const void *handle, uint64_t key[REGION_KEY_WORDS]);
/* Rebuilds a handle of a peer's region from its key and the bytes that are used. handle has room
 * for MCA_BTL_REG_HANDLE_MAX_SIZE bytes and is aligned to 8. The key comes from a wire; the target
 * checks the handle. */
void btl_handle_of(mca_btl_base_module_t *module, const uint64_t key[REGION_KEY_WORDS],
                   uint64_t address, uint64_t size, void *handle);

struct region_table *region_table_create(uint32_t limit);
void region_table_destroy(struct region_table *table);
/* NULL: no room, or size 0 or wrapping. endpoint MCA_BTL_ENDPOINT_ANY or NULL: whichever. The
 * handle is the table's. */
mca_btl_base_registration_handle_t *region_add(struct region_table *table,
                                               struct mca_btl_base_endpoint_t *endpoint, void *base,
                                               size_t size, uint32_t flags);
int region_remove(struct region_table *table, mca_btl_base_registration_handle_t *handle);
/* Whether base and size of a handle cover this. */
bool region_handle_covers(const struct region_handle *handle, uint64_t address, uint64_t size);
/* What an initiator sees by itself, before the first piece of an operation: BAD_PARAM without local
 * memory, without a handle or for an atomic that is none, VALUE_OUT_OF_BOUNDS for what the handle's
 * own base and size show to lie outside. All modules refuse just that inside the call; the rest is
 * the target's to tell, which checks all of it, and comes in the callback. */
int region_check_call(const struct rdma_call *call) KEEL_MUST_CHECK;
int region_check_atomic(const struct atomic_call *call) KEEL_MUST_CHECK;
/* What a peer's access comes to: the local address, or NULL with *status OPAL_ERR_PERM (stale or
 * forged handle, wrong endpoint, missing right) or OPAL_ERR_VALUE_OUT_OF_BOUNDS. rights: all of
 * these MCA_BTL_REG_FLAG_* are needed. The handle comes from a wire and is hostile. */
void *region_access(struct region_table *table, const struct region_handle *handle,
                    struct mca_btl_base_endpoint_t *endpoint, uint64_t address, uint64_t size,
                    uint32_t rights, int *status);

#endif
