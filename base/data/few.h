/* Copies of what is mostly a few bytes: a call of memcpy costs as much as they do. */
#ifndef BASE_FEW_H
#define BASE_FEW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 8 to 16 bytes, by two words that may overlap: what was stored as words is read as words, which a
 * processor takes from its stores. */
static inline void copy_two_words(char *to, const char *from, size_t size)
{
    uint64_t first, last;
    memcpy(&first, from, sizeof(first));
    memcpy(&last, from + size - sizeof(last), sizeof(last));
    memcpy(to, &first, sizeof(first));
    memcpy(to + size - sizeof(last), &last, sizeof(last));
}

/* memcpy; with size 0 the pointers may be NULL. */
static inline void copy_few(void *to, const void *from, size_t size)
{
    const size_t two = 2 * sizeof(uint64_t);
    if (size == 0) {
        return;
    }
    if (size < sizeof(uint64_t) || size > 2 * two) {
        memcpy(to, from, size);
    } else if (size <= two) {
        copy_two_words(to, from, size);
    } else {
        copy_two_words(to, from, two);
        copy_two_words((char *) to + size - two, (const char *) from + size - two, two);
    }
}

#endif
