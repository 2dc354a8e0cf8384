#include <config.h>

#include <base/data/array.h>
#include <stdlib.h>
#include <tests/lib/unit.h>

START_TEST(test_elements_stay_as_it_grows)
{
    uint32_t *numbers = NULL;
    for (uint32_t i = 0; i < 1000; i++) {
        ck_assert(array_add(&numbers, i, sizeof(*numbers)));
        numbers[i] = i;
    }
    for (uint32_t i = 0; i < 1000; i++) {
        ck_assert_uint_eq(numbers[i], i);
    }
    free(numbers);
}
END_TEST

/* Elements that are taken away make room for others, whatever room there had been. */
START_TEST(test_there_is_room_after_some_were_taken_away)
{
    uint32_t *numbers = NULL;
    for (uint32_t most = 1; most < 40; most++) {
        for (uint32_t i = most / 3; i < most; i++) {
            ck_assert(array_add(&numbers, i, sizeof(*numbers)));
            numbers[i] = i;
        }
    }
    ck_assert_uint_eq(numbers[38], 38);
    free(numbers);
}
END_TEST

START_TEST(test_what_is_new_is_zero)
{
    uint32_t *numbers = malloc(2 * sizeof(*numbers));
    numbers[0] = 5;
    numbers[1] = 6;
    ck_assert(array_extend(&numbers, 1, 100, sizeof(*numbers)));
    ck_assert_uint_eq(numbers[0], 5);
    for (uint32_t i = 1; i < 100; i++) {
        ck_assert_uint_eq(numbers[i], 0);
    }
    free(numbers);
}
END_TEST

START_TEST(test_more_bytes_than_there_are_change_nothing)
{
    static const size_t counts[] = {SIZE_MAX / 4 + 1, SIZE_MAX / 4 + 2, SIZE_MAX};
    uint32_t *numbers = NULL;
    ck_assert(array_resize(&numbers, 0, sizeof(*numbers)));
    ck_assert_ptr_nonnull(numbers);
    numbers[0] = 7;
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        const uint32_t *before = numbers;
        ck_assert(!array_resize(&numbers, counts[i], sizeof(*numbers)));
        ck_assert(!array_extend(&numbers, 1, counts[i], sizeof(*numbers)));
        ck_assert_ptr_eq(numbers, before);
    }
    ck_assert_uint_eq(numbers[0], 7);
    free(numbers);
}
END_TEST

UNIT_MAIN("array")
