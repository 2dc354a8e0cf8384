/* Frames that come in: the first daemon checks who sent them, relays pass them on, the destination
 * assembles and delivers. Everything here runs on the loop. */
#include <config.h>

#include <base/fault.h>
#include <base/log.h>
#include <rml/state.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS_MIN = 8 }; /* allowed in any tree */

/* A frame on its way through this daemon. */
struct relay {
    struct oob_tx tx;
    struct rml *rml;
    uint8_t payload[];
};

static void warn(const char *what, const struct oob_peer *from, const struct rml_header *header)
{
    unsigned held = 0;
    if (log_rate_ok(from->address, &held)) {
        log_warn(LOG_RML, "%s refused: tag %u, origin %s, destination %s, on the link to %s (%s)%s",
                 what, header->tag, ORTE_NAME_PRINT(&header->origin),
                 ORTE_NAME_PRINT(&header->dest), ORTE_NAME_PRINT(&from->name), from->address,
                 held > 0 ? "; there were others" : "");
    }
}

/* Counts an event and returns false, for tests of the form "is it allowed". */
static bool refuse(struct rml *rml, uint64_t *counter)
{
    pthread_mutex_lock(&rml->lock);
    ++*counter;
    pthread_mutex_unlock(&rml->lock);
    return false;
}

/* --- who may say what --- */

/* Daemons speak for others; so does the daemon that a rank or tool chose. */
static bool speaks_for_others(struct rml *rml, const struct oob_peer *from)
{
    if (from->key == OOB_KEY_CONTROL) {
        return true;
    }
    if (rml_is_daemon(rml)) {
        return false;
    }
    pthread_mutex_lock(&rml->lock);
    const struct rml_peer *peer = rml_peer_find(&rml->peers, &from->name);
    bool upstream = peer && peer->upstream;
    pthread_mutex_unlock(&rml->lock);
    return upstream;
}

/* Checks the origin at the first process on the way, and stamps the role that it proved. */
static bool check_origin(struct rml *rml, const struct oob_peer *from, struct rml_header *header)
{
    if (speaks_for_others(rml, from)) {
        return true;
    }
    if (!rml_name_equal(&header->origin, &from->name) || header->epoch != from->epoch) {
        warn("a frame with another's name is", from, header);
        return refuse(rml, &rml->counters.forged);
    }
    header->role = from->key;
    return true;
}

/* Runtime tags come from daemons, but for those that a daemon allows. In a rank the tags that have
 * a handler are the daemons' alone. */
static bool check_tag(struct rml *rml, const struct oob_peer *from, const struct rml_header *header)
{
    if (header->tag > ORTE_RML_TAG_MAX || header->role == OOB_KEY_CONTROL) {
        return true;
    }
    pthread_mutex_lock(&rml->lock);
    bool allowed = rml_is_daemon(rml) ? rml->allowed[header->tag] : !rml->handlers[header->tag];
    pthread_mutex_unlock(&rml->lock);
    if (!allowed) {
        warn("a runtime message is", from, header);
        return refuse(rml, &rml->counters.refused_tags);
    }
    return true;
}

/* --- delivering --- */

static struct rml_assembly *assembly_for(struct rml *rml, const struct rml_header *header)
{
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_get(&rml->peers, &header->origin);
    pthread_mutex_unlock(&rml->lock);
    if (!peer) {
        return NULL;
    }
    if (!peer->origin_known || peer->origin_epoch != header->epoch) {
        for (int class = 0; class < OOB_CLASSES; class ++) {
            rml_assembly_reset(&peer->assembly[class]);
        }
        peer->origin_known = true;
        peer->origin_epoch = header->epoch;
    }
    return &peer->assembly[header->class];
}

static void report_lost(struct rml *rml, const struct rml_header *header, uint64_t lost)
{
    log_error(LOG_RML, "%llu messages from %s are lost", (unsigned long long) lost,
              ORTE_NAME_PRINT(&header->origin));
    pthread_mutex_lock(&rml->lock);
    rml->counters.lost += lost;
    pthread_mutex_unlock(&rml->lock);
}

static void deliver(struct rml *rml, const struct oob_peer *from, const struct rml_header *header,
                    const uint8_t *payload)
{
    uint64_t lost = 0;
    struct rml_message *message = NULL;
    struct rml_assembly *assembly = assembly_for(rml, header);
    if (!check_tag(rml, from, header)) {
        if (assembly) {
            rml_assembly_skip(assembly, header->sequence);
        }
        return;
    }
    enum rml_assembled result = assembly ? rml_assemble(assembly, header, payload, &message, &lost)
                                         : RML_ASSEMBLED_NO_MEMORY;
    if (lost > 0) {
        report_lost(rml, header, lost);
    }
    switch (result) {
    case RML_ASSEMBLED_MORE:
        return;
    case RML_ASSEMBLED_WHOLE:
        pthread_mutex_lock(&rml->lock);
        rml_deliver_locked(rml, message);
        pthread_mutex_unlock(&rml->lock);
        return;
    case RML_ASSEMBLED_OLD:
    case RML_ASSEMBLED_BROKEN:
        log_debug(LOG_RML, "a frame of %s continues nothing", ORTE_NAME_PRINT(&header->origin));
        (void) refuse(rml, &rml->counters.out_of_order);
        return;
    case RML_ASSEMBLED_NO_MEMORY:
        log_error(LOG_RML, "no memory for a message of %u bytes from %s", header->total,
                  ORTE_NAME_PRINT(&header->origin));
        return;
    }
}

/* --- relaying --- */

static void relay_done(struct oob_tx *tx, int status)
{
    struct relay *relay = container_of(tx, struct relay, tx);
    if (status < 0) {
        log_debug(LOG_RML, "a relayed frame is lost: %s", opal_strerror(status));
        (void) refuse(relay->rml, &relay->rml->counters.link_down);
    }
    free(relay);
}

static struct relay *relay_create(struct rml *rml, const struct rml_header *header,
                                  const uint8_t *payload)
{
    struct relay *relay = calloc(1, sizeof(*relay) + header->length);
    if (!relay) {
        return NULL;
    }
    struct rml_header next = *header;
    next.hops++;
    relay->rml = rml;
    relay->tx.class = header->class;
    relay->tx.done = relay_done;
    relay->tx.header_size = RML_WIRE_SIZE;
    rml_header_encode(relay->tx.header, &next);
    list_init(&relay->tx.link);
    if (header->length > 0) {
        memcpy(relay->payload, payload, header->length);
        relay->tx.iov[0] = (struct iovec){relay->payload, header->length};
        relay->tx.iov_count = 1;
    }
    return relay;
}

/* The link to relay on; NULL and a status of success: the frame waits for its link. */
static int place_locked(struct rml *rml, const struct rml_header *header, struct relay *relay,
                        struct oob_link **link)
{
    struct rml_peer *hop = NULL;
    uint32_t limit = rml->route.tree_count + 2;
    limit = limit > HOPS_MIN ? limit : HOPS_MIN;
    if (header->hops >= limit || header->hops == UINT16_MAX) {
        rml->counters.misrouted++;
        return ORTE_ERR_UNREACH;
    }
    int status = rml_next_hop_locked(rml, &header->dest, &hop);
    if (status == ORTE_ERR_ADDRESSEE_UNKNOWN) {
        rml->counters.misrouted++;
    }
    if (status == ORTE_ERR_COMM_FAILURE) {
        rml->counters.link_down++;
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (hop->state == RML_PEER_UP) {
        *link = oob_link_ref(hop->link);
        return ORTE_SUCCESS;
    }
    if (!rml_pend_room_locked(rml, hop, header->length)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    rml_pend_locked(hop, &relay->tx);
    return ORTE_SUCCESS;
}

/* Its origin is not told: at the end of a job messages to those who have left are usual, but a name
 * that nobody has is a mistake. */
static void report_dropped(const struct rml_header *header, int status)
{
    unsigned held = 0;
    if (status != ORTE_ERR_ADDRESSEE_UNKNOWN) {
        log_debug(LOG_RML, "a frame from %s to %s is dropped: %s", ORTE_NAME_PRINT(&header->origin),
                  ORTE_NAME_PRINT(&header->dest), opal_strerror(status));
    } else if (log_rate_ok("rml unknown", &held)) {
        log_warn(LOG_RML, "messages from %s to %s are dropped: nobody has that name",
                 ORTE_NAME_PRINT(&header->origin), ORTE_NAME_PRINT(&header->dest));
    }
}

/* Only the loop moves waiting frames to a new link, so a relayed frame cannot overtake them. */
static void pass_on(struct rml *rml, const struct rml_header *header, const uint8_t *payload)
{
    struct oob_link *link = NULL;
    struct relay *relay = relay_create(rml, header, payload);
    if (!relay) {
        log_error(LOG_RML, "no memory to relay a frame of %u bytes", header->length);
        return;
    }
    pthread_mutex_lock(&rml->lock);
    int status = place_locked(rml, header, relay, &link);
    pthread_mutex_unlock(&rml->lock);
    if (status != ORTE_SUCCESS) {
        report_dropped(header, status);
        free(relay);
    } else if (link) {
        oob_send(link, &relay->tx);
        oob_link_unref(link);
    }
}

/* --- the way in --- */

void rml_on_frame(void *arg, struct oob_link *link, const void *data, size_t size)
{
    struct rml *rml = arg;
    struct rml_header header;
    const struct oob_peer *from = oob_link_peer(link);
    if (fault_at("rml.frame").action == FAULT_DROP) {
        return;
    }
    if (rml_header_decode(&header, data, size) != ORTE_SUCCESS) {
        unsigned held = 0;
        if (log_rate_ok(from->address, &held)) {
            log_warn(LOG_RML, "a malformed frame of %zu bytes from %s (%s)", size,
                     ORTE_NAME_PRINT(&from->name), from->address);
        }
        (void) refuse(rml, &rml->counters.malformed);
        return;
    }
    if (!check_origin(rml, from, &header)) {
        return;
    }
    const uint8_t *payload = (const uint8_t *) data + RML_WIRE_SIZE;
    if (rml_name_equal(&header.dest, &rml->config.name)) {
        deliver(rml, from, &header, payload);
    } else if (rml_is_daemon(rml)) {
        pass_on(rml, &header, payload);
    } else {
        log_debug(LOG_RML, "a frame for %s came here", ORTE_NAME_PRINT(&header.dest));
        (void) refuse(rml, &rml->counters.misrouted);
    }
}
