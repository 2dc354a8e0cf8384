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

/* The parts of text are what is in the array, which ends here. */
static void expect(char **argv, const char *text)
{
    char *joined = opal_argv_join(argv, ' ');
    ck_assert_str_eq(joined, text);
    free(joined);
}

START_TEST(deleted)
{
    int argc = 6;
    char **argv = opal_argv_split("a b c d e f", ' ');
    ck_assert_int_eq(opal_argv_delete(NULL, NULL, 0, 1), OPAL_SUCCESS);
    ck_assert_int_eq(opal_argv_delete(&argc, &argv, 6, 1), OPAL_SUCCESS);
    ck_assert_int_eq(opal_argv_delete(&argc, &argv, 0, 0), OPAL_SUCCESS);
    ck_assert_int_eq(opal_argv_delete(&argc, &argv, -1, 1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_argv_delete(&argc, &argv, 1, -1), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(argc, 6);
    ck_assert_int_eq(opal_argv_delete(&argc, &argv, 0, 1), OPAL_SUCCESS);
    expect(argv, "b c d e f");
    ck_assert_int_eq(opal_argv_delete(&argc, &argv, 1, 2), OPAL_SUCCESS);
    ck_assert_int_eq(argc, 3);
    expect(argv, "b e f");
    ck_assert_int_eq(opal_argv_delete(NULL, &argv, 2, 99), OPAL_SUCCESS);
    expect(argv, "b e");
    ck_assert_int_eq(opal_argv_delete(&argc, &argv, 0, INT_MAX), OPAL_SUCCESS);
    ck_assert_int_eq(argc, 0);
    ck_assert_int_eq(opal_argv_count(argv), 0);
    opal_argv_free(argv);
}
END_TEST

START_TEST(inserted)
{
    char **argv = opal_argv_split("a b", ' '), **more = opal_argv_split("1 2 3", ' ');
    char **none = NULL, *empty[] = {NULL};
    ck_assert_int_eq(opal_argv_insert(NULL, 0, more), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_argv_insert(&none, 0, more), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_argv_insert(&argv, -1, more), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(opal_argv_insert(&argv, 0, NULL), OPAL_SUCCESS);
    ck_assert_int_eq(opal_argv_insert(&argv, 0, empty), OPAL_SUCCESS);
    expect(argv, "a b");
    ck_assert_int_eq(opal_argv_insert(&argv, 1, more), OPAL_SUCCESS);
    expect(argv, "a 1 2 3 b");
    ck_assert_int_eq(opal_argv_insert(&argv, 99, more), OPAL_SUCCESS);
    ck_assert_int_eq(opal_argv_insert(&argv, 0, more), OPAL_SUCCESS);
    expect(argv, "1 2 3 a 1 2 3 b 1 2 3");
    opal_argv_free(more); /* they were copied */
    opal_argv_free(argv);
}
END_TEST

START_TEST(length_in_bytes)
{
    char *argv[] = {(char *) "a", (char *) "", (char *) "four", NULL};
    ck_assert_uint_eq(opal_argv_len(NULL), 0);
    ck_assert_uint_eq(opal_argv_len(argv), 4 * sizeof(char *) + 2 + 1 + 5);
    ck_assert_uint_eq(opal_argv_len(argv + 3), sizeof(char *));
}
END_TEST

UNIT_MAIN("compat/argv")
