/* Messages over rails in simulated processes: many schedules, each made from a seed. SIM_SEED=n
 * runs that one and logs what happens, SIM_COUNT=n or an argument so many, from SIM_FIRST=n on. */
#include <base/settings/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/unit.h>
#include <tests/unit/pml/sim/sim.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SCHEDULES = 2000 };
#else
enum { SCHEDULES = 10000 };
#endif
enum { FATES = 11 };    /* cases that share the schedules */
enum { PROMPT = 200 };  /* schedules without shortages */
enum { FEW = 5000 };    /* schedules in which a sabotage shows */
enum { LIMIT_S = 600 }; /* of a count that was given */

static void unheard(void *arg, enum log_level level, const char *line)
{
    (void) arg, (void) level, (void) line;
}

static void schedules(const struct sim_options *options)
{
    const char *chosen = getenv("SIM_SEED"), *many = getenv("SIM_COUNT"),
               *from = getenv("SIM_FIRST");
    uint64_t first = chosen ? strtoull(chosen, NULL, 0) : from ? strtoull(from, NULL, 0) : 1;
    uint64_t count = chosen ? 1 : (many ? strtoull(many, NULL, 0) : SCHEDULES) / FATES;
    struct sim_report report, sum = {0};
    if (chosen) {
        log_set_verbosity(LOG_PTL, LOG_DEBUG);
    } else {
        log_set_sink(unheard, NULL);
    }
    for (uint64_t seed = first; seed < first + count; seed++) {
        sim_run(seed, options, &report);
        ck_assert_msg(report.held, "SIM_SEED=%llu: %s", (unsigned long long) seed, report.reason);
        sum.events += report.events;
        sum.messages += report.messages;
        sum.failed += report.failed;
        sum.puts += report.puts;
        sum.gets += report.gets;
        sum.shortages += report.shortages;
        sum.denied += report.denied;
        sum.divided += report.divided;
        sum.gave_way += report.gave_way;
        sum.deaths += report.deaths;
        sum.returns += report.returns;
        sum.late += report.late;
        sum.stale += report.stale;
    }
    ck_assert(chosen || options->parts || options->rails == 1 || sum.divided > 0);
    ck_assert(chosen || !options->handshakes || sum.gave_way > 0);
#define N(what) (unsigned long long) sum.what
    printf("# %llu schedules: %llu events, %llu messages, %llu failed, %llu puts, %llu gets, "
           "%llu divided, %llu shortages, %llu denied, %llu deaths, %llu returns, %llu gave way, "
           "%llu late, %llu stale\n",
           (unsigned long long) count, N(events), N(messages), N(failed), N(puts), N(gets),
           N(divided), N(shortages), N(denied), N(deaths), N(returns), N(gave_way), N(late),
           N(stale));
}

UNIT_CASE(one_rail, schedules(&(struct sim_options){.rails = 1}))
UNIT_CASE(one_rail_that_dies, schedules(&(struct sim_options){.rails = 1, .fate = SIM_LAST}))
UNIT_CASE(several_rails, schedules(&(struct sim_options){.fate = SIM_CALM}))
UNIT_CASE(several_rails_with_little_under_way, schedules(&(struct sim_options){.narrow = true}))
UNIT_CASE(rails_that_die_and_return, schedules(&(struct sim_options){.fate = SIM_FAILOVER}))
UNIT_CASE(frames_in_parts, schedules(&(struct sim_options){.fate = SIM_FAILOVER, .parts = true}))
UNIT_CASE(rails_that_pin_memory, schedules(&(struct sim_options){.pins = true}))
UNIT_CASE(rails_that_pin_memory_and_die,
          schedules(&(struct sim_options){.fate = SIM_FAILOVER, .pins = true}))
UNIT_CASE(rails_that_do_not_connect, schedules(&(struct sim_options){.handshakes = true}))
UNIT_CASE(rails_that_connect_or_not_and_die,
          schedules(&(struct sim_options){.fate = SIM_LAST, .handshakes = true}))
UNIT_CASE(all_rails_that_die, schedules(&(struct sim_options){.fate = SIM_LAST}))

/* A sender is told what has come after a millisecond, or 64 KiB; up to 8 passes late, since not
 * each pass reads the clock. */
START_TEST(what_has_come_is_told_of_in_time)
{
    const struct sim_options options = {.rails = 2, .prompt = true};
    struct sim_report report;
    uint64_t owed_ns = 0, owed_bytes = 0;
    log_set_sink(unheard, NULL);
    for (uint64_t seed = 1; seed <= PROMPT; seed++) {
        sim_run(seed, &options, &report);
        ck_assert_msg(report.held, "SIM_SEED=%llu: %s", (unsigned long long) seed, report.reason);
        owed_ns = report.owed_ns > owed_ns ? report.owed_ns : owed_ns;
        owed_bytes = report.owed_bytes > owed_bytes ? report.owed_bytes : owed_bytes;
    }
    printf("# told of after at most %llu ns, %llu bytes\n", (unsigned long long) owed_ns,
           (unsigned long long) owed_bytes);
    ck_assert_uint_gt(owed_ns, 500000);
    ck_assert_uint_le(owed_ns, 1000000 + 10 * SIM_PROMPT_NS);
    ck_assert_uint_gt(owed_bytes, 60 << 10);
    ck_assert_uint_lt(owed_bytes, 68 << 10); /* headers, and the frame that makes them too many */
}
END_TEST

/* In this schedule a process is told that it was given up while it accesses memory, over a rail
 * that works at its end. */
static void awaits(uint64_t seed, const struct sim_options *options)
{
    struct sim_report report;
    log_set_sink(unheard, NULL);
    sim_run(seed, options, &report);
    ck_assert_msg(report.held, "SIM_SEED=%llu: %s", (unsigned long long) seed, report.reason);
    ck_assert_msg(report.awaited > 0, "SIM_SEED=%llu awaits nothing any more: choose another one",
                  (unsigned long long) seed);
}

START_TEST(gets_end_before_their_receives)
{
    awaits(4357, &(struct sim_options){.fate = SIM_LAST});
}
END_TEST

START_TEST(puts_end_before_their_sends)
{
    const uint64_t seeds[] = {340, 2531, 3045, 4169, 4832, 5859};
    for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
        awaits(seeds[i], &(struct sim_options){.fate = SIM_LAST, .puts = true});
    }
}
END_TEST

/* Messages over rails without this part do not pass, in a schedule in which they do with it. */
static void must_fail_with(enum sim_sabotage sabotage, struct sim_options sound)
{
    struct sim_options options = sound;
    options.sabotage = sabotage;
    struct sim_report report = {.held = true}, without;
    log_set_sink(unheard, NULL);
    for (uint64_t seed = 1; report.held && seed <= FEW; seed++) {
        sim_run(seed, &options, &report);
        if (!report.held) {
            sim_run(seed, &sound, &without);
            report.held = !without.held;
        }
        if (!report.held) {
            printf("# fails with SIM_SEED=%llu: %s\n", (unsigned long long) seed, report.reason);
        }
    }
    ck_assert(!report.held);
}

static void must_fail(enum sim_sabotage sabotage)
{
    must_fail_with(sabotage, (struct sim_options){.fate = SIM_FAILOVER});
}

UNIT_CASE(fails_with_fragments_that_are_taken_twice, must_fail(SIM_FRAGMENTS_TWICE))
UNIT_CASE(fails_with_messages_that_are_taken_twice, must_fail(SIM_MESSAGES_TWICE))
UNIT_CASE(fails_with_the_order_of_arrival, must_fail(SIM_ORDER_OF_ARRIVAL))
UNIT_CASE(fails_with_acknowledgements_before_copies, must_fail(SIM_ACK_BEFORE_COPY))
UNIT_CASE(fails_with_ranges_that_are_moved_again_whole, must_fail(SIM_RANGE_WHOLE))
UNIT_CASE(fails_with_late_puts_that_are_let_in, must_fail(SIM_LATE_RDMA))
UNIT_CASE(fails_with_late_puts_that_are_let_in_to_pieces,
          must_fail_with(SIM_LATE_RDMA, (struct sim_options){.fate = SIM_FAILOVER, .pins = true}))
UNIT_CASE(fails_with_a_second_rail_that_stays_open, must_fail(SIM_SECOND_OPEN))
UNIT_CASE(fails_with_ends_before_data, must_fail(SIM_FIN_BEFORE_DATA))
UNIT_CASE(fails_with_numbers_that_do_not_wrap, must_fail(SIM_NO_WRAP))
UNIT_CASE(fails_with_frames_that_wait_for_a_rail_which_does_not_connect,
          must_fail_with(SIM_KEEPS_RAIL, (struct sim_options){.handshakes = true}))

UNIT_MAIN_COUNTED("pml-sim", LIMIT_S)
