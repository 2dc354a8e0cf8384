/* NULL-ended arrays of malloc'd strings, arguments and environments; NULL is an empty one. */
#ifndef BASE_STRINGS_H
#define BASE_STRINGS_H

#include <keel/types.h>

size_t strings_count(char *const *strings);
/* NULL: no memory. The copy of an empty one is an array. */
char **strings_copy(char *const *strings) KEEL_MUST_CHECK;
/* Takes the string in every case; NULL stands for one that there was no memory for. False: no
 * memory. */
bool strings_add(char ***strings, char *string) KEEL_MUST_CHECK;
/* Takes NAME=VALUE as strings_add does, in place of an older one of that name. */
bool strings_set(char ***strings, char *assignment) KEEL_MUST_CHECK;
/* The value of the first NAME=VALUE of this name; borrowed. NULL: there is none. */
const char *strings_value(char *const *strings, const char *name);
void strings_free(char **strings);

#endif
