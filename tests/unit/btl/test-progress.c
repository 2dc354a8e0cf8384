/* How the framework opens, polls and closes components: with a registry of this test's own. */
#include <tests/lib/unit.h>

#include <base/clock.h>
#include <base/param.h>
#include <btl/lock.h>
#include <btl/progress.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int polls[3], events[3], finalized, closed, nested = -1;
static bool active, progresses_at_end;

/* Callbacks of what a module ends may call progress. */
static int finalize(mca_btl_base_module_t *module)
{
    (void) module;
    if (progresses_at_end) {
        ck_assert_int_eq(btl_progress(), 0);
    }
    finalized++;
    return OPAL_SUCCESS;
}

static int close_component(void)
{
    closed++;
    return OPAL_SUCCESS;
}

static int refuse(void)
{
    return OPAL_ERR_NOT_AVAILABLE;
}

static struct btl_component memory, sockets;
static mca_btl_base_module_t memory_module = {.btl_component = &memory.component,
                                              .btl_finalize = finalize};
static mca_btl_base_module_t socket_module = {.btl_component = &sockets.component,
                                              .btl_finalize = finalize};

static mca_btl_base_module_t **give(mca_btl_base_module_t *module, int *count)
{
    mca_btl_base_module_t **modules = malloc(sizeof(*modules));
    modules[0] = module;
    *count = 1;
    return modules;
}

static mca_btl_base_module_t **memory_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    return give(&memory_module, count);
}

static mca_btl_base_module_t **socket_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    return give(&socket_module, count);
}

static mca_btl_base_module_t **absent_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    *count = 0;
    return NULL;
}

static int memory_progress(void)
{
    polls[0]++;
    if (nested < 0) {
        nested = btl_progress();
    }
    return events[0];
}

static int socket_progress(void)
{
    polls[1]++;
    return events[1];
}

static int absent_progress(void)
{
    polls[2]++;
    return 0;
}

static bool socket_active(void)
{
    return active;
}

static struct btl_component memory = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("memory"),
                                  .mca_close_component = close_component},
                  .btl_init = memory_init,
                  .btl_progress = memory_progress},
};
static struct btl_component sockets = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("socket"),
                                  .mca_close_component = close_component},
                  .btl_init = socket_init,
                  .btl_progress = socket_progress},
    .active = socket_active,
};
static struct btl_component absent = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("absent"),
                                  .mca_close_component = close_component},
                  .btl_init = absent_init,
                  .btl_progress = absent_progress},
};
static struct btl_component refused = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("refused"), .mca_open_component = refuse,
                                  .mca_close_component = close_component},
                  .btl_init = absent_init,
                  .btl_progress = absent_progress},
};

const struct btl_component *const btl_components[] = {&memory, &absent, &refused, &sockets, NULL};

static const struct keel_host_ops ops;

static void open_all(void)
{
    char reason[100];
    ck_assert_int_eq(btl_open(&ops, NULL, reason, sizeof(reason)), ORTE_SUCCESS);
}

START_TEST(what_is_not_there_is_closed_and_left_out)
{
    open_all();
    size_t count;
    mca_btl_base_module_t **modules = btl_modules(&count);
    ck_assert_uint_eq(count, 2);
    ck_assert_ptr_eq(modules[0], &memory_module);
    ck_assert_ptr_eq(modules[1], &socket_module);
    ck_assert_int_eq(closed, 1); /* the absent one; the refused one was never open */
    btl_progress();
    ck_assert_int_eq(polls[2], 0);
    btl_close();
    ck_assert_int_eq(finalized, 2);
    ck_assert_int_eq(closed, 3);
}
END_TEST

START_TEST(an_idle_rail_with_system_calls_is_polled_now_and_then)
{
    open_all();
    for (int i = 0; i < 640; i++) {
        ck_assert_int_eq(btl_progress(), 0);
    }
    ck_assert_int_eq(polls[0], 640);
    ck_assert_int_eq(polls[1], 10);
    btl_close();
}
END_TEST

START_TEST(a_busy_memory_rail_does_not_starve_it)
{
    open_all();
    events[0] = 3;
    for (int i = 0; i < 640; i++) {
        ck_assert_int_ge(btl_progress(), 3);
    }
    ck_assert_int_eq(polls[1], 10);
    btl_close();
}
END_TEST

START_TEST(with_work_in_flight_it_is_polled_each_pass)
{
    open_all();
    active = true;
    events[1] = 2;
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(btl_progress(), 2);
    }
    ck_assert_int_eq(polls[1], 100);
    btl_close();
}
END_TEST

START_TEST(a_yielding_process_polls_all_before_it_yields)
{
    ck_assert_int_eq(param_override("btl_yield", "1"), ORTE_SUCCESS);
    open_all();
    for (int i = 0; i < 64; i++) {
        btl_progress();
    }
    ck_assert_int_eq(polls[1], 1);
    for (int i = 0; i < 100; i++) {
        btl_progress();
    }
    ck_assert_int_eq(polls[1], 101);
    events[0] = 1; /* an event ends it */
    btl_progress();
    events[0] = 0;
    int before = polls[1];
    for (int i = 0; i < 63; i++) {
        btl_progress();
    }
    ck_assert_int_eq(polls[1], before);
    btl_close();
}
END_TEST

START_TEST(progress_inside_progress_does_nothing)
{
    open_all();
    events[0] = 1;
    ck_assert_int_eq(btl_progress(), 1);
    ck_assert_int_eq(nested, 0);
    ck_assert_int_eq(polls[0], 1);
    btl_close();
}
END_TEST

/* A module that was finalized is not polled by what the next one calls back. */
START_TEST(nothing_is_polled_once_modules_end)
{
    open_all();
    active = progresses_at_end = true;
    btl_progress();
    int memory_polls = polls[0], socket_polls = polls[1];
    btl_close();
    ck_assert_int_eq(finalized, 2);
    ck_assert_int_eq(polls[0], memory_polls);
    ck_assert_int_eq(polls[1], socket_polls);
}
END_TEST

static void *go_in(void *arg)
{
    btl_lock();
    atomic_store((atomic_bool *) arg, true);
    btl_unlock();
    return NULL;
}

/* A flush or a checkpoint waits with the lock held; what it waits for may be another thread's to
 * do, also where the host has nothing of its own to drive. */
START_TEST(who_waits_lets_others_in)
{
    pthread_t other;
    atomic_bool was_in = false;
    uint64_t end = clock_us() + 10000000u;
    ck_assert_int_eq(param_override("enable_thread_multiple", "1"), ORTE_SUCCESS);
    open_all();
    btl_lock();
    ck_assert_int_eq(pthread_create(&other, NULL, go_in, &was_in), 0);
    while (!atomic_load(&was_in) && clock_us() < end) {
        btl_host_progress();
    }
    ck_assert(atomic_load(&was_in));
    btl_unlock();
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    btl_close();
}
END_TEST

UNIT_MAIN("progress", what_is_not_there_is_closed_and_left_out,
          an_idle_rail_with_system_calls_is_polled_now_and_then,
          a_busy_memory_rail_does_not_starve_it, with_work_in_flight_it_is_polled_each_pass,
          a_yielding_process_polls_all_before_it_yields, progress_inside_progress_does_nothing,
          nothing_is_polled_once_modules_end, who_waits_lets_others_in)
