/* How fast rails are. */
#include <config.h>

#include <pml/pieces/rate.h>
#include <tests/lib/unit.h>

enum { MS = 1000000, PIECE = 512 << 10 };

/* Moves pieces for so many milliseconds, two under way at a time, each of which takes so long. */
static uint64_t move(struct rate *rate, uint64_t now, unsigned for_ms, unsigned piece_ms)
{
    rate_begin(rate, PIECE, now);
    for (unsigned i = 0; i < for_ms / piece_ms; i++) {
        rate_begin(rate, PIECE, now);
        now += (uint64_t) piece_ms * MS;
        rate_end(rate, PIECE, now);
    }
    rate_drop(rate, PIECE, now);
    return now;
}

static void is_about(const struct rate *rate, double speed)
{
    ck_assert_msg(rate_speed(rate) > 0.95 * speed && rate_speed(rate) < 1.05 * speed, "%.1f MB/s",
                  rate_speed(rate));
}

START_TEST(a_rail_is_as_fast_as_it_claims_until_it_is_used)
{
    struct rate rate;
    rate_init(&rate, 1250);
    is_about(&rate, 1250);
    rate_init(&rate, 0);
    ck_assert(rate_speed(&rate) > 0);
}
END_TEST

START_TEST(what_it_does_counts_within_a_second)
{
    static const double claims[] = {0, 12.5, 125, 12500};
    for (size_t i = 0; i < 4; i++) {
        struct rate rate;
        rate_init(&rate, claims[i]);
        uint64_t now = move(&rate, 77 * MS, 800, 10);
        is_about(&rate, 52.4);
        (void) move(&rate, now, 800, 4);
        is_about(&rate, 131);
    }
}
END_TEST

START_TEST(time_without_anything_to_move_does_not_count)
{
    struct rate rate;
    uint64_t now = 1;
    rate_init(&rate, 1000);
    for (int i = 0; i < 100; i++) {
        now = move(&rate, now, 20, 10) + 500 * MS;
    }
    ck_assert_uint_eq(rate.queued, 0);
    is_about(&rate, 52.4);
}
END_TEST

START_TEST(a_rail_that_was_idle_for_long_is_measured_anew)
{
    struct rate rate;
    rate_init(&rate, 1000);
    uint64_t now = move(&rate, 1, 10000, 100);
    is_about(&rate, 5.24);
    rate_age(&rate);
    is_about(&rate, 5.24);
    (void) move(&rate, now, 40, 4);
    ck_assert(rate_speed(&rate) > 100);
}
END_TEST

/* Bytes were under way while it was lost. */
START_TEST(a_rail_that_is_back_is_not_charged_for_the_outage)
{
    struct rate rate;
    rate_init(&rate, 1000);
    uint64_t now = move(&rate, 1, 10000, 100);
    rate_begin(&rate, PIECE, now);
    rate_claim(&rate, 1000, now + UINT64_C(5000) * MS);
    is_about(&rate, 1000);
    rate_end(&rate, PIECE, now + UINT64_C(5001) * MS);
    ck_assert(rate_speed(&rate) > 500);
}
END_TEST

UNIT_MAIN("rate")
