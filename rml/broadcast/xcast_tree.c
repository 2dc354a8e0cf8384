/* A daemon's part in broadcasts: the root numbers them; from there they go down the daemons' tree,
 * and from each daemon to its ranks. What is decided is decided in rml/broadcast/cast.c. All of
 * this is the loop's own: every message comes there. */
#include <config.h>

#include <base/settings/log.h>
#include <base/types/name.h>
#include <rml/broadcast/cast_wire.h>
#include <rml/broadcast/xcast.h>
#include <rml/broadcast/xcast_state.h>
#include <rml/message/pack.h>
#include <stdlib.h>

struct item {
    struct rml_cast_item item;
    struct rml *rml;
    enum oob_class class;
    opal_buffer_t *buffer; /* a reference; header and payload, as they go down */
    orte_process_name_t origin;
    uint64_t number; /* the origin's */
};

static bool is_root(const struct rml *rml)
{
    return rml_is_daemon(rml) && rml->config.name.vpid == 0;
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

/* --- to the ranks --- */

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
        rml_xcast_deliver(rml, item->class, header, item->buffer, NULL);
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
            rml_xcast_say(rml, &item->origin, item->class,
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
        rml_xcast_say(rml, &parent, class,
                      &(struct rml_cast_header){.kind = RML_CAST_DONE, .number = done});
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
        bytes += name_equal(&item->origin, origin) ? item->buffer->bytes_used : 0;
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

enum place { PLACE_BELOW, PLACE_ELSEWHERE, PLACE_LOST };

static enum place place_of(struct rml *rml, uint32_t vpid)
{
    const struct rml_tree *tree = &rml->route.tree;
    enum place place = PLACE_ELSEWHERE;
    pthread_mutex_lock(&rml->lock);
    if (vpid < tree->count && rml_tree_is_lost(tree, vpid)) {
        place = PLACE_LOST;
    } else if (vpid < tree->count &&
               rml_tree_towards(tree, rml->config.name.vpid, vpid) != UINT32_MAX) {
        place = PLACE_BELOW;
    }
    pthread_mutex_unlock(&rml->lock);
    return place;
}

static bool hear_from_below(struct rml *rml, const struct rml_info *info,
                            const struct rml_cast_header *header)
{
    struct rml_cast *cast = &rml->xcast->casts[info->class];
    uint32_t vpid = info->origin.vpid;
    enum place place = place_of(rml, vpid);
    if (place == PLACE_LOST) {
        return true; /* it was said before that */
    }
    bool fine = place == PLACE_BELOW;
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

bool rml_xcast_hear(struct rml *rml, const struct rml_info *info, struct rml_cast_header *header,
                    opal_buffer_t **buffer)
{
    if ((unsigned) info->class >= RML_CASTS) {
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
    for (unsigned class = 0; class < RML_CASTS; class ++) {
        if (!children || rml_cast_set_children(&rml->xcast->casts[class], children, count, lost) !=
                             ORTE_SUCCESS) {
            log_error(LOG_RML, "no memory to broadcast over the tree");
        }
    }
    free(children);
    for (unsigned class = 0; class < RML_CASTS; class ++) {
        advance(rml, class);
    }
}

struct rml_casts rml_last_casts(const struct rml *rml)
{
    const struct rml_cast *casts = rml->xcast->casts;
    return (struct rml_casts){casts[OOB_CONTROL].last, casts[OOB_APP].last};
}

void rml_begin_casts(struct rml *rml, const struct rml_casts *last)
{
    rml_cast_begin(&rml->xcast->casts[OOB_CONTROL], last->control);
    rml_cast_begin(&rml->xcast->casts[OOB_APP], last->app);
}

void rml_xcast_join(struct rml *rml)
{
    orte_process_name_t parent = parent_of_me(rml);
    for (unsigned class = 0; class < RML_CASTS; class ++) {
        struct rml_cast *cast = &rml->xcast->casts[class];
        cast->told = cast->floor;
        rml_xcast_say(rml, &parent, class,
                      &(struct rml_cast_header){
                          .kind = RML_CAST_JOIN, .number = cast->last, .other = cast->floor});
    }
}

void rml_xcast_drop(struct rml_cast *cast)
{
    struct list items = LIST_INIT(items);
    rml_cast_fini(cast, &items);
    for (struct list *link; (link = list_pop(&items));) {
        struct item *item = container_of(link, struct item, item.link);
        OBJ_RELEASE(item->buffer);
        free(item);
    }
}
