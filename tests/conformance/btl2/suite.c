/* suite MODULE [PROCESSES [CASE ...]]: runs the conformance cases of BTL 2.0 over one module, or
 * those that are named; TAP output. */
#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl2/suite.h>

_Static_assert(sizeof(struct board) <= MINIHOST_SHARED_PER_RANK, "the board fits");

static struct test *current; /* this process's */

struct board *board_of(struct test *test, int rank)
{
    return (struct board *) (void *) (test->host->shared +
                                      (size_t) rank * MINIHOST_SHARED_PER_RANK);
}

/* ---- progress ---- */

static int all_progress(void)
{
    return keel_host_progress() + minihost_progress(current->host);
}

void pump(struct test *test)
{
    minihost_check(test->host);
    if (all_progress() == 0) {
        sched_yield();
    }
}

void pump_until(struct test *test, const unsigned *count, unsigned wanted)
{
    while (*(const volatile unsigned *) count < wanted) {
        pump(test);
    }
    for (int i = 0; i < 100; i++) {
        pump(test);
    }
    must(test, *count == wanted);
}

void meet(struct test *test)
{
    minihost_barrier(test->host, all_progress);
}

void stop(struct test *test)
{
    minihost_barrier(test->host, NULL);
}

/* ---- calls ---- */

void count_success(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                   mca_btl2_base_descriptor_t *descriptor, int status)
{
    must(current, status == OPAL_SUCCESS && btl == current->btl);
    must(current, endpoint == current->endpoints[current->right]);
    ++*(unsigned *) descriptor->des_cbdata;
}

mca_btl2_base_descriptor_t *alloc_wait(struct test *test, size_t size, uint32_t flags)
{
    mca_btl2_base_descriptor_t *made;
    while (!(made = test->btl->btl_alloc(test->btl, test->endpoints[test->right], MCA_BTL2_NO_ORDER,
                                         size, flags))) {
        pump(test);
    }
    must(test, made->des_src_cnt == 1 && made->des_src[0].seg_len == size);
    must(test, made->des_dst_cnt == 0 && made->des_flags == flags);
    return made;
}

mca_btl2_base_descriptor_t *prepare_wait(struct test *test, bool src, opal_convertor_t *convertor,
                                         size_t reserve, size_t *size, uint32_t flags)
{
    mca_btl2_base_module_t *btl = test->btl;
    mca_btl2_base_descriptor_t *made;
    size_t before = convertor->bytes_converted;
    while (!(made = (src ? btl->btl_prepare_src
                         : btl->btl_prepare_dst)(btl, test->endpoints[test->right], NULL, convertor,
                                                 MCA_BTL2_NO_ORDER, reserve, size, flags))) {
        must(test, convertor->bytes_converted == before);
        pump(test);
    }
    must(test, convertor->bytes_converted == before + *size);
    return made;
}

static bool is_shortage(int status)
{
    return status == OPAL_ERR_OUT_OF_RESOURCE || status == OPAL_ERR_TEMP_OUT_OF_RESOURCE ||
           status == OPAL_ERR_RESOURCE_BUSY;
}

void send_wait(struct test *test, mca_btl2_base_descriptor_t *descriptor, uint8_t tag)
{
    uint32_t owned = descriptor->des_flags & MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP;
    int status;
    while ((status = test->btl->btl_send(test->btl, test->endpoints[test->right], descriptor,
                                         tag)) != OPAL_SUCCESS) {
        must(test, is_shortage(status));
        descriptor->des_flags &= ~owned; /* earlier sends of it may complete meanwhile */
        pump(test);
        descriptor->des_flags |= owned;
    }
}

int access_wait(struct test *test, mca_btl2_base_descriptor_t *descriptor, bool put)
{
    mca_btl2_base_module_t *btl = test->btl;
    uint32_t owned = descriptor->des_flags & MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP;
    int status;
    while (is_shortage(status = (put ? btl->btl_put : btl->btl_get)(
                           btl, test->endpoints[test->right], descriptor))) {
        descriptor->des_flags &= ~owned;
        pump(test);
        descriptor->des_flags |= owned;
    }
    return status;
}

/* ---- cases ---- */

/* An error in the log that no case declared is a failure. */
static void log_sink(void *arg, enum log_level level, const char *line)
{
    struct test *test = arg;
    if (level == LOG_ERROR && !(test->test_case->asks_too_much && strstr(line, ": caller: "))) {
        minihost_fail(test->host, "an error was logged: %s", line);
    }
}

static void add_all(struct test *test)
{
    struct ompi_proc_t *procs[4];
    opal_bitmap_t reachable;
    size_t size = (size_t) test->host->size;
    for (size_t i = 0; i < size; i++) {
        procs[i] = (struct ompi_proc_t *) &test->host->procs[i];
    }
    OBJ_CONSTRUCT(&reachable, opal_bitmap_t);
    must(test, opal_bitmap_init(&reachable, (int) size) == OPAL_SUCCESS);
    must(test, test->btl->btl_add_procs(test->btl, size, procs, test->endpoints, &reachable) ==
                   OPAL_SUCCESS);
    for (size_t i = 0; i < size; i++) {
        must(test, opal_bitmap_is_set_bit(&reachable, (int) i) == (test->endpoints[i] != NULL));
    }
    OBJ_DESTRUCT(&reachable);
    test->right = (test->rank + 1) % (int) size;
    test->left = (test->rank + (int) size - 1) % (int) size;
    if (!test->endpoints[test->right]) {
        test->right = test->left = test->rank;
    }
    must(test, test->endpoints[test->right]);
}

static void del_all(struct test *test)
{
    for (int i = 0; i < test->host->size; i++) {
        struct ompi_proc_t *proc = (struct ompi_proc_t *) &test->host->procs[i];
        must(test, !test->endpoints[i] ||
                       test->btl->btl_del_procs(test->btl, 1, &proc, &test->endpoints[i]) ==
                           OPAL_SUCCESS);
    }
}

static void nothing_is_left(struct test *test)
{
    const struct btl2_module *module = btl2_of(test->btl);
    must(test, module->descs.in_use == 0);
    must(test, module->ops.in_use == 0);
    must(test, module->regions.in_use == 0);
}

static const char *module_name; /* of this run */

static void open_all(struct test *test)
{
    char reason[512] = "";
    size_t count;
    must(test, keel_btl2_modules(&count) == NULL && count == 0);
    must(test, param_override("btl", module_name) == ORTE_SUCCESS);
    if (keel_host_open(&minihost_ops, test->host, NULL, reason, sizeof(reason)) != OPAL_SUCCESS) {
        minihost_fail(test->host, "%s", reason);
    }
    mca_btl2_base_module_t **modules = keel_btl2_modules(&count);
    must(test, modules && count >= 1);
    must(test, keel_btl2_modules(&count) == modules);
    test->btl = modules[0];
    test->inner = btl_modules(&count)[0];
    stop(test);
    add_all(test);
    stop(test);
}

static int run_case(struct minihost *host, void *arg)
{
    const char *checked = getenv("KEEL_MCA_btl_check");
    struct test test = {.host = host, .rank = host->rank, .test_case = arg};
    test.checked = checked && strcmp(checked, "1") == 0;
    current = &test;
    log_set_sink(log_sink, &test);
    open_all(&test);
    test.test_case->run(&test);
    meet(&test);
    nothing_is_left(&test);
    del_all(&test);
    must(&test, test.btl->btl_finalize(test.btl) == OPAL_SUCCESS);
    stop(&test);
    must(&test, keel_host_close() == OPAL_SUCCESS);
    return 0;
}

static int number, failures;

static void run_one(int size, const struct test_case *test_case)
{
    struct minihost_options options = {
        .size = size,
        .timeout_ms = getenv("KEEL_TEST_SLOW") ? 120000 : 40000,
    };
    char reason[512] = "";
    struct test_case of_my_own = *test_case;
    bool ok = minihost_run(&options, run_case, &of_my_own, reason, sizeof(reason));
    printf("%sok %d - 2.0 over %s x%d: %s%s%s\n", ok ? "" : "not ", ++number, module_name, size,
           test_case->name, ok ? "" : " # ", reason);
    fflush(stdout);
    failures += !ok;
}

static bool is_wanted(const struct test_case *test_case, char *const *names, int size)
{
    bool named = !*names;
    for (; *names; names++) {
        named = named || strcmp(*names, test_case->name) == 0;
    }
    return named && (size > 1 || !test_case->others);
}

static bool is_known(void)
{
    for (size_t i = 0; btl_components[i]; i++) {
        const struct btl_component *component = btl_components[i];
        if (strcmp(btl_component_name(&component->component), module_name) == 0) {
            return !component->lacks;
        }
    }
    return false;
}

/* Opens the module in this process, too, so that those it forks find its library loaded. */
static void warm_up(void)
{
    char reason[256] = "";
    if (param_override("btl", module_name) == ORTE_SUCCESS &&
        btl_open(&minihost_alone, NULL, reason, sizeof(reason)) == ORTE_SUCCESS) {
        btl_close();
    }
}

int main(int argc, char **argv)
{
    static const struct test_case *const groups[] = {send_cases, access_cases};
    if (argc < 2) {
        fprintf(stderr, "usage: suite MODULE [PROCESSES [CASE ...]]\n");
        return 2;
    }
    module_name = argv[1];
    int size = argc > 2 ? atoi(argv[2]) : 2;
    char *const *names = argc > 3 ? argv + 3 : argv + argc;
    if (!is_known()) {
        printf("1..0 # SKIP there is no component %s\n", module_name);
        return 0;
    }
    warm_up();
    for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++) {
        for (const struct test_case *at = groups[g]; at->name; at++) {
            if (is_wanted(at, names, size)) {
                run_one(size, at);
            }
        }
    }
    printf("1..%d\n", number);
    return failures || number == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
