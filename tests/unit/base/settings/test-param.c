#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <base/settings/param_file.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tests/lib/unit.h>
#include <unistd.h>

static char warnings[8192];
static unsigned warning_count;

static void remember(void *arg, enum log_level level, const char *line)
{
    (void) arg;
    (void) level;
    size_t used = strlen(warnings);
    snprintf(warnings + used, sizeof(warnings) - used, "%s\n", line);
    warning_count++;
}

static void capture_warnings(void)
{
    log_set_sink(remember, NULL);
}

static char *write_file(const char *text, size_t size)
{
    static char path[64];
    snprintf(path, sizeof(path), "/tmp/keel-test-param-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, size), (ssize_t) size);
    close(fd);
    return strdup(path);
}

static char *write_text(const char *text)
{
    return write_file(text, strlen(text));
}

static const char *const colours[] = {"red", "green", "blue", NULL};

#define NUMBER(name) PARAM_INT(name, "7", -10, 100, "", "A number.")

START_TEST(default_holds)
{
    static struct param number = NUMBER("test_number");
    static struct param size = PARAM_SIZE("test_size", "64k", 0, 0, "");
    static struct param flag = PARAM_BOOL("test_flag", "yes", "");
    static struct param text = PARAM_STRING("test_text", "", "");
    static struct param colour = PARAM_ENUM("test_colour", "green", colours, "");
    param_set_files(NULL, NULL);
    ck_assert_int_eq(param_int(&number), 7);
    ck_assert_int_eq(param_int(&size), 65536);
    ck_assert(param_bool(&flag));
    ck_assert_str_eq(param_string(&text), "");
    ck_assert_int_eq(param_int(&colour), 1);
    ck_assert_str_eq(param_string(&colour), "green");
}
END_TEST

START_TEST(sources_have_their_order)
{
    static struct param a = NUMBER("test_a"), b = NUMBER("test_b"), c = NUMBER("test_c"),
                        d = NUMBER("test_d"), e = NUMBER("test_e");
    char *user = write_text("test_a = 1\ntest_b = 1\ntest_c = 1\n");
    char *system = write_text("test_a = 2\ntest_b = 2\ntest_c = 2\ntest_d = 2\n");
    param_set_files(user, system);
    setenv("KEEL_MCA_test_a", "3", 1);
    setenv("KEEL_MCA_test_b", "3", 1);
    ck_assert_int_eq(param_override("test_a", "5"), ORTE_SUCCESS);
    ck_assert_int_eq(param_override("test_a", "4"), ORTE_SUCCESS);
    ck_assert(param_is_set("test_a") && param_is_set("test_b") && param_is_set("test_d"));
    ck_assert(!param_is_set("test_e"));
    ck_assert_int_eq(param_int(&a), 4);
    ck_assert_int_eq(param_int(&b), 3);
    ck_assert_int_eq(param_int(&c), 1);
    ck_assert_int_eq(param_int(&d), 2);
    ck_assert_int_eq(param_int(&e), 7);
    unlink(user);
    unlink(system);
    free(user);
    free(system);
}
END_TEST

START_TEST(user_file_is_found)
{
    static struct param number = NUMBER("test_number");
    char folder[] = "/tmp/keel-test-param-XXXXXX", path[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/keel", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    strcat(path, "/keel.conf");
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("test_number = 42\n", file);
    fclose(file);
    setenv("XDG_CONFIG_HOME", folder, 1);
    ck_assert_int_eq(param_int(&number), 42);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(folder);
}
END_TEST

/* A process that begins anew reads the environment and the files again, and complains again. */
START_TEST(what_was_read_is_forgotten)
{
    static struct param number = NUMBER("test_number"), other = NUMBER("test_other"),
                        text = PARAM_STRING("test_text", "none", "");
    char folder[] = "/tmp/keel-test-param-XXXXXX", path[128];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/keel", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    strcat(path, "/keel.conf");
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("KEEL_MCA_test_number", "1", 1);
    setenv("KEEL_MCA_test_other", "x", 1);
    capture_warnings();
    ck_assert_int_eq(param_int(&number), 1);
    ck_assert_int_eq(param_int(&other), 7);
    ck_assert_uint_eq(warning_count, 1);
    ck_assert_str_eq(param_string(&text), "none");
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs("test_text = words\n", file);
    fclose(file);
    setenv("KEEL_MCA_test_number", "2", 1);
    setenv("KEEL_MCA_test_other", "3", 1);
    ck_assert_int_eq(param_int(&number), 1);
    param_forget();
    ck_assert_int_eq(param_int(&number), 2);
    ck_assert_int_eq(param_int(&other), 3);
    ck_assert_str_eq(param_string(&text), "words");
    unlink(path);
    param_forget();
    ck_assert_str_eq(param_string(&text), "none");
    ck_assert_int_eq(param_override("test_other", "4"), ORTE_SUCCESS);
    ck_assert_int_eq(param_int(&other), 4);
    param_forget();
    ck_assert_int_eq(param_int(&other), 4);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(folder);
}
END_TEST

START_TEST(bad_value_is_reported_once)
{
    static struct param number = NUMBER("test_number"), range = NUMBER("test_range");
    static struct param colour = PARAM_ENUM("test_colour", "blue", colours, "");
    char *user = write_text("# here\n\ntest_number = lots\n");
    param_set_files(user, NULL);
    setenv("KEEL_MCA_test_range", "101", 1);
    setenv("KEEL_MCA_test_colour", "mauve", 1);
    capture_warnings();
    ck_assert_int_eq(param_int(&number), 7);
    ck_assert_int_eq(param_int(&number), 7);
    ck_assert_uint_eq(warning_count, 1);
    char expected[128];
    snprintf(expected, sizeof(expected),
             "%s:3: test_number = lots: a whole number from -10 to 100 is wanted; using \"7\"",
             user);
    ck_assert_ptr_nonnull(strstr(warnings, expected));
    ck_assert_int_eq(param_int(&range), 7);
    ck_assert_ptr_nonnull(strstr(
        warnings, "environment: test_range = 101: a whole number from -10 to 100 is wanted"));
    ck_assert_int_eq(param_int(&colour), 2);
    ck_assert_ptr_nonnull(strstr(warnings, "test_colour = mauve"));
    ck_assert_uint_eq(warning_count, 3);
    unlink(user);
    free(user);
}
END_TEST

START_TEST(demanded_values_have_to_fit)
{
    static struct {
        struct param good, number, size, colour, text;
    } all = {
        .good = NUMBER("test_good"),
        .number = NUMBER("test_number"),
        .size = PARAM_SIZE("test_size", "1k", 0, 0, ""),
        .colour = PARAM_ENUM("test_colour", "blue", colours, ""),
        .text = PARAM_STRING("test_text", "", ""),
    };
    PARAM_ROWS("base", all);
    static const struct {
        const char *prefix, *reason;
    } table[] = {
        {"test_n", "environment: test_number = -11: a whole number from -10 to 100 is wanted"},
        {"test_s", "environment: test_size = 4q: a size from 0 to 9223372036854775807 is wanted"},
        {"test_c", "environment: test_colour = mauve: one of red, green, blue is wanted"},
        {"test_te", "...: at most 4095 characters are wanted"},
        {"test_", "environment: test_number"},
    };
    char reason[512] = "", long_text[5000];
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    param_set_files(NULL, NULL);
    setenv("KEEL_MCA_test_number", "-11", 1);
    setenv("KEEL_MCA_test_size", "4q", 1);
    setenv("KEEL_MCA_test_colour", "mauve", 1);
    setenv("KEEL_MCA_test_text", long_text, 1);
    capture_warnings();
    ck_assert_int_eq(param_demand("test_g", NULL, NULL, reason, sizeof(reason)), ORTE_SUCCESS);
    ck_assert_int_eq(param_demand("nothing", NULL, NULL, reason, sizeof(reason)), ORTE_SUCCESS);
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        ck_assert_int_eq(param_demand(table[i].prefix, NULL, NULL, reason, sizeof(reason)),
                         ORTE_ERR_BAD_PARAM);
        ck_assert_msg(strstr(reason, table[i].reason) != NULL, "%s", reason);
    }
    ck_assert_uint_eq(warning_count, 0); /* whoever demands tells */
    ck_assert_int_eq(param_int(&all.number), 7);
    ck_assert_int_eq(param_demand("test_n", NULL, NULL, reason, sizeof(reason)),
                     ORTE_ERR_BAD_PARAM);
}
END_TEST

START_TEST(a_row_like_another)
{
    static const struct param number = NUMBER(NULL);
    static const struct param colour = PARAM_ENUM(NULL, NULL, colours, "A colour.");
    static struct param mine = PARAM_LIKE("test_mine", "5", &number, NULL);
    static struct param other = PARAM_LIKE("test_other", "6", &number, "Another.");
    static struct param paint = PARAM_LIKE("test_paint", "blue", &colour, NULL);
    param_set_files(NULL, NULL);
    setenv("KEEL_MCA_test_other", "101", 1);
    capture_warnings();
    ck_assert_int_eq(param_int(&mine), 5);
    ck_assert_str_eq(mine.help, "A number.");
    ck_assert_int_eq(param_int(&other), 6);
    ck_assert_ptr_nonnull(strstr(warnings, "a whole number from -10 to 100 is wanted"));
    ck_assert_str_eq(other.help, "Another.");
    ck_assert_int_eq(param_int(&paint), 2);
}
END_TEST

START_TEST(file_lines)
{
    struct param_file file;
    static const char text[] = "# comment\n"
                               "  spaces =  a b  \t\r\n"
                               "\n"
                               "twice=1\n"
                               "no equal sign\n"
                               "comment = x#y # z\n"
                               "bad name = 1\n"
                               " = nothing\n"
                               "zero = a\0b\n"
                               "twice = 2\n"
                               "empty =\n"
                               "last = no newline";
    char *path = write_file(text, sizeof(text) - 1);
    capture_warnings();
    param_file_read(&file, path);
    ck_assert_str_eq(param_file_find(&file, "spaces")->value, "a b");
    ck_assert_str_eq(param_file_find(&file, "twice")->value, "2");
    ck_assert_uint_eq(param_file_find(&file, "twice")->number, 10);
    ck_assert_str_eq(param_file_find(&file, "comment")->value, "x#y");
    ck_assert_str_eq(param_file_find(&file, "empty")->value, "");
    ck_assert_str_eq(param_file_find(&file, "last")->value, "no newline");
    ck_assert_ptr_null(param_file_find(&file, "zero"));
    ck_assert_ptr_null(param_file_find(&file, "absent"));
    ck_assert_uint_eq(file.count, 6);
    ck_assert_uint_eq(warning_count, 4);
    static const int bad[] = {5, 7, 8, 9};
    for (int i = 0; i < 4; i++) {
        char expected[128];
        snprintf(expected, sizeof(expected), "%s:%d: ", path, bad[i]);
        ck_assert_ptr_nonnull(strstr(warnings, expected));
    }
    param_file_fini(&file);
    unlink(path);
    free(path);
}
END_TEST

START_TEST(hostile_files_are_refused)
{
    struct param_file file;
    char path[64] = "/tmp/keel-test-param-XXXXXX";
    capture_warnings();

    param_file_read(&file, "/nonexistent/keel.conf");
    ck_assert_uint_eq(warning_count, 0);
    ck_assert_uint_eq(file.count, 0);

    ck_assert_ptr_nonnull(mkdtemp(path));
    strcat(path, "/fifo");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    param_file_read(&file, path); /* does not wait for a writer */
    ck_assert_uint_eq(warning_count, 1);
    unlink(path);
    *strrchr(path, '/') = '\0';
    param_file_read(&file, path); /* a folder */
    ck_assert_uint_eq(warning_count, 2);
    rmdir(path);

    char *big = write_text("");
    ck_assert_int_eq(truncate(big, PARAM_FILE_MAX + 1), 0);
    param_file_read(&file, big);
    ck_assert_uint_eq(warning_count, 3);
    ck_assert_uint_eq(file.count, 0);

    int fd = open(big, O_WRONLY | O_TRUNC);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(write(fd, "nonsense\n", 9), 9);
    }
    close(fd);
    param_file_read(&file, big);
    ck_assert_uint_eq(warning_count, 3 + 16);
    param_file_fini(&file);
    unlink(big);
    free(big);
}
END_TEST

START_TEST(long_value_is_refused)
{
    static struct param text = PARAM_STRING("test_text", "short", "");
    static char value[PARAM_VALUE_MAX + 2];
    memset(value, 'x', PARAM_VALUE_MAX + 1);
    param_set_files(NULL, NULL);
    capture_warnings();
    ck_assert_int_eq(param_override("test_text", value), ORTE_ERR_BAD_PARAM);
    setenv("KEEL_MCA_test_text", value, 1);
    ck_assert_str_eq(param_string(&text), "short");
    ck_assert_uint_eq(warning_count, 1);
}
END_TEST

START_TEST(override_checks_names_and_time)
{
    static struct param number = NUMBER("test_number");
    param_set_files(NULL, NULL);
    ck_assert_int_eq(param_override("", "1"), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(param_override("a b", "1"), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(param_override("a=b", "1"), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(param_override("9a", "1"), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(param_override("orte_base_help_aggregate", "1"), ORTE_SUCCESS);
    ck_assert_int_eq(param_int(&number), 7);
    ck_assert_int_eq(param_override("test_number", "8"), ORTE_ERR_RESOURCE_BUSY);
    ck_assert_int_eq(param_override("test_number", "7"), ORTE_SUCCESS); /* as it is */
    ck_assert_int_eq(param_int(&number), 7);
}
END_TEST

START_TEST(integers)
{
    int64_t value = 99;
    ck_assert_int_eq(param_parse_int("12", false, 0, 100, &value), ORTE_SUCCESS);
    ck_assert_int_eq(value, 12);
    ck_assert_int_eq(param_parse_int(" -3 ", false, -5, 5, &value), ORTE_SUCCESS);
    ck_assert_int_eq(value, -3);
    ck_assert_int_eq(param_parse_int("4k", true, 0, INT64_MAX, &value), ORTE_SUCCESS);
    ck_assert_int_eq(value, 4096);
    ck_assert_int_eq(param_parse_int("3M", true, 0, INT64_MAX, &value), ORTE_SUCCESS);
    ck_assert_int_eq(value, 3 << 20);
    ck_assert_int_eq(param_parse_int("2 g", true, 0, INT64_MAX, &value), ORTE_SUCCESS);
    ck_assert_int_eq(value, INT64_C(2) << 30);
    value = 99;
    static const char *const bad[] = {"",     " ",   "x",   "1x", "4k",  "--1", "+-1",
                                      "0x10", "1.5", "1 2", "k",  "- 1", "1\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_int_eq(param_parse_int(bad[i], false, INT64_MIN, INT64_MAX, &value),
                         ORTE_ERR_BAD_PARAM);
    }
    ck_assert_int_eq(param_parse_int("4kb", true, 0, 1 << 20, &value), ORTE_ERR_BAD_PARAM);
    static const char *const big[] = {"101", "-1", "9223372036854775808",
                                      "99999999999999999999999"};
    for (size_t i = 0; i < sizeof(big) / sizeof(*big); i++) {
        ck_assert_int_eq(param_parse_int(big[i], false, 0, 100, &value),
                         ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    }
    ck_assert_int_eq(param_parse_int("9223372036854775807g", true, 0, INT64_MAX, &value),
                     ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_int_eq(value, 99);
}
END_TEST

START_TEST(booleans)
{
    static const char *const texts[] = {"1", "TRUE", "yes", "On", "0", "false", "No", "off"};
    bool value;
    for (int i = 0; i < 8; i++) {
        value = i >= 4;
        ck_assert_int_eq(param_parse_bool(texts[i], &value), ORTE_SUCCESS);
        ck_assert_int_eq(value, i < 4);
    }
    ck_assert_int_eq(param_parse_bool("2", &value), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(param_parse_bool("", &value), ORTE_ERR_BAD_PARAM);
}
END_TEST

static struct param shared[32];

static void *read_shared(void *arg)
{
    intptr_t sum = 0;
    (void) arg;
    for (int i = 0; i < 32; i++) {
        sum += (intptr_t) param_int(&shared[i]);
    }
    return (void *) sum;
}

START_TEST(threads_agree)
{
    static char names[32][16];
    pthread_t threads[4];
    for (int i = 0; i < 32; i++) {
        snprintf(names[i], sizeof(names[i]), "test_%d", i);
        shared[i] = (struct param) NUMBER(names[i]);
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, read_shared, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *sum;
        pthread_join(threads[i], &sum);
        ck_assert_int_eq((intptr_t) sum, 32 * 7);
    }
}
END_TEST

static char given[1024];

static void note(void *arg, const char *where, const char *name)
{
    ck_assert_ptr_eq(arg, given);
    if (strncmp(name, "zz_", 3) == 0) {
        size_t used = strlen(given);
        snprintf(given + used, sizeof(given) - used, "%s %s|", where, name);
    }
}

START_TEST(each_given_says_where)
{
    char path[] = "/tmp/keel-test-param-XXXXXX", expected[256];
    int fd = mkstemp(path);
    static const char lines[] = "zz_one = 1\n\nzz_two = 2\n";
    ck_assert_int_eq(write(fd, lines, sizeof(lines) - 1), sizeof(lines) - 1);
    close(fd);
    setenv("KEEL_MCA_zz_three", "3", 1);
    setenv("KEEL_MCA_zz-no-name", "3", 1);
    param_set_files(path, NULL);
    param_each_given(note, given);
    snprintf(expected, sizeof(expected), "environment zz_three|%s:1 zz_one|%s:3 zz_two|", path,
             path);
    ck_assert_str_eq(given, expected);
    unlink(path);
}
END_TEST

UNIT_MAIN("param")
