/* keelrun's front end: submits the request, passes signals and standard input on, writes the ranks'
 * output and the launcher's own lines, and ends the loop with the job's exit code. It speaks to the
 * HNP by channel messages only. */
#ifndef LAUNCHER_FRONT_FRONTEND_H
#define LAUNCHER_FRONT_FRONTEND_H

#include <launcher/front/channel.h>
#include <launcher/front/report_file.h>
#include <launcher/request/run_request.h>

struct frontend;

/* request and report, which is open, are borrowed. Signals must be blocked (frontend_block_signals)
 * before. */
int frontend_create(struct frontend **frontend, struct loop *loop, struct channel_end *hnp,
                    const struct run_request *request, struct report_file *report) KEEL_MUST_CHECK;
/* Ends the stdio threads, drops what they have not written, frees. NULL is allowed. */
void frontend_destroy(struct frontend *frontend);
/* Calls stands, on the loop, when the DVM of the request stands; NULL: nobody waits for it. */
void frontend_on_stands(struct frontend *frontend, void (*stands)(void *arg), void *arg);
/* The job's exit code, once the loop has ended. */
int frontend_exit_code(const struct frontend *frontend);
/* Blocks the signals that the front end passes on, and ignores SIGPIPE. */
void frontend_block_signals(void);

#endif
