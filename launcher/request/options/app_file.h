/* Files of --app: a line for each program, as on a command line. */
#ifndef LAUNCHER_REQUEST_OPTIONS_APP_FILE_H
#define LAUNCHER_REQUEST_OPTIONS_APP_FILE_H

#include <keel/types.h>

struct app_file {
    char *path;      /* owned; NULL: there is none */
    char **words;    /* owned, NULL-ended: those of all lines, ":" between the lines */
    unsigned *lines; /* owned: in which line each word is */
};

/* Words are separated by blanks; quotes and backslashes mean what they do in sh; "#" begins a
 * comment where a word may begin. reason begins with FILE, or FILE:LINE. */
int app_file_read(struct app_file *file, const char *path, char *reason,
                  size_t reason_size) KEEL_MUST_CHECK;
/* The same of a text, which ends with 0; pure. */
int app_file_parse(struct app_file *file, const char *path, const char *text, char *reason,
                   size_t reason_size) KEEL_MUST_CHECK;
/* The line of the word before this one. */
unsigned app_file_line(const struct app_file *file, char *const *next);
void app_file_fini(struct app_file *file);

#endif
