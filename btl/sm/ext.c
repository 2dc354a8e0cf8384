/* sm's part of keel_btl_ext. Who sleeps does so on the bell (btl/sm/segment/bell.h), where there is
 * one. */
#include <config.h>

#include <btl/sm/module.h>

static bool is_open(const struct sm_module *module, const struct mca_btl_base_endpoint_t *endpoint)
{
    const struct sm_op *op;
    if (!endpoint->life.peers) {
        return false;
    }
    if (rdma_am_peer_open(&endpoint->am)) {
        return true;
    }
    list_for_each (op, &module->done_ops, const struct sm_op, link) {
        if (op->endpoint == endpoint) {
            return true;
        }
    }
    return false;
}

static bool sm_rdma_open(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    const struct sm_module *module = sm_of(btl);
    return endpoint ? is_open(module, endpoint)
                    : !list_empty(&module->done_ops) || rdma_am_open(module->am);
}

/* What a ring that is not open yet lacks (a card, a cell of the peer's board, memory) is not seen
 * from here. */
static enum btl_room endpoint_room(struct sm_module *module,
                                   struct mca_btl_base_endpoint_t *endpoint)
{
    if (endpoint->life.state > PEER_FAILING) {
        return BTL_ROOM;
    }
    if (!endpoint->tx.ready) {
        return BTL_ROOM_UNSEEN;
    }
    int status = sm_tx_ring_room(&endpoint->tx.ring, module->params.inline_limit);
    bool full = status == ORTE_ERR_OUT_OF_RESOURCE;
    return full || !pool_has_room(&module->ops) || !rdma_am_has_room(module->am) ? BTL_ROOM_NONE
                                                                                 : BTL_ROOM;
}

static enum btl_room fragments_room(struct sm_module *module)
{
    enum btl_room room = desc_set_room(&module->descs);
    bool memory = sm_fragment_ready(module, module->params.eager_limit) &&
                  sm_fragment_ready(module, module->params.max_send_size);
    return room == BTL_ROOM && !memory ? BTL_ROOM_UNSEEN : room;
}

static enum btl_room sm_room(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_module *module = sm_of(btl);
    if (!endpoint) {
        return fragments_room(module);
    }
    enum btl_room room = endpoint_room(module, endpoint);
    if (room != BTL_ROOM || !endpoint->tx.ready) {
        return room;
    }
    return fragments_room(module) == BTL_ROOM ? BTL_ROOM : BTL_ROOM_UNSEEN;
}

/* All that was sent is consumed: a message in line completes before its peer has seen it. */
static bool sm_is_quiet(mca_btl_base_module_t *btl)
{
    struct sm_module *module = sm_of(btl);
    struct mca_btl_base_endpoint_t *endpoint;
    if (!list_empty(&module->descs.done) || !list_empty(&module->done_ops) ||
        rdma_am_active(module->am)) {
        return false;
    }
    list_for_each (endpoint, &module->peers.used, struct mca_btl_base_endpoint_t, life.link) {
        struct sm_tx_ring *ring = &endpoint->tx.ring;
        if (!list_empty(&endpoint->tx.inflight)) {
            return false;
        }
        if (endpoint->tx.ready && sm_tx_ring_refresh(ring) == ORTE_SUCCESS &&
            ring->consumed != ring->tail) {
            return false;
        }
    }
    return true;
}

static int sm_wait_fd(mca_btl_base_module_t *btl)
{
    return sm_bell_fd(&sm_of(btl)->bell);
}

/* What peers do not ring for: that they have consumed something, or have died. */
static bool work_is_due(const struct sm_module *module)
{
    return !list_empty(&module->waiting) || !list_empty(&module->descs.done) ||
           !list_empty(&module->done_ops) || !list_empty(&module->peers.failing) ||
           rdma_am_active(module->am);
}

static int sm_wait_arm(mca_btl_base_module_t *btl)
{
    struct sm_module *module = sm_of(btl);
    if (!module->bell.alarm) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    if (work_is_due(module)) {
        return OPAL_ERR_RESOURCE_BUSY;
    }
    sm_bell_quiet(&module->bell);
    int status = sm_bell_sleep(&module->bell);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    return sm_rx_due(module) ? OPAL_ERR_RESOURCE_BUSY : OPAL_SUCCESS;
}

const struct btl_ext_ops sm_ext = {
    .flags = KEEL_BTL_REMOTE_COMPLETION,
    .atomic_flags = ATOMIC_ALL_EXT_FLAGS,
    .channel_send = sm_channel_send,
    .channel_sendi = sm_channel_sendi,
    .rdma_open = sm_rdma_open,
    .am_at = offsetof(struct mca_btl_base_endpoint_t, am),
    .room = sm_room,
    .is_quiet = sm_is_quiet,
    .wait_fd = sm_wait_fd,
    .wait_arm = sm_wait_arm,
};
