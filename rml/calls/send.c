/* Sends: the calls, and how a message is handed to the session of its destination. */
#include <config.h>

#include <base/data/clock.h>
#include <base/types/name.h>
#include <rml/calls/calls.h>
#include <rml/message/pack.h>
#include <rml/state/state.h>
#include <rml/traffic/outgoing.h>
#include <stdlib.h>

static void run_send(struct rml *rml, struct rml_completion *completion)
{
    struct rml_send *send = container_of(completion, struct rml_send, completion);
    if (send->iov_fn) {
        send->iov_fn(rml_send_result(send), &send->peer, send->parts, send->count, send->tag,
                     send->arg);
    } else if (send->buffer_fn) {
        opal_buffer_t *buffer = send->buffer;
        send->buffer_fn(send->result, &send->peer, buffer, send->tag, send->arg);
        send->buffer = NULL; /* the caller's again, however long its frames stay */
        OBJ_RELEASE(buffer);
    } else if (send->core_fn) {
        send->core_fn(send->arg, send->result);
    }
    pthread_mutex_lock(&rml->lock);
    rml_send_unref_locked(send);
    pthread_mutex_unlock(&rml->lock);
}

/* Either with the lock, or when nobody else is there any more. */
static void drop_send(struct rml *rml, struct rml_completion *completion)
{
    (void) rml;
    rml_send_unref_locked(container_of(completion, struct rml_send, completion));
}

/* --- handing over --- */

/* Is there a way to the destination, and room for what waits until it is open? */
static int prepare_locked(struct rml *rml, struct rml_send *send, struct rml_peer **hop)
{
    int status = rml_next_hop_locked(rml, &send->peer, hop); /* first: who has no way is no peer */
    if (status != ORTE_SUCCESS) {
        return status;
    }
    struct rml_peer *dest = rml_peer_get(&rml->peers, &send->peer);
    if (!dest || !rml_session_locked(rml, dest)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    send->dest = dest;
    if ((*hop)->state == RML_PEER_UP) {
        return ORTE_SUCCESS;
    }
    const struct rml_sender *out = &dest->session->out[send->class];
    status = rml_make_link_locked(rml, *hop);
    if (status == ORTE_SUCCESS &&
        !rml_pend_room_locked(rml, *hop, send->size + (out->end - out->acked))) {
        status = ORTE_ERR_OUT_OF_RESOURCE;
    }
    return status;
}

/* What the RML owns completes at once, unless too much of it waits already, or its destination is
 * known to have ended: then its daemon says whether there is a successor. */
static bool accepts(const struct rml *rml, const struct rml_send *send, const struct rml_peer *hop)
{
    const struct rml_sender *out = &send->dest->session->out[send->class];
    return send->owned && !send->dest->gone && hop->state == RML_PEER_UP &&
           out->end - out->acked <= 2 * rml->window;
}

/* On success the send completes by itself; on an error nothing has happened. */
static int hand_over(struct rml *rml, struct rml_send *send)
{
    struct rml_peer *hop = NULL;
    pthread_mutex_lock(&rml->send_lock);
    pthread_mutex_lock(&rml->lock);
    int status = prepare_locked(rml, send, &hop);
    struct rml_peer *dest = send->dest;
    if (status == ORTE_SUCCESS) {
        send->accepted = accepts(rml, send, hop);
        rml_send_queue_locked(rml, send, clock_us());
        rml_send_settle_locked(rml, send); /* it may be gone */
    }
    pthread_mutex_unlock(&rml->lock);
    if (status == ORTE_SUCCESS) {
        rml_pump_ordered(rml, dest);
    }
    pthread_mutex_unlock(&rml->send_lock);
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
    send->refs++;
    rml->sends_open++;
    rml_send_settle_locked(rml, send);
    pthread_mutex_unlock(&rml->lock);
    return ORTE_SUCCESS;
}

/* --- the calls --- */

static int check(const struct rml_request *request)
{
    const orte_process_name_t *peer = request->peer;
    if (!peer || peer->jobid >= ORTE_JOBID_WILDCARD || peer->vpid >= ORTE_VPID_WILDCARD ||
        request->tag == ORTE_RML_TAG_INVALID ||
        rml_iov_size(request->parts, request->count) == SIZE_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    return ORTE_SUCCESS;
}

static int create(struct rml_send **send, struct rml *rml, const struct rml_request *request)
{
    int status = check(request);
    if (status == ORTE_SUCCESS) {
        status = rml_send_create(send, rml, request, rml_iov_size(request->parts, request->count));
    }
    if (status == ORTE_SUCCESS) {
        (*send)->completion.run = run_send;
        (*send)->completion.drop = drop_send;
    }
    return status;
}

static void discard(struct rml *rml, struct rml_send *send)
{
    pthread_mutex_lock(&rml->lock);
    rml_send_unref_locked(send);
    pthread_mutex_unlock(&rml->lock);
}

static int start(struct rml *rml, struct rml_send *send, const struct rml_request *request)
{
    if (name_equal(request->peer, &rml->config.name)) {
        return send_to_self(rml, send, request->parts, request->count);
    }
    return hand_over(rml, send);
}

static int send_blocking(struct rml *rml, const struct rml_request *request)
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
    if (status == ORTE_SUCCESS && !__atomic_load_n(&send->done, __ATOMIC_ACQUIRE)) {
        status = rml_block(rml, &send->done, 0);
    }
    if (status == ORTE_SUCCESS) {
        status = rml_send_result(send);
    }
    discard(rml, send);
    return status;
}

int rml_call_send(struct rml *rml, const orte_process_name_t *peer, const struct iovec *msg,
                  int count, orte_rml_tag_t tag, int flags)
{
    if (!rml_parts_valid(msg, count)) {
        return ORTE_ERR_BAD_PARAM;
    }
    return send_blocking(
        rml, &(struct rml_request){peer, tag, flags, OOB_APP, RML_RAW, msg, (size_t) count, false});
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
    return send_blocking(rml, &(struct rml_request){peer, tag, flags, OOB_APP,
                                                    rml_format_of(buffer->type), &whole, 1, false});
}

int rml_call_send_nb(struct rml *rml, const orte_process_name_t *peer, const struct iovec *msg,
                     int count, orte_rml_tag_t tag, int flags, orte_rml_callback_fn_t cbfunc,
                     void *cbdata)
{
    struct rml_send *send;
    if (!rml_parts_valid(msg, count) || !cbfunc) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct rml_request request = {peer, tag, flags, OOB_APP, RML_RAW, msg, (size_t) count, false};
    int status = create(&send, rml, &request);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    send->iov_fn = cbfunc;
    send->arg = cbdata;
    send->count = count;
    send->parts = calloc((size_t) count + 1, sizeof(*msg));
    status = ORTE_ERR_OUT_OF_RESOURCE;
    if (send->parts) {
        for (int i = 0; i < count; i++) {
            send->parts[i] = msg[i];
        }
        status = start(rml, send, &request);
    }
    if (status != ORTE_SUCCESS) {
        discard(rml, send);
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
    struct rml_request request = {peer,   tag, flags, OOB_APP, rml_format_of(buffer->type),
                                  &whole, 1,   false};
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
        discard(rml, send);
    }
    return status;
}

/* A packed copy of a large control message; NULL: it goes as it is. Broadcasts are packed by their
 * origin. */
static opal_buffer_t *packed_copy(const struct rml *rml, const orte_process_name_t *peer,
                                  enum oob_class class, orte_rml_tag_t tag,
                                  const opal_buffer_t *buffer)
{
    if (class != OOB_CONTROL || tag == RML_TAG_XCAST || name_equal(peer, &rml->config.name)) {
        return NULL;
    }
    return rml_pack_buffer(rml, buffer);
}

opal_buffer_t *rml_pack_buffer(const struct rml *rml, const opal_buffer_t *buffer)
{
    size_t size = 0;
    bool large = rml->compress_min > 0 && buffer->bytes_used >= rml->compress_min;
    uint8_t *bytes = large ? rml_pack(buffer->base_ptr, buffer->bytes_used, &size) : NULL;
    opal_buffer_t *packed = rml_buffer_take(bytes, size);
    if (packed) {
        packed->type = buffer->type;
    }
    return packed;
}

int rml_send(struct rml *rml, const orte_process_name_t *peer, enum oob_class class,
             orte_rml_tag_t tag, opal_buffer_t **buffer, void (*done)(void *arg, int status),
             void *arg)
{
    struct rml_send *send;
    opal_buffer_t *packed = packed_copy(rml, peer, class, tag, *buffer);
    opal_buffer_t *sent = packed ? packed : *buffer;
    struct iovec whole = rewind_buffer(sent);
    enum rml_format format = rml_format_of(sent->type);
    struct rml_request request = {peer,
                                  tag,
                                  ORTE_RML_FLAG_RECURSIVE_CALLBACK,
                                  class,
                                  packed ? rml_format_packed(format) : format,
                                  &whole,
                                  1,
                                  true};
    int status = create(&send, rml, &request);
    if (status != ORTE_SUCCESS) {
        OBJ_RELEASE(packed);
        return status;
    }
    send->buffer = sent;
    send->core_fn = done;
    send->arg = arg;
    status = start(rml, send, &request);
    if (status != ORTE_SUCCESS) {
        send->buffer = NULL;
        discard(rml, send);
        OBJ_RELEASE(packed);
        return status;
    }
    if (packed) {
        OBJ_RELEASE(*buffer);
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
