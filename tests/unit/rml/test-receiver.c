#include <rml/delivery/receiver.h>
#include <tests/lib/unit.h>

enum { COST = RML_FRAME_COST, WINDOW = 4u << 20 };

static struct rml_receiver receiver;
static struct rml_stamp told;

static enum rml_verdict take(uint64_t sequence, uint32_t length)
{
    struct rml_stamp stamp = {.kind = RML_DATA, .sequence = sequence, .length = length};
    return rml_receiver_take(&receiver, &stamp, 1000);
}

START_TEST(once_and_in_order)
{
    rml_receiver_init(&receiver, WINDOW, WINDOW);
    ck_assert_int_eq(take(0, 10), RML_TAKE);
    ck_assert_int_eq(take(0, 10), RML_OLD);
    ck_assert_int_eq(take(2 * (10 + COST), 10), RML_LOST);
    ck_assert_int_eq(take(10 + COST, 10), RML_TAKE);
    rml_receiver_tell(&receiver, &told);
    ck_assert_uint_eq(told.ack, 2 * (10 + COST));
    ck_assert_uint_eq(told.window, WINDOW);
}
END_TEST

START_TEST(acknowledgements_wait_a_little)
{
    rml_receiver_init(&receiver, WINDOW, WINDOW);
    ck_assert_int_eq(take(0, 10), RML_TAKE);
    ck_assert(!rml_receiver_must_tell(&receiver, 1000 + RML_ACK_DELAY_US - 1));
    ck_assert(rml_receiver_must_tell(&receiver, 1000 + RML_ACK_DELAY_US));
    ck_assert_int_eq(take(10 + COST, RML_ACK_BYTES), RML_TAKE); /* enough bytes: at once */
    ck_assert(rml_receiver_must_tell(&receiver, 1000));
    rml_receiver_tell(&receiver, &told);
    ck_assert(!rml_receiver_must_tell(&receiver, UINT64_MAX));
    struct rml_stamp asking = {.kind = RML_DATA, .ask = true, .sequence = receiver.expected};
    ck_assert_int_eq(rml_receiver_take(&receiver, &asking, 1000), RML_TAKE);
    ck_assert(rml_receiver_must_tell(&receiver, 1000));
}
END_TEST

START_TEST(a_loss_is_reported_once_until_asked)
{
    rml_receiver_init(&receiver, WINDOW, WINDOW);
    ck_assert_int_eq(take(1000, 10), RML_LOST);
    ck_assert(rml_receiver_must_tell(&receiver, 1000));
    rml_receiver_tell(&receiver, &told);
    ck_assert(told.gap && told.ack == 0);
    ck_assert_int_eq(take(2000, 10), RML_LOST);
    ck_assert(!rml_receiver_must_tell(&receiver, UINT64_MAX));
    rml_receiver_probed(&receiver, 3000);
    ck_assert(rml_receiver_must_tell(&receiver, 1000));
    rml_receiver_tell(&receiver, &told);
    ck_assert(told.gap);
}
END_TEST

START_TEST(more_than_granted_is_not_taken)
{
    rml_receiver_init(&receiver, WINDOW, WINDOW);
    uint64_t at = 0;
    for (; at + RML_FRAME_MAX + COST <= RML_WINDOW_FIRST; at += RML_FRAME_MAX + COST) {
        ck_assert_int_eq(take(at, RML_FRAME_MAX), RML_TAKE);
    }
    ck_assert_int_eq(take(at, RML_FRAME_MAX), RML_TOO_MUCH);
    rml_receiver_tell(&receiver, &told);
    ck_assert_int_eq(take(at, RML_FRAME_MAX), RML_TAKE);
}
END_TEST

START_TEST(what_is_held_closes_the_window)
{
    rml_receiver_init(&receiver, WINDOW, 2 * WINDOW);
    rml_receiver_hold(&receiver, 2 * WINDOW - 2 * RML_FRAME_MAX);
    ck_assert_int_eq(take(0, 10), RML_TAKE);
    rml_receiver_tell(&receiver, &told); /* what was granted stays so */
    ck_assert_uint_eq(told.window, RML_WINDOW_FIRST - 10 - COST);
    ck_assert(!rml_receiver_full(&receiver));
    rml_receiver_hold(&receiver, 2 * RML_FRAME_MAX);
    ck_assert(rml_receiver_full(&receiver));
    rml_receiver_release(&receiver, WINDOW);
    ck_assert(rml_receiver_must_tell(&receiver, 1000));
    rml_receiver_tell(&receiver, &told);
    ck_assert_uint_eq(told.window, WINDOW);
}
END_TEST

START_TEST(a_message_that_began_can_end)
{
    rml_receiver_init(&receiver, RML_WINDOW_MIN, 1000);
    uint64_t at = 0;
    for (uint32_t rest = 64u << 20; rest > 0; at += RML_FRAME_MAX + COST) {
        rest -= RML_FRAME_MAX;
        struct rml_stamp stamp = {.length = RML_FRAME_MAX, .rest = rest, .sequence = at};
        ck_assert_int_eq(rml_receiver_take(&receiver, &stamp, 1000), RML_TAKE);
        rml_receiver_tell(&receiver, &told);
    }
    rml_receiver_hold(&receiver, 64u << 20);
    ck_assert_int_eq(take(at, 10), RML_FULL);
}
END_TEST

START_TEST(a_later_stream_begins_at_zero)
{
    rml_receiver_init(&receiver, WINDOW, WINDOW);
    ck_assert_int_eq(take(0, 10), RML_TAKE);
    ck_assert(!rml_receiver_stream(&receiver, 0));
    ck_assert(rml_receiver_stream(&receiver, 1));
    ck_assert_int_eq(take(10 + COST, 10), RML_OLD); /* a frame of the stream before */
    struct rml_stamp first = {.kind = RML_DATA, .stream = 1};
    ck_assert_int_eq(rml_receiver_take(&receiver, &first, 1000), RML_TAKE);
    receiver.stream = UINT16_MAX;
    ck_assert(rml_receiver_stream(&receiver, 0)); /* the numbers wrap */
}
END_TEST

UNIT_MAIN("rml/receiver")
