/* Lanes: further links of a module to a peer, for pieces of puts and gets
 * alone. What is queued in the endpoint's bulk goes over whichever link has room. The side whose
 * connect made the first link opens them; a lane that does not come about is done without, one that
 * breaks breaks the endpoint. */
#ifndef BTL_TCP_LANE_H
#define BTL_TCP_LANE_H

#include <btl/tcp/tcp_conn.h>
#include <btl/tcp/tcp_link.h>

struct tcp_lanes {
    struct tcp_link *links[TCP_LANES]; /* owned; NULL: not up */
    struct tcp_conn *conns[TCP_LANES]; /* owned; mine that are being set up */
};

/* My connect to ep is its first link since now: starts those for the lanes. */
void tcp_lanes_open(tcp_endpoint *ep);
/* A connect of mine for a lane has ended without a link (and is closed). */
void tcp_lane_conn_failed(tcp_endpoint *ep, unsigned lane, const char *why);
/* Whether a peer's connect may become the lane that its hello names. */
enum tcp_verdict tcp_lane_judge(struct tcp_module *tcp, const struct tcp_hello *hello,
                                tcp_endpoint **ep);
/* The descriptor is a lane from now on; closed when there is no memory for it. */
void tcp_lane_up(tcp_endpoint *ep, unsigned lane, int fd);
/* The peer closed a lane on purpose, or left before it had learnt of it. */
void tcp_lane_left(struct tcp_link *link);
/* Sees to it that progress polls them, when there is something for them. */
void tcp_lanes_wake(tcp_endpoint *ep);
/* Whether this holds for all links of the endpoint; asks each, the first link last. */
bool tcp_links_all(const tcp_endpoint *ep, bool (*holds)(struct tcp_link *link));
void tcp_lanes_close(tcp_endpoint *ep);

#endif
