/* The PTL components of the library; a folder each. */
#ifndef PTL_COMPONENTS_H
#define PTL_COMPONENTS_H

#include <keel/ptl.h>

/* Over the BTL modules of this process, which are open: one module for each (ptl/rail/rail.h). */
extern mca_ptl_base_component_t ptl_rail_component;
/* The calling thread is inside the data plane, which it cannot drive. */
bool ptl_rail_is_busy(void);

#endif
