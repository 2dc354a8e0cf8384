#include <rml/delivery/sender.h>
#include <tests/lib/unit.h>

enum { COST = RML_FRAME_COST, FRAMES = 8, BIG = RML_FRAME_MAX };

static struct rml_sender sender;
static struct rml_out frames[FRAMES];
static struct list done;

static void begin(int count, uint32_t length)
{
    rml_sender_init(&sender);
    list_init(&done);
    for (int i = 0; i < count; i++) {
        frames[i] = (struct rml_out){.length = length};
        rml_sender_push(&sender, &frames[i], 1000);
    }
}

static void send_all(int count)
{
    for (int i = 0; i < count; i++) {
        ck_assert_ptr_eq(rml_sender_next(&sender, 1000), &frames[i]);
        rml_sender_returned(&frames[i]);
    }
    ck_assert_ptr_null(rml_sender_next(&sender, 1000));
}

START_TEST(positions_count_bytes_and_frames)
{
    begin(3, 100);
    send_all(3);
    ck_assert_uint_eq(frames[2].sequence, 2 * (100 + COST));
    ck_assert(rml_sender_ack(&sender, 2 * (100 + COST), 1u << 20, 2000, &done));
    ck_assert_ptr_eq(list_pop(&done), &frames[0].link);
    ck_assert_ptr_eq(list_pop(&done), &frames[1].link);
    ck_assert(list_empty(&done) && !rml_sender_idle(&sender));
    ck_assert(rml_sender_ack(&sender, 100, 0, 2000, &done)); /* an old one does no harm */
    ck_assert(rml_sender_ack(&sender, sender.end, 0, 2000, &done));
    ck_assert(rml_sender_idle(&sender));
    ck_assert(!rml_sender_probe(&sender, UINT64_MAX));
}
END_TEST

START_TEST(what_was_not_sent_cannot_be_acknowledged)
{
    begin(2, 100);
    ck_assert_ptr_nonnull(rml_sender_next(&sender, 1000));
    ck_assert(!rml_sender_ack(&sender, 2 * (100 + COST), 1u << 20, 2000, &done));
    ck_assert_uint_eq(sender.acked, 0);
}
END_TEST

START_TEST(credit_stops_and_lets_go_on)
{
    begin(FRAMES, BIG);
    send_all(3); /* the fourth would end behind the first window */
    ck_assert(rml_sender_ack(&sender, 0, RML_WINDOW_FIRST + BIG, 2000, &done));
    ck_assert_ptr_eq(rml_sender_next(&sender, 2000), &frames[3]);
    ck_assert_ptr_null(rml_sender_next(&sender, 2000));
}
END_TEST

START_TEST(a_repair_sends_again_what_is_not_lent_out)
{
    begin(3, 100);
    send_all(3);
    ck_assert(rml_sender_ack(&sender, 100 + COST, 1u << 20, 2000, &done));
    rml_sender_rewind(&sender, 2000);
    ck_assert_ptr_eq(rml_sender_next(&sender, 2000), &frames[1]);
    rml_sender_rewind(&sender, 2000);
    ck_assert_ptr_null(rml_sender_next(&sender, 2000)); /* a link still has it */
    ck_assert(rml_sender_ack(&sender, 2 * (100 + COST), 1u << 20, 2000, &done));
    ck_assert_ptr_eq(rml_sender_next(&sender, 2000), &frames[2]);
}
END_TEST

START_TEST(a_loss_is_answered_once)
{
    begin(3, 100);
    send_all(3);
    ck_assert(rml_sender_gap(&sender, 2000));
    send_all(3);
    ck_assert(!rml_sender_gap(&sender, 3000)); /* about frames that were sent before */
    ck_assert(rml_sender_gap(&sender, 2000 + RML_PROBE_FIRST_US));
}
END_TEST

START_TEST(silence_is_probed_less_and_less)
{
    uint64_t now = 1000, waits = 0;
    begin(1, 100);
    (void) rml_sender_next(&sender, now);
    for (uint64_t wait = RML_PROBE_FIRST_US; waits < 6; waits++) {
        ck_assert(!rml_sender_probe(&sender, now + wait - 1));
        now += wait;
        ck_assert(rml_sender_probe(&sender, now));
        wait = wait * 2 < RML_PROBE_MAX_US ? wait * 2 : RML_PROBE_MAX_US;
    }
}
END_TEST

START_TEST(giving_up_begins_a_new_stream)
{
    begin(2, 100);
    send_all(2);
    rml_sender_fail(&sender, &done);
    ck_assert_ptr_eq(list_pop(&done), &frames[0].link);
    ck_assert_ptr_eq(list_pop(&done), &frames[1].link);
    ck_assert_uint_eq(sender.stream, 1);
    rml_sender_push(&sender, &frames[0], 3000);
    ck_assert_uint_eq(frames[0].sequence, 0);
}
END_TEST

UNIT_MAIN("rml/sender")
