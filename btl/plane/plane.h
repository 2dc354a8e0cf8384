/* The data plane of this process, from keel_host_open to keel_host_close (keel/host.h): its
 * modules, its rails, and which thread is inside: one at a time, or all by the lock
 * (btl/lock/lock.h).
 */
#ifndef BTL_PLANE_H
#define BTL_PLANE_H

#include <keel/host.h>

struct pollfd;

bool plane_is_open(void);
/* keel_host_progress, as what a thread that waits polls; NULL: a progress thread does. */
typedef int (*plane_poll_fn)(void *unused);
plane_poll_fn plane_poll(void);
/* The users of plane_after_pass, in the order in which they are called. */
enum plane_after { PLANE_AFTER_RAILS, PLANE_AFTER_MESSAGES, PLANE_AFTERS };
/* Has after called at the end of each pass, inside it, if *wanted is true then. The lock is held,
 * if it is used. Not called while a callback of any thread is under way. wanted NULL: not called.
 */
void plane_after_pass(enum plane_after whose, const bool *wanted, void (*after)(void *arg),
                      void *arg);
/* A callback of the data plane is up the stack, whichever module called it: it is not to be closed
 * now. */
bool plane_in_callback(void);
/* Is the calling thread in a pass, or in a module's function? It cannot run another pass then. */
bool plane_is_inside(void);
/* Sleeps by rest until any rail has something to do, or rest ends by itself: watch has count
 * descriptors, of which the first is free for rest's own. Other threads' passes return 0 meanwhile,
 * since they would take what is to wake this one. The next pass polls every module. False: it did
 * not sleep, as something is due, a module has to be polled, or several threads use the rails. */
typedef void (*plane_rest_fn)(void *arg, uint64_t until_us, struct pollfd *watch, size_t count);
bool plane_rest(plane_rest_fn rest, void *arg, uint64_t until_us);
/* Around the wait for the other ranks at the end of the job (btl/interface/farewell.h); together: all
 * of them have come. */
void plane_farewell(void);
void plane_met(bool together);
/* Reads what peers wrote before this call: polls until nothing has come for many passes. */
void plane_read_all(void);

#endif
