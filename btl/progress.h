/* Passes over all open components; for the framework's own files. Callers have btl_progress. */
#ifndef BTL_PROGRESS_H
#define BTL_PROGRESS_H

#include <btl/base.h>

void btl_progress_register_params(void);
/* Reads its parameters; most: components that will be added. */
int btl_progress_open(size_t most) KEEL_MUST_CHECK;
/* Every pass polls this component, or those that are due. */
void btl_progress_add(const struct btl_component *component);
void btl_progress_close(void);
/* Up the stack of the calling thread, progress runs. */
bool btl_progressing(void);
/* It runs somewhere. */
bool btl_progress_is_open(void);
/* btl_progress of the thread that holds the lock (btl/lock.h); thorough: components that are idle
 * are polled, too. */
int btl_pass_locked(bool thorough);
/* Drives the host's own work, such as cards that are on their way; returns the events. */
int btl_host_progress(void);

#endif
