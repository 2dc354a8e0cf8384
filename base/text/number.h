/* Decimal numbers in text that need not be trusted. */
#ifndef BASE_TEXT_NUMBER_H
#define BASE_TEXT_NUMBER_H

#include <keel/types.h>

/* Reads the digits at the beginning of a text that ends with 0 or after size bytes (SIZE_MAX: with
 * 0); pure. Returns what follows them. NULL: there are none, or the number is larger than max;
 * *number stays as it is. */
const char *number_read(const char *text, size_t size, uint32_t max, uint32_t *number);
/* Reads "3", which is first and last, or "2-5"; as number_read of a text that ends with 0. */
const char *range_read(const char *text, uint32_t max, uint32_t *first, uint32_t *last);

#endif
