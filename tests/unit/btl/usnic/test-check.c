/* The path checker, over paths of all kinds, in virtual time. */
#include <btl/usnic/engine/check.h>
#include <stdlib.h>
#include <tests/lib/unit.h>

enum { SMALL = 512, FULL = 1472, TRIP_US = 100, PATIENCE_US = 5000000, STEP_US = 50, QUEUE = 1024 };

/* A path: what passes there, and whether the peer answers. */
struct path {
    size_t mtu;         /* 0: nothing passes */
    int loss_percent;   /* of each direction */
    bool speaks;        /* it says something by itself */
    uint64_t absent_us; /* it is away for so long at first */
};

static bool is_lost(const struct path *path)
{
    return rand() % 100 < path->loss_percent;
}

/* Until a verdict; returns the time. */
static uint64_t run(struct usnic_check *check, const struct path *path, uint64_t limit_us)
{
    size_t answers[QUEUE];
    uint64_t due[QUEUE], now_us = 1000, begin_us = now_us;
    size_t first = 0, next = 0;

    usnic_check_begin(check, SMALL, FULL, TRIP_US, PATIENCE_US, now_us);
    for (; now_us - begin_us < limit_us && check->verdict == CHECK_OPEN; now_us += STEP_US) {
        for (size_t size; (size = usnic_check_probe(check, now_us)) > 0;) {
            ck_assert_uint_ge(size, SMALL);
            ck_assert_uint_le(size, FULL);
            if (size <= path->mtu && !is_lost(path) && !is_lost(path)) {
                answers[next % QUEUE] = size;
                uint64_t back_us = begin_us + path->absent_us;
                due[next++ % QUEUE] = (now_us > back_us ? now_us : back_us) + TRIP_US;
                ck_assert_uint_le(next - first, QUEUE);
            }
        }
        if (path->speaks) {
            usnic_check_heard(check);
        }
        while (first < next && due[first % QUEUE] <= now_us) {
            usnic_check_answered(check, answers[first++ % QUEUE], now_us);
        }
    }
    return now_us - begin_us;
}

START_TEST(a_full_path_is_found_in_one_round_trip)
{
    struct usnic_check check;

    ck_assert_uint_le(run(&check, &(struct path){.mtu = 1500}, 1000000), 4 * TRIP_US);
    ck_assert_int_eq(check.verdict, CHECK_PASSES);
    ck_assert_uint_eq(check.passes, FULL);
    ck_assert(!usnic_check_runs(&check));
}
END_TEST

START_TEST(a_hole_is_found_by_bisection)
{
    for (size_t mtu = SMALL; mtu < FULL; mtu += 37) {
        struct usnic_check check;
        run(&check, &(struct path){.mtu = mtu}, 5000000);
        ck_assert_int_eq(check.verdict, CHECK_SMALL_ONLY);
        ck_assert_uint_le(check.passes, mtu);
        ck_assert_uint_ge(check.passes + 4, mtu);
    }
}
END_TEST

/* Also where three packets of ten are lost each way. */
START_TEST(losses_are_no_hole)
{
    srand(1);
    for (int i = 0; i < 6000; i++) {
        struct usnic_check check;
        run(&check, &(struct path){.mtu = 1500, .loss_percent = i % 3 * 15}, 20000000);
        ck_assert_int_eq(check.verdict, CHECK_PASSES);
    }
}
END_TEST

START_TEST(a_hole_is_found_amid_losses)
{
    srand(1);
    for (int i = 0; i < 20; i++) {
        struct usnic_check check;
        run(&check, &(struct path){.mtu = 1000, .loss_percent = 30}, 20000000);
        ck_assert_int_eq(check.verdict, CHECK_SMALL_ONLY);
        ck_assert_uint_le(check.passes, 1000);
        ck_assert_uint_ge(check.passes + 4, 1000);
    }
}
END_TEST

START_TEST(a_peer_that_computes_is_waited_for)
{
    struct usnic_check check;

    run(&check, &(struct path){.mtu = 1500, .absent_us = 2000000}, 20000000);
    ck_assert_int_eq(check.verdict, CHECK_PASSES);
    run(&check, &(struct path){.mtu = 1000, .absent_us = 2000000}, 20000000);
    ck_assert_int_eq(check.verdict, CHECK_SMALL_ONLY);
    ck_assert_uint_ge(check.passes, 996);
}
END_TEST

/* What is answered late is not lost: a peer that runs now and then holds the search up no longer.
 */
START_TEST(late_answers_are_no_losses)
{
    enum { ABSENT_US = 50000 };
    struct usnic_check check;
    uint64_t now_us = 1000;
    unsigned owed = 0;

    usnic_check_begin(&check, SMALL, FULL, TRIP_US, PATIENCE_US, now_us);
    for (; check.verdict == CHECK_OPEN; now_us += STEP_US) {
        for (size_t size; (size = usnic_check_probe(&check, now_us)) > 0;) {
            owed += size == SMALL;
        }
        for (; now_us % ABSENT_US == 0 && owed > 0; owed--) {
            usnic_check_answered(&check, SMALL, now_us);
        }
        ck_assert_uint_le(now_us, 3000000);
    }
    ck_assert_int_eq(check.verdict, CHECK_SMALL_ONLY);
}
END_TEST

START_TEST(who_was_away_accuses_nobody)
{
    struct usnic_check check;

    usnic_check_begin(&check, SMALL, FULL, TRIP_US, PATIENCE_US, 1000);
    ck_assert_uint_eq(usnic_check_probe(&check, 1000), FULL);
    ck_assert_uint_eq(usnic_check_probe(&check, 1000), SMALL);
    (void) usnic_check_probe(&check, 2 * PATIENCE_US);
    ck_assert_int_eq(check.verdict, CHECK_OPEN);
    uint64_t now_us = 2 * PATIENCE_US;
    for (; check.verdict == CHECK_OPEN && now_us < 4 * PATIENCE_US; now_us += STEP_US) {
        (void) usnic_check_probe(&check, now_us);
    }
    ck_assert_int_eq(check.verdict, CHECK_NOTHING);
    ck_assert_uint_ge(now_us, 3 * PATIENCE_US - 10000);
}
END_TEST

START_TEST(what_is_cut_is_told)
{
    struct usnic_check check;

    uint64_t took_us = run(&check, &(struct path){.mtu = 0}, 60000000);
    ck_assert_int_eq(check.verdict, CHECK_NOTHING);
    ck_assert_uint_le(took_us, PATIENCE_US + 200000);
    ck_assert(usnic_check_runs(&check));
    run(&check, &(struct path){.mtu = 0, .speaks = true}, 60000000);
    ck_assert_int_eq(check.verdict, CHECK_ONE_WAY);
    usnic_check_answered(&check, FULL, 100000000); /* it was mended */
    ck_assert_int_eq(check.verdict, CHECK_PASSES);
}
END_TEST

START_TEST(answers_to_what_nobody_asked_change_nothing)
{
    struct usnic_check check = {.state = CHECK_IDLE};

    usnic_check_answered(&check, FULL, 1);
    ck_assert_int_eq(check.state, CHECK_IDLE);
    usnic_check_begin(&check, SMALL, FULL, TRIP_US, PATIENCE_US, 1);
    usnic_check_answered(&check, FULL + 1, 2);
    usnic_check_answered(&check, 0, 2);
    ck_assert_uint_eq(check.passes, SMALL);
    ck_assert(usnic_check_runs(&check));
}
END_TEST

UNIT_MAIN("usnic-check")
