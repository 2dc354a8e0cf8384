#include <config.h>

#include <rml/message/cut.h>
#include <rml/state/state.h>
#include <rml/traffic/outgoing.h>
#include <stdlib.h>
#include <string.h>

static void frame_done(struct oob_tx *tx, int status);

static struct rml_send_frame *frame_of(struct rml_out *out)
{
    return container_of(out, struct rml_send_frame, out);
}

/* --- making --- */

static void cut(struct rml_send *send, const struct iovec *parts, size_t count)
{
    struct rml_cut cut = {.parts = parts, .count = count};
    uint32_t offset = 0;
    for (size_t i = 0; i < send->frame_count; i++) {
        struct rml_send_frame *frame = &send->frames[i];
        frame->send = send;
        frame->offset = offset;
        frame->out.length = (uint32_t) rml_cut_next(&cut, frame->tx.iov, &frame->tx.iov_count);
        frame->out.ask = i + 1 == send->frame_count && (send->delivered || !send->owned);
        frame->tx.class = send->class;
        frame->tx.header_size = RML_WIRE_SIZE;
        frame->tx.done = frame_done;
        list_init(&frame->tx.link);
        list_init(&frame->out.link);
        offset += frame->out.length;
    }
}

int rml_send_create(struct rml_send **send, struct rml *rml, const struct rml_request *request,
                    size_t size)
{
    bool delivered = request->flags & KEEL_RML_DELIVERED;
    bool copies = !request->owned && !delivered && size <= RML_COPY_MAX;
    size_t frames = copies ? 1 : rml_cut_count(request->parts, request->count, size);
    struct rml_send *made =
        malloc(sizeof(*made) + frames * sizeof(made->frames[0]) + (copies ? size : 0));
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    memset(made, 0, sizeof(*made) + frames * sizeof(made->frames[0]));
    made->completion.recursive = request->flags & ORTE_RML_FLAG_RECURSIVE_CALLBACK;
    list_init(&made->completion.link);
    made->rml = rml;
    made->refs = 1;
    made->peer = *request->peer;
    made->tag = request->tag;
    made->class = request->class;
    made->format = request->format;
    made->size = size;
    made->delivered = delivered;
    made->owned = copies || request->owned;
    made->frame_count = frames;
    struct iovec copy = {&made->frames[frames], size};
    if (copies) {
        rml_iov_gather(copy.iov_base, request->parts, request->count);
    }
    cut(made, copies ? &copy : request->parts, copies ? 1 : request->count);
    *send = made;
    return ORTE_SUCCESS;
}

void rml_send_unref_locked(struct rml_send *send)
{
    if (--send->refs > 0) {
        return;
    }
    if (send->buffer) {
        OBJ_RELEASE(send->buffer);
    }
    free(send->parts);
    free(send);
}

/* --- completing --- */

int rml_send_result(const struct rml_send *send)
{
    return send->result == ORTE_SUCCESS ? (int) send->size : send->result;
}

static void tell_locked(struct rml *rml, struct rml_send *send)
{
    send->told = true;
    send->result = send->status;
    if (send->blocking) {
        __atomic_store_n(&send->done, true, __ATOMIC_RELEASE);
        rml_wake_locked(rml);
    } else if (send->iov_fn || send->buffer_fn || send->core_fn) {
        rml_due_locked(rml, &send->completion);
    } else {
        rml_send_unref_locked(send);
    }
}

void rml_send_settle_locked(struct rml *rml, struct rml_send *send)
{
    bool over = send->unacked == 0 && send->lent == 0;
    bool reusable = send->owned && !send->delivered && send->status == ORTE_SUCCESS &&
                    (send->accepted || send->unsent == 0);
    bool releases = over && !send->released;
    if (releases) {
        send->released = true;
        if (--rml->sends_open == 0) {
            rml_wake_locked(rml); /* a flush may wait for it */
        }
    }
    if (!send->told && (over || reusable)) {
        tell_locked(rml, send);
    }
    if (releases) {
        rml_send_unref_locked(send);
    }
}

/* --- frames --- */

void rml_send_queue_locked(struct rml *rml, struct rml_send *send, uint64_t now)
{
    send->refs++;
    send->unacked = send->frame_count;
    send->unsent = send->frame_count;
    rml->sends_open++;
    for (size_t i = 0; i < send->frame_count; i++) {
        rml_session_push(send->dest->session, send->class, &send->frames[i].out, now);
    }
}

struct oob_tx *rml_send_tx_locked(struct rml *rml, struct rml_out *out, struct rml_stamp *stamp)
{
    struct rml_send_frame *frame = frame_of(out);
    struct rml_send *send = frame->send;
    stamp->rest = (uint32_t) send->size - frame->offset - out->length;
    struct rml_header header = {
        .stamp = *stamp,
        .role = rml->config.role,
        .format = send->format,
        .tag = send->tag,
        .total = (uint32_t) send->size,
        .offset = frame->offset,
        .origin = rml->config.name,
        .dest = send->peer,
    };
    rml_header_encode(frame->tx.header, &header);
    send->lent++;
    return &frame->tx;
}

/* The link has it, or has lost it: then the session sends it again in time. */
static void frame_done(struct oob_tx *tx, int status)
{
    struct rml_send_frame *frame = container_of(tx, struct rml_send_frame, tx);
    struct rml_send *send = frame->send;
    struct rml *rml = send->rml;
    pthread_mutex_lock(&rml->lock);
    rml_sender_returned(&frame->out);
    send->lent--;
    if (status >= 0 && !frame->left) {
        frame->left = true;
        send->unsent--;
    }
    if (send->dest->session->out[send->class].cursor == &frame->out.link) {
        rml_poke_locked(rml, send->dest); /* to be sent again, which had to wait for this */
    }
    rml_send_settle_locked(rml, send);
    pthread_mutex_unlock(&rml->lock);
}

void rml_send_ended_locked(struct rml *rml, struct list *outs, int status)
{
    for (struct list *link; (link = list_pop(outs));) {
        struct rml_send *send = frame_of(container_of(link, struct rml_out, link))->send;
        if (send->status == ORTE_SUCCESS) {
            send->status = status;
        }
        send->unacked--;
        rml_send_settle_locked(rml, send);
    }
}
