/* Messages for contexts that are not open yet. */
#include <config.h>

#include <pml/match/early.h>
#include <tests/lib/unit.h>

START_TEST(they_wait_in_order_within_bounds)
{
    struct early early;
    struct match_quota here = {.most = 10}, there = {.most = 10};
    struct early_message messages[] = {{.bytes = 4, .quota = &here},
                                       {.bytes = 3, .quota = &there},
                                       {.bytes = 5, .quota = &here},
                                       {.bytes = 1, .quota = &there}};

    early_init(&early, 12);
    ck_assert_ptr_null(early_take(&early, 8));
    ck_assert(early_put(&early, 8, &messages[0]));
    ck_assert(early_put(&early, 9, &messages[1]));
    ck_assert(early_put(&early, 8, &messages[2]));
    ck_assert(!early_put(&early, 8, &messages[3]));
    ck_assert_uint_eq(here.bytes, 9);
    ck_assert_uint_eq(there.bytes, 3);
    ck_assert_ptr_null(early_take(&early, 7));
    ck_assert_ptr_eq(early_take(&early, 8), &messages[0]);
    ck_assert(early_put(&early, 8, &messages[3]));
    ck_assert_ptr_eq(early_take(&early, 8), &messages[2]);
    ck_assert_uint_eq(here.bytes, 0);
    ck_assert_ptr_eq(early_drop(&early), &messages[1]);
    ck_assert_ptr_null(early_take(&early, 9));
    ck_assert_ptr_eq(early_take(&early, 8), &messages[3]);
    ck_assert_ptr_null(early_take(&early, 8));
    ck_assert_ptr_null(early_drop(&early));
    ck_assert_uint_eq(early.bytes + there.bytes, 0);
    early_fini(&early);
}
END_TEST

UNIT_MAIN("early")
