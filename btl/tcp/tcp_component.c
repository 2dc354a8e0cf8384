/* The component: parameters, the modules that it opens. */
#include <config.h>

#include <base/log.h>
#include <base/name.h>
#include <base/param.h>
#include <btl/tcp/tcp_rdma.h>
#include <stdlib.h>

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
    .min = TCP_SMALL_PAYLOAD,
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
    .default_text = "1",
    .min = 1,
    .max = TCP_LANES + 1,
    .unit = "links",
    .help = "Links of a rail, over the same interface; puts and gets use all of them.",
};
static struct param connect_timeout = {
    .name = "btl_tcp_connect_timeout_ms",
    .type = PARAM_INT,
    .default_text = "5000",
    .min = 1,
    .max = 3600000,
    .unit = "ms",
    .help = "Time for one address of a peer to accept a connection; all are tried again for three "
            "times that.",
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
    .default_text = "15000",
    .min = 1,
    .max = 3600000,
    .unit = "ms",
    .help = "Time for an accepted connection to prove who it is; eight round trips, if those are "
            "longer, but at most four times as long.",
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
static struct param silence_timeout = {
    .name = "btl_tcp_timeout_ms",
    .type = PARAM_INT,
    .default_text = "5000",
    .min = 0,
    .max = 3600000,
    .unit = "ms",
    .help = "A link whose peer's host acknowledges nothing for so long has failed; 0: none has.",
};
static struct param bandwidth = {
    .name = "btl_tcp_bandwidth",
    .type = PARAM_INT,
    .default_text = "0",
    .min = 0,
    .max = 1 << 20,
    .unit = "MB/s",
    .help = "Bandwidth of each interface, by which rails share their load; 0: as the kernel says.",
};
static struct param exclusivity = {
    .name = "btl_tcp_exclusivity",
    .type = PARAM_INT,
    .default_text = "100",
    .min = 0,
    .max = MCA_BTL_EXCLUSIVITY_HIGH,
    .unit = "",
    .help = "Of the modules that reach a peer, those with the highest are its rails.",
};

static struct param *const all_params[] = {
    &if_include,      &if_exclude,    &eager_limit,     &max_send_size, &piece_size,
    &tx_queue_size,   &free_list_max, &sndbuf,          &rcvbuf,        &links,
    &connect_timeout, &hello_timeout, &pending_timeout, &flush_timeout, &silence_timeout,
    &bandwidth,       &exclusivity,
};

static int tcp_register_params(void)
{
    for (size_t i = 0; i < sizeof(all_params) / sizeof(*all_params); i++) {
        param_register(all_params[i]);
    }
    return OPAL_SUCCESS;
}

static struct tcp_params params_read(void)
{
    struct tcp_params params = {
        .if_include = param_string(&if_include),
        .if_exclude = param_string(&if_exclude),
        .eager_limit = (size_t) param_int(&eager_limit),
        .max_send_size = (size_t) param_int(&max_send_size),
        .piece_bytes = (size_t) param_int(&piece_size),
        .tx_queue_bytes = (size_t) param_int(&tx_queue_size),
        .descs = (size_t) param_int(&free_list_max),
        .sndbuf = (int) param_int(&sndbuf),
        .rcvbuf = (int) param_int(&rcvbuf),
        .links = (unsigned) param_int(&links),
        .bandwidth = (uint32_t) param_int(&bandwidth),
        .exclusivity = (uint32_t) param_int(&exclusivity),
        .connect_us = (uint64_t) param_int(&connect_timeout) * 1000,
        .hello_us = (uint64_t) param_int(&hello_timeout) * 1000,
        .pending_us = (uint64_t) param_int(&pending_timeout) * 1000,
        .flush_us = (uint64_t) param_int(&flush_timeout) * 1000,
        .silence_us = (uint64_t) param_int(&silence_timeout) * 1000,
    };

    if (params.eager_limit > params.max_send_size) {
        log_warn(LOG_BTL, "btl_tcp_eager_limit is above btl_tcp_max_send_size and lowered to it");
        params.eager_limit = params.max_send_size;
    }
    return params;
}

static mca_btl_base_module_t **tcp_init(int *count, bool progress_threads, bool threads)
{
    struct tcp_params params = params_read();
    char reason[256] = "out of memory";
    mca_btl_base_module_t **modules = calloc(NETCARD_ADDRESSES, sizeof(*modules));

    (void) progress_threads, (void) threads;
    int status = modules ? tcp_process_open(modules, &params, reason, sizeof(reason))
                         : OPAL_ERR_OUT_OF_RESOURCE;
    if (status != OPAL_SUCCESS) {
        log_at(LOG_BTL, status == OPAL_ERR_NOT_AVAILABLE ? LOG_INFO : LOG_WARN,
               "tcp: no rail over sockets: %s", reason);
    }
    *count = NETCARD_ADDRESSES;
    return modules;
}

static int tcp_progress(mca_btl_base_module_t *btl)
{
    return tcp_poll(tcp_of(btl));
}

static bool tcp_active(mca_btl_base_module_t *btl)
{
    const struct tcp_module *tcp = tcp_of(btl);

    return !list_empty(&tcp->active) || !list_empty(&tcp->conns) || btl_peers_busy(&tcp->peers);
}

static bool tcp_reaches(mca_btl_base_module_t *btl, const opal_proc_t *proc)
{
    return btl_peers_reach(&tcp_of(btl)->peers, proc);
}

static uint32_t *tcp_added(mca_btl_base_module_t *btl, const tcp_endpoint *ep)
{
    return roster_added(tcp_of(btl)->peers.roster, ep);
}

static const char *tcp_name(const mca_btl_base_module_t *btl)
{
    return ((const struct tcp_module *) (const void *) btl)->name;
}

static tcp_endpoint *tcp_add(mca_btl_base_module_t *btl, opal_proc_t *proc)
{
    struct tcp_module *tcp = tcp_of(btl);
    const struct tcp_card *card = &tcp->process->card;
    struct netcard_pair pair;
    bool subnet, itself = name_equal(&proc->proc_name, &tcp->peers.me);

    if (itself && tcp_card_pair(&pair, &subnet, card, card, tcp->interface) != OPAL_SUCCESS) {
        return NULL;
    }
    return (tcp_endpoint *) (void *) btl_peer_add(&tcp->peers, proc);
}

static void tcp_retry(mca_btl_base_module_t *btl, tcp_endpoint *ep, bool on)
{
    (void) btl;
    btl_peer_retry(&ep->peer, on);
}

static void tcp_ended(mca_btl_base_module_t *btl, tcp_endpoint *ep)
{
    btl_peer_died(&tcp_of(btl)->peers, &ep->peer);
}

struct btl_component btl_tcp_component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("tcp"),
                                  .mca_register_component_params = tcp_register_params},
                  .btl_init = tcp_init,
                  .btl_progress = btl_progress},
    .progress = tcp_progress,
    .restart = tcp_restart,
    .reaches = tcp_reaches,
    .name = tcp_name,
    .add = tcp_add,
    .added = tcp_added,
    .end = tcp_endpoints_end,
    .active = tcp_active,
    .rdma = tcp_rdma,
    .atomic = tcp_atomic,
    .ext = &tcp_ext,
    .ended = tcp_ended,
    .retry = tcp_retry,
};
