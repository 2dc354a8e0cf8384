#include <config.h>

#include <base/settings/log.h>
#include <btl/check/map.h>
#include <btl/framework/stats.h>
#include <btl/lock/lock.h>
#include <btl/modules/entry.h>
#include <btl/modules/module.h>
#include <btl/peers/peer.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct param stats_param = PARAM_BOOL(
    "btl_base_stats", "0", "Count messages, accesses and refused calls of each module and peer.");
PARAM_ROWS("btl", stats_param);

enum { DUMPED_MAX = 64 };

/* ---- the tap ---- */

/* Of a module or of one peer. */
struct traffic {
    uint64_t sent, sent_bytes, received, received_bytes;
    uint64_t puts, put_bytes, gets, get_bytes, atomics;
    uint64_t refused, errors;
};

struct stats_tap {
    struct btl_tap tap; /* first */
    struct traffic module;
    struct btl_map peers; /* struct traffic, owned, of the endpoints that were added */
};

static const struct btl_stat traffic_rows[] = {
    {"messages_sent", "messages", "Messages that btl_send and btl_sendi took.",
     BTL_STAT_AT(struct traffic, sent)},
    {"bytes_sent", "bytes", "Bytes of them.", BTL_STAT_AT(struct traffic, sent_bytes)},
    {"messages_received", "messages", "Messages that callbacks were called for.",
     BTL_STAT_AT(struct traffic, received)},
    {"bytes_received", "bytes", "Bytes of them.", BTL_STAT_AT(struct traffic, received_bytes)},
    {"puts", "calls", "Puts that were started.", BTL_STAT_AT(struct traffic, puts)},
    {"put_bytes", "bytes", "Bytes of them.", BTL_STAT_AT(struct traffic, put_bytes)},
    {"gets", "calls", "Gets that were started.", BTL_STAT_AT(struct traffic, gets)},
    {"get_bytes", "bytes", "Bytes of them.", BTL_STAT_AT(struct traffic, get_bytes)},
    {"atomics", "calls", "Atomics that were started.", BTL_STAT_AT(struct traffic, atomics)},
    {"refused", "calls", "Calls that found no room.", BTL_STAT_AT(struct traffic, refused)},
    {"errors", "calls", "Calls that ended with another error.",
     BTL_STAT_AT(struct traffic, errors)},
    {NULL, NULL, NULL, 0},
};

static struct stats_tap *stats_of(struct btl_tap *tap)
{
    return (struct stats_tap *) (void *) tap;
}

/* What a call is about, before it is made: a descriptor may be gone after it. */
static size_t bytes_of(const struct btl_call *call)
{
    size_t total = 0;
    switch (call->slot) {
    case BTL_SEND:
        return desc_total(call->send.descriptor, SIZE_MAX, &total) == OPAL_SUCCESS ? total : 0;
    case BTL_SENDI:
        return call->sendi.header_size + call->sendi.payload_size;
    default:
        return call->rdma.rdma.size;
    }
}

static void count(struct traffic *traffic, const struct btl_call *call, size_t bytes)
{
    if (call->status < 0) {
        *(btl_is_shortage(call->status) ? &traffic->refused : &traffic->errors) += 1;
        return;
    }
    switch (call->slot) {
    case BTL_SEND:
    case BTL_SENDI:
        traffic->sent++;
        traffic->sent_bytes += bytes;
        return;
    case BTL_PUT:
        traffic->puts++;
        traffic->put_bytes += bytes;
        return;
    case BTL_GET:
        traffic->gets++;
        traffic->get_bytes += bytes;
        return;
    default:
        traffic->atomics++;
    }
}

/* Endpoints that were added are counted for from now on; without memory they are not. */
static void begin(struct stats_tap *stats, const struct btl_call *call)
{
    for (size_t i = 0; i < call->procs.count; i++) {
        const void *endpoint = call->procs.endpoints[i];
        struct traffic *traffic = NULL;
        if (endpoint && !btl_map_find(&stats->peers, endpoint)) {
            traffic = calloc(1, sizeof(*traffic));
        }
        if (traffic && btl_map_put(&stats->peers, endpoint, traffic) != ORTE_SUCCESS) {
            free(traffic);
        }
    }
}

/* Endpoints that this del_procs ends: others may get their memory while it runs. */
static void forget(struct stats_tap *stats, const struct btl_call *call)
{
    for (size_t i = 0; i < call->procs.count; i++) {
        const struct mca_btl_base_endpoint_t *endpoint = call->procs.endpoints[i];
        if (endpoint && btl_map_find(&stats->peers, endpoint) &&
            btl_del_ends(stats->tap.taps->module, endpoint)) {
            free(btl_map_get(&stats->peers, endpoint));
            btl_map_remove(&stats->peers, endpoint);
        }
    }
}

static void call_counted(struct btl_tap *tap, struct btl_call *call)
{
    struct stats_tap *stats = stats_of(tap);
    bool counts = call->slot >= BTL_SEND && call->slot <= BTL_ATOMIC_CSWAP;
    bool makes = call->slot == BTL_ALLOC || call->slot == BTL_PREPARE_SRC;
    size_t bytes = counts ? bytes_of(call) : 0;
    if (call->slot == BTL_DEL_PROCS) {
        forget(stats, call);
    }
    btl_tap_next(tap, call);
    if (call->slot == BTL_ADD_PROCS) {
        begin(stats, call);
    }
    if (counts || (makes && !call->made)) {
        struct traffic *peer = call->endpoint ? btl_map_get(&stats->peers, call->endpoint) : NULL;
        count(&stats->module, call, bytes);
        if (peer) {
            count(peer, call, bytes);
        }
    }
}

static void deliver_counted(struct btl_tap *tap, struct mca_btl_base_endpoint_t *endpoint,
                            uint8_t channel, mca_btl_base_tag_t tag,
                            mca_btl_base_segment_t *segments, size_t segment_count)
{
    struct stats_tap *stats = stats_of(tap);
    struct traffic *peer = endpoint ? btl_map_get(&stats->peers, endpoint) : NULL;
    struct traffic *both[] = {&stats->module, peer ? peer : &(struct traffic){0}};
    for (size_t i = 0; i < 2; i++) {
        both[i]->received++;
        for (size_t j = 0; j < segment_count; j++) {
            both[i]->received_bytes += segments[j].seg_len;
        }
    }
    btl_deliver_outward(tap, endpoint, channel, tag, segments, segment_count);
}

static void free_one(void *traffic, void *arg)
{
    (void) arg;
    free(traffic);
}

static void destroy(struct btl_tap *tap)
{
    struct stats_tap *stats = stats_of(tap);
    btl_map_each(&stats->peers, free_one, NULL);
    btl_map_fini(&stats->peers);
    free(stats);
}

static const struct btl_tap_ops stats_ops = {
    .place = BTL_TAP_STATS,
    .call = call_counted,
    .deliver = deliver_counted,
    .destroy = destroy,
};

int btl_stats_tap_create(mca_btl_base_module_t *module, struct btl_tap **tap)
{
    (void) module;
    *tap = NULL;
    if (!param_bool(&stats_param)) {
        return ORTE_SUCCESS;
    }
    struct stats_tap *stats = calloc(1, sizeof(*stats));
    if (!stats) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    stats->tap.ops = &stats_ops;
    *tap = &stats->tap;
    return ORTE_SUCCESS;
}

static struct stats_tap *tap_of(const struct btl_module_entry *entry)
{
    struct btl_tap *tap = entry->taps.at[BTL_TAP_STATS];
    return tap ? stats_of(tap) : NULL;
}

/* ---- reading ---- */

static const struct btl_stat entry_rows[] = {
    {"failures", "errors", "Errors of peers, or of the module, that were reported.",
     BTL_STAT_AT(struct btl_module_entry, failures)},
    {"dropped", "messages", "Messages with a tag that nobody has registered.",
     BTL_STAT_AT(struct btl_module_entry, dropped)},
    {NULL, NULL, NULL, 0},
};

static const struct btl_stat peers_rows[] = {
    {"sessions", "sessions", "Sessions with peers that came up.",
     BTL_STAT_AT(struct btl_peers, sessions)},
    {NULL, NULL, NULL, 0},
};

struct reading {
    struct keel_btl_stat *stats;
    size_t room, count;
};

static void put(struct reading *reading, struct keel_btl_stat stat)
{
    if (reading->count < reading->room) {
        reading->stats[reading->count] = stat;
    }
    reading->count++;
}

/* rows NULL: none. */
static void read_rows(struct reading *reading, const struct btl_stat *rows, const void *base)
{
    for (; rows && base && rows->name; rows++) {
        uint64_t value;
        memcpy(&value, (const char *) base + rows->at, sizeof(value));
        put(reading, (struct keel_btl_stat){rows->name, rows->unit, rows->help, value});
    }
}

static void read_gauges(struct reading *reading, const struct btl_module_entry *entry,
                        const struct mca_btl_base_endpoint_t *endpoint)
{
    const struct btl_gauge *row = entry->component->gauges;
    const struct btl_peer *peer = (const void *) endpoint;
    for (; row && peer->peers && row->name; row++) {
        put(reading, (struct keel_btl_stat){row->name, row->unit, row->help, row->read(endpoint)});
    }
}

static size_t read_all(const struct btl_module_entry *entry,
                       const struct mca_btl_base_endpoint_t *endpoint, struct keel_btl_stat *stats,
                       size_t room)
{
    struct reading reading = {.stats = stats, .room = room};
    const struct stats_tap *tap = tap_of(entry);
    if (endpoint) {
        read_rows(&reading, traffic_rows, tap ? btl_map_get(&tap->peers, endpoint) : NULL);
        read_gauges(&reading, entry, endpoint);
    } else {
        read_rows(&reading, traffic_rows, tap ? &tap->module : NULL);
        read_rows(&reading, entry_rows, entry);
        read_rows(&reading, peers_rows, btl_entry_peers(entry));
        read_rows(&reading, entry->component->stats, entry->module);
    }
    return reading.count;
}

size_t keel_btl_stats(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      struct keel_btl_stat *stats, size_t count)
{
    btl_lock();
    const struct btl_module_entry *entry = btl_entry(btl);
    size_t there = entry ? read_all(entry, endpoint, stats, count) : 0;
    btl_unlock();
    return there;
}

/* ---- btl_dump ---- */

static void dump_counters(const mca_btl_base_module_t *module,
                          const struct mca_btl_base_endpoint_t *endpoint)
{
    struct keel_btl_stat stats[DUMPED_MAX];
    const struct btl_module_entry *entry = btl_entry(module);
    size_t count = entry ? read_all(entry, endpoint, stats, DUMPED_MAX) : 0;
    for (size_t i = 0; i < count && i < DUMPED_MAX; i++) {
        if (stats[i].value > 0) {
            log_write(LOG_BTL, LOG_INFO, "%s%s: %s %" PRIu64 " %s", btl_module_name(module),
                      endpoint ? " to this peer" : "", stats[i].name, stats[i].value,
                      stats[i].unit);
        }
    }
}

static void dump_text(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint)
{
    char text[256] = "";
    btl_component_of(module)->describe(module, endpoint, text, sizeof(text));
    log_write(LOG_BTL, LOG_INFO, "%s: %s", btl_module_name(module), text);
}

static void dump_peer(mca_btl_base_module_t *module, struct btl_peer *peer)
{
    char text[256] = "";
    btl_component_of(module)->describe(module, btl_peer_endpoint(peer), text, sizeof(text));
    log_write(LOG_BTL, LOG_INFO, "%s: %s: %s%s%s", btl_module_name(module),
              ORTE_NAME_PRINT(&peer->name), btl_peer_state_name(peer), text[0] ? ", " : "", text);
}

void btl_dump(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint, int verbose)
{
    const struct btl_component *component = btl_component_of(module);
    struct btl_peers *peers = btl_peers_of(component, module);
    struct btl_peer *peer = peers && endpoint ? btl_peer_of(endpoint) : NULL;
    if (peer) {
        btl_peer_activate(peers, peer);
        dump_peer(module, peer);
    } else {
        dump_text(module, endpoint);
    }
    dump_counters(module, endpoint);
    if (peers && !endpoint && verbose > 0) {
        list_for_each (peer, &peers->used, struct btl_peer, link) {
            dump_peer(module, peer);
        }
    }
}
