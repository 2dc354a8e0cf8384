/* tcp: the rail over sockets. The module: its table, its parts, its end. */
#include <config.h>

#include <base/data/clock.h>
#include <btl/tcp/tcp_conn.h>
#include <btl/tcp/tcp_link.h>
#include <btl/tcp/tcp_rdma.h>
#include <btl/tcp/tcp_silence.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum {
    DEADLINE_TICK_US = 1000,
    MAX_OPS = 4096,
    LATENCY_US = 100,
};

int tcp_atomic(mca_btl_base_module_t *btl, tcp_endpoint *ep, const struct atomic_call *call)
{
    struct tcp_module *tcp = tcp_of(btl);
    int status = tcp_endpoint_begin(tcp, ep);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    tcp_enter(tcp);
    status = rdma_am_atomic(tcp->am, &ep->am, call);
    tcp_leave(tcp);
    return status;
}

void tcp_describe(mca_btl_base_module_t *btl, tcp_endpoint *ep, char *text, size_t size)
{
    const struct tcp_module *tcp = tcp_of(btl);

    if (ep) {
        tcp_endpoint_describe(ep, text, size);
    } else {
        snprintf(text, size, "%zu listeners, %zu connections without a name yet",
                 tcp->listener_count, tcp->conns.pending);
    }
}

void tcp_module_destroy(struct tcp_module *tcp)
{
    tcp_listeners_close(tcp);
    tcp->process->modules[tcp->number] = NULL;
    tcp_process_drop(tcp->process);
    fd_close(&tcp->timer.fd);
    fd_close(&tcp->epoll);
    rdma_am_destroy(tcp->am);
    desc_set_fini(&tcp->descs);
    pool_fini(&tcp->items);
    pool_fini(&tcp->ops);
    btl_peers_fini(&tcp->peers);
    free(tcp->scratch);
    free(tcp);
}

static int tcp_finalize(mca_btl_base_module_t *btl)
{
    struct tcp_module *tcp = tcp_of(btl);

    tcp_enter(tcp);
    btl_peers_end_all(&tcp->peers);
    tcp_conns_close(tcp);
    tcp_leave(tcp);
    tcp_module_destroy(tcp);
    return OPAL_SUCCESS;
}

static int tcp_ft_event(int state)
{
    return btl_component_ft_event(&btl_tcp_component, state);
}

static const mca_btl_base_module_t tcp_template = {
    BTL_MODULE_TABLE,
    .btl_component = &btl_tcp_component.component,
    .btl_rdma_pipeline_send_length = 128 << 10,
    .btl_rdma_pipeline_frag_size = 4 << 20,
    .btl_latency = LATENCY_US,
    .btl_flags = BTL_MODULE_FLAGS | MCA_BTL_FLAGS_SEND_INPLACE,
    .btl_finalize = tcp_finalize,
    .btl_alloc = btl_alloc,
    .btl_prepare_src = btl_prepare_src,
    .btl_send = btl_send_by_channel,
    .btl_sendi = btl_sendi_by_send,
    .btl_register_mem = btl_register_mem,
    .btl_deregister_mem = btl_deregister_mem,
    .btl_ft_event = tcp_ft_event,
};

static void set_limits(mca_btl_base_module_t *btl, const struct tcp_params *params)
{
    *btl = tcp_template;
    btl->btl_eager_limit = params->eager_limit;
    btl->btl_rndv_eager_limit = params->eager_limit;
    btl->btl_max_send_size = params->max_send_size;
    btl->btl_exclusivity = params->exclusivity;
}

static void lists_init(struct tcp_module *tcp)
{
    list_init(&tcp->conns.by_age);
    list_init(&tcp->active);
    list_init(&tcp->ended);
    wheel_init(&tcp->conns.timeouts, DEADLINE_TICK_US, clock_us());
}

static void pools_init(struct tcp_module *tcp)
{
    const struct tcp_params *params = &tcp->params;
    const struct desc_size sizes[] = {
        {.payload = TCP_SMALL_PAYLOAD, .limit = params->descs, .per_chunk = 16},
        {.payload = params->max_send_size, .limit = params->descs, .per_chunk = 2},
    };

    desc_set_init(&tcp->descs, sizes, 2, 0);
    pool_init(&tcp->items, sizeof(struct tcp_item), _Alignof(struct tcp_item), 64, 0, NULL, NULL);
    pool_init(&tcp->ops, sizeof(struct tcp_op), _Alignof(struct tcp_op), 16, MAX_OPS, NULL, NULL);
}

/* Takes a place among the process's modules; false: there is none. */
static bool process_join(struct tcp_process *process, struct tcp_module *tcp)
{
    for (tcp->number = 0; tcp->number < NETCARD_ADDRESSES; tcp->number++) {
        if (!process->modules[tcp->number]) {
            process->modules[tcp->number] = tcp;
            process->users++;
            tcp->process = process;
            tcp->regions = process->regions;
            return true;
        }
    }
    return false;
}

struct tcp_module *tcp_module_create(struct tcp_process *process, const struct tcp_params *params)
{
    struct tcp_module *tcp = calloc(1, sizeof(*tcp));

    if (!tcp || !process_join(process, tcp)) {
        free(tcp);
        return NULL;
    }
    set_limits(&tcp->super, params);
    crypto_random(&tcp->chance, sizeof(tcp->chance));
    tcp->params = *params;
    tcp->timer = (struct tcp_source){.kind = TCP_SOURCE_TIMER, .fd = -1};
    lists_init(tcp);
    pools_init(tcp);
    int status =
        btl_peers_init(&tcp->peers, &tcp_peer_hooks, &tcp->super, "tcp", sizeof(tcp_endpoint));
    tcp->peers.name = tcp->name;
    tcp->peers.handshake_us = params->hello_us;
    tcp->peers.flush_us = params->flush_us;
    btl_peers_limit(&tcp->peers, params->silence_us);
    tcp->scratch = malloc(TCP_SCRATCH_BYTES);
    tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct rdma_am_config am = {.module = &tcp->super,
                                .regions = tcp->regions,
                                .max_ops = MAX_OPS,
                                .send = tcp_channel_send};
    if (status != OPAL_SUCCESS || rdma_am_create(&tcp->am, &am) != ORTE_SUCCESS || !tcp->scratch ||
        tcp->epoll < 0 || tcp_silence_open(tcp) != OPAL_SUCCESS) {
        tcp_module_destroy(tcp);
        return NULL;
    }
    return tcp;
}
