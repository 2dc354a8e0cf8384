#include <config.h>

#include <base/text/number.h>
#include <base/text/reason.h>
#include <tests/lib/unit.h>

START_TEST(test_what_follows_a_number_is_returned)
{
    static const char text[] = "0017-x";
    uint32_t number = 5;
    ck_assert_ptr_eq(number_read(text, SIZE_MAX, 17, &number), text + 4);
    ck_assert_uint_eq(number, 17);
    ck_assert_ptr_eq(number_read(text, 3, 17, &number), text + 3);
    ck_assert_uint_eq(number, 1);
    ck_assert_ptr_nonnull(number_read("4294967295", SIZE_MAX, UINT32_MAX, &number));
    ck_assert_uint_eq(number, UINT32_MAX);
}
END_TEST

START_TEST(test_no_number_leaves_all_as_it_is)
{
    static const char *const bad[] = {"",        "x1",         "-1",
                                      "+1",      " 1",         "18",
                                      "0000018", "4294967313", "99999999999999999999999999999999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        uint32_t number = 5;
        ck_assert_msg(!number_read(bad[i], SIZE_MAX, 17, &number), "%s", bad[i]);
        ck_assert_uint_eq(number, 5);
    }
    uint32_t number = 5;
    ck_assert_ptr_null(number_read("1", 0, 17, &number));
    ck_assert_ptr_null(number_read("4294967296", SIZE_MAX, UINT32_MAX, &number));
    ck_assert_uint_eq(number, 5);
}
END_TEST

START_TEST(test_a_reason_is_cut)
{
    char reason[8];
    ck_assert_int_eq(reason_set(-5, reason, sizeof(reason), "%d and %s", 17, "more"), -5);
    ck_assert_str_eq(reason, "17 and ");
}
END_TEST

START_TEST(ranges_are_numbers_or_pairs)
{
    uint32_t first = 7, last = 7;
    ck_assert_str_eq(range_read("3", 9, &first, &last), "");
    ck_assert(first == 3 && last == 3);
    ck_assert_str_eq(range_read("2-9,4", 9, &first, &last), ",4");
    ck_assert(first == 2 && last == 9);
    ck_assert_str_eq(range_read("0-4294967295 ", UINT32_MAX, &first, &last), " ");
    ck_assert(first == 0 && last == UINT32_MAX);
    static const char *const wrong[] = {"", "-", "-3", "3-", "3--4", "4-3", "3-10", "10", "x"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        ck_assert_ptr_null(range_read(wrong[i], 9, &first, &last));
    }
    ck_assert(first == 0 && last == UINT32_MAX);
}
END_TEST

UNIT_MAIN("number")
