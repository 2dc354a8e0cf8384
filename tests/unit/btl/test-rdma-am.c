/* The emulation of put, get and atomics, over a pipe in memory: two sides in one process. */
#include <tests/lib/unit.h>

#include <btl/desc.h>
#include <btl/rdma_am.h>
#include <btl/rdma_am_wire.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SEND 1024
#define PIPE_FRAMES 512
#define REGION_BYTES 65536

enum delivery { AT_ONCE, LATER, MOODY };

/* A frame in the pipe; its descriptor completes when it is delivered. */
struct packet {
    mca_btl_base_descriptor_t *descriptor;
};

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
    unsigned frames; /* accepted */
    struct packet pipe[PIPE_FRAMES];
    size_t first, count;
    int received_status; /* of the last frame */
    unsigned char *memory;
    mca_btl_base_registration_handle_t *handle;
};

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

/* Hands one frame to the other side as one segment, as a wire would. */
static void hand_over(struct side *side, mca_btl_base_descriptor_t *descriptor)
{
    unsigned char bytes[MAX_SEND];
    size_t size;
    ck_assert_int_eq(desc_total(descriptor, MAX_SEND, &size), OPAL_SUCCESS);
    desc_gather(bytes, descriptor->des_segments, descriptor->des_segment_count);
    mca_btl_base_segment_t segment = {.seg_addr.pval = bytes, .seg_len = size};
    struct side *other = side->other;
    other->received_status = rdma_am_receive(other->am, &other->peer, &segment, 1);
    ck_assert_int_eq(other->received_status, OPAL_SUCCESS);
}

static int side_send(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                     mca_btl_base_descriptor_t *descriptor)
{
    struct side *side = side_of(module);
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
        hand_over(side, descriptor);
        return btl_sent(module, endpoint, descriptor);
    }
    if (side->count == PIPE_FRAMES) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    side->frames++;
    side->pipe[(side->first + side->count++) % PIPE_FRAMES].descriptor = descriptor;
    return 0;
}

/* Delivers what is in the pipe now; returns the frames. */
static size_t drain(struct side *side)
{
    size_t frames = side->count;
    for (size_t i = 0; i < frames; i++) {
        mca_btl_base_descriptor_t *descriptor = side->pipe[side->first].descriptor;
        side->first = (side->first + 1) % PIPE_FRAMES;
        side->count--;
        hand_over(side, descriptor);
        btl_complete(&side->module, side->peer.endpoint, descriptor, OPAL_SUCCESS);
    }
    return frames;
}

static struct mca_btl_base_endpoint_t *const endpoint_a = (void *) 0x1000, *const endpoint_b =
                                                                               (void *) 0x2000;

static void side_open(struct side *side, struct side *other, enum delivery delivery)
{
    memset(side, 0, sizeof(*side));
    side->other = other;
    side->delivery = delivery;
    side->draws = 4711;
    side->module.btl_max_send_size = MAX_SEND;
    side->module.btl_alloc = side_alloc;
    side->module.btl_prepare_src = side_prepare;
    side->module.btl_free = side_free;
    const struct desc_size size = {.payload = MAX_SEND, .limit = 64, .per_chunk = 8};
    desc_set_init(&side->descs, &size, 1, 0);
    side->regions = region_table_create(16);
    const struct rdma_am_config config = {
        .module = &side->module, .regions = side->regions, .max_ops = 100, .send = side_send};
    ck_assert_int_eq(rdma_am_create(&side->am, &config), ORTE_SUCCESS);
    rdma_am_peer_init(&side->peer, other < side ? endpoint_a : endpoint_b);
    side->memory = calloc(1, REGION_BYTES);
    side->handle = region_add(side->regions, NULL, side->memory, REGION_BYTES, 15);
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

static struct side a, b;

static void open_both(enum delivery delivery)
{
    side_open(&a, &b, delivery);
    side_open(&b, &a, delivery);
}

static void close_both(void)
{
    ck_assert(!rdma_am_active(a.am) && !rdma_am_active(b.am));
    side_close(&a);
    side_close(&b);
}

/* Until nothing moves any more. */
static void run(void)
{
    int idle = 0;
    while (idle < 100) {
        size_t moved = drain(&a) + drain(&b);
        moved += (size_t) rdma_am_progress(a.am) + (size_t) rdma_am_progress(b.am);
        idle = moved ? 0 : idle + 1;
    }
}

struct outcome {
    int calls, status;
};

static void done(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                 void *address, mca_btl_base_registration_handle_t *handle, void *context,
                 void *data, int status)
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

static uint64_t remote(size_t offset)
{
    return (uint64_t) (uintptr_t) b.memory + offset;
}

static int start(bool put, void *local, uint64_t address, void *handle, size_t size,
                 struct outcome *outcome)
{
    *outcome = (struct outcome){0, 1};
    const struct rdma_call call = {local, address,          a.handle, handle,      size,
                                   0,     MCA_BTL_NO_ORDER, done,     outcome + 1, outcome};
    return (put ? rdma_am_put : rdma_am_get)(a.am, &a.peer, &call);
}

static void fill(unsigned char *to, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++) {
        to[i] = (unsigned char) (i * 13 + (i >> 7) + seed);
    }
}

START_TEST(every_size_goes_both_ways)
{
    static const size_t sizes[] = {0,    1,    967,  968,  969,   991,      992,      993,  1024,
                                   1936, 1937, 5000, 9920, 20000, 31 * 968, 33 * 968, 40000};
    for (int delivery = AT_ONCE; delivery <= MOODY; delivery++) {
        open_both((enum delivery) delivery);
        for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
            bool put = i % 2;
            size_t size = sizes[i / 2];
            unsigned char *from = put ? a.memory : b.memory, *to = put ? b.memory : a.memory;
            memset(to, 0, REGION_BYTES);
            fill(from, REGION_BYTES, (unsigned) i);
            struct outcome outcome;
            ck_assert_int_eq(start(put, a.memory + 100, remote(100), b.handle, size, &outcome), 0);
            run();
            ck_assert_int_eq(outcome.calls, 1);
            ck_assert_int_eq(outcome.status, OPAL_SUCCESS);
            ck_assert_mem_eq(to + 100, from + 100, size);
            ck_assert_int_eq(to[99], 0);
            ck_assert_int_eq(to[100 + size], 0);
        }
        close_both();
    }
}
END_TEST

START_TEST(what_the_region_forbids_is_refused_as_a_whole)
{
    open_both(LATER);
    fill(b.memory, REGION_BYTES, 3);
    mca_btl_base_registration_handle_t *small =
        region_add(b.regions, NULL, b.memory + 100, 5000, 15);
    mca_btl_base_registration_handle_t *readable =
        region_add(b.regions, NULL, b.memory, 5000, MCA_BTL_REG_FLAG_REMOTE_READ);
    mca_btl_base_registration_handle_t *writable =
        region_add(b.regions, NULL, b.memory, 5000, MCA_BTL_REG_FLAG_REMOTE_WRITE);
    struct region_handle forged;
    memcpy(&forged, small, sizeof(forged));
    forged.generation += 2;
    const struct {
        bool put;
        void *handle;
        size_t offset, size;
        int status;
    } cases[] = {
        {true, small, 100, 5001, OPAL_ERR_VALUE_OUT_OF_BOUNDS},
        {false, small, 100, 5001, OPAL_ERR_VALUE_OUT_OF_BOUNDS},
        {true, small, 99, 1, OPAL_ERR_VALUE_OUT_OF_BOUNDS},
        {true, small, 100, 60000, OPAL_ERR_VALUE_OUT_OF_BOUNDS},
        {false, small, 100, 60000, OPAL_ERR_VALUE_OUT_OF_BOUNDS},
        {true, readable, 0, 10, OPAL_ERR_PERM},
        {false, writable, 0, 3000, OPAL_ERR_PERM},
        {true, &forged, 100, 3000, OPAL_ERR_PERM},
        {false, &forged, 100, 0, OPAL_ERR_PERM},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct outcome outcome;
        fill(a.memory, REGION_BYTES, 9);
        ck_assert_int_eq(start(cases[i].put, a.memory, remote(cases[i].offset), cases[i].handle,
                               cases[i].size, &outcome),
                         0);
        run();
        ck_assert_int_eq(outcome.calls, 1);
        ck_assert_int_eq(outcome.status, cases[i].status);
        for (size_t byte = 0; byte < REGION_BYTES; byte++) {
            ck_assert_int_eq((unsigned char) (a.memory[byte] - 9),
                             (unsigned char) (b.memory[byte] - 3));
        }
    }
    struct outcome outcome;
    ck_assert_int_eq(start(true, a.memory, remote(0), NULL, 1, &outcome), OPAL_ERR_BAD_PARAM);
    close_both();
}
END_TEST

START_TEST(many_operations_over_a_moody_pipe)
{
    open_both(MOODY);
    struct outcome outcomes[301] = {{0}};
    fill(a.memory, 30000, 1);
    fill(b.memory + 30000, 30000, 2);
    for (size_t i = 0; i < 300;) {
        bool put = i % 3;
        size_t offset = (put ? 0 : 30000) + i * 100;
        int status = start(put, a.memory + offset, remote(offset), b.handle, 100, &outcomes[i]);
        if (status == OPAL_ERR_OUT_OF_RESOURCE) {
            outcomes[i].calls = 0;
            drain(&a);
            drain(&b);
            rdma_am_progress(a.am);
            rdma_am_progress(b.am);
            continue;
        }
        ck_assert_int_eq(status, 0);
        i++;
    }
    run();
    for (size_t i = 0; i < 300; i++) {
        size_t offset = (i % 3 ? 0 : 30000) + i * 100;
        ck_assert_int_eq(outcomes[i].calls, 1);
        ck_assert_int_eq(outcomes[i].status, OPAL_SUCCESS);
        ck_assert_mem_eq(a.memory + offset, b.memory + offset, 100);
    }
    close_both();
}
END_TEST

static int start_atomic(uint32_t op, uint64_t operand, uint64_t value, void *local,
                        uint64_t address, void *handle, struct outcome *outcome)
{
    *outcome = (struct outcome){0, 1};
    const struct atomic_call call = {.rdma = {local, address, a.handle, handle, ATOMIC_BYTES, 0,
                                              MCA_BTL_NO_ORDER, done, outcome + 1, outcome},
                                     .atomic = {op, operand, value}};
    return rdma_am_atomic(a.am, &a.peer, &call);
}

/* Replies that find no room wait, and what they tell was done when the request came. */
START_TEST(atomics_happen_once)
{
    for (int delivery = AT_ONCE; delivery <= MOODY; delivery++) {
        open_both((enum delivery) delivery);
        struct outcome outcomes[301] = {{0}};
        uint64_t before[300], *word = (uint64_t *) (void *) (b.memory + 64);
        for (size_t i = 0; i < 300;) {
            int status = start_atomic(MCA_BTL_ATOMIC_ADD, 7, 0, &before[i], remote(64), b.handle,
                                      &outcomes[i]);
            if (status == OPAL_ERR_OUT_OF_RESOURCE) {
                drain(&a);
                drain(&b);
                rdma_am_progress(a.am);
                rdma_am_progress(b.am);
                continue;
            }
            ck_assert_int_eq(status, 0);
            i++;
        }
        run();
        ck_assert_uint_eq(*word, 300 * 7);
        for (size_t i = 0; i < 300; i++) {
            ck_assert_int_eq(outcomes[i].calls, 1);
            ck_assert_int_eq(outcomes[i].status, OPAL_SUCCESS);
            ck_assert_uint_eq(before[i], 7 * i);
        }
        close_both();
    }
}
END_TEST

START_TEST(atomics_do_what_they_say)
{
    static const struct {
        uint32_t op;
        uint64_t start, operand, value, result;
    } cases[] = {
        {MCA_BTL_ATOMIC_ADD, UINT64_MAX, 2, 0, 1},
        {MCA_BTL_ATOMIC_AND, 0xff00, 0x0ff0, 0, 0x0f00},
        {MCA_BTL_ATOMIC_OR, 0xff00, 0x0ff0, 0, 0xfff0},
        {MCA_BTL_ATOMIC_XOR, 0xff00, 0x0ff0, 0, 0xf0f0},
        {ATOMIC_CSWAP, 5, 5, 6, 6},
        {ATOMIC_CSWAP, 5, 4, 6, 5},
    };
    open_both(LATER);
    uint64_t before, *word = (uint64_t *) (void *) (b.memory + 8);
    struct outcome outcome;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        *word = cases[i].start;
        ck_assert_int_eq(start_atomic(cases[i].op, cases[i].operand, cases[i].value, &before,
                                      remote(8), b.handle, &outcome),
                         0);
        run();
        ck_assert_int_eq(outcome.status, OPAL_SUCCESS);
        ck_assert_uint_eq(before, cases[i].start);
        ck_assert_uint_eq(*word, cases[i].result);
    }
    close_both();
}
END_TEST

START_TEST(atomics_that_cannot_be_are_refused)
{
    open_both(LATER);
    struct outcome outcome;
    uint64_t before = 3;
    mca_btl_base_registration_handle_t *writable =
        region_add(b.regions, NULL, b.memory, 64, MCA_BTL_REG_FLAG_REMOTE_WRITE);
    ck_assert_int_eq(start_atomic(MCA_BTL_ATOMIC_ADD, 1, 0, &before, remote(4), b.handle, &outcome),
                     OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(start_atomic(0x99, 1, 0, &before, remote(8), b.handle, &outcome),
                     OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(start_atomic(MCA_BTL_ATOMIC_ADD, 1, 0, &before, remote(8), NULL, &outcome),
                     OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(start_atomic(MCA_BTL_ATOMIC_ADD, 1, 0, &before, remote(8), writable, &outcome),
                     0);
    run();
    ck_assert_int_eq(outcome.calls, 1);
    ck_assert_int_eq(outcome.status, OPAL_ERR_PERM);
    ck_assert_int_eq(
        start_atomic(MCA_BTL_ATOMIC_ADD, 1, 0, &before, remote(REGION_BYTES), b.handle, &outcome),
        0);
    run();
    ck_assert_int_eq(outcome.status, OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_uint_eq(before, 3);
    close_both();
}
END_TEST

/* What an initiator of ours would not send. */
START_TEST(hostile_atomics_touch_nothing)
{
    open_both(LATER);
    const struct region_handle *handle = (const struct region_handle *) (const void *) b.handle;
    struct rdma_am_frame frame = {
        .kind = RDMA_AM_ATOMIC,
        .size = ATOMIC_BYTES,
        .total = ATOMIC_BYTES,
        .address = remote(4),
        .region_index = handle->index,
        .region_generation = handle->generation,
        .atomic = {MCA_BTL_ATOMIC_ADD, 1, 0},
    };
    unsigned char bytes[RDMA_AM_ATOMIC_BYTES + 1] = {0};
    mca_btl_base_segment_t segment = {.seg_addr.pval = bytes, .seg_len = RDMA_AM_ATOMIC_BYTES};
    rdma_am_encode(bytes, &frame); /* not aligned: refused by a reply, which a then drops */
    ck_assert_int_eq(rdma_am_receive(b.am, &b.peer, &segment, 1), OPAL_SUCCESS);
    frame.address = remote(8);
    frame.atomic.op = 0x99;
    rdma_am_encode(bytes, &frame);
    ck_assert_int_eq(rdma_am_receive(b.am, &b.peer, &segment, 1), OPAL_SUCCESS);
    run();
    frame.atomic.op = MCA_BTL_ATOMIC_ADD;
    rdma_am_encode(bytes, &frame);
    segment.seg_len = sizeof(bytes);
    ck_assert_int_eq(rdma_am_receive(b.am, &b.peer, &segment, 1), OPAL_ERR_BAD_PARAM);
    segment.seg_len = RDMA_AM_ATOMIC_BYTES;
    bytes[24] = 16; /* another size */
    ck_assert_int_eq(rdma_am_receive(b.am, &b.peer, &segment, 1), OPAL_ERR_BAD_PARAM);
    for (size_t i = 0; i < 64; i++) {
        ck_assert_uint_eq(b.memory[i], 0);
    }
    close_both();
}
END_TEST

START_TEST(the_window_bounds_requests_and_replies)
{
    open_both(LATER);
    struct outcome outcome[2];
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 60000, &outcome[0]), 0);
    ck_assert_uint_eq(a.frames, RDMA_AM_WINDOW);
    for (int i = 0; i < 5; i++) {
        rdma_am_progress(a.am);
    }
    ck_assert_uint_eq(a.frames, RDMA_AM_WINDOW);
    b.broken = OPAL_ERR_OUT_OF_RESOURCE; /* no reply finds room */
    drain(&a);
    ck_assert_uint_eq(b.peer.replies_queued, RDMA_AM_WINDOW);
    ck_assert(rdma_am_active(b.am));
    rdma_am_progress(b.am);
    ck_assert_uint_eq(b.frames, 0);
    b.broken = 0;
    run();
    ck_assert_int_eq(outcome[0].calls, 1);
    ck_assert_int_eq(outcome[0].status, OPAL_SUCCESS);
    close_both();
}
END_TEST

START_TEST(cancel_ends_each_operation_once)
{
    open_both(LATER);
    struct outcome outcomes[21];
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(start(i % 2, a.memory, remote(0), b.handle, 5000, &outcomes[i]), 0);
    }
    /* Some frames are still with the module: their operations wait for them. */
    rdma_am_cancel(a.am, &a.peer, OPAL_ERR_UNREACH);
    ck_assert(rdma_am_active(a.am));
    while (a.count > 0) {
        mca_btl_base_descriptor_t *descriptor = a.pipe[a.first].descriptor;
        a.first = (a.first + 1) % PIPE_FRAMES;
        a.count--;
        hand_over(&a, descriptor);
        btl_complete(&a.module, a.peer.endpoint, descriptor, OPAL_ERR_UNREACH);
    }
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(outcomes[i].calls, 1);
        ck_assert_int_eq(outcomes[i].status, OPAL_ERR_UNREACH);
    }
    run(); /* late replies change nothing */
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(outcomes[i].calls, 1);
    }
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 5000, &outcomes[0]), 0);
    run();
    ck_assert_int_eq(outcomes[0].status, OPAL_SUCCESS);
    close_both();
}
END_TEST

START_TEST(a_broken_link_ends_operations_with_its_status)
{
    open_both(LATER);
    struct outcome outcomes[3];
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 60000, &outcomes[0]), 0);
    a.broken = OPAL_ERR_UNREACH;
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 10, &outcomes[1]), 0);
    run();
    ck_assert_int_eq(outcomes[0].calls, 1);
    ck_assert_int_eq(outcomes[0].status, OPAL_ERR_UNREACH);
    ck_assert_int_eq(outcomes[1].calls, 1);
    ck_assert_int_eq(outcomes[1].status, OPAL_ERR_UNREACH);
    close_both();
}
END_TEST

START_TEST(too_many_operations_are_for_later)
{
    open_both(LATER);
    struct outcome outcomes[102];
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 1, &outcomes[i]), 0);
    }
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 1, &outcomes[100]),
                     OPAL_ERR_OUT_OF_RESOURCE);
    run();
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 1, &outcomes[100]), 0);
    run();
    ck_assert_int_eq(outcomes[100].calls, 1);
    close_both();
}
END_TEST

struct chain {
    int left;
};

static void again(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                  void *address, mca_btl_base_registration_handle_t *handle, void *context,
                  void *data, int status)
{
    (void) module, (void) endpoint, (void) handle, (void) context;
    struct chain *chain = data;
    ck_assert_int_eq(status, OPAL_SUCCESS);
    if (--chain->left > 0) {
        const struct rdma_call call = {address, remote(0),        NULL,  b.handle, 1500,
                                       0,       MCA_BTL_NO_ORDER, again, NULL,     chain};
        ck_assert_int_eq((chain->left % 2 ? rdma_am_put : rdma_am_get)(a.am, &a.peer, &call), 0);
    }
}

START_TEST(callbacks_start_operations)
{
    for (int delivery = AT_ONCE; delivery <= MOODY; delivery++) {
        open_both((enum delivery) delivery);
        struct chain chain = {.left = 200};
        const struct rdma_call call = {a.memory, remote(0),        NULL,  b.handle, 10,
                                       0,        MCA_BTL_NO_ORDER, again, NULL,     &chain};
        ck_assert_int_eq(rdma_am_put(a.am, &a.peer, &call), 0);
        run();
        ck_assert_int_eq(chain.left, 0);
        close_both();
    }
}
END_TEST

START_TEST(no_callback_is_needed)
{
    open_both(LATER);
    fill(a.memory, 3000, 1);
    const struct rdma_call call = {a.memory, remote(0),        NULL, b.handle, 3000,
                                   0,        MCA_BTL_NO_ORDER, NULL, NULL,     NULL};
    ck_assert_int_eq(rdma_am_put(a.am, &a.peer, &call), 0);
    run();
    ck_assert_mem_eq(a.memory, b.memory, 3000);
    close_both();
}
END_TEST

static int receive(struct side *side, const struct rdma_am_frame *frame, size_t payload)
{
    unsigned char bytes[MAX_SEND] = {0};
    rdma_am_encode(bytes, frame);
    mca_btl_base_segment_t segment = {.seg_addr.pval = bytes,
                                      .seg_len = rdma_am_frame_bytes(frame->kind) + payload};
    return rdma_am_receive(side->am, &side->peer, &segment, 1);
}

static struct rdma_am_frame request_to_b(enum rdma_am_kind kind, size_t size)
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

START_TEST(frames_that_break_the_protocol_are_errors)
{
    open_both(LATER);
    struct rdma_am_frame frame = request_to_b(RDMA_AM_PUT, 10);
    ck_assert_int_eq(receive(&b, &frame, 10), OPAL_SUCCESS);
    ck_assert_int_eq(receive(&b, &frame, 9), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(receive(&b, &frame, 11), OPAL_ERR_BAD_PARAM);
    frame = request_to_b(RDMA_AM_GET, 10);
    ck_assert_int_eq(receive(&b, &frame, 1), OPAL_ERR_BAD_PARAM);
    frame.size = MAX_SEND - RDMA_AM_REPLY_BYTES + 1;
    frame.total = 60000;
    ck_assert_int_eq(receive(&b, &frame, 0), OPAL_ERR_BAD_PARAM);
    frame.offset = 1; /* outside of its own operation */
    frame.size = frame.total = 10;
    ck_assert_int_eq(receive(&b, &frame, 0), OPAL_ERR_BAD_PARAM);
    frame.offset = UINT64_MAX;
    ck_assert_int_eq(receive(&b, &frame, 0), OPAL_ERR_BAD_PARAM);
    unsigned char bytes[8] = {RDMA_AM_VERSION, RDMA_AM_PUT};
    mca_btl_base_segment_t segment = {.seg_addr.pval = bytes, .seg_len = sizeof(bytes)};
    ck_assert_int_eq(rdma_am_receive(b.am, &b.peer, &segment, 1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(rdma_am_receive(b.am, &b.peer, NULL, 0), OPAL_ERR_BAD_PARAM);
    run();
    close_both();
}
END_TEST

START_TEST(replies_must_match_their_operation)
{
    open_both(LATER);
    struct outcome outcome[2];
    memset(a.memory, 7, REGION_BYTES);
    ck_assert_int_eq(start(false, a.memory, remote(0), b.handle, 100, outcome), 0);
    const struct rdma_am_frame right = {
        .kind = RDMA_AM_GET_REPLY, .op_index = 0, .op_generation = 1, .size = 100};
    struct rdma_am_frame frame = right;
    frame.op_generation = 3; /* as late ones are: dropped */
    ck_assert_int_eq(receive(&a, &frame, 100), OPAL_SUCCESS);
    frame = right;
    frame.op_index = 99;
    ck_assert_int_eq(receive(&a, &frame, 100), OPAL_SUCCESS);
    frame = right;
    frame.op_index = 1u << 31;
    ck_assert_int_eq(receive(&a, &frame, 100), OPAL_SUCCESS);
    frame = right;
    frame.kind = RDMA_AM_PUT_REPLY;
    ck_assert_int_eq(receive(&a, &frame, 0), OPAL_ERR_BAD_PARAM);
    frame = right;
    frame.offset = 1;
    ck_assert_int_eq(receive(&a, &frame, 100), OPAL_ERR_BAD_PARAM);
    frame = right;
    frame.size = 101;
    ck_assert_int_eq(receive(&a, &frame, 101), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(receive(&a, &right, 99), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(outcome->calls, 0);
    for (size_t i = 0; i < REGION_BYTES; i++) {
        ck_assert_int_eq(a.memory[i], 7);
    }
    /* An operation of another peer is none of this peer's. */
    struct rdma_am_peer stranger;
    rdma_am_peer_init(&stranger, endpoint_b);
    unsigned char bytes[MAX_SEND] = {0};
    rdma_am_encode(bytes, &right);
    mca_btl_base_segment_t segment = {.seg_addr.pval = bytes, .seg_len = RDMA_AM_REPLY_BYTES + 100};
    ck_assert_int_eq(rdma_am_receive(a.am, &stranger, &segment, 1), OPAL_SUCCESS);
    ck_assert_int_eq(outcome->calls, 0);
    /* One that answers for less than was asked is no success. */
    frame = right;
    frame.size = 50;
    ck_assert_int_eq(receive(&a, &frame, 50), OPAL_SUCCESS);
    run();
    ck_assert_int_eq(outcome->calls, 1);
    ck_assert_int_eq(outcome->status, OPAL_ERROR);
    close_both();
}
END_TEST

START_TEST(a_flood_of_requests_is_an_error_not_a_queue)
{
    open_both(LATER);
    b.broken = OPAL_ERR_OUT_OF_RESOURCE;
    struct rdma_am_frame frame = request_to_b(RDMA_AM_GET, 10);
    for (int i = 0; i < RDMA_AM_WINDOW; i++) {
        ck_assert_int_eq(receive(&b, &frame, 0), OPAL_SUCCESS);
    }
    ck_assert_int_eq(receive(&b, &frame, 0), OPAL_ERR_BAD_PARAM);
    rdma_am_cancel(b.am, &b.peer, OPAL_ERR_UNREACH);
    ck_assert(!rdma_am_active(b.am));
    close_both();
}
END_TEST

/* A region that went away while its data waited to be sent is not read. */
START_TEST(a_queued_reply_checks_its_region_again)
{
    open_both(LATER);
    struct outcome outcome[2];
    b.broken = OPAL_ERR_OUT_OF_RESOURCE;
    ck_assert_int_eq(start(false, a.memory, remote(0), b.handle, 100, outcome), 0);
    drain(&a);
    ck_assert_uint_eq(b.peer.replies_queued, 1);
    ck_assert_int_eq(region_remove(b.regions, b.handle), OPAL_SUCCESS);
    b.broken = 0;
    run();
    ck_assert_int_eq(outcome->calls, 1);
    ck_assert_int_eq(outcome->status, OPAL_ERR_PERM);
    close_both();
}
END_TEST

START_TEST(random_frames_do_no_harm)
{
    open_both(LATER);
    unsigned draw = 99;
    struct outcome outcome[2];
    memset(a.memory, 7, REGION_BYTES);
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 60000, outcome), 0);
    for (int round = 0; round < 200000; round++) {
        unsigned char bytes[128];
        for (size_t i = 0; i < sizeof(bytes); i++) {
            draw = draw * 1103515245u + 12345u;
            bytes[i] = (unsigned char) (draw >> 16);
        }
        bytes[0] = RDMA_AM_VERSION;
        bytes[1] = (unsigned char) (bytes[1] % 5);
        bytes[2] = bytes[3] = 0;
        memset(bytes + 8, 0, round % 5 * 6);
        mca_btl_base_segment_t segments[] = {
            {.seg_addr.pval = bytes, .seg_len = (unsigned) round % 100},
            {.seg_addr.pval = bytes + 100, .seg_len = (unsigned) round % 28},
        };
        (void) !rdma_am_receive(b.am, &b.peer, segments, 1 + (unsigned) round % 2);
        (void) !rdma_am_receive(a.am, &a.peer, segments, 1 + (unsigned) round % 2);
        if (b.count > 400 || a.count > 400) { /* refusals of requests that looked right */
            a.first = b.first = 0;
            for (; a.count > 0; a.count--) {
                btl_complete(&a.module, NULL, a.pipe[a.count - 1].descriptor, OPAL_SUCCESS);
            }
            for (; b.count > 0; b.count--) {
                btl_complete(&b.module, NULL, b.pipe[b.count - 1].descriptor, OPAL_SUCCESS);
            }
        }
    }
    for (size_t i = 0; i < REGION_BYTES; i++) {
        ck_assert_int_eq(a.memory[i], 7);
        ck_assert_int_eq(b.memory[i], 0);
    }
    rdma_am_cancel(a.am, &a.peer, OPAL_ERR_UNREACH);
    rdma_am_cancel(b.am, &b.peer, OPAL_ERR_UNREACH);
    while (a.count + b.count > 0) {
        struct side *side = a.count > 0 ? &a : &b;
        mca_btl_base_descriptor_t *descriptor = side->pipe[side->first].descriptor;
        side->first = (side->first + 1) % PIPE_FRAMES;
        side->count--;
        btl_complete(&side->module, side->peer.endpoint, descriptor, OPAL_ERR_UNREACH);
    }
    ck_assert_int_eq(outcome->calls, 1);
    close_both();
}
END_TEST

START_TEST(frames_have_golden_bytes)
{
    const struct rdma_am_frame request = {
        .kind = RDMA_AM_GET,
        .op_index = 0x01020304,
        .op_generation = 0x05060708,
        .offset = 0x1112131415161718,
        .size = 0x2122232425262728,
        .address = 0x3132333435363738,
        .total = 0x4142434445464748,
        .region_index = 0x51525354,
        .region_generation = 0x61626364,
    };
    static const unsigned char golden[RDMA_AM_REQUEST_BYTES] = {
        0x02, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x03, 0x02, 0x01, 0x08, 0x07,
        0x06, 0x05, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25,
        0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 0x48, 0x47,
        0x46, 0x45, 0x44, 0x43, 0x42, 0x41, 0x54, 0x53, 0x52, 0x51, 0x64, 0x63, 0x62, 0x61};
    unsigned char bytes[RDMA_AM_REQUEST_BYTES];
    rdma_am_encode(bytes, &request);
    ck_assert_mem_eq(bytes, golden, sizeof(golden));
    struct rdma_am_frame decoded = {.kind = RDMA_AM_PUT};
    ck_assert_int_eq(rdma_am_decode(&decoded, golden, sizeof(golden)), OPAL_SUCCESS);
    ck_assert_mem_eq(&decoded, &request, sizeof(decoded));
    for (size_t size = 0; size < sizeof(golden); size++) {
        ck_assert_int_eq(rdma_am_decode(&decoded, golden, size), OPAL_ERR_BAD_PARAM);
    }
    const struct rdma_am_frame atomic = {
        .kind = RDMA_AM_ATOMIC,
        .size = 8,
        .total = 8,
        .atomic = {0x71727374, 0x8182838485868788, 0x9192939495969798},
    };
    static const unsigned char tail[] = {0x74, 0x73, 0x72, 0x71, 0,    0,    0,    0,
                                         0x88, 0x87, 0x86, 0x85, 0x84, 0x83, 0x82, 0x81,
                                         0x98, 0x97, 0x96, 0x95, 0x94, 0x93, 0x92, 0x91};
    unsigned char longer[RDMA_AM_ATOMIC_BYTES];
    rdma_am_encode(longer, &atomic);
    ck_assert_int_eq(longer[1], 5);
    ck_assert_mem_eq(longer + RDMA_AM_REQUEST_BYTES, tail, sizeof(tail));
    ck_assert_int_eq(rdma_am_decode(&decoded, longer, sizeof(longer)), OPAL_SUCCESS);
    ck_assert_mem_eq(&decoded, &atomic, sizeof(decoded));
    ck_assert_int_eq(rdma_am_decode(&decoded, longer, sizeof(longer) - 1), OPAL_ERR_BAD_PARAM);
    longer[60] = 1;
    ck_assert_int_eq(rdma_am_decode(&decoded, longer, sizeof(longer)), OPAL_ERR_BAD_PARAM);
    const struct rdma_am_frame reply = {
        .kind = RDMA_AM_PUT_REPLY, .status = OPAL_ERR_PERM, .op_index = 1, .size = 2};
    rdma_am_encode(bytes, &reply);
    ck_assert_int_eq(rdma_am_decode(&decoded, bytes, RDMA_AM_REPLY_BYTES), OPAL_SUCCESS);
    ck_assert_mem_eq(&decoded, &reply, sizeof(decoded));
    const unsigned char wrong[][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 7}, {2, 1}, {3, 1}, {7, 0x00}};
    for (size_t i = 0; i < 7; i++) { /* version, kind, zeros, a status above 0 */
        unsigned char changed[RDMA_AM_REPLY_BYTES];
        memcpy(changed, bytes, sizeof(changed));
        changed[wrong[i][0]] = wrong[i][1];
        ck_assert_int_eq(rdma_am_decode(&decoded, changed, sizeof(changed)), OPAL_ERR_BAD_PARAM);
    }
}
END_TEST

UNIT_MAIN("rdma-am", every_size_goes_both_ways, what_the_region_forbids_is_refused_as_a_whole,
          many_operations_over_a_moody_pipe, the_window_bounds_requests_and_replies,
          cancel_ends_each_operation_once, a_broken_link_ends_operations_with_its_status,
          too_many_operations_are_for_later, callbacks_start_operations, no_callback_is_needed,
          frames_that_break_the_protocol_are_errors, replies_must_match_their_operation,
          a_flood_of_requests_is_an_error_not_a_queue, a_queued_reply_checks_its_region_again,
          random_frames_do_no_harm, frames_have_golden_bytes, atomics_happen_once,
          atomics_do_what_they_say, atomics_that_cannot_be_are_refused,
          hostile_atomics_touch_nothing)
