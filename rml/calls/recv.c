/* The calls that receive. */
#include <config.h>

#include <base/settings/log.h>
#include <rml/calls/calls.h>
#include <rml/calls/receive.h>

/* With ORTE_RML_ALLOC the first part is all that is used, and written only. */
static bool parts_valid(const struct iovec *parts, int count, int flags)
{
    return flags & ORTE_RML_ALLOC ? parts && count > 0 : rml_parts_valid(parts, count);
}

/* Blocks for one message; on success it is the caller's. */
static int wait_for_message(struct rml *rml, const orte_process_name_t *peer, orte_rml_tag_t tag,
                            int flags, struct rml_message **message)
{
    if (rml->config.dispatch == RML_DISPATCH_LOOP) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    flags &= ~ORTE_RML_PERSISTENT;
    struct rml_receive *receive = rml_receive_create(RML_RECEIVE_WAIT, peer, tag, flags, NULL, 0);
    if (!receive) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    rml_receive_post(rml, receive);
    int status = rml_block(rml, &receive->done, 0);
    if (status == ORTE_SUCCESS) {
        status = receive->status;
        *message = receive->message;
    }
    pthread_mutex_lock(&rml->lock);
    if (status == ORTE_SUCCESS) {
        rml_consumed_locked(rml, *message);
    }
    rml_receive_unref_locked(receive);
    pthread_mutex_unlock(&rml->lock);
    return status;
}

int rml_call_recv(struct rml *rml, const orte_process_name_t *peer, struct iovec *msg, int count,
                  orte_rml_tag_t tag, int flags)
{
    struct rml_message *message = NULL;
    if (!rml_receive_valid(peer, tag) || !parts_valid(msg, count, flags)) {
        return ORTE_ERR_BAD_PARAM;
    }
    int status = wait_for_message(rml, peer, tag, flags, &message);
    if (status == ORTE_SUCCESS) {
        status = rml_message_scatter(message, msg, count, flags);
        rml_message_destroy(message);
    }
    return status;
}

int rml_call_recv_buffer(struct rml *rml, const orte_process_name_t *peer, opal_buffer_t *buffer,
                         orte_rml_tag_t tag, int flags)
{
    struct rml_message *message = NULL;
    if (!rml_receive_valid(peer, tag) || !buffer) {
        return ORTE_ERR_BAD_PARAM;
    }
    int status = wait_for_message(rml, peer, tag, flags, &message);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    int size = (int) message->size;
    status = rml_message_load(message, buffer);
    rml_message_destroy(message);
    return status == ORTE_SUCCESS ? size : status;
}

int rml_call_recv_nb(struct rml *rml, const orte_process_name_t *peer, const struct iovec *msg,
                     int count, orte_rml_tag_t tag, int flags, orte_rml_callback_fn_t cbfunc,
                     void *cbdata)
{
    if (!rml_receive_valid(peer, tag) || !parts_valid(msg, count, flags) || !cbfunc) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct rml_receive *receive = rml_receive_create(RML_RECEIVE_IOV, peer, tag, flags, msg, count);
    if (!receive) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    receive->iov_fn = cbfunc;
    receive->arg = cbdata;
    rml_receive_post(rml, receive);
    return ORTE_SUCCESS;
}

int rml_call_recv_buffer_nb(struct rml *rml, const orte_process_name_t *peer, orte_rml_tag_t tag,
                            int flags, orte_rml_buffer_callback_fn_t cbfunc, void *cbdata)
{
    if (!rml_receive_valid(peer, tag) || !cbfunc) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct rml_receive *receive = rml_receive_create(RML_RECEIVE_BUFFER, peer, tag, flags, NULL, 0);
    if (!receive) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    receive->buffer_fn = cbfunc;
    receive->arg = cbdata;
    rml_receive_post(rml, receive);
    return ORTE_SUCCESS;
}

/* --- handlers --- */

void rml_handle(struct rml *rml, orte_rml_tag_t tag, rml_handler_fn fn, void *arg)
{
    if (tag == ORTE_RML_TAG_INVALID || tag > ORTE_RML_TAG_MAX) {
        log_error(LOG_RML, "tag %u is not the runtime's: no handler", tag);
        return;
    }
    struct rml_receive *receive = NULL;
    if (fn) {
        receive = rml_receive_create(RML_RECEIVE_HANDLER, ORTE_NAME_WILDCARD, tag,
                                     ORTE_RML_PERSISTENT, NULL, 0);
        if (!receive) {
            log_error(LOG_RML, "no memory for the handler of tag %u", tag);
            return;
        }
        receive->handler_fn = fn;
        receive->arg = arg;
    }
    pthread_mutex_lock(&rml->lock);
    if (rml->handlers[tag]) {
        rml_cancel_locked(rml, rml->handlers[tag]);
    }
    rml->handlers[tag] = receive;
    if (receive) {
        rml_match_post(&rml->match, &receive->posted);
    }
    pthread_mutex_unlock(&rml->lock);
}

void rml_look(struct rml *rml, struct rml_look *look)
{
    *look = (struct rml_look){0};
    pthread_mutex_lock(&rml->lock);
    struct rml_posted *posted;
    list_for_each (posted, &rml->match.posted, struct rml_posted, link) {
        const struct rml_receive *receive = rml_receive_of(posted);
        if (receive->kind == RML_RECEIVE_WAIT && !look->receives) {
            look->receives = true;
            look->peer = posted->peer;
            look->tag = posted->tag;
        }
    }
    const struct list *unexpected = &rml->match.unexpected;
    for (const struct list *at = unexpected->next; at != unexpected; at = at->next) {
        look->waiting++;
    }
    const struct rml_counters *counters = &rml->counters;
    look->waiting_bytes = rml->match.unexpected_bytes;
    look->refused = counters->malformed + counters->forged + counters->refused_tags +
                    counters->misrouted + counters->link_down + counters->overflow +
                    counters->out_of_order + counters->lost;
    pthread_mutex_unlock(&rml->lock);
}
