/* The repair of the daemons' tree in simulated daemons (tests/lib/sim/forest.h): 10^5 schedules of
 * broadcasts, messages, links that break and daemons that die, each made from a seed. SIM_SEED=n
 * runs that one. */
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/sim/forest.h>
#include <tests/lib/unit.h>

/* Of each of the eight parts; sanitizers run a tenth. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SCHEDULES = 1250 };
#else
enum { SCHEDULES = 12500 };
#endif
enum { FEW = 1000, NODES_LEAST = 3, EVENTS_LEAST = 200 };

static void check(uint64_t seed, const struct forest_report *report)
{
    uint32_t faults = report->deaths + report->breaks;
    ck_assert_msg(report->held, "SIM_SEED=%llu: %s", (unsigned long long) seed, report->reason);
    ck_assert_msg(report->nodes >= NODES_LEAST && report->events >= EVENTS_LEAST && faults >= 1,
                  "SIM_SEED=%llu: only %u nodes, %u events, %u faults", (unsigned long long) seed,
                  report->nodes, report->events, faults);
}

static void run_part(uint64_t part)
{
    struct forest *forest = forest_create();
    struct forest_report report;
    const char *chosen = getenv("SIM_SEED");
    uint64_t first = chosen ? strtoull(chosen, NULL, 0) : part * SCHEDULES + 1;
    uint64_t count = chosen ? 1 : SCHEDULES;
    unsigned long long events = 0, deaths = 0, relays = 0, casts = 0, messages = 0;
    unsigned long long breaks = 0, mended = 0, resent = 0;
    ck_assert_ptr_nonnull(forest);
    for (uint64_t seed = first; seed < first + count; seed++) {
        forest_run(forest, seed, FOREST_WHOLE, &report);
        check(seed, &report);
        events += report.events;
        deaths += report.deaths;
        relays += report.relays;
        casts += report.casts;
        messages += report.messages;
        breaks += report.breaks;
        mended += report.mended;
        resent += report.resent;
    }
    printf("# %llu schedules: %llu events, %llu broadcasts, %llu messages\n",
           (unsigned long long) count, events, casts, messages);
    printf("# %llu deaths, %llu of them of relays; %llu broken links, %llu of them mended; %llu "
           "frames sent again\n",
           deaths, relays, breaks, mended, resent);
    forest_destroy(forest);
}

UNIT_CASE(the_living_miss_nothing_1, run_part(0))
UNIT_CASE(the_living_miss_nothing_2, run_part(1))
UNIT_CASE(the_living_miss_nothing_3, run_part(2))
UNIT_CASE(the_living_miss_nothing_4, run_part(3))
UNIT_CASE(the_living_miss_nothing_5, run_part(4))
UNIT_CASE(the_living_miss_nothing_6, run_part(5))
UNIT_CASE(the_living_miss_nothing_7, run_part(6))
UNIT_CASE(the_living_miss_nothing_8, run_part(7))

/* A repair without this part does not pass. */
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

UNIT_CASE(without_the_check_of_numbers_it_fails, must_fail(FOREST_NO_NUMBER))
UNIT_CASE(without_keeping_it_fails, must_fail(FOREST_NO_KEEP))
UNIT_CASE(without_a_new_parent_it_fails, must_fail(FOREST_NO_REPAIR))
UNIT_CASE(without_dedup_it_fails, must_fail(FOREST_NO_DEDUP))
UNIT_CASE(without_acknowledgement_it_fails, must_fail(FOREST_NO_ACK))

UNIT_MAIN("rml/forest")
