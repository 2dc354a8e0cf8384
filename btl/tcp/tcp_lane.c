#include <config.h>

#include <base/settings/log.h>
#include <btl/tcp/tcp_lane.h>
#include <stdlib.h>

static struct tcp_lanes *lanes_of(tcp_endpoint *ep)
{
    if (!ep->lanes) {
        ep->lanes = calloc(1, sizeof(*ep->lanes));
    }
    return ep->lanes;
}

void tcp_lanes_open(tcp_endpoint *ep)
{
    const struct tcp_params *params = &ep->tcp->params;

    if (params->links == 1 || !lanes_of(ep)) {
        return;
    }
    for (unsigned lane = 1; lane < params->links; lane++) {
        ep->lanes->conns[lane - 1] = tcp_conn_start(ep, lane, ep->order[0], params->connect_us);
    }
}

void tcp_lane_conn_failed(tcp_endpoint *ep, unsigned lane, const char *why)
{
    ep->lanes->conns[lane - 1] = NULL;
    log_info(LOG_BTL, "%s: %s: link %u: %s", ep->tcp->name, ORTE_NAME_PRINT(&ep->peer.name),
             lane + 1, why);
}

enum tcp_verdict tcp_lane_judge(struct tcp_module *tcp, const struct tcp_hello *hello,
                                tcp_endpoint **found)
{
    tcp_endpoint *ep = roster_find(tcp->peers.roster, &hello->from);
    unsigned index = hello->lane - 1u;

    if (!ep || ep->peer.state != PEER_UP || ep->peer.incarnation != hello->incarnation ||
        (ep->lanes && (ep->lanes->links[index] || ep->lanes->conns[index]))) {
        return TCP_VERDICT_REFUSE;
    }
    *found = ep;
    return TCP_VERDICT_ACCEPT;
}

void tcp_lane_up(tcp_endpoint *ep, unsigned lane, int fd)
{
    struct tcp_lanes *lanes = lanes_of(ep);
    struct tcp_link *link = lanes ? tcp_link_create(ep, fd, lane) : NULL;

    if (lanes) {
        lanes->conns[lane - 1] = NULL; /* the connection ends with this call */
    }
    if (!link) {
        fd_close(&fd); /* the peer finds a link that ends, as if it had broken */
        return;
    }
    lanes->links[lane - 1] = link;
    tcp_link_wake(link);
}

void tcp_lane_left(struct tcp_link *link)
{
    tcp_endpoint *ep = link->ep;

    if (!list_empty(&link->out)) {
        tcp_endpoint_break(ep, OPAL_ERR_UNREACH, "the peer left");
        return;
    }
    ep->lanes->links[link->lane - 1] = NULL;
    tcp_link_close(link);
}

void tcp_lanes_wake(tcp_endpoint *ep)
{
    for (unsigned i = 0; ep->lanes && i < TCP_LANES && !list_empty(&ep->bulk); i++) {
        if (ep->lanes->links[i]) {
            tcp_link_wake(ep->lanes->links[i]);
        }
    }
}

bool tcp_links_all(const tcp_endpoint *ep, bool (*holds)(struct tcp_link *link))
{
    bool all = true;

    for (unsigned i = 0; ep->lanes && i < TCP_LANES; i++) {
        struct tcp_link *link = ep->lanes->links[i];
        all = (!link || holds(link)) && all;
    }
    return (!ep->tcp_link || holds(ep->tcp_link)) && all;
}

void tcp_lanes_close(tcp_endpoint *ep)
{
    struct tcp_lanes *lanes = ep->lanes;

    ep->lanes = NULL;
    for (unsigned i = 0; lanes && i < TCP_LANES; i++) {
        if (lanes->conns[i]) {
            tcp_conn_close(lanes->conns[i]);
        }
        if (lanes->links[i]) {
            tcp_link_close(lanes->links[i]);
        }
    }
    free(lanes);
}
