/* The data plane and several threads. Usage: threads mixed|blocks|meet|serve|idle [COUNT]
 *
 *   mixed   eight threads use one rail at a time: messages, sendi, put, get, atomics, progress,
 *           registrations, the RML; what came, and what is in memory in the end, is counted
 *   blocks  a callback of the data plane waits in the RML for what a callback of the RML's causes,
 *           on another thread, by a call of the data plane
 *   meet    two threads at a time flush, take the rail through checkpoints, pass fences, and leave
 *   serve   with a progress thread: ranks but 0 call Keel now and then, and answer all the same
 *   idle    with a progress thread: a rank that has nothing to do uses no processor, and wakes
 *
 * Each rank prints "rank N: MODE: ok", or says what is wrong and ends the job. */
#include "must.h"

#include <keel/keel.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG_DATA = 10, TAG_REPLY, TAG_ECHO, TAG_ECHOED, TAG_CHAIN, TAG_STOP, TAG_BLOCK };
enum { RML_TAG = 300, RML_READY, RML_GO, RML_END };
enum { THREADS = 8, SLOT = 20000, CHAIN = 40, LIMIT_S = 60, IDLE_MS = 1500 };
enum { WORD_SUM, WORD_CSWAP, WORDS };

/* What peers reach of a rank. */
struct window {
    _Alignas(64) uint64_t words[WORDS];
    unsigned char slots[2][SLOT]; /* one is put to, one is got from */
};
static struct window window;

struct card {
    uint64_t address;
    unsigned char handle[MCA_BTL_REG_HANDLE_MAX_SIZE];
};

static struct {
    mca_btl_base_module_t *btl;
    struct mca_btl_base_endpoint_t *endpoint;
    orte_process_name_t name;
    struct card card;
} peer;

static uint32_t me;
static unsigned long count = 300;
static mca_btl_base_registration_handle_t *my_handle;
static pthread_t main_thread;
static atomic_ulong served, got_data, got_replies, got_echoes, sends, sent_done, chained;
static atomic_bool stopped, on_another_thread;

static double now_s(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double) time.tv_sec + (double) time.tv_nsec * 1e-9;
}

static bool is_shortage(int status)
{
    return status == OPAL_ERR_OUT_OF_RESOURCE || status == OPAL_ERR_TEMP_OUT_OF_RESOURCE ||
           status == OPAL_ERR_RESOURCE_BUSY;
}

/* Waits for a number with progress, or without. */
static void await(atomic_ulong *number, unsigned long wanted, bool progress)
{
    double end = now_s(CLOCK_MONOTONIC) + LIMIT_S;
    while (atomic_load(number) < wanted) {
        must(now_s(CLOCK_MONOTONIC) < end);
        if (progress) {
            keel_progress();
        }
    }
}

/* ---- messages ---- */

static mca_btl_base_descriptor_t *fill(size_t size, unsigned char byte)
{
    mca_btl_base_descriptor_t *made =
        peer.btl->btl_alloc(peer.btl, peer.endpoint, MCA_BTL_NO_ORDER, size,
                            MCA_BTL_DES_FLAGS_BTL_OWNERSHIP | MCA_BTL_DES_SEND_ALWAYS_CALLBACK);
    if (made) {
        memset(made->des_segments[0].seg_addr.pval, byte, size);
    }
    return made;
}

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint, (void) descriptor;
    must(status == OPAL_SUCCESS);
    atomic_fetch_add(&sent_done, 1);
}

/* False: short of something. */
static bool try_send(size_t size, mca_btl_base_tag_t tag)
{
    mca_btl_base_descriptor_t *descriptor = fill(size, (unsigned char) size);
    if (!descriptor) {
        return false;
    }
    descriptor->des_cbfunc = sent;
    int status = peer.btl->btl_send(peer.btl, peer.endpoint, descriptor, tag);
    if (status < 0) {
        must(is_shortage(status));
        peer.btl->btl_free(peer.btl, descriptor);
    }
    atomic_fetch_add(&sends, status >= 0);
    return status >= 0;
}

static void send_one(size_t size, mca_btl_base_tag_t tag, bool progress)
{
    double end = now_s(CLOCK_MONOTONIC) + LIMIT_S;
    while (!try_send(size, tag)) {
        must(now_s(CLOCK_MONOTONIC) < end);
        if (progress) {
            keel_progress();
        }
    }
}

static void check_bytes(const mca_btl_base_descriptor_t *descriptor)
{
    size_t total = 0;
    for (size_t i = 0; i < descriptor->des_segment_count; i++) {
        total += descriptor->des_segments[i].seg_len;
    }
    for (size_t i = 0; i < descriptor->des_segment_count; i++) {
        const unsigned char *bytes = descriptor->des_segments[i].seg_addr.pval;
        for (size_t k = 0; k < descriptor->des_segments[i].seg_len; k++) {
            must(bytes[k] == (unsigned char) total);
        }
    }
}

/* Every tenth message is answered from its callback; one that finds no room is not. */
static void data_came(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) cbdata;
    check_bytes(descriptor);
    if (atomic_fetch_add(&got_data, 1) % 10 == 0) {
        (void) try_send(32, TAG_REPLY);
    }
}

static void reply_came(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) cbdata;
    check_bytes(descriptor);
    atomic_fetch_add(&got_replies, 1);
}

static void echo_came(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) cbdata;
    check_bytes(descriptor);
    if (!pthread_equal(pthread_self(), main_thread)) {
        atomic_store(&on_another_thread, true);
    }
    if (tag == TAG_ECHO) {
        must(try_send(24, TAG_ECHOED));
        atomic_fetch_add(&served, 1);
    } else {
        atomic_fetch_add(&got_echoes, 1);
    }
}

/* Sends the next from inside: deeper than any module nests, so progress has to go on with it. */
static void chain_came(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor, (void) cbdata;
    if (atomic_fetch_add(&chained, 1) + 1 < CHAIN) {
        must(try_send(8, TAG_CHAIN));
    }
}

static void stop_came(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor, (void) cbdata;
    atomic_store(&stopped, true);
}

/* ---- put, get, atomics ---- */

static void rdma_over(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      void *address, mca_btl_base_registration_handle_t *handle, void *context,
                      void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle, (void) context;
    must(status == OPAL_SUCCESS);
    atomic_fetch_add((atomic_ulong *) data, 1);
}

static mca_btl_base_registration_handle_t *remote(void)
{
    return (mca_btl_base_registration_handle_t *) (void *) peer.card.handle;
}

static uint64_t at(const void *mine)
{
    return peer.card.address +
           (uint64_t) ((const unsigned char *) mine - (unsigned char *) &window);
}

/* One operation to its end; operation 0 put, 1 get. */
static void rdma(int operation, unsigned char *local, uint64_t address, bool progress)
{
    atomic_ulong over = 0;
    double end = now_s(CLOCK_MONOTONIC) + LIMIT_S;
    int status;
    do {
        must(now_s(CLOCK_MONOTONIC) < end);
        status = operation == 0
                     ? peer.btl->btl_put(peer.btl, peer.endpoint, local, address, NULL, remote(),
                                         SLOT, 0, MCA_BTL_NO_ORDER, rdma_over, NULL, &over)
                     : peer.btl->btl_get(peer.btl, peer.endpoint, local, address, NULL, remote(),
                                         SLOT, 0, MCA_BTL_NO_ORDER, rdma_over, NULL, &over);
        if (is_shortage(status) && progress) {
            keel_progress();
        }
    } while (is_shortage(status));
    must(status == OPAL_SUCCESS);
    await(&over, 1, progress);
}

/* Adds operand to a word of the peer's (compare: swaps it in), and returns what was there. */
static uint64_t atomic(uint64_t address, uint64_t operand, const uint64_t *compare)
{
    atomic_ulong over = 0;
    _Alignas(8) uint64_t before = 0;
    int status;
    while (is_shortage(
        status = compare ? peer.btl->btl_atomic_cswap(peer.btl, peer.endpoint, &before, address,
                                                      NULL, remote(), *compare, operand, 0,
                                                      MCA_BTL_NO_ORDER, rdma_over, NULL, &over)
                         : peer.btl->btl_atomic_fop(peer.btl, peer.endpoint, &before, address, NULL,
                                                    remote(), MCA_BTL_ATOMIC_ADD, operand, 0,
                                                    MCA_BTL_NO_ORDER, rdma_over, NULL, &over))) {
        keel_progress();
    }
    must(status == OPAL_SUCCESS || status == 1);
    if (status == OPAL_SUCCESS) {
        await(&over, 1, true);
    }
    return before;
}

/* ---- eight threads ---- */

static atomic_ulong threads_over;

static void send_messages(void)
{
    for (unsigned long i = 0; i < count; i++) {
        send_one(i % 7 == 0 ? 3000 : i % 100, TAG_DATA, true);
    }
}

static void send_at_once(void)
{
    unsigned char header[40];
    memset(header, sizeof(header), sizeof(header));
    for (unsigned long i = 0; i < count; i++) {
        int status;
        while ((status = peer.btl->btl_sendi(peer.btl, peer.endpoint, NULL, header, sizeof(header),
                                             0, MCA_BTL_NO_ORDER, 0, TAG_DATA, NULL)) < 0) {
            must(is_shortage(status));
            keel_progress();
        }
    }
}

static void put_and_look(void)
{
    static unsigned char bytes[SLOT];
    for (unsigned long i = 0; i < count / 10; i++) {
        memset(bytes, (int) i, SLOT);
        rdma(0, bytes, at(window.slots[0]), true);
        memset(bytes, ~(int) i, SLOT);
        rdma(1, bytes, at(window.slots[0]), true);
        must(bytes[0] == (unsigned char) i && memcmp(bytes, bytes + 1, SLOT - 1) == 0);
    }
}

static void get_constant(void)
{
    static unsigned char bytes[SLOT];
    for (unsigned long i = 0; i < count / 10; i++) {
        memset(bytes, 0, SLOT);
        rdma(1, bytes, at(window.slots[1]), true);
        must(bytes[0] == 77 && memcmp(bytes, bytes + 1, SLOT - 1) == 0);
    }
}

static void use_atomics(void)
{
    uint64_t seen = 0;
    for (unsigned long i = 0; i < count; i++) {
        must(atomic(at(&window.words[WORD_SUM]), 3, NULL) == 3 * i);
        must(atomic(at(&window.words[WORD_CSWAP]), i + 1, &seen) == i);
        seen = i + 1;
    }
}

static void register_memory(void)
{
    static unsigned char bytes[4096];
    for (unsigned long i = 0; i < count; i++) {
        mca_btl_base_registration_handle_t *handle = peer.btl->btl_register_mem(
            peer.btl, MCA_BTL_ENDPOINT_ANY, bytes, sizeof(bytes), MCA_BTL_REG_FLAG_ACCESS_ANY);
        must(handle);
        must(peer.btl->btl_deregister_mem(peer.btl, handle) == OPAL_SUCCESS);
    }
}

static void talk(void)
{
    for (unsigned long i = 0; i < count / 10; i++) {
        unsigned long got = 0;
        struct iovec out = {&i, sizeof(i)}, in = {&got, sizeof(got)};
        must(orte_rml.send(&peer.name, &out, 1, RML_TAG, 0) == sizeof(i));
        must(orte_rml.recv(&peer.name, &in, 1, RML_TAG, 0) == sizeof(got));
        must(got == i);
    }
}

static void drive(void)
{
    const struct keel_btl_ext *ext = keel_btl_ext(peer.btl);
    unsigned long passes = 0;
    while (atomic_load(&threads_over) < THREADS - 1) {
        keel_progress();
        if (++passes % 100 == 0) {
            must(ext->flush(peer.btl, peer.endpoint) == OPAL_SUCCESS);
        }
    }
}

static void (*const works[THREADS])(void) = {send_messages, send_at_once, put_and_look,
                                             get_constant,  use_atomics,  register_memory,
                                             talk,          drive};

static void *work(void *arg)
{
    (*(void (*const *)(void)) arg)();
    atomic_fetch_add(&threads_over, 1);
    return NULL;
}

static void mixed(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        must(pthread_create(&threads[i], NULL, work, (void *) (uintptr_t) &works[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        must(pthread_join(threads[i], NULL) == 0);
    }
    await(&got_data, 2 * count, true);
    await(&sent_done, atomic_load(&sends), true);
    must(keel_fence() == ORTE_SUCCESS);
    uint64_t sum, swapped;
    memcpy(&sum, &window.words[WORD_SUM], sizeof(sum));
    memcpy(&swapped, &window.words[WORD_CSWAP], sizeof(swapped));
    must(sum == 3 * count && swapped == count && atomic_load(&got_data) == 2 * count);
}

/* ---- a callback that blocks ---- */

static atomic_bool in_data_plane, in_rml, unblocked;

static void wait_for_flag(atomic_bool *flag)
{
    double end = now_s(CLOCK_MONOTONIC) + LIMIT_S;
    while (!atomic_load(flag)) {
        must(now_s(CLOCK_MONOTONIC) < end);
    }
}

static void block_came(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl, (void) tag, (void) descriptor, (void) cbdata;
    char byte = 0;
    struct iovec in = {&byte, 1};
    atomic_store(&in_data_plane, true);
    wait_for_flag(&in_rml);
    must(orte_rml.recv(&peer.name, &in, 1, RML_END, 0) == 1);
    atomic_store(&unblocked, true);
}

static void go_came(int status, orte_process_name_t *from, struct iovec *msg, int parts,
                    orte_rml_tag_t tag, void *cbdata)
{
    (void) from, (void) msg, (void) parts, (void) tag, (void) cbdata;
    must(status == 1);
    atomic_store(&in_rml, true);
    wait_for_flag(&in_data_plane);
    must(try_send(32, TAG_REPLY));
}

static void *poll_until_unblocked(void *arg)
{
    (void) arg;
    double end = now_s(CLOCK_MONOTONIC) + LIMIT_S;
    while (!atomic_load(&unblocked)) {
        must(now_s(CLOCK_MONOTONIC) < end);
        keel_progress();
    }
    return NULL;
}

static void blocks(void)
{
    static char byte;
    struct iovec one = {&byte, 1};
    if (me == 0) {
        pthread_t other;
        must(orte_rml.recv_nb(&peer.name, &one, 1, RML_GO, 0, go_came, NULL) == ORTE_SUCCESS);
        must(pthread_create(&other, NULL, poll_until_unblocked, NULL) == 0);
        must(orte_rml.send(&peer.name, &one, 1, RML_READY, 0) == 1); /* two threads can block */
        poll_until_unblocked(NULL);
        must(pthread_join(other, NULL) == 0);
    } else {
        must(orte_rml.recv(&peer.name, &one, 1, RML_READY, 0) == 1);
        send_one(8, TAG_BLOCK, true);
        must(orte_rml.send(&peer.name, &one, 1, RML_GO, 0) == 1);
        await(&got_replies, 1, true);
        must(orte_rml.send(&peer.name, &one, 1, RML_END, 0) == 1);
    }
}

/* ---- two threads in the same call ---- */

enum { FENCES = 40, CHECKPOINTS = 10 };
static atomic_ulong tickets, left;

static void flush_puts(void)
{
    static unsigned char bytes[SLOT];
    const struct keel_btl_ext *ext = keel_btl_ext(peer.btl);
    for (unsigned long i = 0; i < count; i++) {
        int status = peer.btl->btl_put(peer.btl, peer.endpoint, bytes, at(window.slots[0]), NULL,
                                       remote(), SLOT, 0, MCA_BTL_NO_ORDER, NULL, NULL, NULL);
        must(status == OPAL_SUCCESS || is_shortage(status));
        must(ext->flush(peer.btl, peer.endpoint) == OPAL_SUCCESS);
    }
}

/* Of this rank's rail only: its peer goes on. */
static void checkpoint_rail(void)
{
    for (int i = 0; i < CHECKPOINTS; i++) {
        send_one(3000, TAG_DATA, true);
        must(peer.btl->btl_ft_event(OPAL_CRS_CHECKPOINT) == OPAL_SUCCESS);
        must(peer.btl->btl_ft_event(OPAL_CRS_CONTINUE) == OPAL_SUCCESS);
    }
}

/* All ranks pass as many fences, whichever thread of theirs does. */
static void pass_fences(void)
{
    while (atomic_fetch_add(&tickets, 1) < FENCES) {
        int status;
        while ((status = keel_fence()) == ORTE_ERR_RESOURCE_BUSY) {
            keel_progress();
        }
        must(status == ORTE_SUCCESS);
    }
}

static void leave(void)
{
    int status = keel_finalize();
    if (status == ORTE_SUCCESS) {
        atomic_fetch_add(&left, 1);
    } else if (status != ORTE_ERR_RESOURCE_BUSY && status != ORTE_ERROR) {
        atomic_fetch_add(&left, 100);
    }
}

static void *run(void *arg)
{
    (*(void (*const *)(void)) arg)();
    return NULL;
}

static void by_two(void (*call)(void))
{
    pthread_t other;
    must(pthread_create(&other, NULL, run, (void *) (uintptr_t) &call) == 0);
    call();
    if (pthread_join(other, NULL) != 0) {
        abort(); /* there may be no job any more to be ended */
    }
}

static void meet(void)
{
    by_two(flush_puts);
    must(keel_fence() == ORTE_SUCCESS);
    by_two(checkpoint_rail);
    await(&got_data, 2 * CHECKPOINTS, true);
    must(keel_fence() == ORTE_SUCCESS);
    by_two(pass_fences);
}

/* ---- a progress thread ---- */

static void ask(void)
{
    static unsigned char bytes[SLOT];
    for (unsigned long i = 1; i <= count; i++) {
        send_one(24, TAG_ECHO, false);
        await(&got_echoes, i, false);
        if (i % 10 == 0) {
            rdma(1, bytes, at(window.slots[1]), false);
            must(bytes[0] == 77 && memcmp(bytes, bytes + 1, SLOT - 1) == 0);
        }
    }
    send_one(24, TAG_STOP, false);
}

/* What a program does that computes. */
static void compute(void)
{
    double end = now_s(CLOCK_MONOTONIC) + LIMIT_S;
    while (!atomic_load(&stopped)) {
        must(now_s(CLOCK_MONOTONIC) < end);
    }
}

static void serve(void)
{
    if (me == 0) {
        ask();
    }
    for (unsigned long i = 1; me != 0 && i <= count; i++) {
        for (unsigned long polls = 0; polls < i * 7 % 1000; polls++) {
            keel_progress(); /* now and then, and then it is the thread's turn again */
        }
        await(&served, i, false);
    }
    if (me != 0 || keel_job_size() == 1) {
        compute();
        must(atomic_load(&on_another_thread) || keel_job_size() == 1);
    }
    must(keel_fence() == ORTE_SUCCESS);
    if (keel_job_size() == 1) {
        must(try_send(8, TAG_CHAIN));
        await(&chained, CHAIN, false);
    }
}

static void idle(void)
{
    const struct timespec nap = {IDLE_MS / 1000, IDLE_MS % 1000 * 1000000};
    send_one(3000, TAG_DATA, false);
    await(&got_data, 1, false);
    must(keel_fence() == ORTE_SUCCESS);
    double before = now_s(CLOCK_PROCESS_CPUTIME_ID);
    nanosleep(&nap, NULL);
    double used = now_s(CLOCK_PROCESS_CPUTIME_ID) - before;
    printf("rank %u: %.1f ms of processor time in %d ms\n", (unsigned) me, used * 1000, IDLE_MS);
    must(used * 1000 < IDLE_MS / 20);
    must(keel_fence() == ORTE_SUCCESS);
    send_one(24, TAG_ECHO, false);
    await(&got_echoes, 1, false);
}

/* ---- the job ---- */

static void meet_peer(void)
{
    size_t rails = 0, size = 0;
    void *data = NULL;
    peer.name = (orte_process_name_t){keel_my_name()->jobid, (me + 1) % keel_job_size()};
    const struct keel_rail *rail = keel_rails(&peer.name, &rails);
    must(rails > 0);
    peer.btl = rail->btl;
    peer.endpoint = rail->endpoint;
    peer.btl->btl_register(peer.btl, TAG_DATA, data_came, NULL);
    peer.btl->btl_register(peer.btl, TAG_REPLY, reply_came, NULL);
    peer.btl->btl_register(peer.btl, TAG_ECHO, echo_came, NULL);
    peer.btl->btl_register(peer.btl, TAG_ECHOED, echo_came, NULL);
    peer.btl->btl_register(peer.btl, TAG_CHAIN, chain_came, NULL);
    peer.btl->btl_register(peer.btl, TAG_STOP, stop_came, NULL);
    peer.btl->btl_register(peer.btl, TAG_BLOCK, block_came, NULL);
    memset(window.slots[1], 77, SLOT);
    my_handle = peer.btl->btl_register_mem(peer.btl, MCA_BTL_ENDPOINT_ANY, &window, sizeof(window),
                                           MCA_BTL_REG_FLAG_ACCESS_ANY);
    must(my_handle);
    struct card card = {.address = (uint64_t) (uintptr_t) &window};
    memcpy(card.handle, my_handle, peer.btl->btl_registration_handle_size);
    must(keel_modex_send("threads", &card, sizeof(card)) == ORTE_SUCCESS);
    must(keel_fence() == ORTE_SUCCESS);
    must(keel_modex_recv(&peer.name, "threads", &data, &size) == ORTE_SUCCESS);
    must(size == sizeof(peer.card));
    memcpy(&peer.card, data, size);
    free(data);
}

static const struct mode {
    const char *name;
    void (*run)(void);
    bool multiple; /* else with a progress thread */
} modes[] = {
    {"mixed", mixed, true},  {"blocks", blocks, true}, {"meet", meet, true},
    {"serve", serve, false}, {"idle", idle, false},
};

static const struct mode *mode_of(const char *name)
{
    size_t i = 0;
    while (i < sizeof(modes) / sizeof(*modes) && strcmp(modes[i].name, name) != 0) {
        i++;
    }
    return i < sizeof(modes) / sizeof(*modes) ? &modes[i] : NULL;
}

int main(int argc, char **argv)
{
    struct keel_options options = KEEL_OPTIONS_DEFAULT;
    const struct mode *mode = argc > 1 ? mode_of(argv[1]) : NULL;
    if (!mode) {
        return 2;
    }
    options.thread_multiple = mode->multiple;
    options.progress_thread = !mode->multiple;
    main_thread = pthread_self();
    if (argc > 2) {
        count = strtoul(argv[2], NULL, 10);
    }
    if (keel_init(&options) != ORTE_SUCCESS) {
        return 2;
    }
    me = keel_my_name()->vpid;
    meet_peer();
    mode->run();
    must(keel_fence() == ORTE_SUCCESS);
    must(peer.btl->btl_deregister_mem(peer.btl, my_handle) == OPAL_SUCCESS);
    by_two(leave);
    must(atomic_load(&left) == 1);
    printf("rank %u: %s: ok\n", (unsigned) me, mode->name);
    return 0;
}
