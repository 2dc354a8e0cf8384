/* btl MODULE [PROCESSES [CASE ... | -CASE ...]]: runs the conformance cases over one module, those
 * that are named or all but those; TAP output. */
#include <config.h>

#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/lock/lock.h>
#include <btl/memory/desc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

_Static_assert(sizeof(struct board) <= MINIHOST_SHARED_PER_RANK, "the board fits");

static struct test *current; /* this process's */

struct board *board_of(struct test *test, int rank)
{
    return (struct board *) (void *) (test->host->shared +
                                      (size_t) rank * MINIHOST_SHARED_PER_RANK);
}

/* A progress thread polls by itself, where this thread lets it. */
static int all_progress(void)
{
    bool left_to_thread = btl_threads().progress && btl_lock_holds() == 0;
    return (left_to_thread ? 0 : btl_progress()) + minihost_progress(current->host);
}

int pump(struct test *test)
{
    minihost_check(test->host);
    int events = all_progress();
    if (events == 0) {
        sched_yield();
    }
    return events;
}

void pump_until(struct test *test, const atomic_ulong *count, unsigned long wanted)
{
    while (atomic_load(count) < wanted) {
        pump(test);
    }
    must(test, atomic_load(count) == wanted);
}

void pump_idle(struct test *test)
{
    for (int i = 0; i < 500; i++) {
        btl_progress(); /* whoever else polls */
        pump(test);
    }
}

void freeze(struct test *test)
{
    (void) test;
    btl_lock();
}

void thaw(struct test *test)
{
    (void) test;
    btl_unlock();
}

void synchronize(struct test *test)
{
    freeze(test);
    thaw(test);
}

void meet(struct test *test)
{
    synchronize(test);
    minihost_barrier(test->host, all_progress);
    synchronize(test);
}

void stop(struct test *test)
{
    minihost_barrier(test->host, NULL);
}

void halt(struct test *test)
{
    freeze(test);
    stop(test);
}

void resume(struct test *test)
{
    stop(test);
    thaw(test);
}

void add_all(struct test *test)
{
    opal_proc_t *procs[16];
    for (int i = 0; i < test->size; i++) {
        procs[i] = &test->host->procs[i];
    }
    opal_bitmap_t reachable;
    OBJ_CONSTRUCT(&reachable, opal_bitmap_t);
    must(test, opal_bitmap_init(&reachable, test->size) == OPAL_SUCCESS);
    int status = test->btl->btl_add_procs(test->btl, (size_t) test->size, procs, test->endpoints,
                                          &reachable);
    must(test, status == OPAL_SUCCESS);
    for (int i = 0; i < test->size; i++) {
        must(test, opal_bitmap_is_set_bit(&reachable, i) == (test->endpoints[i] != NULL));
    }
    OBJ_DESTRUCT(&reachable);
}

void find_neighbours(struct test *test)
{
    test->right = (test->rank + 1) % test->size;
    test->left = (test->rank + test->size - 1) % test->size;
    if (!test->endpoints[test->right] && test->endpoints[test->rank]) {
        test->right = test->left = test->rank;
    }
}

mca_btl_base_registration_handle_t *show_data(struct test *test, size_t size, uint32_t flags)
{
    struct board *mine = board_of(test, test->rank);
    mca_btl_base_registration_handle_t *handle =
        test->btl->btl_register_mem(test->btl, MCA_BTL_ENDPOINT_ANY, mine->data, size, flags);
    must(test, handle);
    memcpy(mine->handle, handle, test->btl->btl_registration_handle_size);
    mine->base = (uint64_t) (uintptr_t) mine->data;
    return handle;
}

bool is_shortage(int status)
{
    return status == OPAL_ERR_OUT_OF_RESOURCE || status == OPAL_ERR_TEMP_OUT_OF_RESOURCE ||
           status == OPAL_ERR_RESOURCE_BUSY;
}

mca_btl_base_descriptor_t *alloc_wait(struct test *test, int to, size_t size, uint32_t flags)
{
    for (;;) {
        mca_btl_base_descriptor_t *descriptor =
            test->btl->btl_alloc(test->btl, test->endpoints[to], MCA_BTL_NO_ORDER, size, flags);
        if (descriptor) {
            must(test, descriptor->des_segment_count == 1);
            must(test, descriptor->des_segments[0].seg_len == size);
            return descriptor;
        }
        pump(test);
    }
}

void send_wait(struct test *test, int to, mca_btl_base_descriptor_t *descriptor, uint8_t tag)
{
    descriptor->des_flags |= MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    for (;;) {
        int status = test->btl->btl_send(test->btl, test->endpoints[to], descriptor, tag);
        if (status >= 0) {
            must(test, status <= 1);
            return;
        }
        must(test, is_shortage(status));
        pump(test);
    }
}

void send_bytes(struct test *test, int to, const void *data, size_t size, uint8_t tag)
{
    mca_btl_base_descriptor_t *descriptor = alloc_wait(test, to, size, 0);
    if (size > 0) {
        memcpy(descriptor->des_segments[0].seg_addr.pval, data, size);
    }
    send_wait(test, to, descriptor, tag);
}

const unsigned char *received(struct test *test, const mca_btl_base_descriptor_t *descriptor,
                              size_t *size)
{
    static unsigned char *memory;
    if (!memory) {
        memory = malloc(test->btl->btl_max_send_size + 1);
    }
    must(test, memory);
    must(test, desc_total(descriptor, test->btl->btl_max_send_size, size) == OPAL_SUCCESS);
    desc_gather(memory, descriptor->des_segments, descriptor->des_segment_count);
    return memory;
}

const struct keel_btl_ext *ext_of(struct test *test)
{
    const struct keel_btl_ext *ext = keel_btl_ext(test->btl);
    must(test, ext);
    return ext;
}

void on_tag(struct test *test, uint8_t tag, mca_btl_base_module_recv_cb_fn_t received_fn)
{
    must(test, test->btl->btl_register(test->btl, tag, received_fn, test) == OPAL_SUCCESS);
}

/* An error in the log that no case declared is a failure. */
static void log_sink(void *arg, enum log_level level, const char *line)
{
    struct test *test = arg;
    bool declared =
        test->test_case->asks_too_much && strstr(line, ": check: ") && strstr(line, ": caller: ");
    const char *shown = getenv("KEEL_TEST_LOG"); /* for who looks for it in the output */
    if (shown && strstr(line, shown)) {
        fprintf(stderr, "# %s\n", line);
    }
    if (level == LOG_ERROR && !declared) {
        minihost_fail(test->host, "an error was logged: %s", line);
    }
    if (level == LOG_ERROR) {
        snprintf(test->last_breach, sizeof(test->last_breach), "%s", line);
        test->breaches++;
    }
}

struct job {
    const char *module;
    const struct test_case *test_case;
};

/* With enable_thread_multiple: a second thread that polls, from open to close. */
struct poller {
    pthread_t thread;
    bool runs;
    atomic_bool ends;
};

static void *poll_all_the_time(void *arg)
{
    struct poller *poller = arg;
    while (!atomic_load(&poller->ends)) {
        if (btl_progress() == 0) {
            sched_yield();
        }
    }
    return NULL;
}

static void poller_start(struct test *test, struct poller *poller)
{
    *poller = (struct poller){.runs = btl_threads().multiple && !btl_threads().progress};
    if (poller->runs) {
        must(test, pthread_create(&poller->thread, NULL, poll_all_the_time, poller) == 0);
    }
}

static void poller_end(struct test *test, struct poller *poller)
{
    if (poller->runs) {
        atomic_store(&poller->ends, true);
        must(test, pthread_join(poller->thread, NULL) == 0);
    }
}

static int run_case(struct minihost *host, void *arg)
{
    const struct job *job = arg;
    struct test test = {
        .host = host,
        .rank = host->rank,
        .size = host->size,
        .module = job->module,
        .test_case = job->test_case,
    };
    current = &test;
    log_set_sink(log_sink, &test);
    if (getenv("KEEL_TEST_LOG")) {
        log_set_verbosity(LOG_BTL, LOG_INFO);
    }
    const char *checked = getenv("KEEL_MCA_btl_check");
    test.checked = checked && strcmp(checked, "1") == 0;
    must(&test, param_override("btl", job->module) == ORTE_SUCCESS);
    /* A checkpoint has as long as its case: many losses and few processors make it slow. */
    must(&test, param_override("btl_base_quiesce_timeout_ms", "3600000") == ORTE_SUCCESS);
    char reason[512] = "";
    if (fault_open(reason, sizeof(reason)) != ORTE_SUCCESS ||
        btl_open(&minihost_ops, host, reason, sizeof(reason)) != ORTE_SUCCESS) {
        minihost_fail(host, "%s", reason);
    }
    size_t count;
    struct poller poller;
    test.btl = btl_modules(&count)[0];
    must(&test, count >= 1);
    poller_start(&test, &poller);
    stop(&test);
    if (!job->test_case->no_procs) {
        add_all(&test);
        find_neighbours(&test);
        must(&test, job->test_case->alone || test.endpoints[test.right]);
    }
    stop(&test);
    job->test_case->run(&test);
    meet(&test);
    for (int i = 0; i < test.size; i++) {
        if (test.endpoints[i]) {
            opal_proc_t *proc = &host->procs[i];
            must(&test,
                 test.btl->btl_del_procs(test.btl, 1, &proc, &test.endpoints[i]) == OPAL_SUCCESS);
        }
    }
    poller_end(&test, &poller);
    stop(&test);
    btl_close();
    log_set_sink(NULL, NULL);
    return 0;
}

static int number, failures;

static void run_one(const char *module, int size, const struct test_case *test_case)
{
    struct minihost_options options = {
        .size = size,
        .late_cards = test_case->late_cards,
        .timeout_ms = getenv("KEEL_TEST_SLOW") ? 120000 : 40000,
    };
    struct job job = {.module = module, .test_case = test_case};
    char reason[512] = "";
    bool ok = minihost_run(&options, run_case, &job, reason, sizeof(reason));
    printf("%sok %d - %s x%d: %s%s%s\n", ok ? "" : "not ", ++number, module, size, test_case->name,
           ok ? "" : " # ", reason);
    fflush(stdout);
    failures += !ok;
}

/* names: NULL-terminated; all CASE, or all -CASE. */
static bool is_named(char *const *names, const char *name)
{
    bool others = *names && **names == '-';

    for (char *const *at = names; *at; at++) {
        if (strcmp(*at + others, name) == 0) {
            return !others;
        }
    }
    return others || !*names;
}

static bool is_wanted(const char *module, int size, const struct test_case *test_case,
                      char *const *names)
{
    bool loops = strcmp(module, "self") == 0;
    if (test_case->undisturbed && getenv("KEEL_MCA_fault")) {
        return false;
    }
    if (!is_named(names, test_case->name) || (loops && test_case->others)) {
        return false;
    }
    return test_case->alone || size >= (loops ? 1 : 2) + test_case->min_size - 1;
}

static const struct test_case *const groups[] = {
    table_cases,  send_cases,    stream_cases,  rdma_cases,  atomics_cases,
    breach_cases, fault_cases,   load_cases,    end_cases,   ext_cases,
    sleep_cases,  channel_cases, ftevent_cases, flags_cases, inside_cases};

static bool is_case(const char *name)
{
    for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++) {
        for (const struct test_case *at = groups[g]; at->name; at++) {
            if (strcmp(at->name, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void run_all(const char *module, int size, char *const *names)
{
    for (size_t g = 0; g < sizeof(groups) / sizeof(*groups); g++) {
        for (const struct test_case *at = groups[g]; at->name; at++) {
            if (is_wanted(module, size, at, names)) {
                run_one(module, size, at);
            }
        }
    }
}

static bool is_known(const char *module)
{
    for (size_t i = 0; btl_components[i]; i++) {
        const struct btl_component *component = btl_components[i];
        if (strcmp(btl_component_name(&component->component), module) == 0) {
            return !component->lacks;
        }
    }
    return false;
}

/* Opens the module in this process, too, so that those it forks find its library loaded: libfabric
 * and its providers take 0.3 s on Debian. */
static void warm_up(const char *module)
{
    char reason[256] = "";

    if (param_override("btl", module) == ORTE_SUCCESS &&
        btl_open(&minihost_alone, NULL, reason, sizeof(reason)) == ORTE_SUCCESS) {
        btl_close();
    } else {
        printf("# %s\n", reason); /* which the cases will say, or which only this host lacks */
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 2, 4};
    if (argc < 2) {
        fprintf(stderr, "usage: btl MODULE [PROCESSES [CASE ... | -CASE ...]]\n");
        return 2;
    }
    const char *module = argv[1];
    char *const *names = argc > 3 ? argv + 3 : argv + argc;
    int only_size = argc > 2 ? atoi(argv[2]) : 0;
    for (char *const *name = names; *name; name++) {
        if (!is_case(*name + (**name == '-'))) {
            fprintf(stderr, "btl: there is no case %s\n", *name);
            return 2;
        }
    }
    if (!is_known(module)) {
        printf("1..0 # SKIP there is no component %s\n", module);
        return 0;
    }
    warm_up(module);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        if (only_size == 0 || only_size == sizes[s]) {
            run_all(module, sizes[s], names);
        }
    }
    if (number == 0) {
        printf("1..0 # SKIP no case of this kind for %s\n", module);
        return 0;
    }
    printf("1..%d\n", number);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
