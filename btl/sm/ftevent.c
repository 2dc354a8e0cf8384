/* A restart of the process: another segment at the old address, another card, and endpoints as
 * before their first use. Handles stay good: the table of regions moves along. */
#include <config.h>

#include <base/log.h>
#include <btl/sm/module.h>
#include <string.h>

static void forget_rings(struct sm_module *module)
{
    module->rings_made = module->free_ring_count = 0;
    module->doorbell = 0;
    module->rescan = false;
    memset(module->cells, 0, module->params.max_peers * sizeof(*module->cells));
}

int sm_module_restart(mca_btl_base_module_t *btl)
{
    struct sm_module *module = sm_of(btl);
    const struct btl_host *host = btl_host();
    char reason[256];
    const opal_proc_t *me = host->ops->me(host->arg);
    sm_endpoints_restart(module);
    int status = sm_segment_renew(module->segment, module->params.backing,
                                  host->ops->session_dir(host->arg), reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_BTL, "sm: no other segment after a restart: %s", reason);
        return status;
    }
    sm_module_open_bell(module);
    forget_rings(module);
    module->node = me->node;
    module->local_rank = me->local_rank;
    module->peers.cards.life++;
    return sm_publish_card(module);
}

int sm_ft_event(int state)
{
    return btl_component_ft_event(&btl_sm_component, state);
}
