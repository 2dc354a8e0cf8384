/* The lines of --report. */
#include <config.h>

#include <launcher/head/report.h>
#include <stdlib.h>
#include <tests/lib/unit.h>

static void assert_line(struct report_line *line, const char *expected)
{
    char *text = report_end(line);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, expected);
    free(text);
}

START_TEST(nothing_but_the_event)
{
    struct report_line line;
    ck_assert(report_begin(&line, "job", UINT64_C(1764174000000007)));
    assert_line(&line, "{\"event\": \"job\", \"time\": 1764174000.000007}");
}
END_TEST

START_TEST(members)
{
    struct report_line line;
    ck_assert(report_begin(&line, "end", 0));
    report_text(&line, "node", "a\"\\\n\xff");
    report_number(&line, "most", UINT64_MAX);
    report_seconds(&line, "after", 1500000);
    assert_line(&line, "{\"event\": \"end\", \"time\": 0.000000, "
                       "\"node\": \"a\\\"\\\\\\u000a\\ufffd\", \"most\": 18446744073709551615, "
                       "\"after\": 1.500000}");
}
END_TEST

START_TEST(lists_of_objects)
{
    struct report_line line;
    ck_assert(report_begin(&line, "map", 1));
    report_open(&line, "none", '[');
    report_close(&line, '[');
    report_open(&line, "nodes", '[');
    for (unsigned i = 0; i < 2; i++) {
        report_open(&line, NULL, '{');
        report_number(&line, "ranks", i);
        report_close(&line, '{');
    }
    report_text(&line, NULL, "x");
    report_close(&line, '[');
    report_number(&line, "ranks", 1);
    assert_line(&line, "{\"event\": \"map\", \"time\": 0.000001, \"none\": [], "
                       "\"nodes\": [{\"ranks\": 0}, {\"ranks\": 1}, \"x\"], \"ranks\": 1}");
}
END_TEST

UNIT_MAIN("launcher: the lines of --report", nothing_but_the_event, members, lists_of_objects)
