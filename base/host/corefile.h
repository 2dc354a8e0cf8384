/* The core file of a process that has dumped one, where the kernel writes it by a plain pattern. */
#ifndef BASE_COREFILE_H
#define BASE_COREFILE_H

#include <keel/types.h>
#include <sys/types.h>
#include <time.h>

struct core_dump {
    const char *folder; /* an absolute path: where the process ran */
    pid_t pid;
    int signal;
    time_t since; /* the file is not older */
};

/* Its path, malloc'd; NULL: another program takes the dumps, or no such file of this user is there.
 */
char *corefile_find(const struct core_dump *dump) KEEL_MUST_CHECK;

/* From the text of core_pattern (core(5)), a pattern for glob(3), in which only what is known of
 * the dump is literal. uses_pid: core_uses_pid. False: it names no file, or is too long. Pure. */
bool corefile_glob(const struct core_dump *dump, const char *pattern, bool uses_pid, char *text,
                   size_t size) KEEL_MUST_CHECK;

#endif
