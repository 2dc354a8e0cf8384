/* Launches on simulated daemons (tests/unit/launcher/job/sim/launch.h): schedules of daemons that
 * are lost, late, silent or heard twice, of ranks and of users, each made from a seed. The argument
 * is their number; SIM_SEED=n runs that one. */
#include <base/settings/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <tests/unit/launcher/job/sim/launch.h>

/* Sanitizers run a tenth; FEW: in so many something that is broken shows. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SCHEDULES = 10000 };
#else
enum { SCHEDULES = 100000 };
#endif
enum { FEW = 20000, PARTS = 4, LIMIT_S = 1200 };

static void unheard(void *arg, enum log_level level, const char *line)
{
    (void) arg, (void) level, (void) line;
}

static void add(struct launch_report *sum, const struct launch_report *report)
{
    sum->events += report->events;
    sum->deaths += report->deaths;
    sum->losses += report->losses;
    sum->late += report->late;
    sum->twice += report->twice;
    sum->silences += report->silences;
    sum->interrupts += report->interrupts;
    sum->kills += report->kills;
    sum->failed += report->failed;
    sum->jobs += report->jobs;
    sum->added += report->added;
}

static void run_part(uint64_t part)
{
    struct launch *launch = launch_create();
    struct launch_report report, sum = {.held = true};
    const char *chosen = getenv("SIM_SEED"), *many = getenv("SIM_COUNT");
    uint64_t count = chosen ? 1 : (many ? strtoull(many, NULL, 0) : SCHEDULES) / PARTS;
    uint64_t first = chosen ? strtoull(chosen, NULL, 0) : part * count + 1;
    ck_assert_ptr_nonnull(launch);
    if (chosen) {
        log_set_verbosity(LOG_LAUNCHER, LOG_DEBUG);
    } else {
        log_set_sink(unheard, NULL);
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        launch_run(launch, seed, LAUNCH_WHOLE, 0, &report);
        ck_assert_msg(report.held, "SIM_SEED=%llu: %s", (unsigned long long) seed, report.reason);
        add(&sum, &report);
    }
    printf("# %llu schedules: %u jobs, of which %u failed, %u events\n", (unsigned long long) count,
           sum.jobs, sum.failed, sum.events);
    printf("# %u daemons added, %u deaths, %u losses, %u reports late, %u twice, %u silences, %u "
           "signals, %u kills\n",
           sum.added, sum.deaths, sum.losses, sum.late, sum.twice, sum.silences, sum.interrupts,
           sum.kills);
    launch_destroy(launch);
    ck_assert(chosen ||
              (sum.added && sum.deaths && sum.late && sum.twice && sum.silences && sum.kills));
}

START_TEST(all_end_by_the_rules_1)
{
    run_part(0);
}
END_TEST

START_TEST(all_end_by_the_rules_2)
{
    run_part(1);
}
END_TEST

START_TEST(all_end_by_the_rules_3)
{
    run_part(2);
}
END_TEST

START_TEST(all_end_by_the_rules_4)
{
    run_part(3);
}
END_TEST

/* What is broken so does not pass. */
static void must_fail(struct launch *launch, enum launch_without without, uint32_t number,
                      const char *what)
{
    struct launch_report report = {.held = true};
    uint64_t seed = 0;
    log_set_sink(unheard, NULL);
    while (report.held && seed < FEW) {
        launch_run(launch, ++seed, without, number, &report);
    }
    ck_assert_msg(!report.held, "%s: nothing shows", what);
    printf("# %s: fails with SIM_SEED=%llu: %.100s\n", what, (unsigned long long) seed,
           report.reason);
}

START_TEST(without_any_row_of_the_tables_they_do_not)
{
    struct launch *launch = launch_create();
    ck_assert_ptr_nonnull(launch);
    for (uint32_t number = 0; number < launch_rows(); number++) {
        char name[128];
        launch_row_name(number, name, sizeof(name));
        must_fail(launch, LAUNCH_WITHOUT_ROW, number, name);
    }
    launch_destroy(launch);
}
END_TEST

START_TEST(with_what_is_wrong_they_do_not)
{
    static const char *const names[] = {
        [LAUNCH_MANY_REASONS] = "a second reason",
        [LAUNCH_HOME_TWICE] = "home twice",
        [LAUNCH_LAUNCHED_TWICE] = "launched twice",
        [LAUNCH_NO_LOSS_AT_THE_END] = "no loss while draining",
        [LAUNCH_NO_STOP] = "timers that go on",
    };
    struct launch *launch = launch_create();
    ck_assert_ptr_nonnull(launch);
    for (enum launch_without without = LAUNCH_MANY_REASONS; without <= LAUNCH_NO_STOP; without++) {
        must_fail(launch, without, 0, names[without]);
    }
    launch_destroy(launch);
}
END_TEST

UNIT_MAIN_COUNTED("launches", LIMIT_S)
