#include <tests/lib/unit.h>

#include <keel/types.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

START_TEST(constants)
{
    ck_assert_uint_eq(ORTE_NAME_WILDCARD->jobid, UINT32_MAX - 1);
    ck_assert_uint_eq(ORTE_NAME_WILDCARD->vpid, UINT32_MAX - 1);
    ck_assert_uint_eq(ORTE_NAME_INVALID->jobid, UINT32_MAX);
    ck_assert_uint_eq(ORTE_NAME_INVALID->vpid, UINT32_MAX);
}
END_TEST

START_TEST(compares_fields)
{
    orte_process_name_t a = {1, 9}, b = {2, 3}, any = {ORTE_JOBID_WILDCARD, ORTE_VPID_WILDCARD};
    ck_assert_int_eq(orte_util_compare_name_fields(ORTE_NS_CMP_ALL, &a, &a), OPAL_EQUAL);
    ck_assert_int_eq(orte_util_compare_name_fields(ORTE_NS_CMP_ALL, &a, &b), OPAL_VALUE2_GREATER);
    ck_assert_int_eq(orte_util_compare_name_fields(ORTE_NS_CMP_ALL, &b, &a), OPAL_VALUE1_GREATER);
    ck_assert_int_eq(orte_util_compare_name_fields(ORTE_NS_CMP_VPID, &a, &b), OPAL_VALUE1_GREATER);
    ck_assert_int_eq(orte_util_compare_name_fields(ORTE_NS_CMP_JOBID, &a, &b), OPAL_VALUE2_GREATER);
    ck_assert_int_eq(orte_util_compare_name_fields(0, &a, &b), OPAL_EQUAL);
    /* literal: a wildcard is a large number */
    ck_assert_int_eq(orte_util_compare_name_fields(ORTE_NS_CMP_ALL, &any, &a), OPAL_VALUE1_GREATER);
    ck_assert_int_eq(orte_util_compare_name_fields(ORTE_NS_CMP_ALL, &any, ORTE_NAME_WILDCARD),
                     OPAL_EQUAL);
}
END_TEST

START_TEST(compares_null)
{
    orte_process_name_t a = {0, 0};
    ck_assert_int_eq(orte_util_compare_name_fields(ORTE_NS_CMP_ALL, NULL, NULL), OPAL_EQUAL);
    ck_assert_int_eq(orte_util_compare_name_fields(ORTE_NS_CMP_ALL, NULL, &a), OPAL_VALUE2_GREATER);
    ck_assert_int_eq(orte_util_compare_name_fields(ORTE_NS_CMP_ALL, &a, NULL), OPAL_VALUE1_GREATER);
}
END_TEST

struct text_case {
    orte_process_name_t name;
    const char *text;
};

static const struct text_case texts[] = {
    {{0, 0}, "0.0"},
    {{0x00010002, 3}, "65538.3"},
    {{ORTE_JOBID_WILDCARD, 7}, "*.7"},
    {{7, ORTE_VPID_WILDCARD}, "7.*"},
    {{ORTE_JOBID_INVALID, ORTE_VPID_INVALID}, "$.$"},
    {{UINT32_MAX - 2, UINT32_MAX - 2}, "4294967293.4294967293"},
};

START_TEST(to_text_and_back)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char *text = NULL;
        orte_process_name_t name = {77, 77};
        ck_assert_int_eq(orte_util_convert_process_name_to_string(&text, &texts[i].name), 0);
        ck_assert_str_eq(text, texts[i].text);
        ck_assert_int_eq(orte_util_convert_string_to_process_name(&name, text), ORTE_SUCCESS);
        ck_assert_int_eq(orte_util_compare_name_fields(ORTE_NS_CMP_ALL, &name, &texts[i].name), 0);
        free(text);
    }
    char *text;
    ck_assert_int_eq(orte_util_convert_process_name_to_string(NULL, &texts[0].name),
                     ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(orte_util_convert_process_name_to_string(&text, NULL), ORTE_ERR_BAD_PARAM);
}
END_TEST

START_TEST(refuses_malformed_text)
{
    static const char *const malformed[] = {
        "",
        ".",
        "1",
        "1.",
        ".1",
        "1.2.3",
        "1.2 ",
        " 1.2",
        "-1.2",
        "+1.2",
        "1.-2",
        "a.b",
        "4294967296.0",
        "0.4294967296",
        "*",
        "**.1",
        "*1.1",
        "1.*2",
        "$.",
        "0x1.1",
        "1,2",
        "1.2\n",
        "99999999999999999999999.1",
        "1..2",
    };
    orte_process_name_t name = {77, 78};
    for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
        ck_assert_msg(orte_util_convert_string_to_process_name(&name, malformed[i]) ==
                          ORTE_ERR_BAD_PARAM,
                      "accepted \"%s\"", malformed[i]);
    }
    ck_assert_int_eq(orte_util_convert_string_to_process_name(&name, NULL), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(orte_util_convert_string_to_process_name(NULL, "1.2"), ORTE_ERR_BAD_PARAM);
    ck_assert_uint_eq(name.jobid, 77); /* no effect on failure */
    ck_assert_uint_eq(name.vpid, 78);
}
END_TEST

START_TEST(prints)
{
    orte_process_name_t name = {0x00010002, 3}, largest = {UINT32_MAX - 2, UINT32_MAX - 2};
    ck_assert_str_eq(ORTE_NAME_PRINT(&name), "[[1,2],3]");
    ck_assert_str_eq(ORTE_NAME_PRINT(&largest), "[[65535,65533],4294967293]");
    ck_assert_str_eq(ORTE_NAME_PRINT(ORTE_NAME_WILDCARD), "[[WILDCARD],WILDCARD]");
    ck_assert_str_eq(ORTE_NAME_PRINT(ORTE_NAME_INVALID), "[[INVALID],INVALID]");
    ck_assert_str_eq(ORTE_NAME_PRINT(NULL), "[NO-NAME]");
}
END_TEST

START_TEST(sixteen_texts_at_once)
{
    const char *kept[16];
    for (uint32_t i = 0; i < 16; i++) {
        kept[i] = ORTE_NAME_PRINT(&((orte_process_name_t){0, i}));
    }
    char expected[16];
    for (int i = 0; i < 16; i++) {
        snprintf(expected, sizeof(expected), "[[0,0],%d]", i);
        ck_assert_str_eq(kept[i], expected);
    }
    ck_assert_ptr_eq(ORTE_NAME_PRINT(ORTE_NAME_INVALID), kept[0]);
}
END_TEST

static void *print_many(void *arg)
{
    for (uint32_t i = 0; i < 100; i++) {
        ORTE_NAME_PRINT(&((orte_process_name_t){1, i}));
    }
    return arg;
}

START_TEST(threads_do_not_share_texts)
{
    pthread_t thread;
    const char *mine = ORTE_NAME_PRINT(&((orte_process_name_t){0, 5}));
    ck_assert_int_eq(pthread_create(&thread, NULL, print_many, NULL), 0);
    pthread_join(thread, NULL);
    ck_assert_str_eq(mine, "[[0,0],5]");
}
END_TEST

UNIT_MAIN("names")
