#include <config.h>

#include <base/settings/param.h>
#include <keel/info.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static const char *const colours[] = {"red", "green", NULL};
static struct {
    struct param size, any, colour, twin;
} table = {
    .size = PARAM_SIZE("zz_size", "64k", 1, 3 << 20, "A size."),
    .any = PARAM_INT("zz_any", "7", 0, 0, "ms", "A number."),
    .colour = PARAM_ENUM("zz_colour", "green", colours, "A colour."),
    .twin = PARAM_LIKE("zz_twin", "1k", &table.size, NULL),
};
PARAM_ROWS("oob", table);
static struct param alone = PARAM_STRING("zz_alone", "", "A text.");
PARAM_ROWS("zz", alone);
static struct param pair[2] = {PARAM_BOOL("aa_one", "yes", "One."),
                               PARAM_BOOL("aa_two", "no", "Two.")};
PARAM_ROWS("oob", pair);

static char seen[8192];

/* NAME LAYER TYPE DEFAULT VALUE SOURCE RANGE UNIT HELP COMPLAINT, with bars between them. */
static void note(void *arg, const struct keel_param *p)
{
    ck_assert_ptr_eq(arg, seen);
    if (strncmp(p->name, "zz_", 3) == 0 || strncmp(p->name, "aa_", 3) == 0) {
        size_t used = strlen(seen);
        snprintf(seen + used, sizeof(seen) - used, "%s|%s|%s|%s|%s|%s|%s|%s|%s|%s\n", p->name,
                 p->layer, p->type, p->default_text, p->value, p->source, p->range, p->unit,
                 p->help, p->complaint ? p->complaint : "");
    }
}

START_TEST(rows_are_listed_by_layer_and_name)
{
    param_set_files(NULL, NULL);
    keel_params_each(note, seen);
    ck_assert_str_eq(seen, "aa_one|oob|bool|yes|yes|default|||One.|\n"
                           "aa_two|oob|bool|no|no|default|||Two.|\n"
                           "zz_any|oob|int|7|7|default||ms|A number.|\n"
                           "zz_colour|oob|enum|green|green|default|red, green||A colour.|\n"
                           "zz_size|oob|size|64k|64k|default|1 to 3m|bytes|A size.|\n"
                           "zz_twin|oob|size|1k|1k|default|1 to 3m|bytes|A size.|\n"
                           "zz_alone|zz|string|||default|||A text.|\n");
}
END_TEST

static void write_file(char path[], const char *text)
{
    int fd = mkstemp(path);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t) strlen(text));
    close(fd);
}

/* The line of a parameter. */
static void is_line(const char *format, const char *path)
{
    char expected[256];
    snprintf(expected, sizeof(expected), format, path);
    ck_assert_msg(strstr(seen, expected) != NULL, "%s is not in\n%s", expected, seen);
}

START_TEST(values_have_their_sources)
{
    char path[] = "/tmp/keel-test-param-list-XXXXXX";
    write_file(path, "# mine\nzz_any = 9\nzz_size = lots\nzz_colour = red\n");
    param_set_files(path, NULL);
    setenv("KEEL_MCA_zz_colour", "RED", 1);
    setenv("KEEL_MCA_aa_one", "0", 1);
    ck_assert_int_eq(param_override("aa_one", "false"), ORTE_SUCCESS);
    keel_params_each(note, seen);
    is_line("aa_one|oob|bool|yes|false|command line|", NULL);
    is_line("zz_any|oob|int|7|9|%s:2|", path);
    is_line("zz_colour|oob|enum|green|RED|environment|", NULL);
    is_line("zz_size|oob|size|64k|64k|default|1 to 3m|bytes|A size.|%s:3: zz_size = lots: ", path);
    unlink(path);
}
END_TEST

START_TEST(a_value_that_was_read_stays_shown)
{
    param_set_files(NULL, NULL);
    setenv("KEEL_MCA_zz_any", "5", 1);
    ck_assert_int_eq(param_int(&table.any), 5);
    setenv("KEEL_MCA_zz_any", "6", 1);
    keel_params_each(note, seen);
    is_line("zz_any|oob|int|7|5|environment|", NULL);
}
END_TEST

START_TEST(to_list_reads_nothing)
{
    param_set_files(NULL, NULL);
    keel_params_each(note, seen);
    ck_assert_int_eq(param_override("zz_any", "8"), ORTE_SUCCESS);
    ck_assert_int_eq(param_int(&table.any), 8);
}
END_TEST

UNIT_MAIN("param_list")
