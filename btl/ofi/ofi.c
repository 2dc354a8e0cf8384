/* ofi: the rail over libfabric's reliable datagrams. The module: its table, its beginning and end.
 */
#include <config.h>

#include <btl/ofi/ofi_hello.h>
#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_rdma.h>
#include <btl/ofi/ofi_send.h>
#include <stdio.h>
#include <stdlib.h>

enum { TX_PER_CHUNK = 64, LATENCY_US = 3 };

void ofi_describe(mca_btl_base_module_t *btl, ofi_endpoint *peer, char *text, size_t size)
{
    const struct ofi_module *ofi = ofi_of(btl);

    if (peer) {
        snprintf(text, size, "next out %u, next in %u, %s in flight", (unsigned) peer->sequence,
                 (unsigned) peer->order.expected,
                 list_empty(&peer->flight) ? "nothing" : "something");
    } else {
        snprintf(text, size,
                 "%s, domain %s: %zu transmissions in flight, %llu frames that proved nothing",
                 ofi->card.provider, ofi->fabric.ep ? ofi->fabric.info->domain_attr->name : "none",
                 ofi->in_flight, (unsigned long long) ofi->dropped);
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
    ofi_regions_destroy(ofi->native.regions);
    fabric_close(&ofi->fabric);
    fabric_receive_close(&ofi->rx);
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
    BTL_MODULE_TABLE,
    .btl_component = &btl_ofi_component.component,
    .btl_rdma_pipeline_send_length = 64 << 10,
    .btl_rdma_pipeline_frag_size = 4 << 20,
    .btl_latency = LATENCY_US,
    .btl_flags = BTL_MODULE_FLAGS,
    .btl_finalize = finalize,
    .btl_alloc = btl_alloc,
    .btl_prepare_src = btl_prepare_src,
    .btl_send = btl_send_by_channel,
    .btl_sendi = btl_sendi_by_channel,
    .btl_register_mem = ofi_register_mem,
    .btl_deregister_mem = ofi_deregister_mem,
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
    ofi->greeter.ops = &ofi_greeter_ops;
    ofi->greeter.peers = &ofi->peers;
    list_init(&ofi->rx.unposted);
    list_init(&ofi->owing);
    list_init(&ofi->abandoned);
    list_init(&ofi->native.by_age);
    pool_init(&ofi->txs, sizeof(struct ofi_tx), _Alignof(struct ofi_tx), TX_PER_CHUNK, 0, NULL,
              NULL);
    return ofi;
}
