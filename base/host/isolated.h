/* Work with input that may crash or exhaust it, such as a library's reading of a file: in a child
 * process, which gives back text. */
#ifndef BASE_HOST_ISOLATED_H
#define BASE_HOST_ISOLATED_H

#include <keel/types.h>
#include <stdio.h>

struct isolated {
    const char *name;                        /* who does the work, for reasons */
    int (*work)(FILE *out, const void *arg); /* in the child */
    const void *arg;
    uint64_t memory_bytes;  /* that the child may map on top of what this process has */
    unsigned cpu_s, time_s; /* that the child may take, of processor time and altogether */
    size_t text_max;        /* bytes that it may write */
};

/* Runs the work and blocks until it has ended. *text is what it wrote, malloc'd. Where it fails,
 * that is the reason, and its status, from -255 to -1, is returned. ORTE_ERR_BAD_PARAM also when a
 * signal ended it, or it took too long, wrote too much, or failed without a word. The work may not
 * call exit, which would write what the parent's streams hold. The child has only standard
 * descriptors, its standard error is dropped, and it ends with this process. SIGINT, SIGTERM,
 * SIGHUP and SIGQUIT end this process meanwhile, though it may have blocked them. Where there are
 * other threads, the work may use what fork leaves intact: malloc, dlopen and stdio. SIGCHLD may
 * not be ignored. */
int isolated_run(const struct isolated *isolated, char **text, char *reason,
                 size_t reason_size) KEEL_MUST_CHECK;

#endif
