/* The steps in which endpoints end (btl/closing.h): what counts as sent is written out, BYE is
 * said, and the peers' kernels have it all, before the sockets close. */
#include <config.h>

#include <base/log.h>
#include <btl/tcp/tcp_lane.h>

static tcp_endpoint *endpoint_of(struct btl_peer *peer)
{
    return (tcp_endpoint *) (void *) peer;
}

bool tcp_endpoint_is_flushed(struct btl_peer *peer)
{
    const tcp_endpoint *ep = endpoint_of(peer);

    return ep->promised == 0 && tcp_links_all(ep, tcp_link_is_flushed);
}

static bool is_awake(struct tcp_link *link)
{
    tcp_link_wake(link);
    return true;
}

/* From now on what comes is read and forgotten. */
void tcp_endpoint_leave(struct btl_peer *peer)
{
    const tcp_endpoint *ep = endpoint_of(peer);

    if (ep->promised > 0) {
        log_warn(LOG_BTL, "%s: %s does not read: %zu messages for it were dropped", ep->tcp->name,
                 ORTE_NAME_PRINT(&peer->name), ep->promised);
    }
    (void) tcp_links_all(ep, is_awake);
}

bool tcp_endpoint_say_bye(struct btl_peer *peer)
{
    return tcp_links_all(endpoint_of(peer), tcp_link_say_bye);
}

/* Closing a socket with bytes unread resets it, and what the peer has not got by then is lost; so
 * reading goes on until it has. */
bool tcp_endpoint_is_answered(struct btl_peer *peer)
{
    return tcp_links_all(endpoint_of(peer), tcp_link_is_acknowledged);
}

int tcp_peers_poll(struct btl_peers *peers)
{
    return tcp_poll(tcp_of(peers->module));
}

void tcp_endpoints_end(mca_btl_base_module_t *btl, tcp_endpoint **endpoints, size_t count)
{
    struct tcp_module *tcp = tcp_of(btl);

    tcp_enter(tcp);
    btl_peers_end(&tcp->peers, endpoints, count);
    tcp_leave(tcp);
}
