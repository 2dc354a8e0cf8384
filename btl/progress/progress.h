/* Passes over all open modules; for the framework's own files. Callers have btl_progress. */
#ifndef BTL_PROGRESS_H
#define BTL_PROGRESS_H

#include <btl/interface/base.h>

/* With all modules there: every pass polls them from now on, or those that are due. */
int btl_progress_open(void) KEEL_MUST_CHECK;
void btl_progress_close(void);
/* Up the stack of the calling thread, progress runs. */
bool btl_progressing(void);
/* It runs somewhere. */
bool btl_progress_is_open(void);
/* btl_progress of the thread that holds the lock (btl/lock/lock.h); thorough: modules that are idle
 * are polled, too. */
int btl_pass_locked(bool thorough);
/* The next pass polls modules that are idle, too. */
void btl_progress_look_everywhere(void);
/* A pass over one module, of a call that waits: a pass inside of it, as of a callback, does
 * nothing. */
int btl_poll_alone(mca_btl_base_module_t *module);
/* Drives the host's own work, such as cards that are on their way; returns the events. */
int btl_host_progress(void);
/* How far the end of this process has come. */
enum btl_end {
    BTL_RUNS,
    BTL_PARTS,  /* it waits for the others at the end of the job, and some may be gone already */
    BTL_CLOSES, /* the data plane ends, and nobody else is inside */
};
void btl_progress_end(enum btl_end stage);
/* It parts or closes: a peer that is not reached any more has left. */
bool btl_progress_parts(void);
/* Of calls that wait for peers: while the data plane closes they drive the host, too, so that they
 * hear of those whose processes have ended; the events, or 0. */
int btl_host_progress_at_end(void);

#endif
