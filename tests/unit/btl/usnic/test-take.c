/* What a session makes of packets that come: its acknowledgements are read here, and the packets
 * are made by hand. */
#include <btl/usnic/engine/engine.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { SEGMENTS = 16, SEGMENT_BYTES = 1536, ACK_DELAY_US = 50, TOKEN = 5, SECOND = 1000000 };

static struct usnic_engine engine;
static struct usnic_flow flow;
static uint8_t memory[SEGMENTS * SEGMENT_BYTES];
static uint64_t now_us = SECOND;
static struct usnic_header said; /* the last acknowledgement */

static int transmit(void *arg, struct usnic_flow *to, enum usnic_channel channel,
                    struct usnic_segment *segment)
{
    (void) arg, (void) to, (void) channel;
    ck_assert(usnic_header_decode(&said, segment->packet, segment->size));
    usnic_engine_sent(&engine, segment);
    return OPAL_SUCCESS;
}

static void deliver(void *arg, struct usnic_flow *from, uint8_t channel, uint8_t tag, void *data,
                    size_t size)
{
    (void) arg, (void) from, (void) channel, (void) tag, (void) data;
    ck_assert_uint_eq(size, 0);
}

static void failed(void *arg, struct usnic_flow *of, const char *why)
{
    (void) arg, (void) of;
    ck_abort_msg("%s", why);
}

/* No more is called: each packet has one short message. */
static const struct usnic_user user = {.transmit = transmit, .deliver = deliver, .failed = failed};

static void begin(void)
{
    const struct usnic_engine_config config = {.memory = memory,
                                               .segments = SEGMENTS,
                                               .segment_bytes = SEGMENT_BYTES,
                                               .small_bytes = 500,
                                               .small_charge = 832,
                                               .full_charge = 2304,
                                               .receive_buffers = 16,
                                               .max_message = 65536,
                                               .ack_delay_us = ACK_DELAY_US,
                                               .peer_timeout_us = 60 * SECOND};
    const struct usnic_flow_params params = {.token = TOKEN, .mtu = 1472};

    ck_assert_int_eq(usnic_engine_init(&engine, &config, &user, NULL, now_us), OPAL_SUCCESS);
    usnic_flow_open(&engine, &flow, &params, now_us);
}

static void end(void)
{
    usnic_flow_close(&engine, &flow);
    usnic_engine_fini(&engine);
}

static void pass(uint64_t us)
{
    memset(&said, 0, sizeof(said));
    now_us += us;
    usnic_engine_progress(&engine, now_us);
}

static void receive(uint32_t sequence, uint32_t stamp)
{
    uint8_t bytes[USNIC_HEADER_BYTES + 8] = {0};
    struct usnic_packet packet = {.data = bytes, .size = sizeof(bytes)};
    const struct usnic_record record = {.kind = USNIC_WHOLE};
    const struct usnic_header header = {.kind = USNIC_PACKET,
                                        .token = TOKEN,
                                        .sequence = sequence,
                                        .stamp = stamp,
                                        .delay = USNIC_NO_ECHO,
                                        .length = 8};

    usnic_header_encode(bytes, &header);
    usnic_record_encode(bytes + USNIC_HEADER_BYTES, &record);
    ck_assert(!usnic_flow_received(&engine, &flow, &packet, now_us));
}

/* A packet comes, and is acknowledged. */
static void take(uint32_t sequence, uint32_t stamp)
{
    receive(sequence, stamp);
    pass(2 * ACK_DELAY_US);
    ck_assert_uint_eq(said.kind, USNIC_ACK);
}

static void check_echo(uint32_t stamp, uint64_t ago_us)
{
    ck_assert_uint_eq(said.echo, stamp);
    ck_assert_uint_eq(said.delay, ago_us * USNIC_STAMPS_PER_US);
}

START_TEST(a_packet_that_was_sent_again_is_echoed)
{
    begin();
    take(0, 1600);
    check_echo(1600, 2 * ACK_DELAY_US);
    take(0, 3200);
    check_echo(3200, 2 * ACK_DELAY_US);
    ck_assert_uint_eq(engine.counts.duplicates, 1);
    end();
}
END_TEST

START_TEST(a_replay_is_acknowledged_and_not_echoed)
{
    begin();
    take(0, 1600);
    take(1, 3200);
    uint64_t since_us = now_us - 2 * ACK_DELAY_US;
    take(0, 1600);
    check_echo(3200, now_us - since_us);
    take(1, 3200); /* the last one itself: it is as old as it was */
    check_echo(3200, now_us - since_us);
    ck_assert_uint_eq(said.ack, 2);
    ck_assert_uint_eq(engine.counts.duplicates, 2);
    end();
}
END_TEST

/* After more than half of the time in which stamps wrap, an old one looks as if it were later. */
START_TEST(a_replay_from_long_ago_is_not_echoed)
{
    begin();
    take(0, 1600);
    now_us += 200 * SECOND;
    const uint32_t stamp = 1600 + 200u * SECOND * USNIC_STAMPS_PER_US;
    take(1, stamp);
    uint64_t since_us = now_us - 2 * ACK_DELAY_US;
    ck_assert_uint_lt(1600 - stamp, UINT32_MAX / 2);
    take(0, 1600);
    check_echo(stamp, now_us - since_us);
    end();
}
END_TEST

/* So long after the last acknowledgement another one goes, and not before. */
static void check_repeat(uint64_t after_us)
{
    pass(after_us - 20);
    ck_assert_uint_eq(said.kind, 0);
    pass(40);
    ck_assert_uint_eq(said.kind, USNIC_ACK);
}

START_TEST(acknowledgements_after_losses_are_repeated)
{
    begin();
    take(0, 1600);
    pass(100000);
    ck_assert_uint_eq(said.kind, 0); /* nothing was lost */
    take(0, 3200);
    for (uint64_t ms = 1; ms <= 4; ms *= 2) {
        check_repeat(ms * 1000);
    }
    pass(100000);
    ck_assert_uint_eq(said.kind, 0);
    take(0, 3200);
    pass(100000);
    ck_assert_uint_eq(said.kind, 0); /* the network made that copy */
    end();
}
END_TEST

/* What comes meanwhile is acknowledged as soon as ever. */
START_TEST(a_repeat_delays_no_acknowledgement)
{
    begin();
    take(0, 1600);
    take(0, 3200);
    check_repeat(1000);
    take(1, 3300);
    ck_assert_uint_eq(said.ack, 2);
    end();
}
END_TEST

/* Acknowledgements of what comes meanwhile count: a stream without losses ends without repeats. */
START_TEST(acknowledgements_of_sound_packets_are_repeats)
{
    begin();
    take(0, 1600);
    take(0, 3200);
    for (uint32_t i = 1; i <= 3; i++) {
        take(i, 3200 + i * 1600);
    }
    pass(100000);
    ck_assert_uint_eq(said.kind, 0);
    end();
}
END_TEST

/* The peer may lose a packet of mine as well as an acknowledgement. */
START_TEST(an_acknowledgement_in_a_packet_is_repeated)
{
    struct usnic_message message = {.segments = NULL};

    begin();
    take(0, 1600);
    receive(0, 3200);
    ck_assert_int_eq(usnic_flow_send_short(&engine, &flow, &message, now_us), OPAL_SUCCESS);
    ck_assert_uint_eq(said.kind, USNIC_PACKET);
    check_repeat(1000);
    end();
}
END_TEST

UNIT_MAIN("usnic-take")
