#include <config.h>

#include <btl/sm/regions.h>

_Static_assert(sizeof(struct sm_region) == 64, "a region is a cache line");

/* Owner to peers: a peer that observes this generation sees the fields stored before it. */
static void generation_publish(struct sm_region *region, uint32_t generation)
{
    atomic_store_explicit(&region->generation, generation, memory_order_release);
}

/* Owner to peers: a peer that sees any field stored after this sees the generation gone. */
void sm_region_withdraw(struct sm_region *region)
{
    atomic_store_explicit(&region->generation, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
}

static uint32_t generation_observe(const struct sm_region *region)
{
    return atomic_load_explicit(&region->generation, memory_order_acquire);
}

/* Peer to itself: the fields loaded before this belong to the generation found now. */
static uint32_t generation_confirm(const struct sm_region *region)
{
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&region->generation, memory_order_relaxed);
}

static uint32_t get32(const _Atomic uint32_t *field)
{
    return atomic_load_explicit(field, memory_order_relaxed);
}

static uint64_t get64(const _Atomic uint64_t *field)
{
    return atomic_load_explicit(field, memory_order_relaxed);
}

static void set32(_Atomic uint32_t *field, uint32_t value)
{
    atomic_store_explicit(field, value, memory_order_relaxed);
}

static void set64(_Atomic uint64_t *field, uint64_t value)
{
    atomic_store_explicit(field, value, memory_order_relaxed);
}

void sm_region_publish(struct sm_region *region, const struct region_handle *handle,
                       uint32_t rights, const orte_process_name_t *peer)
{
    sm_region_withdraw(region);
    set32(&region->rights, (rights & MCA_BTL_REG_FLAG_ACCESS_ANY) | (peer ? 0 : SM_REGION_ANY));
    set64(&region->base, handle->base);
    set64(&region->size, handle->size);
    set32(&region->jobid, peer ? peer->jobid : ORTE_JOBID_INVALID);
    set32(&region->vpid, peer ? peer->vpid : ORTE_VPID_INVALID);
    generation_publish(region, handle->generation);
}

int sm_region_check(const struct sm_region *region, const struct region_handle *handle,
                    const orte_process_name_t *me, uint64_t address, uint64_t size, uint32_t rights)
{
    uint32_t generation = generation_observe(region);
    uint32_t granted = get32(&region->rights);
    uint64_t base = get64(&region->base), whole = get64(&region->size);
    bool mine = granted & SM_REGION_ANY ||
                (get32(&region->jobid) == me->jobid && get32(&region->vpid) == me->vpid);
    if (!(generation & 1) || generation != handle->generation ||
        generation_confirm(region) != generation || (granted & rights) != rights || !mine) {
        return OPAL_ERR_PERM;
    }
    if (address < base || address - base > whole || size > whole - (address - base)) {
        return OPAL_ERR_VALUE_OUT_OF_BOUNDS;
    }
    return OPAL_SUCCESS;
}
