/* Regions as the provider knows them, beside their place in the region table.
 *
 * Where the provider takes keys from its user, a region's key is its {generation, index}: as hard
 * to guess, and as dead after deregister_mem. Bounds and rights are then the provider's to check. A
 * region that it cannot register, or that only one endpoint may use, is served over sends. */
#ifndef BTL_OFI_REGION_H
#define BTL_OFI_REGION_H

#include <btl/fabric/fabric_mr.h>
#include <btl/ofi/ofi_peer.h>

/* What a peer is given. */
struct ofi_handle {
    struct region_handle region; /* first: what btl/emulation/rdma_am.h reads */
    uint64_t key;
    uint32_t uses; /* OFI_USE_*; 0: over sends only */
    uint32_t zero;
};

enum { OFI_USE_READ = 1, OFI_USE_WRITE = 2, OFI_USE_ATOMIC = 4 };

struct ofi_regions;

struct ofi_regions *ofi_regions_create(uint32_t limit);
/* The endpoint is closed, the domain still open. */
void ofi_regions_destroy(struct ofi_regions *regions);

mca_btl_base_registration_handle_t *ofi_region_register(struct ofi_module *ofi,
                                                        ofi_endpoint *endpoint, void *base,
                                                        size_t size, uint32_t flags);
int ofi_region_deregister(struct ofi_module *ofi, mca_btl_base_registration_handle_t *handle);
/* The registration of a handle of this process's that covers the bytes; NULL: there is none. */
struct fabric_mr *ofi_region_mr(const struct ofi_module *ofi,
                                const mca_btl_base_registration_handle_t *handle,
                                const void *address, size_t size);
/* Whether a peer's handle is what its owner gave, as far as that shows. */
bool ofi_region_is_handle(const struct ofi_module *ofi, const struct ofi_handle *handle);

/* As btl_key_of and btl_handle_of. Of a handle that does not fit only {generation, index} goes
 * along, and the region is served over sends. */
void ofi_key_of(mca_btl_base_module_t *btl, const void *handle, uint64_t *key);
void ofi_handle_of(mca_btl_base_module_t *btl, const uint64_t *key, uint64_t address, uint64_t size,
                   void *handle);

/* Before a restart, the endpoint being closed: closes the registrations. */
void ofi_regions_shut(struct ofi_module *ofi);
/* After it: registers all regions with the new domain. Where keys are the provider's, the handles
 * that peers have are stale then. */
void ofi_regions_again(struct ofi_module *ofi);

#endif
