/* Which numbered frames have come: once each, in any order, over the wrap of their numbers. */
#include <ptl/rail/window.h>
#include <tests/lib/unit.h>

static struct rail_window window;

START_TEST(frames_in_order_are_new_once)
{
    rail_window_init(&window, UINT32_MAX - 3);
    for (uint32_t i = 0; i < 10; i++) {
        const uint32_t number = UINT32_MAX - 3 + i;
        ck_assert_int_eq(rail_window_take(&window, number), RAIL_NEW);
        ck_assert_int_eq(rail_window_take(&window, number), RAIL_AGAIN);
        ck_assert_uint_eq(window.expected, number + 1);
    }
    ck_assert_ptr_null(window.ahead); /* which costs nothing */
    rail_window_fini(&window);
}
END_TEST

START_TEST(frames_ahead_are_new_once)
{
    rail_window_init(&window, UINT32_MAX - 3);
    for (uint32_t i = RAIL_WINDOW - 1; i > 0; i--) {
        ck_assert_int_eq(rail_window_take(&window, UINT32_MAX - 3 + i), RAIL_NEW);
        ck_assert_int_eq(rail_window_take(&window, UINT32_MAX - 3 + i), RAIL_AGAIN);
        ck_assert_uint_eq(window.expected, UINT32_MAX - 3);
    }
    ck_assert_int_eq(rail_window_take(&window, UINT32_MAX - 3 + RAIL_WINDOW), RAIL_TOO_FAR);
    ck_assert_int_eq(rail_window_take(&window, UINT32_MAX - 3), RAIL_NEW);
    ck_assert_uint_eq(window.expected, UINT32_MAX - 3 + RAIL_WINDOW);
    ck_assert_int_eq(rail_window_take(&window, UINT32_MAX - 3 + RAIL_WINDOW), RAIL_NEW);
    rail_window_fini(&window);
}
END_TEST

START_TEST(any_order_within_the_window)
{
    enum { FRAMES = 100000 };
    static bool come[FRAMES];
    uint32_t random = 1, left = FRAMES;
    rail_window_init(&window, 0);
    while (left > 0) {
        random = random * 1664525 + 1013904223;
        const uint32_t number = window.expected + (random >> 8) % (RAIL_WINDOW / 4);
        if (number < FRAMES) {
            ck_assert_int_eq(rail_window_take(&window, number),
                             come[number] ? RAIL_AGAIN : RAIL_NEW);
            left -= !come[number];
            come[number] = true;
        }
    }
    ck_assert_uint_eq(window.expected, FRAMES);
    rail_window_fini(&window);
}
END_TEST

UNIT_MAIN("rail-window")
