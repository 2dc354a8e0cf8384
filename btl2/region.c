/* Registrations: those that prepare makes for a descriptor, and a program's own for several. */
#include <config.h>

#include <btl/lock/lock.h>
#include <btl2/adapter.h>

struct btl2_region *btl2_region_open(struct btl2_module *module, void *base, size_t size,
                                     uint32_t flags)
{
    mca_btl_base_module_t *btl = module->btl;
    struct btl2_region *region = pool_get(&module->regions);

    if (!region) {
        return NULL;
    }
    *region = (struct btl2_region){
        .super = {.mpool = &module->mpool,
                  .base = base,
                  .bound = (unsigned char *) base + size - 1,
                  .ref_count = 1,
                  .flags = flags},
        .handle = btl->btl_register_mem(btl, MCA_BTL_ENDPOINT_ANY, base, size, flags),
    };
    if (!region->handle) {
        pool_put(&module->regions, region);
        return NULL;
    }
    btl_key_of(btl, region->handle, region->key);
    return region;
}

void btl2_region_hold(struct btl2_region *region)
{
    region->super.ref_count++;
}

static struct btl2_module *owner_of(const mca_mpool_base_module_t *mpool)
{
    return container_of(mpool, struct btl2_module, mpool);
}

void btl2_region_release(struct btl2_region *region)
{
    if (!region || --region->super.ref_count > 0) {
        return;
    }
    struct btl2_module *module = owner_of(region->super.mpool);
    (void) module->btl->btl_deregister_mem(module->btl, region->handle);
    pool_put(&module->regions, region);
}

bool btl2_region_covers(const struct btl2_region *region, const void *base, size_t size)
{
    const unsigned char *from = base;

    return from >= region->super.base && from <= region->super.bound &&
           size - 1 <= (size_t) (region->super.bound - from);
}

/* ---- a program's own ---- */

static int mpool_register(mca_mpool_base_module_t *mpool, void *addr, size_t size, uint32_t flags,
                          mca_mpool_base_registration_t **registration)
{
    (void) flags;
    *registration = NULL;
    if (!addr || size == 0) {
        return OPAL_ERR_BAD_PARAM;
    }
    btl_lock();
    struct btl2_region *region = btl2_region_open(owner_of(mpool), addr, size, BTL2_RIGHTS_ALL);
    btl_unlock();
    if (!region) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *registration = &region->super;
    return OPAL_SUCCESS;
}

static int mpool_deregister(mca_mpool_base_module_t *mpool,
                            mca_mpool_base_registration_t *registration)
{
    if (!registration || registration->mpool != mpool) {
        return OPAL_ERR_BAD_PARAM;
    }
    btl_lock();
    btl2_region_release((struct btl2_region *) (void *) registration);
    btl_unlock();
    return OPAL_SUCCESS;
}

const mca_mpool_base_module_t btl2_mpool = {
    .mpool_register = mpool_register,
    .mpool_deregister = mpool_deregister,
};
