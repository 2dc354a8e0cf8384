#include <config.h>

#include <tests/lib/unit.h>

#include <base/settings/log.h>
#include <btl/interface/farewell.h>
#include <string.h>
#include <time.h>

static int lines;
static char last_line[256];

static void count_line(void *arg, enum log_level level, const char *line)
{
    (void) arg;
    ck_assert_int_eq(level, LOG_WARN);
    lines++;
    strncpy(last_line, line, sizeof(last_line) - 1);
}

/* Who hears of the end first is gone while others still acknowledge what it sent. */
START_TEST(losses_at_the_end_of_the_job_are_no_warnings)
{
    log_set_sink(count_line, NULL);
    lines = 0;
    farewell_begin();
    farewell_log("one");
    ck_assert_int_eq(lines, 0);
    farewell_met(true);
    farewell_log("two");
    ck_assert_int_eq(lines, 0);
    farewell_over();
    farewell_log("three");
    ck_assert_int_eq(lines, 1);
    farewell_begin();
    for (int i = 0; i < 100; i++) {
        farewell_log("four"); /* not all of them are kept */
    }
    ck_assert_int_eq(lines, 1 + 100 - 64);
    farewell_met(false);
    ck_assert_int_eq(lines, 1 + 100);
    ck_assert_ptr_nonnull(strstr(last_line, "four"));
    farewell_log("five");
    ck_assert_int_eq(lines, 1 + 101);
    log_set_sink(NULL, NULL);
}
END_TEST

START_TEST(a_loss_long_before_the_end_of_the_job_is_a_warning)
{
    const struct timespec a_while = {.tv_sec = 1, .tv_nsec = 1000000};
    log_set_sink(count_line, NULL);
    lines = 0;
    farewell_begin();
    farewell_log("early");
    nanosleep(&a_while, NULL);
    farewell_log("late");
    farewell_met(true);
    farewell_over();
    ck_assert_int_eq(lines, 1);
    ck_assert_ptr_nonnull(strstr(last_line, "early"));
    log_set_sink(NULL, NULL);
}
END_TEST

UNIT_MAIN("farewell")
