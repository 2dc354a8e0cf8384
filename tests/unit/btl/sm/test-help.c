/* Puts and gets of the sm module that the target's process is asked for, and that the initiator
 * copies itself when it does not come to them. */
#include <config.h>

#include <tests/unit/btl/sm/rank.h>

#include <base/data/clock.h>
#include <base/settings/param.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <time.h>
#include <unistd.h>

enum { REGION = 200000 };

struct memory {
    unsigned char *region, *local;
    mca_btl_base_registration_handle_t *handle;
};

static unsigned char *shared_of(const struct minihost *host, int rank)
{
    return host->shared + MINIHOST_SHARED_PER_RANK * (size_t) rank;
}

static void memory_open(struct memory *memory, struct sm_rank *rank)
{
    memory->region = calloc(1, REGION);
    memory->local = malloc(REGION);
    must(memory->region && memory->local);
    memory->handle = rank->btl->btl_register_mem(rank->btl, MCA_BTL_ENDPOINT_ANY, memory->region,
                                                 REGION, MCA_BTL_REG_FLAG_ACCESS_ANY);
    must(memory->handle);
    unsigned char *shared = shared_of(rank->host, rank->host->rank);
    uint64_t address = (uint64_t) (uintptr_t) memory->region;
    memcpy(shared, memory->handle, rank->btl->btl_registration_handle_size);
    memcpy(shared + 256, &address, sizeof(address));
    sm_rank_wait_all();
}

/* All ranks together. */
static void memory_close(struct memory *memory, struct sm_rank *rank)
{
    sm_rank_wait_all();
    must(rank->btl->btl_deregister_mem(rank->btl, memory->handle) == OPAL_SUCCESS);
    btl_close();
    free(memory->region);
    free(memory->local);
}

static void on_end(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                   void *local, mca_btl_base_registration_handle_t *handle, void *context,
                   void *data, int status)
{
    (void) btl, (void) endpoint, (void) local, (void) handle, (void) context;
    must(status == OPAL_SUCCESS);
    --*(int *) data;
}

/* Begins to put or get all of the other rank's region; *open counts it until it ends. */
static void start_for(struct sm_rank *rank, struct memory *memory, bool put,
                      mca_btl_base_rdma_completion_fn_t ended, int *open)
{
    int other = 1 - rank->host->rank;
    unsigned char *shared = shared_of(rank->host, other);
    uint64_t address;
    memcpy(&address, shared + 256, sizeof(address));
    ++*open;
    int status = (put ? rank->btl->btl_put : rank->btl->btl_get)(
        rank->btl, rank->endpoints[other], memory->local, address, NULL,
        (mca_btl_base_registration_handle_t *) (void *) shared, REGION, 0, MCA_BTL_NO_ORDER, ended,
        NULL, open);
    must(status == OPAL_SUCCESS);
}

static void start(struct sm_rank *rank, struct memory *memory, bool put, int *open)
{
    start_for(rank, memory, put, on_end, open);
}

static void finish(const int *open)
{
    while (*open > 0) {
        sm_rank_progress();
    }
}

static void run(struct sm_rank *rank, struct memory *memory, bool put, int value)
{
    int open = 0;
    memset(memory->local, value, REGION);
    start(rank, memory, put, &open);
    finish(&open);
}

static bool is_filled(const unsigned char *bytes, int value)
{
    return bytes[0] == value && memcmp(bytes, bytes + 1, REGION - 1) == 0;
}

static void two_ranks(int (*fn)(struct minihost *host, void *arg), unsigned timeout_ms)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = timeout_ms};
    sm_ranks_run(&options, fn, NULL);
}

/* Whether rank 1 has requests in its ring that it need not carry out. */
static bool has_left(struct sm_rank *rank)
{
    struct mca_btl_base_endpoint_t *endpoint = rank->endpoints[1];
    must(sm_tx_ring_refresh(&endpoint->tx.ring) == ORTE_SUCCESS);
    return endpoint->tx.ring.consumed < endpoint->help.tail;
}

/* Rank 1 does not poll between the barriers; what was done without it must not come late. */
static int absent_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    struct memory memory;
    sm_rank_start(&rank, host);
    memory_open(&memory, &rank);
    minihost_barrier(host, NULL);
    if (host->rank == 0) {
        int open = 0;
        memset(memory.local, 1, REGION);
        start(&rank, &memory, true, &open);
        start(&rank, &memory, false, &open);
        finish(&open);
        must(has_left(&rank));
        run(&rank, &memory, true, 2);
        memset(memory.local, 0, REGION);
        run(&rank, &memory, false, 0);
        must(is_filled(memory.local, 2));
    }
    minihost_barrier(host, NULL);
    must(host->rank == 0 || is_filled(memory.region, 2));
    memset(memory.region, 3, REGION);
    while (host->rank == 0 && has_left(&rank)) {
        sm_rank_progress();
    }
    sm_rank_wait_all();
    must(is_filled(memory.region, 3));
    minihost_barrier(host, NULL);
    if (host->rank == 0) { /* it is there again, and is asked again */
        struct mca_btl_base_endpoint_t *endpoint = rank.endpoints[1];
        uint32_t heard = endpoint->am.heard;
        do {
            run(&rank, &memory, true, 4);
        } while (endpoint->am.heard == heard);
    }
    sm_rank_wait_all();
    must(host->rank == 0 || is_filled(memory.region, 4));
    memory_close(&memory, &rank);
    return 0;
}

UNIT_CASE(an_absent_target_holds_up_nothing, two_ranks(absent_run, 9000))

static void on_failure(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       void *local, mca_btl_base_registration_handle_t *handle, void *context,
                       void *data, int status)
{
    (void) btl, (void) endpoint, (void) local, (void) handle, (void) context;
    must(status == ORTE_ERR_UNREACH);
    --*(int *) data;
}

/* Rank 1 has claimed the first chunk of a put of rank 0's, and does not come to carry it out. */
static void begin_midst(struct sm_rank *rank, struct memory *memory, struct minihost *host,
                        mca_btl_base_rdma_completion_fn_t ended, int *open)
{
    must(param_override("btl_sm_patience", "1000") == ORTE_SUCCESS);
    sm_rank_start(rank, host);
    memory_open(memory, rank);
    if (host->rank == 0) {
        sm_rank_send(rank, 1, 0, 30); /* opens the ring */
    }
    while (host->rank == 1 && rank->received[0] == 0) {
        sm_rank_progress();
    }
    if (host->rank == 1) {
        must(sm_claims(rank->btl, rank->endpoints[0], 1));
        must(!sm_claims(rank->btl, rank->endpoints[0], 1));
    }
    minihost_barrier(host, NULL);
    if (host->rank == 0) {
        memset(memory->local, 2, REGION);
        start_for(rank, memory, true, ended, open);
        while (rank->endpoints[1]->help.absent_us == 0) {
            sm_rank_progress();
        }
    }
    minihost_barrier(host, NULL);
}

/* That chunk, and it alone, is waited for. */
static int midst_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    struct memory memory;
    int open = 0;
    begin_midst(&rank, &memory, host, on_end, &open);
    if (host->rank == 0) {
        must(open == 1);
        run(&rank, &memory, true, 3);
        memset(memory.local, 0, REGION);
        run(&rank, &memory, false, 0);
        must(open == 1 && is_filled(memory.local, 3));
        const struct rdma_am_frame reply = {.kind = RDMA_AM_PUT_REPLY,
                                            .op_generation = 1,
                                            .size = rank.btl->btl_max_send_size -
                                                    RDMA_AM_REQUEST_BYTES};
        unsigned char bytes[RDMA_AM_REPLY_BYTES];
        mca_btl_base_segment_t segment = {.seg_addr.pval = bytes, .seg_len = sizeof(bytes)};
        rdma_am_encode(bytes, &reply);
        must(rdma_am_receive(sm_of(rank.btl)->am, &rank.endpoints[1]->am, &segment, 1) ==
             OPAL_SUCCESS);
        must(open == 0);
    }
    minihost_barrier(host, NULL);
    memory_close(&memory, &rank);
    return 0;
}

UNIT_CASE(a_put_that_has_begun_holds_up_no_other, two_ranks(midst_run, 9000))

static int death_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    struct memory memory;
    int open = 0;
    begin_midst(&rank, &memory, host, on_failure, &open);
    if (host->rank == 1) {
        _exit(0); /* nothing is closed, or freed */
    }
    must(open == 1);
    uint64_t until = clock_us() + 5000000;
    while (open > 0) {
        must(clock_us() < until);
        sm_rank_progress();
    }
    btl_close();
    free(memory.region);
    free(memory.local);
    return 0;
}

UNIT_CASE(a_target_that_dies_in_a_put_fails_it, two_ranks(death_run, 9000))

/* Rank 1 carries out the first part of a put, makes something else of it and polls no more; rank 0
 * has not heard of it when it loses patience. */
static int again_run(struct minihost *host, void *arg)
{
    (void) arg;
    struct sm_rank rank;
    struct memory memory;
    must(param_override("btl_sm_patience", "1000") == ORTE_SUCCESS);
    sm_rank_start(&rank, host);
    memory_open(&memory, &rank);
    int open = 0;
    if (host->rank == 0) {
        memset(memory.local, 2, REGION);
        start(&rank, &memory, true, &open);
    }
    while (host->rank == 1 && memory.region[0] == 0) {
        sm_rank_progress();
    }
    memory.region[0] = 9;
    minihost_barrier(host, NULL);
    if (host->rank == 0) {
        uint64_t until = clock_us() + 20000;
        while (clock_us() < until || rank.endpoints[1]->help.absent_us == 0) {
            sm_help_check(sm_of(rank.btl), clock_us());
        }
        must(open == 1);
    }
    finish(&open);
    minihost_barrier(host, NULL);
    must(memory.region[0] == 9);
    must(host->rank == 0 || memcmp(memory.region + 1, memory.region + 2, REGION - 2) == 0);
    must(host->rank == 0 || memory.region[1] == 2);
    memory_close(&memory, &rank);
    return 0;
}

UNIT_CASE(nothing_is_carried_out_twice, two_ranks(again_run, 9000))

/* Both put and get, and look away now and then, for about as long as the other's patience. */
static int busy_run(struct minihost *host, void *arg)
{
    (void) arg;
    enum { ROUNDS = 400 };
    struct sm_rank rank;
    struct memory memory;
    unsigned draws = (unsigned) host->rank + 1;
    must(param_override("btl_sm_patience", "20") == ORTE_SUCCESS);
    sm_rank_start(&rank, host);
    memory_open(&memory, &rank);
    for (int i = 0; i < ROUNDS; i++) {
        run(&rank, &memory, true, 1 + i % 250);
        run(&rank, &memory, false, 0);
        must(is_filled(memory.local, 1 + i % 250));
        draws = draws * 1103515245u + 12345u;
        const struct timespec away = {.tv_nsec = (long) (draws >> 16) % 4 * 40000};
        if (away.tv_nsec > 0) {
            nanosleep(&away, NULL);
        }
    }
    sm_rank_wait_all();
    must(is_filled(memory.region, 1 + (ROUNDS - 1) % 250));
    memory_close(&memory, &rank);
    return 0;
}

UNIT_CASE(nothing_is_carried_out_late, two_ranks(busy_run, 18000))

static void on_cut(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                   void *local, mca_btl_base_registration_handle_t *handle, void *context,
                   void *data, int status)
{
    (void) btl, (void) endpoint, (void) local, (void) handle, (void) context;
    must(status < 0);
    --*(int *) data;
}

/* The caller has its memory back, and rank 1 comes only then to what it was asked for. */
static int cut_run(struct minihost *host, void *arg)
{
    const bool put = *(const bool *) arg;
    struct sm_rank rank;
    struct memory memory;
    int open = 0;
    sm_rank_start(&rank, host);
    memory_open(&memory, &rank);
    if (host->rank == 0) {
        struct sm_pace *pace = calloc(1, sizeof(*pace));
        must(pace);
        for (int i = 0; i < SM_PACE_CLASSES; i++) {
            pace->courses[false][i].way = SM_COPY;
        }
        rank.endpoints[1]->pace = pace;
        memset(memory.local, 1, REGION);
        start_for(&rank, &memory, put, on_cut, &open);
        must(rank.endpoints[1]->am.asked > 0);
        sm_rank_drop(&rank, 1);
        must(open == 0);
        memset(memory.local, 2, REGION);
    }
    minihost_barrier(host, NULL);
    const struct sm_rx *rx = host->rank == 1 ? &rank.endpoints[0]->rx : NULL;
    while (rx && (rx->ring.head == 0 || rx->open)) {
        sm_rank_progress();
    }
    minihost_barrier(host, NULL);
    must(host->rank == 0 ? is_filled(memory.local, 2) : is_filled(memory.region, 0));
    memory_close(&memory, &rank);
    return 0;
}

START_TEST(nothing_is_carried_out_after_its_end)
{
    const struct minihost_options options = {.size = 2, .timeout_ms = 9000};
    bool puts[] = {false, true};
    for (size_t i = 0; i < 2; i++) {
        sm_ranks_run(&options, cut_run, &puts[i]);
    }
}
END_TEST

UNIT_MAIN("sm-help")
