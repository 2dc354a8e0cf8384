/* A peer: its state, what is queued for it, and its link. */
#ifndef BTL_TCP_ENDPOINT_H
#define BTL_TCP_ENDPOINT_H

#include <base/patience.h>
#include <btl/tcp/tcp.h>

struct tcp_conn;
struct tcp_link;
struct tcp_lanes;

/* IDLE -> WAITING (a send came) -> CONNECTING -> UP, back to WAITING after a failure that may pass,
 * to CARD while the host looks for the peer's card. UP -> IDLE when the peer said BYE. BROKEN lasts
 * until del_procs. The peer's own connect leads to UP from every state before it. */
enum ep_state { EP_IDLE, EP_CARD, EP_WAITING, EP_CONNECTING, EP_UP, EP_BROKEN, EP_CLOSED };

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

/* All zero until it is first used: see tcp_endpoint_rouse. */
struct mca_btl_base_endpoint_t {
    struct list link; /* in the module's endpoints */
    struct tcp_ended ended;
    struct tcp_module *tcp; /* NULL: not used yet */
    orte_process_name_t name;
    opal_proc_t *proc; /* add_procs' (borrowed); own_proc for a peer that came by itself */
    opal_proc_t own_proc;
    bool added;           /* by add_procs */
    tcp_endpoint *deputy; /* of the accepting side of my link to myself: the side that connects */
    enum ep_state state;
    bool leaving; /* its last word is said; del_procs is at work */

    /* How to reach it. */
    struct tcp_card card;
    bool card_known;
    struct btl_card_question *question; /* while the host looks for the card */
    size_t order[NETCARD_ADDRESSES];    /* the card's addresses, best first */
    size_t order_count;
    struct patience patience; /* which of them is tried, and for how long */
    struct list waiting;      /* in the module's waiting, with wake_us */
    uint64_t wake_us;
    uint64_t give_up_us;   /* failures that may pass are final after this */
    bool peer_tried;       /* its own connect was turned away in favour of mine */
    struct tcp_conn *conn; /* CONNECTING; owned */

    struct tcp_link *tcp_link; /* UP; owned */
    struct tcp_lanes *lanes;   /* owned; NULL: none */
    uint64_t incarnation;      /* of the peer at the link's other end */

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

/* As add of struct btl_component: an endpoint that is not to be used before it is roused. */
tcp_endpoint *tcp_endpoint_add(mca_btl_base_module_t *btl, opal_proc_t *proc);
void tcp_endpoint_rouse_now(struct tcp_module *tcp, tcp_endpoint *ep);
/* Every call with an endpoint begins with this. */
static inline void tcp_endpoint_rouse(struct tcp_module *tcp, tcp_endpoint *ep)
{
    if (!ep->tcp) {
        tcp_endpoint_rouse_now(tcp, ep);
    }
}
/* Nothing that was accepted, nor an answer to the peer, is on its way; the peer's kernel has all.
 */
bool tcp_endpoint_is_quiet(const tcp_endpoint *ep);
/* For a restart: ends all operations with an error; every endpoint is idle and knows no card,
 * broken ones included; those that nobody added are gone. */
void tcp_endpoints_restart(struct tcp_module *tcp);
/* The endpoint as the layers above know it. */
tcp_endpoint *tcp_endpoint_face(tcp_endpoint *ep);
/* Something is queued: sees to it that there will be a link. */
void tcp_endpoint_want(tcp_endpoint *ep);
/* WAITING and wake_us has come. */
void tcp_endpoint_wake(tcp_endpoint *ep);
/* conn has ended without a link (and is closed). PATIENCE_FAILED: the address is worth trying again
 * after the pause, else the next one's turn has come. */
void tcp_endpoint_conn_failed(tcp_endpoint *ep, enum patience_outcome outcome, uint64_t pause_us,
                              const char *why);
/* An authenticated peer wants in. ACCEPT: *ep is its endpoint, to be handed to tcp_endpoint_up. */
enum tcp_verdict tcp_endpoint_judge(struct tcp_module *tcp, const struct tcp_hello *hello,
                                    tcp_endpoint **ep);
/* The descriptor is the endpoint's link from now on; closed on an error, which breaks it. */
void tcp_endpoint_up(tcp_endpoint *ep, int fd, uint64_t incarnation);
/* The peer closed the link on purpose: IDLE if nothing was under way, else BROKEN. */
void tcp_endpoint_left(tcp_endpoint *ep);
/* Ends the link; everything in flight calls back with status, then the error is reported. */
void tcp_endpoint_break(tcp_endpoint *ep, int status, const char *why);
/* Closes its sockets, calls back what is in flight with UNREACH, and frees it later. */
void tcp_endpoint_end(tcp_endpoint *ep);
/* Its state, to the log. */
void tcp_endpoint_dump(const tcp_endpoint *ep);

/* tcp_closing.c, as end of struct btl_component: writes what counts as sent, says BYE, and ends the
 * endpoints. Bounded by the parameter btl_tcp_flush_timeout_ms. */
void tcp_endpoints_end(mca_btl_base_module_t *btl, tcp_endpoint **endpoints, size_t count);
/* The same for all there are. */
void tcp_endpoints_close_all(struct tcp_module *tcp);

#endif
