/* The end of endpoints: what counts as sent is written out, BYE is said, and the peers' kernels
 * have it all, before the sockets close; for at most the time for flushing. */
#include <config.h>

#include <base/log.h>
#include <btl/tcp/tcp_lane.h>
#include <stdlib.h>

struct closing {
    tcp_endpoint **eps;
    size_t count;
};

/* Nothing that counts as sent is queued, and no frame is half written. */
static bool all_flushed(void *arg)
{
    const struct closing *closing = arg;

    for (size_t i = 0; i < closing->count; i++) {
        const tcp_endpoint *ep = closing->eps[i];
        if (ep->promised > 0 || !tcp_links_all(ep, tcp_link_is_flushed)) {
            return false;
        }
    }
    return true;
}

static bool all_said_bye(void *arg)
{
    const struct closing *closing = arg;
    bool all = true;

    for (size_t i = 0; i < closing->count; i++) {
        all = tcp_links_all(closing->eps[i], tcp_link_say_bye) && all;
    }
    return all;
}

static bool all_acknowledged(void *arg)
{
    const struct closing *closing = arg;

    for (size_t i = 0; i < closing->count; i++) {
        if (!tcp_links_all(closing->eps[i], tcp_link_is_acknowledged)) {
            return false;
        }
    }
    return true;
}

static bool is_awake(struct tcp_link *link)
{
    tcp_link_wake(link);
    return true;
}

/* From now on nothing but BYE is written, and what comes is read and forgotten. */
static void endpoint_leave(tcp_endpoint *ep)
{
    if (ep->promised > 0) {
        log_warn(LOG_BTL, "tcp: %s does not read: %zu messages for it were dropped",
                 ORTE_NAME_PRINT(&ep->name), ep->promised);
    }
    ep->leaving = true;
    (void) tcp_links_all(ep, is_awake);
}

/* Together: what they wait for, they wait for at the same time. */
static void endpoints_close(struct tcp_module *tcp, tcp_endpoint **eps, size_t count)
{
    struct closing closing = {eps, count};

    tcp_enter(tcp);
    (void) tcp_poll_until(tcp, all_flushed, &closing);
    for (size_t i = 0; i < count; i++) {
        endpoint_leave(eps[i]);
    }
    (void) tcp_poll_until(tcp, all_said_bye, &closing);
    /* Closing a socket with bytes unread resets it, and what the peer has not got by then is lost;
     * so reading goes on until it has. */
    (void) tcp_poll_until(tcp, all_acknowledged, &closing);
    for (size_t i = 0; i < count; i++) {
        tcp_endpoint_end(eps[i]);
    }
    tcp_leave(tcp);
}

/* Whether there is something to close; else it is gone with this. */
static bool is_used(struct tcp_module *tcp, tcp_endpoint *ep)
{
    if (!ep->tcp) {
        btl_pending_end(&tcp->super, ep); /* who is called may rouse it */
    }
    if (!ep->tcp) {
        roster_remove(tcp->roster, ep, false);
        return false;
    }
    return true;
}

void tcp_endpoints_end(mca_btl_base_module_t *btl, tcp_endpoint **endpoints, size_t count)
{
    struct tcp_module *tcp = tcp_of(btl);
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_used(tcp, endpoints[i])) {
            endpoints[used++] = endpoints[i];
        }
    }
    endpoints_close(tcp, endpoints, used);
}

/* A deputy ends with its own endpoint. */
void tcp_endpoints_close_all(struct tcp_module *tcp)
{
    size_t count = 0;
    tcp_endpoint *ep;

    list_for_each (ep, &tcp->endpoints, tcp_endpoint, link) {
        count += ep->deputy == NULL;
    }
    tcp_endpoint **eps = malloc(count * sizeof(*eps) + 1);
    size_t kept = 0;
    list_for_each (ep, &tcp->endpoints, tcp_endpoint, link) {
        if (eps && ep->deputy == NULL) {
            eps[kept++] = ep;
        }
    }
    if (eps) {
        endpoints_close(tcp, eps, kept);
    }
    free(eps);
}
