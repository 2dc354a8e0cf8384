/* The PTL components of the library; a folder each. */
#ifndef PTL_COMPONENTS_H
#define PTL_COMPONENTS_H

#include <keel/ptl.h>

struct pollfd;

/* Over the BTL modules of this process, which are open: one module for each (ptl/rail/rail.h). */
extern mca_ptl_base_component_t ptl_rail_component;
/* settle is called after each pass of the data plane at whose end *wanted is true, inside it, with
 * its lock if that is used; NULL: nobody is. */
void ptl_rail_after_pass(const bool *wanted, void (*settle)(void *arg), void *arg);
/* In a child made by fork: the modules are its parent's. */
void ptl_rail_forget(void);
/* The calling thread is inside the data plane, which it cannot drive. */
bool ptl_rail_is_busy(void);

/* Sleeps by rest until any rail has something to do, or rest ends by itself (btl/plane/plane.h).
 * False: it did not sleep. */
bool ptl_rail_rest(void (*rest)(void *arg, uint64_t until_us, struct pollfd *watch, size_t count),
                   void *arg, uint64_t until_us);

/* Several threads use the data plane; then: one drives it while the others do not. */
bool ptl_rail_is_shared(void);
bool ptl_rail_has_thread(void);
/* Its recursive lock, where it is shared; its callbacks come with it. leaves_work: progress has
 * something to do, which wakes that thread. */
void ptl_rail_lock(void);
void ptl_rail_unlock(bool leaves_work);
/* How many events ptl_rail_component's progress has had; any thread. */
uint64_t ptl_rail_events(void);

#endif
