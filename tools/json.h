/* Members of JSON objects. */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <base/text/json.h>

/* "name":"text", and what stands behind it. text NULL: null. */
void json_member(FILE *out, const char *name, const char *text, const char *after);

#endif
