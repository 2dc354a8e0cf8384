/* Each impairment alone, by statistics over many packets; and that a seed decides. */
#include <config.h>

#include <math.h>
#include <string.h>
#include <tests/lib/impair.h>
#include <tests/lib/unit.h>

enum { PACKETS = 100000, SIZE = 1000, GAP_NS = 1000 };

struct outcome {
    uint64_t copies, lost, runs, longest_run; /* runs: of packets lost one after the other */
    uint64_t overtaken;                       /* copies that arrive before an earlier one */
    uint64_t least_ns, most_ns;               /* between sending and arriving */
    uint64_t last_ns;
    uint64_t sum; /* of all that was decided */
};

static uint64_t mix(uint64_t sum, uint64_t value)
{
    return (sum ^ value) * UINT64_C(0x100000001b3);
}

static void count_copy(struct outcome *outcome, const struct impair_copy *copy, uint64_t sent_ns)
{
    uint64_t took = copy->at_ns - sent_ns;
    outcome->copies++;
    outcome->overtaken += copy->at_ns < outcome->last_ns;
    outcome->last_ns = copy->at_ns > outcome->last_ns ? copy->at_ns : outcome->last_ns;
    outcome->least_ns = took < outcome->least_ns ? took : outcome->least_ns;
    outcome->most_ns = took > outcome->most_ns ? took : outcome->most_ns;
    outcome->sum = mix(mix(mix(outcome->sum, copy->at_ns), copy->size), copy->wrong_bit);
}

/* Sends many packets through what the texts set. */
static struct outcome run(struct impair *impair, uint64_t seed, const char *const *texts)
{
    static struct impair_line line;
    struct outcome outcome = {.least_ns = UINT64_MAX};
    struct impair_copy copies[IMPAIR_COPIES];
    uint64_t run = 0;
    line = (struct impair_line){0};
    impair_init(impair, &line, seed);
    for (; *texts; texts++) {
        ck_assert_msg(impair_set(&impair->settings, *texts), "%s", *texts);
    }
    for (uint64_t i = 0; i < PACKETS; i++) {
        int count = impair_packet(impair, i * GAP_NS, SIZE, copies);
        for (int c = 0; c < count; c++) {
            count_copy(&outcome, &copies[c], i * GAP_NS);
        }
        outcome.lost += count == 0;
        outcome.runs += count == 0 && run == 0;
        run = count == 0 ? run + 1 : 0;
        outcome.longest_run = run > outcome.longest_run ? run : outcome.longest_run;
    }
    ck_assert_uint_eq(impair->counts[IMPAIR_SENT], PACKETS);
    return outcome;
}

#define RUN(impair, ...) run(impair, 1, (const char *const[]){__VA_ARGS__, NULL})

/* Within 5 standard deviations of what chance makes of many packets. */
static void assert_share(uint64_t count, double chance)
{
    double mean = chance * PACKETS, deviation = sqrt(mean * (1 - chance));
    ck_assert_msg(fabs((double) count - mean) < 5 * deviation, "%ju, not about %.0f",
                  (uintmax_t) count, mean);
}

START_TEST(test_a_perfect_network_changes_nothing)
{
    struct impair impair;
    struct outcome outcome = RUN(&impair, "loss=0");
    ck_assert_uint_eq(outcome.copies, PACKETS);
    ck_assert_uint_eq(outcome.most_ns, 0);
    ck_assert_uint_eq(outcome.overtaken, 0);
}
END_TEST

START_TEST(test_single_losses_are_independent)
{
    struct impair impair;
    struct outcome outcome = RUN(&impair, "loss=10");
    assert_share(outcome.lost, 0.1);
    ck_assert_uint_eq(outcome.lost, impair.counts[IMPAIR_LOST]);
    ck_assert_uint_lt(outcome.longest_run, 10);
}
END_TEST

START_TEST(test_losses_come_in_bursts)
{
    struct impair impair;
    struct outcome outcome = RUN(&impair, "burst=0.5", "burst_length=20");
    double mean = (double) outcome.lost / (double) outcome.runs;
    ck_assert_msg(mean > 17 && mean < 23, "a burst is %.1f packets long", mean);
    ck_assert_uint_gt(outcome.runs, PACKETS / 300);
    ck_assert_uint_lt(outcome.runs, PACKETS / 180);
    ck_assert_uint_eq(outcome.lost, impair.counts[IMPAIR_BURST]);
}
END_TEST

START_TEST(test_duplicates_arrive_twice)
{
    struct impair impair;
    struct outcome outcome = RUN(&impair, "duplicate=5");
    assert_share(outcome.copies - PACKETS, 0.05);
    ck_assert_uint_eq(outcome.lost, 0);
}
END_TEST

START_TEST(test_late_packets_are_overtaken)
{
    struct impair impair;
    struct outcome outcome = RUN(&impair, "reorder=3", "reorder_by=0.1");
    assert_share(impair.counts[IMPAIR_REORDERED], 0.03);
    /* up to 100 packets late: nearly each one is overtaken */
    ck_assert_uint_gt(outcome.overtaken, impair.counts[IMPAIR_REORDERED] * 9 / 10);
    ck_assert_uint_le(outcome.most_ns, 100000);
    ck_assert_uint_gt(outcome.most_ns, 95000);
}
END_TEST

START_TEST(test_jitter_keeps_the_order)
{
    struct impair impair;
    struct outcome outcome = RUN(&impair, "delay=2", "jitter=1");
    ck_assert_uint_ge(outcome.least_ns, 2000000);
    ck_assert_uint_le(outcome.most_ns, 3000000);
    ck_assert_uint_gt(outcome.most_ns, 2990000);
    ck_assert_uint_eq(outcome.overtaken, 0);
}
END_TEST

START_TEST(test_bits_flip_and_ends_are_missing)
{
    struct impair impair;
    struct impair_copy copies[IMPAIR_COPIES];
    struct impair_line line = {0};
    uint64_t short_ones = 0, wrong = 0;
    impair_init(&impair, &line, 1);
    ck_assert(impair_set(&impair.settings, "corrupt=2"));
    ck_assert(impair_set(&impair.settings, "truncate=4"));
    for (int i = 0; i < PACKETS; i++) {
        ck_assert_int_eq(impair_packet(&impair, 0, SIZE, copies), 1);
        short_ones += copies[0].size < SIZE;
        ck_assert(copies[0].wrong_bit == IMPAIR_SOUND || copies[0].wrong_bit < copies[0].size * 8);
        wrong += copies[0].wrong_bit != IMPAIR_SOUND;
    }
    assert_share(short_ones, 0.04);
    assert_share(wrong, 0.02);
}
END_TEST

START_TEST(test_long_packets_vanish)
{
    struct impair impair;
    struct impair_copy copies[IMPAIR_COPIES];
    struct impair_line line = {0};
    impair_init(&impair, &line, 1);
    ck_assert(impair_set(&impair.settings, "mtu=1400"));
    ck_assert_int_eq(impair_packet(&impair, 0, 1400, copies), 1);
    ck_assert_int_eq(impair_packet(&impair, 0, 1401, copies), 0);
    ck_assert_uint_eq(impair.counts[IMPAIR_TOO_LONG], 1);
}
END_TEST

START_TEST(test_the_line_has_a_rate)
{
    struct impair impair;
    /* 1 GB/s come, half of it passes; nothing is dropped, so the last waits for as long again */
    struct outcome outcome = RUN(&impair, "rate=500");
    ck_assert_uint_eq(outcome.copies, PACKETS);
    ck_assert_uint_eq(outcome.last_ns, (uint64_t) PACKETS * SIZE * 2);
}
END_TEST

START_TEST(test_a_full_queue_drops_the_last)
{
    struct impair impair;
    struct outcome outcome = RUN(&impair, "rate=500", "queue=92000");
    ck_assert_uint_ge(outcome.copies, PACKETS / 2);
    ck_assert_uint_le(outcome.copies, PACKETS / 2 + 93);
    ck_assert_uint_le(outcome.most_ns, 92 * SIZE * 2);
    ck_assert_uint_eq(outcome.lost, impair.counts[IMPAIR_QUEUE_FULL]);
}
END_TEST

START_TEST(test_a_cut_comes_and_goes)
{
    struct impair impair;
    struct impair_copy copies[IMPAIR_COPIES];
    struct outcome outcome = RUN(&impair, "cut_after=70000");
    ck_assert_uint_eq(outcome.copies, 70000);
    ck_assert(impair_set(&impair.settings, "cut=0"));
    ck_assert_int_eq(impair_packet(&impair, (uint64_t) PACKETS * GAP_NS, SIZE, copies), 1);
    ck_assert(impair_set(&impair.settings, "cut=1"));
    ck_assert_int_eq(impair_packet(&impair, (uint64_t) PACKETS * GAP_NS, SIZE, copies), 0);
}
END_TEST

#define EVERYTHING                                                                               \
    (const char *const[])                                                                        \
    {                                                                                            \
        "loss=1", "burst=0.1", "burst_length=5", "duplicate=1", "reorder=2", "reorder_by=0.05",  \
            "corrupt=1", "truncate=1", "delay=1", "jitter=0.5", "rate=900", "queue=100000", NULL \
    }

START_TEST(test_a_seed_decides)
{
    struct impair impair;
    uint64_t first = run(&impair, 7, EVERYTHING).sum;
    ck_assert_uint_eq(run(&impair, 7, EVERYTHING).sum, first);
    ck_assert_uint_ne(run(&impair, 8, EVERYTHING).sum, first);
}
END_TEST

START_TEST(test_a_setting_leaves_other_decisions_alone)
{
    struct impair plain, both;
    RUN(&plain, "loss=1");
    RUN(&both, "loss=1", "duplicate=0", "burst_length=3", "jitter=0", "corrupt=1");
    ck_assert_uint_eq(plain.counts[IMPAIR_LOST], both.counts[IMPAIR_LOST]);
}
END_TEST

START_TEST(test_texts_that_are_no_settings)
{
    const char *const texts[] = {"",         "loss",       "loss=",   "loss=x",
                                 "loss=101", "loss=-1",    "loss=1%", "los=1",
                                 "losss=1",  "delay=1e30", "=1",      "mtu=nan"};
    struct impair_settings settings = {.mtu = 1};
    const struct impair_settings before = settings;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        ck_assert_msg(!impair_set(&settings, texts[i]), "%s", texts[i]);
    }
    ck_assert_mem_eq(&settings, &before, sizeof(before));
}
END_TEST

UNIT_MAIN("impair")
