/* Lists of words, with commas between them and blanks around them. */
#ifndef BASE_TEXT_WORDS_H
#define BASE_TEXT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* One in a list, without its blanks; it may be empty. */
struct word {
    const char *at; /* borrowed: the list's */
    size_t length;
};

/* The word at *list, which moves behind its comma, or becomes NULL behind the last. */
struct word word_next(const char **list);
bool word_is(struct word word, const char *text);
/* Whether one of the list is this. */
bool words_have(const char *list, const char *text);

#endif
