/* How bytes are divided among rails. */
#include <config.h>

#include <pml/pieces/schedule.h>
#include <tests/lib/unit.h>

/* Gives all of a message, and returns the number of pieces. */
static size_t divide(struct schedule_rail *rails, size_t count, size_t bytes)
{
    size_t pieces = 0;
    for (size_t left = bytes; left > 0; pieces++) {
        size_t size = 0, rail = schedule_next(rails, count, left, &size);
        ck_assert_uint_lt(rail, count);
        ck_assert(size > 0 && size <= left && size <= rails[rail].max);
        ck_assert(size >= rails[rail].min || size == left);
        rails[rail].queued += size;
        left -= size;
    }
    return pieces;
}

START_TEST(one_rail_takes_all)
{
    struct schedule_rail rail = {.weight = 5, .min = 100, .max = SIZE_MAX};
    ck_assert_uint_eq(divide(&rail, 1, 1 << 20), 1);
    rail = (struct schedule_rail){.weight = 5, .min = 100, .max = 1000};
    ck_assert_uint_eq(divide(&rail, 1, 10000), 10);
    rail.queued = 0;
    ck_assert_uint_eq(divide(&rail, 1, 10001), 11);
}
END_TEST

/* All end together, within a piece's time. */
START_TEST(shares_follow_the_weights)
{
    const size_t most[] = {SIZE_MAX, 1 << 20, 65536, 4096};
    for (size_t i = 0; i < 4; i++) {
        struct schedule_rail rails[] = {{.weight = 1000, .min = 1024, .max = most[i]},
                                        {.weight = 400, .min = 1024, .max = most[i]},
                                        {.weight = 300, .min = 1024, .max = 8192}};
        const size_t bytes = 100000000;
        divide(rails, 3, bytes);
        ck_assert_uint_eq(rails[0].queued + rails[1].queued + rails[2].queued, bytes);
        for (size_t rail = 0; rail < 3; rail++) {
            double share = (double) bytes * rails[rail].weight / 1700;
            ck_assert(share - (double) rails[rail].queued < 0.01 * (double) bytes);
            ck_assert((double) rails[rail].queued - share < 0.01 * (double) bytes);
        }
    }
}
END_TEST

START_TEST(slow_rails_are_left_out)
{
    struct schedule_rail rails[] = {{.weight = 100, .min = 10, .max = 1000},
                                    {.weight = 24, .min = 10, .max = 1000},
                                    {.weight = 25, .min = 10, .max = 1000}};
    divide(rails, 3, 1000000);
    ck_assert_uint_eq(rails[1].queued, 0);
    ck_assert(rails[2].queued > 190000 && rails[2].queued < 210000);
}
END_TEST

START_TEST(what_is_small_is_not_divided)
{
    struct schedule_rail rails[] = {{.weight = 100, .min = 1000, .max = SIZE_MAX},
                                    {.weight = 100, .min = 1000, .max = SIZE_MAX}};
    ck_assert_uint_eq(divide(rails, 2, 999), 1);
    rails[0].queued = rails[1].queued = 0;
    ck_assert_uint_eq(divide(rails, 2, 2000), 2);
    ck_assert_uint_eq(rails[0].queued, 1000);
}
END_TEST

/* It waits for the one that is short, rather than go by one that is slow. */
START_TEST(a_rail_without_room_is_waited_for)
{
    struct schedule_rail rails[] = {{.weight = 100, .min = 10, .max = 0},
                                    {.weight = 10, .min = 10, .max = SIZE_MAX},
                                    {.weight = 50, .min = 10, .max = SIZE_MAX}};
    size_t size;
    ck_assert_uint_eq(schedule_next(rails, 2, 1000, &size), 2);
    ck_assert_uint_eq(schedule_next(rails, 3, 1000, &size), 2);
    ck_assert_uint_eq(size, 1000);
    rails[0].weight = 0; /* there is none such */
    ck_assert_uint_eq(schedule_next(rails, 2, 1000, &size), 1);
}
END_TEST

START_TEST(what_rails_have_to_do_before_counts)
{
    struct schedule_rail rails[] = {{.weight = 100, .min = 10, .max = SIZE_MAX, .queued = 5000},
                                    {.weight = 50, .min = 10, .max = SIZE_MAX}};
    size_t size;
    ck_assert_uint_eq(schedule_next(rails, 2, 2000, &size), 1);
    ck_assert_uint_eq(size, 2000); /* and even then it is done before the other */
    ck_assert_uint_eq(schedule_next(rails, 2, 4000, &size), 1);
    ck_assert_uint_eq(size, 3000);
}
END_TEST

START_TEST(a_message_of_any_size_is_given_once)
{
    for (size_t bytes = 1; bytes < 3000; bytes++) {
        struct schedule_rail rails[] = {{.weight = 7, .min = 0, .max = 64},
                                        {.weight = 3, .min = 16, .max = 100},
                                        {.weight = 5, .min = 100, .max = 50}};
        size_t given = 0;
        for (size_t left = bytes; left > 0;) {
            size_t size, rail = schedule_next(rails, 3, left, &size);
            ck_assert(size > 0 && size <= left);
            rails[rail].queued += size;
            given += size;
            left -= size;
        }
        ck_assert_uint_eq(given, bytes);
    }
}
END_TEST

UNIT_MAIN("schedule")
