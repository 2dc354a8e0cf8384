#include <config.h>

#include <base/data/crypto.h>
#include <btl/interface/base.h>
#include <btl/memory/region.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_PER_CHUNK 128

struct region {
    struct region_handle handle; /* first: what the owner gets; its generation is the slot's */
    unsigned char *base;         /* borrowed */
    size_t size;
    uint32_t flags;
    struct mca_btl_base_endpoint_t *endpoint; /* NULL: any */
    uint32_t next_free;                       /* index + 1, 0: last; while free */
};

/* Slots lie in chunks that never move, since owners keep pointers to the handles. */
struct region_table {
    struct region **chunks;
    uint32_t chunk_count; /* chunks made */
    uint32_t limit;       /* most slots */
    uint32_t used;        /* slots ever used: all below have a generation */
    uint32_t first_free;  /* index + 1, 0: none */
};

static struct region *slot(const struct region_table *table, uint32_t index)
{
    return &table->chunks[index / SLOTS_PER_CHUNK][index % SLOTS_PER_CHUNK];
}

struct region_table *region_table_create(uint32_t limit)
{
    struct region_table *table = calloc(1, sizeof(*table));
    if (!table) {
        return NULL;
    }
    table->limit = limit;
    table->chunks = calloc(limit / SLOTS_PER_CHUNK + 1, sizeof(*table->chunks));
    if (!table->chunks || crypto_open() != ORTE_SUCCESS) {
        region_table_destroy(table);
        return NULL;
    }
    return table;
}

void region_table_destroy(struct region_table *table)
{
    if (!table) {
        return;
    }
    for (uint32_t i = 0; i < table->chunk_count; i++) {
        free(table->chunks[i]);
    }
    free(table->chunks);
    free(table);
}

/* A slot whose generation is even; NULL: the limit is reached or no memory. */
static struct region *take_slot(struct region_table *table)
{
    if (table->first_free > 0) {
        struct region *region = slot(table, table->first_free - 1);
        table->first_free = region->next_free;
        return region;
    }
    if (table->used == table->limit) {
        return NULL;
    }
    if (table->used == table->chunk_count * SLOTS_PER_CHUNK) {
        struct region *chunk = calloc(SLOTS_PER_CHUNK, sizeof(*chunk));
        if (!chunk) {
            return NULL;
        }
        table->chunks[table->chunk_count++] = chunk;
    }
    struct region *region = slot(table, table->used);
    uint32_t start;
    crypto_random(&start, sizeof(start));
    region->handle.index = table->used++;
    region->handle.generation = start & ~1u;
    return region;
}

mca_btl_base_registration_handle_t *region_add(struct region_table *table,
                                               struct mca_btl_base_endpoint_t *endpoint, void *base,
                                               size_t size, uint32_t flags)
{
    if (!base || size == 0 || size > UINTPTR_MAX - (uintptr_t) base) {
        return NULL;
    }
    struct region *region = take_slot(table);
    if (!region) {
        return NULL;
    }
    region->base = base;
    region->size = size;
    region->flags = flags;
    region->endpoint = endpoint == MCA_BTL_ENDPOINT_ANY ? NULL : endpoint;
    region->handle.generation++;
    region->handle.base = (uint64_t) (uintptr_t) base;
    region->handle.size = size;
    return (mca_btl_base_registration_handle_t *) &region->handle;
}

int region_remove(struct region_table *table, mca_btl_base_registration_handle_t *handle)
{
    const struct region_handle *flat = (const struct region_handle *) handle;
    if (!flat || flat->index >= table->used) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct region *region = slot(table, flat->index);
    if (flat != &region->handle || !(region->handle.generation & 1)) {
        return OPAL_ERR_BAD_PARAM;
    }
    region->handle.generation++;
    region->next_free = table->first_free;
    table->first_free = region->handle.index + 1;
    return OPAL_SUCCESS;
}

static bool covers(uint64_t base, uint64_t length, uint64_t address, uint64_t size)
{
    return address >= base && address - base <= length && size <= length - (address - base);
}

bool region_handle_covers(const struct region_handle *handle, uint64_t address, uint64_t size)
{
    return covers(handle->base, handle->size, address, size);
}

/* Inside of what the remote handle, which may lie anywhere, says of itself. */
static int check_bounds(const struct rdma_call *call)
{
    struct region_handle handle;
    memcpy(&handle, call->remote_handle, sizeof(handle));
    return call->size <= UINT64_MAX - call->remote_address &&
                   region_handle_covers(&handle, call->remote_address, call->size)
               ? OPAL_SUCCESS
               : OPAL_ERR_VALUE_OUT_OF_BOUNDS;
}

int region_check_call(const struct rdma_call *call)
{
    if (!call->remote_handle || (!call->local_address && call->size > 0)) {
        return OPAL_ERR_BAD_PARAM;
    }
    return check_bounds(call);
}

int region_check_atomic(const struct atomic_call *call)
{
    if (!call->rdma.remote_handle ||
        !atomic_is_valid(&call->atomic, call->rdma.remote_address, call->rdma.size)) {
        return OPAL_ERR_BAD_PARAM;
    }
    return check_bounds(&call->rdma);
}

void *region_access(struct region_table *table, const struct region_handle *handle,
                    struct mca_btl_base_endpoint_t *endpoint, uint64_t address, uint64_t size,
                    uint32_t rights, int *status)
{
    *status = OPAL_ERR_PERM;
    if (!(handle->generation & 1) || handle->index >= table->used) {
        return NULL;
    }
    struct region *region = slot(table, handle->index);
    if (region->handle.generation != handle->generation || (region->flags & rights) != rights ||
        (region->endpoint && region->endpoint != endpoint)) {
        return NULL;
    }
    uint64_t base = (uint64_t) (uintptr_t) region->base;
    if (!covers(base, region->size, address, size)) {
        *status = OPAL_ERR_VALUE_OUT_OF_BOUNDS;
        return NULL;
    }
    *status = OPAL_SUCCESS;
    return region->base + (address - base);
}

void btl_key_of(mca_btl_base_module_t *module, const void *handle, uint64_t key[REGION_KEY_WORDS])
{
    const struct btl_component *component = btl_component_of(module);
    struct region_handle flat;

    if (component->key_of) {
        component->key_of(module, handle, key);
        return;
    }
    memcpy(&flat, handle, sizeof(flat));
    key[0] = (uint64_t) flat.generation << 32 | flat.index;
    key[1] = 0;
}

void btl_handle_of(mca_btl_base_module_t *module, const uint64_t key[REGION_KEY_WORDS],
                   uint64_t address, uint64_t size, void *handle)
{
    const struct btl_component *component = btl_component_of(module);
    struct region_handle flat = {
        .index = (uint32_t) key[0],
        .generation = (uint32_t) (key[0] >> 32),
        .base = address,
        .size = size,
    };

    if (component->handle_of) {
        component->handle_of(module, key, address, size, handle);
    } else {
        memcpy(handle, &flat, sizeof(flat));
    }
}
