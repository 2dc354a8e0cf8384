/* The one lock around the data plane, for processes in which more than one thread uses it: those
 * with the parameter enable_thread_multiple or enable_progress_threads. In all others it is not
 * used, and costs nothing.
 *
 * Who calls a module or polls holds it, callbacks included, so that what docs/btl.md says of one
 * thread at a time stays true. It is recursive: a callback calls what it likes. A thread that holds
 * it takes no other lock that others hold while they wait for this one; where it has to wait for
 * other threads, in a blocking RML call from a callback, it gives the lock up meanwhile
 * (btl_lock_leave), and then other calls come in between as if the callback had made them. */
#ifndef BTL_LOCK_H
#define BTL_LOCK_H

#include <keel/types.h>

extern bool btl_lock_used; /* set by btl_open alone, before there is a second thread */

void btl_lock_take(void);
bool btl_lock_try(void);
void btl_lock_drop(void);
/* The calling thread holds it so many times. */
unsigned btl_lock_holds(void);
/* Gives up all holds of the calling thread and returns how many, for btl_lock_return. */
unsigned btl_lock_leave(void);
void btl_lock_return(unsigned holds);
/* After dropping it, by threads that poll: lets those that wait for it go first. */
void btl_lock_give_way(void);

static inline void btl_lock(void)
{
    if (btl_lock_used) {
        btl_lock_take();
    }
}

static inline void btl_unlock(void)
{
    if (btl_lock_used) {
        btl_lock_drop();
    }
}

#endif
