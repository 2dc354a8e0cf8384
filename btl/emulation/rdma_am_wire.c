#include <config.h>

#include <base/data/le.h>
#include <btl/emulation/rdma_am_wire.h>

bool rdma_am_is_request(enum rdma_am_kind kind)
{
    return kind == RDMA_AM_PUT || kind == RDMA_AM_GET || kind == RDMA_AM_ATOMIC ||
           rdma_am_is_shared(kind);
}

bool rdma_am_is_shared(enum rdma_am_kind kind)
{
    return kind == RDMA_AM_PULL || kind == RDMA_AM_PUSH;
}

size_t rdma_am_frame_bytes(enum rdma_am_kind kind)
{
    if (kind == RDMA_AM_ATOMIC) {
        return RDMA_AM_ATOMIC_BYTES;
    }
    if (rdma_am_is_shared(kind)) {
        return RDMA_AM_SHARED_BYTES;
    }
    return rdma_am_is_request(kind) ? RDMA_AM_REQUEST_BYTES : RDMA_AM_REPLY_BYTES;
}

void rdma_am_encode(unsigned char *bytes, const struct rdma_am_frame *frame)
{
    bytes[0] = RDMA_AM_VERSION;
    bytes[1] = (unsigned char) frame->kind;
    bytes[2] = bytes[3] = 0;
    put_le32(bytes + 4, frame->number);
    put_le32(bytes + 8, frame->op_index);
    put_le32(bytes + 12, frame->op_generation);
    put_le64(bytes + 16, frame->offset);
    put_le64(bytes + 24, frame->size);
    if (rdma_am_is_request(frame->kind)) {
        put_le64(bytes + 32, frame->address);
        put_le64(bytes + 40, frame->total);
        put_le32(bytes + 48, frame->region_index);
        put_le32(bytes + 52, frame->region_generation);
    }
    if (frame->kind == RDMA_AM_ATOMIC) {
        put_le32(bytes + 56, frame->atomic.op);
        put_le32(bytes + 60, 0);
        put_le64(bytes + 64, frame->atomic.operand);
        put_le64(bytes + 72, frame->atomic.value);
    } else if (rdma_am_is_shared(frame->kind)) {
        put_le64(bytes + 56, frame->there);
    }
}

int rdma_am_decode(struct rdma_am_frame *frame, const unsigned char *bytes, size_t size)
{
    if (size < RDMA_AM_REPLY_BYTES || bytes[0] != RDMA_AM_VERSION || bytes[1] < RDMA_AM_PUT ||
        bytes[1] > RDMA_AM_PUSH_REPLY || bytes[2] != 0 || bytes[3] != 0) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct rdma_am_frame decoded = {
        .kind = bytes[1],
        .number = get_le32(bytes + 4),
        .op_index = get_le32(bytes + 8),
        .op_generation = get_le32(bytes + 12),
        .offset = get_le64(bytes + 16),
        .size = get_le64(bytes + 24),
    };
    if (size < rdma_am_frame_bytes(decoded.kind) ||
        (!rdma_am_is_request(decoded.kind) && decoded.status > 0)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (rdma_am_is_request(decoded.kind)) {
        decoded.address = get_le64(bytes + 32);
        decoded.total = get_le64(bytes + 40);
        decoded.region_index = get_le32(bytes + 48);
        decoded.region_generation = get_le32(bytes + 52);
        if (decoded.offset > decoded.total || decoded.size > decoded.total - decoded.offset) {
            return OPAL_ERR_BAD_PARAM;
        }
    }
    if (decoded.kind == RDMA_AM_ATOMIC) {
        decoded.atomic.op = get_le32(bytes + 56);
        decoded.atomic.operand = get_le64(bytes + 64);
        decoded.atomic.value = get_le64(bytes + 72);
        if (get_le32(bytes + 60) != 0 || decoded.offset != 0 || decoded.total != decoded.size ||
            (decoded.size != sizeof(uint32_t) && decoded.size != sizeof(uint64_t))) {
            return OPAL_ERR_BAD_PARAM;
        }
    } else if (rdma_am_is_shared(decoded.kind)) {
        decoded.there = get_le64(bytes + 56);
    }
    *frame = decoded;
    return OPAL_SUCCESS;
}
