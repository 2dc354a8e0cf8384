#include <config.h>

#include <launcher/front/progress.h>
#include <stdio.h>
#include <string.h>
#include <tests/lib/unit.h>

static char text[512];

static const char *print(size_t columns, uint32_t total, uint32_t waiting, const char *nodes)
{
    size_t size = progress_print(text, sizeof(text), columns, total, waiting, nodes);
    ck_assert_uint_eq(size, strlen(text));
    return text;
}

START_TEST(the_line_counts_and_names)
{
    ck_assert_str_eq(print(80, 16, 2, "nu[3,9]"),
                     "keelrun: 14 of 16 nodes have called home; waiting for nu[3,9]");
    ck_assert_str_eq(print(80, 2, 1, "a"), "keelrun: 1 of 2 nodes has called home; waiting for a");
    ck_assert_str_eq(print(80, 1, 1, "a"), "keelrun: 0 of 1 nodes have called home; waiting for a");
}
END_TEST

START_TEST(the_last_column_stays_free)
{
    char names[2000];
    memset(names, 'n', sizeof(names) - 1);
    names[sizeof(names) - 1] = '\0';
    for (size_t columns = 1; columns < 600; columns++) {
        size_t size = strlen(print(columns, 300, 200, names));
        ck_assert_uint_eq(size, columns < sizeof(text) ? columns - 1 : sizeof(text) - 1);
        ck_assert(size <= 3 || strcmp(text + size - 3, "...") == 0);
    }
    ck_assert_uint_eq(progress_print(text, sizeof(text), 0, 3, 2, "a"), 0);
}
END_TEST

START_TEST(names_reach_the_terminal_as_text)
{
    ck_assert_ptr_nonnull(strstr(print(80, 3, 1, "a\x1b[2J\n\xff"), "waiting for a?[2J??"));
}
END_TEST

UNIT_MAIN("progress")
