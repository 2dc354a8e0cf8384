/* The lines of --report. */
#include <config.h>

#include <launcher/head/report.h>
#include <tests/lib/unit.h>

static struct report_lines lines;

static void assert_lines(const char *expected)
{
    const char *text = report_take(&lines);
    ck_assert_ptr_nonnull(text);
    ck_assert_str_eq(text, expected);
}

START_TEST(nothing_but_the_event)
{
    ck_assert(report_init(&lines));
    report_begin(&lines, "job", UINT64_C(1764174000000007));
    report_end(&lines);
    assert_lines("{\"event\": \"job\", \"time\": 1764174000.000007}");
    report_fini(&lines);
}
END_TEST

START_TEST(members)
{
    ck_assert(report_init(&lines));
    report_begin(&lines, "end", 0);
    report_text(&lines, "node", "a\"\\\n\xff");
    report_number(&lines, "most", UINT64_MAX);
    report_seconds(&lines, "after", 1500000);
    report_end(&lines);
    assert_lines("{\"event\": \"end\", \"time\": 0.000000, "
                 "\"node\": \"a\\\"\\\\\\u000a\\ufffd\", \"most\": 18446744073709551615, "
                 "\"after\": 1.500000}");
    report_fini(&lines);
}
END_TEST

START_TEST(lists_of_objects)
{
    ck_assert(report_init(&lines));
    report_begin(&lines, "map", 1);
    report_open(&lines, "none", '[');
    report_close(&lines, '[');
    report_open(&lines, "nodes", '[');
    for (unsigned i = 0; i < 2; i++) {
        report_open(&lines, NULL, '{');
        report_number(&lines, "ranks", i);
        report_close(&lines, '{');
    }
    report_text(&lines, NULL, "x");
    report_close(&lines, '[');
    report_number(&lines, "ranks", 1);
    report_end(&lines);
    assert_lines("{\"event\": \"map\", \"time\": 0.000001, \"none\": [], "
                 "\"nodes\": [{\"ranks\": 0}, {\"ranks\": 1}, \"x\"], \"ranks\": 1}");
    report_fini(&lines);
}
END_TEST

START_TEST(lines_are_taken_once)
{
    ck_assert(report_init(&lines));
    assert_lines("");
    for (unsigned i = 0; i < 2; i++) {
        report_begin(&lines, "first", 1);
        report_end(&lines);
        report_begin(&lines, "second", 2);
        report_number(&lines, "number", i);
        report_end(&lines);
        assert_lines(i ? "{\"event\": \"first\", \"time\": 0.000001}\n"
                         "{\"event\": \"second\", \"time\": 0.000002, \"number\": 1}"
                       : "{\"event\": \"first\", \"time\": 0.000001}\n"
                         "{\"event\": \"second\", \"time\": 0.000002, \"number\": 0}");
    }
    report_begin(&lines, "short", 3);
    report_end(&lines);
    assert_lines("{\"event\": \"short\", \"time\": 0.000003}");
    assert_lines("");
    report_fini(&lines);
}
END_TEST

UNIT_MAIN("launcher: the lines of --report")
