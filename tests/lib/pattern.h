/* Bytes that tell which message they are of and where they lie. */
#ifndef TESTS_PATTERN_H
#define TESTS_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Byte i of a message or region with this seed. */
static inline unsigned char pattern(unsigned seed, size_t i)
{
    return (unsigned char) (i * 31 + (i >> 8) * 7 + seed * 131 + 17);
}

static inline void pattern_fill(void *to, size_t size, unsigned seed)
{
    unsigned char *bytes = to;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = pattern(seed, i);
    }
}

static inline bool pattern_is(const void *from, size_t size, unsigned seed)
{
    const unsigned char *bytes = from;
    size_t i = 0;
    while (i < size && bytes[i] == pattern(seed, i)) {
        i++;
    }
    return i == size;
}

#endif
