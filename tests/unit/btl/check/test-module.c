/* What the checking module reports of a module: a mock that breaks each rule in turn. */
#include <tests/lib/unit.h>
#include <tests/unit/btl/check/mock.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/check/check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
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
    (void) btl, (void) endpoint, (void) address, (void) handle;
    ck_assert_ptr_eq(context, &called);
    ck_assert_ptr_eq(data, done);
    ck_assert_int_eq(status, OPAL_SUCCESS);
    called++;
}

/* One line, which names the mock, the peer and what was wrong. */
static void one_report(enum mock_fault fault, const char *operation, const char *what)
{
    if (fault == NOTHING) {
        ck_assert_msg(reports() == 0, "%s", last_report);
        return;
    }
    ck_assert_msg(reports() == 1, "fault %d: %s", (int) fault, last_report);
    ck_assert_ptr_nonnull(strstr(last_report, "check: mock, "));
    ck_assert_ptr_nonnull(strstr(last_report, ": module: "));
    ck_assert_msg(strstr(last_report, operation) != NULL, "%s", last_report);
    ck_assert_msg(strstr(last_report, what) != NULL, "%s", last_report);
    ck_assert_ptr_nonnull(strstr(last_report, "; at "));
}

static mca_btl_base_descriptor_t *alloc_with(struct bench *bench, uint32_t flags)
{
    mca_btl_base_descriptor_t *made =
        bench->btl->btl_alloc(bench->btl, bench->endpoint, MCA_BTL_NO_ORDER, 64, flags);
    ck_assert_ptr_nonnull(made);
    made->des_cbfunc = sent;
    return made;
}

START_TEST(callbacks_of_send_are_counted)
{
    static const struct {
        enum mock_fault fault;
        uint32_t flags;
        const char *what;
        unsigned called;
    } table[] = {
        {NOTHING, 0, "", 1},
        {NOTHING, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP, "", 1},
        {CALLS_UNASKED, 0, "returned 1 after a callback that nobody asked for", 1},
        {CALLS_NOT_THOUGH_ASKED, MCA_BTL_DES_SEND_ALWAYS_CALLBACK, "without the callback", 0},
        {CALLS_TWICE, 0, "not in flight", 1},
        {CALLS_TWICE, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP, "not in flight", 1},
        {CALLS_LATE_AND_TWICE, 0, "not in flight", 1},
        {CALLS_AND_REFUSES, 0, "returned -2 after its callback", 1},
        {REFUSES_AND_CHANGES_FLAGS, 0, "changed des_flags", 0},
        {RETURNS_TWO, 0, "returned 2", 0},
        {NAMES_ANOTHER_ENDPOINT, 0, "another endpoint", 1},
        {HAS_POSITIVE_STATUS, 0, "has status 1", 1},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct bench bench;
        bench_open(&bench, table[i].fault);
        called = 0;
        mca_btl_base_descriptor_t *descriptor = alloc_with(&bench, table[i].flags);
        int status = bench.btl->btl_send(bench.btl, bench.endpoint, descriptor, 3);
        ck_assert_uint_eq(bench.mock->sends, 1);
        mock_progress(bench.mock);
        ck_assert_uint_eq(called, table[i].called);
        one_report(table[i].fault, "send", table[i].what);
        if (!(table[i].flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP) && status != 2) {
            ck_assert_int_eq(bench.btl->btl_free(bench.btl, descriptor), OPAL_SUCCESS);
        }
        bench_close(&bench);
        reports();
    }
}
END_TEST

START_TEST(missing_callbacks_are_noticed_when_the_peer_goes)
{
    for (int rdma = 0; rdma < 2; rdma++) {
        struct bench bench;
        bench_open(&bench, FORGETS_CALLBACKS);
        if (rdma) {
            uint64_t word = 0;
            ck_assert_int_eq(bench.btl->btl_put(bench.btl, bench.endpoint, &word, 0, NULL,
                                                (void *) &mock_handle, 8, 0, 0, done, &called,
                                                done),
                             OPAL_SUCCESS);
        } else {
            ck_assert_int_eq(
                bench.btl->btl_send(bench.btl, bench.endpoint, alloc_with(&bench, 0), 3),
                OPAL_SUCCESS);
        }
        ck_assert_uint_eq(reports(), 0);
        opal_proc_t *proc = &bench.proc;
        bench.btl->btl_del_procs(bench.btl, 1, &proc, &bench.endpoint);
        one_report(FORGETS_CALLBACKS, "del_procs", "1 callbacks are missing");
        bench.endpoint = NULL;
        bench_close(&bench);
        ck_assert_uint_eq(reports(), 0);
    }
}
END_TEST

START_TEST(missing_callbacks_are_noticed_at_the_end)
{
    struct bench bench;
    bench_open(&bench, FORGETS_CALLBACKS);
    ck_assert_int_eq(bench.btl->btl_send(bench.btl, bench.endpoint, alloc_with(&bench, 0), 3), 0);
    bench.endpoint = NULL;
    bench_close(&bench);
    one_report(FORGETS_CALLBACKS, "finalize", "1 callbacks are missing");
}
END_TEST

START_TEST(a_failure_comes_after_the_callbacks)
{
    struct bench bench;
    bench_open(&bench, FAILS_BEFORE_CALLBACKS);
    ck_assert_int_eq(bench.btl->btl_send(bench.btl, bench.endpoint, alloc_with(&bench, 0), 3), 0);
    bench_close(&bench);
    one_report(FAILS_BEFORE_CALLBACKS, "error", "1 callbacks are to come");
}
END_TEST

START_TEST(operations_call_back_once)
{
    static const struct {
        enum mock_fault fault;
        size_t size;
        const char *what;
        unsigned called;
    } table[] = {
        {NOTHING, 8, "", 1},
        {RDMA_CALLS_TWICE, 8, "calls back twice", 1},
        {RDMA_CALLS_AND_REFUSES, 8, "returned -2 after its callback", 1},
        {RDMA_RETURNS_ONE, 8, "returned 1", 0},
        {RDMA_CHANGES_ADDRESS, 8, "another endpoint, address or handle", 1},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct bench bench;
        uint64_t word = 0;
        bench_open(&bench, table[i].fault);
        called = 0;
        bench.btl->btl_put(bench.btl, bench.endpoint, &word, 0, NULL, (void *) &mock_handle,
                           table[i].size, 0, MCA_BTL_NO_ORDER, done, &called, done);
        ck_assert_uint_eq(called, table[i].called);
        one_report(table[i].fault, "put", table[i].what);
        bench_close(&bench);
        ck_assert_uint_eq(reports(), 0);
    }
}
END_TEST

START_TEST(what_is_taken_beyond_a_limit_is_the_modules_fault_too)
{
    static uint64_t words[500];
    static const struct {
        size_t size;
        uint64_t address;
        bool put;
    } table[] = {{1004, 0, true}, {8, 2, true}, {6, 0, true}, {8, 0, false}};
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        for (int bad = 0; bad < 2; bad++) {
            struct bench bench;
            bench_open(&bench, bad ? RDMA_TAKES_ALL : NOTHING);
            called = 0;
            mca_btl_base_module_put_fn_t function =
                table[i].put ? bench.btl->btl_put : bench.btl->btl_get;
            int status = function(bench.btl, bench.endpoint, words, table[i].address, NULL,
                                  (void *) &mock_handle, table[i].size, 0, MCA_BTL_NO_ORDER, done,
                                  &called, done);
            ck_assert_int_eq(status, bad ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE);
            ck_assert_uint_eq(reports(), 1 + (unsigned) bad);
            ck_assert_ptr_nonnull(strstr(last_report, bad ? "module: took" : ": caller: "));
            bench_close(&bench);
        }
    }
}
END_TEST

START_TEST(a_finished_atomic_calls_nobody)
{
    struct bench bench;
    uint64_t word = 0;
    bench_open(&bench, ATOMIC_CALLS_AND_RETURNS_ONE);
    bench.btl->btl_atomic_fop(bench.btl, bench.endpoint, &word, 8, NULL, (void *) &mock_handle,
                              MCA_BTL_ATOMIC_ADD, 1, 0, MCA_BTL_NO_ORDER, done, &called, done);
    one_report(ATOMIC_CALLS_AND_RETURNS_ONE, "atomic_fop", "returned 1 after its callback");
    bench_close(&bench);
}
END_TEST

START_TEST(descriptors_are_as_they_were_asked_for)
{
    static const struct {
        enum mock_fault fault;
        const char *what;
    } table[] = {{GIVES_TOO_LITTLE, "gives 32 bytes for 64"},
                 {GIVES_IT_TWICE, "in use"},
                 {GIVES_WITH_CALLBACK, "and a callback"}};
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct bench bench;
        bench_open(&bench, table[i].fault);
        for (int twice = 0; twice <= (table[i].fault == GIVES_IT_TWICE); twice++) {
            bench.btl->btl_alloc(bench.btl, bench.endpoint, MCA_BTL_NO_ORDER, 64, 0);
        }
        one_report(table[i].fault, "alloc", table[i].what);
        bench_close(&bench);
    }
}
END_TEST

START_TEST(convertors_move_as_far_as_is_said)
{
    static const enum mock_fault faults[] = {NOTHING, PREPARE_MOVES_TOO_FAR};
    unsigned char bytes[100] = {0};
    for (size_t i = 0; i < 2; i++) {
        struct bench bench;
        opal_convertor_t convertor;
        size_t size = 100;
        bench_open(&bench, faults[i]);
        opal_convertor_prepare(&convertor, bytes, sizeof(bytes));
        ck_assert_ptr_nonnull(bench.btl->btl_prepare_src(bench.btl, bench.endpoint, &convertor,
                                                         MCA_BTL_NO_ORDER, 8, &size, 0));
        one_report(faults[i], "prepare_src", "took 99 of 100 bytes and moved by 100");
        bench_close(&bench);
    }
}
END_TEST

START_TEST(sendi_leaves_what_it_says)
{
    static const struct {
        enum mock_fault fault;
        size_t header;
        const char *what;
        unsigned reports;
    } table[] = {
        {NOTHING, 8, "", 0},
        {SENDI_MOVES_AND_FAILS, 8, "moved the convertor by 100", 1},
        {SENDI_LEAVES_A_DESCRIPTOR, 8, "returned 0 and a descriptor", 1},
        {SENDI_TAKES_TOO_MUCH, 950, "took 1050 bytes", 2}, /* the caller asked for it */
    };
    static unsigned char bytes[1000];
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct bench bench;
        opal_convertor_t convertor;
        mca_btl_base_descriptor_t *left;
        bench_open(&bench, table[i].fault);
        opal_convertor_prepare(&convertor, bytes, 100);
        bench.btl->btl_sendi(bench.btl, bench.endpoint, &convertor, bytes, table[i].header, 100,
                             MCA_BTL_NO_ORDER, 0, 3, &left);
        ck_assert_uint_eq(reports(), table[i].reports);
        ck_assert(table[i].reports == 0 || strstr(last_report, table[i].what));
        bench_close(&bench);
    }
}
END_TEST

START_TEST(bitmap_and_endpoints_agree)
{
    struct bench bench;
    bench_open(&bench, SETS_NO_BIT);
    one_report(SETS_NO_BIT, "add_procs", "the bitmap says not reachable");
    bench_close(&bench);
}
END_TEST

static unsigned delivered;

static void receive(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                    mca_btl_base_descriptor_t *descriptor, void *data)
{
    struct bench *bench = data;
    ck_assert_ptr_eq(btl, bench->btl);
    ck_assert_uint_eq(tag, 9);
    ck_assert_ptr_null(descriptor->des_context);
    delivered++;
}

START_TEST(messages_come_from_endpoints_of_the_callers)
{
    static unsigned char bytes[2000];
    struct bench bench;
    bench_open(&bench, NOTHING);
    mca_btl_base_module_t *mock = &bench.mock->super;
    mca_btl_base_segment_t segment = {.seg_addr.pval = bytes, .seg_len = 8};
    ck_assert_int_eq(bench.btl->btl_register(bench.btl, 9, receive, &bench), OPAL_SUCCESS);
    btl_deliver_on(mock, NULL, 0, 9, &segment, 1);
    ck_assert_uint_eq(reports(), 0);
    btl_deliver_on(mock, (void *) bytes, 0, 9, &segment, 1);
    one_report(CALLS_TWICE, "deliver", "an endpoint that its caller does not have");
    segment.seg_len = sizeof(bytes);
    btl_deliver_on(mock, NULL, 0, 9, &segment, 1);
    one_report(CALLS_TWICE, "deliver", "a message of 2000 bytes; btl_max_send_size is 1000");
    btl_deliver_on(mock, NULL, 0, 9, &segment, 0);
    one_report(CALLS_TWICE, "deliver", "a message of 0 segments");
    ck_assert_uint_eq(delivered, 4);
    bench.btl->btl_register(bench.btl, 9, NULL, NULL);
    bench_close(&bench);
}
END_TEST

START_TEST(tables_that_contradict_themselves)
{
    for (int i = 0; i < 8; i++) {
        struct bench bench;
        bench_open(&bench, NOTHING);
        mca_btl_base_module_t bad = bench.mock->taps.own;
        bad.btl_eager_limit = i == 0 ? bad.btl_max_send_size + 1 : bad.btl_eager_limit;
        bad.btl_registration_handle_size = i == 1 ? 300 : bad.btl_registration_handle_size;
        bad.btl_put_limit = i == 2 ? 0 : bad.btl_put_limit;
        bad.btl_put_alignment = i == 3 ? 6 : bad.btl_put_alignment;
        bad.btl_atomic_flags = i == 4 ? 0 : bad.btl_atomic_flags;
        bad.btl_dump = i == 5 ? NULL : bad.btl_dump;
        bad.btl_mpool = i == 6 ? (void *) &bad : NULL;
        bad.btl_rndv_eager_limit = i == 7 ? bad.btl_max_send_size + 1 : bad.btl_rndv_eager_limit;
        bench_close(&bench);
        struct mock *made = calloc(1, sizeof(*made));
        ck_assert_ptr_nonnull(made);
        made->super = bad;
        mock_begin(made);
        one_report(CALLS_TWICE, "init", "");
        mock_end(made);
    }
}
END_TEST

START_TEST(abort_ends_the_process_at_the_breach)
{
    ck_assert_int_eq(param_override("btl_check_action", "abort"), ORTE_SUCCESS);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        struct bench bench;
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        bench_open(&bench, SETS_NO_BIT);
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
END_TEST

static void count_rest(void *count, enum log_level level, const char *line)
{
    *(unsigned *) count += level == LOG_WARN && strstr(line, " 7 more breaches") != NULL;
}

START_TEST(the_log_is_not_flooded)
{
    struct bench bench, faultless;
    unsigned rest = 0;
    ck_assert_int_eq(param_override("btl_check_max", "3"), ORTE_SUCCESS);
    bench_open(&bench, NOTHING);
    for (int i = 0; i < 10; i++) {
        bench.btl->btl_free(bench.btl, (void *) &bench);
    }
    ck_assert_uint_eq(reports(), 3);
    ck_assert_uint_eq(check_breaches(), 10);
    log_set_sink(count_rest, &rest);
    bench_close(&bench);
    ck_assert_uint_eq(rest, 1);
    bench_open(&faultless, NOTHING);
    log_set_sink(count_rest, &rest);
    bench_close(&faultless);
    ck_assert_uint_eq(rest, 1);
}
END_TEST

UNIT_MAIN("check-module")
