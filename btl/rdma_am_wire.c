#include <btl/rdma_am_wire.h>
#include <endian.h>
#include <string.h>

static void put32(unsigned char *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof(value));
}

static void put64(unsigned char *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof(value));
}

static uint32_t get32(const unsigned char *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof(value));
    return le32toh(value);
}

static uint64_t get64(const unsigned char *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof(value));
    return le64toh(value);
}

static bool is_request(enum rdma_am_kind kind)
{
    return kind == RDMA_AM_PUT || kind == RDMA_AM_GET;
}

size_t rdma_am_frame_bytes(enum rdma_am_kind kind)
{
    return is_request(kind) ? RDMA_AM_REQUEST_BYTES : RDMA_AM_REPLY_BYTES;
}

void rdma_am_encode(unsigned char *bytes, const struct rdma_am_frame *frame)
{
    bytes[0] = RDMA_AM_VERSION;
    bytes[1] = (unsigned char) frame->kind;
    bytes[2] = bytes[3] = 0;
    put32(bytes + 4, (uint32_t) frame->status);
    put32(bytes + 8, frame->op_index);
    put32(bytes + 12, frame->op_generation);
    put64(bytes + 16, frame->offset);
    put64(bytes + 24, frame->size);
    if (is_request(frame->kind)) {
        put64(bytes + 32, frame->address);
        put64(bytes + 40, frame->total);
        put32(bytes + 48, frame->region_index);
        put32(bytes + 52, frame->region_generation);
    }
}

int rdma_am_decode(struct rdma_am_frame *frame, const unsigned char *bytes, size_t size)
{
    if (size < RDMA_AM_REPLY_BYTES || bytes[0] != RDMA_AM_VERSION || bytes[1] < RDMA_AM_PUT ||
        bytes[1] > RDMA_AM_GET_REPLY || bytes[2] != 0 || bytes[3] != 0) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct rdma_am_frame decoded = {
        .kind = bytes[1],
        .status = (int32_t) get32(bytes + 4),
        .op_index = get32(bytes + 8),
        .op_generation = get32(bytes + 12),
        .offset = get64(bytes + 16),
        .size = get64(bytes + 24),
    };
    if (size < rdma_am_frame_bytes(decoded.kind) || decoded.status > 0 ||
        (is_request(decoded.kind) && decoded.status != 0)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (is_request(decoded.kind)) {
        decoded.address = get64(bytes + 32);
        decoded.total = get64(bytes + 40);
        decoded.region_index = get32(bytes + 48);
        decoded.region_generation = get32(bytes + 52);
        if (decoded.offset > decoded.total || decoded.size > decoded.total - decoded.offset) {
            return OPAL_ERR_BAD_PARAM;
        }
    }
    *frame = decoded;
    return OPAL_SUCCESS;
}
