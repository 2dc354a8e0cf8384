/* The timer wheel, beside a plain list of times. */
#include <config.h>

#include <base/loop/wheel.h>
#include <stdlib.h>
#include <tests/lib/unit.h>

enum { TIMERS = 100, STEPS = 5000, TICK = 10 };

static struct wheel wheel;
static struct wheel_timer timers[TIMERS];
static uint64_t due[TIMERS]; /* 0: does not run */

static void start(uint64_t now)
{
    wheel_init(&wheel, TICK, now);
    for (size_t i = 0; i < TIMERS; i++) {
        list_init(&timers[i].link);
        due[i] = 0;
    }
}

static uint64_t random_next(void)
{
    static uint64_t state = 88172645463325252;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static bool expires(uint64_t now)
{
    return wheel_expire(&wheel, now) != NULL;
}

static bool runs(const struct wheel_timer *timer)
{
    return !list_empty(&timer->link);
}

START_TEST(never_early_and_at_most_a_tick_late)
{
    start(1000);
    wheel_start(&wheel, &timers[0], 1015);
    ck_assert(runs(&timers[0]));
    ck_assert(!expires(1014));
    ck_assert(!expires(1019));
    ck_assert_ptr_eq(wheel_expire(&wheel, 1020), &timers[0]);
    ck_assert(!runs(&timers[0]));
    ck_assert(!expires(1020));
}
END_TEST

START_TEST(a_time_that_is_over_is_the_next_tick)
{
    start(1000);
    wheel_start(&wheel, &timers[0], 0);
    wheel_start(&wheel, &timers[1], 1000);
    ck_assert(!expires(1009));
    ck_assert(expires(1010));
    wheel_start(&wheel, &timers[0], 1010); /* in a loop over those that expired */
    ck_assert(expires(1010));
    ck_assert(!expires(1010));
    ck_assert(expires(1020));
}
END_TEST

/* The one that expires first stops the other, which expired with it. */
START_TEST(the_next_time_leads_to_every_timer)
{
    start(123456);
    ck_assert_uint_eq(wheel_next(&wheel), UINT64_MAX);
    wheel_start(&wheel, &timers[0], 123490);
    ck_assert_uint_eq(wheel_next(&wheel), 123490);
    wheel_start(&wheel, &timers[1], 90000000);
    ck_assert(expires(123490));
    int calls = 0;
    for (uint64_t now = 0; !expires(now); calls++) {
        ck_assert_uint_le(wheel_next(&wheel), 90000000);
        now = wheel_next(&wheel);
    }
    ck_assert_int_le(calls, 4);
    ck_assert_uint_eq(wheel_next(&wheel), UINT64_MAX);
    wheel_start(&wheel, &timers[0], 0);
    wheel_start(&wheel, &timers[1], 0);
    ck_assert(expires(90000010));
    ck_assert_uint_eq(wheel_next(&wheel), 90000010);
}
END_TEST

START_TEST(expired_timers_can_be_stopped)
{
    start(0);
    wheel_start(&wheel, &timers[0], 50);
    wheel_start(&wheel, &timers[1], 50);
    ck_assert_ptr_eq(wheel_expire(&wheel, 5000), &timers[0]);
    ck_assert(runs(&timers[1]));
    wheel_stop(&timers[1]);
    wheel_stop(&timers[1]);
    ck_assert(!expires(5000));
    wheel_start(&wheel, &timers[1], 6000);
    wheel_start(&wheel, &timers[1], 7000); /* instead */
    ck_assert(!expires(6990));
    ck_assert(expires(7000));
}
END_TEST

START_TEST(times_beyond_all_circles)
{
    static const uint64_t far = (uint64_t) TICK << 40;

    start(123456789);
    wheel_start(&wheel, &timers[0], far);
    wheel_start(&wheel, &timers[1], UINT64_MAX);
    for (uint64_t now = 123456789; now < far; now += far / 777) {
        ck_assert(!expires(now));
    }
    ck_assert(!expires(far - 1));
    ck_assert_ptr_eq(wheel_expire(&wheel, far), &timers[0]);
    ck_assert(!expires(UINT64_MAX / 2));
    ck_assert(runs(&timers[1]));
}
END_TEST

/* Just before a slot of every circle begins. */
START_TEST(turns_of_the_circles)
{
    for (unsigned bits = 1; bits < 40; bits++) {
        for (uint64_t before = 1; before < 3; before++) {
            uint64_t turn = (UINT64_C(1) << bits) * TICK, now = turn - before * TICK;
            start(now);
            for (uint64_t after = 1; after < 5; after++) {
                wheel_start(&wheel, &timers[after], now + after * TICK);
            }
            for (uint64_t after = 1; after < 5; after++) {
                ck_assert(!expires(now + after * TICK - 1));
                ck_assert_ptr_eq(wheel_expire(&wheel, now + after * TICK), &timers[after]);
            }
        }
    }
}
END_TEST

/* ---- at random ---- */

/* The first tick that is not before the time. */
static uint64_t rounded(uint64_t time)
{
    return (time + TICK - 1) / TICK * TICK;
}

static void change(uint64_t now)
{
    size_t i = random_next() % TIMERS;

    if (random_next() % 4 == 0) {
        wheel_stop(&timers[i]);
        due[i] = 0;
        return;
    }
    uint64_t ahead = random_next() >> (24 + random_next() % 40);
    wheel_start(&wheel, &timers[i], now + ahead);
    due[i] = rounded(now + ahead);
    if (due[i] <= now) {
        due[i] = now / TICK * TICK + TICK;
    }
}

START_TEST(every_timer_expires_once_in_its_time)
{
    uint64_t now = random_next() >> 20;
    unsigned wrong = 0;

    start(now);
    for (unsigned step = 0; step < STEPS; step++) {
        for (uint64_t changes = random_next() % 8; changes > 0; changes--) {
            change(now);
        }
        now += random_next() >> (24 + random_next() % 40);
        for (struct wheel_timer *timer; (timer = wheel_expire(&wheel, now));) {
            size_t i = (size_t) (timer - timers);
            ck_assert(due[i] > 0 && due[i] <= now);
            due[i] = 0;
        }
        for (size_t i = 0; i < TIMERS; i++) {
            wrong += (due[i] > 0 && due[i] <= now) || runs(&timers[i]) != (due[i] > 0);
            wrong += due[i] > 0 && wheel_next(&wheel) > (due[i] + TICK - 1) / TICK * TICK;
        }
        wrong += wheel_next(&wheel) <= now;
        ck_assert_uint_eq(wrong, 0);
    }
}
END_TEST

UNIT_MAIN("wheel")
