/* A configuration file: lines "name = value", blank lines, and comments, which begin with a # at
 * the start of a line or behind white space. When a name stands twice, the last line counts. */
#ifndef BASE_PARAM_FILE_H
#define BASE_PARAM_FILE_H

#include <keel/types.h>

#define PARAM_NAME_MAX 127   /* characters of a name */
#define PARAM_VALUE_MAX 4095 /* characters of a value */
#define PARAM_FILE_MAX (1024 * 1024)

struct param_line {
    const char *name, *value; /* into the file's text */
    unsigned number;
};

struct param_file {
    char *path; /* owned */
    char *text; /* owned; cut into strings */
    struct param_line *lines;
    size_t count;
};

/* Letters, digits and underscores, not beginning with a digit. */
bool param_name_ok(const char *name);
/* Reads a regular file of at most PARAM_FILE_MAX bytes. A bad line is warned about and skipped. A
 * file that does not exist has no lines; one that cannot be read is warned about. */
void param_file_read(struct param_file *file, const char *path);
const struct param_line *param_file_find(const struct param_file *file, const char *name);
void param_file_fini(struct param_file *file);

#endif
