/* add_procs and del_procs (btl/base.h): what taps ask of the counts. */
#ifndef BTL_PROCS_H
#define BTL_PROCS_H

#include <btl/base.h>

/* del_procs of a module would end this endpoint. */
bool btl_del_ends(const mca_btl_base_module_t *module,
                  const struct mca_btl_base_endpoint_t *endpoint);

#endif
