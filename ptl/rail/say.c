#include <config.h>

#include <base/settings/fault.h>
#include <btl/interface/base.h>
#include <ptl/rail/link.h>
#include <stdlib.h>
#include <string.h>

/* A header that found no room. */
struct answer {
    struct list link;
    size_t size;
    uint8_t bytes[];
};

/* What waits for room to one peer, oldest first. */
struct outbox {
    struct list link; /* in rail.outboxes, until the component is closed */
    struct keel_btl_pending pending;
    struct mca_btl_base_endpoint_t *endpoint;
    const struct keel_btl_ext *ext; /* the BTL module's: the PTL's may end before */
    struct list answers;
    size_t bytes; /* that they take */
};

static int send_answer(const struct keel_btl_ext *ext, mca_btl_base_module_t *btl,
                       struct mca_btl_base_endpoint_t *endpoint, void *bytes, size_t size)
{
    return ext->channel_sendi(btl, endpoint, NULL, bytes, size, 0, MCA_BTL_NO_ORDER, 0,
                              RAIL_CHANNEL, RAIL_TAG, NULL);
}

static void outbox_destroy(struct outbox *outbox)
{
    for (struct list *link; (link = list_pop(&outbox->answers));) {
        free(container_of(link, struct answer, link));
    }
    list_remove(&outbox->link);
    free(outbox);
}

/* status: the endpoint or its module ends, which has told those who wait for answers; the module
 * may be gone. */
static void try_again(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      struct keel_btl_pending *pending, int status)
{
    struct outbox *outbox = container_of(pending, struct outbox, pending);
    while (status == OPAL_SUCCESS && !list_empty(&outbox->answers)) {
        struct answer *answer = container_of(outbox->answers.next, struct answer, link);
        status = send_answer(outbox->ext, btl, endpoint, answer->bytes, answer->size);
        if (status == OPAL_SUCCESS) {
            outbox->bytes -= sizeof(*answer) + answer->size;
            list_remove(&answer->link);
            free(answer);
        }
    }
    if (!btl_is_shortage(status) ||
        outbox->ext->pending_add(btl, endpoint, pending) != OPAL_SUCCESS) {
        outbox_destroy(outbox);
    }
}

/* Few are short of room at a time. NULL: none waits. */
static struct outbox *outbox_to(const struct mca_btl_base_endpoint_t *endpoint)
{
    struct outbox *outbox;
    list_for_each (outbox, &rail.outboxes, struct outbox, link) {
        if (outbox->endpoint == endpoint) {
            return outbox;
        }
    }
    return NULL;
}

/* NULL: no memory. */
static struct outbox *outbox_create(const struct rail_module *module,
                                    struct mca_btl_base_endpoint_t *endpoint)
{
    struct outbox *outbox = calloc(1, sizeof(*outbox));
    if (!outbox) {
        return NULL;
    }
    outbox->pending.ready = try_again;
    outbox->endpoint = endpoint;
    outbox->ext = module->ext;
    list_init(&outbox->answers);
    list_append(&rail.outboxes, &outbox->link);
    return outbox;
}

/* False: no memory. */
static bool outbox_put(struct outbox *outbox, const uint8_t *bytes, size_t size)
{
    struct answer *answer =
        fault_at("ptl.rail.answer").action == FAULT_ERROR ? NULL : malloc(sizeof(*answer) + size);
    if (!answer) {
        return false;
    }
    answer->size = size;
    memcpy(answer->bytes, bytes, size);
    list_append(&outbox->answers, &answer->link);
    outbox->bytes += sizeof(*answer) + size;
    return true;
}

void rail_say(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
              const struct rail_header *header)
{
    rail_say_to(btl_proc_of(module->btl, endpoint), module, endpoint, header);
}

/* A process of which no peer was made is looked at anew each time: that asks the modules. */
static struct rail_link *link_of(const opal_proc_t *proc, const struct rail_module *module)
{
    const struct mca_ptl_base_peer_t *peer =
        proc ? roster_find(module->roster, &proc->proc_name) : NULL;
    return peer ? peer->link_to : proc ? rail_link_to(proc) : NULL;
}

void rail_say_to(const opal_proc_t *proc, struct rail_module *module,
                 struct mca_btl_base_endpoint_t *endpoint, const struct rail_header *header)
{
    uint8_t bytes[RAIL_MOST_BYTES];
    size_t size = rail_encode(bytes, header);
    struct rail_link *link = link_of(proc, module);
    if (link) {
        rail_link_say(link, module, endpoint, bytes, size);
        return;
    }
    struct outbox *outbox = outbox_to(endpoint);
    bool waits = outbox;
    if (!waits && !btl_is_shortage(send_answer(module->ext, module->btl, endpoint, bytes, size))) {
        return; /* a peer that is gone waits for nothing */
    }
    outbox = waits ? outbox : outbox_create(module, endpoint);
    if (outbox && outbox->bytes >= rail.answers_most) {
        rail_give_up(module, endpoint, "more answers to it wait than ptl_rail_answers_size");
    } else if (!outbox || !outbox_put(outbox, bytes, size)) {
        rail_give_up(module, endpoint, "there was no memory for an answer to it");
    }
    if (outbox && !waits &&
        module->ext->pending_add(module->btl, endpoint, &outbox->pending) != OPAL_SUCCESS) {
        outbox_destroy(outbox); /* the endpoint ends */
    }
}

enum { ROOMS_AT_ONCE = 16 };

void rail_say_open(void)
{
    list_init(&rail.outboxes);
    pool_init(&rail.rooms, sizeof(struct rail_room), _Alignof(struct rail_room), ROOMS_AT_ONCE, 0,
              NULL, NULL);
}

/* What waits goes out, or ends, by itself. */
void rail_say_close(void)
{
    while (list_pop(&rail.outboxes)) {
    }
    pool_fini(&rail.rooms);
}

struct rail_room *rail_room_await(const struct rail_module *module,
                                  struct mca_btl_base_endpoint_t *endpoint,
                                  keel_btl_pending_fn ready, void *arg, int *status)
{
    struct rail_room *room = pool_get(&rail.rooms);
    if (!room) {
        return NULL;
    }
    *room = (struct rail_room){.pending = {.ready = ready, .arg = arg}, .module = module};
    *status = module->ext->pending_add(module->btl, endpoint, &room->pending);
    if (*status != OPAL_SUCCESS) {
        pool_put(&rail.rooms, room);
        return NULL;
    }
    return room;
}

void *rail_room_end(struct keel_btl_pending *pending)
{
    void *arg = pending->arg;
    pool_put(&rail.rooms, container_of(pending, struct rail_room, pending));
    return arg;
}

void rail_room_leave(struct rail_room *room)
{
    if (room) {
        (void) room->module->ext->pending_remove(room->module->btl, &room->pending);
        (void) rail_room_end(&room->pending);
    }
}

/* status: the endpoint ends, and the next call will say so. */
static void there_is_room(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                          struct keel_btl_pending *pending, int status)
{
    (void) btl, (void) endpoint, (void) status;
    struct mca_ptl_base_peer_t *peer = rail_room_end(pending);
    struct keel_ptl_module_t *ptl = &peer->module->super;
    peer->room = NULL;
    ptl->ptl_peer_ready(ptl, peer);
}

int rail_want_room(struct mca_ptl_base_peer_t *peer, int status)
{
    if (!btl_is_shortage(status)) {
        return status;
    }
    if (!peer->room) {
        peer->room = rail_room_await(peer->module, peer->endpoint, there_is_room, peer, &status);
    }
    return peer->room ? OPAL_ERR_OUT_OF_RESOURCE : btl_is_shortage(status) ? OPAL_ERROR : status;
}

struct rail_op *rail_op_create(void *owner, struct list *ops,
                               const struct mca_ptl_base_peer_t *peer, void *local, size_t offset,
                               size_t size)
{
    struct rail_op *op = malloc(sizeof(*op) + (local ? 0 : size));
    if (op) {
        op->owner = owner;
        op->module = peer->module;
        op->endpoint = peer->endpoint;
        op->awaits = NULL;
        op->local = local ? local : op->bounce;
        op->offset = offset;
        op->size = size;
        list_append(ops, &op->link);
    }
    return op;
}

void *rail_op_end(struct rail_op *op)
{
    void *owner = op->owner;
    list_remove(&op->link);
    free(op);
    return owner;
}

void rail_ops_leave(struct list *ops)
{
    for (struct list *link; (link = list_pop(ops));) {
        struct rail_op *op = container_of(link, struct rail_op, link);
        op->owner = NULL;
        if (op->awaits) {
            free(op); /* no module has it */
        }
    }
}
