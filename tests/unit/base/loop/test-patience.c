/* base/loop/patience.h with a clock of the test's own: which address is tried when, for how long,
 * and when a connect gives up. */
#include <base/loop/patience.h>
#include <tests/lib/unit.h>

#define MS UINT64_C(1000)
#define S UINT64_C(1000000)

static struct patience patience;
static struct backoff_chance chance = {1};
static uint64_t now_us, wait_us;

static void begin(size_t count, uint64_t limit_us)
{
    now_us = 100 * S;
    patience_begin(&patience, count, 5 * S, limit_us, 3, now_us);
}

/* The address at is tried, in vain; the clock goes on by what that takes. */
static enum patience_next try(size_t at, enum patience_outcome outcome)
{
    ck_assert_uint_eq(patience.at, at);
    now_us += outcome == PATIENCE_SLOW ? patience_time(&patience, now_us) : MS;
    enum patience_next next = patience_ended(&patience, outcome, &chance, now_us, &wait_us);
    if (next == PATIENCE_WAIT) {
        ck_assert_uint_ge(wait_us, 5 * MS);
        ck_assert_uint_le(wait_us, S);
        now_us += wait_us;
    }
    return next;
}

START_TEST(one_address_has_its_full_time_once)
{
    begin(1, 0);
    ck_assert_uint_eq(patience_time(&patience, now_us), 5 * S);
    ck_assert_int_eq(try(0, PATIENCE_SLOW), PATIENCE_OVER);
    ck_assert_uint_eq(now_us, 105 * S);
}
END_TEST

START_TEST(slow_addresses_have_a_second_turn)
{
    begin(4, 0);
    ck_assert_int_eq(try(0, PATIENCE_SLOW), PATIENCE_GO);
    ck_assert_uint_eq(now_us, 101 * S);
    ck_assert_int_eq(try(1, PATIENCE_FAILED), PATIENCE_GO);
    ck_assert_int_eq(try(2, PATIENCE_REFUSED), PATIENCE_GO);
    ck_assert_int_eq(try(3, PATIENCE_SLOW), PATIENCE_GO);
    ck_assert_uint_eq(patience_time(&patience, now_us), 5 * S);
    ck_assert_int_eq(try(0, PATIENCE_SLOW), PATIENCE_GO);
    ck_assert_int_eq(try(3, PATIENCE_SLOW), PATIENCE_OVER);
    begin(2, 0);
    ck_assert_int_eq(try(0, PATIENCE_REFUSED), PATIENCE_GO);
    ck_assert_int_eq(try(1, PATIENCE_FAILED), PATIENCE_OVER);
}
END_TEST

/* Whatever was in the way, a cut handshake too, until the time is over and no longer. */
START_TEST(a_limit_means_turn_after_turn)
{
    static const enum patience_outcome outcomes[] = {PATIENCE_SLOW, PATIENCE_FAILED};
    for (int kind = 0; kind < 2; kind++) {
        begin(2, 60 * S);
        enum patience_next next = PATIENCE_GO;
        unsigned turns = 0;
        while (next != PATIENCE_OVER) {
            ck_assert_int_eq(try(0, outcomes[kind]), PATIENCE_GO);
            next = try(1, outcomes[kind]);
            turns++;
        }
        ck_assert_uint_ge(now_us, 158 * S);
        ck_assert_uint_le(now_us, 160 * S);
        ck_assert_uint_ge(turns, 6);
        ck_assert_uint_le(patience_time(&patience, now_us), 2 * S);
        ck_assert_uint_eq(patience_longest(&patience, 161 * S), 0);
    }
}
END_TEST

START_TEST(where_nobody_listens_nobody_is_waited_for)
{
    begin(2, 60 * S);
    for (int turn = 0; turn < 3; turn++) {
        ck_assert_int_eq(try(0, PATIENCE_REFUSED), PATIENCE_GO);
        ck_assert_int_eq(try(1, PATIENCE_REFUSED), turn < 2 ? PATIENCE_WAIT : PATIENCE_OVER);
    }
    ck_assert_uint_lt(now_us, 100 * S + 200 * MS);
    /* One that says nothing may be somebody. */
    begin(2, UINT64_MAX);
    for (int turn = 0; turn < 100; turn++) {
        ck_assert_int_eq(try(0, PATIENCE_REFUSED), PATIENCE_GO);
        ck_assert_int_eq(try(1, turn % 3 ? PATIENCE_REFUSED : PATIENCE_SLOW), PATIENCE_WAIT);
    }
}
END_TEST

START_TEST(a_long_round_trip_has_more_time)
{
    /* what is left is enough */
    ck_assert_uint_eq(patience_after_round_trip(100, 900 * MS, 5 * S), 900 * MS);
    /* 400 ms each way */
    ck_assert_uint_eq(patience_after_round_trip(800 * MS, 200 * MS, 20 * S), 6400 * MS);
    ck_assert_uint_eq(patience_after_round_trip(5 * S, 0, 20 * S), 20 * S);
    /* never less than before, nor more than there is */
    ck_assert_uint_eq(patience_after_round_trip(800 * MS, 200 * MS, 0), 200 * MS);
    ck_assert_uint_eq(patience_after_round_trip(UINT64_MAX, S, UINT64_MAX), UINT64_MAX);
    ck_assert_uint_eq(patience_grown(5 * S), 20 * S);
    begin(2, 0);
    ck_assert_uint_eq(patience_longest(&patience, now_us), 20 * S);
    begin(2, 3 * S);
    ck_assert_uint_eq(patience_longest(&patience, now_us + S), 2 * S);
}
END_TEST

START_TEST(a_limit_begins_anew)
{
    begin(1, 20 * S);
    now_us += 18 * S;
    ck_assert_uint_eq(patience_time(&patience, now_us), 2 * S);
    patience_renew(&patience, 20 * S, now_us);
    ck_assert_uint_eq(patience_time(&patience, now_us), 5 * S);
    patience_renew(&patience, UINT64_MAX, now_us);
    ck_assert_uint_eq(patience_longest(&patience, 1000 * S), 20 * S);
}
END_TEST

/* btl/tcp: refusals are final, silence is not. */
START_TEST(how_many_turns_of_refusals_count_is_the_callers)
{
    begin(1, 20 * S);
    patience.refusals_max = 1;
    ck_assert_int_eq(try(0, PATIENCE_SLOW), PATIENCE_WAIT);
    ck_assert_int_eq(try(0, PATIENCE_SLOW), PATIENCE_WAIT);
    ck_assert_int_eq(try(0, PATIENCE_REFUSED), PATIENCE_OVER);
}
END_TEST

UNIT_MAIN("patience")
