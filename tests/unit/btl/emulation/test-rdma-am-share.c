/* Puts and gets that both sides copy. Each reaches the other's memory here, or not, as a test says.
 */
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/emulation/sides.h>

static struct {
    int by_a, by_b;        /* what a copy of this side says */
    size_t from_a, from_b; /* bytes that it copied */
    uint32_t claimed;      /* up to here, by either */
} world;

static int copy(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, bool put,
                const struct rdma_call *part)
{
    void *there = (void *) (uintptr_t) part->remote_address;
    ck_assert_ptr_eq(module, &a.module);
    ck_assert_ptr_eq(endpoint, a.peer.endpoint);
    ck_assert_mem_eq(part->remote_handle, b.handle, sizeof(struct region_handle));
    if (world.by_a == OPAL_SUCCESS) {
        memcpy(put ? there : part->local_address, put ? part->local_address : there, part->size);
        world.from_a += part->size;
    }
    return world.by_a;
}

static int reach(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, bool put,
                 void *here, uint64_t there, size_t size)
{
    void *other = (void *) (uintptr_t) there;
    ck_assert_ptr_eq(module, &b.module);
    ck_assert_ptr_eq(endpoint, b.peer.endpoint);
    ck_assert_uint_le(size, RDMA_SIDE_SHARE);
    if (world.by_b == OPAL_SUCCESS) {
        memcpy(put ? here : other, put ? other : here, size);
        world.from_b += size;
    }
    return world.by_b;
}

static bool claim(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                  uint32_t number)
{
    (void) module, (void) endpoint;
    bool mine = number > world.claimed;
    world.claimed = mine ? number : world.claimed;
    return mine;
}

static void open_sides(enum delivery delivery, int by_a, int by_b)
{
    sides_open(delivery);
    memset(&world, 0, sizeof(world));
    world.by_a = by_a;
    world.by_b = by_b;
    a.copy = copy;
    b.reach = reach;
    b.claim = claim;
}

static int share(bool put, size_t offset, size_t size, struct outcome *outcome)
{
    *outcome = (struct outcome){0, 1};
    const struct rdma_call call = {
        a.memory + offset, remote(offset), a.handle,    b.handle, size, 0,
        MCA_BTL_NO_ORDER,  rdma_done,      outcome + 1, outcome};
    return rdma_am_share(a.am, &a.peer, &call, put);
}

static void take(void)
{
    uint32_t claimed = world.claimed;
    world.claimed = a.peer.asked;
    rdma_am_take(a.am, &a.peer, claimed);
}

START_TEST(each_side_copies_its_part_once)
{
    for (int delivery = AT_ONCE; delivery <= MOODY; delivery++) {
        open_sides((enum delivery) delivery, OPAL_SUCCESS, OPAL_SUCCESS);
        for (size_t size = 1; size < 40000; size = size * 3 / 2 + 1) {
            bool put = size % 2;
            unsigned char *from = put ? a.memory : b.memory, *to = put ? b.memory : a.memory;
            struct outcome outcome[2];
            memset(to, 0, RDMA_SIDE_BYTES);
            fill(from, RDMA_SIDE_BYTES, (unsigned) size);
            world.from_a = world.from_b = 0;
            ck_assert_int_eq(share(put, 100, size, outcome), OPAL_SUCCESS);
            ck_assert(rdma_am_shares(a.am));
            while (outcome->calls == 0) {
                sides_turn();
                rdma_am_work(a.am, &a.peer);
            }
            ck_assert(!rdma_am_shares(a.am));
            ck_assert_int_eq(outcome->calls, 1);
            ck_assert_int_eq(outcome->status, OPAL_SUCCESS);
            ck_assert_uint_eq(world.from_a + world.from_b, size);
            ck_assert_uint_gt(world.from_a, 0);
            ck_assert(world.from_b > 0 || size <= 2 * RDMA_SIDE_SHARE || delivery == MOODY);
            ck_assert_mem_eq(to + 100, from + 100, size);
            ck_assert_int_eq(to[99], 0);
            ck_assert_int_eq(to[100 + size], 0);
        }
        sides_run();
        sides_close();
    }
}
END_TEST

START_TEST(one_without_company_copies_all)
{
    open_sides(LATER, OPAL_SUCCESS, OPAL_SUCCESS);
    struct outcome outcome[2];
    fill(a.memory, RDMA_SIDE_BYTES, 1);
    ck_assert_int_eq(share(true, 0, 20000, outcome), OPAL_SUCCESS);
    while (rdma_am_work(a.am, &a.peer) == RDMA_AM_COPIED) {
    }
    ck_assert_int_eq(rdma_am_work(a.am, &a.peer), RDMA_AM_WAITS);
    ck_assert_int_eq(outcome->calls, 0);
    take();
    ck_assert_int_eq(outcome->calls, 1);
    ck_assert_int_eq(outcome->status, OPAL_SUCCESS);
    ck_assert_uint_eq(world.from_a, 20000);
    ck_assert_mem_eq(b.memory, a.memory, 20000);
    memset(b.memory, 0, 20000); /* it is b's again */
    sides_run();
    ck_assert_uint_eq(world.from_b, 0);
    ck_assert_int_eq(rdma_am_work(a.am, &a.peer), RDMA_AM_IDLE);
    sides_close();
}
END_TEST

START_TEST(the_target_is_not_asked_for_much_at_a_time)
{
    open_sides(LATER, OPAL_SUCCESS, OPAL_SUCCESS);
    struct outcome outcomes[9];
    for (size_t i = 0; i < 8; i++) {
        ck_assert_int_eq(share(true, 0, 20000, &outcomes[i]), OPAL_SUCCESS);
        ck_assert_uint_le(a.peer.unanswered, 4);
    }
    while (rdma_am_shares(a.am)) {
        rdma_am_work(a.am, &a.peer);
        ck_assert_uint_le(a.peer.unanswered, 4);
        sides_turn();
    }
    ck_assert_uint_gt(world.from_b, 8 * 20000 / 4);
    sides_close();
}
END_TEST

/* So that others are looked after meanwhile. */
START_TEST(what_a_target_has_claimed_is_not_to_be_taken)
{
    open_sides(LATER, OPAL_SUCCESS, OPAL_SUCCESS);
    struct outcome outcomes[2][2];
    ck_assert_int_eq(share(true, 0, 20000, outcomes[0]), OPAL_SUCCESS);
    world.claimed = 1; /* b is stopped there */
    while (rdma_am_work(a.am, &a.peer) == RDMA_AM_COPIED) {
    }
    ck_assert_int_eq(rdma_am_work(a.am, &a.peer), RDMA_AM_WAITS);
    take();
    ck_assert_uint_eq(world.from_a, 20000 - RDMA_SIDE_SHARE);
    ck_assert_int_eq(outcomes[0]->calls, 0);
    ck_assert_int_eq(rdma_am_work(a.am, &a.peer), RDMA_AM_IDLE);
    ck_assert_int_eq(share(true, 0, 20000, outcomes[1]), OPAL_SUCCESS);
    ck_assert_int_eq(rdma_am_work(a.am, &a.peer), RDMA_AM_COPIED);
    rdma_am_cancel(a.am, &a.peer, OPAL_ERR_UNREACH);
    sides_run();
    sides_close();
}
END_TEST

START_TEST(who_cannot_reach_the_other_leaves_it_to_that_one)
{
    static const int by[][2] = {{OPAL_ERR_NOT_AVAILABLE, OPAL_SUCCESS},
                                {OPAL_SUCCESS, OPAL_ERR_NOT_AVAILABLE},
                                {OPAL_ERR_NOT_AVAILABLE, OPAL_ERR_NOT_AVAILABLE}};
    for (size_t i = 0; i < sizeof(by) / sizeof(*by); i++) {
        for (int put = 0; put < 2; put++) {
            open_sides(LATER, by[i][0], by[i][1]);
            unsigned char *from = put ? a.memory : b.memory, *to = put ? b.memory : a.memory;
            struct outcome outcomes[4];
            fill(from, RDMA_SIDE_BYTES, 5);
            for (size_t k = 0; k < 3; k++) {
                ck_assert_int_eq(share(put, 15000 * k, 15000, &outcomes[k]), OPAL_SUCCESS);
            }
            for (int turns = 0; rdma_am_open(a.am); turns++) {
                ck_assert_int_lt(turns, 10000);
                rdma_am_work(a.am, &a.peer);
                sides_turn();
            }
            for (size_t k = 0; k < 3; k++) {
                ck_assert_int_eq(outcomes[k].calls, 1);
                ck_assert_int_eq(outcomes[k].status, OPAL_SUCCESS);
            }
            ck_assert_mem_eq(to, from, 45000);
            ck_assert_int_eq(a.peer.unreaching, by[i][1] != OPAL_SUCCESS);
            sides_close();
        }
    }
}
END_TEST

START_TEST(an_error_of_either_side_ends_it)
{
    for (int put = 0; put < 2; put++) {
        for (int which = 0; which < 2; which++) {
            open_sides(LATER, which ? OPAL_ERROR : OPAL_SUCCESS, which ? OPAL_SUCCESS : OPAL_ERROR);
            struct outcome outcome[2];
            ck_assert_int_eq(share(put, 0, 30000, outcome), OPAL_SUCCESS);
            for (int turns = 0; rdma_am_open(a.am); turns++) {
                ck_assert_int_lt(turns, 1000);
                rdma_am_work(a.am, &a.peer);
                sides_turn();
            }
            ck_assert_int_eq(outcome->calls, 1);
            ck_assert_int_eq(outcome->status, OPAL_ERROR);
            ck_assert_int_lt((int) (world.from_a + world.from_b), 30000);
            sides_close();
        }
    }
}
END_TEST

START_TEST(what_the_region_forbids_is_refused_by_the_target)
{
    open_sides(LATER, OPAL_SUCCESS, OPAL_SUCCESS);
    struct rdma_am_frame request = request_to_b(RDMA_AM_PULL, 100);
    request.region_generation += 2;
    ck_assert_int_eq(side_receive(&b, &b.peer, &request, 0), OPAL_SUCCESS);
    request = request_to_b(RDMA_AM_PUSH, 100);
    request.address += RDMA_SIDE_BYTES;
    request.number = 1;
    ck_assert_int_eq(side_receive(&b, &b.peer, &request, 0), OPAL_SUCCESS);
    ck_assert_uint_eq(world.from_b, 0);
    request = request_to_b(RDMA_AM_PULL, RDMA_SIDE_SHARE + 1);
    ck_assert_int_eq(side_receive(&b, &b.peer, &request, 0), OPAL_ERR_BAD_PARAM);
    request = request_to_b(RDMA_AM_PUSH, 10);
    ck_assert_int_eq(side_receive(&b, &b.peer, &request, 1), OPAL_ERR_BAD_PARAM);
    sides_run();
    sides_close();
}
END_TEST

/* In any order of steps: shared operations among others, taken and not. */
static void random_steps(unsigned seed)
{
    enum { OPS = 40, SPAN = RDMA_SIDE_BYTES / OPS };
    struct outcome outcomes[OPS + 1];
    size_t begun = 0, sizes[OPS];
    int takes = 20;
    open_sides(seed % 3, seed % 5 == 4 ? OPAL_ERR_NOT_AVAILABLE : OPAL_SUCCESS,
               seed % 7 == 6 ? OPAL_ERR_NOT_AVAILABLE : OPAL_SUCCESS);
    srand(seed);
    fill(a.memory, RDMA_SIDE_BYTES, 1);
    fill(b.memory, RDMA_SIDE_BYTES, 2);
    for (int step = 0; begun < OPS || rdma_am_open(a.am); step++) {
        ck_assert_msg(step < 100000, "seed %u", seed);
        size_t at = begun * SPAN, size = 1 + (size_t) rand() % SPAN;
        switch (rand() % 6) {
        case 0:
            if (begun == OPS) {
                break;
            }
            sizes[begun] = size;
            ck_assert_int_eq(rand() % 3 ? share(begun % 2, at, size, &outcomes[begun])
                                        : start(begun % 2, a.memory + at, remote(at), b.handle,
                                                size, &outcomes[begun]),
                             OPAL_SUCCESS);
            begun++;
            break;
        case 1:
            side_drain_some(&a, (size_t) rand() % 3);
            break;
        case 2:
            side_drain_some(&b, (size_t) rand() % 3);
            break;
        case 3:
            if (rdma_am_work(a.am, &a.peer) == RDMA_AM_WAITS && takes > 0) {
                take();
                takes--;
            }
            break;
        case 4:
            if (takes > 0 && rand() % 8 == 0) {
                take();
                takes--;
            }
            break;
        default:
            rdma_am_progress(a.am);
            rdma_am_progress(b.am);
        }
    }
    sides_run();
    for (size_t i = 0; i < OPS; i++) {
        ck_assert_msg(outcomes[i].calls == 1 && outcomes[i].status == OPAL_SUCCESS,
                      "seed %u, operation %zu: %d calls, %d", seed, i, outcomes[i].calls,
                      outcomes[i].status);
        ck_assert_mem_eq(a.memory + i * SPAN, b.memory + i * SPAN, sizes[i]);
    }
    sides_close();
}

START_TEST(any_order_of_steps_ends_well)
{
    for (unsigned seed = 0; seed < 500; seed++) {
        random_steps(seed);
    }
}
END_TEST

UNIT_MAIN("rdma-am-share")
