/* What a session sends, and when: messages of one peer to a wire that only counts. */
#include <btl/usnic/engine/engine.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { SEGMENTS = 128, SEGMENT_BYTES = 1536, PRIORITY_BYTES = 768 };

static struct usnic_engine engine;
static struct usnic_flow flow;
static uint8_t memory[SEGMENTS * SEGMENT_BYTES];
static uint8_t bytes[2000];
static unsigned packets[2]; /* by channel */
static uint64_t now_us = 1000000;

static int transmit(void *arg, struct usnic_flow *to, enum usnic_channel channel,
                    struct usnic_segment *segment)
{
    (void) arg, (void) to;
    packets[channel]++;
    usnic_engine_sent(&engine, segment);
    return OPAL_SUCCESS;
}

/* No more is called: nothing is received, and no message waits. */
static const struct usnic_user user = {.transmit = transmit};

static void begin(size_t priority_bytes)
{
    const struct usnic_engine_config config = {.memory = memory,
                                               .segments = SEGMENTS,
                                               .segment_bytes = SEGMENT_BYTES,
                                               .priority_bytes = priority_bytes,
                                               .room = 212992,
                                               .small_bytes = 512,
                                               .small_charge = 832,
                                               .full_charge = 2304,
                                               .receive_buffers = 512,
                                               .max_message = 65536,
                                               .ack_delay_us = 50,
                                               .peer_timeout_us = 60000000};
    const struct usnic_flow_params params = {.token = 5, .mtu = 1472};

    packets[USNIC_DATA] = packets[USNIC_PRIORITY] = 0;
    ck_assert_int_eq(usnic_engine_init(&engine, &config, &user, NULL, now_us), OPAL_SUCCESS);
    usnic_flow_open(&engine, &flow, &params, now_us);
}

/* The peer has room for so many packets. */
static void grant(unsigned count)
{
    uint8_t ack[USNIC_HEADER_BYTES] = {0};
    struct usnic_packet packet = {.data = ack, .size = sizeof(ack)};
    const struct usnic_header header = {.kind = USNIC_ACK,
                                        .token = 5,
                                        .credit = (uint16_t) (count * 832 / USNIC_CREDIT_BYTES),
                                        .delay = USNIC_NO_ECHO};

    usnic_header_encode(ack, &header);
    ck_assert(!usnic_flow_received(&engine, &flow, &packet, now_us));
}

static void end(void)
{
    usnic_flow_close(&engine, &flow);
    usnic_engine_fini(&engine);
}

static void send_flagged(size_t size, bool priority)
{
    struct mca_btl_base_segment_t segment = {{.pval = bytes}, size};
    struct usnic_message message = {
        .segments = &segment, .count = 1, .total = size, .priority = priority};

    ck_assert_int_eq(usnic_flow_send_short(&engine, &flow, &message, now_us), OPAL_SUCCESS);
}

static void send(size_t size)
{
    send_flagged(size, false);
}

/* The second channel's limit is that of the message, whatever headers its packet has. */
START_TEST(small_messages_go_by_the_priority_channel)
{
    begin(PRIORITY_BYTES);
    send(PRIORITY_BYTES);
    send(PRIORITY_BYTES);
    ck_assert_uint_eq(packets[USNIC_PRIORITY], 2);
    send(PRIORITY_BYTES + 8);
    ck_assert_uint_eq(packets[USNIC_PRIORITY], 2);
    ck_assert_uint_eq(packets[USNIC_DATA], 1);
    send(8); /* behind bulk it would overtake, and be kept until its turn */
    ck_assert_uint_eq(packets[USNIC_DATA], 2);
    end();
}
END_TEST

static void check_backlog(size_t messages, size_t size)
{
    struct usnic_backlog backlog = usnic_flow_backlog(&flow);

    ck_assert_uint_eq(backlog.messages, messages);
    ck_assert_uint_eq(backlog.bytes, size);
}

/* In flight, in the packet that is being filled, in chunks, and not in packets at all. */
START_TEST(what_is_not_acknowledged_is_counted_by_messages)
{
    struct mca_btl_base_segment_t segment = {{.pval = bytes}, sizeof(bytes)};
    struct usnic_message large = {.segments = &segment, .count = 1, .total = sizeof(bytes)};

    begin(0);
    check_backlog(0, 0);
    grant(1);
    send(8);
    check_backlog(1, 8);
    send(100); /* waits */
    check_backlog(2, 108);
    ck_assert_int_eq(usnic_flow_send(&engine, &flow, &large, now_us), OPAL_SUCCESS);
    check_backlog(3, 108 + sizeof(bytes));
    end();
    ck_assert_ptr_eq(list_pop(&flow.queue), &large.link);
}
END_TEST

START_TEST(one_socket_has_no_priority_channel)
{
    begin(0);
    send(0);
    ck_assert_uint_eq(packets[USNIC_DATA], 1);
    end();
}
END_TEST

/* However many are under way, none waits for another. */
START_TEST(small_messages_go_at_once_while_they_may)
{
    begin(PRIORITY_BYTES);
    grant(64);
    for (unsigned i = 1; i <= 64; i++) {
        send(8);
        ck_assert_uint_eq(packets[USNIC_PRIORITY], i);
    }
    end();
}
END_TEST

/* The window is full: they share the packet that waits. */
START_TEST(small_messages_that_wait_share_a_packet)
{
    begin(PRIORITY_BYTES);
    grant(16);
    for (unsigned i = 0; i < 16 + 50; i++) {
        send(8);
    }
    ck_assert_uint_eq(packets[USNIC_PRIORITY], 16);
    ck_assert_uint_eq(flow.open->length, 50 * usnic_record_bytes(USNIC_RECORD_BYTES, 8));
    ck_assert_uint_gt(flow.open->length, PRIORITY_BYTES + USNIC_RECORD_BYTES);
    grant(64); /* and are small ones still */
    ck_assert_uint_eq(packets[USNIC_PRIORITY], 17);
    ck_assert_uint_eq(packets[USNIC_DATA], 0);
    end();
}
END_TEST

static void send_some(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        send(8);
    }
}

/* The first ones go at once; those behind them share a packet until progress, though nothing is
 * acknowledged. */
START_TEST(small_messages_of_a_burst_share_a_packet_until_progress)
{
    begin(PRIORITY_BYTES);
    engine.config.pack_after = 8;
    grant(64);
    send_some(8 + 20);
    ck_assert_uint_eq(packets[USNIC_PRIORITY], 8);
    ck_assert_uint_eq(usnic_engine_due(&engine), now_us);
    usnic_engine_progress(&engine, now_us);
    ck_assert_uint_eq(packets[USNIC_PRIORITY], 9);
    ck_assert_ptr_null(flow.open);
    send(8); /* the first of another burst */
    ck_assert_uint_eq(packets[USNIC_PRIORITY], 10);
    end();
}
END_TEST

START_TEST(a_packet_that_is_half_full_does_not_wait)
{
    begin(PRIORITY_BYTES);
    engine.config.pack_after = 8;
    grant(64);
    send_some(8 + 736 / usnic_record_bytes(USNIC_RECORD_BYTES, 8) + 1);
    ck_assert_uint_eq(packets[USNIC_PRIORITY], 9);
    end();
}
END_TEST

START_TEST(an_urgent_message_takes_along_those_that_wait)
{
    begin(PRIORITY_BYTES);
    engine.config.pack_after = 8;
    grant(64);
    send_some(8 + 20);
    send_flagged(8, true);
    ck_assert_uint_eq(packets[USNIC_PRIORITY], 9);
    ck_assert_ptr_null(flow.open);
    end();
}
END_TEST

/* It is no shortage: what waits goes first. */
START_TEST(a_message_that_does_not_fit_beside_those_that_wait_is_taken)
{
    begin(PRIORITY_BYTES);
    engine.config.pack_after = 8;
    grant(64);
    send_some(8 + 20);
    ck_assert_ptr_nonnull(flow.open);
    send(1300);
    ck_assert_uint_eq(packets[USNIC_PRIORITY] + packets[USNIC_DATA], 10);
    ck_assert_ptr_null(flow.open);
    end();
}
END_TEST

START_TEST(the_end_of_a_large_message_does_not_wait)
{
    struct mca_btl_base_segment_t segment = {{.pval = bytes}, sizeof(bytes)};
    struct usnic_message message = {.segments = &segment, .count = 1, .total = sizeof(bytes)};

    begin(PRIORITY_BYTES);
    engine.config.pack_after = 1;
    grant(64);
    ck_assert_int_eq(usnic_flow_send(&engine, &flow, &message, now_us), 1);
    ck_assert_uint_eq(packets[USNIC_DATA], 2);
    ck_assert_ptr_null(flow.open);
    end();
}
END_TEST

UNIT_MAIN("usnic-transmit")
