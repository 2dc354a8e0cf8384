/* Sessions by epochs: what is believed of hellos. */
#include <btl/sessions/session.h>
#include <tests/lib/unit.h>

START_TEST(an_epoch_is_later_than_all_before)
{
    uint64_t last = 0;
    ck_assert_uint_eq(btl_epoch_next(&last, 1000), 1000);
    ck_assert_uint_eq(btl_epoch_next(&last, 1000), 1001);
    ck_assert_uint_eq(btl_epoch_next(&last, 7), 1002); /* the clock was set back */
    ck_assert_uint_eq(btl_epoch_next(&last, 2000), 2000);
}
END_TEST

START_TEST(a_session_opens_once)
{
    struct btl_session session = {0};
    uint64_t last = UINT64_MAX / 2; /* of a clock that was ahead */
    btl_session_open(&session, &last);
    ck_assert_uint_eq(session.epoch, UINT64_MAX / 2 + 1);
    btl_session_open(&session, &last);
    ck_assert_uint_eq(session.epoch, UINT64_MAX / 2 + 1);
    btl_session_clear(&session);
    btl_session_open(&session, &last);
    ck_assert_uint_eq(session.epoch, UINT64_MAX / 2 + 2);
}
END_TEST

START_TEST(two_that_speak_at_once_agree)
{
    struct btl_session a = {.epoch = 10}, b = {.epoch = 20};
    bool agreed;
    ck_assert_int_eq(btl_session_judge(&a, 20), SESSION_ANOTHER);
    ck_assert(btl_session_hear(&a, 20, 0, &agreed)); /* owes an answer */
    ck_assert(!agreed && !a.proven);
    ck_assert(btl_session_hear(&b, 10, 0, &agreed));
    a.told = b.theirs ? 20 : 0;
    b.told = 10;
    ck_assert(!btl_session_hear(&a, 20, 10, &agreed));
    ck_assert(agreed && a.proven);
    ck_assert(!btl_session_hear(&b, 10, 20, &agreed));
    ck_assert(agreed && b.proven);
    ck_assert_int_eq(btl_session_judge(&a, 20), SESSION_SAME);
}
END_TEST

/* The first hello of a session, once more: the other side has shown long ago that it hears mine. */
START_TEST(a_replayed_hello_is_owed_nothing)
{
    struct btl_session session = {.epoch = 10, .theirs = 20, .told = 20, .proven = true};
    bool agreed;
    ck_assert_int_eq(btl_session_judge(&session, 20), SESSION_SAME);
    ck_assert(!btl_session_hear(&session, 20, 0, &agreed));
    ck_assert(!agreed && session.proven);
    session.proven = false;
    ck_assert(btl_session_hear(&session, 20, 0, &agreed));
}
END_TEST

START_TEST(what_is_over_stays_over)
{
    struct btl_session session = {.epoch = 10};
    bool agreed;
    (void) btl_session_hear(&session, 20, 10, &agreed);
    ck_assert_int_eq(btl_session_judge(&session, 19), SESSION_OVER);
    btl_session_clear(&session);
    ck_assert_uint_eq(session.epoch, 0);
    ck_assert_int_eq(btl_session_judge(&session, 20), SESSION_OVER);
    ck_assert_int_eq(btl_session_judge(&session, 21), SESSION_ANOTHER);
    btl_session_clear(&session); /* twice */
    ck_assert_int_eq(btl_session_judge(&session, 20), SESSION_OVER);
}
END_TEST

/* Else both would begin anew for ever. */
START_TEST(who_is_echoed_keeps_his_epoch)
{
    struct btl_session session = {.epoch = 10, .theirs = 20};
    ck_assert_uint_eq(btl_session_keeps(&session, 10), 10);
    ck_assert_uint_eq(btl_session_keeps(&session, 9), 0);
    ck_assert_uint_eq(btl_session_keeps(&session, 0), 0);
}
END_TEST

UNIT_MAIN("session")
