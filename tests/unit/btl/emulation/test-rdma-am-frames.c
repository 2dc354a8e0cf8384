/* What a peer may send that no peer of ours does: frames that break the protocol, replies to
 * nothing, floods. */
#include <base/data/le.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/emulation/sides.h>

START_TEST(frames_that_break_the_protocol_are_errors)
{
    sides_open(LATER);
    struct rdma_am_frame frame = request_to_b(RDMA_AM_PUT, 10);
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 10), OPAL_SUCCESS);
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 9), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 11), OPAL_ERR_BAD_PARAM);
    frame = request_to_b(RDMA_AM_GET, 10);
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 1), OPAL_ERR_BAD_PARAM);
    frame.size = RDMA_SIDE_MAX_SEND - RDMA_AM_REPLY_BYTES + 1;
    frame.total = 60000;
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 0), OPAL_ERR_BAD_PARAM);
    frame.offset = 1; /* outside of its own operation */
    frame.size = frame.total = 10;
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 0), OPAL_ERR_BAD_PARAM);
    frame.offset = UINT64_MAX;
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 0), OPAL_ERR_BAD_PARAM);
    unsigned char bytes[8] = {RDMA_AM_VERSION, RDMA_AM_PUT};
    mca_btl_base_segment_t segment = {.seg_addr.pval = bytes, .seg_len = sizeof(bytes)};
    ck_assert_int_eq(rdma_am_receive(b.am, &b.peer, &segment, 1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(rdma_am_receive(b.am, &b.peer, NULL, 0), OPAL_ERR_BAD_PARAM);
    sides_run();
    sides_close();
}
END_TEST

START_TEST(replies_must_match_their_operation)
{
    sides_open(LATER);
    struct outcome outcome[2];
    memset(a.memory, 7, RDMA_SIDE_BYTES);
    ck_assert_int_eq(start(false, a.memory, remote(0), b.handle, 100, outcome), 0);
    const struct rdma_am_frame right = {
        .kind = RDMA_AM_GET_REPLY, .op_index = 0, .op_generation = 1, .size = 100};
    struct rdma_am_frame frame = right;
    frame.op_generation = 3; /* as late ones are: dropped */
    ck_assert_int_eq(side_receive(&a, &a.peer, &frame, 100), OPAL_SUCCESS);
    frame = right;
    frame.op_index = 99;
    ck_assert_int_eq(side_receive(&a, &a.peer, &frame, 100), OPAL_SUCCESS);
    frame = right;
    frame.op_index = 1u << 31;
    ck_assert_int_eq(side_receive(&a, &a.peer, &frame, 100), OPAL_SUCCESS);
    frame = right;
    frame.kind = RDMA_AM_PUT_REPLY;
    ck_assert_int_eq(side_receive(&a, &a.peer, &frame, 0), OPAL_ERR_BAD_PARAM);
    frame = right;
    frame.offset = 1;
    ck_assert_int_eq(side_receive(&a, &a.peer, &frame, 100), OPAL_ERR_BAD_PARAM);
    frame = right;
    frame.size = 101;
    ck_assert_int_eq(side_receive(&a, &a.peer, &frame, 101), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(side_receive(&a, &a.peer, &right, 99), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(outcome->calls, 0);
    for (size_t i = 0; i < RDMA_SIDE_BYTES; i++) {
        ck_assert_int_eq(a.memory[i], 7);
    }
    /* An operation of another peer is none of this peer's. */
    struct rdma_am_peer stranger;
    rdma_am_peer_init(&stranger, b.peer.endpoint);
    ck_assert_int_eq(side_receive(&a, &stranger, &right, 100), OPAL_SUCCESS);
    ck_assert_int_eq(outcome->calls, 0);
    /* One that answers for less than was asked is no success. */
    frame = right;
    frame.size = 50;
    ck_assert_int_eq(side_receive(&a, &a.peer, &frame, 50), OPAL_SUCCESS);
    sides_run();
    ck_assert_int_eq(outcome->calls, 1);
    ck_assert_int_eq(outcome->status, OPAL_ERROR);
    sides_close();
}
END_TEST

START_TEST(a_flood_of_requests_is_an_error_not_a_queue)
{
    sides_open(LATER);
    b.broken = OPAL_ERR_OUT_OF_RESOURCE;
    struct rdma_am_frame frame = request_to_b(RDMA_AM_GET, 10);
    for (int i = 0; i < RDMA_AM_WINDOW; i++) {
        ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 0), OPAL_SUCCESS);
    }
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 0), OPAL_ERR_BAD_PARAM);
    rdma_am_cancel(b.am, &b.peer, OPAL_ERR_UNREACH);
    ck_assert(!rdma_am_active(b.am));
    sides_close();
}
END_TEST

/* A region that went away while its data waited to be sent is not read. */
START_TEST(a_queued_reply_checks_its_region_again)
{
    sides_open(LATER);
    struct outcome outcome[2];
    b.broken = OPAL_ERR_OUT_OF_RESOURCE;
    ck_assert_int_eq(start(false, a.memory, remote(0), b.handle, 100, outcome), 0);
    side_drain(&a);
    ck_assert_uint_eq(b.peer.replies_queued, 1);
    ck_assert_int_eq(region_remove(b.regions, b.handle), OPAL_SUCCESS);
    b.broken = 0;
    sides_run();
    ck_assert_int_eq(outcome->calls, 1);
    ck_assert_int_eq(outcome->status, OPAL_ERR_PERM);
    sides_close();
}
END_TEST

/* A frame that decodes more often than chance would have it. */
static void draw_frame(unsigned char *bytes, size_t size, unsigned *draw, int round)
{
    for (size_t i = 0; i < size; i++) {
        *draw = *draw * 1103515245u + 12345u;
        bytes[i] = (unsigned char) (*draw >> 16);
    }
    bytes[0] = RDMA_AM_VERSION;
    bytes[1] = (unsigned char) (bytes[1] % (RDMA_AM_ATOMIC_REPLY + 1));
    bytes[2] = bytes[3] = 0;
    memset(bytes + 8, 0, (size_t) (round % 5) * 6);
    if (bytes[1] == RDMA_AM_ATOMIC) {
        put_le64(bytes + 16, 0);
        uint64_t width = round % 2 ? sizeof(uint32_t) : sizeof(uint64_t);
        put_le64(bytes + 24, width);
        put_le64(bytes + 40, width);
        put_le64(bytes + 56, MCA_BTL_ATOMIC_ADD);
    }
}

START_TEST(random_frames_do_no_harm)
{
    sides_open(LATER);
    unsigned draw = 99, handled = 0;
    struct outcome outcome[2];
    memset(a.memory, 7, RDMA_SIDE_BYTES);
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 60000, outcome), 0);
    for (int round = 0; round < 200000; round++) {
        unsigned char bytes[128];
        draw_frame(bytes, sizeof(bytes), &draw, round);
        mca_btl_base_segment_t segments[] = {
            {.seg_addr.pval = bytes, .seg_len = (unsigned) round % 100},
            {.seg_addr.pval = bytes + 100, .seg_len = (unsigned) round % 28},
        };
        size_t count = 1 + (unsigned) round % 2;
        handled += rdma_am_receive(b.am, &b.peer, segments, count) == OPAL_SUCCESS;
        handled += rdma_am_receive(a.am, &a.peer, segments, count) == OPAL_SUCCESS;
        if (b.count > 400 || a.count > 400) { /* refusals of requests that looked right */
            side_end(&a, false, OPAL_SUCCESS);
            side_end(&b, false, OPAL_SUCCESS);
        }
    }
    ck_assert_uint_gt(handled, 1000);
    for (size_t i = 0; i < RDMA_SIDE_BYTES; i++) {
        ck_assert_int_eq(a.memory[i], 7);
        ck_assert_int_eq(b.memory[i], 0);
    }
    rdma_am_cancel(a.am, &a.peer, OPAL_ERR_UNREACH);
    rdma_am_cancel(b.am, &b.peer, OPAL_ERR_UNREACH);
    side_end(&a, false, OPAL_ERR_UNREACH);
    side_end(&b, false, OPAL_ERR_UNREACH);
    ck_assert_int_eq(outcome->calls, 1);
    sides_close();
}
END_TEST

UNIT_MAIN("rdma-am-frames")
