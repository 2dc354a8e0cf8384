/* Messages between real processes, over every kind of rail that one machine has. */
#include <config.h>

#include <base/settings/fault.h>
#include <base/settings/param.h>
#include <keel/btl_ext.h>
#include <keel/pml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/minihost.h>
#include <tests/lib/unit.h>
#include <unistd.h>

enum { MOST = 2 << 20, PIECES = 3, CONTEXT = 65535, BURST = 20000, PASSES = 4 };

static const char *btl, *rendezvous, *eager, *rail_faults;
static struct minihost *host;
static struct keel_pml_context *context;

static void must(int status, const char *what)
{
    if (status != OPAL_SUCCESS) {
        minihost_fail(host, "rank %d: %s: %s", host->rank, what, opal_strerror(status));
    }
}

static void check(bool good, const char *what)
{
    if (!good) {
        minihost_fail(host, "rank %d: %s", host->rank, what);
    }
}

static int poll_all(void)
{
    (void) minihost_progress(host);
    return keel_pml_progress();
}

static void open_rank(struct minihost *minihost)
{
    char reason[256] = "";
    opal_proc_t *procs[16];
    host = minihost;
    for (int i = 0; i < host->size; i++) {
        procs[i] = &host->procs[i];
    }
    must(param_override("btl", btl), "override btl");
    must(param_override("btl_tcp_if_include", "lo"), "override tcp");
    must(param_override("ptl_rail_rendezvous", rendezvous), "override rendezvous");
    if (eager) {
        must(param_override("btl_tcp_eager_limit", eager), "override the eager limit");
        must(param_override("btl_tcp_max_send_size", eager), "override the size of sends");
        must(param_override("btl_sm_exclusivity", "1"), "override exclusivity");
    }
    if (rail_faults) {
        must(param_override("fault", rail_faults), "override faults");
    }
    must(keel_host_open(&minihost_ops, host, NULL, reason, sizeof(reason)), "keel_host_open");
    minihost_barrier(host, NULL);
    must(keel_host_add_procs(procs, (size_t) host->size, reason, sizeof(reason)), reason);
    must(keel_pml_open_on(&minihost_ops, host), "keel_pml_open_on");
    minihost_barrier(host, poll_all);
    if (host->rank > 0) { /* others' messages may come before */
        must(keel_pml_context_open(CONTEXT, procs, (size_t) host->size, host->rank, &context),
             "context");
    }
}

static void open_late(void)
{
    opal_proc_t *procs[16];
    for (int i = 0; i < host->size; i++) {
        procs[i] = &host->procs[i];
    }
    if (!context) {
        must(keel_pml_context_open(CONTEXT, procs, (size_t) host->size, host->rank, &context),
             "context");
    }
}

static void close_rank(void)
{
    must(keel_pml_context_free(&context), "free");
    minihost_barrier(host, poll_all);
    must(keel_pml_close(), "close");
    must(keel_host_close(), "host close");
}

/* ---- messages of all sizes ---- */

static const size_t sizes[] = {0,    1,    8,     63,    65,    500,   2047,   4063,    4064,
                               4065, 5000, 32736, 32737, 65503, 65505, 100000, 1 << 20, MOST};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

static uint8_t byte_of(int from, size_t number, size_t place)
{
    return (uint8_t) ((size_t) from * 101 + number * 31 + place * 7 + (place >> 8) * 3);
}

/* In one piece, or in some, the last ones first. */
static opal_convertor_t data_of(uint8_t *bytes, size_t size, bool scattered, struct iovec *pieces)
{
    opal_convertor_t data;
    if (!scattered) {
        opal_convertor_prepare(&data, bytes, size);
        return data;
    }
    for (size_t i = 0; i < PIECES; i++) {
        size_t start = size * (PIECES - 1 - i) / PIECES, end = size * (PIECES - i) / PIECES;
        pieces[i] = (struct iovec){bytes + start, end - start};
    }
    must(opal_convertor_prepare_iovec(&data, pieces, PIECES), "pieces");
    return data;
}

static uint8_t *message_make(int from, size_t number, size_t size, bool scattered,
                             struct iovec *pieces, opal_convertor_t *data)
{
    uint8_t *bytes = malloc(size + 1), *flat = malloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        flat[i] = byte_of(from, number, i);
    }
    *data = data_of(bytes, size, scattered, pieces);
    opal_convertor_t fill = *data;
    check(opal_convertor_unpack_bytes(&fill, flat, size) == size, "fill");
    free(flat);
    return bytes;
}

static void message_check(int from, size_t number, size_t size, const opal_convertor_t *data)
{
    opal_convertor_t got = *data;
    uint8_t *flat = malloc(size + 1);
    check(opal_convertor_pack_bytes(&got, flat, size) == size, "size");
    for (size_t i = 0; i < size; i++) {
        check(flat[i] == byte_of(from, number, i), "a byte is wrong");
    }
    free(flat);
}

/* All ranks send a message of this size to all, in this way, and receive them in another. */
static void exchange(size_t number, unsigned how)
{
    struct keel_pml_request *requests[32];
    struct keel_pml_status statuses[32];
    struct iovec out_pieces[16][PIECES], in_pieces[16][PIECES];
    opal_convertor_t out[16], in[16];
    uint8_t *sent[16], *got[16];
    const keel_pml_mode_t mode = (keel_pml_mode_t) (how % 4);
    const bool late = how & 4, any = how & 8;
    size_t count = 0, size = sizes[number];
    for (int peer = 0; peer < host->size; peer++) {
        sent[peer] = message_make(host->rank, number, size, how & 16, out_pieces[peer], &out[peer]);
        got[peer] = calloc(1, size + 1);
        in[peer] = data_of(got[peer], size, how & 32, in_pieces[peer]);
    }
    for (int pass = 0; pass < 2; pass++) {
        for (int peer = 0; peer < host->size; peer++) {
            if ((pass == 0) == late) {
                must(keel_pml_isend(context, &out[peer], peer, (int32_t) number, mode,
                                    &requests[host->size + peer]),
                     "isend");
            } else {
                must(keel_pml_irecv(context, &in[peer], any ? KEEL_PML_ANY_SOURCE : peer,
                                    (int32_t) number, &requests[peer]),
                     "irecv");
            }
        }
        if (pass == 0) {
            minihost_barrier(host, poll_all);
        }
    }
    count = 2 * (size_t) host->size;
    must(keel_pml_waitall(count, requests, statuses), "waitall");
    unsigned sources = 0;
    for (int peer = 0; peer < host->size; peer++) {
        check(statuses[peer].bytes == size && statuses[peer].tag == (int32_t) number, "status");
        message_check(statuses[peer].source, number, size, &in[peer]);
        sources |= 1u << statuses[peer].source;
        free(sent[peer]);
        free(got[peer]);
    }
    check(sources == (1u << host->size) - 1, "sources");
    minihost_barrier(host, poll_all);
}

static int run_sizes(struct minihost *minihost, void *unused)
{
    (void) unused;
    open_rank(minihost);
    minihost_barrier(host, poll_all);
    open_late();
    minihost_barrier(host, poll_all);
    for (size_t number = 0; number < SIZES; number++) {
        unsigned step = sizes[number] < 100000 ? 3 : 11;
        for (unsigned how = 0; how < 64; how += step) {
            exchange(number, how);
        }
    }
    close_rank();
    return 0;
}

/* ---- many, in order ---- */

/* Each rank floods the next one, which has opened its context later, and receives later still. */
static int run_flood(struct minihost *minihost, void *unused)
{
    static struct keel_pml_request *sends[BURST];
    static int32_t numbers[BURST];
    (void) unused;
    open_rank(minihost);
    int next = (minihost->rank + 1) % minihost->size;
    int before = (minihost->rank + minihost->size - 1) % minihost->size;
    for (int pass = 0; pass < PASSES; pass++) {
        open_late();
        for (int32_t i = 0; i < BURST; i++) {
            opal_convertor_t data;
            numbers[i] = pass * BURST + i;
            opal_convertor_prepare(&data, &numbers[i], sizeof(numbers[i]));
            must(keel_pml_isend(context, &data, next, i % 7, KEEL_PML_STANDARD, &sends[i]),
                 "isend");
        }
        minihost_barrier(host, poll_all);
        for (int32_t i = 0; i < BURST; i++) {
            struct keel_pml_status status;
            int32_t number = -1;
            opal_convertor_t data;
            opal_convertor_prepare(&data, &number, sizeof(number));
            must(keel_pml_recv(context, &data, i % 2 ? before : KEEL_PML_ANY_SOURCE,
                               KEEL_PML_ANY_TAG, &status),
                 "recv");
            check(number == pass * BURST + i && status.tag == i % 7, "order");
        }
        must(keel_pml_waitall(BURST, sends, NULL), "waitall");
    }
    minihost_barrier(host, poll_all);
    close_rank();
    return 0;
}

/* ---- a peer that ends ---- */

static int run_ending(struct minihost *minihost, void *unused)
{
    struct keel_pml_request *sends[2], *recvs[3];
    static uint8_t bytes[MOST];
    opal_convertor_t small, large;
    (void) unused;
    open_rank(minihost);
    minihost_barrier(host, poll_all);
    open_late();
    minihost_barrier(host, poll_all);
    opal_convertor_prepare(&small, bytes, 8);
    opal_convertor_prepare(&large, bytes, MOST);
    int other = 1 - host->rank;
    must(keel_pml_isend(context, &small, other, 1, KEEL_PML_STANDARD, &sends[0]), "isend");
    must(keel_pml_isend(context, &large, other, 2, KEEL_PML_STANDARD, &sends[1]), "isend");
    must(keel_pml_probe(context, other, 2, NULL), "probe");
    must(keel_pml_irecv(context, &small, other, 3, &recvs[0]), "irecv");
    must(keel_pml_irecv(context, &small, KEEL_PML_ANY_SOURCE, 3, &recvs[1]), "irecv any");
    minihost_barrier(host, poll_all);
    if (host->rank == 1) {
        _exit(EXIT_SUCCESS); /* without a word */
    }
    keel_host_proc_ended(&host->procs[1]);
    must(keel_pml_wait(&sends[0], NULL), "the short message was sent");
    check(keel_pml_wait(&sends[1], NULL) == OPAL_ERR_UNREACH, "the long one was not");
    check(keel_pml_wait(&recvs[0], NULL) == OPAL_ERR_UNREACH, "nothing comes any more");
    must(keel_pml_recv(context, &small, 1, 1, NULL), "what came is there");
    int status = keel_pml_irecv(context, &large, 1, 2, &recvs[2]);
    check(status != OPAL_SUCCESS || keel_pml_wait(&recvs[2], NULL) == OPAL_ERR_UNREACH,
          "and what is to be fetched is not");
    check(keel_pml_send(context, &small, 1, 1, KEEL_PML_STANDARD) == OPAL_ERR_UNREACH, "send");
    must(keel_pml_cancel(recvs[1]), "cancel");
    (void) keel_pml_wait(&recvs[1], NULL);
    must(keel_pml_context_free(&context), "free");
    must(keel_pml_close(), "close");
    must(keel_host_close(), "host close");
    return 0;
}

/* ---- a context that is freed ---- */

/* Each has a long message of the other one, which nobody receives. */
static int run_unreceived(struct minihost *minihost, void *unused)
{
    static uint8_t bytes[MOST];
    struct keel_pml_request *send;
    opal_convertor_t data;
    (void) unused;
    open_rank(minihost);
    minihost_barrier(host, poll_all);
    open_late();
    opal_convertor_prepare(&data, bytes, MOST);
    const int other = 1 - host->rank;
    must(keel_pml_isend(context, &data, other, 1, KEEL_PML_STANDARD, &send), "isend");
    must(keel_pml_probe(context, other, 1, NULL), "probe");
    must(keel_pml_request_free(&send), "request_free");
    close_rank();
    return 0;
}

/* ---- memory that is lacking ---- */

static const char *faults; /* in the last rank */

static void open_all(struct minihost *minihost)
{
    open_rank(minihost);
    minihost_barrier(host, poll_all);
    open_late();
    minihost_barrier(host, poll_all);
    if (host->rank == host->size - 1) {
        must(fault_set(faults), "faults");
    }
}

/* Rank 0 sends until it is told that a message was lost; the last rank, which may be the same,
 * receives until then. */
static int run_lost(struct minihost *minihost, void *unused)
{
    static uint8_t bytes[8];
    opal_convertor_t data;
    int status = OPAL_SUCCESS;
    (void) unused;
    open_all(minihost);
    opal_convertor_prepare(&data, bytes, sizeof(bytes));
    const int last = host->size - 1;
    for (int i = 0; status == OPAL_SUCCESS && i < 100; i++) {
        if (host->rank == 0) {
            status = keel_pml_send(context, &data, last, 1,
                                   i % 2 && last > 0 ? KEEL_PML_SYNCHRONOUS : KEEL_PML_STANDARD);
        }
        if (host->rank == last && status == OPAL_SUCCESS) {
            status = keel_pml_recv(context, &data, 0, 1, NULL);
        }
    }
    check(status == OPAL_ERR_UNREACH, "both ends hear that a message is lost");
    check(keel_pml_recv(context, &data, last - host->rank, 1, NULL) == OPAL_ERR_UNREACH,
          "nothing can come any more");
    minihost_barrier(host, poll_all);
    must(fault_set(NULL), "no faults");
    close_rank();
    return 0;
}

enum { ROUNDS = 40, A_ROUND = 30 };

/* Rank 0 sends, and takes no answers until all is sent; *failed: how many sends failed. */
static void send_deaf(size_t *failed)
{
    static struct keel_pml_request *sends[ROUNDS * A_ROUND];
    static uint8_t bytes[8];
    opal_convertor_t data;
    opal_convertor_prepare(&data, bytes, sizeof(bytes));
    for (int i = 0; i < ROUNDS * A_ROUND; i++) {
        must(keel_pml_isend(context, &data, 1, 1, KEEL_PML_SYNCHRONOUS, &sends[i]), "isend");
        if (i % A_ROUND == A_ROUND - 1) {
            minihost_barrier(host, NULL);
        }
    }
    minihost_barrier(host, NULL);
    for (int i = 0; i < ROUNDS * A_ROUND; i++) {
        *failed += keel_pml_wait(&sends[i], NULL) == OPAL_ERR_UNREACH;
    }
}

static void receive_from_deaf(size_t *failed)
{
    uint8_t bytes[8];
    opal_convertor_t data;
    opal_convertor_prepare(&data, bytes, sizeof(bytes));
    for (int i = 0; i < ROUNDS * A_ROUND; i++) {
        *failed += keel_pml_recv(context, &data, 0, 1, NULL) == OPAL_ERR_UNREACH;
        if (i % A_ROUND == A_ROUND - 1) {
            minihost_barrier(host, NULL);
        }
    }
    minihost_barrier(host, NULL);
}

static const char *answers_size;

static int run_deaf(struct minihost *minihost, void *fails)
{
    size_t failed = 0;
    must(param_override("ptl_rail_answers_size", answers_size), "override answers");
    open_all(minihost);
    if (minihost->rank == 0) {
        send_deaf(&failed);
    } else {
        receive_from_deaf(&failed);
    }
    check((failed > 0) == (fails != NULL), "answers that wait");
    minihost_barrier(host, poll_all);
    must(fault_set(NULL), "no faults");
    close_rank();
    return 0;
}

/* ---- another version ---- */

static char told[512]; /* why a rail failed */

static void note_error(mca_btl_base_module_t *module, int32_t flags, opal_proc_t *proc, char *text)
{
    (void) module, (void) flags, (void) proc;
    snprintf(told, sizeof(told), "%s", text);
}

/* Rank 0 sends a header of the next version. */
static int run_versions(struct minihost *minihost, void *unused)
{
    uint8_t header[16] = {0x31, 0, 0xff, 0xff}, byte;
    opal_convertor_t data;
    size_t count;
    (void) unused;
    open_all(minihost);
    opal_convertor_prepare(&data, &byte, sizeof(byte));
    const int other = 1 - host->rank;
    const struct keel_rail *rails = keel_host_rails(&host->procs[other], &count);
    mca_btl_base_module_t *module = rails[0].btl;
    must(module->btl_register_error(module, note_error), "register_error");
    if (host->rank == 0) {
        must(keel_btl_ext(module)->channel_sendi(module, rails[0].endpoint, NULL, header,
                                                 sizeof(header), 0, MCA_BTL_NO_ORDER, 0, 1, 0,
                                                 NULL),
             "channel_sendi");
    }
    check(keel_pml_recv(context, &data, other, 1, NULL) == OPAL_ERR_UNREACH, "it is refused");
    while (!told[0]) {
        minihost_check(host);
        (void) poll_all();
    }
    check(host->rank == 0 || (strstr(told, "version 3") && strstr(told, "version 2")),
          "both versions are named");
    minihost_barrier(host, poll_all);
    close_rank();
    return 0;
}

/* ---- the cases ---- */

static void run_with(const char *btls, const char *how, int ranks,
                     int (*rank)(struct minihost *, void *), void *arg)
{
    char reason[512];
    struct minihost_options options = {.size = ranks, .timeout_ms = 28000};
    btl = btls;
    rendezvous = how;
    bool good = minihost_run(&options, rank, arg, reason, sizeof(reason));
    ck_assert_msg(good, "%s, %s: %s", btls, how, reason);
}

static void run(const char *btls, const char *how, int ranks,
                int (*rank)(struct minihost *, void *))
{
    run_with(btls, how, ranks, rank, NULL);
}

START_TEST(sm_get)
{
    run("self,sm", "get", 3, run_sizes);
}
END_TEST

START_TEST(sm_put)
{
    run("self,sm", "put", 2, run_sizes);
}
END_TEST

START_TEST(sm_send)
{
    run("self,sm", "send", 2, run_sizes);
}
END_TEST

START_TEST(tcp_get)
{
    run("self,tcp", "get", 2, run_sizes);
}
END_TEST

START_TEST(tcp_put)
{
    run("self,tcp", "put", 2, run_sizes);
}
END_TEST

START_TEST(tcp_send)
{
    run("self,tcp", "send", 2, run_sizes);
}
END_TEST

/* In the call; the bytes go in fragments. */
START_TEST(puts_that_are_refused)
{
    rail_faults = "btl.any.put:error=EPERM:p=0.3:seed=5:after=2";
    run("self,sm", "put", 2, run_sizes);
    run("self,sm,tcp", "put", 2, run_sizes);
}
END_TEST

/* After it. */
START_TEST(puts_that_fail_alone)
{
    rail_faults = "btl.any.put:drop:p=0.3:seed=5:after=2";
    run("self,sm", "put", 2, run_sizes);
    run("self,sm,tcp", "put", 2, run_sizes);
}
END_TEST

/* Two rails, so that copies are kept: of frames that are longer than all that are kept otherwise.
 */
START_TEST(large_frames)
{
    eager = "4m";
    run("self,sm,tcp", "get", 2, run_sizes);
    run("self,sm,tcp", "send", 2, run_sizes);
}
END_TEST

START_TEST(sm_flood)
{
    run("self,sm", "get", 2, run_flood);
}
END_TEST

START_TEST(tcp_flood)
{
    run("self,tcp", "get", 3, run_flood);
}
END_TEST

START_TEST(self_flood)
{
    run("self", "get", 1, run_flood);
}
END_TEST

START_TEST(sm_peer_ends)
{
    run("self,sm", "get", 2, run_ending);
    run("self,sm", "put", 2, run_ending);
}
END_TEST

START_TEST(tcp_peer_ends)
{
    run("self,tcp", "get", 2, run_ending);
    run("self,tcp", "send", 2, run_ending);
}
END_TEST

START_TEST(freed_contexts_do_not_wait_for_each_other)
{
    run("self,sm", "get", 2, run_unreceived);
}
END_TEST

START_TEST(lost_messages_end_the_peer)
{
    static const char *const all[] = {"ptl.rail.message:error=ENOMEM",
                                      "ptl.rail.message:error=ENOMEM:after=5"};
    for (size_t i = 0; i < 2; i++) {
        faults = all[i];
        run("self,sm", "get", 2, run_lost);
        run("self,tcp", "get", 2, run_lost);
        run("self", "get", 1, run_lost);
    }
}
END_TEST

static int some;

START_TEST(answers_wait_for_room)
{
    answers_size = "64m";
    run_with("self,sm", "get", 2, run_deaf, NULL);
}
END_TEST

START_TEST(answers_that_wait_are_bounded)
{
    answers_size = "4k";
    run_with("self,sm", "get", 2, run_deaf, &some);
}
END_TEST

START_TEST(answers_without_memory_end_the_peer)
{
    answers_size = "64m";
    faults = "ptl.rail.answer:error=ENOMEM";
    run_with("self,sm", "get", 2, run_deaf, &some);
}
END_TEST

START_TEST(another_version_is_refused)
{
    run("self,sm", "get", 2, run_versions);
    run("self,tcp", "get", 2, run_versions);
}
END_TEST

UNIT_MAIN("pml-rail", freed_contexts_do_not_wait_for_each_other, another_version_is_refused,
          answers_wait_for_room, answers_that_wait_are_bounded, answers_without_memory_end_the_peer,
          lost_messages_end_the_peer, sm_peer_ends, tcp_peer_ends, self_flood, large_frames,
          sm_flood, tcp_flood, puts_that_are_refused, puts_that_fail_alone, sm_get, sm_put, sm_send,
          tcp_get, tcp_put, tcp_send)
