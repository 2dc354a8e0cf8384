/* Put, get and atomics by the provider itself, without the target's progress where it has hardware.
 *
 * A region has a registration of the provider's beside its place in the region table. Where the
 * provider takes keys from its user, the key is the region's {generation, index}: as hard to guess,
 * and as dead after deregister_mem. Bounds and rights are then the provider's to check. What it
 * cannot check (regions of one endpoint) or cannot do goes over sends. */
#ifndef BTL_OFI_NATIVE_H
#define BTL_OFI_NATIVE_H

#include <btl/ofi/ofi_endpoint.h>

/* What a peer is given. */
struct ofi_handle {
    struct region_handle region; /* first: what btl/rdma_am.h reads */
    uint64_t key;
    uint32_t uses; /* OFI_USE_*; 0: over sends only */
    uint32_t zero;
};

enum { OFI_USE_READ = 1, OFI_USE_WRITE = 2, OFI_USE_ATOMIC = 4 };

struct ofi_regions;

struct ofi_regions *ofi_regions_create(uint32_t limit);
/* Closes the registrations that are left; the domain is still open. */
void ofi_regions_destroy(struct ofi_regions *regions);

mca_btl_base_registration_handle_t *ofi_native_register(struct ofi_module *ofi,
                                                        ofi_endpoint *endpoint, void *base,
                                                        size_t size, uint32_t flags);
int ofi_native_deregister(struct ofi_module *ofi, mca_btl_base_registration_handle_t *handle);
/* After a restart: registers all regions with the new domain. Where keys are the provider's, the
 * handles that peers have are stale then. */
void ofi_native_again(struct ofi_module *ofi);
/* Before a restart: closes the registrations. */
void ofi_native_shut(struct ofi_module *ofi);

/* One operation on remote memory. */
struct ofi_rdma {
    void *local;
    mca_btl_base_registration_handle_t *local_handle;
    uint64_t remote;
    struct ofi_handle handle;
    size_t size;
    const struct atomic *atomic; /* NULL: put or get */
    bool put;
    mca_btl_base_rdma_completion_fn_t cbfunc;
    void *cbcontext, *cbdata;
};
/* Whether the provider can do it; else it goes over sends. */
bool ofi_native_can(const struct ofi_module *ofi, const struct ofi_rdma *rdma);
/* As btl_put, btl_get, btl_atomic_fop. */
int ofi_native_start(struct ofi_module *ofi, struct ofi_peer *peer, const struct ofi_rdma *rdma);
/* Whether the provider has all atomics that the module offers. */
bool ofi_native_has_atomics(const struct ofi_fabric *fabric);

#endif
