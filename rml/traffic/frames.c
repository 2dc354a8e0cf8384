/* Frames that come in: the first daemon checks who sent them, relays pass them on, the destination
 * assembles and delivers. Everything here runs on the loop. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <base/types/name.h>
#include <rml/message/pack.h>
#include <rml/state/state.h>
#include <stdlib.h>
#include <string.h>

enum { HOPS_MIN = 8 }; /* allowed in any tree */

#define EARLY_US 30000000u /* for the order that makes a job known */

/* A frame on its way through this daemon. */
struct relay {
    struct oob_tx tx;
    struct rml_completion turn; /* its turn when its job is known here */
    uint64_t early_until_us;
    struct rml *rml;
    struct rml_header header; /* as it came */
    struct rml_peer *came;    /* whose link brought it, and the link's number */
    uint32_t came_number;
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
    if (!name_equal(&header->origin, &from->name) || header->stamp.epoch != from->epoch) {
        warn("a frame with another's name is", from, header);
        return refuse(rml, &rml->counters.forged);
    }
    header->role = from->key;
    return true;
}

/* Runtime tags come from daemons, but for the one each with which ranks and tools speak to a
 * daemon. In a rank the tags that have a handler are the daemons' alone. */
static bool check_tag(struct rml *rml, const struct oob_peer *from, const struct rml_header *header)
{
    if (header->tag > ORTE_RML_TAG_MAX || header->role == OOB_KEY_CONTROL) {
        return true;
    }
    pthread_mutex_lock(&rml->lock);
    bool handled = rml->handlers[header->tag];
    pthread_mutex_unlock(&rml->lock);
    bool own = header->role == OOB_KEY_TOOL
                   ? header->tag == ORTE_RML_TAG_TOOL
                   : header->tag == RML_TAG_SERVER || header->tag == RML_TAG_XCAST;
    bool allowed = rml_is_daemon(rml) ? handled && own : !handled;
    if (!allowed) {
        warn("a runtime message is", from, header);
        return refuse(rml, &rml->counters.refused_tags);
    }
    return true;
}

/* --- delivering --- */

/* What does not come from a daemon stands for no more than may wait unread. */
static int unpack(struct rml *rml, const struct oob_peer *from, const struct rml_header *header,
                  struct rml_message *message)
{
    bool trusted = header->role == OOB_KEY_CONTROL || rml->unpack_max < rml->unexpected_max;
    size_t max = trusted ? rml->unpack_max : rml->unexpected_max;
    int status = rml_message_unpack(message, max);
    if (status != ORTE_SUCCESS) {
        warn(status == ORTE_ERR_VALUE_OUT_OF_BOUNDS ? "a packed message that stands for too much is"
             : status == ORTE_ERR_OUT_OF_RESOURCE   ? "a packed message, for want of memory, is"
                                                    : "a packed message that cannot be unpacked is",
             from, header);
        (void) refuse(rml, &rml->counters.malformed);
    }
    return status;
}

void rml_take(struct rml *rml, const struct oob_peer *from, struct rml_peer *peer,
              const struct rml_header *header, const uint8_t *payload)
{
    struct rml_message *message = NULL;
    struct rml_assembly *assembly = &peer->assembly[header->stamp.class];
    if (!check_tag(rml, from, header)) {
        rml_assembly_skip(assembly, header);
        return;
    }
    switch (rml_assemble(assembly, header, payload, &message)) {
    case RML_ASSEMBLED_MORE:
        return;
    case RML_ASSEMBLED_WHOLE:
        if (unpack(rml, from, header, message) != ORTE_SUCCESS) {
            rml_message_destroy(message);
            return;
        }
        pthread_mutex_lock(&rml->lock);
        rml_hold_locked(rml, peer, message);
        rml_deliver_locked(rml, message);
        pthread_mutex_unlock(&rml->lock);
        return;
    case RML_ASSEMBLED_BROKEN:
        warn("a frame that continues nothing is", from, header);
        (void) refuse(rml, &rml->counters.out_of_order);
        return;
    case RML_ASSEMBLED_NO_MEMORY:
        log_error(LOG_RML, "no memory for a message of %u bytes from %s: it is lost", header->total,
                  ORTE_NAME_PRINT(&header->origin));
        (void) refuse(rml, &rml->counters.lost);
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
    rml_left(relay->rml, relay->came, relay->came_number, tx->class,
             rml_stamp_cost(tx->iov_count > 0 ? (uint32_t) tx->iov[0].iov_len : 0));
    free(relay);
}

static void run_turn(struct rml *rml, struct rml_completion *completion);

static void drop_turn(struct rml *rml, struct rml_completion *completion)
{
    (void) rml;
    free(container_of(completion, struct relay, turn));
}

static struct relay *relay_create(struct rml *rml, const struct rml_header *header,
                                  const uint8_t *payload)
{
    uint32_t length = header->stamp.length;
    struct relay *relay = malloc(sizeof(*relay) + length);
    if (!relay) {
        return NULL;
    }
    memset(relay, 0, sizeof(*relay));
    struct rml_header next = *header;
    next.hops++;
    relay->header = *header;
    relay->turn.run = run_turn;
    relay->turn.drop = drop_turn;
    list_init(&relay->turn.link);
    relay->rml = rml;
    relay->tx.class = rml_header_carrier(header);
    relay->tx.done = relay_done;
    relay->tx.header_size = RML_WIRE_SIZE;
    rml_header_encode(relay->tx.header, &next);
    list_init(&relay->tx.link);
    if (length > 0) {
        memcpy(relay->payload, payload, length);
        relay->tx.iov[0] = (struct iovec){relay->payload, length};
        relay->tx.iov_count = 1;
    }
    return relay;
}

/* The link to relay on; NULL and a status of success: the frame waits for its link. */
static int place_locked(struct rml *rml, const struct rml_header *header, struct relay *relay,
                        struct oob_link **link)
{
    struct rml_peer *hop = NULL;
    uint32_t limit = rml->route.tree.count + 2;
    limit = limit > HOPS_MIN ? limit : HOPS_MIN;
    if (header->hops >= limit || header->hops == UINT16_MAX) {
        rml->counters.misrouted++;
        return ORTE_ERR_UNREACH;
    }
    int status = rml_next_hop_locked(rml, &header->dest, &hop);
    if (status == ORTE_ERR_COMM_FAILURE) {
        rml->counters.link_down++;
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (hop->state == RML_PEER_DOWN) {
        rml->counters.link_down++;
        return ORTE_ERR_UNREACH; /* its origin sends it again, over a repaired way */
    }
    if (hop->state != RML_PEER_UP && !rml_pend_room_locked(rml, hop, header->stamp.length)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    bool is_new = rml_note_locked(rml, header, relay->came, hop);
    if (hop->link_number == 0 && header->stamp.kind == RML_PROBE && !is_new &&
        name_equal(&hop->name, &header->dest)) {
        return ORTE_ERR_OUT_OF_RESOURCE; /* one that waits for the link is enough; it comes again */
    }
    (void) rml_way_open_locked(hop, &relay->tx, link);
    return ORTE_SUCCESS;
}

/* At the end of a job messages to those who have left are usual, but a name that nobody has is a
 * mistake. What there was only no room for comes again. */
static void report_dropped(struct rml *rml, const struct rml_header *header, int status)
{
    unsigned held = 0;
    bool wanted = header->stamp.kind == RML_DATA || header->stamp.kind == RML_PROBE;
    if (wanted && (status == ORTE_ERR_COMM_FAILURE || status == ORTE_ERR_ADDRESSEE_UNKNOWN)) {
        rml_say_unreachable(rml, header, status);
    }
    if (status != ORTE_ERR_ADDRESSEE_UNKNOWN) {
        log_debug(LOG_RML, "a frame from %s to %s is dropped: %s", ORTE_NAME_PRINT(&header->origin),
                  ORTE_NAME_PRINT(&header->dest), opal_strerror(status));
    } else if (log_rate_ok("rml unknown", &held)) {
        log_warn(LOG_RML, "messages from %s to %s are dropped: nobody has that name",
                 ORTE_NAME_PRINT(&header->origin), ORTE_NAME_PRINT(&header->dest));
    }
}

/* --- frames for ranks of a job that is not known here yet --- */

/* The others speak already, and the order that makes the job known is on its way. */
static bool is_early_locked(const struct rml *rml, const struct rml_header *header)
{
    return !rml->ranks_known && header->dest.jobid == (rml_daemon_job(rml->config.name.jobid) | 1);
}

/* Bounded by what the links that bring them may carry. */
static void keep_early_locked(struct rml *rml, struct relay *relay)
{
    relay->early_until_us = clock_us() + EARLY_US;
    list_append(&rml->early, &relay->turn.link);
    if (!rml->early_timer.started) {
        loop_timer_start(&rml->early_timer, EARLY_US);
    }
}

void rml_pass_early_locked(struct rml *rml)
{
    rml->ranks_known = true;
    for (struct list *link; (link = list_pop(&rml->early));) {
        rml_due_locked(rml, container_of(link, struct rml_completion, link));
    }
}

static void on_early_timer(struct loop_timer *timer)
{
    struct rml *rml = container_of(timer, struct rml, early_timer);
    pthread_mutex_lock(&rml->lock);
    uint64_t now = clock_us(), next = 0;
    struct rml_completion *turn;
    list_for_each (turn, &rml->early, struct rml_completion, link) {
        const struct relay *relay = container_of(turn, struct relay, turn);
        if (now < relay->early_until_us) {
            next = relay->early_until_us;
            break;
        }
        list_remove(&turn->link);
        rml_due_locked(rml, turn);
    }
    pthread_mutex_unlock(&rml->lock);
    if (next > 0) {
        loop_timer_start(timer, next - now);
    }
}

void rml_frames_init(struct rml *rml)
{
    list_init(&rml->early);
    loop_timer_init(&rml->early_timer, rml->config.loop, on_early_timer);
}

void rml_frames_fini(struct rml *rml)
{
    loop_timer_stop(&rml->early_timer);
    for (struct list *link; (link = list_pop(&rml->early));) {
        struct rml_completion *turn = container_of(link, struct rml_completion, link);
        turn->drop(rml, turn);
    }
}

/* --- passing on --- */

/* Only the loop moves waiting frames to a link, so a relayed frame cannot overtake them. False: it
 * stays here no longer. The relay is consumed. */
static bool send_on(struct rml *rml, struct relay *relay, bool may_wait)
{
    struct oob_link *link = NULL;
    pthread_mutex_lock(&rml->lock);
    int status = place_locked(rml, &relay->header, relay, &link);
    bool unknown = status == ORTE_ERR_ADDRESSEE_UNKNOWN && may_wait;
    bool early = unknown && is_early_locked(rml, &relay->header);
    bool waits = early || (unknown && rml->due_count > 0);
    if (early) {
        keep_early_locked(rml, relay);
    } else if (waits) { /* what is due may bring the destination's job */
        rml_due_locked(rml, &relay->turn);
    } else if (status == ORTE_ERR_ADDRESSEE_UNKNOWN) {
        rml->counters.misrouted++;
    }
    pthread_mutex_unlock(&rml->lock);
    if (waits) {
        return true;
    }
    if (status != ORTE_SUCCESS) {
        report_dropped(rml, &relay->header, status);
        free(relay);
        return false;
    }
    if (link) {
        oob_send(link, &relay->tx);
        oob_link_unref(link);
    }
    return true;
}

static void run_turn(struct rml *rml, struct rml_completion *completion)
{
    struct relay *relay = container_of(completion, struct relay, turn);
    struct rml_peer *came = relay->came;
    uint32_t number = relay->came_number;
    enum oob_class class = relay->tx.class;
    uint64_t cost = rml_stamp_cost(relay->header.stamp.length);
    if (!send_on(rml, relay, false)) {
        rml_left(rml, came, number, class, cost);
    }
}

static bool pass_on(struct rml *rml, const struct rml_header *header, const uint8_t *payload,
                    struct rml_peer *came)
{
    struct relay *relay = relay_create(rml, header, payload);
    if (!relay) {
        log_error(LOG_RML, "no memory to relay a frame of %u bytes", header->stamp.length);
        return false;
    }
    relay->came = came;
    relay->came_number = came->link_number; /* the loop's own to change */
    return send_on(rml, relay, true);
}

/* --- the way in --- */

static void hear_credit(struct rml *rml, struct rml_peer *peer, const struct rml_stamp *stamp)
{
    pthread_mutex_lock(&rml->lock);
    bool raised = rml_credit_raise(&peer->credit[stamp->class], stamp->sequence);
    pthread_mutex_unlock(&rml->lock);
    if (raised) {
        rml_pass_waiting(rml, peer);
    } else {
        (void) refuse(rml, &rml->counters.malformed);
    }
}

/* What is for this process. */
static void hear(struct rml *rml, const struct oob_peer *from, const struct rml_header *header,
                 const uint8_t *payload)
{
    if (header->stamp.kind != RML_UNREACH) {
        rml_hear(rml, from, header, payload);
    } else if (header->role == OOB_KEY_CONTROL) {
        rml_hear_unreachable(rml, header);
    } else {
        warn("bad news of one who is no daemon is", from, header);
        (void) refuse(rml, &rml->counters.forged);
    }
}

/* True: a relay holds the frame. */
static bool handle(struct rml *rml, const struct oob_peer *from, struct rml_peer *came,
                   struct rml_header *header, const uint8_t *payload)
{
    if (!check_origin(rml, from, header)) {
        return false;
    }
    if (name_equal(&header->dest, &rml->config.name)) {
        hear(rml, from, header, payload);
        return false;
    }
    if (rml_is_daemon(rml)) {
        return pass_on(rml, header, payload, came);
    }
    log_debug(LOG_RML, "a frame for %s came here", ORTE_NAME_PRINT(&header->dest));
    return refuse(rml, &rml->counters.misrouted);
}

/* The peer behind a link, and whether it keeps to what was granted. NULL: it does not, or its link
 * has another successor. */
static struct rml_peer *enter(struct rml *rml, struct oob_link *link,
                              const struct rml_header *header, uint32_t *number)
{
    bool within = true;
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = rml_peer_find(&rml->peers, &oob_link_peer(link)->name);
    if (peer && peer->link != link) {
        peer = NULL;
    }
    if (peer && header->stamp.kind != RML_CREDIT) {
        within = rml_grant_came(&peer->grant[rml_header_carrier(header)],
                                rml_stamp_cost(header->stamp.length));
    }
    *number = peer ? peer->link_number : 0;
    pthread_mutex_unlock(&rml->lock);
    if (!within) {
        warn("more than its link may carry is", oob_link_peer(link), header);
        (void) refuse(rml, &rml->counters.overflow);
        return NULL;
    }
    return peer;
}

static void report_malformed(struct rml *rml, const struct oob_peer *from, size_t size)
{
    unsigned held = 0;
    if (log_rate_ok(from->address, &held)) {
        log_warn(LOG_RML, "a malformed frame of %zu bytes from %s (%s)", size,
                 ORTE_NAME_PRINT(&from->name), from->address);
    }
    (void) refuse(rml, &rml->counters.malformed);
}

void rml_on_frame(void *arg, struct oob_link *link, const void *data, size_t size)
{
    struct rml *rml = arg;
    struct rml_header header;
    uint32_t number;
    const struct oob_peer *from = oob_link_peer(link);
    if (rml_header_decode(&header, data, size) != ORTE_SUCCESS) {
        report_malformed(rml, from, size);
        return;
    }
    struct rml_peer *peer = enter(rml, link, &header, &number);
    if (!peer) {
        return;
    }
    if (header.stamp.kind == RML_CREDIT) {
        hear_credit(rml, peer, &header.stamp);
        return;
    }
    bool dropped = fault_at("rml.frame").action == FAULT_DROP;
    if (dropped || !handle(rml, from, peer, &header, (const uint8_t *) data + RML_WIRE_SIZE)) {
        rml_left(rml, peer, number, rml_header_carrier(&header),
                 rml_stamp_cost(header.stamp.length));
    }
}
