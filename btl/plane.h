/* The data plane of this process, from keel_host_open to keel_host_close (keel/host.h): its
 * modules, its rails, and which thread is inside: one at a time, or all by the lock (btl/lock.h).
 */
#ifndef BTL_PLANE_H
#define BTL_PLANE_H

#include <keel/host.h>

bool plane_is_open(void);
/* keel_host_progress, as what a thread that waits polls; NULL: a progress thread does. */
typedef int (*plane_poll_fn)(void *unused);
plane_poll_fn plane_poll(void);
/* Who has something called after passes, in this order. */
enum plane_after { PLANE_AFTER_RAILS, PLANE_AFTER_MESSAGES, PLANE_AFTERS };
/* after is called after each pass at whose end *wanted is true, inside it, with the lock if that is
 * used, but not while a callback of any thread is up its stack. wanted NULL: nothing is. */
void plane_after_pass(enum plane_after whose, const bool *wanted, void (*after)(void *arg),
                      void *arg);
/* A callback of the data plane is up the stack, whichever module called it: it is not to be closed
 * now. */
bool plane_in_callback(void);
/* The calling thread is in a pass or in a call of a module's, so it cannot run another pass. */
bool plane_is_inside(void);
/* Reads what peers wrote before this call: polls until nothing has come for many passes. */
void plane_read_all(void);
/* In a child made by fork: the data plane is its parent's. */
void plane_forget(void);

#endif
