/* Broadcasts: to the root, which numbers them; from there down the daemons' tree; from each daemon
 * to its ranks. What is decided is decided in rml/cast.c. A daemon's state is its loop's own: every
 * message comes there. Each class has broadcasts, numbers and an order of its own. */
#include <config.h>

#include <base/clock.h>
#include <base/log.h>
#include <base/param.h>
#include <rml/cast.h>
#include <rml/cast_wire.h>
#include <rml/pack.h>
#include <rml/state.h>
#include <rml/xcast.h>
#include <stdlib.h>
#include <string.h>

#define CASTS 2u /* control and application */
#define LOOK_US 100000u

static struct param xcast_window = {
    .name = "rml_xcast_window",
    .type = PARAM_SIZE,
    .default_text = "16m",
    .min = 0,
    .max = INT64_C(1) << 40,
    .unit = "bytes",
    .help = "Most bytes of broadcasts of one rank that are under way when it begins another",
};

struct item {
    struct rml_cast_item item;
    struct rml *rml;
    enum oob_class class;
    opal_buffer_t *buffer; /* a reference; header and payload, as they go down */
    orte_process_name_t origin;
    uint64_t number; /* the origin's */
};

/* A rank's own, until it is everywhere. */
struct own {
    struct list link;
    uint64_t number;
    size_t bytes;
};

struct rml_xcast {
    struct rml_cast casts[CASTS];
    uint64_t window;

    /* guarded by the RML's lock */
    uint64_t number;  /* of this process's last */
    struct list owns; /* struct own, ascending */
    size_t own_bytes;
    bool room; /* another may begin */
};

static void note_room_locked(struct rml_xcast *xcast)
{
    __atomic_store_n(&xcast->room, xcast->own_bytes <= xcast->window, __ATOMIC_RELEASE);
}

static bool is_root(const struct rml *rml)
{
    return rml_is_daemon(rml) && rml->config.name.vpid == 0;
}

/* --- sending --- */

static opal_buffer_t *new_message(const struct rml_cast_header *header, const void *payload,
                                  size_t size)
{
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    uint8_t *bytes =
        buffer && size <= INT32_MAX - RML_CAST_SIZE ? malloc(RML_CAST_SIZE + size) : NULL;
    if (!bytes) {
        if (buffer) {
            OBJ_RELEASE(buffer);
        }
        return NULL;
    }
    rml_cast_encode(bytes, header);
    if (size > 0) {
        memcpy(bytes + RML_CAST_SIZE, payload, size);
    }
    if (opal_dss.load(buffer, bytes, (int32_t) (RML_CAST_SIZE + size)) != OPAL_SUCCESS) {
        free(bytes);
        OBJ_RELEASE(buffer);
        return NULL;
    }
    return buffer;
}

static void say(struct rml *rml, const orte_process_name_t *peer, enum oob_class class,
                const struct rml_cast_header *header)
{
    int status = rml_give(rml, peer, class, RML_TAG_XCAST, new_message(header, NULL, 0));
    if (status != ORTE_SUCCESS) {
        log_debug(LOG_RML, "cannot speak to %s of broadcasts: %s", ORTE_NAME_PRINT(peer),
                  opal_strerror(status));
    }
}

static int send_copy(struct rml *rml, const orte_process_name_t *peer, struct item *item,
                     void (*done)(void *arg, int status))
{
    opal_buffer_t *buffer = item->buffer;
    OBJ_RETAIN(buffer);
    int status = rml_send(rml, peer, item->class, RML_TAG_XCAST, &buffer, done, item);
    if (status != ORTE_SUCCESS) {
        OBJ_RELEASE(buffer);
    }
    return status;
}

/* --- here --- */

/* holder: whose credit it takes until it is consumed; NULL: nobody's. */
static void deliver(struct rml *rml, enum oob_class class, const struct rml_cast_header *header,
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

static void advance(struct rml *rml, enum oob_class class);

static void rank_has_it(void *arg, int status)
{
    struct item *item = arg;
    (void) status; /* whoever ended needs it no more */
    if (--item->item.busy == 0) {
        advance(item->rml, item->class);
    }
}

/* Only a rank that is there holds the broadcast up: others may never come. */
static void send_to_rank(struct rml *rml, const orte_process_name_t *rank, struct item *item)
{
    pthread_mutex_lock(&rml->lock);
    const struct rml_peer *peer = rml_peer_find(&rml->peers, rank);
    bool there = peer && peer->state == RML_PEER_UP;
    pthread_mutex_unlock(&rml->lock);
    int status = send_copy(rml, rank, item, there ? rank_has_it : NULL);
    if (status == ORTE_SUCCESS) {
        item->item.busy += there;
    } else {
        log_debug(LOG_RML, "a broadcast is not for %s: %s", ORTE_NAME_PRINT(rank),
                  opal_strerror(status));
    }
}

static void fan_out(struct rml *rml, struct item *item, const struct rml_cast_header *header)
{
    if (header->job == rml->config.name.jobid) {
        deliver(rml, item->class, header, item->buffer, NULL);
        return;
    }
    uint32_t rank = 0;
    for (;;) {
        pthread_mutex_lock(&rml->lock);
        rank = rml_route_local(&rml->route, header->job, rank);
        pthread_mutex_unlock(&rml->lock);
        if (rank == UINT32_MAX) {
            return;
        }
        send_to_rank(rml, &(orte_process_name_t){header->job, rank}, item);
        rank++;
    }
}

/* --- down the tree --- */

static void drop(struct rml *rml, struct list *items)
{
    for (struct list *link; (link = list_pop(items));) {
        struct item *item = container_of(link, struct item, item.link);
        if (is_root(rml) && item->origin.jobid != rml->config.name.jobid) {
            say(rml, &item->origin, item->class,
                &(struct rml_cast_header){.kind = RML_CAST_OVER, .number = item->number});
        }
        OBJ_RELEASE(item->buffer);
        free(item);
    }
}

static orte_process_name_t parent_of_me(struct rml *rml)
{
    pthread_mutex_lock(&rml->lock);
    uint32_t vpid = rml_tree_parent(&rml->route.tree, rml->config.name.vpid);
    pthread_mutex_unlock(&rml->lock);
    return (orte_process_name_t){rml->config.name.jobid, vpid};
}

/* After anything has changed. */
static void advance(struct rml *rml, enum oob_class class)
{
    struct rml_cast *cast = &rml->xcast->casts[class];
    struct list over = LIST_INIT(over);
    struct rml_cast_item *due;
    uint32_t vpid;
    uint64_t done;
    while ((due = rml_cast_due(cast, &vpid))) {
        orte_process_name_t child = {rml->config.name.jobid, vpid};
        int status = send_copy(rml, &child, container_of(due, struct item, item), NULL);
        if (status != ORTE_SUCCESS) { /* it joins again, here or elsewhere, or is lost */
            log_debug(LOG_RML, "cannot pass a broadcast on to daemon %u: %s", vpid,
                      opal_strerror(status));
        }
    }
    rml_cast_prune(cast, &over);
    drop(rml, &over);
    if (!is_root(rml) && rml_cast_must_tell(cast, &done)) {
        orte_process_name_t parent = parent_of_me(rml);
        say(rml, &parent, class, &(struct rml_cast_header){.kind = RML_CAST_DONE, .number = done});
    }
}

static void take(struct rml *rml, enum oob_class class, const struct rml_cast_header *header,
                 opal_buffer_t **buffer)
{
    struct rml_cast *cast = &rml->xcast->casts[class];
    struct item *item = calloc(1, sizeof(*item));
    if (!item) {
        log_error(LOG_RML, "no memory for a broadcast: it is lost here and below");
        return;
    }
    list_init(&item->item.link);
    item->rml = rml;
    item->class = class;
    item->origin = header->origin;
    item->number = header->kind == RML_CAST_UP ? header->number : header->other;
    item->buffer = *buffer;
    *buffer = NULL;
    rml_cast_take(cast, &item->item);
    item->item.busy++; /* so that it stays during this */
    fan_out(rml, item, header);
    item->item.busy--;
    advance(rml, class);
}

/* --- the root --- */

static size_t under_way(const struct rml_cast *cast, const orte_process_name_t *origin)
{
    size_t bytes = 0;
    const struct item *item;
    list_for_each (item, &cast->items, struct item, item.link) {
        bytes += rml_name_equal(&item->origin, origin) ? item->buffer->bytes_used : 0;
    }
    return bytes;
}

/* Ranks may speak to their own job, with their own tags, and not without end. */
static bool may_cast(struct rml *rml, const struct rml_info *info,
                     const struct rml_cast_header *header)
{
    if (info->role == OOB_KEY_CONTROL) {
        return true;
    }
    return header->job == info->origin.jobid && header->tag > ORTE_RML_TAG_MAX &&
           !rml_format_is_packed(header->format) && info->class == OOB_APP &&
           under_way(&rml->xcast->casts[info->class], &info->origin) <= rml->xcast->window;
}

static bool number_it(struct rml *rml, const struct rml_info *info, struct rml_cast_header *header,
                      opal_buffer_t **buffer)
{
    if (!is_root(rml) || !may_cast(rml, info, header)) {
        return false;
    }
    struct rml_cast_header down = *header;
    down.kind = RML_CAST_DOWN;
    down.role = info->role;
    down.origin = info->origin;
    down.other = header->number;
    down.number = rml->xcast->casts[info->class].last + 1;
    rml_cast_encode((uint8_t *) (*buffer)->base_ptr, &down);
    take(rml, info->class, &down, buffer);
    return true;
}

/* --- what daemons hear --- */

static bool hear_down(struct rml *rml, const struct rml_info *info,
                      const struct rml_cast_header *header, opal_buffer_t **buffer)
{
    if (is_root(rml)) {
        return false;
    }
    if (rml_cast_is_next(&rml->xcast->casts[info->class], header->number)) {
        take(rml, info->class, header, buffer);
    }
    return true; /* else it came before, over another parent */
}

static bool is_below(struct rml *rml, uint32_t vpid)
{
    pthread_mutex_lock(&rml->lock);
    bool below = !rml_tree_is_lost(&rml->route.tree, vpid) && vpid < rml->route.tree.count &&
                 rml_tree_towards(&rml->route.tree, rml->config.name.vpid, vpid) != UINT32_MAX;
    pthread_mutex_unlock(&rml->lock);
    return below;
}

static bool hear_from_below(struct rml *rml, const struct rml_info *info,
                            const struct rml_cast_header *header)
{
    struct rml_cast *cast = &rml->xcast->casts[info->class];
    uint32_t vpid = info->origin.vpid;
    bool fine = is_below(rml, vpid);
    if (fine && header->kind == RML_CAST_JOIN) {
        fine = rml_cast_join(cast, vpid, header->number, header->other) == ORTE_SUCCESS;
    } else if (fine && !rml_cast_raise(cast, vpid, header->number)) {
        return true; /* it is another's child meanwhile */
    }
    if (fine) {
        advance(rml, info->class);
    }
    return fine;
}

static bool hear_daemon(struct rml *rml, const struct rml_info *info,
                        struct rml_cast_header *header, opal_buffer_t **buffer)
{
    if ((unsigned) info->class >= CASTS) {
        return false;
    }
    if (header->kind == RML_CAST_UP) {
        return number_it(rml, info, header, buffer);
    }
    if (info->role != OOB_KEY_CONTROL || info->origin.jobid != rml->config.name.jobid) {
        return false;
    }
    return header->kind == RML_CAST_DOWN ? hear_down(rml, info, header, buffer)
                                         : hear_from_below(rml, info, header);
}

/* --- what ranks hear --- */

static bool hear_rank(struct rml *rml, const struct rml_info *info,
                      const struct rml_cast_header *header, const opal_buffer_t *buffer)
{
    if (header->kind == RML_CAST_DOWN) {
        deliver(rml, info->class, header, buffer, &info->origin);
        return true;
    }
    if (header->kind != RML_CAST_OVER) {
        return false;
    }
    struct own *own;
    pthread_mutex_lock(&rml->lock);
    list_for_each (own, &rml->xcast->owns, struct own, link) {
        if (own->number <= header->number) {
            list_remove(&own->link);
            rml->xcast->own_bytes -= own->bytes;
            free(own);
        }
    }
    note_room_locked(rml->xcast);
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
        (rml_is_daemon(rml) ? hear_daemon(rml, info, &header, buffer)
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
            list_remove(&own->link);
            rml->xcast->own_bytes -= own->bytes;
            free(own);
        }
    }
    note_room_locked(rml->xcast);
    pthread_mutex_unlock(&rml->lock);
}

static opal_buffer_t *copy_of(const opal_buffer_t *buffer)
{
    opal_buffer_t *copy = OBJ_NEW(opal_buffer_t);
    void *bytes = copy ? malloc(buffer->bytes_used + 1) : NULL;
    if (bytes && buffer->bytes_used > 0) {
        memcpy(bytes, buffer->base_ptr, buffer->bytes_used);
    }
    if (!bytes || opal_dss.load(copy, bytes, (int32_t) buffer->bytes_used) != OPAL_SUCCESS) {
        free(bytes);
        if (copy) {
            OBJ_RELEASE(copy);
        }
        return NULL;
    }
    copy->type = buffer->type;
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
                      new_message(&header, sent->base_ptr, sent->bytes_used));
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

/* --- the tree changes --- */

void rml_xcast_children(struct rml *rml, uint32_t lost)
{
    uint32_t *children = NULL, count = 0;
    if (!rml_is_daemon(rml) || !rml->xcast) {
        return;
    }
    pthread_mutex_lock(&rml->lock);
    count = rml_tree_children(&rml->route.tree, rml->config.name.vpid, NULL, 0);
    children = calloc((size_t) count + 1, sizeof(*children));
    if (children) {
        (void) rml_tree_children(&rml->route.tree, rml->config.name.vpid, children, count);
    }
    pthread_mutex_unlock(&rml->lock);
    for (unsigned class = 0; class < CASTS; class ++) {
        if (!children || rml_cast_set_children(&rml->xcast->casts[class], children, count, lost) !=
                             ORTE_SUCCESS) {
            log_error(LOG_RML, "no memory to broadcast over the tree");
        }
    }
    free(children);
    for (unsigned class = 0; class < CASTS; class ++) {
        advance(rml, class);
    }
}

void rml_xcast_join(struct rml *rml)
{
    orte_process_name_t parent = parent_of_me(rml);
    for (unsigned class = 0; class < CASTS; class ++) {
        struct rml_cast *cast = &rml->xcast->casts[class];
        cast->told = cast->floor;
        say(rml, &parent, class,
            &(struct rml_cast_header){
                .kind = RML_CAST_JOIN, .number = cast->last, .other = cast->floor});
    }
}

/* --- life --- */

int rml_xcast_init(struct rml *rml)
{
    rml->xcast = calloc(1, sizeof(*rml->xcast));
    if (!rml->xcast) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (unsigned class = 0; class < CASTS; class ++) {
        rml_cast_init(&rml->xcast->casts[class]);
    }
    list_init(&rml->xcast->owns);
    rml->xcast->window = (uint64_t) param_int(&xcast_window);
    rml->allowed[RML_TAG_XCAST] = true;
    rml_handle(rml, RML_TAG_XCAST, on_message, rml);
    return ORTE_SUCCESS;
}

void rml_xcast_fini(struct rml *rml)
{
    struct list items = LIST_INIT(items);
    if (!rml->xcast) {
        return;
    }
    for (unsigned class = 0; class < CASTS; class ++) {
        rml_cast_fini(&rml->xcast->casts[class], &items);
    }
    for (struct list *link; (link = list_pop(&items));) {
        struct item *item = container_of(link, struct item, item.link);
        OBJ_RELEASE(item->buffer);
        free(item);
    }
    for (struct list *link; (link = list_pop(&rml->xcast->owns));) {
        free(container_of(link, struct own, link));
    }
    free(rml->xcast);
    rml->xcast = NULL;
}
