/* Peers: how each is reached, its session, and what is queued for it. */
#ifndef BTL_USNIC_PEER_H
#define BTL_USNIC_PEER_H

#include <btl/usnic/usnic.h>

/* A session that is over, as far as its other end has to be told so. */
struct usnic_over {
    uint64_t token, their_token; /* 0: there was none */
    uint32_t their_index;
};

struct mca_btl_base_endpoint_t {
    struct btl_peer life; /* first; HANDSHAKE: hellos go out */
    struct usnic_module *usnic;
    struct btl_handshake hello; /* the session; index: among the module's peers */
    struct usnic_over over;
    struct usnic_place at;
    struct usnic_way way;
    struct usnic_flow flow;
    bool flows;       /* the flow is open */
    bool lands;       /* the first chunk of the landing has been taken */
    struct list outs; /* struct usnic_out, in their order */
    size_t queued_bytes;
    struct list checking; /* in the module's, while its path is checked */
    struct list leaving;  /* in the module's, once its BYE has come */
    struct usnic_end end; /* of the session */
    struct usnic_check check;
    enum usnic_verdict told;        /* what was logged of the path */
    struct rdma_am_landing landing; /* of the put whose chunks come */
    struct rdma_am_peer am;
    uint64_t awaits;       /* rdma_am_peer_awaits at the last look */
    uint64_t came_us;      /* when the last new packet had come by then */
    uint32_t silent_looks; /* at which neither had changed, while all was acknowledged */
};

extern const struct btl_peer_hooks usnic_peer_hooks;
extern const struct btl_greeter_ops usnic_greeter_ops;

static inline usnic_endpoint *usnic_endpoint_of(struct btl_peer *peer)
{
    return (usnic_endpoint *) (void *) peer;
}
int usnic_peer_locate(usnic_endpoint *peer, const struct usnic_place *place) KEEL_MUST_CHECK;
/* A frame with its token has come. */
static inline void usnic_peer_proved(usnic_endpoint *peer)
{
    if (peer->life.state != PEER_UP) {
        btl_hello_proved(&peer->usnic->greeter, &peer->life);
    }
}
/* Its last message has come: what came with it is taken first. */
void usnic_bye_received(usnic_endpoint *peer);
/* It says that the session is over there. */
void usnic_over_received(usnic_endpoint *peer);
/* Called by each pass of progress: goes on with the end of those whose BYE has come. */
void usnic_ends_progress(struct usnic_module *usnic);

#endif
