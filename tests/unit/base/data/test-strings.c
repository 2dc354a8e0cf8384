#include <config.h>

#include <tests/lib/unit.h>

#include <base/data/strings.h>
#include <stdlib.h>
#include <string.h>

START_TEST(test_an_empty_array)
{
    char **copy = strings_copy(NULL);
    ck_assert_uint_eq(strings_count(NULL), 0);
    ck_assert_ptr_nonnull(copy);
    ck_assert_ptr_null(copy[0]);
    strings_free(copy);
    strings_free(NULL);
}
END_TEST

START_TEST(test_strings_are_added_in_order)
{
    char **strings = NULL;
    ck_assert(strings_add(&strings, strdup("a")));
    ck_assert(strings_add(&strings, strdup("")));
    ck_assert(strings_add(&strings, strdup("a")));
    char **copy = strings_copy(strings);
    strings_free(strings);
    ck_assert_uint_eq(strings_count(copy), 3);
    ck_assert_str_eq(copy[0], "a");
    ck_assert_str_eq(copy[1], "");
    ck_assert_str_eq(copy[2], "a");
    strings_free(copy);
}
END_TEST

START_TEST(test_a_missing_string_changes_nothing)
{
    char **strings = NULL;
    ck_assert(!strings_add(&strings, NULL));
    ck_assert_ptr_null(strings);
    ck_assert(strings_set(&strings, strdup("A=1")));
    ck_assert(!strings_set(&strings, NULL));
    ck_assert_uint_eq(strings_count(strings), 1);
    strings_free(strings);
}
END_TEST

START_TEST(test_a_variable_is_replaced_by_its_whole_name)
{
    char **env = NULL;
    ck_assert(strings_set(&env, strdup("PATH=/bin")));
    ck_assert(strings_set(&env, strdup("PATHS=x")));
    ck_assert(strings_set(&env, strdup("PAT=y")));
    ck_assert(strings_set(&env, strdup("PATH=/usr/bin=")));
    ck_assert_uint_eq(strings_count(env), 3);
    ck_assert_str_eq(env[0], "PATH=/usr/bin=");
    ck_assert_str_eq(env[1], "PATHS=x");
    ck_assert_str_eq(env[2], "PAT=y");
    strings_free(env);
}
END_TEST

UNIT_MAIN("strings")
