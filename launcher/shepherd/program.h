/* Finding programs: where a name, or a path that may be relative, leads. */
#ifndef LAUNCHER_SHEPHERD_PROGRAM_H
#define LAUNCHER_SHEPHERD_PROGRAM_H

#include <keel/types.h>

/* Finds a program as execvp would. Writes the path; 0 or -errno (ENOENT: nowhere; EACCES: found,
 * but not executable; EISDIR). */
int program_resolve(const char *name, char *path, size_t size) KEEL_MUST_CHECK;
/* The same for a program of the user's, which starts in wdir (NULL: the caller's folder) with this
 * environment: in these folders (colons between them; NULL: none), then in PATH of env, then in
 * wdir. What is relative begins at wdir. */
int program_find(const char *name, const char *wdir, const char *folders, char *const *env,
                 char *path, size_t size) KEEL_MUST_CHECK;
/* Why a program was not started, by the errno of its start (ELIBACC: exec.c). */
const char *program_strerror(int error);

#endif
