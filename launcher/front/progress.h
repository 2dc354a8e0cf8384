/* How far the start of a job is, on a terminal: after a while one line on standard error, in place,
 * until all nodes have called home or something else is to be shown.
 *
 *   keelrun: 14 of 16 nodes have called home; waiting for nu[3,9]
 */
#ifndef LAUNCHER_FRONT_PROGRESS_H
#define LAUNCHER_FRONT_PROGRESS_H

#include <launcher/front/channel.h>

struct progress {
    struct loop_timer timer;
    struct channel_end *hnp; /* borrowed; is asked */
    size_t shown;            /* columns of the line that stands there; 0: none does */
};

/* Asks the HNP from a parameter's time on; not where standard error is no terminal. */
void progress_start(struct progress *progress, struct loop *loop, struct channel_end *hnp);
/* The answer: of total nodes so many have not called home, in short. */
void progress_show(struct progress *progress, uint32_t total, uint32_t waiting, const char *nodes);
/* Something else comes on the terminal: the line goes, and comes again. */
void progress_clear(struct progress *progress);
/* The line goes for good. */
void progress_end(struct progress *progress);

/* The line, in fewer than columns characters; returns how many. Pure; nodes need not be text. */
size_t progress_print(char *text, size_t size, size_t columns, uint32_t total, uint32_t waiting,
                      const char *nodes);

#endif
