#include <base/text/reason.h>
#include <stdio.h>
#include <tests/lib/unit.h>

START_TEST(what_is_no_text_is_no_text_for_a_terminal_either)
{
    static const char *const cases[][2] = {
        {"plain \xc3\xa9 \xe2\x82\xac", "plain \xc3\xa9 \xe2\x82\xac"},
        {"\033[31m\n\177", "?[31m??"},
        {"\xc2\x9b"
         "2J",
         "??2J"},
        {"\xc2\x80\xc2\xa0", "??\xc2\xa0"},
        {"\xc2", "\xc2"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s", cases[i][0]);
        reason_printable(text);
        ck_assert_str_eq(text, cases[i][1]);
    }
}
END_TEST

UNIT_MAIN("reason")
