/* What sends and receives have in common: who has them, how they end. */
#ifndef PML_REQUEST_H
#define PML_REQUEST_H

#include <pml/peers/core.h>

enum request_kind { REQUEST_SEND, REQUEST_RECV };

enum request_state {
    REQUEST_IDLE,    /* not started */
    REQUEST_ACTIVE,  /* under way */
    REQUEST_ENDED,   /* its callback is due: on pml.ended */
    REQUEST_TELLING, /* its callback runs, for whose thread it is complete */
    REQUEST_COMPLETE /* its end is there to be taken */
};

struct keel_pml_request {
    struct keel_pml_context *context;
    struct pool *pool; /* where it goes when it is released */
    keel_pml_done_fn done;
    void *arg;
    struct keel_pml_status status;
    struct list
        link;      /* on its peer's pending; on pml.ended; telling: its callback's; else on none */
    uint8_t kind;  /* enum request_kind */
    uint8_t state; /* enum request_state; request_* set it */
    bool persistent;
    bool freed; /* the user has it no more */
};

/* Of a request that was just taken from this pool, and is the user's. */
static inline void request_init(struct keel_pml_request *request, struct pool *pool,
                                enum request_kind kind, struct keel_pml_context *context)
{
    request->context = context;
    request->pool = pool;
    request->done = NULL;
    request->kind = (uint8_t) kind;
    request->state = REQUEST_IDLE;
    request->persistent = request->freed = false;
    list_init(&request->link);
    context->requests++;
}

/* Of a send of so many bytes that has ended already. */
static inline void request_init_ended(struct keel_pml_request *request, struct pool *pool,
                                      struct keel_pml_context *context, int32_t dest, int32_t tag,
                                      size_t bytes)
{
    request_init(request, pool, REQUEST_SEND, context);
    request->status = (struct keel_pml_status){.source = dest, .tag = tag, .bytes = bytes};
    request->state = REQUEST_COMPLETE;
}

/* One that is not under way, on no list. */
static inline void request_release(struct keel_pml_request *request)
{
    *(request->freed ? &request->context->freed : &request->context->requests) -= 1;
    pool_put(request->pool, request);
}

/* It may be started: it is idle. */
static inline void request_begin(struct keel_pml_request *request, int32_t source, int32_t tag)
{
    request->status = (struct keel_pml_status){.source = source, .tag = tag};
    request->state = REQUEST_ACTIVE;
}

/* It was not started after all. */
static inline void request_undo(struct keel_pml_request *request)
{
    request->state = REQUEST_IDLE;
}

/* "in WHAT 3 with tag 12": what somebody waits for. */
void request_tell(char *text, size_t size, const char *what, int32_t peer, int32_t tag);
/* The user has an active request no more: it is released when it ends. */
void request_abandon(struct keel_pml_request *request);
/* An active request has ended, with the status that it has. It is on no list, and may be gone. */
static inline void request_end(struct keel_pml_request *request)
{
    struct pml *pml = request->context->pml;

    __atomic_store_n(&pml->ends, pml->ends + 1, __ATOMIC_RELAXED);
    pml_has_news(pml);
    if (request->freed) {
        request_release(request);
    } else if (request->done) {
        request->state = REQUEST_ENDED;
        list_append(&pml->ended, &request->link);
    } else {
        request->state = REQUEST_COMPLETE;
    }
}
/* Its end is there to be taken by this thread. */
static inline bool request_is_complete(const struct keel_pml_request *request)
{
    return request->state == REQUEST_COMPLETE ||
           (request->state == REQUEST_TELLING && pml_in_callback());
}
/* Runs the callbacks that are due now, unless another thread does; gives up the lock meanwhile. */
void request_run_callbacks_locked(struct pml *pml);
/* Takes the end of one that is complete, or the empty one of one that is idle: it is released, or
 * idle, and *request is NULL in the former case. Returns the error. */
int request_take(struct keel_pml_request **request, struct keel_pml_status *status);

#endif
