/* Put, get and atomics over a module's sends, for transports whose wire lacks them.
 *
 * An operation is cut into chunks; each is a request, answered by one reply, in messages on a
 * channel of the framework's (btl/interface/base.h), which never reach a receive callback. The
 * target checks every request against its region table. At most RDMA_AM_WINDOW requests to a peer
 * are unanswered, so a target never queues more replies than that for one peer.
 *
 * The module embeds a struct rdma_am_peer in its endpoint, sends frames in the order of the calls,
 * hands received frames to rdma_am_receive, and calls rdma_am_progress from its progress. It frees
 * no endpoint inside its send and while one of these functions runs. Handles are struct
 * region_handle. One thread at a time. */
#ifndef BTL_RDMA_AM_H
#define BTL_RDMA_AM_H

#include <base/data/list.h>
#include <btl/emulation/rdma_am_wire.h>
#include <btl/interface/call.h>
#include <btl/memory/region.h>

#define RDMA_AM_WINDOW 32

struct rdma_am;

struct rdma_am_config {
    mca_btl_base_module_t *module; /* borrowed; its alloc, prepare_src and free are used */
    struct region_table *regions;  /* borrowed */
    uint32_t max_ops;              /* most operations at a time; above it OUT_OF_RESOURCE */
    /* Of a put, in each request but the last. 0: what the header leaves of btl_max_send_size; else
     * send takes them behind the header, in a second segment, which is the caller's memory. */
    size_t put_bytes;
    /* The module's channel_send, which is called with BTL_CHANNEL_RDMA. */
    int (*send)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                mca_btl_base_descriptor_t *descriptor, uint8_t channel, mca_btl_base_tag_t tag);
    /* Both NULL, or for modules that reach a peer's memory themselves. At the target, before a put
     * or get: whether this side is to carry it out; false: the initiator does, and gets no reply.
     * At the initiator: puts or gets the rest of an operation. */
    bool (*claim)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                  uint32_t number);
    int (*copy)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, bool put,
                const struct rdma_call *rest);
    /* NULL, or beside claim and copy: at the target, copies size bytes of its own memory (here)
     * from the initiator's (there) for a put, to it for a get. NOT_AVAILABLE: it cannot. */
    int (*reach)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, bool put,
                 void *here, uint64_t there, size_t size);
    size_t share_bytes; /* most that reach copies at a time */
    /* At the initiator, of puts and gets of at least timed_bytes that ended well: when they began
     * (clock_ns), and whether both sides copied. NULL: nobody asks. */
    void (*timed)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, bool put,
                  bool shared, size_t size, uint64_t began_ns);
    size_t timed_bytes;
};

struct rdma_am_peer {
    struct mca_btl_base_endpoint_t *endpoint;
    struct mca_btl_base_endpoint_t *known_as; /* to the layers above, whom regions are opened to */
    struct list link;                         /* among the peers that wait for room to send */
    struct list requesting;                   /* operations with chunks left to request */
    struct list waiting;                      /* operations that wait for replies */
    struct list replies;                      /* replies that found no room */
    unsigned unanswered;                      /* requests; no more are made above window */
    unsigned window; /* the module may lower it; each reply raises it again, to RDMA_AM_WINDOW */
    uint32_t asked;  /* the number of the last request; wraps */
    uint32_t heard;  /* replies that operations got; wraps */
    unsigned replies_queued;
    bool pumping;
    bool replying;   /* a reply is being sent: others queue behind it */
    bool unreaching; /* it cannot reach this side's memory */
    int lost;        /* the first error of an operation without callback; see rdma_am_lose */
};

int rdma_am_create(struct rdma_am **am, const struct rdma_am_config *config) KEEL_MUST_CHECK;
/* Every peer was cancelled. */
void rdma_am_destroy(struct rdma_am *am);
void rdma_am_peer_init(struct rdma_am_peer *peer, struct mca_btl_base_endpoint_t *endpoint);
/* For del_procs and lost links: every operation to this peer calls back once, with status, as soon
 * as none of its descriptors is in flight; replies to it are dropped. After this and the completion
 * of the frames' descriptors, the peer's memory may go. */
void rdma_am_cancel(struct rdma_am *am, struct rdma_am_peer *peer, int status);

/* Ends the puts and gets to a peer without its help: copies what is left of each, in their order.
 * The caller has claimed all requests above the number claimed, and the peer those up to it, which
 * are waited for; both may copy at once. Where copy returns NOT_AVAILABLE, that operation and those
 * after it are requested again. */
void rdma_am_take(struct rdma_am *am, struct rdma_am_peer *peer, uint32_t claimed);

/* As btl_put and btl_get. */
int rdma_am_put(struct rdma_am *am, struct rdma_am_peer *peer, const struct rdma_call *call);
int rdma_am_get(struct rdma_am *am, struct rdma_am_peer *peer, const struct rdma_call *call);
/* The same by both sides at once, for modules with reach: the target copies from the front, chunk
 * by chunk as it is asked, and this side from the end, in rdma_am_work. */
int rdma_am_share(struct rdma_am *am, struct rdma_am_peer *peer, const struct rdma_call *call,
                  bool put);
enum rdma_am_work {
    RDMA_AM_IDLE,
    RDMA_AM_COPIED, /* one chunk; callbacks may have ended the peer */
    RDMA_AM_WAITS   /* the target was asked for all that is left, and not all of it was claimed */
};
/* This side's part of the oldest shared operation to a peer. */
enum rdma_am_work rdma_am_work(struct rdma_am *am, struct rdma_am_peer *peer);
/* As the module's three calls, but never 1. */
int rdma_am_atomic(struct rdma_am *am, struct rdma_am_peer *peer, const struct atomic_call *call);
/* Handles a frame. BAD_PARAM: it breaks the protocol, and the module should drop the peer. */
int rdma_am_receive(struct rdma_am *am, struct rdma_am_peer *peer,
                    const mca_btl_base_segment_t *segments, size_t count) KEEL_MUST_CHECK;
/* A put whose frame comes in pieces lands in its region piece by piece, and is never whole in one
 * place. Not for modules with claim. */
struct rdma_am_landing {
    struct rdma_am_frame frame;
    size_t landed; /* bytes of its data */
    int status;    /* why what follows goes nowhere, and what the peer will be told */
};
/* From the first bytes of a frame, RDMA_AM_REQUEST_BYTES or more, and the size of what follows
 * these RDMA_AM_REQUEST_BYTES. NOT_SUPPORTED: no put; it has to be received whole. BAD_PARAM: it
 * breaks the protocol. */
int rdma_am_begin(struct rdma_am_landing *landing, const void *header, size_t size,
                  size_t data) KEEL_MUST_CHECK;
/* Where the next bytes of its data go, checked now: the region may have gone since the last ones.
 * NULL: nowhere; the put is refused, or these are more than its header said. Write them before the
 * module or a caller of it does anything else. */
void *rdma_am_land(struct rdma_am *am, struct rdma_am_peer *peer, struct rdma_am_landing *landing,
                   size_t size);
/* All of it has landed, or gone nowhere: answers. BAD_PARAM as rdma_am_receive; also when something
 * is missing. A landing that does not end needs nothing. */
int rdma_am_end(struct rdma_am *am, struct rdma_am_peer *peer,
                struct rdma_am_landing *landing) KEEL_MUST_CHECK;
/* Goes on with what found no room; returns the number of frames sent. */
int rdma_am_progress(struct rdma_am *am);
/* Whether any operation is not complete or any reply not sent; and of one peer's. */
bool rdma_am_active(const struct rdma_am *am);
bool rdma_am_peer_active(const struct rdma_am_peer *peer);
/* Whether any operation of this side's is not complete; and of one peer's. */
bool rdma_am_open(const struct rdma_am *am);
bool rdma_am_peer_open(const struct rdma_am_peer *peer);
/* Whether any operation is one of rdma_am_share's. */
bool rdma_am_shares(const struct rdma_am *am);
/* A number that changes with each reply to the oldest operation of this side's to the peer; 0 where
 * nothing is asked. The same number twice: no reply came. */
uint64_t rdma_am_peer_awaits(const struct rdma_am_peer *peer);
/* Something found no room, and is tried again by rdma_am_progress. */
bool rdma_am_stuck(const struct rdma_am *am);
/* One more operation could begin. */
bool rdma_am_has_room(const struct rdma_am *am);
/* What nobody was called back with is kept for the next flush: the first error since the last. Also
 * for the module's own puts and gets. rdma_am_lost takes it. */
void rdma_am_lose(struct rdma_am_peer *peer, int status);
int rdma_am_lost(struct rdma_am_peer *peer);

#endif
