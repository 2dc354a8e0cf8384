/* Puts and gets by messages: how they go, wait and end. */
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/emulation/sides.h>

START_TEST(every_size_goes_both_ways)
{
    static const size_t sizes[] = {0,    1,    967,  968,  969,   991,      992,      993,  1024,
                                   1936, 1937, 5000, 9920, 20000, 31 * 968, 33 * 968, 40000};
    for (int delivery = AT_ONCE; delivery <= MOODY; delivery++) {
        sides_open((enum delivery) delivery);
        for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
            bool put = i % 2;
            size_t size = sizes[i / 2];
            unsigned char *from = put ? a.memory : b.memory, *to = put ? b.memory : a.memory;
            memset(to, 0, RDMA_SIDE_BYTES);
            fill(from, RDMA_SIDE_BYTES, (unsigned) i);
            struct outcome outcome;
            ck_assert_int_eq(start(put, a.memory + 100, remote(100), b.handle, size, &outcome), 0);
            sides_run();
            ck_assert_int_eq(outcome.calls, 1);
            ck_assert_int_eq(outcome.status, OPAL_SUCCESS);
            ck_assert_mem_eq(to + 100, from + 100, size);
            ck_assert_int_eq(to[99], 0);
            ck_assert_int_eq(to[100 + size], 0);
        }
        sides_close();
    }
}
END_TEST

/* Beside the header there is room for as much as the longest message. */
START_TEST(puts_may_be_wider_than_messages)
{
    static const size_t sizes[] = {1, RDMA_SIDE_MAX_SEND, RDMA_SIDE_MAX_SEND + 1,
                                   16 * RDMA_SIDE_MAX_SEND, 40 * RDMA_SIDE_MAX_SEND - 1};
    for (int delivery = AT_ONCE; delivery <= MOODY; delivery++) {
        sides_open_wide((enum delivery) delivery, RDMA_SIDE_MAX_SEND);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            unsigned before = a.frames;
            struct outcome outcome;
            fill(a.memory, RDMA_SIDE_BYTES, (unsigned) i);
            ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, sizes[i], &outcome), 0);
            sides_run();
            ck_assert_int_eq(outcome.status, OPAL_SUCCESS);
            ck_assert_mem_eq(b.memory, a.memory, sizes[i]);
            ck_assert_uint_eq(a.frames - before,
                              (sizes[i] + RDMA_SIDE_MAX_SEND - 1) / RDMA_SIDE_MAX_SEND);
        }
        sides_close();
    }
}
END_TEST

START_TEST(what_the_region_forbids_is_refused_as_a_whole)
{
    sides_open(LATER);
    fill(b.memory, RDMA_SIDE_BYTES, 3);
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
        fill(a.memory, RDMA_SIDE_BYTES, 9);
        ck_assert_int_eq(start(cases[i].put, a.memory, remote(cases[i].offset), cases[i].handle,
                               cases[i].size, &outcome),
                         0);
        sides_run();
        ck_assert_int_eq(outcome.calls, 1);
        ck_assert_int_eq(outcome.status, cases[i].status);
        for (size_t byte = 0; byte < RDMA_SIDE_BYTES; byte++) {
            ck_assert_int_eq((unsigned char) (a.memory[byte] - 9),
                             (unsigned char) (b.memory[byte] - 3));
        }
    }
    struct outcome outcome;
    ck_assert_int_eq(start(true, a.memory, remote(0), NULL, 1, &outcome), OPAL_ERR_BAD_PARAM);
    sides_close();
}
END_TEST

START_TEST(many_operations_over_a_moody_pipe)
{
    sides_open(MOODY);
    struct outcome outcomes[301] = {{0}};
    fill(a.memory, 30000, 1);
    fill(b.memory + 30000, 30000, 2);
    for (size_t i = 0; i < 300;) {
        bool put = i % 3;
        size_t offset = (put ? 0 : 30000) + i * 100;
        int status = start(put, a.memory + offset, remote(offset), b.handle, 100, &outcomes[i]);
        if (status == OPAL_ERR_OUT_OF_RESOURCE) {
            outcomes[i].calls = 0;
            sides_turn();
            continue;
        }
        ck_assert_int_eq(status, 0);
        i++;
    }
    sides_run();
    for (size_t i = 0; i < 300; i++) {
        size_t offset = (i % 3 ? 0 : 30000) + i * 100;
        ck_assert_int_eq(outcomes[i].calls, 1);
        ck_assert_int_eq(outcomes[i].status, OPAL_SUCCESS);
        ck_assert_mem_eq(a.memory + offset, b.memory + offset, 100);
    }
    sides_close();
}
END_TEST

START_TEST(the_window_bounds_requests_and_replies)
{
    sides_open(LATER);
    struct outcome outcome[2];
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 60000, &outcome[0]), 0);
    ck_assert_uint_eq(a.frames, RDMA_AM_WINDOW);
    for (int i = 0; i < 5; i++) {
        rdma_am_progress(a.am);
    }
    ck_assert_uint_eq(a.frames, RDMA_AM_WINDOW);
    b.broken = OPAL_ERR_OUT_OF_RESOURCE; /* no reply finds room */
    side_drain(&a);
    ck_assert_uint_eq(b.peer.replies_queued, RDMA_AM_WINDOW);
    ck_assert(rdma_am_active(b.am));
    rdma_am_progress(b.am);
    ck_assert_uint_eq(b.frames, 0);
    b.broken = 0;
    sides_run();
    ck_assert_int_eq(outcome[0].calls, 1);
    ck_assert_int_eq(outcome[0].status, OPAL_SUCCESS);
    sides_close();
}
END_TEST

START_TEST(cancel_ends_each_operation_once)
{
    sides_open(LATER);
    struct outcome outcomes[21];
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(start(i % 2, a.memory, remote(0), b.handle, 5000, &outcomes[i]), 0);
    }
    /* Some frames are still with the module: their operations wait for them. */
    rdma_am_cancel(a.am, &a.peer, OPAL_ERR_UNREACH);
    ck_assert(rdma_am_active(a.am));
    side_end(&a, true, OPAL_ERR_UNREACH);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(outcomes[i].calls, 1);
        ck_assert_int_eq(outcomes[i].status, OPAL_ERR_UNREACH);
    }
    sides_run(); /* late replies change nothing */
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(outcomes[i].calls, 1);
    }
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 5000, &outcomes[0]), 0);
    sides_run();
    ck_assert_int_eq(outcomes[0].status, OPAL_SUCCESS);
    sides_close();
}
END_TEST

static int copies, copy_status;

/* What is left of an operation, as one who reaches both sides' memory. */
static int copy_rest(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                     bool put, const struct rdma_call *rest)
{
    void *there = (void *) (uintptr_t) rest->remote_address;
    ck_assert_ptr_eq(module, &a.module);
    ck_assert_ptr_eq(endpoint, a.peer.endpoint);
    ck_assert_mem_eq(rest->remote_handle, b.handle, sizeof(struct region_handle));
    copies++;
    if (copy_status == OPAL_SUCCESS &&
        rest->remote_address + rest->size > remote(RDMA_SIDE_BYTES)) {
        return OPAL_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (copy_status == OPAL_SUCCESS) {
        memcpy(put ? there : rest->local_address, put ? rest->local_address : there, rest->size);
    }
    return copy_status;
}

static uint32_t claimed; /* up to here, by b */

static bool claim(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                  uint32_t number)
{
    ck_assert_ptr_eq(module, &b.module);
    ck_assert_ptr_eq(endpoint, b.peer.endpoint);
    bool mine = number > claimed;
    claimed = mine ? number : claimed;
    return mine;
}

/* a takes what is left when b has claimed some requests, and has answered fewer. */
static void take_with(int status, size_t claims, size_t answers)
{
    sides_open(LATER);
    struct outcome outcomes[4];
    copy_status = status;
    copies = 0;
    claimed = 0;
    b.claim = claim;
    a.copy = copy_rest;
    fill(a.memory, 3000, 1);
    fill(b.memory + 30000, 40000 - 30000, 2);
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 3000, &outcomes[0]), 0);
    ck_assert_int_eq(start(false, a.memory + 3000, remote(30000), b.handle, 9000, &outcomes[1]), 0);
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 0, &outcomes[2]), 0);
    ck_assert_int_eq(start(false, a.memory + 20000, remote(60000), b.handle, 6000, &outcomes[3]),
                     0);
    side_drain_some(&a, claims);
    side_drain_some(&b, answers);
    uint32_t before = claimed;
    claimed = a.peer.asked;
    rdma_am_take(a.am, &a.peer, before);
    bool copied = copy_status != OPAL_ERR_NOT_AVAILABLE;
    ck_assert(copied || copies <= 1);
    ck_assert_uint_le(a.peer.unanswered, copied ? claims - answers : RDMA_AM_WINDOW);
    sides_run();
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(outcomes[i].calls, 1);
        ck_assert(outcomes[i].status == (i == 3 ? OPAL_ERR_VALUE_OUT_OF_BOUNDS : OPAL_SUCCESS) ||
                  (copied && outcomes[i].status == copy_status));
    }
    ck_assert_uint_eq(a.peer.unanswered, 0);
    if (copy_status != OPAL_ERR_PERM) {
        ck_assert_mem_eq(a.memory, b.memory, 3000);
        ck_assert_mem_eq(a.memory + 3000, b.memory + 30000, 9000);
    }
    sides_close();
}

START_TEST(what_the_target_has_not_claimed_is_copied)
{
    for (size_t claims = 0; claims <= 20; claims++) {
        for (size_t answers = 0; answers <= claims; answers++) {
            take_with(OPAL_SUCCESS, claims, answers);
            take_with(OPAL_ERR_PERM, claims, answers);
            take_with(OPAL_ERR_NOT_AVAILABLE, claims, answers);
        }
    }
}
END_TEST

START_TEST(a_broken_link_ends_operations_with_its_status)
{
    sides_open(LATER);
    struct outcome outcomes[3];
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 60000, &outcomes[0]), 0);
    a.broken = OPAL_ERR_UNREACH;
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 10, &outcomes[1]), 0);
    sides_run();
    ck_assert_int_eq(outcomes[0].calls, 1);
    ck_assert_int_eq(outcomes[0].status, OPAL_ERR_UNREACH);
    ck_assert_int_eq(outcomes[1].calls, 1);
    ck_assert_int_eq(outcomes[1].status, OPAL_ERR_UNREACH);
    sides_close();
}
END_TEST

START_TEST(too_many_operations_are_for_later)
{
    sides_open(LATER);
    struct outcome outcomes[RDMA_SIDE_OPS + 1];
    for (int i = 0; i < RDMA_SIDE_OPS; i++) {
        ck_assert(rdma_am_has_room(a.am));
        ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 1, &outcomes[i]), 0);
    }
    ck_assert(!rdma_am_has_room(a.am));
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 1, &outcomes[RDMA_SIDE_OPS]),
                     OPAL_ERR_OUT_OF_RESOURCE);
    sides_run();
    ck_assert(rdma_am_has_room(a.am));
    ck_assert_int_eq(start(true, a.memory, remote(0), b.handle, 1, &outcomes[RDMA_SIDE_OPS]), 0);
    sides_run();
    ck_assert_int_eq(outcomes[RDMA_SIDE_OPS].calls, 1);
    sides_close();
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
        sides_open((enum delivery) delivery);
        struct chain chain = {.left = 200};
        const struct rdma_call call = {a.memory, remote(0),        NULL,  b.handle, 10,
                                       0,        MCA_BTL_NO_ORDER, again, NULL,     &chain};
        ck_assert_int_eq(rdma_am_put(a.am, &a.peer, &call), 0);
        sides_run();
        ck_assert_int_eq(chain.left, 0);
        sides_close();
    }
}
END_TEST

/* A reply may bring the next request before its send returns: that one's reply comes after. */
START_TEST(replies_do_not_nest)
{
    sides_open(LATER);
    struct chain chain = {.left = 10};
    const struct rdma_call call = {a.memory, remote(0),        NULL,  b.handle, 10,
                                   0,        MCA_BTL_NO_ORDER, again, NULL,     &chain};
    ck_assert_int_eq(rdma_am_get(a.am, &a.peer, &call), 0);
    side_end(&a, false, OPAL_SUCCESS); /* complete, and not there yet */
    a.delivery = b.delivery = AT_ONCE;
    struct rdma_am_frame request = request_to_b(RDMA_AM_GET, 10);
    request.op_generation = 1;
    ck_assert_int_eq(side_receive(&b, &b.peer, &request, 0), OPAL_SUCCESS);
    sides_run();
    ck_assert_int_eq(chain.left, 0);
    ck_assert_int_eq(b.deepest, 1);
    sides_close();
}
END_TEST

START_TEST(no_callback_is_needed)
{
    sides_open(LATER);
    fill(a.memory, 3000, 1);
    const struct rdma_call call = {a.memory, remote(0),        NULL, b.handle, 3000,
                                   0,        MCA_BTL_NO_ORDER, NULL, NULL,     NULL};
    ck_assert_int_eq(rdma_am_put(a.am, &a.peer, &call), 0);
    sides_run();
    ck_assert_mem_eq(a.memory, b.memory, 3000);
    sides_close();
}
END_TEST

/* An operation without callback: its outcome is kept. */
static void put_blindly(uint64_t address, void *handle)
{
    const struct rdma_call call = {a.memory, address,          NULL, handle, 10,
                                   0,        MCA_BTL_NO_ORDER, NULL, NULL,   NULL};
    ck_assert_int_eq(rdma_am_put(a.am, &a.peer, &call), 0);
    sides_run();
}

START_TEST(the_first_error_that_nobody_heard_is_kept)
{
    sides_open(LATER);
    mca_btl_base_registration_handle_t *readable =
        region_add(b.regions, NULL, b.memory, 100, MCA_BTL_REG_FLAG_REMOTE_READ);
    put_blindly(remote(0), readable);
    put_blindly(remote(RDMA_SIDE_BYTES), b.handle);
    put_blindly(remote(0), b.handle);
    ck_assert_int_eq(rdma_am_lost(&a.peer), OPAL_ERR_PERM);
    ck_assert_int_eq(rdma_am_lost(&a.peer), OPAL_SUCCESS);
    put_blindly(remote(RDMA_SIDE_BYTES), b.handle);
    ck_assert_int_eq(rdma_am_lost(&a.peer), OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    sides_close();
}
END_TEST

UNIT_MAIN("rdma-am")
