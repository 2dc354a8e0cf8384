#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/emulation/sides.h>

struct side a, b;

static struct mca_btl_base_endpoint_t *const endpoint_a = (void *) 0x1000, *const endpoint_b =
                                                                               (void *) 0x2000;

static struct side *side_of(mca_btl_base_module_t *module)
{
    return (struct side *) (void *) module;
}

static mca_btl_base_descriptor_t *side_alloc(mca_btl_base_module_t *module,
                                             struct mca_btl_base_endpoint_t *endpoint,
                                             uint8_t order, size_t size, uint32_t flags)
{
    (void) endpoint;
    return desc_alloc(&side_of(module)->descs, order, size, flags);
}

static mca_btl_base_descriptor_t *side_prepare(mca_btl_base_module_t *module,
                                               struct mca_btl_base_endpoint_t *endpoint,
                                               opal_convertor_t *convertor, uint8_t order,
                                               size_t reserve, size_t *size, uint32_t flags)
{
    (void) endpoint;
    return desc_prepare(&side_of(module)->descs, convertor, order, reserve, size, flags, true);
}

static int side_free(mca_btl_base_module_t *module, mca_btl_base_descriptor_t *descriptor)
{
    (void) module;
    return desc_free(descriptor);
}

int side_land(struct side *side, const unsigned char *bytes, size_t size, size_t piece)
{
    struct rdma_am_landing landing;
    int status = rdma_am_begin(&landing, bytes, size, size - RDMA_AM_REQUEST_BYTES);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    for (size_t at = RDMA_AM_REQUEST_BYTES; at < size; at += piece) {
        piece = piece < size - at ? piece : size - at;
        void *to = rdma_am_land(side->am, &side->peer, &landing, piece);
        if (to) {
            memcpy(to, bytes + at, piece);
        }
    }
    return rdma_am_end(side->am, &side->peer, &landing);
}

/* Hands one frame to the other side as one segment, or a put in pieces, as a wire would. */
static void hand_over(struct side *side, mca_btl_base_descriptor_t *descriptor)
{
    unsigned char bytes[RDMA_AM_REQUEST_BYTES + RDMA_SIDE_MAX_SEND];
    size_t size;
    ck_assert_int_eq(desc_total(descriptor, sizeof(bytes), &size), OPAL_SUCCESS);
    desc_gather(bytes, descriptor->des_segments, descriptor->des_segment_count);
    mca_btl_base_segment_t segment = {.seg_addr.pval = bytes, .seg_len = size};
    struct side *other = side->other;
    if (other->piece > 0 && bytes[1] == RDMA_AM_PUT) {
        ck_assert_int_eq(side_land(other, bytes, size, other->piece), OPAL_SUCCESS);
        return;
    }
    ck_assert_int_eq(rdma_am_receive(other->am, &other->peer, &segment, 1), OPAL_SUCCESS);
}

static int side_send(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                     mca_btl_base_descriptor_t *descriptor, uint8_t channel, mca_btl_base_tag_t tag)
{
    struct side *side = side_of(module);
    ck_assert(channel == BTL_CHANNEL_RDMA && tag == 0);
    ck_assert_ptr_eq(endpoint, side->peer.endpoint);
    if (side->broken) {
        return side->broken;
    }
    unsigned mood = side->delivery;
    if (side->delivery == MOODY) {
        side->draws = side->draws * 1103515245u + 12345u;
        unsigned draw = side->draws >> 16 & 7;
        if (draw < 3) {
            return OPAL_ERR_OUT_OF_RESOURCE;
        }
        mood = draw < 4 && side->count == 0 ? AT_ONCE : LATER;
    }
    if (mood == AT_ONCE) {
        side->frames++;
        side->deepest = ++side->depth > side->deepest ? side->depth : side->deepest;
        hand_over(side, descriptor);
        side->depth--;
        return btl_sent(module, endpoint, descriptor);
    }
    if (side->count == RDMA_PIPE) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    side->frames++;
    side->pipe[(side->first + side->count++) % RDMA_PIPE] = descriptor;
    return 0;
}

static mca_btl_base_descriptor_t *pipe_pop(struct side *side)
{
    mca_btl_base_descriptor_t *descriptor = side->pipe[side->first];
    side->first = (side->first + 1) % RDMA_PIPE;
    side->count--;
    return descriptor;
}

static void end_one(struct side *side, bool delivered, int status)
{
    mca_btl_base_descriptor_t *descriptor = pipe_pop(side);
    if (delivered) {
        hand_over(side, descriptor);
    }
    btl_complete(&side->module, side->peer.endpoint, descriptor, status);
}

void side_drain_some(struct side *side, size_t most)
{
    for (size_t i = 0; i < most && side->count > 0; i++) {
        end_one(side, true, OPAL_SUCCESS);
    }
}

size_t side_drain(struct side *side)
{
    size_t frames = side->count;
    side_drain_some(side, frames);
    return frames;
}

static bool side_claim(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                       uint32_t number)
{
    struct side *side = side_of(module);
    return !side->claim || side->claim(module, endpoint, number);
}

void side_end(struct side *side, bool delivered, int status)
{
    while (side->count > 0) {
        end_one(side, delivered, status);
    }
}

static int side_copy(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                     bool put, const struct rdma_call *rest)
{
    return side_of(module)->copy(module, endpoint, put, rest);
}

static int side_reach(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                      bool put, void *here, uint64_t there, size_t size)
{
    return side_of(module)->reach(module, endpoint, put, here, there, size);
}

static void side_open(struct side *side, struct side *other, enum delivery delivery,
                      size_t put_bytes)
{
    memset(side, 0, sizeof(*side));
    side->other = other;
    side->delivery = delivery;
    side->draws = 4711;
    side->module.btl_max_send_size = RDMA_SIDE_MAX_SEND;
    side->module.btl_alloc = side_alloc;
    side->module.btl_prepare_src = side_prepare;
    side->module.btl_free = side_free;
    const struct desc_size size = {.payload = RDMA_SIDE_MAX_SEND, .limit = 64, .per_chunk = 8};
    desc_set_init(&side->descs, &size, 1, 0);
    side->regions = region_table_create(16);
    const struct rdma_am_config config = {.module = &side->module,
                                          .regions = side->regions,
                                          .max_ops = RDMA_SIDE_OPS,
                                          .put_bytes = put_bytes,
                                          .send = side_send,
                                          .claim = side_claim,
                                          .copy = side_copy,
                                          .reach = side_reach,
                                          .share_bytes = RDMA_SIDE_SHARE};
    ck_assert_int_eq(rdma_am_create(&side->am, &config), ORTE_SUCCESS);
    rdma_am_peer_init(&side->peer, other < side ? endpoint_a : endpoint_b);
    side->memory = calloc(1, RDMA_SIDE_BYTES);
    side->handle = region_add(side->regions, NULL, side->memory, RDMA_SIDE_BYTES, 15);
    ck_assert_ptr_nonnull(side->handle);
}

static void side_close(struct side *side)
{
    ck_assert_uint_eq(side->descs.classes[0].pool.in_use, side->count);
    rdma_am_destroy(side->am);
    region_table_destroy(side->regions);
    desc_set_fini(&side->descs);
    free(side->memory);
}

void sides_open(enum delivery delivery)
{
    sides_open_wide(delivery, 0);
}

void sides_open_wide(enum delivery delivery, size_t put_bytes)
{
    side_open(&a, &b, delivery, put_bytes);
    side_open(&b, &a, delivery, put_bytes);
}

void sides_close(void)
{
    ck_assert(!rdma_am_active(a.am) && !rdma_am_active(b.am));
    side_close(&a);
    side_close(&b);
}

size_t sides_turn(void)
{
    size_t moved = side_drain(&a) + side_drain(&b);
    return moved + (size_t) rdma_am_progress(a.am) + (size_t) rdma_am_progress(b.am);
}

void sides_run(void)
{
    int idle = 0;
    while (idle < 100) {
        idle = sides_turn() ? 0 : idle + 1;
    }
}

int side_receive(struct side *side, struct rdma_am_peer *peer, const struct rdma_am_frame *frame,
                 size_t payload)
{
    unsigned char bytes[RDMA_SIDE_MAX_SEND] = {0};
    size_t size = rdma_am_frame_bytes(frame->kind) + payload;
    ck_assert_uint_le(size, sizeof(bytes));
    rdma_am_encode(bytes, frame);
    mca_btl_base_segment_t segment = {.seg_addr.pval = bytes, .seg_len = size};
    return rdma_am_receive(side->am, peer, &segment, 1);
}

void rdma_done(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
               void *address, mca_btl_base_registration_handle_t *handle, void *context, void *data,
               int status)
{
    struct outcome *outcome = data;
    ck_assert_ptr_eq(module, &a.module);
    ck_assert_ptr_eq(endpoint, a.peer.endpoint);
    ck_assert_ptr_nonnull(address);
    ck_assert_ptr_eq(handle, a.handle);
    ck_assert_ptr_eq(context, outcome + 1);
    outcome->calls++;
    outcome->status = status;
}

uint64_t remote(size_t offset)
{
    return (uint64_t) (uintptr_t) b.memory + offset;
}

int start(bool put, void *local, uint64_t address, void *handle, size_t size,
          struct outcome *outcome)
{
    *outcome = (struct outcome){0, 1};
    const struct rdma_call call = {local, address,          a.handle,  handle,      size,
                                   0,     MCA_BTL_NO_ORDER, rdma_done, outcome + 1, outcome};
    return (put ? rdma_am_put : rdma_am_get)(a.am, &a.peer, &call);
}

void fill(unsigned char *to, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++) {
        to[i] = (unsigned char) (i * 13 + (i >> 7) + seed);
    }
}

struct rdma_am_frame request_to_b(enum rdma_am_kind kind, size_t size)
{
    struct region_handle handle;
    memcpy(&handle, b.handle, sizeof(handle));
    return (struct rdma_am_frame){.kind = kind,
                                  .size = size,
                                  .total = size,
                                  .address = remote(0),
                                  .region_index = handle.index,
                                  .region_generation = handle.generation};
}
