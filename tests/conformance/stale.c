/* stale MODULE PROCESSES ROUNDS: locks, puts and gets, and no byte is ever stale.
 *
 * A lock and the number of a version are words of one rank; what they guard moves from rank to rank
 * with each version. A round takes the lock by compare-and-swap, counts the version up, gets its
 * bytes and finds them as the round before left them, puts the next version at the next rank, waits
 * for the put alone, and unlocks by one of several atomics, which it does not wait for. What a put
 * completed must be there for whoever finds the lock free, over whichever way the bytes go. Two
 * ranks and more want each lock all the time. */
#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/interface/base.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/minihost.h>

enum { MAX_RANKS = 4, LOCKS = MAX_RANKS / 2, BLOCK_BYTES = 20000, BLOCK_WORDS = BLOCK_BYTES / 8 };

/* What others may use of a rank. */
struct memory {
    struct guard {
        uint64_t lock, version;
    } guards[LOCKS];
    uint64_t blocks[LOCKS][BLOCK_WORDS];
};

struct place {
    uint64_t address;
    unsigned char handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
};

struct job {
    const char *module;
    unsigned long rounds;
};

static struct {
    struct minihost *host;
    mca_btl_base_module_t *btl;
    struct mca_btl_base_endpoint_t *endpoints[MAX_RANKS]; /* NULL: not reached, as myself */
    struct memory memory;
    uint64_t local[BLOCK_WORDS];
    unsigned under_way;
} me;

#define must(condition) minihost_must(me.host, condition)

static struct place *place_of(int rank)
{
    return (struct place *) (void *) (me.host->shared + (size_t) rank * MINIHOST_SHARED_PER_RANK);
}

static int progress(void)
{
    int events = btl_progress() + minihost_progress(me.host);
    if (events == 0) {
        minihost_check(me.host);
        sched_yield();
    }
    return events;
}

/* ---- accesses ---- */

static void completed(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      void *local_address, mca_btl_base_registration_handle_t *local_handle,
                      void *context, void *cbdata, int status)
{
    (void) btl, (void) endpoint, (void) local_address, (void) local_handle;
    (void) context, (void) cbdata;
    must(status == OPAL_SUCCESS);
    me.under_way--;
}

/* Whether to try once more. */
static bool is_short(int status)
{
    if (btl_is_shortage(status)) {
        progress();
        return true;
    }
    must(status == 0 || status == 1);
    return false;
}

static void wait_for(int status)
{
    me.under_way -= status == 1;
    while (me.under_way > 0) {
        progress();
    }
}

static mca_btl_base_registration_handle_t *handle_of(int rank)
{
    return (mca_btl_base_registration_handle_t *) (void *) place_of(rank)->handle;
}

static uint64_t address_of(int rank, size_t offset)
{
    return place_of(rank)->address + offset;
}

/* By the processor, on my own words. */
static uint64_t apply_here(size_t offset, mca_btl_base_atomic_op_t op, uint64_t operand,
                           uint64_t value)
{
    uint64_t *word = (uint64_t *) (void *) ((unsigned char *) &me.memory + offset);
    uint64_t before = operand;
    must(keel_btl_ext(me.btl)->atomic_flags & MCA_BTL_ATOMIC_SUPPORTS_GLOB);
    progress();
    if (op == MCA_BTL_ATOMIC_ADD) {
        return __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
    }
    __atomic_compare_exchange_n(word, &before, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return before;
}

static uint64_t compare_and_swap(int rank, size_t offset, uint64_t compare, uint64_t value)
{
    uint64_t before;
    int status;
    if (!me.endpoints[rank]) {
        return apply_here(offset, 0, compare, value);
    }
    me.under_way++;
    while (is_short(status = me.btl->btl_atomic_cswap(me.btl, me.endpoints[rank], &before,
                                                      address_of(rank, offset), NULL,
                                                      handle_of(rank), compare, value, 0,
                                                      MCA_BTL_NO_ORDER, completed, NULL, NULL))) {
    }
    wait_for(status);
    return before;
}

static uint64_t fetch_and_add(int rank, size_t offset, uint64_t operand)
{
    uint64_t before;
    int status;
    if (!me.endpoints[rank]) {
        return apply_here(offset, MCA_BTL_ATOMIC_ADD, operand, 0);
    }
    me.under_way++;
    while (is_short(status = me.btl->btl_atomic_fop(me.btl, me.endpoints[rank], &before,
                                                    address_of(rank, offset), NULL, handle_of(rank),
                                                    MCA_BTL_ATOMIC_ADD, operand, 0,
                                                    MCA_BTL_NO_ORDER, completed, NULL, NULL))) {
    }
    wait_for(status);
    return before;
}

static void transfer(bool put, int rank, size_t index, size_t size)
{
    size_t offset = offsetof(struct memory, blocks) + index * BLOCK_BYTES;
    int status;
    if (!me.endpoints[rank]) {
        uint64_t *block = me.memory.blocks[index];
        memcpy(put ? block : me.local, put ? me.local : block, size);
        return;
    }
    me.under_way++;
    while (is_short(status = (put ? me.btl->btl_put : me.btl->btl_get)(
                        me.btl, me.endpoints[rank], me.local, address_of(rank, offset), NULL,
                        handle_of(rank), size, 0, MCA_BTL_NO_ORDER, completed, NULL, NULL))) {
    }
    wait_for(status);
}

/* ---- a round ---- */

static uint64_t word_of(uint64_t version, size_t index)
{
    return version * 0x9e3779b97f4a7c15 + index;
}

/* In line, in several slots, in fragments, by one copy. */
static size_t bytes_of(uint64_t version)
{
    static const size_t sizes[] = {8, 48, 8, 400, 1000, 8, 4096, 5000, 24, BLOCK_BYTES, 160};
    return sizes[version % (sizeof(sizes) / sizeof(*sizes))];
}

static void expect(uint64_t version)
{
    for (size_t i = 0; i < bytes_of(version) / 8; i++) {
        if (me.local[i] != word_of(version, i)) {
            unsigned age = 1;
            while (age < 100 && me.local[i] != word_of(version - age, i)) {
                age++;
            }
            minihost_fail(me.host, "rank %d: word %zu of %zu bytes of version %llu is %s, %u back",
                          me.host->rank, i, bytes_of(version), (unsigned long long) version,
                          age < 100 ? "stale" : "wrong", age);
        }
    }
}

/* Nobody waits for it: whoever finds the lock free finds the put, too. */
static void unlock(int rank, size_t offset, uint64_t mine, unsigned long round)
{
    static const mca_btl_base_atomic_op_t ops[] = {MCA_BTL_ATOMIC_SWAP, MCA_BTL_ATOMIC_ADD,
                                                   MCA_BTL_ATOMIC_XOR, MCA_BTL_ATOMIC_MIN,
                                                   MCA_BTL_ATOMIC_AND};
    const uint64_t operands[] = {0, -mine, mine, 0, 0};
    size_t which = round % (sizeof(ops) / sizeof(*ops));
    int flags = round % 2 ? MCA_BTL_ATOMIC_FLAG_32BIT : 0;
    if (!me.endpoints[rank]) {
        must(apply_here(offset, 0, mine, 0) == mine);
        return;
    }
    while (is_short(me.btl->btl_atomic_op(me.btl, me.endpoints[rank], address_of(rank, offset),
                                          handle_of(rank), ops[which], operands[which], flags,
                                          MCA_BTL_NO_ORDER, NULL, NULL, NULL))) {
    }
}

static void run_round(unsigned long round)
{
    unsigned size = (unsigned) me.host->size, locks = size > 1 ? size / 2 : 1;
    size_t index = (round * 7 + round / 5 + (unsigned) me.host->rank) % locks;
    int home = (int) ((index * 3 + 1) % size);
    size_t guard = offsetof(struct memory, guards) + index * sizeof(struct guard);
    size_t lock = guard + offsetof(struct guard, lock);
    uint64_t mine = (uint64_t) me.host->rank + 1;
    while (compare_and_swap(home, lock, 0, mine) != 0) {
        progress();
    }
    uint64_t version = fetch_and_add(home, guard + offsetof(struct guard, version), 1);
    memset(me.local, 0xee, bytes_of(version));
    transfer(false, (int) (version % size), index, bytes_of(version));
    expect(version);
    version++;
    for (size_t i = 0; i < bytes_of(version) / 8; i++) {
        me.local[i] = word_of(version, i);
    }
    transfer(true, (int) (version % size), index, bytes_of(version));
    unlock(home, lock, mine, round);
}

static void add_all(void)
{
    opal_proc_t *procs[MAX_RANKS];
    for (int i = 0; i < me.host->size; i++) {
        procs[i] = &me.host->procs[i];
    }
    must(me.btl->btl_add_procs(me.btl, (size_t) me.host->size, procs, me.endpoints, NULL) ==
         OPAL_SUCCESS);
}

static mca_btl_base_registration_handle_t *show_memory(void)
{
    for (size_t i = 0; i < LOCKS * BLOCK_WORDS; i++) {
        me.memory.blocks[i / BLOCK_WORDS][i % BLOCK_WORDS] = word_of(0, i % BLOCK_WORDS);
    }
    mca_btl_base_registration_handle_t *handle = me.btl->btl_register_mem(
        me.btl, MCA_BTL_ENDPOINT_ANY, &me.memory, sizeof(me.memory), MCA_BTL_REG_FLAG_ACCESS_ANY);
    must(handle);
    memcpy(place_of(me.host->rank)->handle, handle, me.btl->btl_registration_handle_size);
    place_of(me.host->rank)->address = (uint64_t) (uintptr_t) &me.memory;
    return handle;
}

static int run(struct minihost *host, void *arg)
{
    const struct job *job = arg;
    char reason[512] = "";
    size_t count;
    me.host = host;
    must(param_override("btl", job->module) == ORTE_SUCCESS);
    if (btl_open(&minihost_ops, host, reason, sizeof(reason)) != ORTE_SUCCESS) {
        minihost_fail(host, "%s", reason);
    }
    me.btl = btl_modules(&count)[0];
    minihost_barrier(host, NULL);
    add_all();
    mca_btl_base_registration_handle_t *handle = show_memory();
    minihost_barrier(host, progress);
    for (unsigned long round = 0; round < job->rounds / (unsigned) host->size; round++) {
        run_round(round);
    }
    must(keel_btl_ext(me.btl)->flush(me.btl, NULL) == OPAL_SUCCESS);
    minihost_barrier(host, progress);
    must(me.btl->btl_deregister_mem(me.btl, handle) == OPAL_SUCCESS);
    btl_close();
    return 0;
}

int main(int argc, char **argv)
{
    int size = argc == 4 ? atoi(argv[2]) : 0;
    struct job job = {.module = argv[1], .rounds = argc == 4 ? strtoul(argv[3], NULL, 10) : 0};
    if (size < 1 || size > MAX_RANKS || job.rounds == 0) {
        fprintf(stderr, "usage: stale MODULE PROCESSES ROUNDS (at most %d processes)\n", MAX_RANKS);
        return 2;
    }
    struct minihost_options options = {.size = size,
                                       .timeout_ms = 40000 + (unsigned) (job.rounds * 4 / 5)};
    char text[512] = "";
    bool ok = minihost_run(&options, run, &job, text, sizeof(text));
    printf("%sok 1 - %s x%d: %lu rounds%s%s\n1..1\n", ok ? "" : "not ", job.module, size,
           job.rounds, ok ? "" : " # ", text);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
