/* All of a file's text. */
#ifndef BASE_TEXT_TEXT_FILE_H
#define BASE_TEXT_TEXT_FILE_H

#include <keel/types.h>

/* Reads a file of at most max bytes. *text is malloc'd and has a 0 behind its size bytes, which may
 * have more of them. A FIFO or a character device is read for at most limit_ms() milliseconds,
 * which this may block; NULL: only regular files are read. An error's reason begins with "PATH: ";
 * *text stays as it is. ORTE_ERR_FILE_OPEN_FAILURE: errno says why; ORTE_ERR_FILE_READ_FAILURE: too
 * large, too late, or nothing that is read; ORTE_ERR_OUT_OF_RESOURCE. */
int text_file_read(char **text, size_t *size, const char *path, size_t max,
                   unsigned (*limit_ms)(void), char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* Reads on to the end of an open file, or to max bytes; *used: how many there are. 0, or an error's
 * number: ETIMEDOUT at the deadline by clock_us(). 0: there is none, as for regular files. */
int text_file_fill(int fd, char *text, size_t max, size_t *used,
                   uint64_t deadline_us) KEEL_MUST_CHECK;

#endif
