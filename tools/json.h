/* Text as JSON has it. */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <stdio.h>

/* A string with its quotes. A byte that is not UTF-8 becomes U+FFFD. */
void json_string(FILE *out, const char *text);
/* "name":"text", and what stands behind it. text NULL: null. */
void json_member(FILE *out, const char *name, const char *text, const char *after);

#endif
