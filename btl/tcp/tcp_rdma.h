/* Put and get. They go in pieces of bounded size, each with a slot of its own, so that messages
 * pass between them; a piece is done when the target's DONE is here. The target holds no state but
 * queued answers: every piece names region and address anew, and is checked when it comes and again
 * whenever memory is touched. */
#ifndef BTL_TCP_RDMA_H
#define BTL_TCP_RDMA_H

#include <btl/tcp/tcp_send.h>

/* A put or get under way. */
struct tcp_op {
    struct list link; /* in the endpoint's ops */
    struct rdma_call call;
    struct region_handle handle; /* a copy of call's remote one */
    bool get;
    size_t issued;   /* bytes for which pieces went out */
    unsigned pieces; /* in flight */
    int status;
};

/* 0: the callback will come. */
int tcp_rdma(mca_btl_base_module_t *btl, tcp_endpoint *ep, const struct rdma_call *call, bool put);
/* Queues pieces, in the order of the calls, as far as slots and memory go. */
void tcp_rdma_issue(tcp_endpoint *ep);
/* Answers the peer's GET with its data; answers a GET or a PUT with a status. Errors break the
 * link.
 */
int tcp_rdma_serve_get(tcp_endpoint *ep, const struct tcp_frame *frame) KEEL_MUST_CHECK;
int tcp_rdma_answer(tcp_endpoint *ep, uint64_t id, int status) KEEL_MUST_CHECK;
/* Where size bytes of the peer's PUT, offset from its start, belong; NULL and *status: nowhere. */
void *tcp_rdma_put_target(tcp_endpoint *ep, const struct tcp_frame *frame, size_t offset,
                          int *status);
/* The bytes that an ANSWER with data may read now; NULL when its region is gone, and then its
 * trailer says so. */
const void *tcp_rdma_answer_data(tcp_endpoint *ep, struct tcp_item *item);
/* A DATA frame came: where it belongs, NULL if nobody asked. */
struct tcp_slot *tcp_rdma_data(tcp_endpoint *ep, const struct tcp_frame *frame);
/* A DONE frame came. Calls back what is complete. */
int tcp_rdma_done(tcp_endpoint *ep, const struct tcp_frame *frame) KEEL_MUST_CHECK;
/* Ends all of mine with status. */
void tcp_rdma_fail(tcp_endpoint *ep, int status);

#endif
