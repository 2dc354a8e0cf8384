/* Atomics: what each of them does, sums, sets and locks under contention, and what is refused. The
 * words lie in memory that all ranks see. */
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

enum { TIMES = 1000, LOCKED_TIMES = 50, WORDS = 64 };

enum call { OP, FOP, CSWAP };

/* One atomic under way. */
struct operation {
    struct test *test;
    atomic_ulong completed;
    int status;
    uint64_t before; /* what a fetching one found */
};

static bool has_atomics(struct test *test)
{
    uint32_t flags = test->btl->btl_flags;
    return (flags & MCA_BTL_FLAGS_ATOMIC_OPS) && (flags & MCA_BTL_FLAGS_ATOMIC_FOPS);
}

static uint64_t *words_of(struct test *test, int rank)
{
    return (uint64_t *) (void *) board_of(test, rank)->data;
}

static void completed(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      void *address, mca_btl_base_registration_handle_t *handle, void *context,
                      void *data, int status)
{
    struct operation *operation = data;
    (void) btl, (void) endpoint, (void) handle;
    must(operation->test, !address || address == &operation->before);
    must(operation->test, context == operation->test);
    operation->status = status;
    operation->completed++;
}

static int start(struct operation *operation, enum call call, int rank, uint64_t address,
                 const void *handle, mca_btl_base_atomic_op_t op, uint64_t operand, uint64_t value,
                 int flags)
{
    struct test *test = operation->test;
    mca_btl_base_module_t *btl = test->btl;
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[rank];
    mca_btl_base_registration_handle_t *remote = (void *) (uintptr_t) handle;
    switch (call) {
    case OP:
        return btl->btl_atomic_op(btl, endpoint, address, remote, op, operand, flags,
                                  MCA_BTL_NO_ORDER, completed, test, operation);
    case FOP:
        return btl->btl_atomic_fop(btl, endpoint, &operation->before, address, NULL, remote, op,
                                   operand, flags, MCA_BTL_NO_ORDER, completed, test, operation);
    default:
        return btl->btl_atomic_cswap(btl, endpoint, &operation->before, address, NULL, remote,
                                     operand, value, flags, MCA_BTL_NO_ORDER, completed, test,
                                     operation);
    }
}

static bool refused_in_call; /* the status of the last one came from its call */

/* Runs one; its status, from the call or from the callback. *before is what it found. */
static int operate(struct test *test, enum call call, int rank, uint64_t address,
                   const void *handle, mca_btl_base_atomic_op_t op, uint64_t operand,
                   uint64_t value, int flags, uint64_t *before)
{
    struct operation operation = {.test = test};
    int status;
    while (is_shortage(
        status = start(&operation, call, rank, address, handle, op, operand, value, flags))) {
        must(test, operation.completed == 0);
        pump(test);
    }
    refused_in_call = status < 0;
    if (status == 0) {
        pump_until(test, &operation.completed, 1);
        status = operation.status;
    } else {
        must(test, operation.completed == 0);
    }
    if (before) {
        *before = operation.before;
    }
    return status == 1 ? OPAL_SUCCESS : status;
}

/* By the processor, on a word of my own that others reach through the module. */
static uint64_t fetch_here(uint64_t *word, enum call call, mca_btl_base_atomic_op_t op,
                           uint64_t operand, uint64_t value)
{
    uint64_t before = operand;
    if (call == CSWAP) {
        __atomic_compare_exchange_n(word, &before, value, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        return before;
    }
    switch (op) {
    case MCA_BTL_ATOMIC_ADD:
        return __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
    case MCA_BTL_ATOMIC_AND:
        return __atomic_fetch_and(word, operand, __ATOMIC_SEQ_CST);
    case MCA_BTL_ATOMIC_OR:
        return __atomic_fetch_or(word, operand, __ATOMIC_SEQ_CST);
    default:
        return __atomic_fetch_xor(word, operand, __ATOMIC_SEQ_CST);
    }
}

/* On word number index of a rank, which must work. */
static uint64_t fetch(struct test *test, enum call call, int rank, size_t index,
                      mca_btl_base_atomic_op_t op, uint64_t operand, uint64_t value)
{
    struct board *target = board_of(test, rank);
    uint64_t before;
    if (!test->endpoints[rank]) {
        must(test,
             rank == test->rank && (test->btl->btl_atomic_flags & MCA_BTL_ATOMIC_SUPPORTS_GLOB));
        pump(test);
        return fetch_here(&words_of(test, rank)[index], call, op, operand, value);
    }
    must(test, operate(test, call, rank, target->base + 8 * index, target->handle, op, operand,
                       value, 0, &before) == OPAL_SUCCESS);
    return before;
}

/* Opens my first words to everybody; the caller meets the others before it uses theirs. */
static mca_btl_base_registration_handle_t *open_words(struct test *test, uint32_t rights)
{
    memset(board_of(test, test->rank)->data, 0, 8 * WORDS);
    return show_data(test, 8 * WORDS, rights);
}

static void close_words(struct test *test, mca_btl_base_registration_handle_t *handle)
{
    meet(test);
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    meet(test);
}

static void flags_tell_the_truth(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    uint32_t any = MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS;
    uint32_t all = ext_of(test)->atomic_flags;
    must(test, ((btl->btl_flags & any) != 0) == (btl->btl_atomic_flags != 0));
    must(test, (all & btl->btl_atomic_flags) == btl->btl_atomic_flags);
    if (has_atomics(test)) {
        uint32_t needed = MCA_BTL_ATOMIC_SUPPORTS_ADD | MCA_BTL_ATOMIC_SUPPORTS_AND |
                          MCA_BTL_ATOMIC_SUPPORTS_OR | MCA_BTL_ATOMIC_SUPPORTS_XOR |
                          MCA_BTL_ATOMIC_SUPPORTS_SWAP | MCA_BTL_ATOMIC_SUPPORTS_MIN |
                          MCA_BTL_ATOMIC_SUPPORTS_MAX | MCA_BTL_ATOMIC_SUPPORTS_CSWAP |
                          MCA_BTL_ATOMIC_SUPPORTS_32BIT;
        must(test, (all & needed) == needed);
    }
    if (!has_atomics(test)) {
        must(test,
             btl->btl_atomic_op(btl, test->endpoints[test->right], 0, NULL, MCA_BTL_ATOMIC_ADD, 1,
                                0, MCA_BTL_NO_ORDER, NULL, NULL, NULL) == ORTE_ERR_NOT_SUPPORTED);
    }
    meet(test);
}

/* What one atomic does to a word. */
struct work {
    mca_btl_base_atomic_op_t op;
    uint64_t start, operand, result;
};

static const struct work wide_work[] = {
    {MCA_BTL_ATOMIC_ADD, 40, 2, 42},
    {MCA_BTL_ATOMIC_ADD, UINT64_MAX, 3, 2},
    {MCA_BTL_ATOMIC_ADD, 7, (uint64_t) -9, (uint64_t) -2},
    {MCA_BTL_ATOMIC_AND, 0xff00ff00ff00ff00, 0x0ff00ff00ff00ff0, 0x0f000f000f000f00},
    {MCA_BTL_ATOMIC_OR, 0x8000000000000001, 0x10, 0x8000000000000011},
    {MCA_BTL_ATOMIC_XOR, 0xaaaaaaaaaaaaaaaa, UINT64_MAX, 0x5555555555555555},
    {MCA_BTL_ATOMIC_SWAP, 0x0123456789abcdef, 0xfedcba9876543210, 0xfedcba9876543210},
    {MCA_BTL_ATOMIC_MIN, 5, 4, 4},
    {MCA_BTL_ATOMIC_MIN, 5, (uint64_t) -1, (uint64_t) -1}, /* signed */
    {MCA_BTL_ATOMIC_MIN, (uint64_t) INT64_MIN, 0x7fffffff, (uint64_t) INT64_MIN},
    {MCA_BTL_ATOMIC_MAX, 5, 4, 5},
    {MCA_BTL_ATOMIC_MAX, 5, (uint64_t) -1, 5},
    {MCA_BTL_ATOMIC_MAX, (uint64_t) INT64_MIN, INT64_MAX, INT64_MAX},
};

/* Of 4 bytes; what lies above them in an operand does not count. */
static const struct work narrow_work[] = {
    {MCA_BTL_ATOMIC_ADD, 40, 0xee00000002, 42},
    {MCA_BTL_ATOMIC_ADD, UINT32_MAX, 3, 2},
    {MCA_BTL_ATOMIC_AND, 0xff00ff00, 0x0ff00ff0, 0x0f000f00},
    {MCA_BTL_ATOMIC_OR, 0x80000001, 0x10, 0x80000011},
    {MCA_BTL_ATOMIC_XOR, 0xaaaaaaaa, UINT32_MAX, 0x55555555},
    {MCA_BTL_ATOMIC_SWAP, 0x89abcdef, 0xfedcba9876543210, 0x76543210},
    {MCA_BTL_ATOMIC_MIN, 5, 0xee00000004, 4},
    {MCA_BTL_ATOMIC_MIN, 5, UINT32_MAX, UINT32_MAX},
    {MCA_BTL_ATOMIC_MIN, 0x80000000, 0x7fffffff, 0x80000000},
    {MCA_BTL_ATOMIC_MAX, 5, 4, 5},
    {MCA_BTL_ATOMIC_MAX, 5, UINT32_MAX, 5},
    {MCA_BTL_ATOMIC_MAX, 0x80000000, INT32_MAX, INT32_MAX},
};

/* On word 5 of my right neighbour. */
static void work_wide(struct test *test, enum call call, const struct work *work)
{
    uint64_t *word = &words_of(test, test->right)[5];
    *word = work->start;
    uint64_t before = fetch(test, call, test->right, 5, work->op, work->operand, 0);
    must(test, *word == work->result);
    must(test, call == OP || before == work->start);
}

static void narrow(struct test *test, uint32_t start, enum call call, mca_btl_base_atomic_op_t op,
                   uint64_t operand, uint64_t value, uint32_t result)
{
    struct board *target = board_of(test, test->right);
    uint32_t *halves = (uint32_t *) (void *) &words_of(test, test->right)[5];
    uint64_t found = 0;
    uint32_t before;
    halves[0] = 0x5a5a5a5a;
    halves[1] = start;
    must(test, operate(test, call, test->right, target->base + 8 * 5 + 4, target->handle, op,
                       operand, value, MCA_BTL_ATOMIC_FLAG_32BIT, &found) == OPAL_SUCCESS);
    memcpy(&before, &found, sizeof(before));
    must(test, halves[0] == 0x5a5a5a5a && halves[1] == result);
    must(test, call == OP || before == start);
    /* No more than 4 bytes were brought back. */
    memcpy(&before, (unsigned char *) &found + sizeof(before), sizeof(before));
    must(test, before == 0);
}

static void each_does_its_work(struct test *test)
{
    if (!has_atomics(test)) {
        return;
    }
    mca_btl_base_registration_handle_t *handle = open_words(test, MCA_BTL_REG_FLAG_ACCESS_ANY);
    meet(test);
    uint64_t *word = &words_of(test, test->right)[5];
    for (enum call call = OP; call <= FOP; call++) {
        for (size_t i = 0; i < sizeof(wide_work) / sizeof(*wide_work); i++) {
            work_wide(test, call, &wide_work[i]);
        }
        for (size_t i = 0; i < sizeof(narrow_work) / sizeof(*narrow_work); i++) {
            const struct work *work = &narrow_work[i];
            narrow(test, (uint32_t) work->start, call, work->op, work->operand, 0,
                   (uint32_t) work->result);
        }
    }
    *word = 11;
    must(test, fetch(test, CSWAP, test->right, 5, 0, 12, 13) == 11 && *word == 11);
    must(test, fetch(test, CSWAP, test->right, 5, 0, 11, 13) == 11 && *word == 13);
    narrow(test, 0x80000001, CSWAP, 0, 0x80000002, 13, 0x80000001);
    narrow(test, 0x80000001, CSWAP, 0, 0xee80000001, 0xee0000000d, 13);
    must(test, words_of(test, test->right)[4] == 0 && words_of(test, test->right)[6] == 0);
    close_words(test, handle);
}

/* Where all ranks meet: rank 0's words, or my own where a module reaches nobody else. */
static int common_rank(struct test *test)
{
    return test->right == test->rank ? test->rank : 0;
}

static uint64_t members(struct test *test)
{
    return test->right == test->rank ? 1 : (uint64_t) test->size;
}

/* All add to one word: no addition is lost, and no two find the same. */
static void sums_are_exact(struct test *test)
{
    if (!has_atomics(test)) {
        return;
    }
    mca_btl_base_registration_handle_t *handle = open_words(test, MCA_BTL_REG_FLAG_ACCESS_ANY);
    meet(test);
    int rank = common_rank(test);
    unsigned long seen[TIMES];
    for (unsigned i = 0; i < TIMES; i++) {
        seen[i] = fetch(test, FOP, rank, 0, MCA_BTL_ATOMIC_ADD, 1, 0);
        must(test, i == 0 || seen[i] > seen[i - 1]);
        /* What two would find alike, the sum of all shows. */
        fetch(test, OP, rank, 1, MCA_BTL_ATOMIC_ADD, seen[i], 0);
    }
    meet(test);
    uint64_t all = TIMES * members(test);
    must(test, words_of(test, rank)[0] == all);
    must(test, words_of(test, rank)[1] == all * (all - 1) / 2);
    close_words(test, handle);
}

/* Each sets and clears bits of its own in words that all share. */
static void bits_stay_apart(struct test *test)
{
    uint32_t needed =
        MCA_BTL_ATOMIC_SUPPORTS_OR | MCA_BTL_ATOMIC_SUPPORTS_AND | MCA_BTL_ATOMIC_SUPPORTS_XOR;
    if (!has_atomics(test) || (test->btl->btl_atomic_flags & needed) != needed) {
        return;
    }
    mca_btl_base_registration_handle_t *handle = open_words(test, MCA_BTL_REG_FLAG_ACCESS_ANY);
    meet(test);
    int rank = common_rank(test);
    uint64_t mine = (uint64_t) 0x8001 << test->rank, others;
    for (unsigned i = 0; i < TIMES / 4; i++) {
        others = fetch(test, FOP, rank, i % 8, MCA_BTL_ATOMIC_OR, mine, 0);
        must(test, (others & mine) == 0);
        others = fetch(test, FOP, rank, i % 8, MCA_BTL_ATOMIC_AND, ~mine, 0);
        must(test, (others & mine) == mine);
        fetch(test, OP, rank, i % 8, MCA_BTL_ATOMIC_XOR, mine, 0);
        others = fetch(test, FOP, rank, i % 8, MCA_BTL_ATOMIC_XOR, mine, 0);
        must(test, (others & mine) == mine);
    }
    meet(test);
    for (unsigned i = 0; i < 8; i++) {
        must(test, words_of(test, rank)[i] == 0);
    }
    close_words(test, handle);
}

/* A lock by compare-and-swap guards a number that is read and written apart. */
static void locks_exclude(struct test *test)
{
    if (!has_atomics(test) || !(test->btl->btl_atomic_flags & MCA_BTL_ATOMIC_SUPPORTS_CSWAP)) {
        return;
    }
    mca_btl_base_registration_handle_t *handle = open_words(test, MCA_BTL_REG_FLAG_ACCESS_ANY);
    meet(test);
    int rank = common_rank(test);
    volatile uint64_t *number = &words_of(test, rank)[9];
    uint64_t me = (uint64_t) test->rank + 1;
    for (unsigned i = 0; i < LOCKED_TIMES; i++) {
        while (fetch(test, CSWAP, rank, 8, 0, 0, me) != 0) {
        }
        uint64_t found = *number;
        pump(test);
        *number = found + 1;
        must(test, fetch(test, CSWAP, rank, 8, 0, me, 0) == me);
    }
    meet(test);
    must(test, words_of(test, rank)[9] == LOCKED_TIMES * members(test));
    close_words(test, handle);
}

/* Many under way at a time, each with its callback. */
static void many_overlap(struct test *test)
{
    enum { MANY = 200 };
    static struct operation operations[MANY];
    if (!has_atomics(test)) {
        return;
    }
    mca_btl_base_registration_handle_t *handle = open_words(test, MCA_BTL_REG_FLAG_ACCESS_ANY);
    struct board *target = board_of(test, test->right);
    meet(test);
    for (unsigned i = 0; i < MANY; i++) {
        operations[i] = (struct operation){.test = test};
        int status;
        while (is_shortage(status = start(&operations[i], FOP, test->right, target->base + 16,
                                          target->handle, MCA_BTL_ATOMIC_ADD, 3, 0, 0))) {
            pump(test);
        }
        must(test, status == 0 || status == 1);
        operations[i].completed += status == 1;
    }
    for (unsigned i = 0; i < MANY; i++) {
        pump_until(test, &operations[i].completed, 1);
        must(test, operations[i].status == OPAL_SUCCESS);
    }
    pump_idle(test);
    must(test, words_of(test, test->right)[2] == 3 * MANY);
    close_words(test, handle);
}

/* in_call: the initiator sees it; else the target tells, in the callback. */
static void refused(struct test *test, uint64_t address, const void *handle, int flags,
                    bool in_call)
{
    for (enum call call = OP; call <= CSWAP; call++) {
        must(test, operate(test, call, test->right, address, handle, MCA_BTL_ATOMIC_ADD, 1, 1,
                           flags, NULL) < 0);
        must(test, refused_in_call == in_call || getenv("KEEL_MCA_fault"));
    }
}

static void others_are_refused(struct test *test)
{
    if (!has_atomics(test)) {
        return;
    }
    struct board *target = board_of(test, test->right);
    unsigned char forged[MCA_BTL_REG_HANDLE_MAX_SIZE];
    mca_btl_base_registration_handle_t *handle =
        open_words(test, MCA_BTL_REG_FLAG_REMOTE_READ | MCA_BTL_REG_FLAG_REMOTE_WRITE);
    meet(test);
    refused(test, target->base, target->handle, 0, false); /* without the right */
    refused(test, target->base, target->handle, MCA_BTL_ATOMIC_FLAG_32BIT, false);
    close_words(test, handle);
    handle = open_words(test, MCA_BTL_REG_FLAG_REMOTE_ATOMIC);
    meet(test);
    refused(test, target->base + 4, target->handle, 0, true); /* not aligned */
    refused(test, target->base + 2, target->handle, MCA_BTL_ATOMIC_FLAG_32BIT, true);
    refused(test, target->base + 8 * WORDS, target->handle, 0, true);
    refused(test, target->base + 8 * WORDS, target->handle, MCA_BTL_ATOMIC_FLAG_32BIT, true);
    refused(test, target->base - 8, target->handle, 0, true);
    refused(test, target->base - 4, target->handle, MCA_BTL_ATOMIC_FLAG_32BIT, true);
    refused(test, target->base, target->handle, 0x2, true); /* floating point in Open MPI */
    static const mca_btl_base_atomic_op_t unknown[] = {0x0099, 0x0100, 0xffffffff};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
        for (enum call call = OP; call <= FOP; call++) {
            must(test, operate(test, call, test->right, target->base, target->handle, unknown[i], 0,
                               9, 0, NULL) < 0);
        }
    }
    memcpy(forged, target->handle, sizeof(forged));
    forged[4] ^= 0x10;
    refused(test, target->base, forged, 0, false);
    must(test, fetch(test, FOP, test->right, 0, MCA_BTL_ATOMIC_ADD, 5, 0) == 0);
    meet(test);
    memcpy(forged, target->handle, sizeof(forged));
    must(test, test->btl->btl_deregister_mem(test->btl, handle) == OPAL_SUCCESS);
    meet(test);
    refused(test, target->base, forged, 0, false); /* stale */
    must(test, words_of(test, test->right)[0] == 5);
    meet(test);
}

const struct test_case atomics_cases[] = {
    {.name = "atomics' flags", .run = flags_tell_the_truth, .min_size = 1},
    {.name = "each atomic", .run = each_does_its_work, .min_size = 1},
    {.name = "sums", .run = sums_are_exact, .min_size = 1},
    {.name = "bits", .run = bits_stay_apart, .min_size = 1},
    {.name = "locks", .run = locks_exclude, .min_size = 1},
    {.name = "atomics overlap", .run = many_overlap, .min_size = 1},
    {.name = "atomics refused", .run = others_are_refused, .min_size = 1, .asks_too_much = true},
    {.name = NULL},
};
