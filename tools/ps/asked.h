/* A keelrun that is asked about its job, by a process of its own, so that one that does not answer
 * holds nobody else up. */
#ifndef TOOLS_PS_ASKED_H
#define TOOLS_PS_ASKED_H

#include <sys/types.h>
#include <tools/ps/options.h>
#include <tools/ps/show.h>

enum { ASKED_STREAMS = 2 }; /* what is to be printed; complaints */

struct text {
    char *bytes; /* owned */
    size_t size;
};

/* SILENT: no answer in time; FAILED: it could not be asked, or has ended. */
enum outcome { OUTCOME_ANSWERED, OUTCOME_SILENT, OUTCOME_FAILED };

struct asked {
    char *id, *contact; /* owned; contact NULL: it is not asked */
    enum keel_job_place place;
    pid_t process; /* 0: none */
    int fds[ASKED_STREAMS];
    struct text texts[ASKED_STREAMS];
    enum outcome outcome;
};

/* Asks all of them that can be asked, and waits for the answers. */
void asked_all(struct asked *list, size_t count, const struct options *options);
void asked_fini(struct asked *asked);

#endif
