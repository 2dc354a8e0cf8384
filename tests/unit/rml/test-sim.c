/* The delivery protocol's own objects in simulated processes: many schedules of messages and
 * faults, each made from a seed. SIM_SEED=n runs that one and tells what happened. */
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/sim/world.h>
#include <tests/lib/unit.h>

/* Of each of the four parts. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SCHEDULES = 2500 };
#else
enum { SCHEDULES = 25000 };
#endif
enum { FEW = 1000, EVENTS_LEAST = 200 };

static void check(uint64_t seed, const struct sim_report *report)
{
    ck_assert_msg(report->held, "SIM_SEED=%llu: %s", (unsigned long long) seed, report->reason);
    ck_assert_msg(report->events >= EVENTS_LEAST && report->faults >= 1,
                  "SIM_SEED=%llu: only %u events, %u faults", (unsigned long long) seed,
                  report->events, report->faults);
}

static void run_part(uint64_t part)
{
    struct sim_world *world = sim_world_create();
    struct sim_report report;
    const char *chosen = getenv("SIM_SEED");
    uint64_t first = chosen ? strtoull(chosen, NULL, 0) : part * SCHEDULES + 1;
    uint64_t count = chosen ? 1 : SCHEDULES;
    unsigned long long events = 0, messages = 0, failed = 0, resent = 0;
    ck_assert_ptr_nonnull(world);
    for (uint64_t seed = first; seed < first + count; seed++) {
        sim_world_run(world, seed, SIM_WHOLE, &report);
        check(seed, &report);
        events += report.events;
        messages += report.messages;
        failed += report.failed;
        resent += report.resent;
    }
    printf("# %llu schedules: %llu events, %llu messages, %llu failed, %llu frames sent again\n",
           (unsigned long long) count, events, messages, failed, resent);
    sim_world_destroy(world);
}

UNIT_CASE(once_in_order_or_told_why_1, run_part(0))
UNIT_CASE(once_in_order_or_told_why_2, run_part(1))
UNIT_CASE(once_in_order_or_told_why_3, run_part(2))
UNIT_CASE(once_in_order_or_told_why_4, run_part(3))

/* A protocol without this part does not pass. */
static void must_fail(enum sim_without without)
{
    struct sim_world *world = sim_world_create();
    struct sim_report report = {.held = true};
    ck_assert_ptr_nonnull(world);
    for (uint64_t seed = 1; report.held && seed <= FEW; seed++) {
        sim_world_run(world, seed, without, &report);
        if (!report.held) {
            printf("# fails with SIM_SEED=%llu: %s\n", (unsigned long long) seed, report.reason);
        }
    }
    ck_assert(!report.held);
    sim_world_destroy(world);
}

UNIT_CASE(without_dedup_it_fails, must_fail(SIM_NO_DEDUP))
UNIT_CASE(without_acknowledgement_it_fails, must_fail(SIM_NO_ACK))
UNIT_CASE(without_the_epoch_check_it_fails, must_fail(SIM_NO_EPOCH))

UNIT_MAIN("rml/sim")
