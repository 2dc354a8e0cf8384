/* What sessions reach in virtual time, on a line of 10 Gb/s with round trips of 50 us into a socket
 * buffer with room for 92 packets: goodput, shares, what a loss costs, resends that were needless.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/unit.h>
#include <tests/unit/btl/usnic/sim.h>

#define LINE 1.25e9 /* bytes per second */

enum { US = 1000, MS = 1000000, ROOM = 92, MTU = 1472, QUEUED = 4 };

static const struct sim_settings line = {.nodes = 2,
                                         .mtu = MTU,
                                         .room = ROOM * 2304,
                                         .segments = 4096,
                                         .buffers = 512,
                                         .delay_ns = 25 * US,
                                         .fixed_size = 65536,
                                         .seed = 1};

static void keep_sending(struct sim_session *session)
{
    sim_send(session, false);
}

static struct impair_settings *way(int from, int to)
{
    return &sim_wire_way(&sim.wire, from, to)->settings;
}

static void begin_with(const struct sim_settings *settings)
{
    int nodes = settings->nodes;

    sim_begin(settings);
    sim.packed = keep_sending;
    for (int from = 0; from < nodes; from++) {
        for (int to = 0; to < nodes; to++) {
            way(from, to)->rate = (uint64_t) LINE;
            way(from, to)->queue_bytes = ROOM * MTU;
        }
    }
    for (int from = 1; from < nodes; from++) {
        sim_session_open(from, 0, 0, 7, UINT32_MAX - 100);
    }
    sim_run_until(1);
}

static void start(int from, int to)
{
    for (int i = 0; i < QUEUED; i++) {
        ck_assert(sim_send(sim_between(from, to), false));
    }
}

static void begin(int nodes)
{
    struct sim_settings settings = line;

    settings.nodes = nodes;
    begin_with(&settings);
}

/* Shares of the line that sender after sender reaches, from one time to another. */
static double goodput(double *shares, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t before[SIM_NODES];
    double sum = 0;

    sim_run_until(from_ns);
    for (int i = 1; i < sim.settings.nodes; i++) {
        before[i] = sim_between(0, i)->bytes;
    }
    sim_run_until(to_ns);
    ck_assert_msg(!sim.broken, "%s", sim.broken);
    for (int i = 1; i < sim.settings.nodes; i++) {
        uint64_t bytes = sim_between(0, i)->bytes - before[i];
        shares[i] = (double) bytes * 1e9 / (double) (to_ns - from_ns) / LINE;
        sum += shares[i];
    }
    return sum;
}

static void end(const char *what, double figure)
{
    struct sim_totals totals = {0};
    uint64_t overflows = sim.wire.ports[0].overflows;

    sim_add_totals(&totals);
    printf("# %s: %.3f (%llu packets, %llu resends, %llu duplicates, %llu overflows)\n", what,
           figure, (unsigned long long) totals.packets, (unsigned long long) totals.resends,
           (unsigned long long) totals.duplicates, (unsigned long long) overflows);
    sim.packed = NULL;
    sim_end();
    ck_assert_msg(!sim.broken, "%s", sim.broken);
}

/* Goodput of one flow, beside the line. */
static double one_flow(const char *what, double loss)
{
    double shares[SIM_NODES];

    begin(2);
    way(1, 0)->loss = way(0, 1)->loss = loss;
    start(1, 0);
    double sum = goodput(shares, 5 * MS, 105 * MS);
    end(what, sum);
    return sum;
}

START_TEST(one_flow_fills_the_line)
{
    ck_assert_double_ge(one_flow("goodput without loss", 0), 0.95);
}
END_TEST

START_TEST(loss_costs_little)
{
    ck_assert_double_ge(one_flow("goodput at 1 % loss", 0.01), 0.8);
    ck_assert_double_ge(one_flow("goodput at 5 % loss", 0.05), 0.4);
}
END_TEST

/* Three packets of ten are lost each way: what is left goes on, for longer than the peer's timeout.
 */
START_TEST(heavy_loss_ends_no_session)
{
    const uint32_t rate = 2000000;
    struct sim_settings settings = line;
    double shares[SIM_NODES];

    settings.peer_timeout_us = 10000000;
    begin_with(&settings);
    way(1, 0)->loss = way(0, 1)->loss = 0.3;
    way(1, 0)->rate = way(0, 1)->rate = rate;
    start(1, 0);
    double sum = goodput(shares, 5 * MS, 30005 * (uint64_t) MS) * LINE / rate;
    ck_assert(!sim_between(1, 0)->failed && !sim_between(0, 1)->failed);
    ck_assert_uint_eq(sim_between(1, 0)->flow.passed, MTU - 4);
    end("goodput at 30 % loss each way", sum);
    ck_assert_double_gt(sum, 0.45);
}
END_TEST

/* A process that shares its processor with others. */
static void stall_again(int who, void *what)
{
    const uint32_t *most_ns = what;
    uint64_t sleep_ns = 1 * MS + sim_below(&sim.random, *most_ns);

    sim_sleep(who, sleep_ns);
    sim_act_at(sim.queue.now + sleep_ns + MS / 2 + sim_below(&sim.random, 4 * MS), who, what);
}

static int unsent;

static void send_rest(struct sim_session *session)
{
    if (session->node == 1 && unsent > 0) {
        unsent--;
        sim_send(session, false);
    }
}

/* How long 2 MiB take of which every third packet is lost, acknowledgements too, between processes
 * that share their processors, in ms. */
static uint64_t heavy_loss_ms(uint64_t seed)
{
    static const uint32_t stall_ns = 9 * MS;
    struct sim_settings settings = line;
    uint64_t ms = 0;

    settings.seed = seed;
    settings.peer_timeout_us = 60000000;
    begin_with(&settings);
    sim.packed = send_rest;
    sim.action = stall_again;
    way(1, 0)->loss = way(0, 1)->loss = 0.34;
    for (int node = 0; node < 2; node++) {
        sim_act_at((uint64_t) (1 + node) * US, node, (void *) (uintptr_t) &stall_ns);
    }
    unsent = 32 - QUEUED;
    start(1, 0);
    while (ms < 60000 && (sim_between(0, 1)->received < 32 || !sim_is_quiet())) {
        sim_run_until(++ms * MS);
    }
    sim_end();
    ck_assert_msg(!sim.broken, "%s", sim.broken);
    return ms;
}

START_TEST(heavy_loss_is_over_soon)
{
    uint64_t most_ms = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint64_t ms = heavy_loss_ms(seed);
        most_ms = ms > most_ms ? ms : most_ms;
    }
    printf("# 2 MiB at 34 %% loss each way, the slowest of 40: %llu ms\n",
           (unsigned long long) most_ms);
    ck_assert_uint_le(most_ms, 500);
}
END_TEST

START_TEST(flows_share_a_receiver)
{
    double shares[SIM_NODES], sum;

    begin(3);
    start(1, 0);
    sim_run_until(10 * MS);
    start(2, 0);
    sum = goodput(shares, 20 * MS, 120 * MS);
    printf("# shares of two flows: %.3f and %.3f\n", shares[1], shares[2]);
    end("goodput of two flows", sum);
    ck_assert_double_ge(shares[1], 0.8 * 0.5);
    ck_assert_double_ge(shares[2], 0.8 * 0.5);

    begin(17);
    for (int i = 1; i < 17; i++) {
        start(i, 0);
    }
    sum = goodput(shares, 10 * MS, 110 * MS);
    double least = 1;
    for (int i = 1; i < 17; i++) {
        least = shares[i] < least ? shares[i] : least;
    }
    printf("# least share of 16 flows: %.3f of a fair one\n", least * 16);
    end("goodput of 16 flows to one", sum);
    ck_assert_double_ge(sum, 0.8);
    ck_assert_double_ge(least * 16, 0.33);
}
END_TEST

/* ---- a lost tail ---- */

static uint64_t tail_ns, arrived_ns;

static void note(struct sim_session *session)
{
    if (session->node == 0) {
        arrived_ns = sim.queue.now;
    }
}

/* Messages one by one, over a way that is sometimes slow; the last one is lost, or not. Returns
 * when that arrived, after it was sent, in us; *round_us: the round trip as it was measured. */
static double tail(uint64_t slow_ns, bool lost, double *round_us)
{
    struct sim_settings settings = line;

    settings.fixed_size = 1000;
    sim_begin(&settings);
    sim.delivered = note;
    sim_session_open(1, 0, 0, 1, 1);
    for (int i = 1; i <= 41; i++) {
        way(1, 0)->delay_ns = line.delay_ns + (i % 2 ? 0 : slow_ns);
        if (i == 41 && lost) {
            way(1, 0)->cut = 1;
        }
        sim_run_until(tail_ns = (uint64_t) i * 20 * MS);
        tail_ns = sim.queue.now > tail_ns ? sim.queue.now : tail_ns;
        sim.queue.now = tail_ns;
        *round_us = sim_between(1, 0)->flow.rtt.smoothed / 16.0;
        ck_assert(sim_send(sim_between(1, 0), false));
        way(1, 0)->cut = 0;
    }
    sim_run_until(tail_ns + 2000 * (uint64_t) MS);
    ck_assert_uint_eq(sim_between(0, 1)->received, 41);
    sim_end();
    ck_assert_msg(!sim.broken, "%s", sim.broken);
    return (double) (arrived_ns - tail_ns) / 1000;
}

/* What a loss at the end costs beyond two round trips, in us. */
static double tail_cost(uint64_t slow_ns)
{
    double round_us, cost_us = tail(slow_ns, true, &round_us) - tail(slow_ns, false, &round_us);

    printf("# a lost tail costs %.0f us at round trips of %.0f us\n", cost_us, round_us);
    return cost_us - 2 * round_us;
}

START_TEST(a_lost_tail_is_soon_sent_again)
{
    ck_assert_double_le(tail_cost(0), 2000);
    ck_assert_double_le(tail_cost(6 * MS), 2000);
}
END_TEST

/* ---- needless resends ---- */

/* Duplicates that the receiver got, as a part of all packets. */
static double needless(void)
{
    struct sim_totals totals = {0};

    sim_add_totals(&totals);
    return (double) totals.duplicates / (double) totals.packets;
}

START_TEST(what_is_overtaken_is_not_sent_again)
{
    double shares[SIM_NODES];

    begin(2);
    way(1, 0)->reorder = 0.1;
    way(1, 0)->reorder_ns = 118 * US;
    start(1, 0);
    goodput(shares, 5 * MS, 205 * MS);
    double part = needless();
    end("needless resends, reordering 100 deep", part);
    ck_assert_double_le(part, 0.02);
}
END_TEST

static void sleep_again(int who, void *what)
{
    sim_sleep(who, 20 * MS);
    sim_act_at(sim.queue.now + 50 * MS, who, what);
}

/* A receiver that sleeps 20 of every 50 ms; *overflows: packets that found no room meanwhile. */
static double sleeper(uint64_t *overflows)
{
    double shares[SIM_NODES];

    begin(2);
    sim.action = sleep_again;
    sim_act_at(10 * MS, 0, NULL);
    start(1, 0);
    double sum = goodput(shares, 5 * MS, 505 * MS), part = needless();
    *overflows = sim.wire.ports[0].overflows;
    end("goodput to a receiver that sleeps 20 of 50 ms", sum);
    printf("# needless resends to it: %.4f\n", part);
    return part;
}

START_TEST(a_sleeping_receiver_is_waited_for)
{
    uint64_t overflows;

    ck_assert_double_le(sleeper(&overflows), 0.02);
    ck_assert_uint_eq(overflows, 0);
}
END_TEST

/* ---- two processes that share their processors with others, over a slow line ---- */

static double round_us; /* at the end, smoothed */

/* What it reaches, as a part of a line of 20 MB/s. */
static double slow_line(const char *what, uint32_t most_ns, double loss)
{
    const double rate = 20e6;
    double shares[SIM_NODES];

    begin(2);
    sim.action = stall_again;
    for (int from = 0; from < 2; from++) {
        way(from, 1 - from)->rate = (uint64_t) rate;
        way(from, 1 - from)->queue_bytes = 0;
        way(from, 1 - from)->delay_ns = 50 * US;
        way(from, 1 - from)->loss = loss;
        if (most_ns > 0) {
            sim_act_at((uint64_t) (20 + from) * MS, from, &most_ns);
        }
    }
    start(1, 0);
    double sum = goodput(shares, 20 * MS, 4020 * (uint64_t) MS) * LINE;
    round_us = sim_between(1, 0)->flow.rtt.smoothed / 16.0;
    end(what, sum / rate);
    return sum / rate;
}

START_TEST(stalls_are_no_congestion)
{
    double sound = slow_line("a slow line", 0, 0);

    ck_assert_double_ge(sound, 0.9);
    printf("# its round trip, with room for a queue of 6 ms: %.0f us\n", round_us);
    ck_assert_double_le(round_us, 3000);
    double stalls = slow_line("a slow line and stalls", 9 * MS, 0);
    ck_assert_double_ge(stalls, 0.4);
    ck_assert_double_ge(slow_line("a slow line, 1 %", 0, 0.01), 0.8 * sound);
    ck_assert_double_ge(slow_line("a slow line, 5 %", 0, 0.05), 0.4 * sound);
    ck_assert_double_ge(slow_line("a slow line and stalls, 1 %", 9 * MS, 0.01), 0.8 * stalls);
    ck_assert_double_ge(slow_line("a slow line and stalls, 5 %", 9 * MS, 0.05), 0.4 * stalls);
}
END_TEST

/* ---- early packets ---- */

static void send_ten(int who, void *what)
{
    for (int i = 0; i < 10; i++) {
        sim_send(sim_between(who, 0), false);
    }
    sim_act_at(sim.queue.now + 50 * US, who, what);
}

/* What is kept until its turn leaves less room for others: nothing is sent that cannot be kept. */
START_TEST(nothing_is_sent_that_cannot_be_kept)
{
    struct sim_settings settings = line;

    settings.fixed_size = 50;
    settings.buffers = 16;
    sim_begin(&settings);
    sim.action = send_ten;
    sim_session_open(1, 0, 0, 1, 1);
    way(1, 0)->loss = 0.02;
    sim_act_at(1, 1, NULL);
    sim_run_until(200 * MS);
    const struct usnic_counts *counts = &sim.nodes[0].engine.counts;
    printf("# %llu early packets, %llu dropped\n", (unsigned long long) counts->early,
           (unsigned long long) counts->dropped);
    ck_assert_uint_gt(counts->early, 100);
    ck_assert_uint_eq(counts->dropped, 0);
    end("small packets to a receiver with few buffers", 0);
}
END_TEST

/* ---- silence ---- */

/* Packets that are sent to a peer of which nothing is heard for two seconds. */
static uint64_t into_silence(void)
{
    struct sim_totals before = {0}, after = {0};
    double shares[SIM_NODES];

    begin(2);
    start(1, 0);
    goodput(shares, 1 * MS, 10 * MS);
    way(1, 0)->cut = way(0, 1)->cut = 1;
    sim_run_until(11 * MS);
    sim_add_totals(&before);
    sim_run_until(2010 * (uint64_t) MS);
    sim_add_totals(&after);
    end("packets into two seconds of silence", (double) (after.packets - before.packets));
    return after.packets - before.packets;
}

START_TEST(silence_is_answered_by_silence)
{
    ck_assert_uint_le(into_silence(), 16);
}
END_TEST

/* ---- failure ---- */

/* A session that has failed, and that its user has not closed, keeps no segments from others. */
START_TEST(a_failed_session_keeps_nothing)
{
    struct sim_settings settings = line;

    settings.nodes = 3;
    settings.segments = 24;
    sim_begin(&settings);
    sim_session_open(1, 0, 0, 1, 1);
    sim_session_open(1, 2, 0, 1, 1);
    way(1, 0)->cut = 1;
    start(1, 0);
    sim_run_until(5000 * (uint64_t) MS);
    ck_assert(sim_between(1, 0)->failed && sim_between(1, 0)->open);
    ck_assert(!usnic_flow_is_flushed(&sim_between(1, 0)->flow));
    ck_assert_uint_eq(sim.nodes[1].engine.unused_count, settings.segments);
    ck_assert_uint_eq(sim.nodes[1].engine.flights, 0);
    sim.queue.now = 5000 * (uint64_t) MS;
    ck_assert(sim_send(sim_between(1, 2), false));
    sim_run_until(5100 * (uint64_t) MS);
    ck_assert_uint_eq(sim_between(2, 1)->received, 1);
    end("a session that failed", 0);
}
END_TEST

/* ---- what fails without a part of production ---- */

START_TEST(fails_without_selective_acknowledgements)
{
    sim_sabotage = SIM_NO_RANGES;
    ck_assert_double_lt(one_flow("goodput at 5 % loss without ranges", 0.05), 0.4);
}
END_TEST

START_TEST(fails_without_backoff)
{
    sim_sabotage = SIM_NO_BACKOFF;
    ck_assert_uint_gt(into_silence(), 16);
}
END_TEST

START_TEST(fails_without_credit)
{
    uint64_t overflows;

    sim_sabotage = SIM_NO_CREDIT;
    sleeper(&overflows);
    ck_assert_uint_gt(overflows, 0);
}
END_TEST

START_TEST(fails_without_tail_probes)
{
    sim_sabotage = SIM_NO_PROBE;
    ck_assert_double_gt(tail_cost(6 * MS), 2000);
}
END_TEST

UNIT_MAIN("usnic-rate")
