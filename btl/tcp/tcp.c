/* tcp: the rail over sockets. */
#include <config.h>

#include <base/clock.h>
#include <base/log.h>
#include <base/param.h>
#include <btl/tcp/tcp_conn.h>
#include <btl/tcp/tcp_link.h>
#include <btl/tcp/tcp_rdma.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum {
    MAX_REGIONS = 65536,
    MAX_OPS = 4096,
    SMALL_PAYLOAD = 4096,
    BACKLOG = 512,
    EXCLUSIVITY = 100,
    LATENCY_US = 100,
    LOOPBACK_MBPS = 16000,
    UNKNOWN_MBPS = 1000,
};

static mca_btl_base_component_t tcp_component;

/* ---- parameters ---- */

static struct param if_include = {
    .name = "btl_tcp_if_include",
    .type = PARAM_STRING,
    .default_text = "",
    .unit = "",
    .help = "Interfaces (names or CIDR blocks) to use, and no others; empty: all but loopback.",
};
static struct param if_exclude = {
    .name = "btl_tcp_if_exclude",
    .type = PARAM_STRING,
    .default_text = "",
    .unit = "",
    .help = "Interfaces (names or CIDR blocks) not to use.",
};
static struct param eager_limit = {
    .name = "btl_tcp_eager_limit",
    .type = PARAM_SIZE,
    .default_text = "64k",
    .min = 1 << 10,
    .max = TCP_AM_MAX,
    .unit = "bytes",
    .help = "Largest first fragment of a message, headers included.",
};
static struct param max_send_size = {
    .name = "btl_tcp_max_send_size",
    .type = PARAM_SIZE,
    .default_text = "128k",
    .min = SMALL_PAYLOAD,
    .max = TCP_AM_MAX,
    .unit = "bytes",
    .help = "Largest message of btl_send.",
};
static struct param piece_size = {
    .name = "btl_tcp_rdma_piece_size",
    .type = PARAM_SIZE,
    .default_text = "256k",
    .min = 1 << 10,
    .max = TCP_PIECE_MAX,
    .unit = "bytes",
    .help = "Puts and gets go in pieces of this size, so that messages pass between them.",
};
static struct param tx_queue_size = {
    .name = "btl_tcp_tx_queue_size",
    .type = PARAM_SIZE,
    .default_text = "4m",
    .min = 1 << 10,
    .max = INT64_C(1) << 40,
    .unit = "bytes",
    .help = "Messages queued for one peer; a send beyond it is refused for the moment.",
};
static struct param free_list_max = {
    .name = "btl_tcp_free_list_max",
    .type = PARAM_INT,
    .default_text = "4096",
    .min = 1,
    .max = 1 << 20,
    .unit = "",
    .help = "Most descriptors of each size.",
};
static struct param sndbuf = {
    .name = "btl_tcp_sndbuf",
    .type = PARAM_SIZE,
    .default_text = "0",
    .max = 1 << 30,
    .unit = "bytes",
    .help = "Send buffer of a socket; 0: 192 KiB within a host, else the kernel's choice.",
};
static struct param rcvbuf = {
    .name = "btl_tcp_rcvbuf",
    .type = PARAM_SIZE,
    .default_text = "0",
    .max = 1 << 30,
    .unit = "bytes",
    .help = "Receive buffer of a socket; 0: the kernel's choice.",
};
static struct param links = {
    .name = "btl_tcp_links",
    .type = PARAM_INT,
    .default_text = "0",
    .max = TCP_LANES + 1,
    .unit = "links",
    .help = "Links to a peer, for puts and gets; 0: one for each pair of interfaces in a subnet.",
};
static struct param connect_timeout = {
    .name = "btl_tcp_connect_timeout_ms",
    .type = PARAM_INT,
    .default_text = "5000",
    .min = 1,
    .max = 3600000,
    .unit = "ms",
    .help = "Time for one address of a peer to accept a connection.",
};
static struct param hello_timeout = {
    .name = "btl_tcp_hello_timeout_ms",
    .type = PARAM_INT,
    .default_text = "60000",
    .min = 1,
    .max = 3600000,
    .unit = "ms",
    .help = "Time for a connected peer to answer the handshake; it may be busy computing.",
};
static struct param pending_timeout = {
    .name = "btl_tcp_pending_timeout_ms",
    .type = PARAM_INT,
    .default_text = "5000",
    .min = 1,
    .max = 3600000,
    .unit = "ms",
    .help = "Time for an accepted connection to prove who it is.",
};
static struct param flush_timeout = {
    .name = "btl_tcp_flush_timeout_ms",
    .type = PARAM_INT,
    .default_text = "2000",
    .min = 0,
    .max = 3600000,
    .unit = "ms",
    .help = "Time to write out, when a peer is given up, what counts as sent to it.",
};
static struct param bandwidth = {
    .name = "btl_tcp_bandwidth",
    .type = PARAM_INT,
    .default_text = "0",
    .min = 0,
    .max = 1 << 20,
    .unit = "MB/s",
    .help = "Bandwidth by which rails share their load; 0: from the fastest interface.",
};

static struct param *const all_params[] = {
    &if_include,      &if_exclude,    &eager_limit,     &max_send_size, &piece_size,
    &tx_queue_size,   &free_list_max, &sndbuf,          &rcvbuf,        &links,
    &connect_timeout, &hello_timeout, &pending_timeout, &flush_timeout, &bandwidth,
};

static int tcp_register_params(void)
{
    for (size_t i = 0; i < sizeof(all_params) / sizeof(*all_params); i++) {
        param_register(all_params[i]);
    }
    return OPAL_SUCCESS;
}

/* ---- the module's table ---- */

static int tcp_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                         tcp_endpoint **endpoints, opal_bitmap_t *reachable)
{
    return btl_add_each(btl, count, procs, endpoints, reachable, tcp_endpoint_add);
}

static int tcp_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                         tcp_endpoint **endpoints)
{
    tcp_endpoint **eps = malloc(count * sizeof(*eps) + 1);
    size_t kept = 0;

    (void) procs;
    if (!eps) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < count; i++) {
        if (endpoints[i] && tcp_endpoint_is_used(tcp_of(btl), endpoints[i])) {
            eps[kept++] = endpoints[i];
        }
    }
    tcp_endpoints_close(tcp_of(btl), eps, kept);
    free(eps);
    return OPAL_SUCCESS;
}

static mca_btl_base_descriptor_t *tcp_alloc(mca_btl_base_module_t *btl, tcp_endpoint *ep,
                                            uint8_t order, size_t size, uint32_t flags)
{
    (void) ep;
    return desc_alloc(&tcp_of(btl)->descs, order, size, flags);
}

static int tcp_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    (void) btl;
    return desc_free(descriptor);
}

static mca_btl_base_descriptor_t *tcp_prepare_src(mca_btl_base_module_t *btl, tcp_endpoint *ep,
                                                  opal_convertor_t *convertor, uint8_t order,
                                                  size_t reserve, size_t *size, uint32_t flags)
{
    (void) ep;
    return desc_prepare(&tcp_of(btl)->descs, convertor, order, reserve, size, flags, true);
}

static mca_btl_base_registration_handle_t *tcp_register_mem(mca_btl_base_module_t *btl,
                                                            tcp_endpoint *ep, void *base,
                                                            size_t size, uint32_t flags)
{
    return region_add(tcp_of(btl)->regions, ep, base, size, flags);
}

static int tcp_deregister_mem(mca_btl_base_module_t *btl,
                              mca_btl_base_registration_handle_t *handle)
{
    return region_remove(tcp_of(btl)->regions, handle);
}

static int tcp_put(mca_btl_base_module_t *btl, tcp_endpoint *ep, void *local_address,
                   uint64_t remote_address, mca_btl_base_registration_handle_t *local_handle,
                   mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                   int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                   void *cbdata)
{
    struct rdma_call call = {local_address, remote_address, local_handle, remote_handle, size,
                             flags,         order,          cbfunc,       cbcontext,     cbdata};

    tcp_endpoint_rouse(tcp_of(btl), ep);
    return tcp_rdma(ep, &call, false);
}

static int tcp_get(mca_btl_base_module_t *btl, tcp_endpoint *ep, void *local_address,
                   uint64_t remote_address, mca_btl_base_registration_handle_t *local_handle,
                   mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                   int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                   void *cbdata)
{
    struct rdma_call call = {local_address, remote_address, local_handle, remote_handle, size,
                             flags,         order,          cbfunc,       cbcontext,     cbdata};

    tcp_endpoint_rouse(tcp_of(btl), ep);
    return tcp_rdma(ep, &call, true);
}

static int tcp_atomic(mca_btl_base_module_t *btl, tcp_endpoint *ep, const struct atomic_call *call)
{
    struct tcp_module *tcp = tcp_of(btl);

    tcp_endpoint_rouse(tcp, ep);
    if (ep->state >= EP_BROKEN || ep->leaving) {
        return OPAL_ERR_UNREACH;
    }
    tcp_enter(tcp);
    int status = rdma_am_atomic(tcp->am, &ep->am, call);
    tcp_leave(tcp);
    return status;
}

static void endpoint_dump(const tcp_endpoint *ep)
{
    static const char *const states[] = {"idle", "card",   "waiting", "connecting",
                                         "up",   "broken", "closed"};
    size_t ops = 0;

    for (const struct list *link = ep->ops.next; link != &ep->ops; link = link->next) {
        ops++;
    }
    log_write(LOG_BTL, LOG_INFO,
              "tcp: %s: %s, address %zu of %zu, %zu bytes queued, %zu puts and gets, %u pieces "
              "in flight, %u answers owed",
              ORTE_NAME_PRINT(&ep->name), states[ep->state], ep->order_at + 1, ep->order_count,
              ep->queued_bytes, ops, ep->slots_used, ep->answers);
}

static void tcp_dump(mca_btl_base_module_t *btl, tcp_endpoint *ep, int verbose)
{
    struct tcp_module *tcp = tcp_of(btl);
    tcp_endpoint *each;

    (void) verbose;
    if (ep) {
        tcp_endpoint_rouse(tcp, ep);
        endpoint_dump(ep);
        return;
    }
    log_write(LOG_BTL, LOG_INFO, "tcp: %zu listeners, %zu connections without a name yet",
              tcp->listener_count, tcp->pending);
    list_for_each (each, &tcp->endpoints, tcp_endpoint, link) {
        endpoint_dump(each);
    }
}

static void listeners_close(struct tcp_module *tcp)
{
    for (size_t i = 0; i < tcp->listener_count; i++) {
        tcp_source_close(tcp, &tcp->listeners[i]);
    }
    tcp->listener_count = 0;
    tcp->card.count = 0;
}

static void conns_close(struct tcp_module *tcp)
{
    while (!list_empty(&tcp->conns)) {
        tcp_conn_close(container_of(tcp->conns.next, struct tcp_conn, link));
    }
}

static void module_destroy(struct tcp_module *tcp)
{
    listeners_close(tcp);
    fd_close(&tcp->epoll);
    rdma_am_destroy(tcp->am);
    desc_set_fini(&tcp->descs);
    pool_fini(&tcp->items);
    pool_fini(&tcp->ops);
    region_table_destroy(tcp->regions);
    roster_destroy(tcp->roster);
    free(tcp->scratch);
    free(tcp);
}

static struct tcp_module *the_module; /* from init until finalize */

/* All endpoints at once, deputies but for those whose own endpoint is gone excepted. */
static void close_all(struct tcp_module *tcp)
{
    size_t count = 0;
    tcp_endpoint *ep;

    list_for_each (ep, &tcp->endpoints, tcp_endpoint, link) {
        count += ep->deputy == NULL;
    }
    tcp_endpoint **eps = malloc(count * sizeof(*eps) + 1);
    size_t kept = 0;
    list_for_each (ep, &tcp->endpoints, tcp_endpoint, link) {
        if (eps && ep->deputy == NULL) {
            eps[kept++] = ep;
        }
    }
    if (eps) {
        tcp_endpoints_close(tcp, eps, kept);
    }
    free(eps);
}

static int tcp_finalize(mca_btl_base_module_t *btl)
{
    struct tcp_module *tcp = tcp_of(btl);

    tcp->closing = true;
    tcp_enter(tcp);
    close_all(tcp);
    conns_close(tcp);
    tcp_leave(tcp);
    if (the_module == tcp) {
        the_module = NULL;
    }
    module_destroy(tcp);
    return OPAL_SUCCESS;
}

static const mca_btl_base_module_t tcp_template = {
    .btl_component = &tcp_component,
    .btl_rdma_pipeline_send_length = 128 << 10,
    .btl_rdma_pipeline_frag_size = 4 << 20,
    .btl_min_rdma_pipeline_size = 0,
    .btl_exclusivity = EXCLUSIVITY,
    .btl_latency = LATENCY_US,
    .btl_flags = MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_SEND_INPLACE | MCA_BTL_FLAGS_RDMA |
                 MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS,
    .btl_atomic_flags = ATOMIC_ALL_FLAGS,
    .btl_registration_handle_size = sizeof(struct region_handle),
    .btl_get_limit = SIZE_MAX,
    .btl_put_limit = SIZE_MAX,
    .btl_add_procs = tcp_add_procs,
    .btl_del_procs = tcp_del_procs,
    .btl_register = btl_register_tag,
    .btl_finalize = tcp_finalize,
    .btl_alloc = tcp_alloc,
    .btl_free = tcp_free,
    .btl_prepare_src = tcp_prepare_src,
    .btl_send = tcp_send,
    .btl_sendi = btl_sendi_by_send,
    .btl_put = tcp_put,
    .btl_get = tcp_get,
    .btl_dump = tcp_dump,
    .btl_atomic_op = btl_atomic_op,
    .btl_atomic_fop = btl_atomic_fop,
    .btl_atomic_cswap = btl_atomic_cswap,
    .btl_register_mem = tcp_register_mem,
    .btl_deregister_mem = tcp_deregister_mem,
    .btl_register_error = btl_register_error_fn,
    .btl_ft_event = tcp_ft_event,
};

/* ---- the component ---- */

static void params_read(struct tcp_module *tcp)
{
    struct tcp_params *params = &tcp->params;

    params->tx_queue_bytes = (size_t) param_int(&tx_queue_size);
    params->piece_bytes = (size_t) param_int(&piece_size);
    params->sndbuf = (int) param_int(&sndbuf);
    params->rcvbuf = (int) param_int(&rcvbuf);
    params->links = (unsigned) param_int(&links);
    params->connect_us = (uint64_t) param_int(&connect_timeout) * 1000;
    params->hello_us = (uint64_t) param_int(&hello_timeout) * 1000;
    params->pending_us = (uint64_t) param_int(&pending_timeout) * 1000;
    params->flush_us = (uint64_t) param_int(&flush_timeout) * 1000;
    tcp->super.btl_max_send_size = (size_t) param_int(&max_send_size);
    size_t eager = (size_t) param_int(&eager_limit);
    if (eager > tcp->super.btl_max_send_size) {
        eager = tcp->super.btl_max_send_size;
    }
    tcp->super.btl_eager_limit = eager;
    tcp->super.btl_rndv_eager_limit = eager;
}

static void bandwidth_set(struct tcp_module *tcp)
{
    uint32_t fastest = 0;

    for (size_t i = 0; i < tcp->card.count; i++) {
        uint32_t speed = tcp->card.addresses[i].speed_mbps;
        fastest = speed > fastest ? speed : fastest;
    }
    uint32_t set = (uint32_t) param_int(&bandwidth);
    tcp->super.btl_bandwidth = set ? set : (fastest ? fastest : UNKNOWN_MBPS) / 8;
}

/* Listens on one interface's address; one that does not work is left out. */
static void listener_add(struct tcp_module *tcp, const struct netif *netif)
{
    struct tcp_address *address = &tcp->card.addresses[tcp->card.count];
    struct tcp_source *source = &tcp->listeners[tcp->listener_count];
    struct sock_addr bound;

    if (tcp->card.count == TCP_CARD_ADDRESSES || !tcp_address_set(address, netif, 0)) {
        return;
    }
    int fd = sock_listen(&netif->addr, BACKLOG);
    if (fd < 0) {
        log_info(LOG_BTL, "tcp: %s: listen: %s", netif->name, strerror(-fd));
        return;
    }
    *source = (struct tcp_source){.kind = TCP_SOURCE_LISTENER, .fd = fd};
    if (sock_local_addr(fd, &bound) != 0 || tcp_watch(tcp, source, EPOLLIN) != OPAL_SUCCESS) {
        tcp_source_close(tcp, source);
        return;
    }
    address->port = sock_addr_port(&bound);
    address->interface = if_nametoindex(netif->name);
    if (netif->loopback && address->speed_mbps == 0) {
        address->speed_mbps = LOOPBACK_MBPS;
    }
    tcp->card.count++;
    tcp->listener_count++;
}

static int listeners_open(struct tcp_module *tcp)
{
    char reason[200] = "";
    struct netif *list = NULL;
    size_t count = 0;

    int status = netif_list(param_string(&if_include), param_string(&if_exclude), &list, &count,
                            reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        log_warn(LOG_BTL, "tcp: interfaces: %s", reason);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        listener_add(tcp, &list[i]);
    }
    free(list);
    return tcp->listener_count > 0 ? OPAL_SUCCESS : OPAL_ERR_NOT_AVAILABLE;
}

static int card_publish(struct tcp_module *tcp)
{
    uint8_t bytes[TCP_CARD_BYTES];
    char key[BTL_CARD_KEY];

    btl_card_key(key, TCP_CARD_NAME, tcp->life);
    crypto_random(&tcp->card.incarnation, sizeof(tcp->card.incarnation));
    tcp->card.netstack = tcp_netstack();
    return tcp->host.ops->put_card(tcp->host.arg, key, bytes, tcp_card_encode(bytes, &tcp->card));
}

int tcp_reopen(struct tcp_module *tcp)
{
    tcp_enter(tcp);
    conns_close(tcp);
    listeners_close(tcp);
    tcp_leave(tcp);
    tcp->life++;
    int status = listeners_open(tcp);
    return status == OPAL_SUCCESS ? card_publish(tcp) : status;
}

struct tcp_module *tcp_module(void)
{
    return the_module;
}

/* All that needs no network. NULL: no memory or no descriptors. */
static struct tcp_module *module_alloc(void)
{
    struct tcp_module *tcp = calloc(1, sizeof(*tcp));

    if (!tcp) {
        return NULL;
    }
    tcp->super = tcp_template;
    params_read(tcp);
    tcp->host = *btl_host();
    tcp->me = tcp->host.ops->me(tcp->host.arg)->proc_name;
    list_init(&tcp->endpoints);
    list_init(&tcp->waiting);
    list_init(&tcp->conns);
    list_init(&tcp->active);
    list_init(&tcp->ended);
    size_t limit = (size_t) param_int(&free_list_max);
    const struct desc_size sizes[] = {
        {.payload = SMALL_PAYLOAD, .limit = limit, .per_chunk = 16},
        {.payload = tcp->super.btl_max_send_size, .limit = limit, .per_chunk = 2},
    };
    desc_set_init(&tcp->descs, sizes, 2, 0);
    pool_init(&tcp->items, sizeof(struct tcp_item), _Alignof(struct tcp_item), 64, 0, NULL, NULL);
    pool_init(&tcp->ops, sizeof(struct tcp_op), _Alignof(struct tcp_op), 16, MAX_OPS, NULL, NULL);
    tcp->regions = region_table_create(MAX_REGIONS);
    tcp->roster = roster_create(sizeof(tcp_endpoint));
    tcp->scratch = malloc(TCP_SCRATCH_BYTES);
    tcp->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct rdma_am_config am = {
        .module = &tcp->super, .regions = tcp->regions, .max_ops = MAX_OPS, .send = tcp_send_frame};
    if (!tcp->regions || !tcp->roster || rdma_am_create(&tcp->am, &am) != ORTE_SUCCESS ||
        !tcp->scratch || tcp->epoll < 0) {
        module_destroy(tcp);
        return NULL;
    }
    return tcp;
}

static struct tcp_module *module_create(void)
{
    struct tcp_module *tcp = crypto_open() == ORTE_SUCCESS ? module_alloc() : NULL;

    if (!tcp) {
        return NULL;
    }
    if (listeners_open(tcp) != OPAL_SUCCESS || card_publish(tcp) != OPAL_SUCCESS) {
        module_destroy(tcp);
        return NULL;
    }
    bandwidth_set(tcp);
    return tcp;
}

static mca_btl_base_module_t **tcp_init(int *count, bool progress_threads, bool threads)
{
    (void) progress_threads, (void) threads;
    the_module = module_create();
    mca_btl_base_module_t **modules = btl_one_module(the_module ? &the_module->super : NULL, count);
    the_module = modules ? the_module : NULL;
    return modules;
}

static int tcp_progress(void)
{
    return tcp_poll(the_module);
}

static bool tcp_active(void)
{
    return !list_empty(&the_module->active) || !list_empty(&the_module->conns) ||
           !list_empty(&the_module->waiting);
}

static mca_btl_base_component_t tcp_component = {
    .btl_version = {MCA_BTL_DEFAULT_VERSION("tcp"),
                    .mca_register_component_params = tcp_register_params},
    .btl_init = tcp_init,
    .btl_progress = tcp_progress,
};

const struct btl_component btl_tcp_component = {
    .component = &tcp_component,
    .active = tcp_active,
    .atomic = tcp_atomic,
    .ext = &tcp_ext,
};
