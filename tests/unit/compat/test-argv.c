#include <opal/util/argv.h>
#include <tests/lib/unit.h>

START_TEST(nothing_is_an_empty_array)
{
    char *text = opal_argv_join(NULL, ',');
    ck_assert_str_eq(text, "");
    free(text);
    ck_assert_int_eq(opal_argv_count(NULL), 0);
    ck_assert_ptr_null(opal_argv_copy(NULL));
    ck_assert_ptr_null(opal_argv_split(NULL, ','));
    ck_assert_ptr_null(opal_argv_split("", ','));
    ck_assert_ptr_null(opal_argv_split(",,,", ','));
    opal_argv_free(NULL);
}
END_TEST

START_TEST(appended)
{
    int argc = 0;
    char **argv = NULL;
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(opal_argv_append(&argc, &argv, i % 2 ? "odd" : ""), OPAL_SUCCESS);
        ck_assert_int_eq(argc, i + 1);
    }
    ck_assert_int_eq(opal_argv_append_nosize(&argv, "last"), OPAL_SUCCESS);
    ck_assert_int_eq(opal_argv_count(argv), 21);
    ck_assert_str_eq(argv[19], "odd");
    ck_assert_str_eq(argv[20], "last");
    ck_assert_ptr_null(argv[21]);
    opal_argv_free(argv);
}
END_TEST

START_TEST(split_and_joined)
{
    char **argv = opal_argv_split(";one;;two;three;", ';');
    ck_assert_int_eq(opal_argv_count(argv), 3);
    ck_assert_str_eq(argv[0], "one");
    ck_assert_str_eq(argv[2], "three");
    char **copy = opal_argv_copy(argv);
    opal_argv_free(argv);
    char *text = opal_argv_join(copy, '-');
    ck_assert_str_eq(text, "one-two-three");
    free(text);
    opal_argv_free(copy);
}
END_TEST

UNIT_MAIN("compat/argv", nothing_is_an_empty_array, appended, split_and_joined)
