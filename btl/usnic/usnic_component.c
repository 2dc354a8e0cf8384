/* The component: parameters, the modules that it opens, their statistics. */
#include <config.h>

#include <base/net/netif.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <btl/fabric/fabric_device.h>
#include <btl/framework/stats.h>
#include <btl/usnic/usnic_peer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ACTIVE_POLLS = 1024 /* after the last event, polls are cheap to have */ };

static const char *const sum_choices[] = {
    [SUM_AUTO] = "auto", [SUM_OFF] = "no", [SUM_ON] = "yes", NULL};

static struct {
    struct param provider, if_include, if_exclude, channels, mtu, checksum, eager_limit,
        max_send_size, pack_after, tx_queue_size, free_list_max, rx_buffers, tx_buffers,
        peer_timeout, hello_timeout, flush_timeout, connectivity_map, bandwidth, exclusivity;
} params = {
    .provider = PARAM_STRING("btl_usnic_provider", "udp",
                             "Exact name of libfabric's provider of datagrams."),
    .if_include = PARAM_STRING(
        "btl_usnic_if_include", "",
        "Interfaces (names or CIDR blocks) to use, and no others; empty: all but loopback."),
    .if_exclude =
        PARAM_STRING("btl_usnic_if_exclude", "", "Interfaces (names or CIDR blocks) not to use."),
    .channels = PARAM_INT("btl_usnic_channels", "1", 1, USNIC_SOCKETS, "sockets",
                          "Sockets of a device; with 2, acknowledgements and small messages do "
                          "not wait behind large ones."),
    .mtu = PARAM_INT("btl_usnic_mtu", "0", 0, USNIC_PACKET_MOST, "bytes",
                     "Largest packet, headers of IP and UDP not included; at least 512; 0: as the "
                     "device and the provider have it."),
    .checksum = PARAM_ENUM("btl_usnic_checksum", "auto", sum_choices,
                           "Packets have a CRC32C, and those without are dropped; it is "
                           "enough that one of two processes has it so. auto: over udp."),
    .eager_limit = PARAM_LIKE("btl_usnic_eager_limit", "8k", &btl_common.eager_limit, NULL),
    .max_send_size = PARAM_LIKE("btl_usnic_max_send_size", "64k", &btl_common.max_send_size,
                                "Largest message of btl_send; the same in all processes."),
    .pack_after = PARAM_INT("btl_usnic_pack_after", "32", 0, 4096, "packets",
                            "So many packets sent to a peer since the last progress let small "
                            "messages share one until the next; 0: each goes at once."),
    .tx_queue_size =
        PARAM_SIZE("btl_usnic_tx_queue_size", "4m", 1 << 10, INT64_C(1) << 40,
                   "Messages queued for one peer; a send beyond it is refused for the moment."),
    .free_list_max = PARAM_INT("btl_usnic_free_list_max", "4096", 1, 1 << 20, "",
                               "Most descriptors of each size."),
    .rx_buffers = PARAM_INT("btl_usnic_rx_buffers", "512", 16, 16384, "",
                            "Receive buffers of a socket; half of them may hold early packets."),
    .tx_buffers = PARAM_INT("btl_usnic_tx_buffers", "4096", 16, 1 << 20, "",
                            "Packets of a device that are not acknowledged, to all peers together; "
                            "memory is used as they are filled."),
    .peer_timeout = PARAM_INT("btl_usnic_peer_timeout_ms", "60000", 1, 3600000, "ms",
                              "A peer that acknowledges nothing for so long has failed."),
    .hello_timeout =
        PARAM_LIKE("btl_usnic_hello_timeout_ms", "60000", &btl_common.hello_timeout, NULL),
    .flush_timeout =
        PARAM_LIKE("btl_usnic_flush_timeout_ms", "2000", &btl_common.flush_timeout, NULL),
    .connectivity_map = PARAM_STRING(
        "btl_usnic_connectivity_map", "",
        "File to which each process adds a line for each path: its ends, and what passes."),
    .bandwidth = PARAM_LIKE(
        "btl_usnic_bandwidth", "0", &btl_common.bandwidth,
        "Bandwidth of each device, by which rails share their load; 0: as the kernel says."),
    .exclusivity = PARAM_LIKE("btl_usnic_exclusivity", "1024", &btl_common.exclusivity, NULL),
};
PARAM_ROWS("btl", params);

bool usnic_checksum_of(int64_t choice, const char *provider)
{
    return choice == SUM_AUTO ? strcmp(provider, "udp") == 0 : choice == SUM_ON;
}

static struct usnic_params params_read(void)
{
    struct usnic_params read = {
        .provider = param_string(&params.provider),
        .if_include = param_string(&params.if_include),
        .if_exclude = param_string(&params.if_exclude),
        .map = param_string(&params.connectivity_map),
        .eager_limit = (size_t) param_int(&params.eager_limit),
        .max_send_size = (size_t) param_int(&params.max_send_size),
        .tx_queue_bytes = (size_t) param_int(&params.tx_queue_size),
        .descs = (size_t) param_int(&params.free_list_max),
        .rx_buffers = (size_t) param_int(&params.rx_buffers),
        .tx_buffers = (size_t) param_int(&params.tx_buffers),
        .sockets = (size_t) param_int(&params.channels),
        .pack_after = (size_t) param_int(&params.pack_after),
        .mtu = (size_t) param_int(&params.mtu),
        .checksum = usnic_checksum_of(param_int(&params.checksum), param_string(&params.provider)),
        .bandwidth = (uint32_t) param_int(&params.bandwidth),
        .exclusivity = (uint32_t) param_int(&params.exclusivity),
        .peer_us = (uint64_t) param_int(&params.peer_timeout) * 1000,
        .hello_us = (uint64_t) param_int(&params.hello_timeout) * 1000,
        .flush_us = (uint64_t) param_int(&params.flush_timeout) * 1000,
    };

    if (read.eager_limit > read.max_send_size) {
        log_warn(LOG_BTL,
                 "btl_usnic_eager_limit is above btl_usnic_max_send_size and lowered to it");
        read.eager_limit = read.max_send_size;
    }
    if (read.mtu > 0 && read.mtu < USNIC_PACKET_LEAST) {
        log_warn(LOG_BTL, "btl_usnic_mtu is below %d bytes and raised to it", USNIC_PACKET_LEAST);
        read.mtu = USNIC_PACKET_LEAST;
    }
    return read;
}

static mca_btl_base_module_t **init(int *count, bool progress_threads, bool threads)
{
    struct usnic_params values = params_read();
    char reason[300] = "out of memory";
    mca_btl_base_module_t **modules = calloc(NETCARD_ADDRESSES, sizeof(*modules));

    (void) progress_threads, (void) threads;
    int status = modules ? usnic_process_open(modules, &values, reason, sizeof(reason))
                         : OPAL_ERR_OUT_OF_RESOURCE;
    if (status != OPAL_SUCCESS) {
        log_warn(LOG_BTL, "usnic: not opened: %s", reason);
    }
    *count = modules ? NETCARD_ADDRESSES : 0;
    return modules;
}

static bool active(mca_btl_base_module_t *btl)
{
    const struct usnic_module *usnic = usnic_of(btl);

    return usnic->idle_polls < ACTIVE_POLLS || usnic_engine_busy(&usnic->engine) ||
           btl_peers_busy(&usnic->peers) || !list_empty(&usnic->descs.done) ||
           !list_empty(&usnic->checking) || rdma_am_active(usnic->am);
}

static const char *name(const mca_btl_base_module_t *btl)
{
    return ((const struct usnic_module *) (const void *) btl)->name;
}

static void describe(mca_btl_base_module_t *btl, usnic_endpoint *peer, char *text, size_t size)
{
    const struct usnic_module *usnic = usnic_of(btl);

    if (!peer) {
        snprintf(text, size, "packets of %zu bytes, %zu sockets: %zu packets not acknowledged",
                 usnic->port.packet_bytes, usnic->port.sockets, usnic->engine.flights);
    } else if (peer->flows) {
        const struct usnic_flow *flow = &peer->flow;
        snprintf(text, size,
                 "packets of %zu bytes, round trip %u us (+- %u), window %zu bytes, credit %zd, "
                 "%u packets in flight, %zu bytes queued",
                 flow->params.mtu, flow->rtt.smoothed / USNIC_STAMPS_PER_US,
                 flow->rtt.variance / USNIC_STAMPS_PER_US, flow->rate.window,
                 (ssize_t) flow->rate.credit, flow->window.in_flight, peer->queued_bytes);
    } else {
        snprintf(text, size, "no session");
    }
}

/* A provider's domains are interfaces. */
struct interfaces {
    struct netif *list;
    size_t count;
    const char *unused; /* why one that is not in the list is */
    keel_device_fn visit;
    void *arg;
};

static void visit_domain(void *arg, const struct keel_device *found)
{
    const struct interfaces *interfaces = arg;
    const char *domain = strrchr(found->name, ' ');
    struct keel_device device = *found;
    size_t i = 0;

    while (domain && i < interfaces->count && strcmp(interfaces->list[i].name, domain + 1) != 0) {
        i++;
    }
    if (!device.unused && i == interfaces->count) {
        device.unused = interfaces->unused;
    }
    interfaces->visit(interfaces->arg, &device);
}

static void devices(keel_device_fn visit, void *arg)
{
    char reason[256] = "not among the interfaces that are chosen";
    struct interfaces interfaces = {.unused = reason, .visit = visit, .arg = arg};

    if (netif_list(param_string(&params.if_include), param_string(&params.if_exclude),
                   &interfaces.list, &interfaces.count, reason, sizeof(reason)) != ORTE_SUCCESS) {
        interfaces.count = 0; /* reason says why */
    }
    fabric_devices_each(FI_EP_DGRAM, param_string(&params.provider), NULL, visit_domain,
                        &interfaces);
    free(interfaces.list);
}

#define ENGINE_STAT(member) BTL_STAT_AT(struct usnic_module, engine.counts.member)
#define PORT_STAT(member) BTL_STAT_AT(struct usnic_module, port.counts.member)
static const struct btl_stat stats[] = {
    {"packets_sent", "packets", "Packets with messages, resent ones included.",
     ENGINE_STAT(packets_sent)},
    {"packets_received", "packets", "Packets with messages that were taken.",
     ENGINE_STAT(packets_received)},
    {"bytes_sent", "bytes", "Bytes of all packets, headers included.", ENGINE_STAT(bytes_sent)},
    {"messages_sent", "messages", "Messages that went into packets.", ENGINE_STAT(messages_sent)},
    {"messages_received", "messages", "Messages that were whole and in their turn.",
     ENGINE_STAT(messages_received)},
    {"acks_sent", "packets", "Packets with nothing but an acknowledgement.",
     ENGINE_STAT(acks_sent)},
    {"acks_received", "packets", "The same, of peers.", ENGINE_STAT(acks_received)},
    {"resends", "packets", "Packets that were sent again.", ENGINE_STAT(resends)},
    {"lost", "packets", "Packets that were taken for lost, as a later one was acknowledged.",
     ENGINE_STAT(lost)},
    {"timeouts", "packets", "Packets that were sent again since nothing was acknowledged.",
     ENGINE_STAT(probes)},
    {"spurious_resends", "packets", "Of these, packets that had arrived.", ENGINE_STAT(spurious)},
    {"duplicates", "packets", "Packets that came again.", ENGINE_STAT(duplicates)},
    {"early", "packets", "Packets that were kept until their turn.", ENGINE_STAT(early)},
    {"dropped", "packets", "Packets too far ahead, or without a place to be kept.",
     ENGINE_STAT(dropped)},
    {"malformed", "packets", "Packets that break the protocol.", ENGINE_STAT(malformed)},
    {"no_segment", "times", "Messages that waited, as all packets were under way.",
     ENGINE_STAT(no_segment)},
    {"wire_full", "times", "Packets that waited for room in the provider.", ENGINE_STAT(wire_full)},
    {"provider_busy", "packets", "Packets that the provider had no room for.", PORT_STAT(busy)},
    {"provider_refused", "packets",
     "Packets that it refused for another reason, and that are "
     "lost.",
     PORT_STAT(refused)},
    {"receive_errors", "packets", "Receives that failed.", PORT_STAT(receive_errors)},
    {"reposts", "times", "Receive buffers that the provider had no room for.", PORT_STAT(reposts)},
    {"unsound", "packets", "Packets that were cut, or whose checksum was wrong.",
     BTL_STAT_AT(struct usnic_module, counts.unsound)},
    {"strangers_frames", "frames", "Frames that proved no session, and were dropped.",
     BTL_STAT_AT(struct usnic_module, counts.strangers)},
    {"over", "packets", "Packets of sessions that are over.",
     BTL_STAT_AT(struct usnic_module, counts.over)},
    {"path_probes", "packets", "Probes of paths.", BTL_STAT_AT(struct usnic_module, counts.probes)},
    {"path_answers", "packets", "Answers to them.",
     BTL_STAT_AT(struct usnic_module, counts.answers)},
    {NULL, NULL, NULL, 0},
};

static uint64_t smoothed_us(const usnic_endpoint *peer)
{
    return peer->flows ? peer->flow.rtt.smoothed / USNIC_STAMPS_PER_US : 0;
}

static uint64_t variance_us(const usnic_endpoint *peer)
{
    return peer->flows ? peer->flow.rtt.variance / USNIC_STAMPS_PER_US : 0;
}

static uint64_t timeout_us(const usnic_endpoint *peer)
{
    return peer->flows ? usnic_rtt_timeout_us(&peer->flow.rtt) : 0;
}

static uint64_t window_bytes(const usnic_endpoint *peer)
{
    return peer->flows ? peer->flow.rate.window : 0;
}

static uint64_t credit_bytes(const usnic_endpoint *peer)
{
    return peer->flows ? peer->flow.rate.credit : 0;
}

static uint64_t in_flight(const usnic_endpoint *peer)
{
    return peer->flows ? peer->flow.window.in_flight : 0;
}

static uint64_t queued_bytes(const usnic_endpoint *peer)
{
    return peer->queued_bytes;
}

static const struct btl_gauge gauges[] = {
    {"round_trip", "us", "Smoothed time until a packet is acknowledged.", smoothed_us},
    {"round_trip_variance", "us", "How far a round trip is from that, in the mean.", variance_us},
    {"timeout", "us", "Time without an acknowledgement until a packet is sent again.", timeout_us},
    {"window", "bytes", "Of the peer's socket buffer that the network's delay leaves to me.",
     window_bytes},
    {"credit", "bytes", "Of the same that the peer grants.", credit_bytes},
    {"in_flight", "packets", "Packets that are not acknowledged.", in_flight},
    {"queued", "bytes", "Messages that are not in packets yet.", queued_bytes},
    {NULL, NULL, NULL, NULL},
};

/* An operation waits for a session that is on its way, but not for the end of one. */
static int operation_status(struct usnic_module *usnic, usnic_endpoint *peer)
{
    int status;

    if (btl_peer_connected(&usnic->peers, &peer->life, &status) ||
        (status == OPAL_ERR_OUT_OF_RESOURCE && peer->life.state != PEER_LEAVING)) {
        return OPAL_SUCCESS;
    }
    return status;
}

static int rdma(mca_btl_base_module_t *btl, usnic_endpoint *peer, const struct rdma_call *call,
                bool put)
{
    struct usnic_module *usnic = usnic_of(btl);
    int status = operation_status(usnic, peer);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    return put ? rdma_am_put(usnic->am, &peer->am, call) : rdma_am_get(usnic->am, &peer->am, call);
}

static int atomic(mca_btl_base_module_t *btl, usnic_endpoint *peer, const struct atomic_call *call)
{
    struct usnic_module *usnic = usnic_of(btl);
    int status = operation_status(usnic, peer);

    return status == OPAL_SUCCESS ? rdma_am_atomic(usnic->am, &peer->am, call) : status;
}

struct btl_component btl_usnic_component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("usnic")},
                  .btl_init = init,
                  .btl_progress = btl_progress},
    .progress = usnic_progress,
    .restart = usnic_restart,
    .peers_at = offsetof(struct usnic_module, peers),
    .name = name,
    .describe = describe,
    .active = active,
    .rdma = rdma,
    .atomic = atomic,
    .ext = &usnic_ext,
    .stats = stats,
    .gauges = gauges,
    .devices = devices,
    .loads = LIBFABRIC_MODULE,
    .named_only = true,
};
