#include <config.h>

#include <base/le.h>
#include <base/pool.h>
#include <btl/base.h>
#include <btl/desc.h>
#include <btl/rdma_am.h>
#include <btl/rdma_am_wire.h>
#include <stdlib.h>
#include <string.h>

/* The initiator's side of an operation. It ends when everything was requested (or it failed), every
 * request was answered and no descriptor of it is with the module. */
struct am_op {
    struct list link; /* in its peer's requesting or waiting; free: in am->free_ops */
    struct rdma_am_peer *peer;
    uint32_t index, generation; /* generation: odd while the operation lives */
    enum rdma_am_kind kind;     /* of its requests */
    bool cancelled;
    bool taken_back;     /* what is left of it is to be copied */
    bool over;           /* called back; it stays until its descriptors are back */
    bool started;        /* the first request was made: matters for size 0 */
    unsigned unanswered; /* requests */
    unsigned sends;      /* descriptors with the module */
    int status;
    size_t requested, answered; /* bytes */
    struct rdma_call call;
    struct region_handle handle; /* a copy of call's remote one */
    struct atomic atomic;
};

/* A reply that found no room; answers request. */
struct am_reply {
    struct pool_item item;
    struct list link;
    struct rdma_am_frame request;
    int status;
    uint64_t before; /* what an atomic found */
};

struct rdma_am {
    struct rdma_am_config config;
    struct am_op *ops; /* max_ops, of which the first used_ops were ever used */
    uint32_t used_ops;
    uint32_t live_ops;
    uint32_t over_ops; /* of the live ones */
    struct list free_ops;
    struct pool replies;
    struct list stuck; /* peers */
};

int rdma_am_create(struct rdma_am **am, const struct rdma_am_config *config)
{
    if (config->max_ops == 0 || config->module->btl_max_send_size <= RDMA_AM_ATOMIC_BYTES) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct rdma_am *made = calloc(1, sizeof(*made));
    struct am_op *ops = calloc(config->max_ops, sizeof(*ops));
    if (!made || !ops) {
        free(made);
        free(ops);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    made->config = *config;
    made->ops = ops;
    list_init(&made->free_ops);
    list_init(&made->stuck);
    pool_init(&made->replies, sizeof(struct am_reply), _Alignof(struct am_reply), 32, 0, NULL,
              NULL);
    *am = made;
    return ORTE_SUCCESS;
}

void rdma_am_destroy(struct rdma_am *am)
{
    if (!am) {
        return;
    }
    pool_fini(&am->replies);
    free(am->ops);
    free(am);
}

void rdma_am_peer_init(struct rdma_am_peer *peer, struct mca_btl_base_endpoint_t *endpoint)
{
    *peer =
        (struct rdma_am_peer){.endpoint = endpoint, .known_as = endpoint, .window = RDMA_AM_WINDOW};
    list_init(&peer->link);
    list_init(&peer->requesting);
    list_init(&peer->waiting);
    list_init(&peer->replies);
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

static void op_free(struct rdma_am *am, struct am_op *op)
{
    list_remove(&op->link);
    list_append(&am->free_ops, &op->link);
    op->generation++;
    am->live_ops--;
}

static void op_call_back(struct rdma_am *am, const struct am_op *done)
{
    if (done->call.cbfunc) {
        rdma_call_back(&done->call, am->config.module, done->peer->known_as, done->status);
    } else {
        rdma_am_lose(done->peer, done->status);
    }
}

/* Calls back now; descriptors that are with the module keep the operation's place. */
static void op_end(struct rdma_am *am, struct am_op *op, int status)
{
    struct am_op done = *op;
    done.status = status;
    if (op->sends > 0) {
        list_remove(&op->link);
        op->over = op->cancelled = true;
        am->over_ops++;
    } else {
        op_free(am, op);
    }
    op_call_back(am, &done);
}

/* Frees the operation and calls back, when it is over. */
static void op_settle(struct rdma_am *am, struct am_op *op)
{
    bool all_requested = op->started && op->requested == op->call.size;
    if (op->sends > 0 || op->unanswered > 0 || (!all_requested && op->status == OPAL_SUCCESS)) {
        return;
    }
    struct am_op done = *op;
    op_free(am, op);
    if (done.status == OPAL_SUCCESS && done.answered != done.call.size) {
        done.status = OPAL_ERROR; /* the target answered for less than was asked */
    }
    op_call_back(am, &done);
}

static void op_fail(struct am_op *op, int status)
{
    if (op->status == OPAL_SUCCESS) {
        op->status = status;
    }
    list_remove(&op->link);
    list_append(&op->peer->waiting, &op->link);
}

void rdma_am_cancel(struct rdma_am *am, struct rdma_am_peer *peer, int status)
{
    list_remove(&peer->link);
    for (struct list *link = list_pop(&peer->replies); link; link = list_pop(&peer->replies)) {
        pool_put(&am->replies, container_of(link, struct am_reply, link));
    }
    peer->replies_queued = 0;
    peer->unanswered = peer->stale = 0;
    peer->held = false;
    /* Callbacks may start new operations: those are not meant. */
    struct list ended;
    list_init(&ended);
    list_splice(&ended, &peer->waiting);
    list_splice(&ended, &peer->requesting);
    for (struct list *link = list_pop(&ended); link; link = list_pop(&ended)) {
        struct am_op *op = container_of(link, struct am_op, link);
        op->cancelled = true;
        op->unanswered = 0;
        op_fail(op, status);
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
        op_fail(op, status);
    }
    op_settle(am, op);
}

static unsigned char *local_at(const struct am_op *op, size_t offset)
{
    return (unsigned char *) op->call.local_address + offset;
}

/* A descriptor with room for the header, and for a put the next bytes; *size tells how many. */
static mca_btl_base_descriptor_t *chunk_prepare(struct rdma_am *am, struct am_op *op, size_t *size)
{
    mca_btl_base_module_t *module = am->config.module;
    uint32_t flags = MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
    struct mca_btl_base_endpoint_t *endpoint = op->peer->endpoint;
    size_t header = rdma_am_frame_bytes(op->kind);
    size_t most = module->btl_max_send_size - header;
    size_t left = op->call.size - op->requested;
    uint8_t order = (uint8_t) op->call.order;
    *size = left < most ? left : most;
    if (op->kind != RDMA_AM_PUT || left == 0) {
        return module->btl_alloc(module, endpoint, order, header, flags);
    }
    opal_convertor_t convertor;
    opal_convertor_prepare(&convertor, local_at(op, op->requested), left);
    mca_btl_base_descriptor_t *descriptor = module->btl_prepare_src(
        module, endpoint, &convertor, order, RDMA_AM_REQUEST_BYTES, size, flags);
    if (descriptor && *size == 0) {
        module->btl_free(module, descriptor);
        return NULL;
    }
    return descriptor;
}

/* Writes the header of an operation's next chunk. */
static void chunk_encode(const struct am_op *op, mca_btl_base_descriptor_t *descriptor, size_t size)
{
    struct rdma_am_frame frame = {
        .kind = op->kind,
        .op_index = op->index,
        .op_generation = op->generation,
        .offset = op->requested,
        .size = size,
        .address = op->call.remote_address,
        .total = op->call.size,
        .region_index = op->handle.index,
        .region_generation = op->handle.generation,
        .atomic = op->atomic,
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
    chunk_encode(op, descriptor, size);
    descriptor->des_cbfunc = chunk_sent;
    descriptor->des_cbdata = op;
    descriptor->des_context = am;
    struct rdma_am_peer *peer = op->peer;
    bool was_started = op->started;
    /* All books are kept before the send, which may bring the reply, or a cancel, before it
     * returns. sends keeps the operation alive until then. */
    op->started = true;
    op->requested += size;
    op->unanswered++;
    op->sends++;
    peer->unanswered++;
    if (op->requested == op->call.size) {
        list_remove(&op->link);
        list_append(&peer->waiting, &op->link);
    }
    int status =
        am->config.send(am->config.module, peer->endpoint, descriptor, BTL_CHANNEL_RDMA, 0);
    if (status == 0) {
        return OPAL_SUCCESS; /* chunk_sent comes, or came: the operation may be gone */
    }
    op->sends--;
    if (status < 0) {
        am->config.module->btl_free(am->config.module, descriptor);
        chunk_unrequest(op, size, was_started);
        /* The send may have brought an error reply to an earlier chunk. */
        if (btl_is_shortage(status) && op->status == OPAL_SUCCESS) {
            return status;
        }
        op_fail(op, status);
    }
    op_settle(am, op);
    return OPAL_SUCCESS;
}

/* The memory of a request's chunk, or NULL and why not. */
static unsigned char *chunk_access(struct rdma_am *am, struct rdma_am_peer *peer,
                                   const struct rdma_am_frame *request, uint32_t right, int *status)
{
    struct region_handle handle = {.index = request->region_index,
                                   .generation = request->region_generation};
    unsigned char *memory = region_access(am->config.regions, &handle, peer->known_as,
                                          request->address, request->total, right, status);
    return memory ? memory + request->offset : NULL;
}

/* Answers a request; GET's data is fetched now, and its region checked now. */
static int reply_send(struct rdma_am *am, struct rdma_am_peer *peer,
                      const struct rdma_am_frame *request, int status, uint64_t before)
{
    const void *data = NULL;
    unsigned char word[ATOMIC_MAX_BYTES];
    if (request->kind == RDMA_AM_GET && status == OPAL_SUCCESS) {
        data = chunk_access(am, peer, request, MCA_BTL_REG_FLAG_REMOTE_READ, &status);
    } else if (request->kind == RDMA_AM_ATOMIC && status == OPAL_SUCCESS) {
        put_le64(word, before);
        data = word;
    }
    size_t size = data ? (size_t) request->size : 0;
    mca_btl_base_module_t *module = am->config.module;
    mca_btl_base_descriptor_t *descriptor =
        module->btl_alloc(module, peer->endpoint, MCA_BTL_NO_ORDER, RDMA_AM_REPLY_BYTES + size,
                          MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (!descriptor) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    struct rdma_am_frame reply = {
        .kind = request->kind + 1,
        .status = status,
        .op_index = request->op_index,
        .op_generation = request->op_generation,
        .offset = request->offset,
        .size = request->size,
    };
    unsigned char *bytes = descriptor->des_segments[0].seg_addr.pval;
    rdma_am_encode(bytes, &reply);
    if (size > 0) {
        memcpy(bytes + RDMA_AM_REPLY_BYTES, data, size);
    }
    peer->replying = true;
    int sent = am->config.send(module, peer->endpoint, descriptor, BTL_CHANNEL_RDMA, 0);
    peer->replying = false;
    if (sent < 0) {
        module->btl_free(module, descriptor);
    }
    return sent < 0 ? sent : OPAL_SUCCESS;
}

static void peer_stuck(struct rdma_am *am, struct rdma_am_peer *peer)
{
    list_remove(&peer->link);
    list_append(&am->stuck, &peer->link);
}

/* Answers now, or queues behind the replies that wait. */
static int reply(struct rdma_am *am, struct rdma_am_peer *peer, const struct rdma_am_frame *request,
                 int status, uint64_t before)
{
    if (list_empty(&peer->replies) && !peer->replying) {
        int sent = reply_send(am, peer, request, status, before);
        if (!btl_is_shortage(sent)) {
            return OPAL_SUCCESS; /* a link that is gone needs no reply */
        }
    }
    struct am_reply *queued = peer->replies_queued < RDMA_AM_WINDOW ? pool_get(&am->replies) : NULL;
    if (!queued) {
        return OPAL_ERR_BAD_PARAM;
    }
    queued->request = *request;
    queued->status = status;
    queued->before = before;
    list_append(&peer->replies, &queued->link);
    peer->replies_queued++;
    peer_stuck(am, peer);
    return OPAL_SUCCESS;
}

/* Sends what waits for this peer, replies first; returns the number of frames sent. */
static int peer_pump(struct rdma_am *am, struct rdma_am_peer *peer)
{
    if (peer->pumping) {
        return 0; /* the pump further up the stack goes on */
    }
    peer->pumping = true;
    int sent = 0, status = OPAL_SUCCESS;
    while (!list_empty(&peer->replies) && !btl_is_shortage(status)) {
        struct list *link = list_pop(&peer->replies);
        struct am_reply *queued = container_of(link, struct am_reply, link);
        peer->replies_queued--;
        status = reply_send(am, peer, &queued->request, queued->status, queued->before);
        if (btl_is_shortage(status)) {
            list_prepend(&peer->replies, &queued->link);
            peer->replies_queued++;
        } else {
            pool_put(&am->replies, queued);
            sent++;
        }
    }
    while (!list_empty(&peer->requesting) && peer->unanswered < peer->window && !peer->held &&
           !btl_is_shortage(status)) {
        status = op_request(am, container_of(peer->requesting.next, struct am_op, link));
        sent += status == OPAL_SUCCESS;
    }
    if (btl_is_shortage(status)) {
        peer_stuck(am, peer);
    }
    peer->pumping = false;
    return sent;
}

int rdma_am_progress(struct rdma_am *am)
{
    struct list peers;
    list_init(&peers);
    list_splice(&peers, &am->stuck);
    int sent = 0;
    for (struct list *link = list_pop(&peers); link; link = list_pop(&peers)) {
        sent += peer_pump(am, container_of(link, struct rdma_am_peer, link));
    }
    return sent;
}

bool rdma_am_active(const struct rdma_am *am)
{
    return am->live_ops > 0 || am->replies.in_use > 0;
}

bool rdma_am_peer_active(const struct rdma_am_peer *peer)
{
    return !list_empty(&peer->requesting) || !list_empty(&peer->waiting) ||
           !list_empty(&peer->replies);
}

bool rdma_am_open(const struct rdma_am *am)
{
    return am->live_ops > am->over_ops;
}

bool rdma_am_peer_open(const struct rdma_am_peer *peer)
{
    return !list_empty(&peer->requesting) || !list_empty(&peer->waiting);
}

bool rdma_am_stuck(const struct rdma_am *am)
{
    return !list_empty(&am->stuck);
}

bool rdma_am_has_room(const struct rdma_am *am)
{
    return am->live_ops < am->config.max_ops;
}

void rdma_am_lose(struct rdma_am_peer *peer, int status)
{
    if (peer->lost == OPAL_SUCCESS) {
        peer->lost = status;
    }
}

int rdma_am_lost(struct rdma_am_peer *peer)
{
    int lost = peer->lost;
    peer->lost = OPAL_SUCCESS;
    return lost;
}

/* Puts and gets are as if nothing had been requested that was not answered. */
static void take_back(struct list *taken, struct list *from)
{
    struct am_op *op;
    list_for_each (op, from, struct am_op, link) {
        if (op->kind == RDMA_AM_ATOMIC || op->cancelled) {
            continue;
        }
        op->peer->stale += op->unanswered;
        op->unanswered = 0;
        op->generation += 2;
        op->requested = op->answered;
        op->started = false;
        op->taken_back = true;
        list_remove(&op->link);
        list_append(taken, &op->link);
    }
}

/* The first operation that was taken back; a callback may have cancelled them all. */
static struct am_op *first_taken(const struct rdma_am_peer *peer)
{
    struct am_op *op = container_of(peer->requesting.next, struct am_op, link);
    return list_empty(&peer->requesting) || !op->taken_back ? NULL : op;
}

void rdma_am_take_back(struct rdma_am *am, struct rdma_am_peer *peer,
                       int (*copy)(mca_btl_base_module_t *module,
                                   struct mca_btl_base_endpoint_t *endpoint, bool put,
                                   const struct rdma_call *rest))
{
    struct list taken;
    list_init(&taken);
    take_back(&taken, &peer->waiting);
    take_back(&taken, &peer->requesting);
    list_splice(&taken, &peer->requesting);
    list_splice(&peer->requesting, &taken);
    peer->held = true; /* callbacks may start operations, which come after these */
    for (struct am_op *op = first_taken(peer); op; op = first_taken(peer)) {
        int status = op->status;
        if (status == OPAL_SUCCESS) {
            struct rdma_call rest = op->call;
            rest.local_address = local_at(op, op->answered);
            rest.remote_address += op->answered;
            rest.remote_handle = (mca_btl_base_registration_handle_t *) (void *) &op->handle;
            rest.size -= op->answered;
            status = copy(am->config.module, peer->endpoint, op->kind == RDMA_AM_PUT, &rest);
            if (status == OPAL_ERR_NOT_AVAILABLE) {
                break;
            }
        }
        op_end(am, op, status);
    }
    struct am_op *left;
    list_for_each (left, &peer->requesting, struct am_op, link) {
        left->taken_back = false;
    }
    peer->held = false;
    peer_pump(am, peer);
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
    memcpy(&op->handle, call->remote_handle, sizeof(op->handle)); /* at any alignment */
    if (atomic) {
        op->atomic = *atomic;
    }
    list_append(&peer->requesting, &op->link);
    peer_pump(am, peer);
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

int rdma_am_atomic(struct rdma_am *am, struct rdma_am_peer *peer, const struct atomic_call *call)
{
    if (!atomic_is_valid(&call->atomic, call->rdma.remote_address, call->rdma.size)) {
        return OPAL_ERR_BAD_PARAM;
    }
    return op_start(am, peer, RDMA_AM_ATOMIC, &call->rdma, &call->atomic);
}

/* Copies what follows the header in the segments. */
static void copy_payload(unsigned char *to, const mca_btl_base_segment_t *segments, size_t count,
                         size_t header)
{
    size_t first = (size_t) segments[0].seg_len - header;
    if (first > 0) {
        memcpy(to, (const unsigned char *) segments[0].seg_addr.pval + header, first);
    }
    desc_gather(to + first, segments + 1, count - 1);
}

static int receive_put(struct rdma_am *am, struct rdma_am_peer *peer,
                       const struct rdma_am_frame *frame, const mca_btl_base_segment_t *segments,
                       size_t count)
{
    int status = OPAL_SUCCESS;
    const struct rdma_am_config *config = &am->config;
    if (config->put_begins && !config->put_begins(config->module, peer->endpoint)) {
        return reply(am, peer, frame, OPAL_ERR_NOT_AVAILABLE, 0);
    }
    unsigned char *to = chunk_access(am, peer, frame, MCA_BTL_REG_FLAG_REMOTE_WRITE, &status);
    if (to && frame->size > 0) {
        copy_payload(to, segments, count, RDMA_AM_REQUEST_BYTES);
    }
    if (config->put_ends) {
        config->put_ends(config->module, peer->endpoint);
    }
    return reply(am, peer, frame, status, 0);
}

/* Applied once, here: the reply may wait, and takes along what was found. */
static int receive_atomic(struct rdma_am *am, struct rdma_am_peer *peer,
                          const struct rdma_am_frame *frame)
{
    int status = OPAL_ERR_BAD_PARAM;
    uint64_t before = 0;
    if (atomic_is_valid(&frame->atomic, frame->address, frame->total)) {
        void *word = chunk_access(am, peer, frame, MCA_BTL_REG_FLAG_REMOTE_ATOMIC, &status);
        before = word ? atomic_apply(word, &frame->atomic, (size_t) frame->size) : 0;
    }
    return reply(am, peer, frame, status, before);
}

static int receive_request(struct rdma_am *am, struct rdma_am_peer *peer,
                           const struct rdma_am_frame *frame,
                           const mca_btl_base_segment_t *segments, size_t count, size_t payload)
{
    size_t reply_room = am->config.module->btl_max_send_size - RDMA_AM_REPLY_BYTES;
    if (payload != (frame->kind == RDMA_AM_PUT ? frame->size : 0)) {
        return OPAL_ERR_BAD_PARAM;
    }
    switch (frame->kind) {
    case RDMA_AM_PUT:
        return receive_put(am, peer, frame, segments, count);
    case RDMA_AM_GET:
        return frame->size > reply_room ? OPAL_ERR_BAD_PARAM
                                        : reply(am, peer, frame, OPAL_SUCCESS, 0);
    default:
        return receive_atomic(am, peer, frame);
    }
}

/* Puts a reply's bytes where the operation wants them. */
static void take_payload(const struct am_op *op, const mca_btl_base_segment_t *segments,
                         size_t count)
{
    unsigned char word[ATOMIC_MAX_BYTES] = {0};
    if (op->kind != RDMA_AM_ATOMIC) {
        copy_payload(local_at(op, op->answered), segments, count, RDMA_AM_REPLY_BYTES);
    } else if (op->call.local_address) {
        copy_payload(word, segments, count, RDMA_AM_REPLY_BYTES);
        atomic_put(op->call.local_address, get_le64(word), op->call.size);
    }
}

/* To an operation that was cancelled or taken back. */
static int receive_late_reply(struct rdma_am *am, struct rdma_am_peer *peer)
{
    if (peer->stale > 0) {
        peer->stale--;
        peer->unanswered--;
        peer_pump(am, peer);
    }
    return OPAL_SUCCESS;
}

/* The target has seen that a put is about to be taken back, before it is: the chunk is as if it had
 * not been requested. */
static bool is_refusal(const struct am_op *op, const struct rdma_am_frame *frame)
{
    return op->peer->held && op->kind == RDMA_AM_PUT && op->unanswered > 0 &&
           frame->kind == RDMA_AM_PUT_REPLY && frame->status == OPAL_ERR_NOT_AVAILABLE &&
           frame->size <= op->requested - op->answered;
}

static int receive_reply(struct rdma_am *am, struct rdma_am_peer *peer,
                         const struct rdma_am_frame *frame, const mca_btl_base_segment_t *segments,
                         size_t count, size_t payload)
{
    struct am_op *op = frame->op_index < am->used_ops ? &am->ops[frame->op_index] : NULL;
    if (!op || !(op->generation & 1) || op->generation != frame->op_generation || op->cancelled ||
        op->peer != peer) {
        return receive_late_reply(am, peer);
    }
    if (is_refusal(op, frame)) {
        op->requested -= (size_t) frame->size;
        op->started = false;
        op->unanswered--;
        peer->unanswered--;
        return OPAL_SUCCESS;
    }
    bool has_data = op->kind != RDMA_AM_PUT && frame->status == OPAL_SUCCESS;
    if (frame->kind != op->kind + 1 || op->unanswered == 0 || frame->offset != op->answered ||
        frame->size > op->requested - op->answered || payload != (has_data ? frame->size : 0)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (payload > 0) {
        take_payload(op, segments, count);
    }
    op->answered += (size_t) frame->size;
    op->unanswered--;
    peer->unanswered--;
    peer->heard++;
    peer->puts_answered += op->kind == RDMA_AM_PUT;
    peer->window += peer->window < RDMA_AM_WINDOW;
    if (frame->status != OPAL_SUCCESS) {
        op_fail(op, frame->status);
    }
    op_settle(am, op);
    peer_pump(am, peer);
    return OPAL_SUCCESS;
}

int rdma_am_receive(struct rdma_am *am, struct rdma_am_peer *peer,
                    const mca_btl_base_segment_t *segments, size_t count)
{
    struct rdma_am_frame frame;
    if (count == 0 || rdma_am_decode(&frame, segments[0].seg_addr.pval,
                                     (size_t) segments[0].seg_len) != OPAL_SUCCESS) {
        return OPAL_ERR_BAD_PARAM;
    }
    size_t payload = 0;
    for (size_t i = 0; i < count; i++) {
        payload += (size_t) segments[i].seg_len;
    }
    payload -= rdma_am_frame_bytes(frame.kind);
    return rdma_am_is_request(frame.kind)
               ? receive_request(am, peer, &frame, segments, count, payload)
               : receive_reply(am, peer, &frame, segments, count, payload);
}
