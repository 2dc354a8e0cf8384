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
/* While the data plane ends, and nobody else is inside: calls that wait for peers drive the host,
 * too, so that they hear of those whose processes have ended. */
void btl_progress_end(bool begun);
/* What these calls do so: the events, or 0. */
int btl_host_progress_at_end(void);

#endif
