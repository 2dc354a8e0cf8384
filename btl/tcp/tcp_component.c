/* The component: parameters, the modules that it opens. */
#include <config.h>

#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/framework/stats.h>
#include <btl/peers/netdevice.h>
#include <btl/tcp/tcp_rdma.h>
#include <stdlib.h>

_Static_assert(TCP_AM_MAX >= 4 << 20 && TCP_SMALL_PAYLOAD <= 4 << 10, "btl_common.max_send_size");
static struct {
    struct param if_include, if_exclude, eager_limit, max_send_size, piece_size, tx_queue_size,
        free_list_max, sndbuf, rcvbuf, links, connect_timeout, hello_timeout, pending_timeout,
        flush_timeout, silence_timeout, bandwidth, exclusivity;
} params = {
    .if_include = PARAM_STRING(
        "btl_tcp_if_include", "",
        "Interfaces (names or CIDR blocks) to use, and no others; empty: all but loopback."),
    .if_exclude =
        PARAM_STRING("btl_tcp_if_exclude", "", "Interfaces (names or CIDR blocks) not to use."),
    .eager_limit = PARAM_LIKE("btl_tcp_eager_limit", "64k", &btl_common.eager_limit, NULL),
    .max_send_size = PARAM_LIKE("btl_tcp_max_send_size", "128k", &btl_common.max_send_size, NULL),
    .piece_size =
        PARAM_SIZE("btl_tcp_rdma_piece_size", "256k", 1 << 10, TCP_PIECE_MAX,
                   "Puts and gets go in pieces of this size, so that messages pass between them."),
    .tx_queue_size =
        PARAM_SIZE("btl_tcp_tx_queue_size", "4m", 1 << 10, INT64_C(1) << 40,
                   "Messages queued for one peer; a send beyond it is refused for the moment."),
    .free_list_max = PARAM_INT("btl_tcp_free_list_max", "4096", 1, 1 << 20, "",
                               "Most descriptors of each size."),
    .sndbuf =
        PARAM_SIZE("btl_tcp_sndbuf", "0", 0, 1 << 30,
                   "Send buffer of a socket; 0: 192 KiB within a host, else the kernel's choice."),
    .rcvbuf = PARAM_SIZE("btl_tcp_rcvbuf", "0", 0, 1 << 30,
                         "Receive buffer of a socket; 0: the kernel's choice."),
    .links = PARAM_INT("btl_tcp_links", "1", 1, TCP_LANES + 1, "links",
                       "Links of a rail, over the same interface; puts and gets use all of them."),
    .connect_timeout = PARAM_INT("btl_tcp_connect_timeout_ms", "5000", 1, 3600000, "ms",
                                 "Time for one address of a peer to accept a connection; all are "
                                 "tried again for three times that."),
    .hello_timeout =
        PARAM_LIKE("btl_tcp_hello_timeout_ms", "60000", &btl_common.hello_timeout,
                   "Time for a connected peer to answer the handshake; it may be busy computing."),
    .pending_timeout = PARAM_INT("btl_tcp_pending_timeout_ms", "15000", 1, 3600000, "ms",
                                 "Time for an accepted connection to prove who it is; eight round "
                                 "trips, if those are longer, but at most four times as long."),
    .flush_timeout =
        PARAM_LIKE("btl_tcp_flush_timeout_ms", "2000", &btl_common.flush_timeout,
                   "Time to write out, when a peer is given up, what counts as sent to it."),
    .silence_timeout = PARAM_INT("btl_tcp_timeout_ms", "5000", 0, 3600000, "ms",
                                 "A link whose peer's host acknowledges and answers nothing for so "
                                 "long has failed; 0: none has."),
    .bandwidth = PARAM_LIKE(
        "btl_tcp_bandwidth", "0", &btl_common.bandwidth,
        "Bandwidth of each interface, by which rails share their load; 0: as the kernel says."),
    .exclusivity = PARAM_LIKE("btl_tcp_exclusivity", "100", &btl_common.exclusivity, NULL),
};
PARAM_ROWS("btl", params);

static struct tcp_params params_read(void)
{
    struct tcp_params read = {
        .if_include = param_string(&params.if_include),
        .if_exclude = param_string(&params.if_exclude),
        .eager_limit = (size_t) param_int(&params.eager_limit),
        .max_send_size = (size_t) param_int(&params.max_send_size),
        .piece_bytes = (size_t) param_int(&params.piece_size),
        .tx_queue_bytes = (size_t) param_int(&params.tx_queue_size),
        .descs = (size_t) param_int(&params.free_list_max),
        .sndbuf = (int) param_int(&params.sndbuf),
        .rcvbuf = (int) param_int(&params.rcvbuf),
        .links = (unsigned) param_int(&params.links),
        .bandwidth = (uint32_t) param_int(&params.bandwidth),
        .exclusivity = (uint32_t) param_int(&params.exclusivity),
        .connect_us = (uint64_t) param_int(&params.connect_timeout) * 1000,
        .hello_us = (uint64_t) param_int(&params.hello_timeout) * 1000,
        .pending_us = (uint64_t) param_int(&params.pending_timeout) * 1000,
        .flush_us = (uint64_t) param_int(&params.flush_timeout) * 1000,
        .silence_us = (uint64_t) param_int(&params.silence_timeout) * 1000,
    };

    if (read.eager_limit > read.max_send_size) {
        log_warn(LOG_BTL, "btl_tcp_eager_limit is above btl_tcp_max_send_size and lowered to it");
        read.eager_limit = read.max_send_size;
    }
    return read;
}

static mca_btl_base_module_t **tcp_init(int *count, bool progress_threads, bool threads)
{
    struct tcp_params values = params_read();
    char reason[256] = "out of memory";
    mca_btl_base_module_t **modules = calloc(NETCARD_ADDRESSES, sizeof(*modules));

    (void) progress_threads, (void) threads;
    int status = modules ? tcp_process_open(modules, &values, reason, sizeof(reason))
                         : OPAL_ERR_OUT_OF_RESOURCE;
    if (status != OPAL_SUCCESS) {
        log_at(LOG_BTL, status == OPAL_ERR_NOT_AVAILABLE ? LOG_INFO : LOG_WARN,
               "tcp: no rail over sockets: %s", reason);
    }
    *count = NETCARD_ADDRESSES;
    return modules;
}

static bool tcp_active(mca_btl_base_module_t *btl)
{
    const struct tcp_module *tcp = tcp_of(btl);

    return !list_empty(&tcp->active) || !list_empty(&tcp->conns.by_age) ||
           btl_peers_busy(&tcp->peers);
}

static const char *tcp_name(const mca_btl_base_module_t *btl)
{
    return ((const struct tcp_module *) (const void *) btl)->name;
}

static void tcp_devices(keel_device_fn visit, void *arg)
{
    netdevices_each(param_string(&params.if_include), param_string(&params.if_exclude), visit, arg);
}

static const struct btl_stat stats[] = {
    {"links", "links", "Connections that came up, lanes among them.",
     BTL_STAT_AT(struct tcp_module, counts.links)},
    {"silent_links", "links", "Links given up because the peer's host was silent.",
     BTL_STAT_AT(struct tcp_module, counts.silences)},
    {"writes", "calls", "Writes to sockets that took something.",
     BTL_STAT_AT(struct tcp_module, counts.writes)},
    {"bytes_written", "bytes", "Bytes of them, headers included.",
     BTL_STAT_AT(struct tcp_module, counts.bytes_written)},
    {"blocked_writes", "calls", "Writes to sockets that were full.",
     BTL_STAT_AT(struct tcp_module, counts.blocked)},
    {"reads", "calls", "Reads from sockets that found something.",
     BTL_STAT_AT(struct tcp_module, counts.reads)},
    {"bytes_read", "bytes", "Bytes of them, headers included.",
     BTL_STAT_AT(struct tcp_module, counts.bytes_read)},
    {NULL, NULL, NULL, 0},
};

struct btl_component btl_tcp_component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("tcp")},
                  .btl_init = tcp_init,
                  .btl_progress = btl_progress},
    .progress = tcp_poll,
    .restart = tcp_restart,
    .peers_at = offsetof(struct tcp_module, peers),
    .name = tcp_name,
    .describe = tcp_describe,
    .end = tcp_endpoints_end,
    .active = tcp_active,
    .rdma = tcp_rdma,
    .atomic = tcp_atomic,
    .ext = &tcp_ext,
    .stats = stats,
    .devices = tcp_devices,
};
