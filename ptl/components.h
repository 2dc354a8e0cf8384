/* The PTL components of the library; a folder each. */
#ifndef PTL_COMPONENTS_H
#define PTL_COMPONENTS_H

#include <keel/ptl.h>

/* Over the BTL modules of this process, which are open: one module for each (ptl/rail/rail.h). */
extern mca_ptl_base_component_t ptl_rail_component;
/* settle is called after each pass of the data plane at whose end *wanted is true, inside it; NULL:
 * nobody is. */
void ptl_rail_after_pass(const bool *wanted, void (*settle)(void *arg), void *arg);
/* In a child made by fork: the modules are its parent's. */
void ptl_rail_forget(void);
/* The calling thread is inside the data plane, which it cannot drive. */
bool ptl_rail_is_busy(void);

#endif
