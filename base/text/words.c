#include <config.h>

#include <base/text/words.h>
#include <string.h>

#define BLANKS " \t\n"

struct word word_next(const char **list)
{
    const char *begin = *list + strspn(*list, BLANKS), *end = begin + strcspn(begin, ",");
    struct word word = {begin, (size_t) (end - begin)};
    while (word.length > 0 && strchr(BLANKS, begin[word.length - 1])) {
        word.length--;
    }
    *list = *end ? end + 1 : NULL;
    return word;
}

bool word_is(struct word word, const char *text)
{
    return strlen(text) == word.length && memcmp(text, word.at, word.length) == 0;
}

bool words_have(const char *list, const char *text)
{
    bool found = false;
    while (list && !found) {
        found = word_is(word_next(&list), text);
    }
    return found;
}
