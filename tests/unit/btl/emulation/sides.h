/* For tests of btl/emulation/rdma_am.h: two sides in one process and a pipe in memory from each to
 * the other. a is the initiator, b the target. */
#ifndef TESTS_RDMA_SIDES_H
#define TESTS_RDMA_SIDES_H

#include <btl/emulation/rdma_am.h>
#include <btl/emulation/rdma_am_wire.h>
#include <btl/memory/desc.h>

enum {
    RDMA_SIDE_MAX_SEND = 1024,
    RDMA_SIDE_BYTES = 65536,
    RDMA_SIDE_SHARE = 1000, /* of a shared operation, in a chunk */
    RDMA_SIDE_OPS = 100,
    RDMA_PIPE = 512
};

/* What a send does: brings its frame over before it returns, leaves it in the pipe, or now this and
 * now that, with shortages in between. */
enum delivery { AT_ONCE, LATER, MOODY };

struct side {
    mca_btl_base_module_t module; /* first */
    struct desc_set descs;
    struct region_table *regions;
    struct rdma_am *am;
    struct rdma_am_peer peer;
    struct side *other;
    enum delivery delivery;
    unsigned draws;  /* state of MOODY's generator */
    int broken;      /* not 0: what sends return */
    size_t piece;    /* not 0: puts land here in pieces of it */
    unsigned frames; /* accepted */
    bool (*claim)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                  uint32_t number); /* NULL: all are this side's */
    int (*copy)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, bool put,
                const struct rdma_call *rest); /* only for rdma_am_take and rdma_am_work */
    int (*reach)(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, bool put,
                 void *here, uint64_t there, size_t size); /* only for rdma_am_share */
    int depth, deepest;                         /* of sends inside sends */
    mca_btl_base_descriptor_t *pipe[RDMA_PIPE]; /* complete when their frames are delivered */
    size_t first, count;
    unsigned char *memory;
    mca_btl_base_registration_handle_t *handle;
};

extern struct side a, b;

void sides_open(enum delivery delivery);
/* With requests of put that have so many bytes of data, up to RDMA_SIDE_MAX_SEND. */
void sides_open_wide(enum delivery delivery, size_t put_bytes);
/* Fails where an operation, a reply or a descriptor is left. */
void sides_close(void);
/* Delivers what is in the pipe now; returns the frames. */
size_t side_drain(struct side *side);
/* So many of them at most. */
void side_drain_some(struct side *side, size_t most);
/* Ends what is in the pipe with a status, with its frames delivered or lost. */
void side_end(struct side *side, bool delivered, int status);
/* One round of both; returns what moved. */
size_t sides_turn(void);
/* Until nothing moves any more. */
void sides_run(void);
/* Hands a frame to a side as its peer's, with payload zeros behind it; returns what that said. */
int side_receive(struct side *side, struct rdma_am_peer *peer, const struct rdma_am_frame *frame,
                 size_t payload);

/* Lands a put in pieces; data follows the header. Returns what rdma_am_begin or rdma_am_end said.
 */
int side_land(struct side *side, const unsigned char *bytes, size_t size, size_t piece);

/* An address in b's memory. */
uint64_t remote(size_t offset);
void fill(unsigned char *to, size_t size, unsigned seed);
/* A request for b's whole region. */
struct rdma_am_frame request_to_b(enum rdma_am_kind kind, size_t size);

struct outcome {
    int calls, status;
};

/* What a's operations call; data is the outcome, context the place behind it. */
void rdma_done(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
               void *address, mca_btl_base_registration_handle_t *handle, void *context, void *data,
               int status);
/* A put or get of a's; returns what that said. */
int start(bool put, void *local, uint64_t address, void *handle, size_t size,
          struct outcome *outcome);

#endif
