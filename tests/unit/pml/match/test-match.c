/* Matching, by hand. */
#include <config.h>

#include <pml/match/match.h>
#include <tests/lib/unit.h>

enum { SOURCES = 3, ANY = MATCH_ANY_SOURCE, ANY_TAG = MATCH_ANY_TAG, AHEAD = 8, MANY = 10000 };

static struct match match;
static struct match_quota quotas[SOURCES];
static struct match_source sources[SOURCES];
static struct match_message messages[MANY + 1];
static struct match_receive receives[MANY + 1];
static uint32_t numbers[SOURCES]; /* the next message's */
static struct list matches = LIST_INIT(matches);

static void start(uint32_t last, uint32_t first)
{
    match_init(&match);
    list_init(&matches);
    for (int32_t i = 0; i < SOURCES; i++) {
        quotas[i] = (struct match_quota){.most = 100};
        match_source_init(&sources[i], i, &quotas[i], last, AHEAD, first);
        numbers[i] = first;
    }
}

/* Message i with a number of its own. */
static enum reorder_verdict arrive_as(size_t i, int32_t source, int32_t tag, uint32_t number)
{
    messages[i].tag = tag;
    messages[i].bytes = 10;
    return match_arrive(&match, &sources[source], &messages[i], number, &matches);
}

static void arrive(size_t i, int32_t source, int32_t tag)
{
    ck_assert_int_eq(arrive_as(i, source, tag, numbers[source]++), REORDER_NOW);
}

/* The next match is of this receive with this message. */
static void expect(size_t receive, size_t message)
{
    struct list *link = list_pop(&matches);

    ck_assert_ptr_eq(link, &receives[receive].link.queue);
    ck_assert_ptr_eq(receives[receive].message, &messages[message]);
    ck_assert(!match_cancel(&match, &receives[receive]));
}

static void expect_nothing(void)
{
    ck_assert(list_empty(&matches));
}

static struct match_message *post(size_t i, int32_t source, int32_t tag)
{
    receives[i] = (struct match_receive){.source = source, .tag = tag};
    return match_post(&match, &receives[i]);
}

START_TEST(messages_count_in_the_order_of_their_numbers)
{
    start(UINT16_MAX, UINT16_MAX);
    ck_assert_ptr_null(post(0, 0, ANY_TAG));
    ck_assert_ptr_null(post(1, ANY, 6));
    ck_assert_ptr_null(post(2, 0, 5));
    ck_assert_int_eq(arrive_as(2, 0, 5, 1), REORDER_KEPT);
    ck_assert_int_eq(arrive_as(1, 0, 6, 0), REORDER_KEPT);
    ck_assert_int_eq(arrive_as(9, 0, 6, 0), REORDER_AGAIN);
    ck_assert_int_eq(arrive_as(9, 0, 6, UINT16_MAX + AHEAD + 1), REORDER_TOO_FAR);
    ck_assert_ptr_null(match_probe(&match, ANY, ANY_TAG));
    expect_nothing();
    ck_assert_int_eq(arrive_as(0, 0, 5, UINT16_MAX), REORDER_NOW);
    expect(0, 0);
    expect(1, 1);
    expect(2, 2);
    expect_nothing();
    ck_assert_int_eq(arrive_as(9, 0, 5, UINT16_MAX), REORDER_AGAIN);
    ck_assert_int_eq(arrive_as(9, 0, 5, 1), REORDER_AGAIN);
    ck_assert_uint_eq(quotas[0].bytes, 0);
    match_fini(&match);
}
END_TEST

/* Sources have numbers of their own, and more messages than a 16-bit number tells apart. */
START_TEST(numbers_wrap)
{
    start(UINT16_MAX, 0);
    for (uint32_t i = 0; i < UINT16_MAX + 2 * AHEAD; i += 2) {
        ck_assert_int_eq(arrive_as(1, 0, 5, (i + 1) & UINT16_MAX), REORDER_KEPT);
        ck_assert_ptr_null(match_probe(&match, 0, 5));
        ck_assert_int_eq(arrive_as(0, 0, 5, i & UINT16_MAX), REORDER_NOW);
        ck_assert_int_eq(arrive_as(2, 0, 5, i & UINT16_MAX), REORDER_AGAIN);
        ck_assert_ptr_eq(match_take(&match, ANY, 5), &messages[0]);
        ck_assert_ptr_eq(match_take(&match, 0, ANY_TAG), &messages[1]);
    }
    arrive(0, 1, 5);
    match_fini(&match);
}
END_TEST

START_TEST(receives_of_one_source_are_given_up)
{
    start(UINT16_MAX, 0);
    ck_assert_ptr_null(post(0, 0, 5));
    ck_assert_ptr_null(post(1, 1, 5));
    ck_assert_ptr_null(post(2, ANY, 5));
    ck_assert_ptr_null(post(3, 1, ANY_TAG));
    ck_assert_ptr_null(post(4, 1, -5));
    ck_assert_ptr_null(post(5, 1, 5));
    unsigned given_up = 0;
    for (struct match_receive *receive; (receive = match_give_up(&match, 1));) {
        ck_assert(!match_cancel(&match, receive));
        given_up |= 1u << (receive - receives);
    }
    ck_assert_uint_eq(given_up, 1u << 1 | 1u << 3 | 1u << 4 | 1u << 5);
    arrive(0, 1, 5);
    expect(2, 0);
    arrive(1, 0, 5);
    expect(0, 1);
    ck_assert_ptr_null(match_give_up(&match, 0));
    match_fini(&match);
}
END_TEST

START_TEST(what_nobody_received_is_counted)
{
    start(UINT16_MAX, 0);
    ck_assert_ptr_null(post(0, 0, 1));
    arrive(0, 0, 1);
    expect(0, 0);
    ck_assert_uint_eq(quotas[0].bytes, 0);
    for (size_t i = 0; i < 6; i++) {
        arrive(i, 0, i % 2 ? 5 : -5);
    }
    ck_assert_int_eq(arrive_as(6, 0, 5, numbers[0] + 2), REORDER_KEPT);
    ck_assert_int_eq(arrive_as(9, 0, 5, numbers[0] + 2), REORDER_AGAIN);
    ck_assert_int_eq(arrive_as(7, 0, 5, numbers[0] + 1), REORDER_KEPT);
    arrive(8, 1, 5);
    ck_assert_uint_eq(quotas[0].bytes, 80);
    ck_assert_uint_eq(quotas[1].bytes, 10);
    quotas[0].most = 80;
    ck_assert(!match_quota_is_over(&quotas[0]));
    quotas[0].most = 79;
    ck_assert(match_quota_is_over(&quotas[0]));
    ck_assert_ptr_eq(match_take(&match, 0, 5), &messages[1]);
    ck_assert(!match_quota_is_over(&quotas[0]));
    ck_assert_ptr_eq(match_source_drop(&sources[0]), &messages[7]);
    ck_assert_ptr_eq(match_source_drop(&sources[0]), &messages[6]);
    ck_assert_ptr_null(match_source_drop(&sources[0]));
    ck_assert_uint_eq(quotas[0].bytes, 50);
    for (size_t i = 0; i < 6; i++) {
        ck_assert_ptr_nonnull(match_drop(&match));
    }
    ck_assert_ptr_null(match_drop(&match));
    ck_assert_uint_eq(quotas[0].bytes + quotas[1].bytes, 0);
    match_fini(&match);
}
END_TEST

/* ---- what it costs ---- */

/* Steps of a receive posted before its message, and one after it, for each kind of receive. */
static uint64_t steps_of(void)
{
    const int32_t wanted[][2] = {{0, -5}, {1, 3}, {ANY, 3}, {1, ANY_TAG}, {ANY, ANY_TAG}};
    uint64_t before = match.receives.steps + match.messages.steps;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        int32_t source = wanted[i][0] == ANY ? 1 : wanted[i][0];
        int32_t tag = wanted[i][1] == ANY_TAG ? 3 : wanted[i][1];
        ck_assert_ptr_null(post(MANY, wanted[i][0], wanted[i][1]));
        arrive(MANY, source, tag);
        expect(MANY, MANY);
        arrive(MANY, source, tag);
        ck_assert_ptr_eq(post(MANY, wanted[i][0], wanted[i][1]), &messages[MANY]);
    }
    return match.receives.steps + match.messages.steps - before;
}

/* What lies ahead: of one tag that nobody asks for, of 10^4 tags, of 10^4 sources. The sources that
 * steps_of uses have other tags, so that ANY finds its own. */
static int32_t ahead_tag(unsigned pattern, int32_t i)
{
    return pattern == 0 ? -9 : pattern == 1 ? -1000 - i : -77;
}

START_TEST(ten_thousand_posted_cost_nothing)
{
    for (unsigned pattern = 0; pattern < 3; pattern++) {
        start(UINT16_MAX, 0);
        uint64_t empty = steps_of();
        for (int32_t i = 0; i < MANY; i++) {
            ck_assert_ptr_null(post((size_t) i, pattern == 2 ? 10 + i : 0, ahead_tag(pattern, i)));
        }
        uint64_t full = steps_of();
        ck_assert_msg(full <= 2 * empty, "%u: %u steps, empty %u", pattern, (unsigned) full,
                      (unsigned) empty);
        match_fini(&match);
    }
}
END_TEST

START_TEST(ten_thousand_unexpected_cost_nothing)
{
    static struct match_source others[MANY];

    for (unsigned pattern = 0; pattern < 3; pattern++) {
        start(UINT16_MAX, 0);
        uint64_t empty = steps_of();
        for (int32_t i = 0; i < MANY; i++) {
            if (pattern == 2) {
                match_source_init(&others[i], 10 + i, &quotas[2], UINT16_MAX, AHEAD, 0);
                messages[i].tag = ahead_tag(pattern, i);
                ck_assert_int_eq(match_arrive(&match, &others[i], &messages[i], 0, &matches),
                                 REORDER_NOW);
            } else {
                arrive((size_t) i, 0, ahead_tag(pattern, i));
            }
        }
        uint64_t full = steps_of();
        ck_assert_msg(full <= 2 * empty, "%u: %u steps, empty %u", pattern, (unsigned) full,
                      (unsigned) empty);
        match_fini(&match);
    }
}
END_TEST

UNIT_MAIN("match")
