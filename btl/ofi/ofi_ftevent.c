/* A restart of the process: another endpoint of the provider's, another card, and endpoints that
 * know no address. Handles stay good, since regions are this process's own memory. */
#include <config.h>

#include <btl/ofi/ofi_closing.h>
#include <btl/ofi/ofi_rdma.h>

int ofi_restart(mca_btl_base_module_t *btl)
{
    struct ofi_module *ofi = ofi_of(btl);

    fabric_stop(&ofi->fabric);
    btl_peers_restart(&ofi->peers);
    return ofi_reopen(ofi);
}

int ofi_ft_event(int state)
{
    return btl_component_ft_event(&btl_ofi_component, state);
}
