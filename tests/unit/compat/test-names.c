#include <orte/util/name_fns.h>
#include <tests/lib/unit.h>

START_TEST(parts_are_printed)
{
    ck_assert_str_eq(ORTE_JOBID_PRINT(0x50001), "[5,1]");
    ck_assert_str_eq(ORTE_JOBID_PRINT(UINT32_MAX - 2), "[65535,65533]");
    ck_assert_str_eq(ORTE_JOBID_PRINT(ORTE_JOBID_WILDCARD), "[WILDCARD]");
    ck_assert_str_eq(ORTE_JOBID_PRINT(ORTE_JOBID_INVALID), "[INVALID]");
    ck_assert_str_eq(ORTE_VPID_PRINT(0), "0");
    ck_assert_str_eq(ORTE_VPID_PRINT(UINT32_MAX - 2), "4294967293");
    ck_assert_str_eq(ORTE_VPID_PRINT(ORTE_VPID_WILDCARD), "WILDCARD");
    ck_assert_str_eq(ORTE_VPID_PRINT(ORTE_VPID_INVALID), "INVALID");
    ck_assert_str_eq(ORTE_JOB_FAMILY_PRINT(0x50001), "5");
    ck_assert_str_eq(ORTE_JOB_FAMILY_PRINT(ORTE_JOBID_WILDCARD), "WILDCARD");
    ck_assert_str_eq(ORTE_LOCAL_JOBID_PRINT(0x50001), "1");
    ck_assert_str_eq(ORTE_LOCAL_JOBID_PRINT(ORTE_JOBID_INVALID), "INVALID");
}
END_TEST

START_TEST(sixteen_texts_last)
{
    char *texts[16];
    for (uint32_t i = 0; i < 16; i++) {
        texts[i] = i % 2 ? ORTE_VPID_PRINT(i) : ORTE_JOBID_PRINT(i);
    }
    ck_assert_str_eq(texts[0], "[0,0]");
    ck_assert_str_eq(texts[1], "1");
    ck_assert_str_eq(texts[14], "[0,14]");
    texts[15][0] = 'x'; /* they may be written to */
}
END_TEST

START_TEST(numbers_as_text)
{
    char *text;
    uint32_t number;
    ck_assert_int_eq(orte_util_convert_jobid_to_string(&text, 0x50001), ORTE_SUCCESS);
    ck_assert_str_eq(text, "327681");
    ck_assert_int_eq(orte_util_convert_string_to_jobid(&number, text), ORTE_SUCCESS);
    ck_assert_uint_eq(number, 0x50001);
    free(text);
    ck_assert_int_eq(orte_util_convert_vpid_to_string(&text, ORTE_VPID_WILDCARD), ORTE_SUCCESS);
    ck_assert_str_eq(text, "*");
    free(text);
    ck_assert_int_eq(orte_util_convert_string_to_vpid(&number, "$"), ORTE_SUCCESS);
    ck_assert_uint_eq(number, ORTE_VPID_INVALID);
    static const char *const wrong[] = {
        "",   "x",  "-1",         "1.2",
        " 1", "1 ", "4294967296", "111111111111111111111111111111111111111111"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        number = 7;
        ck_assert_int_eq(orte_util_convert_string_to_jobid(&number, wrong[i]), ORTE_ERR_BAD_PARAM);
        ck_assert_uint_eq(number, 7);
    }
    ck_assert_int_eq(orte_util_convert_string_to_vpid(NULL, "1"), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(orte_util_convert_vpid_to_string(NULL, 1), ORTE_ERR_BAD_PARAM);
}
END_TEST

START_TEST(names_are_made)
{
    orte_process_name_t *name = NULL, hnp;
    ck_assert_int_eq(orte_util_create_process_name(&name, 0x50001, 3), ORTE_SUCCESS);
    ck_assert_str_eq(ORTE_NAME_PRINT(name), "[[5,1],3]");
    ORTE_HNP_NAME_FROM_JOB(&hnp, name->jobid);
    ck_assert_str_eq(ORTE_NAME_PRINT(&hnp), "[[5,0],0]");
    free(name);
    ck_assert_int_eq(orte_util_create_process_name(NULL, 1, 1), ORTE_ERR_BAD_PARAM);
}
END_TEST

UNIT_MAIN("compat/names")
