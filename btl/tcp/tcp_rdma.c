#include <config.h>

#include <btl/tcp/tcp_link.h>
#include <btl/tcp/tcp_rdma.h>
#include <string.h>

/* ---- at the initiator ---- */

static uint64_t slot_id(const tcp_endpoint *ep, unsigned slot)
{
    return (uint64_t) ep->slots[slot].generation << 32 | slot;
}

static struct tcp_slot *slot_find(tcp_endpoint *ep, uint64_t id)
{
    uint32_t index = (uint32_t) id;

    if (index >= TCP_SLOTS || !ep->slots[index].op || ep->slots[index].generation != id >> 32) {
        return NULL;
    }
    return &ep->slots[index];
}

static unsigned slot_take(tcp_endpoint *ep)
{
    unsigned slot = 0;

    while (ep->slots[slot].op) {
        slot++;
    }
    ep->slots_used++;
    return slot;
}

/* Queues the next piece of an op; false: no memory. A free slot is there. */
static bool piece_queue(tcp_endpoint *ep, struct tcp_op *op)
{
    struct tcp_module *tcp = ep->tcp;
    size_t left = op->call.size - op->issued;
    size_t size = left < tcp->params.piece_bytes ? left : tcp->params.piece_bytes;
    uint8_t *local = (uint8_t *) op->call.local_address + op->issued;
    unsigned slot = slot_take(ep);
    struct tcp_frame frame = {
        .type = op->get ? TCP_FRAME_GET : TCP_FRAME_PUT,
        .id = slot_id(ep, slot),
        .handle = op->handle,
        .address = op->call.remote_address + op->issued,
        .size = (uint32_t) size,
    };

    struct tcp_item *item = tcp_item_create(tcp, TCP_ITEM_ASK, &frame);
    if (!item) {
        ep->slots_used--;
        return false;
    }
    item->slot = slot;
    if (!op->get) {
        tcp_item_set_data(item, local, size);
    }
    ep->slots[slot] = (struct tcp_slot){
        .op = op,
        .generation = ep->slots[slot].generation,
        .local = local,
        .size = (uint32_t) size,
    };
    op->issued += size;
    op->pieces++;
    list_append(op->get ? &ep->small : &ep->bulk, &item->link);
    return true;
}

void tcp_rdma_issue(tcp_endpoint *ep)
{
    struct tcp_op *op;

    list_for_each (op, &ep->ops, struct tcp_op, link) {
        while (op->status == OPAL_SUCCESS && op->issued < op->call.size) {
            if (ep->slots_used == TCP_SLOTS || !piece_queue(ep, op)) {
                return;
            }
        }
    }
}

static void op_complete(tcp_endpoint *ep, struct tcp_op *op, int status)
{
    struct rdma_call call = op->call;

    list_remove(&op->link);
    pool_put(&ep->tcp->ops, op);
    if (call.cbfunc) {
        rdma_call_back(&call, &ep->tcp->super, tcp_endpoint_known_as(ep), status);
    } else {
        rdma_am_lose(&ep->am, status);
    }
}

static struct tcp_op *op_create(tcp_endpoint *ep, const struct rdma_call *call, bool get)
{
    struct tcp_op *op = pool_get(&ep->tcp->ops);

    if (op) {
        *op = (struct tcp_op){.call = *call, .get = get};
        memcpy(&op->handle, call->remote_handle, sizeof(op->handle)); /* at any alignment */
        list_append(&ep->ops, &op->link);
    }
    return op;
}

int tcp_rdma(mca_btl_base_module_t *btl, tcp_endpoint *ep, const struct rdma_call *call, bool put)
{
    struct tcp_module *tcp = tcp_of(btl);
    int status = tcp_endpoint_begin(tcp, ep);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct tcp_op *op = op_create(ep, call, !put);
    if (!op) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (call->size == 0) {
        tcp_enter(tcp);
        op_complete(ep, op, OPAL_SUCCESS);
        tcp_leave(tcp);
        return OPAL_SUCCESS;
    }
    tcp_rdma_issue(ep);
    if (ep->peer.state == PEER_UP && !tcp_link_busy(ep->tcp_link)) {
        tcp_link_write(ep->tcp_link);
    }
    tcp_endpoint_want(ep);
    return OPAL_SUCCESS;
}

struct tcp_slot *tcp_rdma_data(tcp_endpoint *ep, const struct tcp_frame *frame)
{
    struct tcp_slot *slot = slot_find(ep, frame->id);

    if (!slot || !slot->op->get || !slot->sent || slot->data_in || slot->size != frame->size) {
        return NULL;
    }
    return slot;
}

int tcp_rdma_done(tcp_endpoint *ep, const struct tcp_frame *frame)
{
    struct tcp_slot *slot = slot_find(ep, frame->id);

    if (!slot || !slot->sent ||
        (slot->op->get && frame->status == OPAL_SUCCESS && !slot->data_in)) {
        return OPAL_ERR_UNPACK_FAILURE;
    }
    struct tcp_op *op = slot->op;
    slot->op = NULL;
    slot->generation++;
    ep->slots_used--;
    op->pieces--;
    if (op->status == OPAL_SUCCESS) {
        op->status = frame->status;
    }
    tcp_rdma_issue(ep);
    if (op->pieces == 0 && (op->status != OPAL_SUCCESS || op->issued == op->call.size)) {
        op_complete(ep, op, op->status);
    }
    return OPAL_SUCCESS;
}

void tcp_rdma_fail(tcp_endpoint *ep, int status)
{
    for (unsigned i = 0; i < TCP_SLOTS; i++) {
        ep->slots[i].op = NULL;
        ep->slots[i].generation++;
    }
    ep->slots_used = 0;
    while (!list_empty(&ep->ops)) {
        op_complete(ep, container_of(ep->ops.next, struct tcp_op, link), status);
    }
}

/* ---- at the target ---- */

/* NULL: no memory, or the peer asks for more at a time than it may. */
static struct tcp_item *answer_create(tcp_endpoint *ep, const struct tcp_frame *frame)
{
    if (ep->answers >= TCP_SLOTS) {
        return NULL;
    }
    struct tcp_item *item = tcp_item_create(ep->tcp, TCP_ITEM_ANSWER, frame);
    if (item) {
        ep->answers++;
    }
    return item;
}

int tcp_rdma_answer(tcp_endpoint *ep, uint64_t id, int status)
{
    struct tcp_frame done = {.type = TCP_FRAME_DONE, .id = id, .status = status};
    struct tcp_item *item = answer_create(ep, &done);

    if (!item) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    list_append(&ep->small, &item->link);
    tcp_endpoint_want(ep); /* what it answers may have come over a lane, while the link rests */
    return OPAL_SUCCESS;
}

void *tcp_rdma_put_target(tcp_endpoint *ep, const struct tcp_frame *frame, size_t offset,
                          int *status)
{
    if (frame->address > UINT64_MAX - frame->size) {
        *status = OPAL_ERR_VALUE_OUT_OF_BOUNDS;
        return NULL;
    }
    return region_access(ep->tcp->regions, &frame->handle, tcp_endpoint_known_as(ep),
                         frame->address + offset, frame->size - offset,
                         MCA_BTL_REG_FLAG_REMOTE_WRITE, status);
}

static void *get_source(tcp_endpoint *ep, const struct tcp_frame *frame, int *status)
{
    return region_access(ep->tcp->regions, &frame->handle, tcp_endpoint_known_as(ep),
                         frame->address, frame->size, MCA_BTL_REG_FLAG_REMOTE_READ, status);
}

static void trailer_set(struct tcp_item *item, int status)
{
    uint8_t bytes[TCP_HEADER_MAX];
    struct tcp_frame done = {.type = TCP_FRAME_DONE,
                             .sequence = (uint16_t) (item->sequence + 1),
                             .id = item->ask.id,
                             .status = status};

    item->trailer_size = tcp_frame_encode(bytes, &done);
    memcpy(item->trailer, bytes, item->trailer_size);
}

int tcp_rdma_serve_get(tcp_endpoint *ep, const struct tcp_frame *frame)
{
    int status;
    void *source = get_source(ep, frame, &status);

    if (!source) {
        return tcp_rdma_answer(ep, frame->id, status);
    }
    struct tcp_frame data = {.type = TCP_FRAME_DATA, .id = frame->id, .size = frame->size};
    struct tcp_item *item = answer_create(ep, &data);
    if (!item) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    tcp_item_set_data(item, source, frame->size);
    item->from_region = true;
    item->ask = *frame;
    trailer_set(item, OPAL_SUCCESS);
    item->total += item->trailer_size;
    list_append(&ep->bulk, &item->link);
    tcp_endpoint_want(ep);
    return OPAL_SUCCESS;
}

const void *tcp_rdma_answer_data(tcp_endpoint *ep, struct tcp_item *item)
{
    int status;
    const void *source = get_source(ep, &item->ask, &status);

    if (!source) {
        trailer_set(item, status);
    }
    return source;
}
