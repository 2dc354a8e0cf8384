/* The end of a session, step by step: a flow with or without something in flight. */
#include <btl/usnic/engine/end.h>
#include <btl/usnic/engine/engine.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { SEGMENT_BYTES = 1536, SEGMENTS = 16, GIVE_UP_US = 5000, PATIENCE_US = 20000 };

static _Alignas(8) uint8_t memory[SEGMENTS * SEGMENT_BYTES];
static struct usnic_engine engine;
static struct usnic_flow flow;

static int transmit(void *arg, struct usnic_flow *of, enum usnic_channel channel,
                    struct usnic_segment *segment)
{
    (void) arg, (void) of, (void) channel, (void) segment;
    usnic_engine_sent(&engine, segment);
    return OPAL_SUCCESS;
}

static const struct usnic_user user = {.transmit = transmit};

static void begin(void)
{
    const struct usnic_engine_config config = {.memory = memory,
                                               .segments = SEGMENTS,
                                               .segment_bytes = SEGMENT_BYTES,
                                               .small_bytes = 512,
                                               .small_charge = 832,
                                               .full_charge = 2304,
                                               .receive_buffers = 64,
                                               .max_message = 65536,
                                               .ack_delay_us = 50,
                                               .peer_timeout_us = 60000000};
    const struct usnic_flow_params params = {.mtu = 1472};

    ck_assert_int_eq(usnic_engine_init(&engine, &config, &user, NULL, 0), OPAL_SUCCESS);
    usnic_flow_open(&engine, &flow, &params, 0);
}

static void finish(void)
{
    usnic_flow_close(&engine, &flow);
    usnic_engine_fini(&engine);
}

/* Something that is never acknowledged. */
static void send_one(void)
{
    struct usnic_message message = {.channel = 1};

    ck_assert_int_eq(usnic_flow_send_short(&engine, &flow, &message, 0), OPAL_SUCCESS);
    ck_assert(!usnic_flow_is_flushed(&flow));
}

static enum usnic_end_step next(bool said, bool heard, bool leaves, uint64_t now_us)
{
    const struct usnic_end end = {
        .said = said, .heard = heard, .give_up_us = GIVE_UP_US, .patience_us = PATIENCE_US};

    return usnic_end_next(&end, &flow, leaves, now_us);
}

START_TEST(with_nothing_in_flight_a_bye_is_said_and_answered)
{
    begin();
    ck_assert_int_eq(next(false, false, false, 0), USNIC_END_WAIT);
    ck_assert_int_eq(next(false, false, true, 0), USNIC_END_SAY_BYE);
    ck_assert_int_eq(next(false, true, false, 0), USNIC_END_SAY_BYE);
    ck_assert_int_eq(next(false, true, true, 0), USNIC_END_SAY_BYE);
    ck_assert_int_eq(next(true, true, false, 0), USNIC_END_OVER);
    finish();
}
END_TEST

/* An acknowledgement of mine says nothing of what the other side has queued. */
START_TEST(who_leaves_waits_for_the_other_ones_bye)
{
    begin();
    ck_assert_int_eq(next(true, false, true, 0), USNIC_END_WAIT);
    ck_assert_int_eq(next(true, false, true, 2 * GIVE_UP_US), USNIC_END_WAIT);
    finish();
}
END_TEST

/* The other side may be gone, and owes nothing; one that has acknowledged something is there. */
START_TEST(an_end_that_nothing_answers_is_given_up_after_three_timeouts)
{
    begin();
    send_one();
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(next(true, false, true, 0), USNIC_END_WAIT);
        usnic_rtt_backoff(&flow.rtt);
    }
    ck_assert_int_eq(next(true, false, true, 0), USNIC_END_OVER);
    flow.owed.has_stamp = true; /* a packet came */
    ck_assert_int_eq(next(true, false, true, 0), USNIC_END_WAIT);
    flow.owed.has_stamp = false;
    flow.params.first_send--; /* one was acknowledged */
    ck_assert_int_eq(next(true, false, true, 0), USNIC_END_WAIT);
    finish();
}
END_TEST

START_TEST(what_is_in_flight_comes_first)
{
    begin();
    send_one();
    ck_assert_int_eq(next(false, false, true, 2 * GIVE_UP_US), USNIC_END_WAIT);
    ck_assert_int_eq(next(false, true, true, GIVE_UP_US - 1), USNIC_END_WAIT);
    ck_assert_int_eq(next(false, true, false, GIVE_UP_US - 1), USNIC_END_WAIT);
    ck_assert_int_eq(next(false, true, false, GIVE_UP_US), USNIC_END_GIVE_UP);
    finish();
}
END_TEST

START_TEST(who_leaves_gives_up_a_flow_that_makes_no_progress)
{
    begin();
    send_one();
    ck_assert_int_eq(next(false, false, true, PATIENCE_US - 1), USNIC_END_WAIT);
    ck_assert_int_eq(next(false, false, false, PATIENCE_US), USNIC_END_WAIT);
    ck_assert_int_eq(next(false, false, true, PATIENCE_US), USNIC_END_GIVE_UP);
    flow.clock.progress_us = 10; /* something was acknowledged */
    ck_assert_int_eq(next(false, false, true, PATIENCE_US), USNIC_END_WAIT);
    ck_assert_int_eq(next(false, false, true, PATIENCE_US + 10), USNIC_END_GIVE_UP);
    finish();
}
END_TEST

START_TEST(a_last_word_is_repeated_three_timeouts_long)
{
    begin();
    send_one();
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(next(true, true, true, 0), USNIC_END_WAIT);
        usnic_rtt_backoff(&flow.rtt);
    }
    ck_assert_int_eq(next(true, true, true, 0), USNIC_END_OVER);
    flow.rtt.doublings = 0;
    ck_assert_int_eq(next(true, true, true, GIVE_UP_US - 1), USNIC_END_WAIT);
    ck_assert_int_eq(next(true, true, true, GIVE_UP_US), USNIC_END_OVER);
    finish();
}
END_TEST

UNIT_MAIN("usnic-end")
