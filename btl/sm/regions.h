/* The table of registered regions in a process's segment. Its owner writes it; a peer that copies
 * by itself (cma.h) looks every access up in it first, as the target would.
 *
 * The check comes before the copy. A put that was checked just before deregister_mem may still
 * write while or shortly after deregister_mem returns: the window is that one system call of the
 * peer's. A get is checked again after the copy, and fails when the handle has died meanwhile. */
#ifndef BTL_SM_REGIONS_H
#define BTL_SM_REGIONS_H

#include <btl/memory/region.h>
#include <stdatomic.h>

struct sm_region {
    _Atomic uint32_t generation; /* as in the handle; 0: no region */
    _Atomic uint32_t rights;     /* MCA_BTL_REG_FLAG_*, and SM_REGION_ANY */
    _Atomic uint64_t base;
    _Atomic uint64_t size;
    _Atomic uint32_t jobid, vpid; /* who may use it, without SM_REGION_ANY */
    uint8_t pad[32];
};

#define SM_REGION_ANY 0x80000000u

/* Owner: makes a region usable. peer NULL: for everyone. */
void sm_region_publish(struct sm_region *region, const struct region_handle *handle,
                       uint32_t rights, const orte_process_name_t *peer);
/* From here on every check of the handle fails. */
void sm_region_withdraw(struct sm_region *region);
/* Initiator: may I access size bytes at address? SUCCESS, PERM or VALUE_OUT_OF_BOUNDS, as
 * region_access says. */
int sm_region_check(const struct sm_region *region, const struct region_handle *handle,
                    const orte_process_name_t *me, uint64_t address, uint64_t size,
                    uint32_t rights) KEEL_MUST_CHECK;

#endif
