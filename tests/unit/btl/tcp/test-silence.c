/* When a link's peer is taken for dead, by what the kernel says of the link. */
#include <config.h>

#include <btl/tcp/tcp_silence.h>
#include <tests/lib/unit.h>

enum { TIMEOUT_MS = 5000, LOOK_MS = 250 };

static struct tcp_silence silence;

static unsigned lost; /* by other links */

static bool judge(uint32_t elapsed_ms, const struct tcp_info *info)
{
    return tcp_silence_judge(&silence, info, lost, elapsed_ms * UINT64_C(1000),
                             TIMEOUT_MS * UINT64_C(1000));
}

/* One look, elapsed_ms after the one before. */
static bool look(uint32_t elapsed_ms, uint32_t quiet_ms, uint32_t unacked, uint8_t probes)
{
    struct tcp_info info = {
        .tcpi_last_ack_recv = quiet_ms, .tcpi_unacked = unacked, .tcpi_probes = probes};
    return judge(elapsed_ms, &info);
}

/* After how many ms a link over such a network, on which bytes are under way, has failed. */
static uint32_t fails_after(struct tcp_info info)
{
    silence = (struct tcp_silence){0};
    info.tcpi_unacked = 1;
    ck_assert(!judge(LOOK_MS, &info));
    info.tcpi_total_retrans += 8; /* it is cut: all that is sent is sent again */
    info.tcpi_data_segs_out += 8;
    info.tcpi_last_ack_recv = LOOK_MS;
    while (!judge(LOOK_MS, &info)) {
        info.tcpi_last_ack_recv += LOOK_MS;
        ck_assert_uint_le(info.tcpi_last_ack_recv, 100 * TIMEOUT_MS);
    }
    return info.tcpi_last_ack_recv;
}

START_TEST(test_bytes_that_nobody_acknowledges)
{
    uint32_t ms = 0;
    while (!look(LOOK_MS, ms, 10, 0)) {
        ms += LOOK_MS;
        ck_assert_uint_le(ms, TIMEOUT_MS);
    }
    ck_assert_uint_eq(ms, TIMEOUT_MS);
}
END_TEST

/* An idle peer is asked each second; the first of its probes may get lost. */
START_TEST(test_probes_that_nobody_answers)
{
    uint32_t ms = 0;
    while (!look(LOOK_MS, ms, 0, (uint8_t) (ms / 1000))) {
        ms += LOOK_MS;
        ck_assert_uint_le(ms, TIMEOUT_MS);
    }
    ck_assert_uint_eq(ms, TIMEOUT_MS);
}
END_TEST

START_TEST(test_an_idle_link_may_be_quiet)
{
    for (uint32_t ms = 0; ms < 20 * TIMEOUT_MS; ms += LOOK_MS) {
        ck_assert(!look(LOOK_MS, ms, 0, 0));
        ck_assert(!look(LOOK_MS, ms, 0, 1)); /* just sent */
    }
}
END_TEST

START_TEST(test_a_slow_peer_acknowledges)
{
    for (uint32_t ms = 0; ms < 20 * TIMEOUT_MS; ms += LOOK_MS) {
        ck_assert(!look(LOOK_MS, ms % (TIMEOUT_MS - LOOK_MS), 10, 0));
    }
}
END_TEST

/* Probes of a full buffer come ever later; each is answered. */
START_TEST(test_a_full_peer_answers_late_probes)
{
    for (uint32_t quiet = 0; quiet < 60000; quiet += LOOK_MS) {
        ck_assert(!look(LOOK_MS, quiet, 0, 0));
    }
    ck_assert(!look(LOOK_MS, 60000, 0, 1)); /* the answer is on its way */
    ck_assert(!look(LOOK_MS, 60250, 0, 2)); /* that answer was lost; the next is on its way */
    ck_assert(!look(LOOK_MS, 100, 0, 0));
}
END_TEST

/* A machine that stands still lets acknowledgements wait, too. */
START_TEST(test_time_in_which_nobody_looked_hardly_counts)
{
    ck_assert(!look(LOOK_MS, LOOK_MS, 10, 0));
    ck_assert(!look(60000, 60250, 10, 0));
    ck_assert(!look(LOOK_MS, 100, 10, 0));
    ck_assert(!look(LOOK_MS, TIMEOUT_MS, 10, 0)); /* from the beginning again */
}
END_TEST

START_TEST(test_networks_that_lose_or_are_slow_get_longer)
{
    ck_assert_uint_eq(fails_after((struct tcp_info){.tcpi_data_segs_out = 1000}), TIMEOUT_MS);
    ck_assert_uint_eq(
        fails_after((struct tcp_info){.tcpi_data_segs_out = 1000, .tcpi_total_retrans = 40}),
        3 * TIMEOUT_MS);
    ck_assert_uint_eq(
        fails_after((struct tcp_info){.tcpi_data_segs_out = 1000, .tcpi_total_retrans = 900}),
        12 * TIMEOUT_MS);
    ck_assert_uint_eq(fails_after((struct tcp_info){.tcpi_data_segs_out = 9, .tcpi_rtt = 500000}),
                      8000);
    lost = 4; /* this link did not send enough to know */
    ck_assert_uint_eq(fails_after((struct tcp_info){.tcpi_data_segs_out = 9}), 3 * TIMEOUT_MS);
}
END_TEST

START_TEST(test_a_loss_among_few_segments_tells_nothing)
{
    ck_assert_uint_eq(
        fails_after((struct tcp_info){.tcpi_data_segs_out = 20, .tcpi_total_retrans = 2}),
        TIMEOUT_MS);
    ck_assert_uint_eq(
        fails_after((struct tcp_info){.tcpi_data_segs_out = 20, .tcpi_total_retrans = 8}),
        3 * TIMEOUT_MS);
}
END_TEST

/* Of the questions to its host one is answered each second, from then until. */
static uint32_t fails_while_the_host_answers(struct tcp_info info, uint32_t until_ms)
{
    silence = (struct tcp_silence){0};
    info.tcpi_unacked = 1;
    while (!judge(LOOK_MS, &info)) {
        info.tcpi_last_ack_recv += LOOK_MS;
        if (info.tcpi_last_ack_recv % 1000 == 0 && info.tcpi_last_ack_recv <= until_ms) {
            silence.host_quiet_us = 0;
        }
        ck_assert_uint_le(info.tcpi_last_ack_recv, 100 * TIMEOUT_MS);
    }
    return info.tcpi_last_ack_recv;
}

START_TEST(test_a_link_whose_host_answers_gets_longer)
{
    struct tcp_info info = {.tcpi_data_segs_out = 9};
    ck_assert_uint_eq(fails_while_the_host_answers(info, 0), TIMEOUT_MS);
    ck_assert_uint_eq(fails_while_the_host_answers(info, 2000), 2000 + TIMEOUT_MS - LOOK_MS);
    ck_assert_uint_eq(fails_while_the_host_answers(info, 100 * TIMEOUT_MS), 6 * TIMEOUT_MS);
    lost = 20; /* this is longer still */
    ck_assert_uint_eq(fails_while_the_host_answers(info, 100 * TIMEOUT_MS), 11 * TIMEOUT_MS);
}
END_TEST

UNIT_MAIN("tcp-silence")
