#include <config.h>

#include <btl/base.h>

/* One line a component, best first. */
const struct btl_component btl_components[] = {
    {&mca_btl_self_component, NULL, btl_self_atomic, &btl_self_ext, false},
    {&mca_btl_sm_component, NULL, btl_sm_atomic, &btl_sm_ext, false},
    {&mca_btl_tcp_component, btl_tcp_active, btl_tcp_atomic, &btl_tcp_ext, false},
#ifdef HAVE_FABRIC
    {&mca_btl_ofi_component, btl_ofi_active, btl_ofi_atomic, &btl_ofi_ext, true},
#endif
    {NULL, NULL, NULL, NULL, false},
};
