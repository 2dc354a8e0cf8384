#include <config.h>

#include <pml/request.h>

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

/* A callback may wait for requests whose callbacks are due, and start ever new ones. */
void request_run_callbacks(struct pml *pml)
{
    struct list *link;

    for (int i = 0; i < CALLBACKS_AT_ONCE && (link = list_pop(&pml->ended)); i++) {
        struct keel_pml_request *request = container_of(link, struct keel_pml_request, link);
        const struct keel_pml_status status = request->status;
        request->state = REQUEST_COMPLETE;
        pml->callbacks++;
        request->done(request, &status, request->arg);
        pml->callbacks--;
    }
}

int request_take(struct keel_pml_request **request, struct keel_pml_status *status)
{
    struct keel_pml_request *taken = *request;
    const struct keel_pml_status *end =
        taken && taken->state == REQUEST_COMPLETE ? &taken->status : &empty;
    int error = end->error;

    if (status) {
        *status = *end;
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
    request->done = done;
    request->arg = arg;
    if (request->state == REQUEST_COMPLETE && done) {
        request->state = REQUEST_ENDED;
        list_append(&request->context->pml->ended, &request->link);
    } else if (request->state == REQUEST_ENDED && !done) {
        request->state = REQUEST_COMPLETE;
        list_remove(&request->link);
    }
    return OPAL_SUCCESS;
}
