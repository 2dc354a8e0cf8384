/* The frames of btl/emulation/rdma_am.h, little-endian: 32 bytes of every frame, 24 more in a
 * request, 24 more in an atomic one, and 8 more in a shared one.
 *
 *   0 u8 version  1 u8 kind  2 u16 zero  4 i32 status, in requests u32 number
 *   8 u32 op index  12 u32 op generation
 *   16 u64 offset  24 u64 size | 32 u64 address  40 u64 total  48 u32 region index
 *   52 u32 region generation | 56 u32 operation  60 u32 zero  64 u64 operand  72 u64 value
 *                            | 56 u64 there
 *
 * number: the requests to a peer are counted, so that each can be claimed
 * (btl/emulation/rdma_am.h). op: the initiator's operation, echoed. offset and size: this chunk,
 * within the operation. address and total: the whole operation's memory at the target, so that an
 * operation that leaves its region is refused from the first chunk on. An atomic's are its width, 4
 * or 8. there: this chunk's memory at the initiator, where PULL takes its data, and PUSH puts it.
 * The data of PUT and GET_REPLY follows; of ATOMIC_REPLY the bytes that were there before,
 * little-endian as well. */
#ifndef BTL_RDMA_AM_WIRE_H
#define BTL_RDMA_AM_WIRE_H

#include <btl/interface/atomic.h>

#define RDMA_AM_VERSION 5
#define RDMA_AM_REPLY_BYTES 32
#define RDMA_AM_REQUEST_BYTES 56
#define RDMA_AM_ATOMIC_BYTES 80
#define RDMA_AM_SHARED_BYTES 64

/* Each request's reply follows it. */
enum rdma_am_kind {
    RDMA_AM_PUT = 1,
    RDMA_AM_PUT_REPLY,
    RDMA_AM_GET,
    RDMA_AM_GET_REPLY,
    RDMA_AM_ATOMIC,
    RDMA_AM_ATOMIC_REPLY,
    RDMA_AM_PULL, /* a put whose bytes the target fetches */
    RDMA_AM_PULL_REPLY,
    RDMA_AM_PUSH, /* a get whose bytes the target stores */
    RDMA_AM_PUSH_REPLY
};

struct rdma_am_frame {
    enum rdma_am_kind kind;
    union {
        int32_t status;  /* of a reply */
        uint32_t number; /* of a request */
    };
    uint32_t op_index, op_generation;
    uint64_t offset, size;
    uint64_t address, total; /* requests only, as is the region */
    uint32_t region_index, region_generation;
    struct atomic atomic; /* of ATOMIC */
    uint64_t there;       /* of PULL and PUSH */
};

bool rdma_am_is_request(enum rdma_am_kind kind);
bool rdma_am_is_shared(enum rdma_am_kind kind); /* PULL or PUSH */
/* Bytes of a frame's header. */
size_t rdma_am_frame_bytes(enum rdma_am_kind kind);
/* Writes rdma_am_frame_bytes(frame->kind) bytes. */
void rdma_am_encode(unsigned char *bytes, const struct rdma_am_frame *frame);
/* BAD_PARAM: too short, another version, an unknown kind, a status that does not fit, a chunk
 * outside its operation, an atomic of another size. */
int rdma_am_decode(struct rdma_am_frame *frame, const unsigned char *bytes,
                   size_t size) KEEL_MUST_CHECK;

#endif
