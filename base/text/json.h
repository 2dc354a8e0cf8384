/* Text as JSON has it. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdio.h>

/* A string with its quotes. A byte that belongs to no UTF-8 character becomes U+FFFD. */
void json_text(FILE *out, const char *text);

#endif
