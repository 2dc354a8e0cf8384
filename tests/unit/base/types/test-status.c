#include <tests/lib/unit.h>

#include <keel/types.h>
#include <string.h>

START_TEST(every_code_has_its_own_text)
{
    const char *unknown = opal_strerror(1);
    for (int a = ORTE_ERR_COMM_DISABLED; a <= OPAL_SUCCESS; a++) {
        bool defined = a >= OPAL_ERR_DATA_OVERWRITE_ATTEMPT || a <= ORTE_ERR_BASE;
        const char *text = opal_strerror(a);
        ck_assert_msg(text && *text, "code %d has no text", a);
        ck_assert_msg((strcmp(text, unknown) != 0) == defined, "code %d: %s", a, text);
        for (int b = a + 1; defined && b <= OPAL_SUCCESS; b++) {
            ck_assert_msg(strcmp(text, opal_strerror(b)) != 0, "codes %d and %d: %s", a, b, text);
        }
    }
}
END_TEST

START_TEST(any_number_has_a_text)
{
    static const int odd[] = {1, 2, INT32_MAX, INT32_MIN, -33, -99, -133, -1000};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        ck_assert_str_eq(opal_strerror(odd[i]), "unknown status code");
    }
}
END_TEST

START_TEST(some_texts)
{
    ck_assert_str_eq(opal_strerror(OPAL_SUCCESS), "success");
    ck_assert_str_eq(opal_strerror(ORTE_ERR_TIMEOUT), "timed out");
    ck_assert_str_eq(opal_strerror(ORTE_ERR_ADDRESSEE_UNKNOWN), "addressee unknown");
    ck_assert_str_eq(opal_strerror(ORTE_ERR_COMM_DISABLED), "communication is not enabled");
}
END_TEST

UNIT_MAIN("status")
