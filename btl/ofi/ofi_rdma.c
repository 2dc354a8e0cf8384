#include <config.h>

#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_rdma.h>
#include <string.h>

mca_btl_base_registration_handle_t *ofi_register_mem(mca_btl_base_module_t *btl,
                                                     ofi_endpoint *endpoint, void *base,
                                                     size_t size, uint32_t flags)
{
    struct ofi_module *ofi = ofi_of(btl);

    return ofi->native ? ofi_native_register(ofi, endpoint, base, size, flags)
                       : region_add(ofi->regions, endpoint, base, size, flags);
}

int ofi_deregister_mem(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle)
{
    struct ofi_module *ofi = ofi_of(btl);

    return ofi->native ? ofi_native_deregister(ofi, handle) : region_remove(ofi->regions, handle);
}

/* The peer of an endpoint that takes operations: over sends they may be queued before it is UP. */
static struct ofi_peer *rdma_peer(struct ofi_module *ofi, ofi_endpoint *endpoint, int *status)
{
    struct ofi_peer *peer = ofi_endpoint_want(ofi, endpoint, status);

    if (!peer && *status == OPAL_ERR_OUT_OF_RESOURCE) {
        return endpoint->peer;
    }
    return peer;
}

static void handle_read(const struct ofi_module *ofi, struct ofi_handle *handle,
                        const mca_btl_base_registration_handle_t *remote_handle)
{
    memset(handle, 0, sizeof(*handle));
    memcpy(handle, remote_handle, ofi->super.btl_registration_handle_size); /* at any alignment */
}

/* True: the provider took it, or refused it, which status says. */
static bool try_native(struct ofi_module *ofi, struct ofi_peer *peer, const struct ofi_rdma *rdma,
                       int *status)
{
    if (!ofi_native_can(ofi, rdma)) {
        return false;
    }
    *status = peer->state == OFI_UP ? ofi_native_start(ofi, peer, rdma) : OPAL_ERR_OUT_OF_RESOURCE;
    return true;
}

/* Finds the peer and looks at the handle; NULL: *status is the operation's. */
static struct ofi_peer *prepare(struct ofi_module *ofi, ofi_endpoint *endpoint,
                                mca_btl_base_registration_handle_t *remote_handle,
                                struct ofi_rdma *rdma, int *status)
{
    struct ofi_peer *peer = NULL;

    *status = OPAL_ERR_BAD_PARAM;
    if (remote_handle && (rdma->local || rdma->size == 0)) {
        peer = rdma_peer(ofi, endpoint, status);
    }
    if (peer) {
        handle_read(ofi, &rdma->handle, remote_handle);
        if (!region_handle_covers(&rdma->handle.region, rdma->remote, rdma->size)) {
            *status = OPAL_ERR_VALUE_OUT_OF_BOUNDS;
            return NULL;
        }
    }
    return peer;
}

int ofi_put(mca_btl_base_module_t *btl, ofi_endpoint *endpoint, void *local_address,
            uint64_t remote_address, mca_btl_base_registration_handle_t *local_handle,
            mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
            mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct ofi_rdma rdma = {.local = local_address,
                            .local_handle = local_handle,
                            .remote = remote_address,
                            .size = size,
                            .put = true,
                            .cbfunc = cbfunc,
                            .cbcontext = cbcontext,
                            .cbdata = cbdata};
    struct ofi_module *ofi = ofi_of(btl);
    int status;
    struct ofi_peer *peer = prepare(ofi, endpoint, remote_handle, &rdma, &status);

    if (!peer || try_native(ofi, peer, &rdma, &status)) {
        return status;
    }
    struct rdma_call call = {local_address, remote_address, local_handle, remote_handle, size,
                             flags,         order,          cbfunc,       cbcontext,     cbdata};
    return rdma_am_put(ofi->am, &peer->am, &call);
}

int ofi_get(mca_btl_base_module_t *btl, ofi_endpoint *endpoint, void *local_address,
            uint64_t remote_address, mca_btl_base_registration_handle_t *local_handle,
            mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
            mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct ofi_rdma rdma = {.local = local_address,
                            .local_handle = local_handle,
                            .remote = remote_address,
                            .size = size,
                            .cbfunc = cbfunc,
                            .cbcontext = cbcontext,
                            .cbdata = cbdata};
    struct ofi_module *ofi = ofi_of(btl);
    int status;
    struct ofi_peer *peer = prepare(ofi, endpoint, remote_handle, &rdma, &status);

    if (!peer || try_native(ofi, peer, &rdma, &status)) {
        return status;
    }
    struct rdma_call call = {local_address, remote_address, local_handle, remote_handle, size,
                             flags,         order,          cbfunc,       cbcontext,     cbdata};
    return rdma_am_get(ofi->am, &peer->am, &call);
}

int ofi_atomic(mca_btl_base_module_t *btl, ofi_endpoint *endpoint, const struct atomic_call *call)
{
    struct ofi_module *ofi = ofi_of(btl);
    struct ofi_rdma rdma = {.local = call->rdma.local_address,
                            .local_handle = call->rdma.local_handle,
                            .remote = call->rdma.remote_address,
                            .size = ATOMIC_BYTES,
                            .atomic = &call->atomic,
                            .cbfunc = call->rdma.cbfunc,
                            .cbcontext = call->rdma.cbcontext,
                            .cbdata = call->rdma.cbdata};
    int status;

    if (!call->rdma.remote_handle || !atomic_is_valid(&call->atomic, call->rdma.remote_address)) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct ofi_peer *peer = rdma_peer(ofi, endpoint, &status);
    if (!peer) {
        return status;
    }
    handle_read(ofi, &rdma.handle, call->rdma.remote_handle);
    return try_native(ofi, peer, &rdma, &status) ? status
                                                 : rdma_am_atomic(ofi->am, &peer->am, call);
}
