/* ofi's part of keel_btl_ext. Providers of datagrams have no common thing to sleep on. */
#include <config.h>

#include <btl/ofi/ofi_send.h>

static bool rdma_open(mca_btl_base_module_t *btl, ofi_endpoint *endpoint)
{
    const struct ofi_module *ofi = ofi_of(btl);

    if (endpoint) {
        return endpoint->operations > 0 ||
               (endpoint->life.peers && rdma_am_peer_open(&endpoint->am));
    }
    return ofi->operations > 0 || rdma_am_open(ofi->am);
}

/* How full the provider's own queues are cannot be seen. */
static enum btl_room room(mca_btl_base_module_t *btl, ofi_endpoint *endpoint)
{
    const struct ofi_module *ofi = ofi_of(btl);
    const ofi_endpoint *peer = endpoint && endpoint->life.peers ? endpoint : NULL;

    if (peer && peer->life.state >= PEER_FAILING) {
        return BTL_ROOM;
    }
    if (peer && ((peer->life.state != PEER_UP && peer->life.state != PEER_IDLE) ||
                 !rdma_am_has_room(ofi->am) || !ofi_send_fits(ofi, peer, btl->btl_max_send_size))) {
        return BTL_ROOM_NONE;
    }
    if (peer && peer->starved) {
        return BTL_ROOM_UNSEEN;
    }
    enum btl_room room = desc_set_room(&ofi->descs);
    return endpoint && room == BTL_ROOM_NONE ? BTL_ROOM_UNSEEN : room;
}

static bool is_quiet(mca_btl_base_module_t *btl)
{
    const struct ofi_module *ofi = ofi_of(btl);

    return ofi->in_flight == 0 && list_empty(&ofi->descs.done) && !rdma_am_active(ofi->am);
}

static bool pins(mca_btl_base_module_t *btl)
{
    return ofi_of(btl)->native.regions;
}

const struct btl_ext_ops ofi_ext = {
    .flags = KEEL_BTL_REMOTE_COMPLETION,
    .atomic_flags = ATOMIC_ALL_EXT_FLAGS,
    .pins = pins,
    .channel_send = ofi_channel_send,
    .channel_sendi = ofi_channel_sendi,
    .rdma_open = rdma_open,
    .am_at = offsetof(struct mca_btl_base_endpoint_t, am),
    .room = room,
    .is_quiet = is_quiet,
};
