#include <config.h>

#include <base/log.h>
#include <btl/base.h>
#include <ptl/rail/rail.h>
#include <stdlib.h>
#include <string.h>

/* A header that found no room. */
struct word {
    struct keel_btl_pending pending;
    const struct keel_btl_ext *ext; /* the BTL module's: the PTL's may end before */
    size_t size;
    uint8_t bytes[];
};

static int send_word(const struct keel_btl_ext *ext, mca_btl_base_module_t *btl,
                     struct mca_btl_base_endpoint_t *endpoint, void *bytes, size_t size)
{
    return ext->channel_sendi(btl, endpoint, NULL, bytes, size, 0, MCA_BTL_NO_ORDER, 0,
                              RAIL_CHANNEL, RAIL_TAG, NULL);
}

/* status: the endpoint or its module ends, which has told those who wait for answers; the module
 * may be gone. */
static void try_again(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      struct keel_btl_pending *pending, int status)
{
    struct word *word = container_of(pending, struct word, pending);
    if (status == OPAL_SUCCESS) {
        status = send_word(word->ext, btl, endpoint, word->bytes, word->size);
        if (btl_is_shortage(status) &&
            word->ext->pending_add(btl, endpoint, pending) == OPAL_SUCCESS) {
            return;
        }
    }
    free(word);
}

void rail_say(struct rail_module *module, struct mca_btl_base_endpoint_t *endpoint,
              const struct rail_header *header)
{
    uint8_t bytes[RAIL_MOST_BYTES];
    size_t size = rail_encode(bytes, header);
    int status = send_word(module->ext, module->btl, endpoint, bytes, size);
    if (!btl_is_shortage(status)) {
        return; /* a peer that is gone waits for nothing */
    }
    struct word *word = calloc(1, sizeof(*word) + size);
    if (!word) {
        log_error(LOG_PTL, "out of memory: a peer waits for an answer in vain");
        return;
    }
    word->pending.ready = try_again;
    word->ext = module->ext;
    word->size = size;
    memcpy(word->bytes, bytes, size);
    if (module->ext->pending_add(module->btl, endpoint, &word->pending) != OPAL_SUCCESS) {
        free(word);
    }
}

int rail_send_bytes(struct mca_ptl_base_peer_t *peer, void *header, size_t header_size,
                    const opal_convertor_t *data, size_t offset, size_t size)
{
    struct rail_module *module = peer->module;
    opal_convertor_t from = *data;
    if (offset != from.bytes_converted) {
        opal_convertor_set_position(&from, &offset);
    }
    int status =
        module->ext->channel_sendi(module->btl, peer->endpoint, &from, header, header_size, size,
                                   MCA_BTL_NO_ORDER, 0, RAIL_CHANNEL, RAIL_TAG, NULL);
    return status == OPAL_SUCCESS ? status : rail_want_room(peer, status);
}

/* status: the endpoint ends, and the next call will say so. */
static void there_is_room(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                          struct keel_btl_pending *pending, int status)
{
    (void) btl, (void) endpoint, (void) status;
    struct mca_ptl_base_peer_t *peer = container_of(pending, struct mca_ptl_base_peer_t, room);
    struct keel_ptl_module_t *ptl = &peer->module->super;
    peer->waits = false;
    ptl->ptl_peer_ready(ptl, peer);
}

int rail_want_room(struct mca_ptl_base_peer_t *peer, int status)
{
    if (!btl_is_shortage(status)) {
        return status;
    }
    if (!peer->waits) {
        peer->room.ready = there_is_room;
        status = peer->module->ext->pending_add(peer->module->btl, peer->endpoint, &peer->room);
        peer->waits = status == OPAL_SUCCESS;
    }
    return peer->waits ? OPAL_ERR_OUT_OF_RESOURCE : btl_is_shortage(status) ? OPAL_ERROR : status;
}

struct rail_op *rail_op_create(void *owner, struct list *ops, size_t offset, size_t size,
                               bool bounces)
{
    struct rail_op *op = malloc(sizeof(*op) + (bounces ? size : 0));
    if (op) {
        op->owner = owner;
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
        container_of(link, struct rail_op, link)->owner = NULL;
    }
}
