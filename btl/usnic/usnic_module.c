/* usnic: the rail over datagrams. A module: its table, its beginning and end, its progress. */
#include <config.h>

#include <arpa/inet.h>
#include <base/settings/log.h>
#include <btl/usnic/usnic_faults.h>
#include <btl/usnic/usnic_path.h>
#include <btl/usnic/usnic_receive.h>
#include <btl/usnic/usnic_send.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LATENCY_US = 5,
    UNKNOWN_MBPS = 1000,
    OUTS_PER_CHUNK = 64,
    OUTS_MAX = 65536,
    MAX_OPS = 4096,
    ACK_DELAY_US = 50,
    PACKETS_A_PASS = 64,
    IP4_BYTES = 28, /* headers of IP and UDP */
    IP6_BYTES = 48,
    /* What a packet takes of a socket's buffer: 832 bytes up to 576, as Linux counts; above, what a
     * packet of 1500 does. */
    SMALL_BYTES = 512,
    SMALL_CHARGE = 832,
    FULL_CHARGE = 2304,
    PRIORITY_BYTES = 768,
};

static int finalize(mca_btl_base_module_t *btl)
{
    struct usnic_module *usnic = usnic_of(btl);
    const struct usnic_counts *counts = &usnic->engine.counts;

    btl_peers_end_all(&usnic->peers);
    log_info(LOG_BTL, "%s: %llu packets sent, %llu sent again, %llu came again, %llu came early",
             usnic->name, (unsigned long long) counts->packets_sent,
             (unsigned long long) counts->resends, (unsigned long long) counts->duplicates,
             (unsigned long long) counts->early);
    usnic_module_destroy(usnic);
    return OPAL_SUCCESS;
}

static int ft_event(int state)
{
    return btl_component_ft_event(&btl_usnic_component, state);
}

static const mca_btl_base_module_t module_template = {
    BTL_MODULE_TABLE,
    .btl_component = &btl_usnic_component.component,
    .btl_rdma_pipeline_send_length = 64 << 10,
    .btl_rdma_pipeline_frag_size = 4 << 20,
    .btl_latency = LATENCY_US,
    .btl_flags = BTL_MODULE_FLAGS | MCA_BTL_FLAGS_SEND_INPLACE,
    .btl_finalize = finalize,
    .btl_alloc = btl_alloc,
    .btl_prepare_src = btl_prepare_src,
    .btl_send = btl_send_by_channel,
    .btl_sendi = btl_sendi_by_channel,
    .btl_register_mem = btl_register_mem,
    .btl_deregister_mem = btl_deregister_mem,
    .btl_ft_event = ft_event,
};

/* ---- opening ---- */

static void limits_set(struct usnic_module *usnic, const struct netif *netif)
{
    const struct usnic_params *params = &usnic->params;
    uint32_t speed = netif->speed_mbps ? netif->speed_mbps : UNKNOWN_MBPS;

    usnic->super.btl_max_send_size = params->max_send_size;
    usnic->super.btl_eager_limit = params->eager_limit;
    usnic->super.btl_rndv_eager_limit = params->eager_limit;
    usnic->super.btl_exclusivity = params->exclusivity;
    usnic->super.btl_bandwidth = params->bandwidth ? params->bandwidth : speed / 8;
    usnic->greeter.max_message = (uint32_t) params->max_send_size;
}

static void node_print(const struct sock_addr *addr, char node[INET6_ADDRSTRLEN])
{
    const void *bytes = &((const struct sockaddr_in *) (const void *) &addr->storage)->sin_addr;

    if (addr->storage.ss_family == AF_INET6) {
        bytes = &((const struct sockaddr_in6 *) (const void *) &addr->storage)->sin6_addr;
    }
    (void) !inet_ntop(addr->storage.ss_family, bytes, node, INET6_ADDRSTRLEN);
}

static struct usnic_port_config port_config(const struct usnic_module *usnic,
                                            const struct netif *netif, char node[INET6_ADDRSTRLEN])
{
    const struct usnic_params *params = &usnic->params;
    size_t headers = netif->addr.storage.ss_family == AF_INET ? IP4_BYTES : IP6_BYTES;
    size_t mtu = netif->mtu_bytes > headers ? netif->mtu_bytes - headers : 0;

    node_print(&netif->addr, node);
    return (struct usnic_port_config){
        .provider = params->provider,
        .domain = netif->name,
        .address = node,
        .sockets = params->sockets,
        .receives = params->rx_buffers,
        .element_bytes = sizeof(struct usnic_rx),
        .sends = params->tx_buffers + USNIC_CONTROLS + USNIC_FAULT_PACKETS,
        .packet_bytes = params->mtu > 0 && (mtu == 0 || params->mtu < mtu) ? params->mtu : mtu,
    };
}

static void controls_init(struct usnic_module *usnic)
{
    for (size_t i = 0; i < USNIC_CONTROLS; i++) {
        usnic->controls[i].bytes = usnic_port_carve(&usnic->port, 1) + usnic->port.prefix;
        list_append(&usnic->free_controls, &usnic->controls[i].link);
    }
}

static int engine_open(struct usnic_module *usnic)
{
    const struct usnic_params *params = &usnic->params;
    const struct usnic_engine_config config = {
        .memory = usnic_port_carve(&usnic->port, params->tx_buffers),
        .segments = params->tx_buffers,
        .segment_bytes = usnic_port_stride(&usnic->port),
        .prefix = usnic->port.prefix,
        .priority_bytes = usnic->port.sockets > 1 ? PRIORITY_BYTES : 0,
        .room = usnic_port_room(),
        .small_bytes = SMALL_BYTES,
        .small_charge = SMALL_CHARGE,
        .full_charge = FULL_CHARGE,
        .receive_buffers = params->rx_buffers, /* early packets may all be of one socket */
        .max_message = params->max_send_size + RDMA_AM_REQUEST_BYTES, /* a put's */
        .pack_after = params->pack_after,
        .ack_delay_us = ACK_DELAY_US,
        .peer_timeout_us = params->peer_us,
    };

    return usnic_engine_init(&usnic->engine, &config, &usnic_engine_user, usnic,
                             usnic_clock(usnic));
}

static int module_open(struct usnic_module *usnic, const struct netif *netif, char *reason,
                       size_t reason_size)
{
    char node[INET6_ADDRSTRLEN];
    const struct usnic_port_config config = port_config(usnic, netif, node);
    struct rdma_am_config am = {.module = &usnic->super,
                                .regions = usnic->regions,
                                .max_ops = MAX_OPS,
                                .put_bytes = usnic->params.max_send_size,
                                .send = usnic_channel_send};
    int status =
        usnic_port_open(&usnic->port, &config, &usnic_port_user, usnic, reason, reason_size);

    if (status != ORTE_SUCCESS) {
        return status;
    }
    controls_init(usnic);
    status = engine_open(usnic);
    if (status == OPAL_SUCCESS) {
        usnic->opened = true;
        status = rdma_am_create(&usnic->am, &am);
    }
    if (status == ORTE_SUCCESS) {
        status = usnic_faults_open(usnic);
    }
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "%s", opal_strerror(status));
    }
    return status;
}

static void lists_init(struct usnic_module *usnic)
{
    const struct usnic_params *params = &usnic->params;
    const struct desc_size sizes[] = {
        {.payload = USNIC_SMALL_PAYLOAD, .limit = params->descs, .per_chunk = 16},
        {.payload = params->max_send_size, .limit = params->descs, .per_chunk = 2},
    };

    desc_set_init(&usnic->descs, sizes, 2, 0);
    pool_init(&usnic->outs, sizeof(struct usnic_out), _Alignof(struct usnic_out), OUTS_PER_CHUNK,
              OUTS_MAX, NULL, NULL);
    list_init(&usnic->free_controls);
    list_init(&usnic->checking);
    list_init(&usnic->leaving);
}

struct usnic_module *usnic_module_create(struct usnic_process *process,
                                         const struct usnic_params *params,
                                         const struct netif *netif, char *reason,
                                         size_t reason_size)
{
    struct usnic_module *usnic = calloc(1, sizeof(*usnic));

    snprintf(reason, reason_size, "out of memory");
    if (!usnic) {
        return NULL;
    }
    usnic->super = module_template;
    if (btl_peers_init(&usnic->peers, &usnic_peer_hooks, &usnic->super, "usnic",
                       sizeof(usnic_endpoint)) != OPAL_SUCCESS) {
        free(usnic);
        return NULL;
    }
    snprintf(usnic->name, sizeof(usnic->name), "usnic:%s", netif->name);
    usnic->peers.name = usnic->name;
    usnic->peers.handshake_us = params->hello_us;
    usnic->peers.flush_us = params->flush_us;
    btl_peers_limit(&usnic->peers, params->peer_us);
    usnic->greeter.ops = &usnic_greeter_ops;
    usnic->greeter.peers = &usnic->peers;
    usnic->params = *params;
    usnic->process = process;
    usnic->regions = process->regions;
    usnic->interface = netif->index;
    usnic->address = SIZE_MAX;
    process->users++;
    lists_init(usnic);
    limits_set(usnic, netif);
    if (module_open(usnic, netif, reason, reason_size) != ORTE_SUCCESS) {
        usnic_module_destroy(usnic);
        return NULL;
    }
    return usnic;
}

int usnic_module_reopen(struct usnic_module *usnic, const struct netif *netif, char *reason,
                        size_t reason_size)
{
    char node[INET6_ADDRSTRLEN];
    const struct usnic_port_config config = port_config(usnic, netif, node);

    usnic->interface = netif->index;
    return usnic_port_reopen(&usnic->port, &config, reason, reason_size);
}

void usnic_module_destroy(struct usnic_module *usnic)
{
    struct usnic_process *process = usnic->process;

    rdma_am_destroy(usnic->am);
    usnic_port_close(&usnic->port);
    if (usnic->opened) {
        usnic_engine_fini(&usnic->engine);
    }
    usnic_faults_close(usnic);
    desc_set_fini(&usnic->descs);
    pool_fini(&usnic->outs);
    btl_peers_fini(&usnic->peers);
    for (size_t i = 0; i < process->count; i++) {
        process->modules[i] = process->modules[i] == usnic ? NULL : process->modules[i];
    }
    free(usnic);
    usnic_process_drop(process);
}

/* ---- progress ---- */

int usnic_progress(mca_btl_base_module_t *btl)
{
    struct usnic_module *usnic = usnic_of(btl);

    usnic_engine_look(&usnic->engine, usnic_clock(usnic));
    int events = usnic_port_poll(&usnic->port, PACKETS_A_PASS);
    if (usnic->faults && events == 0) {
        usnic_faults_flush(usnic);
    }
    events += usnic_engine_progress(&usnic->engine, usnic->now_us);
    if (!list_empty(&usnic->leaving)) {
        usnic_ends_progress(usnic);
    }
    if (!list_empty(&usnic->descs.done)) {
        events += desc_set_finish(btl, &usnic->descs, NULL);
    }
    if (btl_peers_busy(&usnic->peers)) {
        events += btl_peers_progress(&usnic->peers);
    }
    events += rdma_am_progress(usnic->am);
    if (usnic->now_us >= usnic->look_us || !list_empty(&usnic->checking)) {
        usnic_path_progress(usnic);
    }
    usnic->idle_polls = events > 0 ? 0 : usnic->idle_polls + 1;
    return events;
}
