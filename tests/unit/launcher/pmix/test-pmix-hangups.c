/* Ends of connections: one between two waits. */
#include <config.h>

#include <launcher/pmix/connection/hangups.h>
#include <tests/lib/unit.h>

static struct hangups hangups;

START_TEST(not_at_the_first_look)
{
    ck_assert(!hangups_show(&hangups, 7));
    ck_assert(hangups_show(&hangups, 7));
    ck_assert(!hangups_show(&hangups, 7)); /* another connection by now */
}
END_TEST

START_TEST(one_a_turn)
{
    enum { FIRST = 10, COUNT = 9 };
    bool shown[COUNT] = {false};
    for (int turn = 0; turn <= COUNT; turn++) {
        int ends = 0;
        for (int i = 0; i < COUNT; i++) {
            if (!shown[i] && hangups_show(&hangups, FIRST + i)) {
                shown[i] = true;
                ends++;
            }
        }
        ck_assert_int_eq(ends, turn == 0 ? 0 : 1);
    }
}
END_TEST

/* However the turns are ordered, a wait lies between two ends. */
START_TEST(in_any_order)
{
    ck_assert(!hangups_show(&hangups, 1));
    ck_assert(!hangups_show(&hangups, 2));
    ck_assert(hangups_show(&hangups, 2)); /* the next turn begins with the other one */
    ck_assert(!hangups_show(&hangups, 1));
    ck_assert(!hangups_show(&hangups, 3));
    ck_assert(hangups_show(&hangups, 1));
    ck_assert(!hangups_show(&hangups, 3));
    ck_assert(hangups_show(&hangups, 3));
}
END_TEST

START_TEST(a_closed_descriptor_begins_anew)
{
    ck_assert(!hangups_show(&hangups, HANGUPS_MAX - 1));
    hangups_forget(&hangups, HANGUPS_MAX - 1);
    ck_assert(!hangups_show(&hangups, HANGUPS_MAX - 1));
    ck_assert(hangups_show(&hangups, HANGUPS_MAX - 1));
}
END_TEST

UNIT_MAIN("hangups")
