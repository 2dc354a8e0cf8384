#include <config.h>

#include <pml/requests/request.h>
#include <stdio.h>

enum { CALLBACKS_AT_ONCE = 64 };

static const struct keel_pml_status empty = {.source = KEEL_PML_ANY_SOURCE,
                                             .tag = KEEL_PML_ANY_TAG};

void request_abandon(struct keel_pml_request *request)
{
    request->freed = true;
    request->done = NULL;
    request->context->requests--;
    request->context->freed++;
}

/* Callbacks of any PML that are up the stack of this thread. */
static _Thread_local unsigned callbacks_here;

bool pml_in_callback(void)
{
    return callbacks_here > 0;
}

/* The callback may take its request, or start it again, and leaves `told` empty then. */
static void call_back_locked(struct pml *pml, struct keel_pml_request *request)
{
    const struct keel_pml_status status = request->status;
    const keel_pml_done_fn done = request->done;
    void *arg = request->arg;
    struct list told = LIST_INIT(told);

    request->state = REQUEST_TELLING;
    list_append(&told, &request->link);
    pml->callbacks++;
    pml_unlock(pml);
    callbacks_here++;
    done(request, &status, arg);
    callbacks_here--;
    pml_lock(pml);
    pml->callbacks--;
    pml_has_news(pml);
    if (list_pop(&told)) {
        request->state = REQUEST_COMPLETE;
    }
}

/* A callback may wait for requests whose callbacks are due, and start ever new ones. */
void request_run_callbacks_locked(struct pml *pml)
{
    struct list *link;

    for (int i = 0; i < CALLBACKS_AT_ONCE && (pml->callbacks == 0 || callbacks_here > 0) &&
                    (link = list_pop(&pml->ended));
         i++) {
        call_back_locked(pml, container_of(link, struct keel_pml_request, link));
    }
}

int request_take(struct keel_pml_request **request, struct keel_pml_status *status)
{
    struct keel_pml_request *taken = *request;
    const struct keel_pml_status *end =
        taken && request_is_complete(taken) ? &taken->status : &empty;
    int error = end->error;

    if (status) {
        *status = *end;
    }
    if (taken) {
        list_remove(&taken->link);
    }
    if (taken && taken->persistent) {
        taken->state = REQUEST_IDLE;
    } else if (taken) {
        request_release(taken);
        *request = NULL;
    }
    return error;
}

/* ---- what users call ---- */

int keel_pml_callback(struct keel_pml_request *request, keel_pml_done_fn done, void *arg)
{
    if (!request) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct pml *pml = request->context->pml;
    pml_lock(pml);
    request->done = done;
    request->arg = arg;
    if (request_is_complete(request) && done) {
        request->state = REQUEST_ENDED;
        list_remove(&request->link);
        list_append(&pml->ended, &request->link);
    } else if (request->state == REQUEST_ENDED && !done) {
        request->state = REQUEST_COMPLETE;
        list_remove(&request->link);
    }
    pml_unlock(pml);
    return OPAL_SUCCESS;
}

void request_tell(char *text, size_t size, const char *what, int32_t peer, int32_t tag)
{
    char from[24] = "any rank", with[24] = "any tag";
    if (peer != KEEL_PML_ANY_SOURCE) {
        snprintf(from, sizeof(from), "%d", peer);
    }
    if (tag != KEEL_PML_ANY_TAG) {
        snprintf(with, sizeof(with), "tag %d", tag);
    }
    snprintf(text, size, "in %s %s with %s", what, from, with);
}
