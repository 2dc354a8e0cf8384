/* A peer: its state, what is queued for it, and its link. */
#ifndef BTL_TCP_ENDPOINT_H
#define BTL_TCP_ENDPOINT_H

#include <base/loop/patience.h>
#include <btl/tcp/tcp.h>

struct tcp_conn;
struct tcp_link;
struct tcp_lanes;

/* Puts and gets go in pieces; so many of an endpoint may be in flight, each way. */
enum { TCP_SLOTS = 32 };

struct tcp_op;

/* A piece of a put or get that the peer has to answer. */
struct tcp_slot {
    struct tcp_op *op;   /* NULL: free */
    uint32_t generation; /* upper half of its id; the lower is its index */
    uint8_t *local;
    uint32_t size;
    bool sent;    /* its frame has left: an answer may come */
    bool data_in; /* a get's bytes are here */
};

struct mca_btl_base_endpoint_t {
    struct btl_peer peer; /* first */
    struct tcp_ended ended;
    struct tcp_module *tcp;
    tcp_endpoint *loopback_of; /* the accepting side of my link to myself: the side that connects */

    /* How to reach it. */
    struct tcp_card card;
    struct netcard_pair pair; /* of addresses, by which this module reaches it */
    bool bound;               /* they are in a subnet together: what goes there is bound to mine */
    size_t order[NETCARD_ADDRESSES]; /* the card's addresses: the pair's, then the best */
    size_t order_count;
    struct patience patience; /* which of them is tried, and for how long */
    uint64_t up_since_us;     /* of its last link */
    uint64_t round_trip_us;   /* of its last link; 0: there was none, or it is not known */
    bool peer_tried;          /* its own connect was turned away in favour of mine */
    struct tcp_conn *conn;    /* HANDSHAKE; owned; NULL: it waits */

    struct tcp_link *tcp_link; /* UP; owned */
    struct tcp_lanes *lanes;   /* owned; NULL: none */

    /* What is to be written. */
    struct list small;   /* messages and control frames, in order */
    struct list bulk;    /* pieces of puts and of answers to gets */
    struct list done;    /* written messages whose completion is due */
    size_t queued_bytes; /* of messages */
    size_t promised;     /* queued messages that count as sent for their sender */

    /* Puts and gets: mine, and the peer's that wait for an answer. */
    struct list ops;
    struct tcp_slot slots[TCP_SLOTS];
    unsigned slots_used;
    unsigned answers;
    struct rdma_am_peer am; /* atomics */
};

static inline void tcp_endpoint_activate(struct tcp_module *tcp, tcp_endpoint *ep)
{
    btl_peer_activate(&tcp->peers, &ep->peer);
}
/* Begins every call with an endpoint: whether it is taken. UNREACH; OUT_OF_RESOURCE: it is not
 * known yet whether this module reaches the peer, or another one does. */
int tcp_endpoint_takes_before_up(tcp_endpoint *ep) KEEL_MUST_CHECK;
KEEL_MUST_CHECK static inline int tcp_endpoint_begin(struct tcp_module *tcp, tcp_endpoint *ep)
{
    tcp_endpoint_activate(tcp, ep);
    return ep->peer.state == PEER_UP ? OPAL_SUCCESS : tcp_endpoint_takes_before_up(ep);
}
extern const struct btl_peer_hooks tcp_peer_hooks;
/* Nothing that was accepted, nor an answer to the peer, is on its way; the peer's kernel has all.
 */
bool tcp_endpoint_is_quiet(const tcp_endpoint *ep);
/* For a restart: ends all operations with an error; every endpoint is idle and knows no card,
 * broken ones included; those that nobody added are gone. */
void tcp_endpoints_restart(struct tcp_module *tcp);
/* The endpoint as the layers above know it. */
tcp_endpoint *tcp_endpoint_known_as(tcp_endpoint *ep);
/* Something is queued: sees to it that there will be a link. */
void tcp_endpoint_want(tcp_endpoint *ep);
/* My connect has led to it: this address comes first from now on. */
void tcp_endpoint_led(tcp_endpoint *ep);
/* Its host accepted and is silent since. Its addresses are tried for limit_us more. */
void tcp_endpoint_silent(tcp_endpoint *ep, uint64_t limit_us);
/* conn has ended without a link (and is closed). PATIENCE_FAILED: the address is worth trying again
 * after the pause, else the next one's turn has come. */
void tcp_endpoint_conn_failed(tcp_endpoint *ep, enum patience_outcome outcome, uint64_t pause_us,
                              const char *why);
/* An authenticated peer wants in, by its answer to a challenge of that time. ACCEPT: *ep is its
 * endpoint, to be handed to tcp_endpoint_up. */
enum tcp_verdict tcp_endpoint_judge(struct tcp_module *tcp, const struct tcp_hello *hello,
                                    uint64_t asked_us, tcp_endpoint **ep);
/* The descriptor is the endpoint's link from now on; closed on an error, which breaks it. */
void tcp_endpoint_up(tcp_endpoint *ep, int fd, uint64_t incarnation);
/* The peer closed the link on purpose: IDLE if nothing was under way, else BROKEN. */
void tcp_endpoint_left(tcp_endpoint *ep);
/* Ends the link; everything in flight calls back with status, then the error is reported. */
void tcp_endpoint_break(tcp_endpoint *ep, int status, const char *why);
/* Its state, to the log. */
void tcp_endpoint_describe(const tcp_endpoint *ep, char *text, size_t size);

/* As end of struct btl_component. */
void tcp_endpoints_end(mca_btl_base_module_t *btl, tcp_endpoint **endpoints, size_t count);

#endif
