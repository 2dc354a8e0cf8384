#include <base/text/words.h>
#include <tests/lib/unit.h>

START_TEST(words_come_in_order_without_blanks)
{
    static const char *const expected[] = {"self", "s m", "", "tcp"};
    const char *list = "self, s m\t,,\n tcp ";
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        ck_assert_ptr_nonnull(list);
        const struct word word = word_next(&list);
        ck_assert(word_is(word, expected[i]));
    }
    ck_assert_ptr_null(list);
}
END_TEST

START_TEST(a_list_has_whole_words_only)
{
    ck_assert(words_have("tcp", "tcp"));
    ck_assert(words_have("sm , tcp", "tcp"));
    ck_assert(words_have("sm,tcp", "sm"));
    ck_assert(!words_have("sm,tcp6", "tcp"));
    ck_assert(!words_have("sm,xtcp", "tcp"));
    ck_assert(!words_have("tc", "tcp"));
    ck_assert(!words_have("", "tcp"));
    ck_assert(!words_have(NULL, "tcp"));
}
END_TEST

UNIT_MAIN("words")
