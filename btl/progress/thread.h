/* The progress thread (parameter enable_progress_threads): polls the data plane while the
 * application does not, and sleeps in the kernel when there is nothing to do.
 *
 *   polls   holds the lock for each pass; after some empty ones it rests
 *   rests   every module is armed (wait_arm): it sleeps on their descriptors without end, and a
 *           call of the application's that may leave work wakes it (btl/lock/wake.h). A module that
 *           cannot be armed now, or not at all: it naps, at first 20 us, then up to 1 ms
 *   stands back   another thread has polled since its last pass: it looks again after 1 ms */
#ifndef BTL_THREAD_H
#define BTL_THREAD_H

#include <keel/types.h>

/* With the lock used and all modules open. reason gets the text of an error. */
int btl_thread_start(char *reason, size_t reason_size) KEEL_MUST_CHECK;
/* Waits for its end; not from a callback, which may run on it. */
void btl_thread_stop(void);
bool btl_thread_runs(void);

#endif
