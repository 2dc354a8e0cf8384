/* Arrays of strings that end with NULL; array and strings are malloc'd. A NULL array is an empty
 * one. */
#ifndef KEEL_COMPAT_OPAL_ARGV_H
#define KEEL_COMPAT_OPAL_ARGV_H

#include <opal_config.h>

BEGIN_C_DECLS

/* Adds a copy of arg at the end, and sets *argc. OPAL_ERR_OUT_OF_RESOURCE: nothing happened. */
int opal_argv_append(int *argc, char ***argv, const char *arg) KEEL_PUBLIC(opal_argv_append);
int opal_argv_append_nosize(char ***argv, const char *arg) KEEL_PUBLIC(opal_argv_append_nosize);
/* The parts of a text between delimiters, the empty ones left out; NULL: there are none. */
char **opal_argv_split(const char *text, int delimiter) KEEL_PUBLIC(opal_argv_split);
/* One text of all; NULL: no memory. */
char *opal_argv_join(char **argv, int delimiter) KEEL_PUBLIC(opal_argv_join);
int opal_argv_count(char **argv) KEEL_PUBLIC(opal_argv_count);
char **opal_argv_copy(char **argv) KEEL_PUBLIC(opal_argv_copy);
/* The memory of strings and pointers, in bytes. */
size_t opal_argv_len(char **argv) KEEL_PUBLIC(opal_argv_len);
/* Removes count strings from index start on, as far as there are so many, and sets *argc.
 * OPAL_ERR_BAD_PARAM: a negative number. */
int opal_argv_delete(int *argc, char ***argv, int start, int count) KEEL_PUBLIC(opal_argv_delete);
/* Adds copies of source before index start, or at the end. OPAL_ERR_BAD_PARAM: no target, or start
 * is negative; OPAL_ERR_OUT_OF_RESOURCE: nothing happened. */
int opal_argv_insert(char ***target, int start, char **source) KEEL_PUBLIC(opal_argv_insert);
void opal_argv_free(char **argv) KEEL_PUBLIC(opal_argv_free);

END_C_DECLS
#endif
