/* Put, get and atomics by the provider itself, without the target's progress where it has hardware.
 *
 * Small ones go through memory of the module's own, where it does not matter when the provider lets
 * go of it. A larger get is written to the caller's memory: it calls back when the provider is done
 * with it, and not before, unless the endpoint is closed first. */
#ifndef BTL_OFI_NATIVE_H
#define BTL_OFI_NATIVE_H

#include <btl/ofi/ofi_region.h>

/* One operation on remote memory. */
struct ofi_rdma {
    const struct rdma_call *call;
    struct ofi_handle handle;
    const struct atomic *atomic; /* NULL: put or get */
    bool put;
};

/* Whether the provider can do it; else it goes over sends. */
bool ofi_native_can(const struct ofi_module *ofi, const struct ofi_rdma *rdma);
/* As btl_put, btl_get, btl_atomic_fop. */
int ofi_native_start(struct ofi_module *ofi, ofi_endpoint *peer, const struct ofi_rdma *rdma);
/* Whether the provider has all atomics that the module offers. */
bool ofi_native_has_atomics(const struct fabric *fabric);

/* The provider is done with one. */
void ofi_native_completed(struct ofi_module *ofi, struct ofi_tx *tx, int status);
/* Calls back for one that will not be waited for any longer; what the provider has of it stays. */
void ofi_native_abandon(struct ofi_module *ofi, struct ofi_tx *tx, ofi_endpoint *peer, int status);
/* Whether it may still write to the caller's memory: it is not to be abandoned. */
bool ofi_native_is_exposed(const struct ofi_module *ofi, const struct ofi_tx *tx);
/* Gives up what has taken longer than btl_ofi_rma_timeout_ms; returns how many. */
int ofi_native_expire(struct ofi_module *ofi);

#endif
