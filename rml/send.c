/* Sends: a message is cut into frames that point into the sender's memory; the operation completes
 * when the last frame is with the kernel, or has failed. */
#include <config.h>

#include <rml/calls.h>
#include <rml/state.h>
#include <stdlib.h>
#include <string.h>

struct send_frame {
    struct oob_tx tx;
    struct rml_send *send;
};

struct rml_send {
    struct rml_completion completion;
    struct rml *rml;
    orte_process_name_t peer;
    orte_rml_tag_t tag;
    enum oob_class class;
    enum rml_format format;
    size_t size;

    /* guarded by the RML's lock */
    size_t open; /* frames that are not done, and one while they are handed over */
    int status;  /* the first error */
    bool done;   /* for a blocking call */

    /* How it completes: a blocking call waits for done, else the one callback that is set. */
    bool blocking;
    orte_rml_callback_fn_t iov_fn;
    orte_rml_buffer_callback_fn_t buffer_fn;
    void (*core_fn)(void *arg, int status);
    void *arg;
    struct iovec *parts; /* owned copy of the caller's array */
    int count;
    opal_buffer_t *buffer; /* a reference */

    size_t frame_count;
    struct send_frame frames[];
};

/* --- cutting --- */

/* Where the cut stands in a scatter list. */
struct cursor {
    const struct iovec *parts;
    size_t count;
    size_t index;
    size_t offset; /* in parts[index] */
};

/* The next frame's pieces: at most RML_FRAME_MAX bytes in OOB_TX_IOV pieces. Returns the bytes. */
static size_t cut_frame(struct cursor *cursor, struct iovec *pieces, int *piece_count)
{
    size_t bytes = 0;
    *piece_count = 0;
    while (cursor->index < cursor->count && *piece_count < OOB_TX_IOV && bytes < RML_FRAME_MAX) {
        const struct iovec *part = &cursor->parts[cursor->index];
        size_t length = part->iov_len - cursor->offset;
        length = length < RML_FRAME_MAX - bytes ? length : RML_FRAME_MAX - bytes;
        if (length > 0) {
            pieces[(*piece_count)++] =
                (struct iovec){(char *) part->iov_base + cursor->offset, length};
            bytes += length;
            cursor->offset += length;
        }
        if (cursor->offset == part->iov_len) {
            cursor->index++;
            cursor->offset = 0;
        }
    }
    return bytes;
}

static size_t count_frames(const struct iovec *parts, size_t count, size_t size)
{
    struct cursor cursor = {.parts = parts, .count = count};
    struct iovec pieces[OOB_TX_IOV];
    int piece_count;
    size_t frames = 0;
    for (size_t done = 0; done < size; frames++) {
        done += cut_frame(&cursor, pieces, &piece_count);
    }
    return frames > 0 ? frames : 1; /* an empty message is one frame */
}

static void frame_done(struct oob_tx *tx, int status);

static void cut(struct rml_send *send, const struct iovec *parts, size_t count)
{
    struct cursor cursor = {.parts = parts, .count = count};
    for (size_t i = 0; i < send->frame_count; i++) {
        struct send_frame *frame = &send->frames[i];
        frame->send = send;
        frame->tx.class = send->class;
        frame->tx.header_size = RML_WIRE_SIZE;
        frame->tx.done = frame_done;
        list_init(&frame->tx.link);
        (void) cut_frame(&cursor, frame->tx.iov, &frame->tx.iov_count);
    }
}

static void write_headers(struct rml_send *send, uint64_t sequence)
{
    const struct rml_config *config = &send->rml->config;
    struct rml_header header = {
        .class = send->class,
        .role = config->role,
        .format = send->format,
        .tag = send->tag,
        .total = (uint32_t) send->size,
        .origin = config->name,
        .dest = send->peer,
        .epoch = config->epoch,
        .sequence = sequence,
    };
    for (size_t i = 0; i < send->frame_count; i++) {
        struct oob_tx *tx = &send->frames[i].tx;
        header.length = (uint32_t) rml_iov_size(tx->iov, (size_t) tx->iov_count);
        rml_header_encode(tx->header, &header);
        header.offset += header.length;
    }
}

/* --- completing --- */

static void destroy(struct rml_send *send)
{
    if (send->buffer) {
        OBJ_RELEASE(send->buffer);
    }
    free(send->parts);
    free(send);
}

/* What a blocking call would have returned. */
static int result_of(const struct rml_send *send)
{
    return send->status == ORTE_SUCCESS ? (int) send->size : send->status;
}

static void run_send(struct rml *rml, struct rml_completion *completion)
{
    (void) rml;
    struct rml_send *send = container_of(completion, struct rml_send, completion);
    if (send->iov_fn) {
        send->iov_fn(result_of(send), &send->peer, send->parts, send->count, send->tag, send->arg);
    } else if (send->buffer_fn) {
        send->buffer_fn(send->status, &send->peer, send->buffer, send->tag, send->arg);
    } else if (send->core_fn) {
        send->core_fn(send->arg, send->status);
    }
    destroy(send);
}

static void drop_send(struct rml *rml, struct rml_completion *completion)
{
    (void) rml;
    destroy(container_of(completion, struct rml_send, completion));
}

static bool has_callback(const struct rml_send *send)
{
    return send->iov_fn || send->buffer_fn || send->core_fn;
}

/* The message is out, or has failed. Returns whether the caller, without the lock, must destroy. */
static bool finish_locked(struct rml *rml, struct rml_send *send)
{
    if (send->blocking) {
        __atomic_store_n(&send->done, true, __ATOMIC_RELEASE);
        rml_wake_locked(rml);
        return false;
    }
    if (!has_callback(send)) {
        return true;
    }
    rml_due_locked(rml, &send->completion);
    return false;
}

static void part_done(struct rml_send *send, int status)
{
    struct rml *rml = send->rml;
    bool over = false;
    pthread_mutex_lock(&rml->lock);
    if (send->status == ORTE_SUCCESS) {
        send->status = status;
    }
    if (--send->open == 0) {
        if (--rml->sends_open == 0) {
            rml_wake_locked(rml); /* a flush may wait for it */
        }
        over = finish_locked(rml, send);
    }
    pthread_mutex_unlock(&rml->lock);
    if (over) {
        destroy(send);
    }
}

static void frame_done(struct oob_tx *tx, int status)
{
    part_done(container_of(tx, struct send_frame, tx)->send, status < 0 ? status : ORTE_SUCCESS);
}

/* --- handing over --- */

static int pend_all_locked(struct rml *rml, struct rml_send *send, struct rml_peer *hop)
{
    if (!hop->contact && !hop->dialing && rml_can_resolve_locked(rml, &hop->name)) {
        rml_resolve_locked(rml, hop);
    }
    if (!rml_pend_room_locked(rml, hop, send->size)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (hop->contact && !hop->dialing) {
        int status = rml_dial_locked(rml, hop);
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    for (size_t i = 0; i < send->frame_count; i++) {
        rml_pend_locked(hop, &send->frames[i].tx);
    }
    return ORTE_SUCCESS;
}

/* Numbers the message and gives it its way: *link to send on, or NULL when the frames wait. */
static int place_locked(struct rml *rml, struct rml_send *send, struct oob_link **link)
{
    struct rml_peer *hop = NULL;
    int status = ORTE_SUCCESS;
    struct rml_peer *dest = rml_peer_find(&rml->peers, &send->peer);
    if (!dest) { /* a name that leads nowhere is not remembered */
        status = rml_next_hop_locked(rml, &send->peer, &hop);
        dest = status == ORTE_SUCCESS ? rml_peer_get(&rml->peers, &send->peer) : NULL;
    }
    if (!dest) {
        return status != ORTE_SUCCESS ? status : ORTE_ERR_OUT_OF_RESOURCE;
    }
    status = rml_next_hop_locked(rml, &send->peer, &hop);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    write_headers(send, dest->sent[send->class]);
    if (hop->state == RML_PEER_UP) {
        *link = oob_link_ref(hop->link);
    } else {
        status = pend_all_locked(rml, send, hop);
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    dest->sent[send->class]++;
    send->open = send->frame_count + 1;
    rml->sends_open++;
    return ORTE_SUCCESS;
}

/* On success the send completes by itself; on an error nothing has happened. */
static int hand_over(struct rml *rml, struct rml_send *send)
{
    struct oob_link *link = NULL;
    pthread_mutex_lock(&rml->send_lock);
    pthread_mutex_lock(&rml->lock);
    int status = place_locked(rml, send, &link);
    pthread_mutex_unlock(&rml->lock);
    if (link) {
        for (size_t i = 0; i < send->frame_count; i++) {
            oob_send(link, &send->frames[i].tx);
        }
        oob_link_unref(link);
    }
    pthread_mutex_unlock(&rml->send_lock);
    if (status == ORTE_SUCCESS) {
        part_done(send, ORTE_SUCCESS);
    }
    return status;
}

/* A message to this process itself: a copy of its bytes arrives at once. */
static int send_to_self(struct rml *rml, struct rml_send *send, const struct iovec *parts,
                        size_t count)
{
    struct rml_info info = {rml->config.name, rml->config.role, send->tag, send->class};
    struct rml_message *message = rml_message_create(&info, send->format, parts, count);
    if (!message) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    pthread_mutex_lock(&rml->lock);
    rml_deliver_locked(rml, message);
    bool over = finish_locked(rml, send);
    pthread_mutex_unlock(&rml->lock);
    if (over) {
        destroy(send);
    }
    return ORTE_SUCCESS;
}

/* --- the calls --- */

struct request {
    const orte_process_name_t *peer;
    orte_rml_tag_t tag;
    int flags;
    enum oob_class class;
    enum rml_format format;
    const struct iovec *parts;
    size_t count;
};

static int check(const struct request *request)
{
    const orte_process_name_t *peer = request->peer;
    if (!peer || peer->jobid >= ORTE_JOBID_WILDCARD || peer->vpid >= ORTE_VPID_WILDCARD ||
        request->tag == ORTE_RML_TAG_INVALID ||
        rml_iov_size(request->parts, request->count) == SIZE_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    return ORTE_SUCCESS;
}

static bool parts_valid(const struct iovec *parts, int count)
{
    if (!parts || count < 0) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!parts[i].iov_base && parts[i].iov_len > 0) {
            return false;
        }
    }
    return true;
}

static int create(struct rml_send **send, struct rml *rml, const struct request *request)
{
    int status = check(request);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    size_t size = rml_iov_size(request->parts, request->count);
    size_t frames = count_frames(request->parts, request->count, size);
    struct rml_send *made = calloc(1, sizeof(*made) + frames * sizeof(made->frames[0]));
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    made->completion.run = run_send;
    made->completion.drop = drop_send;
    made->completion.recursive = request->flags & ORTE_RML_FLAG_RECURSIVE_CALLBACK;
    list_init(&made->completion.link);
    made->rml = rml;
    made->peer = *request->peer;
    made->tag = request->tag;
    made->class = request->class;
    made->format = request->format;
    made->size = size;
    made->frame_count = frames;
    cut(made, request->parts, request->count);
    *send = made;
    return ORTE_SUCCESS;
}

static int start(struct rml *rml, struct rml_send *send, const struct request *request)
{
    if (rml_name_equal(request->peer, &rml->config.name)) {
        return send_to_self(rml, send, request->parts, request->count);
    }
    return hand_over(rml, send);
}

static int send_blocking(struct rml *rml, const struct request *request)
{
    struct rml_send *send;
    if (rml->config.dispatch == RML_DISPATCH_LOOP) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    int status = create(&send, rml, request);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    send->blocking = true;
    status = start(rml, send, request);
    if (status == ORTE_SUCCESS) {
        status = rml_block(rml, &send->done, 0);
    }
    if (status == ORTE_SUCCESS) {
        status = result_of(send);
    }
    destroy(send);
    return status;
}

int rml_call_send(struct rml *rml, const orte_process_name_t *peer, const struct iovec *msg,
                  int count, orte_rml_tag_t tag, int flags)
{
    if (!parts_valid(msg, count)) {
        return ORTE_ERR_BAD_PARAM;
    }
    return send_blocking(
        rml, &(struct request){peer, tag, flags, OOB_APP, RML_RAW, msg, (size_t) count});
}

/* The whole payload, whatever of it was unpacked. */
static struct iovec rewind_buffer(opal_buffer_t *buffer)
{
    buffer->unpack_ptr = buffer->base_ptr;
    return (struct iovec){buffer->base_ptr, buffer->bytes_used};
}

int rml_call_send_buffer(struct rml *rml, const orte_process_name_t *peer, opal_buffer_t *buffer,
                         orte_rml_tag_t tag, int flags)
{
    if (!buffer) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct iovec whole = rewind_buffer(buffer);
    return send_blocking(
        rml, &(struct request){peer, tag, flags, OOB_APP, rml_format_of(buffer->type), &whole, 1});
}

int rml_call_send_nb(struct rml *rml, const orte_process_name_t *peer, const struct iovec *msg,
                     int count, orte_rml_tag_t tag, int flags, orte_rml_callback_fn_t cbfunc,
                     void *cbdata)
{
    struct rml_send *send;
    if (!parts_valid(msg, count) || !cbfunc) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct request request = {peer, tag, flags, OOB_APP, RML_RAW, msg, (size_t) count};
    int status = create(&send, rml, &request);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    send->iov_fn = cbfunc;
    send->arg = cbdata;
    send->count = count;
    send->parts = malloc((size_t) count * sizeof(*msg) + 1);
    status = ORTE_ERR_OUT_OF_RESOURCE;
    if (send->parts) {
        memcpy(send->parts, msg, (size_t) count * sizeof(*msg));
        status = start(rml, send, &request);
    }
    if (status != ORTE_SUCCESS) {
        destroy(send);
    }
    return status;
}

int rml_call_send_buffer_nb(struct rml *rml, const orte_process_name_t *peer, opal_buffer_t *buffer,
                            orte_rml_tag_t tag, int flags, orte_rml_buffer_callback_fn_t cbfunc,
                            void *cbdata)
{
    struct rml_send *send;
    if (!buffer || !cbfunc) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct iovec whole = rewind_buffer(buffer);
    struct request request = {peer, tag, flags, OOB_APP, rml_format_of(buffer->type), &whole, 1};
    int status = create(&send, rml, &request);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    OBJ_RETAIN(buffer);
    send->buffer = buffer;
    send->buffer_fn = cbfunc;
    send->arg = cbdata;
    status = start(rml, send, &request);
    if (status != ORTE_SUCCESS) {
        destroy(send);
    }
    return status;
}

int rml_send(struct rml *rml, const orte_process_name_t *peer, enum oob_class class,
             orte_rml_tag_t tag, opal_buffer_t **buffer, void (*done)(void *arg, int status),
             void *arg)
{
    struct rml_send *send;
    struct iovec whole = rewind_buffer(*buffer);
    struct request request = {
        peer,   tag, ORTE_RML_FLAG_RECURSIVE_CALLBACK, class, rml_format_of((*buffer)->type),
        &whole, 1};
    int status = create(&send, rml, &request);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    send->buffer = *buffer;
    send->core_fn = done;
    send->arg = arg;
    status = start(rml, send, &request);
    if (status != ORTE_SUCCESS) {
        send->buffer = NULL;
        destroy(send);
        return status;
    }
    *buffer = NULL;
    return ORTE_SUCCESS;
}

int rml_give(struct rml *rml, const orte_process_name_t *peer, enum oob_class class,
             orte_rml_tag_t tag, opal_buffer_t *buffer)
{
    if (!buffer) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int status = rml_send(rml, peer, class, tag, &buffer, NULL, NULL);
    if (status != ORTE_SUCCESS) {
        OBJ_RELEASE(buffer);
    }
    return status;
}
