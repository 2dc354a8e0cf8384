/* oob/pulse.h with a clock of the test's own: who is suspected, who has failed, and whose fault the
 * silence was. */
#include <oob/pulse.h>
#include <tests/lib/unit.h>

#define S UINT64_C(1000000)

static const struct pulse_limits limits = {.suspect_us = 5 * S, .fail_us = 15 * S};

/* One end of a link on a virtual clock: it looks each second unless it stands still; the peer
 * answers each question at once unless it does. */
struct end {
    struct pulse pulse;
    uint64_t now, last;
    uint64_t suspected_at, again_at, failed_at; /* 0: never */
};

static void end_begin(struct end *end, uint64_t now)
{
    *end = (struct end){.now = now, .last = now};
    pulse_begin(&end->pulse, now);
}

/* The end's next turn comes after gap. */
static void turn(struct end *end, uint64_t gap, bool peer_lives)
{
    end->now += gap;
    pulse_credit(&end->pulse, pulse_stall(end->last, S, end->now), end->now);
    end->last = end->now;
    switch (pulse_look(&end->pulse, &limits, S, end->now)) {
    case PULSE_WELL:
        return;
    case PULSE_FAILED:
        end->failed_at = end->failed_at ? end->failed_at : end->now;
        return;
    case PULSE_SUSPECT:
        ck_assert_uint_eq(end->suspected_at, 0);
        end->suspected_at = end->now;
        break;
    case PULSE_AGAIN:
        end->again_at = end->now;
        break;
    case PULSE_ASK:
        break;
    }
    if (peer_lives) {
        pulse_hear(&end->pulse, end->now + 1000);
    }
}

START_TEST(a_living_peer_is_asked_and_never_suspected)
{
    struct end end;
    end_begin(&end, 12345);
    for (int i = 0; i < 100000; i++) {
        turn(&end, S, true);
    }
    ck_assert(!end.suspected_at && !end.failed_at);
}
END_TEST

START_TEST(traffic_needs_no_question)
{
    struct pulse pulse;
    pulse_begin(&pulse, 100);
    pulse_hear(&pulse, 100 + S - 1000);
    ck_assert_int_eq(pulse_look(&pulse, &limits, S, 100 + S), PULSE_WELL);
    ck_assert_int_eq(pulse_look(&pulse, &limits, S, 100 + 2 * S), PULSE_ASK);
}
END_TEST

START_TEST(silence_is_suspected_and_then_fails)
{
    struct end end;
    end_begin(&end, 1);
    for (int i = 0; i < 20; i++) {
        turn(&end, S, false);
    }
    ck_assert_uint_eq(end.suspected_at, 1 + 5 * S);
    ck_assert_uint_eq(end.failed_at, 1 + 15 * S);
}
END_TEST

START_TEST(three_seconds_go_unnoticed)
{
    struct end end;
    end_begin(&end, 7 * S);
    for (int i = 0; i < 60; i++) {
        turn(&end, S, i < 20 || i >= 23);
    }
    ck_assert(!end.suspected_at && !end.failed_at);
}
END_TEST

START_TEST(who_is_heard_again_is_told_once_and_may_fall_silent_again)
{
    struct end end;
    end_begin(&end, S);
    for (int i = 0; i < 10; i++) {
        turn(&end, S, i >= 7);
    }
    ck_assert_uint_eq(end.suspected_at, 6 * S);
    ck_assert_uint_eq(end.again_at, 10 * S);
    ck_assert(!end.pulse.suspected);
    end.suspected_at = 0;
    for (int i = 0; i < 30; i++) {
        turn(&end, S, false);
    }
    ck_assert_uint_ne(end.suspected_at, 0);
    ck_assert_uint_ne(end.failed_at, 0);
}
END_TEST

/* Stopped for a minute, or the whole machine: the peer has the time that it had before. */
START_TEST(own_stalls_do_not_count)
{
    struct end end;
    end_begin(&end, S);
    for (int i = 0; i < 4; i++) {
        turn(&end, S, false);
    }
    turn(&end, 60 * S, false); /* 4 s of silence and one turn more */
    ck_assert_uint_eq(end.suspected_at, end.now);
    ck_assert(!end.failed_at);
    uint64_t woken = end.now;
    for (int i = 0; i < 20; i++) {
        turn(&end, S, false);
    }
    ck_assert_uint_eq(end.failed_at, woken + 10 * S);
}
END_TEST

START_TEST(a_process_that_is_stopped_all_the_time_blames_nobody)
{
    struct end end;
    end_begin(&end, S);
    for (int i = 0; i < 1000; i++) {
        turn(&end, 30 * S, true);
    }
    ck_assert(!end.suspected_at && !end.failed_at);
}
END_TEST

/* A credit is no sign of life. */
START_TEST(a_stall_does_not_clear_a_suspicion)
{
    struct end end;
    end_begin(&end, S);
    for (int i = 0; i < 6; i++) {
        turn(&end, S, false);
    }
    ck_assert_uint_ne(end.suspected_at, 0);
    turn(&end, 100 * S, false);
    ck_assert_uint_eq(end.again_at, 0);
    ck_assert(end.pulse.suspected);
}
END_TEST

START_TEST(no_limit_no_verdict)
{
    static const struct pulse_limits never = {0, 0};
    struct pulse pulse;
    pulse_begin(&pulse, 5);
    ck_assert_int_eq(pulse_look(&pulse, &never, S, UINT64_MAX), PULSE_ASK);
    ck_assert(!pulse.suspected);
}
END_TEST

START_TEST(small_gaps_and_odd_clocks)
{
    ck_assert_uint_eq(pulse_stall(10 * S, S, 11 * S), 0);
    ck_assert_uint_eq(pulse_stall(10 * S, S, 12 * S - 1), 0);
    ck_assert_uint_eq(pulse_stall(10 * S, S, 12 * S), S);
    ck_assert_uint_eq(pulse_stall(10 * S, S, 9 * S), 0);
    struct pulse pulse;
    pulse_begin(&pulse, 10 * S);
    pulse_credit(&pulse, UINT64_MAX, 11 * S); /* never beyond now */
    ck_assert_uint_eq(pulse.heard_us, 11 * S);
    pulse_credit(&pulse, S, 10 * S);
    ck_assert_uint_eq(pulse.heard_us, 11 * S);
    ck_assert_int_eq(pulse_look(&pulse, &limits, S, 10 * S), PULSE_WELL);
}
END_TEST

UNIT_MAIN("pulse")
