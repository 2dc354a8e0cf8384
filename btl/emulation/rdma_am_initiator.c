/* rdma_am at the initiator: operations, their requests, and the replies to them. */
#include <config.h>

#include <base/data/clock.h>
#include <base/data/le.h>
#include <btl/emulation/rdma_am_sides.h>
#include <btl/interface/base.h>
#include <btl/modules/tap.h>
#include <stdlib.h>
#include <string.h>

/* Requests of shared operations that a target has at a time: enough to go on while this side copies
 * a chunk, and few to wait for when there is nothing left to copy. */
#define SHARE_WINDOW 4

/* The initiator's side of an operation. It ends when everything was requested (or it failed), every
 * request was answered and no descriptor of it is with the module. */
struct am_op {
    struct list link; /* in its peer's requesting or waiting; free: in am->free_ops */
    struct rdma_am_peer *peer;
    uint32_t index, generation; /* generation: odd while the operation lives */
    enum rdma_am_kind kind;     /* of its requests */
    bool cancelled;
    bool taken;          /* by this side: what is requested is all that it waits for */
    bool claimed;        /* by the target: all that was requested */
    bool over;           /* called back; it stays until its descriptors are back */
    bool barred;         /* shared, but no side reaches the other: it is asked for anew */
    bool started;        /* the first request was made: matters for size 0 */
    unsigned unanswered; /* requests */
    unsigned sends;      /* descriptors with the module */
    int status;
    uint32_t newest;            /* the number of its last request */
    size_t goal;                /* bytes that the target is to carry out; this side has the rest */
    size_t requested, answered; /* of them */
    uint64_t began_ns;          /* 0: nobody asks */
    struct rdma_call call;
    struct region_handle handle; /* a copy of call's remote one */
    struct atomic atomic;
};

struct am_op *am_ops_create(uint32_t count)
{
    return calloc(count, sizeof(struct am_op));
}

static struct am_op *op_take(struct rdma_am *am)
{
    struct list *link = list_pop(&am->free_ops);
    struct am_op *op = link ? container_of(link, struct am_op, link) : NULL;
    if (!op && am->used_ops < am->config.max_ops) {
        op = &am->ops[am->used_ops];
        op->index = am->used_ops++;
        list_init(&op->link);
    }
    if (op) {
        uint32_t index = op->index, generation = op->generation + 1;
        *op = (struct am_op){.index = index, .generation = generation};
        list_init(&op->link);
        am->live_ops++;
    }
    return op;
}

static bool is_put(const struct am_op *op)
{
    return op->kind == RDMA_AM_PUT || op->kind == RDMA_AM_PULL;
}

static void op_free(struct rdma_am *am, struct am_op *op)
{
    am->shared_ops -= rdma_am_is_shared(op->kind);
    list_remove(&op->link);
    list_append(&am->free_ops, &op->link);
    op->generation++;
    am->live_ops--;
}

static void op_call_back(struct rdma_am *am, const struct am_op *done)
{
    if (done->began_ns > 0 && done->status == OPAL_SUCCESS) {
        am->config.timed(am->config.module, done->peer->endpoint, is_put(done),
                         rdma_am_is_shared(done->kind), done->call.size, done->began_ns);
    }
    if (done->call.cbfunc) {
        rdma_call_back(&done->call, am->config.module, done->peer->known_as, done->status);
    } else {
        rdma_am_lose(done->peer, done->status);
    }
}

static bool all_requested(const struct am_op *op)
{
    return op->started && op->requested == op->goal;
}

/* Frees the operation and calls back, when it is over. One that this side took does not wait until
 * the target has passed over its requests, whose descriptors keep its place. */
static void op_settle(struct rdma_am *am, struct am_op *op)
{
    if ((op->sends > 0 && !op->taken) || op->unanswered > 0 ||
        (!all_requested(op) && op->status == OPAL_SUCCESS)) {
        return;
    }
    struct am_op done = *op;
    if (op->sends > 0) {
        list_remove(&op->link);
        op->over = op->cancelled = true;
        am->over_ops++;
    } else {
        op_free(am, op);
    }
    if (done.status == OPAL_SUCCESS && done.answered != done.goal) {
        done.status = OPAL_ERROR; /* the target answered for less than was asked */
    }
    op_call_back(am, &done);
}

/* Nothing more of it is requested; the first error stays. */
static void op_stop(struct am_op *op, int status)
{
    if (op->status == OPAL_SUCCESS) {
        op->status = status;
    }
    list_remove(&op->link);
    list_append(&op->peer->waiting, &op->link);
}

void am_ops_cancel(struct rdma_am *am, struct rdma_am_peer *peer, int status)
{
    /* Callbacks may start new operations: those are not meant. */
    struct list ended;
    list_init(&ended);
    list_splice(&ended, &peer->waiting);
    list_splice(&ended, &peer->requesting);
    for (struct list *link = list_pop(&ended); link; link = list_pop(&ended)) {
        struct am_op *op = container_of(link, struct am_op, link);
        op->cancelled = true;
        op->unanswered = 0;
        op_stop(op, status);
        op_settle(am, op);
    }
}

/* The module is done with a put's descriptor. */
static void chunk_sent(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                       mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) module, (void) endpoint;
    struct rdma_am *am = descriptor->des_context;
    struct am_op *op = descriptor->des_cbdata;
    op->sends--;
    if (op->over) {
        if (op->sends == 0) {
            am->over_ops--;
            op_free(am, op);
        }
        return;
    }
    if (status != OPAL_SUCCESS) {
        op_stop(op, status);
    }
    op_settle(am, op);
}

static unsigned char *local_at(const struct am_op *op, size_t offset)
{
    return (unsigned char *) op->call.local_address + offset;
}

/* Bytes of each chunk of a put or get but the last. */
static size_t chunk_bytes(const struct rdma_am *am, const struct am_op *op)
{
    if (rdma_am_is_shared(op->kind)) {
        return am->config.share_bytes;
    }
    return op->kind == RDMA_AM_PUT && am->config.put_bytes > 0
               ? am->config.put_bytes
               : am->config.module->btl_max_send_size - RDMA_AM_REQUEST_BYTES;
}

static mca_btl_base_descriptor_t *put_prepare(struct rdma_am *am, struct am_op *op, size_t size,
                                              uint32_t flags)
{
    mca_btl_base_module_t *module = am->config.module;
    mca_btl_base_descriptor_t *descriptor = btl_own(module)->btl_alloc(
        module, op->peer->endpoint, (uint8_t) op->call.order, RDMA_AM_REQUEST_BYTES, flags);

    if (descriptor) {
        descriptor->des_segments[1] =
            (mca_btl_base_segment_t){.seg_addr.pval = local_at(op, op->requested), .seg_len = size};
        descriptor->des_segment_count = 2;
    }
    return descriptor;
}

/* A descriptor with room for the header, and for a put the next bytes; *size tells how many. */
static mca_btl_base_descriptor_t *chunk_prepare(struct rdma_am *am, struct am_op *op, size_t *size)
{
    mca_btl_base_module_t *module = am->config.module;
    uint32_t flags = MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    struct mca_btl_base_endpoint_t *endpoint = op->peer->endpoint;
    size_t header = rdma_am_frame_bytes(op->kind);
    size_t most = chunk_bytes(am, op);
    size_t left = op->goal - op->requested;
    uint8_t order = (uint8_t) op->call.order;
    *size = left < most ? left : most;
    if (op->kind != RDMA_AM_PUT || left == 0) {
        return btl_own(module)->btl_alloc(module, endpoint, order, header, flags);
    }
    if (am->config.put_bytes > 0) {
        return put_prepare(am, op, *size, flags);
    }
    opal_convertor_t convertor;
    opal_convertor_prepare(&convertor, local_at(op, op->requested), left);
    mca_btl_base_descriptor_t *descriptor = btl_own(module)->btl_prepare_src(
        module, endpoint, &convertor, order, RDMA_AM_REQUEST_BYTES, size, flags);
    if (descriptor && *size < left && *size < most) {
        btl_own(module)->btl_free(module, descriptor);
        return NULL;
    }
    return descriptor;
}

/* Writes the header of an operation's next chunk. */
static void chunk_encode(const struct am_op *op, mca_btl_base_descriptor_t *descriptor, size_t size)
{
    struct rdma_am_frame frame = {
        .kind = op->kind,
        .number = op->newest,
        .op_index = op->index,
        .op_generation = op->generation,
        .offset = op->requested,
        .size = size,
        .address = op->call.remote_address,
        .total = op->call.size,
        .region_index = op->handle.index,
        .region_generation = op->handle.generation,
        .atomic = op->atomic,
        .there = (uint64_t) (uintptr_t) op->call.local_address + op->requested,
    };
    rdma_am_encode(descriptor->des_segments[0].seg_addr.pval, &frame);
}

/* Takes back the books of a chunk that was not sent. */
static void chunk_unrequest(struct am_op *op, size_t size, bool was_started)
{
    if (op->cancelled) {
        return; /* the books are closed */
    }
    op->unanswered--;
    op->peer->unanswered--;
    op->newest = --op->peer->asked;
    op->requested -= size;
    op->started = was_started;
    list_remove(&op->link);
    list_prepend(&op->peer->requesting, &op->link);
}

/* Requests an operation's next chunk. A shortage leaves it as it was. */
static int op_request(struct rdma_am *am, struct am_op *op)
{
    size_t size;
    mca_btl_base_descriptor_t *descriptor = chunk_prepare(am, op, &size);
    if (!descriptor) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    struct rdma_am_peer *peer = op->peer;
    bool was_started = op->started;
    op->newest = ++peer->asked;
    chunk_encode(op, descriptor, size);
    descriptor->des_cbfunc = chunk_sent;
    descriptor->des_cbdata = op;
    descriptor->des_context = am;
    /* All books are kept before the send, which may bring the reply, or a cancel, before it
     * returns. sends keeps the operation alive until then. */
    op->started = true;
    op->claimed = false;
    op->requested += size;
    op->unanswered++;
    op->sends++;
    peer->unanswered++;
    if (op->requested == op->goal) {
        op_stop(op, OPAL_SUCCESS);
    }
    int status =
        am->config.send(am->config.module, peer->endpoint, descriptor, BTL_CHANNEL_RDMA, 0);
    if (status == 0) {
        return OPAL_SUCCESS; /* chunk_sent comes, or came: the operation may be gone */
    }
    op->sends--;
    if (status < 0) {
        btl_own(am->config.module)->btl_free(am->config.module, descriptor);
        chunk_unrequest(op, size, was_started);
        /* The send may have brought an error reply to an earlier chunk. */
        if (btl_is_shortage(status) && op->status == OPAL_SUCCESS) {
            return status;
        }
        op_stop(op, status);
    }
    op_settle(am, op);
    return OPAL_SUCCESS;
}

bool am_may_request(const struct rdma_am *am, const struct rdma_am_peer *peer)
{
    const struct am_op *op = container_of(peer->requesting.next, struct am_op, link);
    if (!rdma_am_is_shared(op->kind)) {
        return peer->unanswered < peer->window;
    }
    bool last = op->link.next == &peer->requesting;
    bool mine = last && op->goal - op->requested <= am->config.share_bytes;
    return !mine && peer->unanswered < peer->window && peer->unanswered < SHARE_WINDOW;
}

int am_request_next(struct rdma_am *am, struct rdma_am_peer *peer)
{
    return op_request(am, container_of(peer->requesting.next, struct am_op, link));
}

/* What nobody but this side has claimed is as if it had not been requested. Chunks that were
 * requested before another are whole. */
static void chunks_take(const struct rdma_am *am, struct am_op *op, uint32_t claimed)
{
    int32_t above = (int32_t) (op->newest - claimed);
    unsigned mine = above <= 0 ? 0 : (unsigned) above;
    mine = mine < op->unanswered ? mine : op->unanswered;
    if (mine > 0) {
        op->unanswered -= mine;
        op->peer->unanswered -= mine;
        op->requested = op->answered + op->unanswered * chunk_bytes(am, op);
        op->started = op->requested > 0;
    }
}

/* Makes a barred operation one that the target alone carries out, from what is answered on. It goes
 * to the end of the queue: the requests of an operation are numbered without a gap. */
static void op_ask_anew(struct rdma_am *am, struct am_op *op)
{
    am->shared_ops--;
    op->kind = is_put(op) ? RDMA_AM_PUT : RDMA_AM_GET;
    op->barred = false;
    op->requested = op->answered;
    op->started = op->requested > 0;
    list_remove(&op->link);
    list_append(&op->peer->requesting, &op->link);
}

/* Shares an operation no more, whose sides do not reach each other: it is asked for anew when the
 * target has answered for what it was asked. */
static void op_bar(struct rdma_am *am, struct am_op *op)
{
    op->barred = true;
    list_remove(&op->link);
    list_append(&op->peer->waiting, &op->link);
    if (op->unanswered == 0) {
        op_ask_anew(am, op);
    }
}

static void ops_take(struct rdma_am *am, struct list *taken, struct list *from, uint32_t claimed)
{
    struct am_op *op;
    list_for_each (op, from, struct am_op, link) {
        if (op->kind == RDMA_AM_ATOMIC || op->cancelled) {
            continue;
        }
        chunks_take(am, op, claimed);
        op->claimed = true;
        if (op->barred && op->unanswered == 0) {
            op_ask_anew(am, op);
        } else if (!op->barred && !all_requested(op)) {
            op->taken = true;
            list_remove(&op->link);
            list_append(taken, &op->link);
        }
    }
}

/* The first operation that was taken; a callback may have cancelled them all. */
static struct am_op *first_taken(const struct rdma_am_peer *peer)
{
    struct am_op *op = container_of(peer->requesting.next, struct am_op, link);
    return list_empty(&peer->requesting) || !op->taken ? NULL : op;
}

static int part_copy(const struct rdma_am *am, struct am_op *op, size_t offset, size_t size)
{
    struct rdma_call part = op->call;
    part.local_address = local_at(op, offset);
    part.remote_address += offset;
    part.remote_handle = (mca_btl_base_registration_handle_t *) (void *) &op->handle;
    part.size = size;
    return am->config.copy(am->config.module, op->peer->endpoint, is_put(op), &part);
}

void rdma_am_take(struct rdma_am *am, struct rdma_am_peer *peer, uint32_t claimed)
{
    struct list taken;
    list_init(&taken);
    ops_take(am, &taken, &peer->waiting, claimed);
    ops_take(am, &taken, &peer->requesting, claimed);
    list_splice(&taken, &peer->requesting);
    list_splice(&peer->requesting, &taken);
    peer->pumping = true; /* callbacks may start operations, which come after these */
    for (struct am_op *op = first_taken(peer); op; op = first_taken(peer)) {
        int status = op->status;
        if (status == OPAL_SUCCESS) {
            status = part_copy(am, op, op->requested, op->goal - op->requested);
            if (status == OPAL_ERR_NOT_AVAILABLE) {
                break;
            }
        }
        op->goal = op->requested;
        op->started = true;
        op_stop(op, status);
        op_settle(am, op);
    }
    struct am_op *left;
    list_for_each (left, &peer->requesting, struct am_op, link) {
        left->taken = false;
    }
    peer->pumping = false;
    am_peer_pump(am, peer);
}

static void last_chunk_copy(struct rdma_am *am, struct am_op *op)
{
    size_t left = op->goal - op->requested;
    size_t size = left < am->config.share_bytes ? left : am->config.share_bytes;
    int status = part_copy(am, op, op->goal - size, size);
    if (status == OPAL_ERR_NOT_AVAILABLE) {
        op_bar(am, op);
        return;
    }
    op->goal -= size;
    op->started = op->started || op->goal == 0;
    if (status != OPAL_SUCCESS || all_requested(op)) {
        op_stop(op, status);
        op_settle(am, op);
    }
}

enum rdma_am_work rdma_am_work(struct rdma_am *am, struct rdma_am_peer *peer)
{
    const struct list *ops = list_empty(&peer->requesting) ? &peer->waiting : &peer->requesting;
    struct am_op *op = container_of(ops->next, struct am_op, link);
    if (list_empty(ops) || !rdma_am_is_shared(op->kind) || op->barred) {
        return RDMA_AM_IDLE;
    }
    if (ops == &peer->waiting) {
        return op->claimed ? RDMA_AM_IDLE : RDMA_AM_WAITS;
    }
    last_chunk_copy(am, op);
    am_peer_pump(am, peer);
    return RDMA_AM_COPIED;
}

uint64_t rdma_am_peer_awaits(const struct rdma_am_peer *peer)
{
    const struct list *ops = list_empty(&peer->waiting) ? &peer->requesting : &peer->waiting;
    const struct am_op *oldest = container_of(ops->next, struct am_op, link);

    return list_empty(ops) ? 0 : (uint64_t) oldest->newest << 32 | oldest->unanswered;
}

static bool is_timed(const struct rdma_am *am, enum rdma_am_kind kind, size_t size)
{
    return am->config.timed && kind != RDMA_AM_ATOMIC && size >= am->config.timed_bytes;
}

static int op_start(struct rdma_am *am, struct rdma_am_peer *peer, enum rdma_am_kind kind,
                    const struct rdma_call *call, const struct atomic *atomic)
{
    if (!call->remote_handle) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct am_op *op = op_take(am);
    if (!op) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    op->peer = peer;
    op->kind = kind;
    op->call = *call;
    op->goal = call->size;
    op->began_ns = is_timed(am, kind, call->size) ? clock_ns() : 0;
    memcpy(&op->handle, call->remote_handle, sizeof(op->handle)); /* at any alignment */
    if (atomic) {
        op->atomic = *atomic;
    }
    am->shared_ops += rdma_am_is_shared(kind);
    list_append(&peer->requesting, &op->link);
    am_peer_pump(am, peer);
    return OPAL_SUCCESS;
}

int rdma_am_put(struct rdma_am *am, struct rdma_am_peer *peer, const struct rdma_call *call)
{
    return op_start(am, peer, RDMA_AM_PUT, call, NULL);
}

int rdma_am_get(struct rdma_am *am, struct rdma_am_peer *peer, const struct rdma_call *call)
{
    return op_start(am, peer, RDMA_AM_GET, call, NULL);
}

int rdma_am_share(struct rdma_am *am, struct rdma_am_peer *peer, const struct rdma_call *call,
                  bool put)
{
    return op_start(am, peer, put ? RDMA_AM_PULL : RDMA_AM_PUSH, call, NULL);
}

int rdma_am_atomic(struct rdma_am *am, struct rdma_am_peer *peer, const struct atomic_call *call)
{
    if (!atomic_is_valid(&call->atomic, call->rdma.remote_address, call->rdma.size)) {
        return OPAL_ERR_BAD_PARAM;
    }
    return op_start(am, peer, RDMA_AM_ATOMIC, &call->rdma, &call->atomic);
}

/* Puts a reply's bytes where the operation wants them. */
static void take_payload(const struct am_op *op, const mca_btl_base_segment_t *segments,
                         size_t count)
{
    unsigned char word[ATOMIC_MAX_BYTES] = {0};
    if (op->kind != RDMA_AM_ATOMIC) {
        am_copy_payload(local_at(op, op->answered), segments, count, RDMA_AM_REPLY_BYTES);
    } else if (op->call.local_address) {
        am_copy_payload(word, segments, count, RDMA_AM_REPLY_BYTES);
        atomic_put(op->call.local_address, get_le64(word), op->call.size);
    }
}

/* What became of a chunk that the target has answered for. This side copies it where the target
 * could not reach the memory. */
static int chunk_outcome(struct rdma_am *am, struct am_op *op, const struct rdma_am_frame *frame)
{
    if (frame->status != OPAL_ERR_NOT_AVAILABLE || !rdma_am_is_shared(op->kind)) {
        return frame->status;
    }
    op->peer->unreaching = true;
    return op->status == OPAL_SUCCESS && !op->barred
               ? part_copy(am, op, (size_t) frame->offset, (size_t) frame->size)
               : op->status;
}

int am_receive_reply(struct rdma_am *am, struct rdma_am_peer *peer,
                     const struct rdma_am_frame *frame, const mca_btl_base_segment_t *segments,
                     size_t count, size_t payload)
{
    struct am_op *op = frame->op_index < am->used_ops ? &am->ops[frame->op_index] : NULL;
    if (!op || !(op->generation & 1) || op->generation != frame->op_generation || op->cancelled ||
        op->peer != peer) {
        return OPAL_SUCCESS; /* a late one, to an operation that was cancelled */
    }
    bool has_data =
        op->kind != RDMA_AM_PUT && !rdma_am_is_shared(op->kind) && frame->status == OPAL_SUCCESS;
    if (frame->kind != op->kind + 1 || op->unanswered == 0 ||
        (frame->offset != op->answered && !op->barred) ||
        frame->size > op->requested - op->answered || payload != (has_data ? frame->size : 0)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (payload > 0) {
        take_payload(op, segments, count);
    }
    op->unanswered--;
    peer->unanswered--;
    peer->heard++;
    peer->window += peer->window < RDMA_AM_WINDOW;
    int status = chunk_outcome(am, op, frame);
    if (op->barred || (status == OPAL_ERR_NOT_AVAILABLE && rdma_am_is_shared(op->kind))) {
        op_bar(am, op);
    } else {
        op->answered += (size_t) frame->size;
        if (status != OPAL_SUCCESS) {
            op_stop(op, status);
        }
        op_settle(am, op);
    }
    am_peer_pump(am, peer);
    return OPAL_SUCCESS;
}
