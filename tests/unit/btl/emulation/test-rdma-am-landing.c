/* Puts that land in their region piece by piece. */
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/emulation/sides.h>

/* ---- as whole frames do ---- */

START_TEST(pieces_of_any_size)
{
    static const size_t pieces[] = {1, 7, 100, 968, 5000};

    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        sides_open(i % 2 ? LATER : AT_ONCE);
        struct outcome outcome[2], empty[2];
        b.piece = pieces[i];
        fill(a.memory, 60000, 3);
        ck_assert_int_eq(start(true, a.memory, remote(5000), b.handle, 60000, outcome), 0);
        ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 0, empty), 0);
        sides_run();
        ck_assert(outcome->calls == 1 && outcome->status == OPAL_SUCCESS);
        ck_assert(empty->calls == 1 && empty->status == OPAL_SUCCESS);
        ck_assert_mem_eq(b.memory + 5000, a.memory, 60000);
        sides_close();
    }
}
END_TEST

START_TEST(a_bad_region_is_refused)
{
    sides_open(LATER);
    struct region_handle stale;
    memcpy(&stale, b.handle, sizeof(stale));
    stale.generation += 2;
    const struct {
        void *handle;
        uint64_t address;
        size_t size;
        int status;
    } cases[] = {
        {&stale, remote(0), 100, OPAL_ERR_PERM},
        {&stale, remote(0), 0, OPAL_ERR_PERM},
        {b.handle, remote(RDMA_SIDE_BYTES - 99), 100, OPAL_ERR_VALUE_OUT_OF_BOUNDS},
        {b.handle, remote(0) - 1, 100, OPAL_ERR_VALUE_OUT_OF_BOUNDS},
        {b.handle, UINT64_MAX - 10, 100, OPAL_ERR_VALUE_OUT_OF_BOUNDS},
        {b.handle, remote(1), RDMA_SIDE_BYTES, OPAL_ERR_VALUE_OUT_OF_BOUNDS},
    };
    b.piece = 10;
    fill(a.memory, RDMA_SIDE_BYTES, 3);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct outcome outcome[2];
        ck_assert_int_eq(
            start(true, a.memory, cases[i].address, cases[i].handle, cases[i].size, outcome), 0);
        sides_run();
        ck_assert_int_eq(outcome->calls, 1);
        ck_assert_int_eq(outcome->status, cases[i].status);
    }
    for (size_t i = 0; i < RDMA_SIDE_BYTES; i++) {
        ck_assert_int_eq(b.memory[i], 0);
    }
    sides_close();
}
END_TEST

/* ---- what only pieces can do ---- */

static struct rdma_am_landing landing_of(const struct rdma_am_frame *frame)
{
    unsigned char header[RDMA_AM_REQUEST_BYTES];
    struct rdma_am_landing landing;

    rdma_am_encode(header, frame);
    ck_assert_int_eq(rdma_am_begin(&landing, header, sizeof(header), (size_t) frame->size), 0);
    return landing;
}

static unsigned char *land(struct rdma_am_landing *landing, size_t size)
{
    return rdma_am_land(b.am, &b.peer, landing, size);
}

/* The status of the reply that waits in b's pipe. */
static int reply_of_b(void)
{
    struct rdma_am_frame reply;
    const mca_btl_base_descriptor_t *descriptor = b.pipe[b.first];

    ck_assert_uint_eq(b.count, 1);
    ck_assert_int_eq(rdma_am_decode(&reply, descriptor->des_segments[0].seg_addr.pval,
                                    (size_t) descriptor->des_segments[0].seg_len),
                     OPAL_SUCCESS);
    ck_assert_int_eq(reply.kind, RDMA_AM_PUT_REPLY);
    side_end(&b, false, OPAL_SUCCESS);
    return reply.status;
}

START_TEST(a_region_may_go_between_two_pieces)
{
    sides_open(LATER);
    struct rdma_am_frame frame = request_to_b(RDMA_AM_PUT, 100);
    struct rdma_am_landing landing = landing_of(&frame), late = landing;
    ck_assert_ptr_eq(land(&landing, 40), b.memory);
    ck_assert_ptr_eq(land(&landing, 20), b.memory + 40);
    ck_assert_int_eq(region_remove(b.regions, b.handle), OPAL_SUCCESS);
    ck_assert_ptr_null(land(&landing, 20));
    ck_assert_ptr_null(land(&late, 100));
    /* another one in its place is not what the header named */
    b.handle = region_add(b.regions, NULL, b.memory, RDMA_SIDE_BYTES, 15);
    ck_assert_ptr_null(land(&landing, 20));
    ck_assert_int_eq(rdma_am_end(b.am, &b.peer, &landing), OPAL_SUCCESS);
    ck_assert_int_eq(reply_of_b(), OPAL_ERR_PERM);
    sides_close();
}
END_TEST

START_TEST(landings_may_overlap)
{
    sides_open(LATER);
    struct rdma_am_frame frame = request_to_b(RDMA_AM_PUT, 100), other = frame;
    other.address = remote(50);
    struct rdma_am_landing one = landing_of(&frame), two = landing_of(&other);
    memset(land(&one, 60), 1, 60);
    memset(land(&two, 10), 2, 10);
    memset(land(&one, 40), 1, 40);
    memset(land(&two, 90), 2, 90);
    for (size_t i = 0; i < 151; i++) {
        ck_assert_int_eq(b.memory[i], i < 60 ? (i < 50 ? 1 : 2) : i < 150 ? 2 : 0);
    }
    ck_assert_int_eq(rdma_am_end(b.am, &b.peer, &two), OPAL_SUCCESS);
    ck_assert_int_eq(reply_of_b(), OPAL_SUCCESS);
    ck_assert_int_eq(rdma_am_end(b.am, &b.peer, &one), OPAL_SUCCESS);
    ck_assert_int_eq(reply_of_b(), OPAL_SUCCESS);
    sides_close();
}
END_TEST

START_TEST(neither_more_nor_less_than_was_announced)
{
    sides_open(LATER);
    struct rdma_am_frame frame = request_to_b(RDMA_AM_PUT, 100);
    struct rdma_am_landing less = landing_of(&frame), more = landing_of(&frame);
    ck_assert_ptr_nonnull(land(&less, 99));
    ck_assert_int_eq(rdma_am_end(b.am, &b.peer, &less), OPAL_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(land(&more, 99));
    ck_assert_ptr_null(land(&more, 2));
    ck_assert_ptr_null(land(&more, SIZE_MAX));
    ck_assert_ptr_null(land(&more, 1)); /* it was refused */
    ck_assert_int_eq(rdma_am_end(b.am, &b.peer, &more), OPAL_SUCCESS);
    ck_assert_int_eq(reply_of_b(), OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    sides_close();
}
END_TEST

START_TEST(a_flood_of_puts_is_an_error_not_a_queue)
{
    sides_open(LATER);
    b.broken = OPAL_ERR_OUT_OF_RESOURCE;
    struct rdma_am_frame frame = request_to_b(RDMA_AM_PUT, 10);
    for (int i = 0; i <= RDMA_AM_WINDOW; i++) {
        struct rdma_am_landing landing = landing_of(&frame);
        ck_assert_ptr_nonnull(land(&landing, 10));
        ck_assert_int_eq(rdma_am_end(b.am, &b.peer, &landing),
                         i < RDMA_AM_WINDOW ? OPAL_SUCCESS : OPAL_ERR_BAD_PARAM);
    }
    rdma_am_cancel(b.am, &b.peer, OPAL_ERR_UNREACH);
    sides_close();
}
END_TEST

/* ---- hostile headers ---- */

static int begin(const struct rdma_am_frame *frame, size_t size, size_t data)
{
    unsigned char bytes[RDMA_AM_ATOMIC_BYTES];
    struct rdma_am_landing landing;

    rdma_am_encode(bytes, frame);
    return rdma_am_begin(&landing, bytes, size, data);
}

START_TEST(headers_that_begin_nothing)
{
    struct rdma_am_frame frame = {.kind = RDMA_AM_PUT, .size = 10, .total = 100};

    for (size_t size = 0; size < RDMA_AM_REQUEST_BYTES; size++) {
        ck_assert_int_eq(begin(&frame, size, 10), OPAL_ERR_BAD_PARAM);
    }
    ck_assert_int_eq(begin(&frame, RDMA_AM_REQUEST_BYTES, 10), OPAL_SUCCESS);
    ck_assert_int_eq(begin(&frame, RDMA_AM_REQUEST_BYTES, 9), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(begin(&frame, RDMA_AM_REQUEST_BYTES, 11), OPAL_ERR_BAD_PARAM);
    frame.offset = 91; /* outside of its own operation */
    ck_assert_int_eq(begin(&frame, RDMA_AM_REQUEST_BYTES, 10), OPAL_ERR_BAD_PARAM);
    frame.offset = UINT64_MAX;
    ck_assert_int_eq(begin(&frame, RDMA_AM_REQUEST_BYTES, 10), OPAL_ERR_BAD_PARAM);
    frame.offset = 0;
    for (unsigned kind = RDMA_AM_PUT_REPLY; kind < RDMA_AM_ATOMIC; kind++) {
        frame.kind = (enum rdma_am_kind) kind;
        ck_assert_int_eq(begin(&frame, RDMA_AM_REQUEST_BYTES, 10), OPAL_ERR_NOT_SUPPORTED);
    }
}
END_TEST

/* Nothing random names b's region: whatever begins is refused. */
START_TEST(random_headers_do_no_harm)
{
    unsigned draw = 7, begun = 0;

    sides_open(LATER);
    for (int round = 0; round < 100000; round++) {
        unsigned char bytes[RDMA_AM_REQUEST_BYTES + 64] = {RDMA_AM_VERSION, RDMA_AM_PUT};
        for (size_t i = 8; i < sizeof(bytes); i++) {
            draw = draw * 1103515245u + 12345u;
            bytes[i] = i < 32 && round % 2 ? 0 : (unsigned char) (draw >> 16);
        }
        bytes[24] = (unsigned char) (draw >> 8 & 63); /* its size, half the time */
        memset(bytes + 25, 0, 7);
        begun += side_land(&b, bytes, RDMA_AM_REQUEST_BYTES + bytes[24], 9) == OPAL_SUCCESS;
        if (b.count > 32) {
            side_end(&b, false, OPAL_SUCCESS);
        }
    }
    ck_assert_uint_gt(begun, 1000);
    for (size_t i = 0; i < RDMA_SIDE_BYTES; i++) {
        ck_assert_int_eq(b.memory[i], 0);
    }
    side_end(&b, false, OPAL_SUCCESS);
    sides_close();
}
END_TEST

UNIT_MAIN("rdma-am-landing")
