/* ofi: the rail over libfabric's reliable datagrams. The module: its table, its beginning and end.
 */
#include <config.h>

#include <base/log.h>
#include <btl/ofi/ofi_closing.h>
#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_rdma.h>
#include <btl/ofi/ofi_receive.h>
#include <btl/ofi/ofi_send.h>
#include <btl/stats.h>
#include <stdlib.h>

enum { TX_PER_CHUNK = 64, LATENCY_US = 3 };

static mca_btl_base_descriptor_t *alloc(mca_btl_base_module_t *btl, ofi_endpoint *endpoint,
                                        uint8_t order, size_t size, uint32_t flags)
{
    (void) endpoint;
    return desc_alloc(&ofi_of(btl)->descs, order, size, flags);
}

static mca_btl_base_descriptor_t *prepare_src(mca_btl_base_module_t *btl, ofi_endpoint *endpoint,
                                              opal_convertor_t *convertor, uint8_t order,
                                              size_t reserve, size_t *size, uint32_t flags)
{
    struct ofi_module *ofi = ofi_of(btl);

    (void) endpoint;
    return desc_prepare(&ofi->descs, convertor, order, reserve, size, flags,
                        btl->btl_flags & MCA_BTL_FLAGS_SEND_INPLACE);
}

static void endpoint_dump(const ofi_endpoint *peer)
{
    log_write(LOG_BTL, LOG_INFO, "ofi: %s: %s, next out %u, next in %u, %s in flight",
              ORTE_NAME_PRINT(&peer->life.name), btl_peer_state_name(&peer->life),
              (unsigned) peer->sequence, (unsigned) peer->order.expected,
              list_empty(&peer->flight) ? "nothing" : "something");
}

static void dump(mca_btl_base_module_t *btl, ofi_endpoint *endpoint, int verbose)
{
    struct ofi_module *ofi = ofi_of(btl);

    if (endpoint) {
        btl_peer_activate(&ofi->peers, &endpoint->life);
        endpoint_dump(endpoint);
        btl_stats_dump(btl, endpoint);
        return;
    }
    log_write(LOG_BTL, LOG_INFO,
              "ofi: %s, domain %s: %zu transmissions in flight, %llu frames that "
              "proved nothing",
              ofi->card.provider, ofi->fabric.ep ? ofi->fabric.info->domain_attr->name : "none",
              ofi->in_flight, (unsigned long long) ofi->dropped);
    btl_stats_dump(btl, NULL);
    if (verbose <= 0) {
        return;
    }
    list_for_each (endpoint, &ofi->peers.used, ofi_endpoint, life.link) {
        endpoint_dump(endpoint);
    }
}

void ofi_abandoned_release(struct ofi_module *ofi)
{
    while (!list_empty(&ofi->abandoned)) {
        struct ofi_tx *tx = container_of(ofi->abandoned.next, struct ofi_tx, link);
        if (tx->op.kind == OFI_OP_RDMA) {
            ofi_native_completed(ofi, tx, OPAL_ERR_UNREACH);
        } else {
            ofi_send_completed(ofi, tx, OPAL_ERR_UNREACH);
        }
    }
}

void ofi_module_destroy(struct ofi_module *ofi)
{
    rdma_am_destroy(ofi->am);
    fabric_stop(&ofi->fabric); /* from here on no buffer is the provider's */
    ofi_abandoned_release(ofi);
    ofi_regions_destroy(ofi->native);
    fabric_close(&ofi->fabric);
    ofi_receive_close(ofi);
    desc_set_fini(&ofi->descs);
    pool_fini(&ofi->txs);
    region_table_destroy(ofi->regions);
    free(ofi->scratch);
    btl_peers_fini(&ofi->peers);
    free(ofi);
}

static int finalize(mca_btl_base_module_t *btl)
{
    struct ofi_module *ofi = ofi_of(btl);

    btl_peers_end_all(&ofi->peers);
    ofi_module_destroy(ofi);
    return OPAL_SUCCESS;
}

/* Another endpoint of the provider's, another card, and endpoints that know no address. Handles
 * stay good, since regions are this process's own memory. */
int ofi_restart(mca_btl_base_module_t *btl)
{
    struct ofi_module *ofi = ofi_of(btl);

    fabric_stop(&ofi->fabric);
    btl_peers_restart(&ofi->peers);
    return ofi_reopen(ofi);
}

static int ft_event(int state)
{
    return btl_component_ft_event(&btl_ofi_component, state);
}

static const mca_btl_base_module_t module_template = {
    .btl_component = &btl_ofi_component.component,
    .btl_rdma_pipeline_send_length = 64 << 10,
    .btl_rdma_pipeline_frag_size = 4 << 20,
    .btl_min_rdma_pipeline_size = 0,
    .btl_latency = LATENCY_US,
    .btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_RDMA | MCA_BTL_FLAGS_ATOMIC_OPS |
                 MCA_BTL_FLAGS_ATOMIC_FOPS,
    .btl_atomic_flags = ATOMIC_ALL_FLAGS,
    .btl_registration_handle_size = sizeof(struct region_handle),
    .btl_get_limit = SIZE_MAX,
    .btl_put_limit = SIZE_MAX,
    .btl_add_procs = btl_add_procs,
    .btl_del_procs = btl_del_procs,
    .btl_register = btl_register_tag,
    .btl_finalize = finalize,
    .btl_alloc = alloc,
    .btl_free = desc_btl_free,
    .btl_prepare_src = prepare_src,
    .btl_send = ofi_send,
    .btl_sendi = ofi_sendi,
    .btl_put = btl_put,
    .btl_get = btl_get,
    .btl_dump = dump,
    .btl_atomic_op = btl_atomic_op,
    .btl_atomic_fop = btl_atomic_fop,
    .btl_atomic_cswap = btl_atomic_cswap,
    .btl_register_mem = ofi_register_mem,
    .btl_deregister_mem = ofi_deregister_mem,
    .btl_register_error = btl_register_error_fn,
    .btl_ft_event = ft_event,
};

struct ofi_module *ofi_module_create(void)
{
    struct ofi_module *ofi = calloc(1, sizeof(*ofi));

    if (!ofi) {
        return NULL;
    }
    ofi->super = module_template;
    if (btl_peers_init(&ofi->peers, &ofi_peer_hooks, &ofi->super, "ofi", sizeof(ofi_endpoint)) !=
        OPAL_SUCCESS) {
        free(ofi);
        return NULL;
    }
    list_init(&ofi->unposted);
    list_init(&ofi->owing);
    list_init(&ofi->done);
    list_init(&ofi->abandoned);
    list_init(&ofi->by_age);
    pool_init(&ofi->txs, sizeof(struct ofi_tx), _Alignof(struct ofi_tx), TX_PER_CHUNK, 0, NULL,
              NULL);
    return ofi;
}
