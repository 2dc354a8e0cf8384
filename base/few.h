/* Copies of what is mostly a few bytes: a call of memcpy costs as much as they do. */
#ifndef BASE_FEW_H
#define BASE_FEW_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* memcpy; with size 0 the pointers may be NULL. */
static inline void copy_few(void *to, const void *from, size_t size)
{
    uint64_t first, last;
    if (size - sizeof(first) <= sizeof(last)) { /* 8 to 16: two words that may overlap */
        memcpy(&first, from, sizeof(first));
        memcpy(&last, (const char *) from + size - sizeof(last), sizeof(last));
        memcpy(to, &first, sizeof(first));
        memcpy((char *) to + size - sizeof(last), &last, sizeof(last));
    } else if (size > 0) {
        memcpy(to, from, size);
    }
}

#endif
