/* What usnic keeps of packets that it sent and received, and the times it measures. */
#include <btl/usnic/engine/order.h>
#include <btl/usnic/engine/rate.h>
#include <btl/usnic/engine/window.h>
#include <tests/lib/unit.h>

#define US USNIC_STAMPS_PER_US

/* ---- round trips ---- */

START_TEST(the_timeout_follows_the_round_trip)
{
    struct usnic_rtt rtt;

    usnic_rtt_init(&rtt, 0);
    ck_assert_uint_eq(usnic_rtt_timeout_us(&rtt), 10000);
    for (uint64_t now = 0; now < 1000; now++) {
        usnic_rtt_sample(&rtt, 5000 * US, now);
    }
    ck_assert_uint_ge(usnic_rtt_timeout_us(&rtt), 4950);
    ck_assert_uint_le(usnic_rtt_timeout_us(&rtt), 5200);
    for (uint64_t now = 1000; now < 2000; now++) {
        usnic_rtt_sample(&rtt, 50 * US, now);
    }
    ck_assert_uint_eq(usnic_rtt_timeout_us(&rtt), 1000);
    ck_assert_uint_le(usnic_rtt_probe_us(&rtt), 320);
    ck_assert_uint_eq(usnic_rtt_least(&rtt), 50 * US);
}
END_TEST

START_TEST(the_timeout_doubles_up_to_a_second)
{
    struct usnic_rtt rtt;
    uint64_t last = 0;

    usnic_rtt_init(&rtt, 0);
    usnic_rtt_sample(&rtt, 50 * US, 0);
    for (int i = 0; i < 10; i++) {
        uint64_t timeout = usnic_rtt_timeout_us(&rtt);
        ck_assert_uint_eq(timeout, last == 0 ? 1000 : 2 * last);
        last = timeout;
        usnic_rtt_backoff(&rtt);
    }
    for (int i = 0; i < 300; i++) {
        usnic_rtt_backoff(&rtt);
    }
    ck_assert_uint_eq(usnic_rtt_timeout_us(&rtt), 1000000);
    usnic_rtt_sample(&rtt, 50 * US, 1);
    ck_assert_uint_eq(usnic_rtt_timeout_us(&rtt), 1000);
}
END_TEST

START_TEST(packets_that_were_late_make_patient)
{
    struct usnic_rtt rtt;

    usnic_rtt_init(&rtt, 0);
    usnic_rtt_sample(&rtt, 48 * US, 0);
    ck_assert_uint_eq(usnic_rtt_reorder(&rtt), 12 * US);
    usnic_rtt_spurious(&rtt, 100 * US);
    ck_assert_uint_eq(usnic_rtt_reorder(&rtt), 125 * US);
    for (uint64_t now = 0; now < 20000000; now += 1000000) {
        usnic_rtt_sample(&rtt, 48 * US, now);
    }
    ck_assert_uint_eq(usnic_rtt_reorder(&rtt), 12 * US);
}
END_TEST

/* ---- rate ---- */

/* Of a round trip the least delay counts. */
static void round_of(struct usnic_rate *rate, const struct usnic_rtt *rtt, uint32_t least_us,
                     uint64_t now_us)
{
    usnic_rate_sample(rate, 2 * least_us * US);
    usnic_rate_sample(rate, least_us * US);
    usnic_rate_acked(rate, rtt, 100, 0, now_us * US, now_us * US);
}

/* Where round trips are long, little is sent for two of them, once a second. */
START_TEST(a_queue_that_stands_is_emptied)
{
    struct usnic_rtt rtt;
    struct usnic_rate rate;

    usnic_rtt_init(&rtt, 0);
    usnic_rtt_sample(&rtt, 6000 * US, 0);
    usnic_rate_init(&rate, SIZE_MAX, 4096 * 1000, 1000);
    round_of(&rate, &rtt, 6000, 6000);
    ck_assert(usnic_rate_allows(&rate, 4000, 1000));
    usnic_rtt_sample(&rtt, 6000 * US, 1100000);
    for (uint64_t round = 1; round <= 2; round++) {
        round_of(&rate, &rtt, 6000, 1100000 + 6000 * round);
        ck_assert(usnic_rate_allows(&rate, 3000, 1000));
        ck_assert(!usnic_rate_allows(&rate, 4000, 1000));
    }
    round_of(&rate, &rtt, 6000, 1118000);
    ck_assert(usnic_rate_allows(&rate, 4000, 1000));
}
END_TEST

START_TEST(a_queue_cuts_the_window_and_a_loss_does_not)
{
    struct usnic_rtt rtt;
    struct usnic_rate rate;

    usnic_rtt_init(&rtt, 0);
    usnic_rtt_sample(&rtt, 50 * US, 0);
    usnic_rate_init(&rate, SIZE_MAX, 4096 * 1000, 1000);
    ck_assert(usnic_rate_allows(&rate, 0, 1000000));
    ck_assert(!usnic_rate_allows(&rate, rate.window, 1));
    size_t window = rate.window;
    for (uint64_t round = 1; round < 7; round++) {
        rate.limited = true;
        usnic_rate_acked(&rate, &rtt, 95, 5, 100 * round, 100 * round + 99);
        ck_assert_uint_gt(rate.window, window);
        window = rate.window;
    }
    /* too long for a moment, too long in parts, then all the time */
    round_of(&rate, &rtt, 5000, 1000);
    ck_assert_uint_eq(rate.window, window);
    round_of(&rate, &rtt, 50, 4000);
    ck_assert_uint_ge(rate.window, window);
    window = rate.window;
    round_of(&rate, &rtt, 5000, 7000);
    round_of(&rate, &rtt, 5000, 11000);
    ck_assert_uint_eq(rate.window, window);
    round_of(&rate, &rtt, 5000, 12000);
    ck_assert_uint_lt(rate.window, window);
    window = rate.window;
    usnic_rate_acked(&rate, &rtt, 100, 0, 12000 * US - 1, 12000 * US);
    ck_assert_uint_eq(rate.window, window);
    for (uint64_t round = 1; round < 70; round++) {
        round_of(&rate, &rtt, 5000, 12000 + 5000 * round);
    }
    ck_assert_uint_eq(rate.window, 4000);
    rate.credit = 500;
    ck_assert(!usnic_rate_allows(&rate, 1, 500));
    ck_assert(usnic_rate_allows(&rate, 0, 501));
}
END_TEST

/* ---- window ---- */

enum { MANY = USNIC_WINDOW_PACKETS };
static struct usnic_segment segments[MANY];
static struct usnic_window window;

static void send_many(uint32_t first, size_t count)
{
    usnic_window_init(&window, first);
    for (size_t i = 0; i < count; i++) {
        segments[i] = (struct usnic_segment){.charge = 10};
        list_init(&segments[i].link);
        ck_assert(usnic_window_has_room(&window));
        usnic_window_add(&window, &segments[i]);
        usnic_window_sent(&window, &segments[i], i + 1);
    }
}

static struct usnic_acked take(uint32_t ack, struct usnic_range range, uint64_t echo)
{
    struct usnic_acked acked = {0};
    struct list done;

    list_init(&done);
    usnic_window_acked(&window, ack, echo, 5000, &acked, &done);
    usnic_window_acked_range(&window, range, echo, 5000, &acked, &done);
    return acked;
}

static void end_window(void)
{
    while (usnic_window_drop(&window)) {
    }
    ck_assert_uint_eq(window.in_flight, 0);
    ck_assert_uint_eq(window.charge, 0);
    usnic_window_trim(&window);
    usnic_window_fini(&window);
}

START_TEST(a_window_holds_4096_over_the_wrap)
{
    send_many(UINT32_MAX - 99, MANY);
    ck_assert(!usnic_window_has_room(&window));
    ck_assert(usnic_window_covers(&window, UINT32_MAX - 99));
    ck_assert(usnic_window_covers(&window, MANY - 100));
    ck_assert(!usnic_window_covers(&window, MANY - 99));
    ck_assert(!usnic_window_covers(&window, UINT32_MAX - 100));
    struct usnic_acked acked = take(10, (struct usnic_range){20, 30}, UINT64_MAX);
    ck_assert_uint_eq(acked.packets, 120);
    ck_assert_uint_eq(acked.charge, 1200);
    ck_assert_uint_eq(window.charge, 10 * (MANY - 120));
    acked = take(10, (struct usnic_range){10, MANY}, UINT64_MAX);
    ck_assert_uint_eq(acked.packets, MANY - 120);
    ck_assert_uint_eq(window.in_flight, 0);
    end_window();
}
END_TEST

START_TEST(a_window_knows_its_largest_packet)
{
    send_many(0, 10);
    segments[2].length = 1000;
    segments[7].length = 100;
    ck_assert_uint_eq(usnic_window_largest(&window), 1000 + USNIC_HEADER_BYTES);
    take(3, (struct usnic_range){0, 0}, UINT64_MAX);
    ck_assert_uint_eq(usnic_window_largest(&window), 100 + USNIC_HEADER_BYTES);
    end_window();
    ck_assert_uint_eq(usnic_window_largest(&window), 0);
}
END_TEST

START_TEST(what_was_overtaken_is_lost)
{
    send_many(0, 10);
    take(0, (struct usnic_range){5, 6}, UINT64_MAX);
    ck_assert_uint_eq(usnic_window_lose(&window, 6, 3), 3);
    ck_assert_uint_eq(usnic_window_lose(&window, 6, 100), 2);
    ck_assert_uint_eq(window.in_flight, 4);
    ck_assert_ptr_eq(usnic_window_oldest(&window), &segments[6]);
    struct list *first = window.lost.next;
    ck_assert_ptr_eq(first, &segments[0].link);
    usnic_window_sent(&window, &segments[0], 20);
    ck_assert(segments[0].resent);
    struct usnic_acked acked = take(1, (struct usnic_range){0, 0}, 19);
    ck_assert_uint_eq(acked.spurious, 1);
    ck_assert_uint_eq(acked.late, 4999);
    acked = take(2, (struct usnic_range){0, 0}, 19);
    ck_assert_uint_eq(acked.spurious, 1);
    usnic_window_sent(&window, &segments[2], 21);
    acked = take(3, (struct usnic_range){0, 0}, 21);
    ck_assert_uint_eq(acked.spurious, 0);
    end_window();
}
END_TEST

START_TEST(ranges_beyond_what_was_sent_do_nothing)
{
    send_many(100, 10);
    struct usnic_acked acked = take(100, (struct usnic_range){110, 5000}, 5);
    ck_assert_uint_eq(acked.packets, 0);
    acked = take(100, (struct usnic_range){108, 100000}, 5);
    ck_assert_uint_eq(acked.packets, 2);
    acked = take(100, (struct usnic_range){90, 105}, 5);
    ck_assert_uint_eq(acked.packets, 0);
    end_window();
}
END_TEST

/* ---- order ---- */

static struct usnic_packet packets[512], another;
static struct usnic_order order;

static enum reorder_verdict come_again(uint32_t sequence)
{
    return usnic_order_take(&order, &another, sequence, true);
}

static enum reorder_verdict come(uint32_t sequence)
{
    return usnic_order_take(&order, &packets[sequence % 512], sequence, true);
}

START_TEST(early_packets_wait_for_their_turn)
{
    uint8_t bytes[USNIC_RANGES * USNIC_RANGE_BYTES];
    uint32_t first = UINT32_MAX - 1;

    usnic_order_init(&order, first);
    ck_assert_int_eq(come(first + 2), REORDER_KEPT);
    ck_assert_int_eq(come(first + 5), REORDER_KEPT);
    ck_assert_int_eq(come(first + 3), REORDER_KEPT);
    ck_assert_int_eq(come_again(first + 3), REORDER_AGAIN);
    ck_assert_int_eq(come_again(first - 1), REORDER_AGAIN);
    ck_assert_int_eq(come_again(first + USNIC_WINDOW_PACKETS), REORDER_TOO_FAR);
    ck_assert_int_eq(usnic_order_take(&order, &another, first + 9, false), REORDER_TOO_FAR);
    ck_assert_uint_eq(usnic_order_ranges(&order, bytes), 2);
    struct usnic_range range = usnic_range_decode(bytes, first);
    ck_assert_uint_eq(range.first, first + 2);
    ck_assert_uint_eq(range.end, first + 4);
    ck_assert_int_eq(come(first + 4), REORDER_KEPT);
    ck_assert_uint_eq(usnic_order_ranges(&order, bytes), 1);
    ck_assert_int_eq(come(first + 1), REORDER_KEPT);
    ck_assert_ptr_null(usnic_order_next(&order));
    ck_assert_int_eq(come(first), REORDER_NOW);
    for (uint32_t i = 1; i <= 5; i++) {
        ck_assert_ptr_eq(usnic_order_next(&order), &packets[(first + i) % 512]);
    }
    ck_assert_ptr_null(usnic_order_next(&order));
    ck_assert_uint_eq(usnic_order_expected(&order), first + 6);
    ck_assert_uint_eq(order.count, 0);
}
END_TEST

START_TEST(ranges_are_bounded)
{
    usnic_order_init(&order, 0);
    for (uint32_t i = 0; i < USNIC_RANGES; i++) {
        ck_assert_int_eq(come(2 * i + 1), REORDER_KEPT);
    }
    ck_assert_int_eq(come_again(2 * USNIC_RANGES + 1), REORDER_TOO_FAR);
    ck_assert_int_eq(come(2 * USNIC_RANGES), REORDER_KEPT);
    ck_assert_int_eq(come(2), REORDER_KEPT);
    ck_assert_int_eq(come(2 * USNIC_RANGES + 2), REORDER_KEPT);
    size_t kept = 0;
    while (usnic_order_drop(&order)) {
        kept++;
    }
    ck_assert_uint_eq(kept, USNIC_RANGES + 3);
}
END_TEST

UNIT_MAIN("usnic-window")
