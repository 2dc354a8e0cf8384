#include <config.h>

#include <btl/ofi/ofi_rdma.h>
#include <stdlib.h>
#include <string.h>

mca_btl_base_registration_handle_t *ofi_register_mem(mca_btl_base_module_t *btl,
                                                     ofi_endpoint *endpoint, void *base,
                                                     size_t size, uint32_t flags)
{
    return region_add(ofi_of(btl)->regions, endpoint, base, size, flags);
}

int ofi_deregister_mem(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle)
{
    return region_remove(ofi_of(btl)->regions, handle);
}

/* The peer of an endpoint that takes operations: they may be queued before it is UP. NULL and
 * UNREACH: it is gone. */
static struct ofi_peer *rdma_peer(struct ofi_module *ofi, ofi_endpoint *endpoint, int *status)
{
    struct ofi_peer *peer = ofi_endpoint_want(ofi, endpoint, status);

    if (!peer && *status == OPAL_ERR_OUT_OF_RESOURCE) {
        return endpoint->peer;
    }
    return peer;
}

static bool covers(const mca_btl_base_registration_handle_t *remote_handle, uint64_t address,
                   size_t size)
{
    struct region_handle handle;

    memcpy(&handle, remote_handle, sizeof(handle));
    return region_handle_covers(&handle, address, size);
}

int ofi_put(mca_btl_base_module_t *btl, ofi_endpoint *endpoint, void *local_address,
            uint64_t remote_address, mca_btl_base_registration_handle_t *local_handle,
            mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
            mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct ofi_module *ofi = ofi_of(btl);
    int status;

    (void) flags;
    if (!remote_handle) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct ofi_peer *peer = rdma_peer(ofi, endpoint, &status);
    if (!peer) {
        return status;
    }
    if (!covers(remote_handle, remote_address, size)) {
        return OPAL_ERR_VALUE_OUT_OF_BOUNDS;
    }
    return rdma_am_put(ofi->am, &peer->am, local_address, remote_address, local_handle,
                       remote_handle, size, order, cbfunc, cbcontext, cbdata);
}

int ofi_get(mca_btl_base_module_t *btl, ofi_endpoint *endpoint, void *local_address,
            uint64_t remote_address, mca_btl_base_registration_handle_t *local_handle,
            mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
            mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct ofi_module *ofi = ofi_of(btl);
    int status;

    (void) flags;
    if (!remote_handle) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct ofi_peer *peer = rdma_peer(ofi, endpoint, &status);
    if (!peer) {
        return status;
    }
    if (!covers(remote_handle, remote_address, size)) {
        return OPAL_ERR_VALUE_OUT_OF_BOUNDS;
    }
    return rdma_am_get(ofi->am, &peer->am, local_address, remote_address, local_handle,
                       remote_handle, size, order, cbfunc, cbcontext, cbdata);
}

int btl_ofi_atomic(mca_btl_base_module_t *btl, ofi_endpoint *endpoint,
                   const struct atomic_call *call)
{
    struct ofi_module *ofi = ofi_of(btl);
    int status;

    if (!call->remote_handle) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct ofi_peer *peer = rdma_peer(ofi, endpoint, &status);
    return peer ? rdma_am_atomic(ofi->am, &peer->am, call) : status;
}

void ofi_rdma_completed(struct ofi_module *ofi, struct ofi_tx *tx, int status)
{
    (void) status;
    ofi_tx_put(ofi, tx);
}

void ofi_rdma_abandon(struct ofi_module *ofi, struct ofi_tx *tx, ofi_endpoint *endpoint, int status)
{
    (void) ofi, (void) tx, (void) endpoint, (void) status;
}

void ofi_rdma_close(struct ofi_module *ofi)
{
    (void) ofi;
}
