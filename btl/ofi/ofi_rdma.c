#include <config.h>

#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_rdma.h>
#include <string.h>

mca_btl_base_registration_handle_t *ofi_register_mem(mca_btl_base_module_t *btl,
                                                     ofi_endpoint *endpoint, void *base,
                                                     size_t size, uint32_t flags)
{
    struct ofi_module *ofi = ofi_of(btl);

    return ofi->native.regions ? ofi_region_register(ofi, endpoint, base, size, flags)
                               : region_add(ofi->regions, endpoint, base, size, flags);
}

int ofi_deregister_mem(mca_btl_base_module_t *btl, mca_btl_base_registration_handle_t *handle)
{
    struct ofi_module *ofi = ofi_of(btl);

    return ofi->native.regions ? ofi_region_deregister(ofi, handle)
                               : region_remove(ofi->regions, handle);
}

static void handle_read(const struct ofi_module *ofi, struct ofi_rdma *rdma)
{
    memset(&rdma->handle, 0, sizeof(rdma->handle)); /* the caller's is at any alignment */
    memcpy(&rdma->handle, rdma->call->remote_handle, ofi->super.btl_registration_handle_size);
    if (ofi->native.regions && !ofi_region_is_handle(ofi, &rdma->handle)) {
        rdma->handle.uses = 0; /* so that it goes to the target, which refuses it */
        rdma->handle.region.generation &= ~1u;
    }
}

/* Reads the handle, and tries the provider. True: it took the operation, or refused it, or the peer
 * is not to be had: status says so. As long as the peer is not UP, put and get go over sends, which
 * queue; atomics wait, for two kinds of them must not mix. */
static bool try_native(struct ofi_module *ofi, ofi_endpoint *peer, struct ofi_rdma *rdma,
                       int *status)
{
    if (!btl_peer_connected(&ofi->peers, &peer->life, status) &&
        *status != OPAL_ERR_OUT_OF_RESOURCE) {
        return true;
    }
    handle_read(ofi, rdma);
    if (!ofi_native_can(ofi, rdma) || (peer->life.state != PEER_UP && !rdma->atomic)) {
        return false;
    }
    *status =
        peer->life.state == PEER_UP ? ofi_native_start(ofi, peer, rdma) : OPAL_ERR_OUT_OF_RESOURCE;
    return true;
}

int ofi_rdma(mca_btl_base_module_t *btl, ofi_endpoint *peer, const struct rdma_call *call, bool put)
{
    struct ofi_module *ofi = ofi_of(btl);
    struct ofi_rdma rdma = {.call = call, .put = put};
    int status;

    if (try_native(ofi, peer, &rdma, &status)) {
        return status;
    }
    struct rdma_call over_sends = *call;
    over_sends.remote_handle = (mca_btl_base_registration_handle_t *) (void *) &rdma.handle;
    return put ? rdma_am_put(ofi->am, &peer->am, &over_sends)
               : rdma_am_get(ofi->am, &peer->am, &over_sends);
}

int ofi_atomic(mca_btl_base_module_t *btl, ofi_endpoint *peer, const struct atomic_call *call)
{
    struct ofi_module *ofi = ofi_of(btl);
    struct ofi_rdma rdma = {.call = &call->rdma, .atomic = &call->atomic};
    int status;

    if (try_native(ofi, peer, &rdma, &status)) {
        return status;
    }
    struct atomic_call over_sends = *call;
    over_sends.rdma.remote_handle = (mca_btl_base_registration_handle_t *) (void *) &rdma.handle;
    return rdma_am_atomic(ofi->am, &peer->am, &over_sends);
}
