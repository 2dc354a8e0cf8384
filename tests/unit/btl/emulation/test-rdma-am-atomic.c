/* Atomics by messages. */
#include <tests/lib/unit.h>
#include <tests/unit/btl/emulation/sides.h>

static int start_sized(const struct atomic *atomic, size_t size, void *local, uint64_t address,
                       void *handle, struct outcome *outcome)
{
    *outcome = (struct outcome){0, 1};
    const struct atomic_call call = {.rdma = {local, address, a.handle, handle, size, 0,
                                              MCA_BTL_NO_ORDER, rdma_done, outcome + 1, outcome},
                                     .atomic = *atomic};
    return rdma_am_atomic(a.am, &a.peer, &call);
}

static int start_atomic(uint32_t op, uint64_t operand, uint64_t value, void *local,
                        uint64_t address, void *handle, struct outcome *outcome)
{
    const struct atomic atomic = {op, operand, value};
    return start_sized(&atomic, 8, local, address, handle, outcome);
}

/* Replies that find no room wait, and what they tell was done when the request came. */
START_TEST(atomics_happen_once)
{
    for (int delivery = AT_ONCE; delivery <= MOODY; delivery++) {
        sides_open((enum delivery) delivery);
        struct outcome outcomes[301] = {{0}};
        uint64_t before[300], *word = (uint64_t *) (void *) (b.memory + 64);
        for (size_t i = 0; i < 300;) {
            int status = start_atomic(MCA_BTL_ATOMIC_ADD, 7, 0, &before[i], remote(64), b.handle,
                                      &outcomes[i]);
            if (status == OPAL_ERR_OUT_OF_RESOURCE) {
                sides_turn();
                continue;
            }
            ck_assert_int_eq(status, 0);
            i++;
        }
        sides_run();
        ck_assert_uint_eq(*word, 300 * 7);
        for (size_t i = 0; i < 300; i++) {
            ck_assert_int_eq(outcomes[i].calls, 1);
            ck_assert_int_eq(outcomes[i].status, OPAL_SUCCESS);
            ck_assert_uint_eq(before[i], 7 * i);
        }
        sides_close();
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
    sides_open(LATER);
    uint64_t before, *word = (uint64_t *) (void *) (b.memory + 8);
    struct outcome outcome;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        *word = cases[i].start;
        ck_assert_int_eq(start_atomic(cases[i].op, cases[i].operand, cases[i].value, &before,
                                      remote(8), b.handle, &outcome),
                         0);
        sides_run();
        ck_assert_int_eq(outcome.status, OPAL_SUCCESS);
        ck_assert_uint_eq(before, cases[i].start);
        ck_assert_uint_eq(*word, cases[i].result);
    }
    sides_close();
}
END_TEST

START_TEST(four_bytes_are_four_bytes)
{
    sides_open(LATER);
    const struct atomic add = {MCA_BTL_ATOMIC_ADD, 1, 0};
    uint32_t before[2] = {1, 2}, *words = (uint32_t *) (void *) (b.memory + 8);
    struct outcome outcome;
    words[0] = UINT32_MAX;
    words[1] = 7;
    ck_assert_int_eq(start_sized(&add, 4, before, remote(8), b.handle, &outcome), 0);
    sides_run();
    ck_assert_int_eq(outcome.status, OPAL_SUCCESS);
    ck_assert(words[0] == 0 && words[1] == 7);
    ck_assert(before[0] == UINT32_MAX && before[1] == 2);
    ck_assert_int_eq(start_sized(&add, 4, before, remote(6), b.handle, &outcome),
                     OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(start_sized(&add, 2, before, remote(8), b.handle, &outcome),
                     OPAL_ERR_BAD_PARAM);
    sides_close();
}
END_TEST

START_TEST(atomics_that_cannot_be_are_refused)
{
    sides_open(LATER);
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
    sides_run();
    ck_assert_int_eq(outcome.calls, 1);
    ck_assert_int_eq(outcome.status, OPAL_ERR_PERM);
    ck_assert_int_eq(start_atomic(MCA_BTL_ATOMIC_ADD, 1, 0, &before, remote(RDMA_SIDE_BYTES),
                                  b.handle, &outcome),
                     0);
    sides_run();
    ck_assert_int_eq(outcome.status, OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_uint_eq(before, 3);
    sides_close();
}
END_TEST

/* What an initiator of ours would not send. */
START_TEST(hostile_atomics_touch_nothing)
{
    sides_open(LATER);
    struct rdma_am_frame frame = request_to_b(RDMA_AM_ATOMIC, 8);
    frame.address = remote(4); /* refused by a reply, which a then drops */
    frame.atomic = (struct atomic){MCA_BTL_ATOMIC_ADD, 1, 0};
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 0), OPAL_SUCCESS);
    frame.address = remote(8);
    frame.atomic.op = 0x99;
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 0), OPAL_SUCCESS);
    sides_run();
    frame.atomic.op = MCA_BTL_ATOMIC_ADD;
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 1), OPAL_ERR_BAD_PARAM);
    frame.size = 16;
    ck_assert_int_eq(side_receive(&b, &b.peer, &frame, 0), OPAL_ERR_BAD_PARAM);
    for (size_t i = 0; i < 64; i++) {
        ck_assert_uint_eq(b.memory[i], 0);
    }
    sides_close();
}
END_TEST

UNIT_MAIN("rdma-am-atomic")
