/* The smaller one of two sizes. */
#ifndef BASE_LEAST_H
#define BASE_LEAST_H

#include <stddef.h>

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
