/* usnic's part of keel_btl_ext. Providers of datagrams have no common thing to sleep on. */
#include <config.h>

#include <btl/usnic/usnic_send.h>

static bool rdma_open(mca_btl_base_module_t *btl, usnic_endpoint *endpoint)
{
    return endpoint ? endpoint->life.peers && rdma_am_peer_open(&endpoint->am)
                    : rdma_am_open(usnic_of(btl)->am);
}

/* As usnic_channel_send has it: one message is taken however long it is. */
static bool queue_is_full(const struct usnic_module *usnic, const usnic_endpoint *peer)
{
    return peer->queued_bytes > 0 &&
           peer->queued_bytes + usnic->super.btl_max_send_size > usnic->params.tx_queue_bytes;
}

static enum btl_room room(mca_btl_base_module_t *btl, usnic_endpoint *endpoint)
{
    const struct usnic_module *usnic = usnic_of(btl);
    const usnic_endpoint *peer = endpoint && endpoint->life.peers ? endpoint : NULL;

    if (peer && peer->life.state >= PEER_FAILING) {
        return BTL_ROOM;
    }
    if (peer && ((peer->life.state != PEER_UP && peer->life.state != PEER_IDLE) ||
                 !rdma_am_has_room(usnic->am) || !pool_has_room(&usnic->outs) ||
                 queue_is_full(usnic, peer))) {
        return BTL_ROOM_NONE;
    }
    enum btl_room found = desc_set_room(&usnic->descs);
    return endpoint && found == BTL_ROOM_NONE ? BTL_ROOM_UNSEEN : found;
}

static bool is_quiet(mca_btl_base_module_t *btl)
{
    const struct usnic_module *usnic = usnic_of(btl);

    return usnic->outs.in_use == 0 && list_empty(&usnic->descs.done) &&
           !rdma_am_active(usnic->am) && !usnic_engine_busy(&usnic->engine);
}

const struct btl_ext_ops usnic_ext = {
    .flags = KEEL_BTL_REMOTE_COMPLETION,
    .atomic_flags = ATOMIC_ALL_EXT_FLAGS,
    .channel_send = usnic_channel_send,
    .channel_sendi = usnic_channel_sendi,
    .rdma_open = rdma_open,
    .am_at = offsetof(struct mca_btl_base_endpoint_t, am),
    .room = room,
    .is_quiet = is_quiet,
};
