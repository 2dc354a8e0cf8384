/* Files of the kernel's, in /proc and /sys. */
#ifndef BASE_SYSFILE_H
#define BASE_SYSFILE_H

#include <keel/types.h>
#include <stdbool.h>
#include <stddef.h>

/* A file's text, cut where text is full. False: it cannot be read or is empty, and text is "". size
 * at least 1. Any thread may call it. */
bool sysfile_text(const char *path, char *text, size_t size);
/* Its first line, without the newline: true with "" where that is empty. */
bool sysfile_line(const char *path, char *text, size_t size);

#endif
