/* What the checking module reports, second part: rules beside those of callbacks and limits, and
 * what callers do wrong that no transport is needed for. docs/btl.md lists rule and test. */
#include <tests/lib/unit.h>
#include <tests/unit/btl/check/mock.h>

#include <btl/check/check.h>
#include <string.h>
#include <unistd.h>

static unsigned called;

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) btl, (void) endpoint, (void) descriptor, (void) status;
    called++;
}

static void done(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 void *address, mca_btl_base_registration_handle_t *handle, void *context,
                 void *data, int status)
{
    (void) btl, (void) endpoint, (void) address, (void) handle, (void) context, (void) data;
    (void) status;
    called++;
}

/* So many lines since the last call, the last of them of this side and with these words. */
static void expect(unsigned count, const char *side, const char *words)
{
    ck_assert_msg(reports() == count, "%s", last_report);
    ck_assert_msg(strstr(last_report, side) != NULL, "%s", last_report);
    ck_assert_msg(strstr(last_report, words) != NULL, "%s", last_report);
}

static void expect_module(const char *words)
{
    expect(1, ": module: ", words);
}

static void expect_caller(const char *words)
{
    expect(1, ": caller: ", words);
}

static mca_btl_base_descriptor_t *alloc_one(struct bench *bench, size_t size)
{
    mca_btl_base_descriptor_t *made =
        bench->btl->btl_alloc(bench->btl, bench->endpoint, MCA_BTL_NO_ORDER, size, 0);
    if (made) {
        made->des_cbfunc = sent;
    }
    return made;
}

static int send_one(struct bench *bench)
{
    return bench->btl->btl_send(bench->btl, bench->endpoint, alloc_one(bench, 64), 3);
}

static int put_one(struct bench *bench)
{
    static uint64_t word;
    return bench->btl->btl_put(bench->btl, bench->endpoint, &word, 0, NULL, (void *) &mock_handle,
                               8, 0, MCA_BTL_NO_ORDER, done, NULL, NULL);
}

START_TEST(callbacks_come_on_the_calling_thread)
{
    struct bench bench;
    bench_open(&bench, CALLS_ON_A_THREAD);
    ck_assert_int_eq(send_one(&bench), OPAL_SUCCESS);
    expect_module("calls back on a second thread");
    bench_close(&bench);
}
END_TEST

static struct bench *nesting;

static void send_again(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) status;
    if (++called < 300) {
        ck_assert_int_ge(btl->btl_send(btl, endpoint, descriptor, 3), 0);
    }
    ck_assert_ptr_eq(btl, nesting->btl);
}

START_TEST(callbacks_nest_within_bounds)
{
    struct bench bench;
    bench_open(&bench, NESTS_WITHOUT_END);
    nesting = &bench;
    mca_btl_base_descriptor_t *descriptor = alloc_one(&bench, 64);
    descriptor->des_cbfunc = send_again;
    called = 0;
    bench.btl->btl_send(bench.btl, bench.endpoint, descriptor, 3);
    ck_assert_uint_eq(called, 300);
    expect_module("callbacks are nested 256 deep");
    bench_close(&bench);
}
END_TEST

START_TEST(nothing_calls_back_after_del_procs)
{
    struct bench bench;
    bench_open(&bench, CALLS_AFTER_DEL_PROCS);
    ck_assert_int_eq(send_one(&bench), OPAL_SUCCESS);
    opal_proc_t *proc = &bench.proc;
    bench.btl->btl_del_procs(bench.btl, 1, &proc, &bench.endpoint);
    bench.endpoint = NULL;
    expect_module("1 callbacks are missing");
    mock_progress(bench.mock);
    expect_module("calls back after del_procs");
    bench_close(&bench);
}
END_TEST

START_TEST(peers_have_endpoints_of_their_own)
{
    struct bench bench;
    bench_open(&bench, GIVES_ONE_ENDPOINT);
    opal_proc_t more[2] = {{.proc_name = {.jobid = 7, .vpid = 2}},
                           {.proc_name = {.jobid = 7, .vpid = 3}}};
    opal_proc_t *procs[2] = {&more[0], &more[1]};
    struct mca_btl_base_endpoint_t *endpoints[2];
    ck_assert_int_eq(bench.btl->btl_add_procs(bench.btl, 2, procs, endpoints, NULL), OPAL_SUCCESS);
    expect_module("the endpoint of [[0,7],2]");
    bench_close(&bench);
    reports();
}
END_TEST

static void take(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                 mca_btl_base_descriptor_t *descriptor, void *data)
{
    (void) btl, (void) tag, (void) descriptor, (void) data;
}

START_TEST(tags_are_registered)
{
    struct bench bench;
    bench_open(&bench, REGISTERS_NO_TAG);
    ck_assert_int_eq(bench.btl->btl_register(bench.btl, 9, take, NULL), OPAL_SUCCESS);
    expect_module("tag 9 was not registered");
    bench_close(&bench);
}
END_TEST

START_TEST(messages_lie_somewhere)
{
    struct bench bench;
    bench_open(&bench, NOTHING);
    mca_btl_base_segment_t segment = {.seg_addr.pval = NULL, .seg_len = 0};
    btl_deliver_on(&bench.mock->super, NULL, 0, 9, &segment, 1);
    ck_assert_uint_eq(reports(), 0);
    segment.seg_len = 4;
    btl_deliver_on(&bench.mock->super, NULL, 0, 9, &segment, 1);
    expect_module("segment 0 is nowhere");
    bench_close(&bench);
}
END_TEST

START_TEST(descriptors_keep_to_limits_and_segments)
{
    static const struct {
        enum mock_fault fault;
        size_t size;
        const char *words;
    } table[] = {{GIVES_TOO_MUCH, 1001, "gives 1001 bytes; btl_max_send_size is 1000"},
                 {GIVES_TWO_SEGMENTS, 64, "gives 2 segments, not one"}};
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct bench bench;
        bench_open(&bench, table[i].fault);
        ck_assert_ptr_nonnull(alloc_one(&bench, table[i].size));
        expect_module(table[i].words);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(prepare_src_does_what_it_says)
{
    static const struct {
        enum mock_fault fault;
        const char *words;
    } table[] = {{PREPARE_FAILS_AND_MOVES, "failed, and moved the convertor by 100 bytes"},
                 {PREPARE_LEAVES_IN_PLACE, "leaves data in place without SEND_INPLACE"}};
    unsigned char bytes[100] = {0};
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct bench bench;
        opal_convertor_t convertor;
        size_t size = sizeof(bytes);
        bench_open(&bench, table[i].fault);
        opal_convertor_prepare(&convertor, bytes, sizeof(bytes));
        bench.btl->btl_prepare_src(bench.btl, bench.endpoint, &convertor, MCA_BTL_NO_ORDER, 8,
                                   &size, 0);
        expect_module(table[i].words);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(sendi_keeps_to_its_values)
{
    static const struct {
        enum mock_fault fault;
        unsigned reports;
        const char *words;
    } table[] = {{SENDI_LEAVES_TOO_LITTLE, 1, "gives 8 bytes for 108"},
                 {SENDI_RETURNS_ONE, 2, "returned 1 and moved the convertor by 100 bytes"}};
    unsigned char bytes[100] = {0};
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct bench bench;
        opal_convertor_t convertor;
        mca_btl_base_descriptor_t *left = NULL;
        bench_open(&bench, table[i].fault);
        opal_convertor_prepare(&convertor, bytes, sizeof(bytes));
        bench.btl->btl_sendi(bench.btl, bench.endpoint, &convertor, bytes, 8, 100, MCA_BTL_NO_ORDER,
                             0, 3, &left);
        expect(table[i].reports, ": module: ", table[i].words);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(operations_end_well_or_with_an_error)
{
    struct bench bench;
    bench_open(&bench, RDMA_HAS_POSITIVE_STATUS);
    ck_assert_int_eq(put_one(&bench), OPAL_SUCCESS);
    expect_module("calls back with status 1");
    bench_close(&bench);
}
END_TEST

START_TEST(atomics_that_are_not_offered_are_refused)
{
    for (int bad = 0; bad < 2; bad++) {
        struct bench bench;
        uint64_t word = 0;
        bench_open(&bench, bad ? RDMA_TAKES_ALL : NOTHING);
        int status = bench.btl->btl_atomic_cswap(bench.btl, bench.endpoint, &word, 8, NULL,
                                                 (void *) &mock_handle, 0, 1, 0, MCA_BTL_NO_ORDER,
                                                 done, NULL, NULL);
        ck_assert_int_eq(status, bad ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE);
        expect(1 + (unsigned) bad, bad ? ": module: " : ": caller: ",
               bad ? "took what is not advertised" : "is not advertised");
        bench_close(&bench);
    }
}
END_TEST

START_TEST(handles_are_apart_and_given_back)
{
    struct bench bench;
    char memory[64];
    bench_open(&bench, GIVES_ONE_HANDLE);
    mca_btl_base_registration_handle_t *first =
        bench.btl->btl_register_mem(bench.btl, NULL, memory, 16, MCA_BTL_REG_FLAG_REMOTE_READ);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(bench.btl->btl_register_mem(bench.btl, NULL, memory + 16, 16,
                                                   MCA_BTL_REG_FLAG_REMOTE_READ));
    expect_module("hands out a handle that is in use");
    ck_assert_int_eq(bench.btl->btl_deregister_mem(bench.btl, first), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(
        bench.btl->btl_register_mem(bench.btl, NULL, memory, 16, MCA_BTL_REG_FLAG_REMOTE_READ));
    ck_assert_uint_eq(reports(), 0);
    bench_close(&bench);

    bench_open(&bench, REFUSES_TO_DEREGISTER);
    first = bench.btl->btl_register_mem(bench.btl, NULL, memory, 16, MCA_BTL_REG_FLAG_REMOTE_READ);
    ck_assert_int_eq(bench.btl->btl_deregister_mem(bench.btl, first), OPAL_ERR_NOT_FOUND);
    expect_module("deregister_mem");
    bench_close(&bench);
}
END_TEST

/* ---- checkpoints ---- */

/* A hold that lets everything through. */
static void let_through(struct btl_tap *tap, struct btl_call *call)
{
    btl_tap_next(tap, call);
}

static const struct btl_tap_ops leaks = {.place = BTL_TAP_HOLD, .call = let_through};
static struct btl_tap leak = {.ops = &leaks};

START_TEST(a_held_module_takes_nothing)
{
    struct bench bench;
    unsigned char byte = 0;
    bench_open(&bench, NOTHING);
    btl_tap_add(&bench.mock->taps, &leak);
    send_one(&bench);
    expect_module("returned 0 while a checkpoint holds it");
    put_one(&bench);
    expect_module("returned 0 while a checkpoint holds it");
    bench.btl->btl_sendi(bench.btl, bench.endpoint, NULL, &byte, 1, 0, MCA_BTL_NO_ORDER, 0, 3,
                         NULL);
    expect_module("returned 0 while a checkpoint holds it");
    btl_tap_remove(&leak);
    put_one(&bench);
    ck_assert_uint_eq(reports(), 0);
    bench_close(&bench);
}
END_TEST

START_TEST(a_checkpoint_leaves_nothing_open)
{
    struct bench bench;
    bench_open(&bench, NOTHING);
    send_one(&bench);
    btl_taps_drained(&bench.mock->taps);
    expect_module("says that all is complete while 1 callbacks are to come");
    mock_progress(bench.mock);
    btl_taps_drained(&bench.mock->taps);
    ck_assert_uint_eq(reports(), 0);
    bench_close(&bench);
}
END_TEST

/* ---- keel_btl_ext ---- */

START_TEST(a_flush_returns_when_all_is_complete)
{
    struct bench bench;
    bench_open(&bench, RDMA_NEVER_CALLS);
    const struct keel_btl_ext *ext = keel_btl_ext(bench.btl);
    ck_assert_int_eq(ext->flush(bench.btl, NULL), OPAL_SUCCESS);
    ck_assert_uint_eq(reports(), 0);
    ck_assert_int_eq(put_one(&bench), OPAL_SUCCESS);
    for (int all = 0; all < 2; all++) {
        ext->flush(bench.btl, all ? NULL : bench.endpoint);
        expect_module("returned while 1 operations are not complete");
    }
    bench_close(&bench);
}
END_TEST

static void ready(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                  struct keel_btl_pending *pending, int status)
{
    struct bench *bench = pending->arg;
    ck_assert(btl == bench->btl && endpoint == bench->endpoint && status == OPAL_ERR_UNREACH);
    called++;
}

START_TEST(requests_are_called_before_their_endpoint_ends)
{
    for (int bad = 0; bad < 2; bad++) {
        struct bench bench;
        struct keel_btl_pending pending = {.ready = ready, .arg = &bench};
        bench_open(&bench, bad ? FORGETS_REQUESTS : NOTHING);
        const struct keel_btl_ext *ext = keel_btl_ext(bench.btl);
        ck_assert_int_eq(ext->pending_add(bench.btl, bench.endpoint, &pending), OPAL_SUCCESS);
        called = 0;
        opal_proc_t *proc = &bench.proc;
        bench.btl->btl_del_procs(bench.btl, 1, &proc, &bench.endpoint);
        bench.endpoint = NULL;
        ck_assert_uint_eq(called, bad ? 0 : 1);
        if (bad) {
            expect_module("a request that waits for room was not called");
            ck_assert_int_eq(ext->pending_remove(bench.btl, &pending), OPAL_SUCCESS);
        }
        bench_close(&bench);
        ck_assert_uint_eq(reports(), 0);
    }
}
END_TEST

/* ---- callers ---- */

START_TEST(convertors_have_what_is_sent)
{
    struct bench bench;
    opal_convertor_t convertor;
    unsigned char bytes[100] = {0};
    size_t size = 10;
    bench_open(&bench, NOTHING);
    opal_convertor_prepare(&convertor, bytes, sizeof(bytes));
    ck_assert_int_eq(bench.btl->btl_sendi(bench.btl, bench.endpoint, &convertor, bytes, 8, 101,
                                          MCA_BTL_NO_ORDER, 0, 3, NULL),
                     OPAL_ERR_BAD_PARAM);
    expect_caller("the convertor has 100 bytes left of 101");
    ck_assert_ptr_null(
        bench.btl->btl_prepare_src(bench.btl, bench.endpoint, NULL, MCA_BTL_NO_ORDER, 8, &size, 0));
    expect_caller("the convertor is NULL");
    ck_assert_ptr_null(bench.btl->btl_prepare_src(bench.btl, bench.endpoint, &convertor,
                                                  MCA_BTL_NO_ORDER, 8, NULL, 0));
    expect_caller("the size is NULL");
    bench_close(&bench);
}
END_TEST

START_TEST(regions_are_memory)
{
    struct bench bench;
    char memory[8];
    bench_open(&bench, NOTHING);
    ck_assert_ptr_null(bench.btl->btl_register_mem(bench.btl, NULL, memory, SIZE_MAX,
                                                   MCA_BTL_REG_FLAG_REMOTE_READ));
    expect_caller("are no region");
    ck_assert_ptr_null(bench.btl->btl_register_mem(bench.btl, NULL, memory, 8, 0x100));
    expect_caller("are no region");
    ck_assert_ptr_null(bench.btl->btl_register_mem(bench.btl, (void *) memory, memory, 8,
                                                   MCA_BTL_REG_FLAG_REMOTE_READ));
    expect_caller("is no endpoint of this module");
    bench_close(&bench);
}
END_TEST

static void finalize(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                     mca_btl_base_descriptor_t *descriptor, void *data)
{
    (void) tag, (void) descriptor, (void) data;
    btl->btl_finalize(btl);
    expect_caller("finalize: caller: called inside a callback");
    _exit(reports() ? 1 : 0); /* there is nothing left to go on with */
}

START_TEST(nobody_finalizes_inside_a_callback)
{
    struct bench bench;
    unsigned char byte = 1;
    mca_btl_base_segment_t segment = {.seg_addr.pval = &byte, .seg_len = 1};
    bench_open(&bench, NOTHING);
    ck_assert_int_eq(bench.btl->btl_register(bench.btl, 9, finalize, NULL), OPAL_SUCCESS);
    btl_deliver_on(&bench.mock->super, NULL, 0, 9, &segment, 1);
    ck_abort_msg("it came back");
}
END_TEST

UNIT_MAIN("check-rules")
