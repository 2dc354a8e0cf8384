#include <config.h>

#include <pml/peers/context.h>
#include <pml/progress/progress.h>
#include <pml/requests/recv.h>
#include <pml/requests/send.h>

/* ---- what is allowed ---- */

static bool is_tag(int32_t tag)
{
    return tag >= KEEL_PML_TAG_MIN;
}

static bool may_send(const struct keel_pml_context *context, int32_t dest, int32_t tag,
                     keel_pml_mode_t mode)
{
    return context && context_has_rank(context, dest) && is_tag(tag) &&
           (unsigned) mode <= KEEL_PML_BUFFERED;
}

static bool may_receive(const struct keel_pml_context *context, int32_t source, int32_t tag)
{
    return context && (source == KEEL_PML_ANY_SOURCE || context_has_rank(context, source)) &&
           (tag == KEEL_PML_ANY_TAG || is_tag(tag));
}

/* ---- sends and receives ---- */

static int start(struct keel_pml_request *request)
{
    struct send *send = container_of(request, struct send, super);

    if (request->kind == REQUEST_RECV) {
        return recv_start(container_of(request, struct recv, super));
    }
    return send->mode == KEEL_PML_BUFFERED ? send_start_buffered(send) : send_start(send);
}

static int make_send(struct keel_pml_context *context, const opal_convertor_t *data, int32_t dest,
                     int32_t tag, keel_pml_mode_t mode, struct keel_pml_request **request)
{
    struct member *member = context_member(context, dest);
    int status = member_ready(member);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct send *send = send_new(member, data, tag, (uint8_t) mode);
    if (!send) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *request = &send->super;
    return OPAL_SUCCESS;
}

static int make_recv(struct keel_pml_context *context, const opal_convertor_t *data, int32_t source,
                     int32_t tag, struct keel_pml_request **request)
{
    struct recv *recv = recv_new(context, data, source, tag);

    if (!recv) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *request = &recv->super;
    return OPAL_SUCCESS;
}

/* Starts a request that was just made, and gives it to the user; releases it after an error. */
static int start_made(struct keel_pml_request *made, struct keel_pml_request **request)
{
    int status = start(made);
    if (status == OPAL_SUCCESS) {
        *request = made;
    } else {
        request_release(made);
    }
    return status;
}

/* What needs a request until it ends. */
static __attribute__((noinline)) int isend_later(struct keel_pml_context *context,
                                                 const opal_convertor_t *data, int32_t dest,
                                                 int32_t tag, keel_pml_mode_t mode,
                                                 struct keel_pml_request **request)
{
    struct keel_pml_request *made;
    int status = make_send(context, data, dest, tag, mode, &made);
    return status == OPAL_SUCCESS ? start_made(made, request) : status;
}

/* Sends without a request. False: the message needs one, and nothing was sent. */
static inline bool send_now(struct keel_pml_context *context, const opal_convertor_t *data,
                            int32_t dest, int32_t tag, keel_pml_mode_t mode)
{
    struct member *member = context_member(context, dest);
    return member_is_ready(member) && send_at_once(member, data, tag, mode);
}

static inline int isend(struct keel_pml_context *context, const opal_convertor_t *data,
                        int32_t dest, int32_t tag, keel_pml_mode_t mode,
                        struct keel_pml_request **request)
{
    struct pool *pool = &context->pml->ended_sends;
    struct keel_pml_request *ended = pool_get(pool);
    if (ended && send_now(context, data, dest, tag, mode)) {
        request_init_ended(ended, pool, context, dest, tag, data ? data->size : 0);
        *request = ended;
        return OPAL_SUCCESS;
    }
    if (ended) {
        pool_put(pool, ended);
    }
    return isend_later(context, data, dest, tag, mode, request);
}

int keel_pml_isend(struct keel_pml_context *context, const opal_convertor_t *data, int32_t dest,
                   int32_t tag, keel_pml_mode_t mode, struct keel_pml_request **request)
{
    if (!request || !may_send(context, dest, tag, mode)) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct pml *pml = context->pml;
    pml_lock(pml);
    int status = isend(context, data, dest, tag, mode, request);
    pml_unlock(pml);
    return status;
}

int keel_pml_irecv(struct keel_pml_context *context, const opal_convertor_t *data, int32_t source,
                   int32_t tag, struct keel_pml_request **request)
{
    struct keel_pml_request *made;
    if (!request || !may_receive(context, source, tag)) {
        return OPAL_ERR_BAD_PARAM;
    }
    pml_lock(context->pml);
    int status = make_recv(context, data, source, tag, &made);
    status = status == OPAL_SUCCESS ? start_made(made, request) : status;
    pml_unlock(context->pml);
    return status;
}

int keel_pml_send(struct keel_pml_context *context, const opal_convertor_t *data, int32_t dest,
                  int32_t tag, keel_pml_mode_t mode)
{
    struct keel_pml_request *request = NULL;
    if (context && !progress_may_run(context->pml)) {
        return OPAL_ERR_RESOURCE_BUSY;
    }
    if (!may_send(context, dest, tag, mode)) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct pml *pml = context->pml;
    pml_lock(pml);
    int status = send_now(context, data, dest, tag, mode)
                     ? OPAL_SUCCESS
                     : isend_later(context, data, dest, tag, mode, &request);
    pml_unlock(pml);
    return request ? keel_pml_wait(&request, NULL) : status;
}

int keel_pml_recv(struct keel_pml_context *context, const opal_convertor_t *data, int32_t source,
                  int32_t tag, struct keel_pml_status *end)
{
    struct keel_pml_request *request;
    if (context && !progress_may_run(context->pml)) {
        return OPAL_ERR_RESOURCE_BUSY;
    }
    int status = keel_pml_irecv(context, data, source, tag, &request);
    return status == OPAL_SUCCESS ? keel_pml_wait(&request, end) : status;
}

int keel_pml_imrecv(struct keel_pml_message **message, const opal_convertor_t *data,
                    struct keel_pml_request **request)
{
    if (!message || !*message || !request) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct keel_pml_context *context = (*message)->context;
    pml_lock(context->pml);
    struct recv *recv = recv_new(context, data, KEEL_PML_ANY_SOURCE, KEEL_PML_ANY_TAG);
    if (recv) {
        context->taken--;
        recv_take(recv, *message);
        *message = NULL;
        *request = &recv->super;
    }
    pml_unlock(context->pml);
    return recv ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

/* ---- requests that are started again ---- */

int keel_pml_send_init(struct keel_pml_context *context, const opal_convertor_t *data, int32_t dest,
                       int32_t tag, keel_pml_mode_t mode, struct keel_pml_request **request)
{
    if (!request || !may_send(context, dest, tag, mode)) {
        return OPAL_ERR_BAD_PARAM;
    }
    pml_lock(context->pml);
    int status = make_send(context, data, dest, tag, mode, request);
    pml_unlock(context->pml);
    if (status == OPAL_SUCCESS) {
        (*request)->persistent = true;
    }
    return status;
}

int keel_pml_recv_init(struct keel_pml_context *context, const opal_convertor_t *data,
                       int32_t source, int32_t tag, struct keel_pml_request **request)
{
    if (!request || !may_receive(context, source, tag)) {
        return OPAL_ERR_BAD_PARAM;
    }
    pml_lock(context->pml);
    int status = make_recv(context, data, source, tag, request);
    pml_unlock(context->pml);
    if (status == OPAL_SUCCESS) {
        (*request)->persistent = true;
    }
    return status;
}

static int start_again(struct keel_pml_request *request)
{
    if (request->state != REQUEST_IDLE) {
        return OPAL_ERR_RESOURCE_BUSY;
    }
    if (request->kind == REQUEST_SEND) {
        /* The peer may have gone since. */
        int status = member_ready(container_of(request, struct send, super)->member);
        if (status != OPAL_SUCCESS) {
            return status;
        }
    }
    return start(request);
}

int keel_pml_start(struct keel_pml_request *request)
{
    if (!request || !request->persistent) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct pml *pml = request->context->pml;
    pml_lock(pml);
    int status = start_again(request);
    pml_unlock(pml);
    return status;
}

static int cancel(struct keel_pml_request *request)
{
    struct recv *recv = container_of(request, struct recv, super);

    if (request->kind != REQUEST_RECV) {
        return OPAL_ERR_NOT_SUPPORTED;
    }
    if (request->state != REQUEST_ACTIVE || !match_cancel(&request->context->match, &recv->match)) {
        return OPAL_ERR_NOT_FOUND;
    }
    recv_fail(recv, OPAL_ERR_INTERUPTED);
    return OPAL_SUCCESS;
}

int keel_pml_cancel(struct keel_pml_request *request)
{
    if (!request) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct pml *pml = request->context->pml;
    pml_lock(pml);
    int status = cancel(request);
    pml_unlock(pml);
    return status;
}

int keel_pml_request_free(struct keel_pml_request **freed)
{
    if (!freed) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct keel_pml_request *request = *freed;
    *freed = NULL;
    if (!request) {
        return OPAL_SUCCESS;
    }
    struct pml *pml = request->context->pml;
    pml_lock(pml);
    if (request->state != REQUEST_ACTIVE) {
        list_remove(&request->link);
        request_release(request);
    } else {
        request_abandon(request);
        (void) cancel(request);
    }
    pml_unlock(pml);
    return OPAL_SUCCESS;
}
