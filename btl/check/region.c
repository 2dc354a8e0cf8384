/* Regions: what callers have as a handle is a copy of the module's. */
#include <config.h>

#include <btl/check/check.h>
#include <stdlib.h>
#include <string.h>

static struct check_region *region_create(const struct check_call *call,
                                          mca_btl_base_registration_handle_t *inner)
{
    struct check *check = call->check;
    struct check_region *made = calloc(1, sizeof(*made));
    if (!made || btl_map_put(&check->regions, made, made) != ORTE_SUCCESS) {
        free(made);
        return NULL;
    }
    if (btl_map_put(&check->inner_regions, inner, made) != ORTE_SUCCESS) {
        btl_map_remove(&check->regions, made);
        free(made);
        return NULL;
    }
    memcpy(made->bytes, inner, check->layer.inner->btl_registration_handle_size);
    made->inner = inner;
    return made;
}

mca_btl_base_registration_handle_t *check_register_mem(mca_btl_base_module_t *btl,
                                                       struct mca_btl_base_endpoint_t *endpoint,
                                                       void *base, size_t size, uint32_t flags)
{
    struct check_call call = {check_of(btl), "register_mem", __builtin_return_address(0), NULL};
    if (!check_enter(&call)) {
        return NULL;
    }
    struct check_region *made = NULL;
    struct mca_btl_base_endpoint_t *theirs = endpoint;
    bool all = !endpoint || endpoint == MCA_BTL_ENDPOINT_ANY;
    if (!all && check_endpoint_ok(&call, endpoint)) {
        theirs = call.endpoint->inner;
    }
    if (!base || size == 0 || size - 1 > UINTPTR_MAX - (uintptr_t) base || flags == 0 ||
        (flags & ~(uint32_t) MCA_BTL_REG_FLAG_ACCESS_ANY)) {
        check_report(&call, CHECK_CALLER, "%zu bytes at %p for 0x%x are no region", size, base,
                     flags);
    } else if (all || call.endpoint) {
        mca_btl_base_module_t *inner = call.check->layer.inner;
        mca_btl_base_registration_handle_t *handle =
            inner->btl_register_mem(inner, theirs, base, size, flags);
        if (btl_map_get(&call.check->inner_regions, handle)) {
            check_report(&call, CHECK_MODULE, "hands out a handle that is in use");
            handle = NULL;
        }
        made = handle ? region_create(&call, handle) : NULL;
        if (handle && !made) {
            inner->btl_deregister_mem(inner, handle);
        }
    }
    if (made) {
        made->base = (uintptr_t) base;
        made->size = size;
    }
    check_leave();
    return made ? (mca_btl_base_registration_handle_t *) (void *) made->bytes : NULL;
}

int check_deregister_mem(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle)
{
    struct check *check = check_of(btl);
    struct check_call call = {check, "deregister_mem", __builtin_return_address(0), NULL};
    if (!check_enter(&call)) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct check_region *region = btl_map_get(&check->regions, handle);
    int status = OPAL_ERR_BAD_PARAM;
    if (!region) {
        check_report(&call, CHECK_CALLER, "%p is no handle of this module", (void *) handle);
    } else if (region->gone) {
        check_report(&call, CHECK_CALLER, "the region was deregistered before");
    } else {
        if (region->users > 0) {
            check_report(&call, CHECK_CALLER, "%lu operations under way use the region",
                         region->users);
        }
        btl_map_remove(&check->inner_regions, region->inner);
        status = check->layer.inner->btl_deregister_mem(check->layer.inner, region->inner);
        if (status != OPAL_SUCCESS) {
            check_report(&call, CHECK_MODULE, "returned %d", status);
        }
        region->gone = true;
        check_end(&check->dead_regions, &check->regions, region);
    }
    check_leave();
    return status;
}

struct check_region *check_region_local(const struct check_call *call, const void *handle,
                                        const void *address, size_t size, bool *bad)
{
    struct check_region *region = btl_map_get(&call->check->regions, handle);
    *bad = true;
    if (handle && !region) {
        check_report(call, CHECK_CALLER, "the local handle %p is none of this module's", handle);
    } else if (region && region->gone) {
        check_report(call, CHECK_CALLER, "the local handle was deregistered");
    } else if (region && ((uintptr_t) address < region->base ||
                          (uintptr_t) address - region->base > region->size ||
                          size > region->size - ((uintptr_t) address - region->base))) {
        check_report(call, CHECK_CALLER, "%zu bytes at %p leave the local handle's region", size,
                     address);
    } else {
        *bad = false;
    }
    return region;
}

void check_region_remote(const struct check_call *call, const void *handle)
{
    const struct check_region *region = btl_map_get(&call->check->regions, handle);
    if (region && region->gone) {
        check_report(call, CHECK_CALLER, "the remote handle was deregistered");
    }
}
