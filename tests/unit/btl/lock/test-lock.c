#include <tests/lib/unit.h>

#include <btl/lock/lock.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

START_TEST(not_used_it_costs_nothing)
{
    btl_lock();
    ck_assert_uint_eq(btl_lock_holds(), 0);
    btl_unlock();
    ck_assert_uint_eq(btl_lock_leave(), 0);
    btl_lock_return(0);
}
END_TEST

static void *try_it(void *arg)
{
    bool *got = arg;
    *got = btl_lock_try();
    if (*got) {
        btl_lock_drop();
    }
    return NULL;
}

static bool others_get_it(void)
{
    pthread_t other;
    bool got;
    ck_assert_int_eq(pthread_create(&other, NULL, try_it, &got), 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
    return got;
}

START_TEST(it_is_recursive_and_keeps_others_out)
{
    btl_lock_used = true;
    btl_lock();
    btl_lock();
    ck_assert(btl_lock_try());
    ck_assert_uint_eq(btl_lock_holds(), 3);
    ck_assert(!others_get_it());
    btl_unlock();
    btl_unlock();
    ck_assert(!others_get_it());
    btl_unlock();
    ck_assert(others_get_it());
}
END_TEST

START_TEST(who_waits_gives_up_all_of_it)
{
    btl_lock_used = true;
    btl_lock();
    btl_lock();
    unsigned held = btl_lock_leave();
    ck_assert_uint_eq(held, 2);
    ck_assert_uint_eq(btl_lock_holds(), 0);
    ck_assert(others_get_it());
    btl_lock_return(held);
    ck_assert_uint_eq(btl_lock_holds(), 2);
    ck_assert(!others_get_it());
    btl_unlock();
    btl_unlock();
    ck_assert(others_get_it());
}
END_TEST

#define TURNS 2000

static unsigned long shared;
static atomic_bool over;

static void *take_turns(void *arg)
{
    (void) arg;
    for (int i = 0; i < TURNS; i++) {
        btl_lock();
        unsigned long before = shared;
        if (i % 16 == 0) {
            btl_lock_return(btl_lock_leave()); /* what was read may be old now */
            before = shared;
        }
        shared = before + 1;
        btl_unlock();
    }
    return NULL;
}

static void *poll_always(void *arg)
{
    (void) arg;
    while (!atomic_load(&over)) {
        btl_lock();
        btl_unlock();
        btl_lock_give_way();
    }
    return NULL;
}

/* Callers get their turn beside a thread that polls without rest. */
START_TEST(pollers_give_way)
{
    pthread_t poller, callers[4];
    btl_lock_used = true;
    ck_assert_int_eq(pthread_create(&poller, NULL, poll_always, NULL), 0);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_create(&callers[i], NULL, take_turns, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_join(callers[i], NULL), 0);
    }
    atomic_store(&over, true);
    ck_assert_int_eq(pthread_join(poller, NULL), 0);
    ck_assert_uint_eq(shared, 4 * TURNS);
}
END_TEST

UNIT_MAIN("lock")
