/* tcp's part of keel_btl_ext. Who sleeps does so on the module's epoll descriptor. */
#include <config.h>

#include <btl/tcp/tcp_link.h>
#include <btl/tcp/tcp_send.h>
#include <sys/epoll.h>

static bool tcp_rdma_open(mca_btl_base_module_t *btl, tcp_endpoint *ep)
{
    struct tcp_module *tcp = tcp_of(btl);

    if (ep) {
        tcp_endpoint_activate(tcp, ep);
    }
    return ep ? !list_empty(&ep->ops) || rdma_am_peer_open(&ep->am)
              : tcp->ops.in_use > 0 || rdma_am_open(tcp->am);
}

static enum btl_room tcp_room(mca_btl_base_module_t *btl, tcp_endpoint *ep)
{
    struct tcp_module *tcp = tcp_of(btl);

    int takes = ep ? tcp_endpoint_begin(tcp, ep) : OPAL_SUCCESS;
    if (takes != OPAL_SUCCESS) {
        return btl_is_shortage(takes) ? BTL_ROOM_NONE : BTL_ROOM;
    }
    if (ep && (!tcp_send_has_room(ep, btl->btl_max_send_size) || !pool_has_room(&tcp->ops) ||
               !rdma_am_has_room(tcp->am))) {
        return BTL_ROOM_NONE;
    }
    enum btl_room room = desc_set_room(&tcp->descs);
    return ep && room == BTL_ROOM_NONE ? BTL_ROOM_UNSEEN : room;
}

static bool tcp_is_quiet(mca_btl_base_module_t *btl)
{
    const struct tcp_module *tcp = tcp_of(btl);
    const tcp_endpoint *ep;

    list_for_each (ep, &tcp->peers.used, const tcp_endpoint, peer.link) {
        if (!tcp_endpoint_is_quiet(ep)) {
            return false;
        }
    }
    return !rdma_am_active(tcp->am);
}

static int tcp_wait_fd(mca_btl_base_module_t *btl)
{
    return tcp_of(btl)->epoll;
}

static bool work_is_due(const struct tcp_link *link)
{
    const tcp_endpoint *ep = link->ep;

    return link->error != 0 || !list_empty(&ep->done) ||
           (ep->slots_used == 0 && !list_empty(&ep->ops));
}

/* Links that are polled are left to epoll, as quiet ones are. Connections that are being set up
 * have timers, so they are polled. */
static int tcp_wait_arm(mca_btl_base_module_t *btl)
{
    struct tcp_module *tcp = tcp_of(btl);
    struct tcp_link *link;

    if (tcp->depth > 0 || !list_empty(&tcp->conns.by_age) || btl_peers_busy(&tcp->peers) ||
        rdma_am_stuck(tcp->am)) {
        return OPAL_ERR_RESOURCE_BUSY;
    }
    list_for_each (link, &tcp->active, struct tcp_link, active) {
        if (work_is_due(link)) {
            return OPAL_ERR_RESOURCE_BUSY;
        }
    }
    list_for_each (link, &tcp->active, struct tcp_link, active) {
        uint32_t events = tcp_link_busy(link) ? EPOLLIN | EPOLLOUT : EPOLLIN;
        int status = tcp_watch(tcp, &link->source, events);
        if (status != OPAL_SUCCESS) {
            return status;
        }
        list_remove(&link->active);
    }
    return OPAL_SUCCESS;
}

const struct btl_ext_ops tcp_ext = {
    .flags = KEEL_BTL_REMOTE_COMPLETION,
    .atomic_flags = ATOMIC_ALL_EXT_FLAGS,
    .channel_send = tcp_channel_send,
    .rdma_open = tcp_rdma_open,
    .am_at = offsetof(struct mca_btl_base_endpoint_t, am),
    .room = tcp_room,
    .is_quiet = tcp_is_quiet,
    .wait_fd = tcp_wait_fd,
    .wait_arm = tcp_wait_arm,
};
