/* How the framework opens, polls and closes components and their modules: with a registry of this
 * test's own. */
#include <tests/lib/unit.h>

#include <base/data/clock.h>
#include <base/settings/param.h>
#include <btl/lock/lock.h>
#include <btl/progress/progress.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* One polled in each pass, and two of a component whose polls cost system calls. */
enum { MEMORY, SOCKET, TWIN, MODULES };

static int polls[MODULES], events[MODULES], finalized, closed, nested = -1;
static bool active[MODULES], progresses_at_end;

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
static mca_btl_base_module_t modules[MODULES] = {
    [MEMORY] = {.btl_component = &memory.component, .btl_finalize = finalize},
    [SOCKET] = {.btl_component = &sockets.component, .btl_finalize = finalize},
    [TWIN] = {.btl_component = &sockets.component, .btl_finalize = finalize},
};

static mca_btl_base_module_t **memory_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    return btl_one_module(&modules[MEMORY], count);
}

static mca_btl_base_module_t **socket_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    mca_btl_base_module_t **made = calloc(4, sizeof(*made));
    made[1] = &modules[SOCKET]; /* the others' devices are not there */
    made[3] = &modules[TWIN];
    *count = 4;
    return made;
}

static mca_btl_base_module_t **absent_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    *count = 0;
    return NULL;
}

static int progress(mca_btl_base_module_t *module)
{
    polls[module - modules]++;
    if (nested < 0) {
        nested = btl_progress();
    }
    return events[module - modules];
}

static bool is_active(mca_btl_base_module_t *module)
{
    return active[module - modules];
}

static const char *name(const mca_btl_base_module_t *module)
{
    return module == &modules[SOCKET] ? "socket:first" : "socket:twin";
}

static struct btl_component memory = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("memory"),
                                  .mca_close_component = close_component},
                  .btl_init = memory_init},
    .progress = progress,
};
static struct btl_component sockets = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("socket"),
                                  .mca_close_component = close_component},
                  .btl_init = socket_init},
    .progress = progress,
    .active = is_active,
    .name = name,
};
static struct btl_component absent = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("absent"),
                                  .mca_close_component = close_component},
                  .btl_init = absent_init},
};
static struct btl_component refused = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("refused"), .mca_open_component = refuse,
                                  .mca_close_component = close_component},
                  .btl_init = absent_init},
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
    mca_btl_base_module_t **open = btl_modules(&count);
    ck_assert_uint_eq(count, MODULES);
    for (size_t i = 0; i < count; i++) {
        ck_assert_ptr_eq(open[i], &modules[i]);
    }
    ck_assert_int_eq(closed, 1); /* the absent one; the refused one was never open */
    ck_assert_str_eq(btl_module_name(&modules[MEMORY]), "memory");
    ck_assert_str_eq(btl_module_name(&modules[TWIN]), "socket:twin");
    btl_close();
    ck_assert_int_eq(finalized, MODULES);
    ck_assert_int_eq(closed, 3);
}
END_TEST

START_TEST(an_idle_rail_with_system_calls_is_polled_now_and_then)
{
    open_all();
    for (int i = 0; i < 640; i++) {
        ck_assert_int_eq(btl_progress(), 0);
    }
    ck_assert_int_eq(polls[MEMORY], 640);
    ck_assert_int_eq(polls[SOCKET], 10);
    ck_assert_int_eq(polls[TWIN], 10);
    btl_close();
}
END_TEST

START_TEST(a_busy_memory_rail_does_not_starve_it)
{
    open_all();
    events[MEMORY] = 3;
    for (int i = 0; i < 640; i++) {
        ck_assert_int_ge(btl_progress(), 3);
    }
    ck_assert_int_eq(polls[SOCKET], 10);
    btl_close();
}
END_TEST

START_TEST(with_work_in_flight_it_alone_is_polled_each_pass)
{
    open_all();
    active[TWIN] = true;
    events[TWIN] = 2;
    for (int i = 0; i < 128; i++) {
        ck_assert_int_eq(btl_progress(), 2);
    }
    ck_assert_int_eq(polls[TWIN], 128);
    ck_assert_int_eq(polls[SOCKET], 2); /* that of its component which is idle */
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
    ck_assert_int_eq(polls[SOCKET], 1);
    for (int i = 0; i < 100; i++) {
        btl_progress();
    }
    ck_assert_int_eq(polls[SOCKET], 101);
    events[MEMORY] = 1; /* an event ends it */
    btl_progress();
    events[MEMORY] = 0;
    int before = polls[SOCKET];
    for (int i = 0; i < 63; i++) {
        btl_progress();
    }
    ck_assert_int_eq(polls[SOCKET], before);
    btl_close();
}
END_TEST

START_TEST(progress_inside_progress_does_nothing)
{
    open_all();
    events[MEMORY] = 1;
    ck_assert_int_eq(btl_progress(), 1);
    ck_assert_int_eq(nested, 0);
    ck_assert_int_eq(polls[MEMORY], 1);
    btl_close();
}
END_TEST

/* A module that was finalized is not polled by what the next one calls back. */
START_TEST(nothing_is_polled_once_modules_end)
{
    open_all();
    active[SOCKET] = progresses_at_end = true;
    btl_progress();
    int memory_polls = polls[MEMORY], socket_polls = polls[SOCKET];
    btl_close();
    ck_assert_int_eq(finalized, MODULES);
    ck_assert_int_eq(polls[MEMORY], memory_polls);
    ck_assert_int_eq(polls[SOCKET], socket_polls);
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

UNIT_MAIN("progress")
