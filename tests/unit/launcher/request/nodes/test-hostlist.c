#include <config.h>

#include <launcher/request/nodes/hostlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static char reason[256];

/* An exact copy, so that a sanitizer sees a read behind it. */
static int expand(struct hostlist *list, const char *text)
{
    char *copy = strdup(text);
    reason[0] = '\0';
    int status = hostlist_expand(list, copy, reason, sizeof(reason));
    free(copy);
    return status;
}

static void assert_expands(const char *text, const char *names)
{
    struct hostlist list;
    char joined[2048] = "";
    ck_assert_msg(expand(&list, text) == ORTE_SUCCESS, "%s: %s", text, reason);
    for (uint32_t i = 0; i < list.count; i++) {
        snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s", i ? " " : "",
                 list.names[i]);
    }
    ck_assert_msg(strcmp(joined, names) == 0, "%s: %s", text, joined);
    hostlist_fini(&list);
    ck_assert_ptr_null(list.names);
}

START_TEST(test_lists_are_expanded)
{
    assert_expands("n1", "n1");
    assert_expands("n[1-3,7],m02", "n1 n2 n3 n7 m02");
    assert_expands("n[08-11]", "n08 n09 n10 n11");
    assert_expands("n[8-11]", "n8 n9 n10 n11");
    assert_expands("n[3,1-2,1]", "n3 n1 n2 n1");
    assert_expands("a-b.c_d-[0]e,f", "a-b.c_d-0e f");
    assert_expands("r[1-2]n[01-02]", "r1n01 r1n02 r2n01 r2n02");
    assert_expands("r[1-2]n[1,3]x,y[5]", "r1n1x r1n3x r2n1x r2n3x y5");
    assert_expands("[1-2]", "1 2");
    assert_expands("n[999999999999998-999999999999999]", "n999999999999998 n999999999999999");
}
END_TEST

static void assert_refused(const char *text, const char *place)
{
    struct hostlist list = {NULL, 4711};
    ck_assert_msg(expand(&list, text) == ORTE_ERR_BAD_PARAM, "%s", text);
    ck_assert_uint_eq(list.count, 4711);
    ck_assert_msg(strncmp(reason, place, strlen(place)) == 0, "%s: %s", text, reason);
}

START_TEST(test_what_is_no_list_is_refused)
{
    assert_refused("", "character 1: a name is needed");
    assert_refused(",", "character 1: a name");
    assert_refused("a,", "character 3: a name");
    assert_refused("a,,b", "character 3: a name");
    assert_refused("n[", "character 3: there is no ']'");
    assert_refused("n[1", "character 3: there is no ']'");
    assert_refused("n[]", "character 3: a number");
    assert_refused("n[1-]", "character 5: a number");
    assert_refused("n[-1]", "character 3: a number");
    assert_refused("n[1,]", "character 5: a number");
    assert_refused("n[,1]", "character 3: a number");
    assert_refused("n[1-2-3]", "character 6: ',' or ']'");
    assert_refused("n[1;2]", "character 4: ',' or ']'");
    assert_refused("n[3-1]", "character 6: the range ends");
    assert_refused("n[1]]", "character 5: this cannot");
    assert_refused("n]", "character 2: this cannot");
    assert_refused("n[[1]]", "character 3: a number");
    assert_refused("n[1-2]m[", "character 9: there is no ']'");
    assert_refused("-n", "character 1: a name begins with '-'");
    assert_refused("a,-n", "character 3: a name begins with '-'");
    assert_refused("a b", "character 2: this cannot");
    assert_refused("a\nb", "character 2: this cannot");
    assert_refused("a'b", "character 2: this cannot");
    assert_refused("a\xff", "character 2: this cannot");
    assert_refused("n[1000000000000000]", "character 18: a number of 1 to 15 digits");
    assert_refused("n[18446744073709551617]", "character 18: a number of 1 to 15 digits");
}
END_TEST

START_TEST(test_lists_without_end_are_refused)
{
    struct hostlist list;
    ck_assert_int_eq(expand(&list, "n[1-65536]"), ORTE_SUCCESS);
    ck_assert_uint_eq(list.count, HOSTLIST_MAX);
    ck_assert_str_eq(list.names[65535], "n65536");
    hostlist_fini(&list);
    ck_assert_int_eq(expand(&list, "n[1-65536],m"), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_str_eq(reason, "character 13: more than 65536 nodes");
    ck_assert_int_eq(expand(&list, "n[0-999999999999999]"), ORTE_ERR_VALUE_OUT_OF_BOUNDS);
    ck_assert_int_eq(expand(&list, "a[0-99999]b[0-99999]c[0-99999]d[0-99999]"),
                     ORTE_ERR_VALUE_OUT_OF_BOUNDS);
}
END_TEST

START_TEST(test_long_names_are_refused)
{
    struct hostlist list;
    char text[4 * HOSTLIST_NAME_MAX];
    memset(text, 'n', sizeof(text));
    text[HOSTLIST_NAME_MAX] = '\0';
    ck_assert_int_eq(expand(&list, text), ORTE_SUCCESS);
    ck_assert_uint_eq(strlen(list.names[0]), HOSTLIST_NAME_MAX);
    hostlist_fini(&list);
    strcpy(text + HOSTLIST_NAME_MAX, "n");
    ck_assert_int_eq(expand(&list, text), ORTE_ERR_BAD_PARAM);
    strcpy(text + HOSTLIST_NAME_MAX - 1, "[1]");
    ck_assert_int_eq(expand(&list, text), ORTE_SUCCESS);
    hostlist_fini(&list);
    strcpy(text + HOSTLIST_NAME_MAX - 1, "[9-10]");
    ck_assert_int_eq(expand(&list, text), ORTE_ERR_BAD_PARAM);
    strcpy(text + HOSTLIST_NAME_MAX, "[1]");
    ck_assert_int_eq(expand(&list, text), ORTE_ERR_BAD_PARAM);
    /* as many brackets as a name has room for */
    size_t used = 0;
    for (int i = 0; i < HOSTLIST_NAME_MAX; i++) {
        used += (size_t) sprintf(text + used, "[1]");
    }
    ck_assert_int_eq(expand(&list, text), ORTE_SUCCESS);
    hostlist_fini(&list);
    strcpy(text + used, "[1]");
    ck_assert_int_eq(expand(&list, text), ORTE_ERR_BAD_PARAM);
    ck_assert_ptr_nonnull(strstr(reason, "253 characters"));
}
END_TEST

START_TEST(test_noise_is_survived)
{
    static const char alphabet[] = "n1[0-2],9]x([";
    struct hostlist list;
    char text[40];
    srandom(3);
    for (int round = 0; round < 200000; round++) {
        size_t size = (size_t) random() % (sizeof(text) - 1);
        for (size_t i = 0; i < size; i++) {
            text[i] = random() % 50 ? alphabet[(size_t) random() % (sizeof(alphabet) - 1)]
                                    : (char) random();
        }
        text[size] = '\0';
        if (expand(&list, text) == ORTE_SUCCESS) {
            ck_assert_uint_gt(list.count, 0);
            char *print = hostlist_print((const char *const *) list.names, list.count);
            ck_assert_ptr_nonnull(print);
            struct hostlist again;
            ck_assert_msg(expand(&again, print) == ORTE_SUCCESS, "%s: %s: %s", text, print, reason);
            ck_assert_uint_eq(again.count, list.count);
            for (uint32_t i = 0; i < list.count; i++) {
                ck_assert_str_eq(again.names[i], list.names[i]);
            }
            hostlist_fini(&again);
            hostlist_fini(&list);
            free(print);
        }
    }
}
END_TEST

static void assert_prints(const char *text, const char *expected)
{
    struct hostlist list;
    ck_assert_int_eq(expand(&list, text), ORTE_SUCCESS);
    char *print = hostlist_print((const char *const *) list.names, list.count);
    ck_assert_str_eq(print, expected);
    free(print);
    hostlist_fini(&list);
}

START_TEST(test_lists_are_printed_short)
{
    assert_prints("n1", "n1");
    assert_prints("n1,n2,n3,n7,m02", "n[1-3,7],m02");
    assert_prints("n08,n09,n10,n11", "n[08-11]");
    assert_prints("n8,n9,n10,n11", "n[8-11]");
    assert_prints("n08,n9,n10", "n[08,9-10]");
    assert_prints("n2,n1", "n[2,1]");
    assert_prints("a,b,a", "a,b,a");
    assert_prints("n,n1,n2,m1", "n,n[1-2],m1");
    assert_prints("r1n1x,r1n2x", "r1n1x,r1n2x");
    assert_prints("1,2,3", "[1-3]");
    assert_prints("n1234567890123456,n1234567890123457", "n1[234567890123456-234567890123457]");
    char *none = hostlist_print(NULL, 0);
    ck_assert_str_eq(none, "");
    free(none);
}
END_TEST

START_TEST(test_a_thousand_nodes_are_short)
{
    static char names[1000][8];
    const char *pointers[1000];
    for (int i = 0; i < 1000; i++) {
        snprintf(names[i], sizeof(names[i]), "n%d", i);
        pointers[i] = names[i];
    }
    char *print = hostlist_print(pointers, 1000);
    ck_assert_str_eq(print, "n[0-999]");
    free(print);
}
END_TEST

static int numbers(const char *text, uint32_t *out, uint32_t count)
{
    char *copy = strdup(text);
    int status = hostlist_numbers(out, count, 1000, copy, reason, sizeof(reason));
    free(copy);
    return status;
}

START_TEST(test_numbers_are_expanded)
{
    uint32_t out[4];
    ck_assert_int_eq(numbers("4(x2),3", out, 3), ORTE_SUCCESS);
    ck_assert(out[0] == 4 && out[1] == 4 && out[2] == 3);
    ck_assert_int_eq(numbers("1", out, 1), ORTE_SUCCESS);
    ck_assert_uint_eq(out[0], 1);
    ck_assert_int_eq(numbers("1,2(x1),1000(x2)", out, 4), ORTE_SUCCESS);
    ck_assert(out[0] == 1 && out[1] == 2 && out[2] == 1000 && out[3] == 1000);
}
END_TEST

START_TEST(test_what_is_no_number_for_each_node_is_refused)
{
    static const char *const texts[] = {"",
                                        "1",
                                        "1,2,3",
                                        "1(x3)",
                                        "1(x1)",
                                        "1(x)",
                                        "1(x2",
                                        "1(2)",
                                        "1x2",
                                        "0(x2)",
                                        "1001(x2)",
                                        "1(x0),2,3",
                                        "1,,2",
                                        "1,2,",
                                        "-1,2",
                                        "1 ,2",
                                        "1(x2)3",
                                        "4294967297(x2)",
                                        "1(x2)(x2)",
                                        "1(x99999999999999999999)",
                                        "x",
                                        ",1,2",
                                        "1(x18446744073709551618)"};
    uint32_t out[2];
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        ck_assert_msg(numbers(texts[i], out, 2) == ORTE_ERR_BAD_PARAM, "%s", texts[i]);
        ck_assert_ptr_nonnull(strstr(reason, "character "));
    }
    ck_assert_int_eq(numbers("1(x3)", out, 2), ORTE_ERR_BAD_PARAM);
    ck_assert_str_eq(reason, "character 6: numbers for 2 nodes are needed");
}
END_TEST

UNIT_MAIN("hostlist")
