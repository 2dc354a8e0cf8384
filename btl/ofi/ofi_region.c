#include <config.h>

#include <btl/ofi/ofi_region.h>
#include <stdlib.h>
#include <string.h>

enum { PER_CHUNK = 128 };

/* Beside the region of the same index. Never moves: owners keep pointers to the handle. */
struct registration {
    struct ofi_handle handle;
    mca_btl_base_registration_handle_t *region; /* the table's; NULL: free */
    struct fabric_mr *mr;                       /* NULL: over sends only */
    uint32_t flags;
};

struct ofi_regions {
    uint32_t limit;
    struct registration **chunks;
};

/* ---- the table ---- */

struct ofi_regions *ofi_regions_create(uint32_t limit)
{
    struct ofi_regions *regions = calloc(1, sizeof(*regions));

    if (!regions) {
        return NULL;
    }
    regions->limit = limit;
    regions->chunks = calloc(limit / PER_CHUNK + 1, sizeof(struct registration *));
    if (!regions->chunks) {
        free(regions);
        return NULL;
    }
    return regions;
}

static struct registration *registration_at(const struct ofi_regions *regions, uint32_t index)
{
    struct registration *chunk = index < regions->limit ? regions->chunks[index / PER_CHUNK] : NULL;

    return chunk ? &chunk[index % PER_CHUNK] : NULL;
}

static struct registration *registration_make(struct ofi_regions *regions, uint32_t index)
{
    struct registration **chunk = &regions->chunks[index / PER_CHUNK];

    if (!*chunk) {
        *chunk = calloc(PER_CHUNK, sizeof(**chunk));
    }
    return registration_at(regions, index);
}

static void registration_shut(struct registration *registration)
{
    fabric_mr_release(registration->mr);
    registration->mr = NULL;
}

void ofi_regions_destroy(struct ofi_regions *regions)
{
    if (!regions) {
        return;
    }
    for (uint32_t chunk = 0; chunk < regions->limit / PER_CHUNK + 1; chunk++) {
        for (uint32_t i = 0; regions->chunks[chunk] && i < PER_CHUNK; i++) {
            registration_shut(&regions->chunks[chunk][i]);
        }
        free(regions->chunks[chunk]);
    }
    free(regions->chunks);
    free(regions);
}

/* ---- registering ---- */

static bool keys_are_mine(const struct fabric *fabric)
{
    return !(fabric->info->domain_attr->mr_mode & FI_MR_PROV_KEY);
}

static uint64_t key_of(const struct region_handle *region)
{
    return (uint64_t) region->generation << 32 | region->index;
}

/* The provider's registration. Without one the region is served over sends. */
static void registration_open(struct ofi_module *ofi, struct registration *registration)
{
    struct ofi_handle *handle = &registration->handle;
    uint32_t flags = registration->flags;
    bool reads = flags & MCA_BTL_REG_FLAG_REMOTE_READ,
         writes = flags & MCA_BTL_REG_FLAG_REMOTE_WRITE;
    uint64_t access =
        FI_READ | FI_WRITE | (reads ? FI_REMOTE_READ : 0) | (writes ? FI_REMOTE_WRITE : 0);

    handle->uses = 0;
    handle->key = 0;
    registration->mr = fabric_mr_open(&ofi->fabric, (void *) (uintptr_t) handle->region.base,
                                      handle->region.size, access, key_of(&handle->region));
    if (registration->mr) {
        handle->key = fi_mr_key(registration->mr->mr);
        handle->uses =
            (reads ? OFI_USE_READ : 0) | (writes ? OFI_USE_WRITE : 0) |
            (reads && writes && (flags & MCA_BTL_REG_FLAG_REMOTE_ATOMIC) ? OFI_USE_ATOMIC : 0);
    }
}

mca_btl_base_registration_handle_t *ofi_region_register(struct ofi_module *ofi,
                                                        ofi_endpoint *endpoint, void *base,
                                                        size_t size, uint32_t flags)
{
    mca_btl_base_registration_handle_t *region =
        region_add(ofi->regions, endpoint, base, size, flags);
    struct region_handle flat;

    if (!region) {
        return NULL;
    }
    memcpy(&flat, region, sizeof(flat));
    struct registration *registration = registration_make(ofi->native.regions, flat.index);
    if (!registration) {
        (void) region_remove(ofi->regions, region);
        return NULL;
    }
    *registration = (struct registration){
        .handle.region = flat,
        .region = region,
        .flags = flags,
    };
    /* Providers do not know who asks. */
    if ((!endpoint || endpoint == MCA_BTL_ENDPOINT_ANY) && ofi->fabric.ep) {
        registration_open(ofi, registration);
    }
    return (mca_btl_base_registration_handle_t *) &registration->handle;
}

/* NULL: it is not one of mine. */
static struct registration *registration_of(const struct ofi_module *ofi,
                                            const mca_btl_base_registration_handle_t *handle)
{
    const struct ofi_handle *flat = (const struct ofi_handle *) handle;
    struct registration *registration =
        flat ? registration_at(ofi->native.regions, flat->region.index) : NULL;

    return registration && flat == &registration->handle && registration->region ? registration
                                                                                 : NULL;
}

int ofi_region_deregister(struct ofi_module *ofi, mca_btl_base_registration_handle_t *handle)
{
    struct registration *registration = registration_of(ofi, handle);

    if (!registration) {
        return OPAL_ERR_BAD_PARAM;
    }
    registration_shut(registration);
    int status = region_remove(ofi->regions, registration->region);
    registration->region = NULL;
    return status;
}

struct fabric_mr *ofi_region_mr(const struct ofi_module *ofi,
                                const mca_btl_base_registration_handle_t *handle,
                                const void *address, size_t size)
{
    const struct registration *registration = registration_of(ofi, handle);

    return registration && region_handle_covers(&registration->handle.region,
                                                (uint64_t) (uintptr_t) address, size)
               ? registration->mr
               : NULL;
}

bool ofi_region_is_handle(const struct ofi_module *ofi, const struct ofi_handle *handle)
{
    return (handle->region.generation & 1) && handle->zero == 0 &&
           (!keys_are_mine(&ofi->fabric) || handle->key == key_of(&handle->region));
}

/* ---- keys of layers above ---- */

/* The first word: generation, uses and index. The second: the region's base, which offsets are
 * counted from, where keys are mine; else the provider's key. */
enum { USES_SHIFT = 29, INDEX_BITS = (1 << USES_SHIFT) - 1 };

/* A provider that makes keys and counts offsets needs more words than there are. */
static bool keys_fit(const struct ofi_module *ofi)
{
    return keys_are_mine(&ofi->fabric) ||
           (ofi->fabric.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR);
}

void ofi_key_of(mca_btl_base_module_t *btl, const void *handle, uint64_t *key)
{
    const struct ofi_module *ofi = ofi_of(btl);
    struct ofi_handle flat = {.uses = 0};

    memcpy(&flat, handle, btl->btl_registration_handle_size);
    key[0] = key_of(&flat.region);
    key[1] = 0;
    if (ofi->native.regions && keys_fit(ofi)) {
        key[0] |= (uint64_t) flat.uses << USES_SHIFT;
        key[1] = keys_are_mine(&ofi->fabric) ? flat.region.base : flat.key;
    }
}

void ofi_handle_of(mca_btl_base_module_t *btl, const uint64_t *key, uint64_t address, uint64_t size,
                   void *handle)
{
    const struct ofi_module *ofi = ofi_of(btl);
    struct ofi_handle flat = {
        .region = {.index = (uint32_t) key[0] & (ofi->native.regions ? INDEX_BITS : UINT32_MAX),
                   .generation = (uint32_t) (key[0] >> 32),
                   .base = address,
                   .size = size},
        .uses = (uint32_t) key[0] >> USES_SHIFT,
        .key = key[1],
    };

    if (ofi->native.regions && keys_are_mine(&ofi->fabric)) {
        flat.key = key_of(&flat.region);
        if (key[1] <= address && size <= UINT64_MAX - (address - key[1])) {
            flat.region.base = key[1];
            flat.region.size += address - key[1];
        }
    }
    memcpy(handle, &flat, btl->btl_registration_handle_size);
}

/* ---- restarts ---- */

/* Calls visit for each registration in use. */
static void each(struct ofi_module *ofi, void (*visit)(struct ofi_module *, struct registration *))
{
    for (uint32_t index = 0; index < ofi->native.regions->limit; index += PER_CHUNK) {
        struct registration *chunk = ofi->native.regions->chunks[index / PER_CHUNK];
        for (uint32_t i = 0; chunk && i < PER_CHUNK; i++) {
            if (chunk[i].region) {
                visit(ofi, &chunk[i]);
            }
        }
    }
}

static void shut(struct ofi_module *ofi, struct registration *registration)
{
    (void) ofi;
    registration_shut(registration);
}

void ofi_regions_shut(struct ofi_module *ofi)
{
    each(ofi, shut);
}

static void open_again(struct ofi_module *ofi, struct registration *registration)
{
    if (registration->handle.uses != 0) {
        registration_open(ofi, registration);
    }
}

void ofi_regions_again(struct ofi_module *ofi)
{
    each(ofi, open_again);
}
