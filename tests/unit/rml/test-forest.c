/* The repair of the daemons' tree in simulated daemons: many schedules of broadcasts, messages and
 * deaths, each made from a seed. SIM_SEED=n runs that one. */
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/sim/forest.h>
#include <tests/lib/unit.h>

#ifdef __SANITIZE_ADDRESS__
enum { SCHEDULES = 200 };
#else
enum { SCHEDULES = 1500 };
#endif
enum { FEW = 1000, EVENTS_LEAST = 200 };

static void run_part(uint64_t part)
{
    struct forest *forest = forest_create();
    struct forest_report report;
    const char *chosen = getenv("SIM_SEED");
    uint64_t first = chosen ? strtoull(chosen, NULL, 0) : part * SCHEDULES + 1;
    uint64_t count = chosen ? 1 : SCHEDULES;
    unsigned long long events = 0, deaths = 0, relays = 0, casts = 0, messages = 0;
    ck_assert_ptr_nonnull(forest);
    for (uint64_t seed = first; seed < first + count; seed++) {
        forest_run(forest, seed, FOREST_WHOLE, &report);
        ck_assert_msg(report.held, "SIM_SEED=%llu: %s", (unsigned long long) seed, report.reason);
        ck_assert_msg(report.events >= EVENTS_LEAST && report.deaths >= 1,
                      "SIM_SEED=%llu: only %u events, %u deaths", (unsigned long long) seed,
                      report.events, report.deaths);
        events += report.events;
        deaths += report.deaths;
        relays += report.relays;
        casts += report.casts;
        messages += report.messages;
    }
    printf("# %llu schedules: %llu events, %llu broadcasts, %llu messages, %llu deaths, %llu of "
           "them of relays\n",
           (unsigned long long) count, events, casts, messages, deaths, relays);
    forest_destroy(forest);
}

START_TEST(the_living_miss_nothing_1)
{
    run_part(0);
}
END_TEST

START_TEST(the_living_miss_nothing_2)
{
    run_part(1);
}
END_TEST

START_TEST(the_living_miss_nothing_3)
{
    run_part(2);
}
END_TEST

START_TEST(the_living_miss_nothing_4)
{
    run_part(3);
}
END_TEST

static void must_fail(enum forest_without without)
{
    struct forest *forest = forest_create();
    struct forest_report report = {.held = true};
    ck_assert_ptr_nonnull(forest);
    for (uint64_t seed = 1; report.held && seed <= FEW; seed++) {
        forest_run(forest, seed, without, &report);
        if (!report.held) {
            printf("# fails with SIM_SEED=%llu: %s\n", (unsigned long long) seed, report.reason);
        }
    }
    ck_assert(!report.held);
    forest_destroy(forest);
}

START_TEST(without_the_check_of_numbers_it_fails)
{
    must_fail(FOREST_NO_NUMBER);
}
END_TEST

START_TEST(without_keeping_it_fails)
{
    must_fail(FOREST_NO_KEEP);
}
END_TEST

START_TEST(without_a_new_parent_it_fails)
{
    must_fail(FOREST_NO_REPAIR);
}
END_TEST

UNIT_MAIN("rml/forest", the_living_miss_nothing_1, the_living_miss_nothing_2,
          the_living_miss_nothing_3, the_living_miss_nothing_4,
          without_the_check_of_numbers_it_fails, without_keeping_it_fails,
          without_a_new_parent_it_fails)
