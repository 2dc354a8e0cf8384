/* Where the lines of --report go: a file, or standard error. */
#ifndef LAUNCHER_FRONT_REPORT_FILE_H
#define LAUNCHER_FRONT_REPORT_FILE_H

#include <launcher/request/run_request.h>

struct report_file {
    const char *path; /* borrowed; NULL: there is none */
    int fd;           /* owned; -1: not open, or nothing can be written any more */
};

/* Opens the file that the request names, empty. An error's reason names it. */
int report_file_open(struct report_file *file, const struct run_request *request, char *reason,
                     size_t reason_size) KEEL_MUST_CHECK;
/* Lines, with the last one's end. False: they are lost, as all that follow, and the reason is to be
 * told. */
bool report_file_write(struct report_file *file, const char *line, char *reason,
                       size_t reason_size) KEEL_MUST_CHECK;
/* False: what was written may be lost, and the reason is to be told. */
bool report_file_close(struct report_file *file, char *reason, size_t reason_size) KEEL_MUST_CHECK;

#endif
