/* Broadcasts: the calls, what ranks hear, and what both sides need. What daemons do is in
 * rml/broadcast/xcast_tree.c. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <rml/broadcast/cast_wire.h>
#include <rml/broadcast/xcast.h>
#include <rml/broadcast/xcast_state.h>
#include <rml/message/pack.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_US 100000u

static struct param xcast_window =
    PARAM_SIZE("rml_xcast_window", "16m", 0, INT64_C(1) << 40,
               "Most bytes of broadcasts of one rank that are under way when it begins another");
PARAM_ROWS("rml", xcast_window);

/* A rank's own, until it is everywhere. */
struct own {
    struct list link;
    uint64_t number;
    size_t bytes;
};

static void note_room_locked(struct rml_xcast *xcast)
{
    __atomic_store_n(&xcast->room, xcast->own_bytes <= xcast->window, __ATOMIC_RELEASE);
}

static void remove_own_locked(struct rml_xcast *xcast, struct own *own)
{
    list_remove(&own->link);
    xcast->own_bytes -= own->bytes;
    free(own);
    note_room_locked(xcast);
}

/* --- messages --- */

/* A message of a header and, if size is not 0, a payload; NULL: no memory. */
static opal_buffer_t *make_message(const struct rml_cast_header *header, const void *payload,
                                   size_t size)
{
    uint8_t *bytes = size <= INT32_MAX - RML_CAST_SIZE ? malloc(RML_CAST_SIZE + size) : NULL;
    if (bytes) {
        rml_cast_encode(bytes, header);
    }
    if (bytes && size > 0) {
        memcpy(bytes + RML_CAST_SIZE, payload, size);
    }
    return rml_buffer_take(bytes, RML_CAST_SIZE + size);
}

void rml_xcast_say(struct rml *rml, const orte_process_name_t *peer, enum oob_class class,
                   const struct rml_cast_header *header)
{
    int status = rml_give(rml, peer, class, RML_TAG_XCAST, make_message(header, NULL, 0));
    if (status != ORTE_SUCCESS) {
        log_debug(LOG_RML, "cannot speak to %s of broadcasts: %s", ORTE_NAME_PRINT(peer),
                  opal_strerror(status));
    }
}

void rml_xcast_deliver(struct rml *rml, enum oob_class class, const struct rml_cast_header *header,
                       const opal_buffer_t *buffer, const orte_process_name_t *holder)
{
    struct rml_info info = {header->origin, header->role, header->tag, class};
    struct iovec payload = {buffer->base_ptr + RML_CAST_SIZE, buffer->bytes_used - RML_CAST_SIZE};
    struct rml_message *message = rml_message_create(&info, header->format, &payload, 1);
    int status = message ? rml_message_unpack(message, rml->unpack_max) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status != ORTE_SUCCESS) {
        log_error(LOG_RML, "a broadcast of %zu bytes cannot be unpacked or held, and is lost: %s",
                  payload.iov_len, opal_strerror(status));
        rml_message_destroy(message);
        return;
    }
    pthread_mutex_lock(&rml->lock);
    struct rml_peer *peer = holder ? rml_peer_find(&rml->peers, holder) : NULL;
    if (peer && peer->session) {
        rml_hold_locked(rml, peer, message);
    }
    rml_deliver_locked(rml, message);
    pthread_mutex_unlock(&rml->lock);
}

/* --- what ranks hear --- */

static bool hear_rank(struct rml *rml, const struct rml_info *info,
                      const struct rml_cast_header *header, const opal_buffer_t *buffer)
{
    if (header->kind == RML_CAST_DOWN) {
        rml_xcast_deliver(rml, info->class, header, buffer, &info->origin);
        return true;
    }
    if (header->kind != RML_CAST_OVER) {
        return false;
    }
    struct own *own;
    pthread_mutex_lock(&rml->lock);
    list_for_each (own, &rml->xcast->owns, struct own, link) {
        if (own->number <= header->number) {
            remove_own_locked(rml->xcast, own);
        }
    }
    rml_wake_locked(rml);
    pthread_mutex_unlock(&rml->lock);
    return true;
}

static void on_message(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct rml *rml = arg;
    struct rml_cast_header header;
    unsigned held = 0;
    bool fine =
        rml_cast_decode(&header, (*buffer)->base_ptr, (*buffer)->bytes_used) == ORTE_SUCCESS &&
        (rml_is_daemon(rml) ? rml_xcast_hear(rml, info, &header, buffer)
                            : hear_rank(rml, info, &header, *buffer));
    if (!fine) {
        pthread_mutex_lock(&rml->lock);
        rml->counters.malformed++;
        pthread_mutex_unlock(&rml->lock);
        if (log_rate_ok("rml xcast", &held)) {
            log_warn(LOG_RML, "a broadcast's message of %s is refused",
                     ORTE_NAME_PRINT(&info->origin));
        }
    }
}

/* --- the calls --- */

/* Ranks: waits until there is room for another, then notes it. */
static int reserve(struct rml *rml, size_t bytes, uint64_t *number)
{
    struct rml_xcast *xcast = rml->xcast;
    struct own *own = calloc(1, sizeof(*own));
    if (!own) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    pthread_mutex_lock(&rml->lock);
    while (xcast->own_bytes > xcast->window && !rml->upstream_down && rml->phase == RML_ENABLED) {
        pthread_mutex_unlock(&rml->lock);
        int waited = rml_block(rml, &xcast->room, clock_us() + LOOK_US);
        pthread_mutex_lock(&rml->lock);
        if (waited != ORTE_SUCCESS && waited != ORTE_ERR_TIMEOUT) {
            break;
        }
    }
    int status = ORTE_SUCCESS;
    if (rml->upstream_down || rml->phase == RML_FINALIZED) {
        status = ORTE_ERR_COMM_FAILURE;
        free(own);
    } else {
        *number = ++xcast->number;
        *own = (struct own){.number = *number, .bytes = bytes};
        list_init(&own->link);
        list_append(&xcast->owns, &own->link);
        xcast->own_bytes += bytes;
        note_room_locked(xcast);
    }
    pthread_mutex_unlock(&rml->lock);
    return status;
}

/* It will not be sent. */
static void unreserve(struct rml *rml, uint64_t number)
{
    struct own *own;
    pthread_mutex_lock(&rml->lock);
    list_for_each (own, &rml->xcast->owns, struct own, link) {
        if (own->number == number) {
            remove_own_locked(rml->xcast, own);
        }
    }
    pthread_mutex_unlock(&rml->lock);
}

static opal_buffer_t *copy_of(const opal_buffer_t *buffer)
{
    uint8_t *bytes = malloc(buffer->bytes_used + 1);
    if (bytes && buffer->bytes_used > 0) {
        memcpy(bytes, buffer->base_ptr, buffer->bytes_used);
    }
    opal_buffer_t *copy = rml_buffer_take(bytes, buffer->bytes_used);
    if (copy) {
        copy->type = buffer->type;
    }
    return copy;
}

/* Where there is no tree: to each rank, this one included. */
static int send_to_all(struct rml *rml, orte_rml_tag_t tag, opal_buffer_t *buffer)
{
    int status = ORTE_SUCCESS;
    uint32_t size = rml->config.job_size > 0 ? rml->config.job_size : 1;
    for (uint32_t rank = 0; rank < size && status == ORTE_SUCCESS; rank++) {
        orte_process_name_t peer = {rml->config.name.jobid, rank};
        status = rml_give(rml, &peer, OOB_APP, tag, copy_of(buffer));
    }
    return status;
}

int rml_xcast(struct rml *rml, orte_jobid_t job, orte_rml_tag_t tag, opal_buffer_t *buffer)
{
    bool daemon = rml_is_daemon(rml);
    struct rml_cast_header header = {.kind = RML_CAST_UP,
                                     .format = rml_format_of(buffer->type),
                                     .tag = tag,
                                     .job = job,
                                     .number = 1};
    if (tag == ORTE_RML_TAG_INVALID || job >= ORTE_JOBID_WILDCARD ||
        (!daemon && (tag <= ORTE_RML_TAG_MAX || job != rml->config.name.jobid))) {
        return ORTE_ERR_BAD_PARAM;
    }
    pthread_mutex_lock(&rml->lock);
    bool tree = daemon || rml->route.has_upstream;
    pthread_mutex_unlock(&rml->lock);
    if (!tree) {
        return send_to_all(rml, tag, buffer);
    }
    size_t bytes = buffer->bytes_used + RML_CAST_SIZE;
    int status = daemon ? ORTE_SUCCESS : reserve(rml, bytes, &header.number);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    orte_process_name_t root = {rml_daemon_job(rml->config.name.jobid), 0};
    opal_buffer_t *packed = daemon ? rml_pack_buffer(rml, buffer) : NULL;
    const opal_buffer_t *sent = packed ? packed : buffer;
    header.format = packed ? rml_format_packed(header.format) : header.format;
    status = rml_give(rml, &root, daemon ? OOB_CONTROL : OOB_APP, RML_TAG_XCAST,
                      make_message(&header, sent->base_ptr, sent->bytes_used));
    OBJ_RELEASE(packed);
    if (status != ORTE_SUCCESS && !daemon) {
        unreserve(rml, header.number);
    }
    return status;
}

int rml_xcast_give(struct rml *rml, orte_jobid_t job, orte_rml_tag_t tag, opal_buffer_t *buffer)
{
    if (!buffer) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int status = rml_xcast(rml, job, tag, buffer);
    OBJ_RELEASE(buffer);
    return status;
}

/* --- life --- */

int rml_xcast_init(struct rml *rml)
{
    rml->xcast = calloc(1, sizeof(*rml->xcast));
    if (!rml->xcast) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (unsigned class = 0; class < RML_CASTS; class ++) {
        rml_cast_init(&rml->xcast->casts[class]);
    }
    list_init(&rml->xcast->owns);
    rml->xcast->window = (uint64_t) param_int(&xcast_window);
    rml_handle(rml, RML_TAG_XCAST, on_message, rml);
    return ORTE_SUCCESS;
}

void rml_xcast_fini(struct rml *rml)
{
    if (!rml->xcast) {
        return;
    }
    for (unsigned class = 0; class < RML_CASTS; class ++) {
        rml_xcast_drop(&rml->xcast->casts[class]);
    }
    for (struct list *link; (link = list_pop(&rml->xcast->owns));) {
        free(container_of(link, struct own, link));
    }
    free(rml->xcast);
    rml->xcast = NULL;
}
