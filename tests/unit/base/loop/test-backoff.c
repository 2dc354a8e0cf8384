/* Waits between attempts, with chance from given seeds. */
#include <base/loop/backoff.h>
#include <tests/lib/unit.h>

START_TEST(twice_as_long_up_to_the_cap)
{
    struct backoff backoff = {.base_us = 10000, .cap_us = 2000000};
    struct backoff_chance chance = {1};
    for (uint64_t bound = 10000; bound < 2000000; bound *= 2) {
        uint64_t wait = backoff_next(&backoff, &chance);
        ck_assert_uint_ge(wait, bound / 2);
        ck_assert_uint_le(wait, bound);
    }
    for (int i = 0; i < 1000; i++) {
        uint64_t wait = backoff_next(&backoff, &chance);
        ck_assert_uint_ge(wait, 1000000);
        ck_assert_uint_le(wait, 2000000);
    }
}
END_TEST

START_TEST(a_seed_gives_its_waits_again)
{
    struct backoff_chance first = {7}, again = {7}, other = {8};
    struct backoff a = {.base_us = 1000, .cap_us = 100000}, b = a, c = a;
    int different = 0;
    for (int i = 0; i < 100; i++) {
        uint64_t wait = backoff_next(&a, &first);
        ck_assert_uint_eq(backoff_next(&b, &again), wait);
        different += backoff_next(&c, &other) != wait;
    }
    ck_assert_int_gt(different, 90);
}
END_TEST

/* A thousand processes that failed at once: no hundredth of the span gets more than a few percent
 * of them. */
START_TEST(many_spread_over_the_half)
{
    int slots[100] = {0};
    for (uint64_t seed = 0; seed < 1000; seed++) {
        struct backoff backoff = {.base_us = 1000000, .cap_us = 1000000};
        struct backoff_chance chance = {seed};
        uint64_t wait = backoff_next(&backoff, &chance);
        uint64_t slot = (wait - 500000) / 5000;
        slots[slot < 100 ? slot : 99]++;
    }
    for (int i = 0; i < 100; i++) {
        ck_assert_int_le(slots[i], 40);
    }
}
END_TEST

START_TEST(extremes)
{
    struct backoff_chance chance = {3};
    struct backoff least = {.base_us = 1, .cap_us = 1};
    struct backoff most = {.base_us = UINT64_C(1) << 62, .cap_us = UINT64_MAX};
    for (int i = 0; i < 10; i++) {
        ck_assert_uint_le(backoff_next(&least, &chance), 1);
        ck_assert_uint_ge(backoff_next(&most, &chance), UINT64_C(1) << 61);
    }
}
END_TEST

UNIT_MAIN("backoff")
