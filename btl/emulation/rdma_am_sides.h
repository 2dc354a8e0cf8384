/* What the two sides of rdma_am know of each other: rdma_am_initiator.c makes requests and takes
 * replies, rdma_am_target.c carries requests out and answers, rdma_am.c has what is both's. */
#ifndef BTL_RDMA_AM_SIDES_H
#define BTL_RDMA_AM_SIDES_H

#include <base/data/pool.h>
#include <btl/emulation/rdma_am.h>
#include <btl/emulation/rdma_am_wire.h>

struct rdma_am {
    struct rdma_am_config config;
    struct am_op *ops; /* max_ops, of which the first used_ops were ever used */
    uint32_t used_ops;
    uint32_t live_ops;
    uint32_t over_ops; /* of the live ones */
    uint32_t shared_ops;
    struct list free_ops;
    struct pool replies;
    struct list stuck; /* peers */
};

/* rdma_am.c. The peer waits for room. */
void am_peer_stuck(struct rdma_am *am, struct rdma_am_peer *peer);
/* Sends what waits for this peer, replies first; returns the number of frames sent. */
int am_peer_pump(struct rdma_am *am, struct rdma_am_peer *peer);
/* Copies what follows the header in the segments. */
void am_copy_payload(unsigned char *to, const mca_btl_base_segment_t *segments, size_t count,
                     size_t header);

/* rdma_am_initiator.c. NULL: no memory. */
struct am_op *am_ops_create(uint32_t count);
void am_ops_cancel(struct rdma_am *am, struct rdma_am_peer *peer, int status);
/* There is an operation that is requesting. Whether the next chunk is for the target to carry out
 * now, and asks for it; a shortage leaves all as it was. */
bool am_may_request(const struct rdma_am *am, const struct rdma_am_peer *peer);
int am_request_next(struct rdma_am *am, struct rdma_am_peer *peer);
int am_receive_reply(struct rdma_am *am, struct rdma_am_peer *peer,
                     const struct rdma_am_frame *frame, const mca_btl_base_segment_t *segments,
                     size_t count, size_t payload);

/* rdma_am_target.c */
void am_replies_init(struct pool *replies);
void am_replies_drop(struct rdma_am *am, struct rdma_am_peer *peer);
/* Sends the first reply that waits; there is one. A shortage leaves it there. */
int am_reply_next(struct rdma_am *am, struct rdma_am_peer *peer);
int am_receive_request(struct rdma_am *am, struct rdma_am_peer *peer,
                       const struct rdma_am_frame *frame, const mca_btl_base_segment_t *segments,
                       size_t count, size_t payload);

#endif
