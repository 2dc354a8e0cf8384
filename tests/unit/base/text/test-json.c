/* Text as JSON has it. */
#include <config.h>

#include <base/text/json.h>
#include <stdlib.h>
#include <tests/lib/unit.h>

START_TEST(becomes_valid)
{
    static const struct {
        const char *text, *json;
    } cases[] = {
        {"a\"b\\c", "a\\\"b\\\\c"},
        {"\n\x1b\x7f", "\\u000a\\u001b\\u007f"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"caf\xe9", "caf\\ufffd"},                                /* Latin-1 */
        {"\xc3", "\\ufffd"},                                      /* cut off */
        {"\xe2\x82", "\\ufffd\\ufffd"},                           /* cut off */
        {"\xc0\xaf", "\\ufffd\\ufffd"},                           /* too long for '/' */
        {"\xe0\x9f\xbf", "\\ufffd\\ufffd\\ufffd"},                /* too long */
        {"\xf0\x8f\xbf\xbf", "\\ufffd\\ufffd\\ufffd\\ufffd"},     /* too long */
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},                /* half of a pair */
        {"\xed\x9f\xbf\xee\x80\x80", "\xed\x9f\xbf\xee\x80\x80"}, /* beside those */
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"},     /* beyond Unicode */
        {"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},                 /* its last */
        {"\xf5\x80\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"},
        {"\x80x\xff", "\\ufffdx\\ufffd"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char expected[256], *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        ck_assert_ptr_nonnull(out);
        json_text(out, cases[i].text);
        ck_assert_int_eq(fclose(out), 0);
        snprintf(expected, sizeof(expected), "\"%s\"", cases[i].json);
        ck_assert_str_eq(text, expected);
        free(text);
    }
}
END_TEST

UNIT_MAIN("base: JSON")
