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
    memcpy(made->bytes, inner, check->module->btl_registration_handle_size);
    made->inner = inner;
    return made;
}

void check_register_mem(struct check_call *at, struct btl_call *call)
{
    struct check *check = at->check;
    uintptr_t base = (uintptr_t) call->region.base;
    size_t size = call->region.size;
    uint32_t flags = call->region.flags;
    if (!base || size == 0 || size - 1 > UINTPTR_MAX - base || flags == 0 ||
        (flags & ~(uint32_t) MCA_BTL_REG_FLAG_ACCESS_ANY)) {
        check_report(at, CHECK_CALLER, "%zu bytes at %p for 0x%x are no region", size,
                     call->region.base, flags);
        return;
    }
    check_pass(at, call);
    mca_btl_base_registration_handle_t *inner = call->made;
    call->made = NULL;
    if (btl_map_get(&check->inner_regions, inner)) {
        check_report(at, CHECK_MODULE, "hands out a handle that is in use");
        return;
    }
    struct check_region *made = inner ? region_create(at, inner) : NULL;
    if (inner && !made) {
        (void) check_give_back(at, BTL_DEREGISTER_MEM, inner);
    }
    if (made) {
        made->base = base;
        made->size = size;
        call->made = made->bytes;
    }
}

void check_deregister_mem(struct check_call *at, struct btl_call *call)
{
    struct check *check = at->check;
    struct check_region *region = btl_map_get(&check->regions, call->handle);
    if (!region) {
        check_report(at, CHECK_CALLER, "%p is no handle of this module", (void *) call->handle);
        return;
    }
    if (region->gone) {
        check_report(at, CHECK_CALLER, "the region was deregistered before");
        return;
    }
    if (region->users > 0) {
        check_report(at, CHECK_CALLER, "%lu operations under way use the region", region->users);
    }
    btl_map_remove(&check->inner_regions, region->inner);
    call->status = check_give_back(at, BTL_DEREGISTER_MEM, region->inner);
    if (call->status != OPAL_SUCCESS) {
        check_report(at, CHECK_MODULE, "returned %d", call->status);
    }
    region->gone = true;
    check_end(&check->dead_regions, &check->regions, region);
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
