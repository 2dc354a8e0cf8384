/* The tcp module between forked processes, and from a process to itself. */
#include <base/data/clock.h>
#include <base/settings/fault.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/tcp/host.h>
#include <unistd.h>

enum { TAG = 9, DATA_BYTES = 3 << 20, SIZES = 6 };

static struct tcp_host host;
static unsigned received, ended, failed;
static size_t bytes_received;

/* What processes tell each other beside the rail. */
static struct board {
    volatile unsigned at[2]; /* how far each is */
    struct region_handle handles[2];
    uint8_t *memory[2];
} * board;

static void start(void)
{
    tcp_host_init(&host);
    board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(board, MAP_FAILED);
}

/* Says that this process has come to a stage, and waits for the other, polling. */
static void meet(unsigned stage)
{
    board->at[host.rank] = stage;
    tcp_host_until((const unsigned *) &board->at[!host.rank], stage);
}

static const size_t sizes[SIZES] = {0, 1, 13, 4000, 17000, 131072};

/* Message number n of a sender: sizes in turn, every byte (n + offset). */
static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    const mca_btl_base_segment_t *segment = descriptor->des_segments;
    const uint8_t *bytes = segment->seg_addr.pval;

    (void) btl, (void) tag, (void) cbdata;
    ck_assert_uint_eq(segment->seg_len, sizes[received % SIZES]);
    for (size_t i = 0; i < segment->seg_len; i++) {
        if (bytes[i] != (uint8_t) (received + i)) {
            ck_abort_msg("message %u, byte %zu", received, i);
        }
    }
    received++;
    bytes_received += segment->seg_len;
}

static void send_numbered(struct mca_btl_base_endpoint_t *ep, unsigned number)
{
    mca_btl_base_descriptor_t *descriptor;
    size_t size = sizes[number % SIZES];
    uint64_t end = clock_us() + 5000000;

    while (!(descriptor = host.btl->btl_alloc(host.btl, ep, MCA_BTL_NO_ORDER, size,
                                              MCA_BTL_DES_FLAGS_BTL_OWNERSHIP))) {
        ck_assert_uint_lt(clock_us(), end);
        btl_progress();
    }
    uint8_t *bytes = descriptor->des_segments[0].seg_addr.pval;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t) (number + i);
    }
    int status;
    while ((status = host.btl->btl_send(host.btl, ep, descriptor, TAG)) < 0) {
        ck_assert_int_eq(status, OPAL_ERR_OUT_OF_RESOURCE);
        ck_assert_uint_lt(clock_us(), end);
        btl_progress();
    }
}

static void rdma_ended(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *ep, void *local,
                       mca_btl_base_registration_handle_t *handle, void *context, void *cbdata,
                       int status)
{
    (void) btl, (void) ep, (void) local, (void) handle, (void) context, (void) cbdata;
    ended++;
    failed += status != OPAL_SUCCESS;
}

static uint8_t *pattern_new(uint8_t seed)
{
    uint8_t *data = malloc(DATA_BYTES);

    for (size_t i = 0; i < DATA_BYTES; i++) {
        data[i] = (uint8_t) (seed + i * 7 + (i >> 11));
    }
    return data;
}

static void expose(uint8_t *memory)
{
    mca_btl_base_registration_handle_t *handle =
        host.btl->btl_register_mem(host.btl, MCA_BTL_ENDPOINT_ANY, memory, DATA_BYTES,
                                   MCA_BTL_REG_FLAG_REMOTE_WRITE | MCA_BTL_REG_FLAG_REMOTE_READ);

    memcpy(&board->handles[host.rank], handle, sizeof(struct region_handle));
    board->memory[host.rank] = memory;
}

/* Runs fn as ranks 0 (here) and 1 (forked). */
static void run_two(void (*fn)(struct mca_btl_base_endpoint_t *ep), const char *faults)
{
    start();
    pid_t child = fork();
    tcp_host_open(&host, child == 0);
    host.btl->btl_register(host.btl, TAG, take, NULL);
    tcp_host_await(&host, child != 0);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, child != 0);
    ck_assert_ptr_nonnull(ep);
    ck_assert_int_eq(fault_set(faults), ORTE_SUCCESS);
    fn(ep);
    ck_assert_int_eq(fault_set(NULL), ORTE_SUCCESS);
    tcp_host_del(&host, child != 0, ep);
    ck_assert_uint_eq(host.reports, 0);
    tcp_host_close(&host);
    if (child == 0) {
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

static void exchange(struct mca_btl_base_endpoint_t *ep, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        send_numbered(ep, i);
    }
    tcp_host_until(&received, count);
    meet(2);
    tcp_host_polls(5);
    ck_assert_uint_eq(received, count);
}

static void exchange_some(struct mca_btl_base_endpoint_t *ep)
{
    exchange(ep, 60);
}

static void exchange_few(struct mca_btl_base_endpoint_t *ep)
{
    meet(1);
    exchange(ep, SIZES);
}

static void rdma_both_ways(struct mca_btl_base_endpoint_t *ep)
{
    uint8_t *mine = pattern_new((uint8_t) host.rank), *theirs = pattern_new(!host.rank);
    uint8_t *room = calloc(2, DATA_BYTES), *got = room + DATA_BYTES;
    int peer = !host.rank;

    /* The peer puts its pattern into my room; then I get it back out of the peer's room. */
    expose(room);
    meet(1);
    mca_btl_base_registration_handle_t *handle =
        (mca_btl_base_registration_handle_t *) &board->handles[peer];
    ck_assert_int_eq(host.btl->btl_put(host.btl, ep, mine, (uintptr_t) board->memory[peer], NULL,
                                       handle, DATA_BYTES, 0, MCA_BTL_NO_ORDER, rdma_ended, NULL,
                                       NULL),
                     OPAL_SUCCESS);
    for (unsigned i = 0; i < 2 * SIZES; i++) {
        send_numbered(ep, i);
    }
    tcp_host_until(&ended, 1);
    meet(2);
    ck_assert(memcmp(room, theirs, DATA_BYTES) == 0);
    ck_assert_int_eq(host.btl->btl_get(host.btl, ep, got, (uintptr_t) board->memory[peer], NULL,
                                       handle, DATA_BYTES, 0, MCA_BTL_NO_ORDER, rdma_ended, NULL,
                                       NULL),
                     OPAL_SUCCESS);
    tcp_host_until(&ended, 2);
    tcp_host_until(&received, 2 * SIZES);
    ck_assert_uint_eq(failed, 0);
    ck_assert(memcmp(got, mine, DATA_BYTES) == 0);
    meet(3);
    free(mine), free(theirs), free(room);
}

UNIT_CASE(messages_arrive, run_two(exchange_some, NULL))
UNIT_CASE(puts_and_gets_arrive, run_two(rdma_both_ways, NULL))

START_TEST(short_writes_lose_nothing)
{
    run_two(exchange_some, "btl.tcp.send:short=4099:p=0.5:seed=3;"
                           "btl.tcp.recv:short=1033:p=0.5:seed=4");
}
END_TEST

START_TEST(single_bytes_lose_nothing)
{
    run_two(exchange_few, "btl.tcp.send:short=1:p=0.2:seed=5; btl.tcp.recv:short=1:p=0.2:seed=6");
}
END_TEST

START_TEST(short_writes_lose_no_put_or_get)
{
    run_two(rdma_both_ways, "btl.tcp.send:short=65537:p=0.5:seed=3;"
                            "btl.tcp.recv:short=32771:p=0.5:seed=4");
}
END_TEST

START_TEST(a_busy_kernel_loses_nothing)
{
    run_two(exchange_some, "btl.tcp.send:error=EAGAIN:p=0.5:seed=3;"
                           "btl.tcp.recv:error=EINTR:p=0.3:seed=4");
}
END_TEST

/* Both send first at the same moment. */
START_TEST(crossing_connects_lose_nothing)
{
    for (unsigned i = 0; i < 15; i++) {
        received = ended = failed = 0;
        run_two(exchange_few, NULL);
    }
}
END_TEST

/* ---- one process ---- */

START_TEST(a_process_reaches_itself)
{
    uint8_t *mine = pattern_new(1), *room = calloc(2, DATA_BYTES), *got = room + DATA_BYTES;

    start();
    tcp_host_open(&host, 0);
    host.btl->btl_register(host.btl, TAG, take, NULL);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 0);
    ck_assert_ptr_nonnull(ep);
    for (unsigned i = 0; i < 30; i++) {
        send_numbered(ep, i);
    }
    tcp_host_until(&received, 30);
    /* Only to this endpoint, which is both ends. */
    mca_btl_base_registration_handle_t *handle =
        host.btl->btl_register_mem(host.btl, ep, room, DATA_BYTES,
                                   MCA_BTL_REG_FLAG_REMOTE_WRITE | MCA_BTL_REG_FLAG_REMOTE_READ);
    ck_assert_int_eq(host.btl->btl_put(host.btl, ep, mine, (uintptr_t) room, NULL, handle,
                                       DATA_BYTES, 0, MCA_BTL_NO_ORDER, rdma_ended, NULL, NULL),
                     OPAL_SUCCESS);
    tcp_host_until(&ended, 1);
    ck_assert_int_eq(host.btl->btl_get(host.btl, ep, got, (uintptr_t) room, NULL, handle,
                                       DATA_BYTES, 0, MCA_BTL_NO_ORDER, rdma_ended, NULL, NULL),
                     OPAL_SUCCESS);
    tcp_host_until(&ended, 2);
    ck_assert_uint_eq(failed, 0);
    ck_assert(memcmp(got, mine, DATA_BYTES) == 0);
    tcp_host_del(&host, 0, ep);
    ck_assert_uint_eq(host.reports, 0);
    tcp_host_close(&host);
    free(mine), free(room);
}
END_TEST

/* ---- sudden ends ---- */

static unsigned completions, errors;

static void completed_fn(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *ep,
                         mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) ep;
    completions++;
    errors += status != OPAL_SUCCESS;
    btl->btl_free(btl, descriptor);
}

/* One message with a callback; false: refused. */
static bool send_counted(struct mca_btl_base_endpoint_t *ep, int *status)
{
    mca_btl_base_descriptor_t *descriptor = host.btl->btl_alloc(
        host.btl, ep, MCA_BTL_NO_ORDER, 100000, MCA_BTL_DES_SEND_ALWAYS_CALLBACK);

    if (!descriptor) {
        *status = OPAL_ERR_OUT_OF_RESOURCE;
        return false;
    }
    memset(descriptor->des_segments[0].seg_addr.pval, 1, 100000);
    descriptor->des_cbfunc = completed_fn;
    *status = host.btl->btl_send(host.btl, ep, descriptor, TAG);
    if (*status < 0) {
        host.btl->btl_free(host.btl, descriptor);
    }
    return *status >= 0;
}

static void ignore(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                   mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor, (void) cbdata;
}

/* Sends as fast as it goes until it is told that the peer cannot be reached. A victim is stopped,
 * and killed when the queue to it is full. */
static void stream_until_broken(struct mca_btl_base_endpoint_t *ep, pid_t victim)
{
    unsigned accepted = 0, shortages = 0;
    int status = 0;
    uint64_t end = clock_us() + 8000000;

    while (status != OPAL_ERR_UNREACH) {
        ck_assert_uint_lt(clock_us(), end);
        accepted += send_counted(ep, &status);
        if (victim && accepted == 100) {
            kill(victim, SIGSTOP);
        }
        if (victim && accepted > 100 && status == OPAL_ERR_OUT_OF_RESOURCE && ++shortages == 100) {
            kill(victim, SIGKILL);
        }
        btl_progress();
    }
    tcp_host_polls(20);
    ck_assert_uint_eq(completions, accepted);
    ck_assert_uint_gt(errors, 0);
    ck_assert_uint_eq(host.reports, 1);
}

START_TEST(a_killed_peer_fails_all_once)
{
    static uint8_t memory[8 << 20];
    struct region_handle handle = {.generation = 1, .size = UINT64_MAX};

    start();
    pid_t child = fork();
    tcp_host_open(&host, child == 0);
    host.btl->btl_register(host.btl, TAG, ignore, NULL);
    if (child == 0) {
        tcp_host_polls(20000);
        _exit(0);
    }
    tcp_host_await(&host, 1);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 1);
    ck_assert_int_eq(host.btl->btl_put(host.btl, ep, memory, 4096, NULL,
                                       (mca_btl_base_registration_handle_t *) &handle,
                                       sizeof(memory), 0, MCA_BTL_NO_ORDER, rdma_ended, NULL, NULL),
                     OPAL_SUCCESS);
    stream_until_broken(ep, child);
    ck_assert_uint_eq(ended, 1);
    ck_assert_uint_eq(failed, 1);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    tcp_host_del(&host, 1, ep);
    tcp_host_close(&host);
}
END_TEST

/* An error that send itself meets comes through the callbacks, like every other. */
START_TEST(a_failed_write_fails_all_once)
{
    start();
    tcp_host_open(&host, 0);
    host.btl->btl_register(host.btl, TAG, ignore, NULL);
    struct mca_btl_base_endpoint_t *ep = tcp_host_add(&host, 0);
    ck_assert_int_eq(fault_set("btl.tcp.send:error=EPIPE:after=50"), ORTE_SUCCESS);
    stream_until_broken(ep, 0);
    ck_assert_int_eq(fault_set(NULL), ORTE_SUCCESS);
    tcp_host_close(&host);
}
END_TEST

UNIT_MAIN("tcp-pairs")
