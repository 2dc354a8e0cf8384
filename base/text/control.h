/* Characters that move a terminal's cursor, or do worse. */
#ifndef BASE_CONTROL_H
#define BASE_CONTROL_H

#include <stddef.h>

/* Bytes of the control character that text begins with, of ASCII or of Latin-1 in UTF-8 (C1, where
 * U+009B begins an escape sequence); 0: it begins with none. */
static inline size_t control_at(const char *text)
{
    const unsigned char *c = (const unsigned char *) text;
    if (c[0] == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f) {
        return 2;
    }
    return (c[0] > 0 && c[0] < 0x20) || c[0] == 0x7f;
}

#endif
