/* What is held back: calls to be made when they are due, and errors to be called back. */
#include <config.h>

#include <base/clock.h>
#include <btl/fault/fault_layer.h>
#include <stdlib.h>

bool fault_hold(struct fault_layer *layer, struct fault_op *op, int64_t delay_ms)
{
    if (layer->held_count >= FAULT_HELD_MAX) {
        return false;
    }
    op->due_us = clock_us() + (uint64_t) delay_ms * 1000;
    list_append(&layer->held, &op->link);
    layer->held_count++;
    return true;
}

static bool holds(const struct fault_layer *layer, const struct mca_btl_base_endpoint_t *endpoint,
                  bool sends)
{
    struct fault_op *op;
    bool found = false;
    list_for_each (op, (struct list *) &layer->held, struct fault_op, link) {
        found =
            found || ((op->descriptor != NULL) == sends && (!endpoint || op->endpoint == endpoint));
    }
    return found;
}

bool fault_holds_send(const struct fault_layer *layer,
                      const struct mca_btl_base_endpoint_t *endpoint)
{
    return layer->held_count > 0 && holds(layer, endpoint, true);
}

bool fault_holds_rdma(const struct fault_layer *layer,
                      const struct mca_btl_base_endpoint_t *endpoint)
{
    return layer->held_count > 0 && holds(layer, endpoint, false);
}

/* The caller was told 0, so one callback has to come. */
static int send_now(struct fault_op *op)
{
    mca_btl_base_module_t *inner = op->owner->layer.inner;
    mca_btl_base_descriptor_t *descriptor = op->descriptor;
    uint32_t flags = descriptor->des_flags;
    if (descriptor->des_cbfunc) {
        descriptor->des_flags |= MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    }
    int status = btl_send_on(inner, op->endpoint, descriptor, op->channel, op->tag);
    if (status < 0) {
        descriptor->des_flags = flags;
    }
    return status;
}

static void send_end(struct fault_op *op, int status)
{
    struct fault_op ended = *op;
    free(op);
    btl_complete(&ended.owner->layer.super, ended.endpoint, ended.descriptor, status);
}

static void op_take(struct fault_op *op)
{
    list_remove(&op->link);
    op->owner->held_count--;
}

/* False: it has to wait for room. Else it is the module's, or ended: an operation that the module
 * took may have called back, and be freed. */
static bool op_go(struct fault_op *op)
{
    bool sends = op->descriptor != NULL;
    int status = op->status;
    op_take(op);
    if (status == OPAL_SUCCESS) {
        status = sends ? send_now(op) : fault_op_call(op);
    }
    if (btl_is_shortage(status)) {
        list_prepend(&op->owner->held, &op->link);
        op->owner->held_count++;
        return false;
    }
    if (sends && status >= 0) {
        free(op);
    } else if (sends) {
        send_end(op, status);
    } else if (status != 0) {
        fault_op_end(op, status == 1 ? OPAL_SUCCESS : status);
    }
    return true;
}

/* The first that is due; messages keep their order. */
static struct fault_op *next_due(struct fault_layer *layer, uint64_t now)
{
    struct fault_op *op, *found = NULL;
    bool send_waits = false;
    list_for_each (op, &layer->held, struct fault_op, link) {
        bool blocked = op->descriptor && send_waits;
        if (!found && !blocked && op->due_us <= now) {
            found = op;
        }
        send_waits = send_waits || op->descriptor;
    }
    return found;
}

int fault_progress(struct btl_layer *base)
{
    struct fault_layer *layer = fault_layer_of(&base->super);
    int events = 0;
    uint64_t now = layer->held_count > 0 ? clock_us() : 0;
    while (layer->held_count > 0 && events < FAULT_HELD_MAX) {
        struct fault_op *op = next_due(layer, now);
        if (!op || !op_go(op)) {
            break;
        }
        events++;
    }
    return events;
}

void fault_end(struct fault_layer *layer, const struct mca_btl_base_endpoint_t *endpoint)
{
    struct list ended;
    list_init(&ended);
    struct fault_op *op;
    list_for_each (op, &layer->held, struct fault_op, link) {
        if (!endpoint || op->endpoint == endpoint) {
            op_take(op);
            list_append(&ended, &op->link);
        }
    }
    for (struct list *link = list_pop(&ended); link; link = list_pop(&ended)) {
        op = container_of(link, struct fault_op, link);
        if (op->descriptor) {
            send_end(op, OPAL_ERR_UNREACH);
        } else {
            fault_op_end(op, OPAL_ERR_UNREACH);
        }
    }
}
