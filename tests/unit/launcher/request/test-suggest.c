/* How far two words are apart, and what stands for other launchers' options. */
#include <config.h>

#include <launcher/request/suggest.h>
#include <stdio.h>
#include <string.h>
#include <tests/lib/unit.h>

static size_t apart(const char *a, const char *b)
{
    size_t distance = suggest_distance(a, strlen(a), b);
    ck_assert_uint_eq(suggest_distance(b, strlen(b), a), distance);
    return distance;
}

START_TEST(test_distances)
{
    ck_assert_uint_eq(apart("", ""), 0);
    ck_assert_uint_eq(apart("timeout", "timeout"), 0);
    ck_assert_uint_eq(apart("timeout", "timeuot"), 2);
    ck_assert_uint_eq(apart("timeout", "timout"), 1);
    ck_assert_uint_eq(apart("timeout", "xtimeouty"), 2);
    ck_assert_uint_eq(apart("ab", ""), 2);
    ck_assert_uint_eq(apart("abc", ""), SUGGEST_NEVER);
    ck_assert_uint_eq(apart("map-by", "np"), SUGGEST_NEVER);
    ck_assert_uint_eq(apart("abcd", "wxyz"), SUGGEST_NEVER);
}
END_TEST

START_TEST(test_only_the_words_own_letters_count)
{
    ck_assert_uint_eq(suggest_distance("np=4", 2, "np"), 0);
    ck_assert_uint_eq(suggest_distance("x", 0, "np"), 2);
}
END_TEST

START_TEST(test_the_nearest_counts_the_first_of_equals_and_no_other_word)
{
    struct suggestion near = {"mpa", 3, 3, NULL};
    suggest_look(&near, "map");
    ck_assert_str_eq(near.nearest, "map"); /* 2 apart */
    suggest_look(&near, "mpx");
    suggest_look(&near, "mpy");
    ck_assert_str_eq(near.nearest, "mpx");
    near = (struct suggestion){"mpa", 3, 1, NULL};
    suggest_look(&near, "mpx"); /* not less apart than that */
    ck_assert_ptr_null(near.nearest);
    near = (struct suggestion){"ab", 2, SUGGEST_NEVER, NULL};
    suggest_look(&near, "xy"); /* none of its letters */
    ck_assert_ptr_null(near.nearest);
}
END_TEST

static void assert_answer(const char *word, const char *answer)
{
    static const char *const names[] = {"map", "overload-allowed", "SPAN", "PE=", NULL};
    char reason[128], expected[256];
    snprintf(expected, sizeof(expected), "'%s': map, overload-allowed, SPAN or PE= is needed%s%s",
             word, *answer ? "; the nearest is " : "", answer);
    suggest_among(names, word, strlen(word), reason, sizeof(reason));
    ck_assert_str_eq(reason, expected);
}

START_TEST(test_all_names_are_said_and_the_nearest)
{
    assert_answer("mop", "map");
    assert_answer("spna", "SPAN");
    assert_answer("pee=overload-allowed", "PE=");
    assert_answer("over", "overload-allowed"); /* it begins so */
    assert_answer("overlod", "overload-allowed");
    assert_answer("oxerlod", ""); /* two letters are wrong */
    assert_answer("ov", "");
    assert_answer("", "");
}
END_TEST

START_TEST(test_an_answer_is_cut)
{
    static const char *const names[] = {"first", "second", NULL};
    char reason[20];
    for (size_t size = 1; size <= sizeof(reason); size++) {
        memset(reason, 'x', sizeof(reason));
        suggest_among(names, "secnd", 5, reason, size);
        ck_assert(strncmp(reason, "'secnd': first or second is needed", size - 1) == 0);
        ck_assert_uint_eq(strlen(reason), size - 1);
    }
}
END_TEST

START_TEST(test_long_words_are_like_none)
{
    char a[66], b[66];
    memset(a, 'a', sizeof(a));
    memset(b, 'a', sizeof(b));
    a[65] = b[65] = '\0';
    ck_assert_uint_eq(apart(a, b), SUGGEST_NEVER);
    ck_assert_uint_eq(apart(a + 1, b + 1), 0); /* 64 letters */
}
END_TEST

static const char *instead(const char *name)
{
    return suggest_for_option(name, strlen(name));
}

START_TEST(test_other_launchers_options)
{
    ck_assert_ptr_nonnull(strstr(instead("mapby"), "--map-by"));
    ck_assert_str_eq(instead("chdir"), "--wdir DIR");
    ck_assert_str_eq(instead("w"), instead("nodelist"));
    ck_assert_str_eq(suggest_for_option("ntasks=4", 6), "-n N");
    ck_assert_ptr_null(instead(""));
    ck_assert_ptr_null(instead("map"));
    ck_assert_ptr_null(instead("map-by|rank-by"));
    ck_assert_ptr_null(instead("an-option-of-forty-one-letters-xxxxxxxxxx"));
}
END_TEST

UNIT_MAIN("suggestions")
