/* What keel_btl_ext answers for a checked module. */
#include <config.h>

#include <btl/check/check.h>
#include <stdlib.h>

/* A request that waits for room: the module's in place of the caller's. */
struct request {
    struct keel_btl_pending theirs; /* first */
    struct keel_btl_pending *callers;
    struct check *check;
    struct check_endpoint *endpoint; /* NULL: any */
};

static void add_operations(void *value, void *arg)
{
    *(unsigned long *) arg += ((const struct check_endpoint *) value)->operations;
}

void check_flush(struct check_call *at, struct btl_call *call)
{
    check_pass(at, call);
    unsigned long open = at->endpoint ? at->endpoint->operations : 0;
    if (!at->endpoint) {
        btl_map_each(&at->check->endpoints, add_operations, &open);
    }
    if (call->status == OPAL_SUCCESS && open > 0) {
        check_report(at, CHECK_MODULE, "returned while %lu operations are not complete", open);
    }
}

static void room_again(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                       struct keel_btl_pending *pending, int status)
{
    (void) module, (void) endpoint;
    struct request *request = (struct request *) (void *) pending;
    struct check *check = request->check;
    struct keel_btl_pending *callers = request->callers;
    struct check_call call = {check, "pending", __builtin_return_address(0), request->endpoint};
    btl_map_remove(&check->requests, callers);
    free(request);
    check_callback_begin(&call);
    callers->ready(check->module, call.endpoint ? call.endpoint->endpoint : NULL, callers, status);
    check_callback_end();
}

static void request_add(const struct check_call *at, struct btl_call *call)
{
    struct check *check = at->check;
    struct keel_btl_pending *callers = call->pending;
    struct request *request = calloc(1, sizeof(*request));
    if (!request || btl_map_put(&check->requests, callers, request) != ORTE_SUCCESS) {
        free(request);
        call->status = OPAL_ERR_OUT_OF_RESOURCE;
        return;
    }
    request->theirs.ready = room_again;
    request->callers = callers;
    request->check = check;
    request->endpoint = at->endpoint;
    call->pending = &request->theirs;
    check_pass(at, call);
    if (call->status != OPAL_SUCCESS) {
        btl_map_remove(&check->requests, callers);
        free(request);
    }
}

void check_pending_add(struct check_call *at, struct btl_call *call)
{
    if (btl_map_get(&at->check->requests, call->pending)) {
        call->status = OPAL_EXISTS;
    } else if (call->pending && call->pending->ready) {
        request_add(at, call);
    }
}

void check_pending_remove(struct check_call *at, struct btl_call *call)
{
    struct keel_btl_pending *callers = call->pending;
    struct request *request = btl_map_get(&at->check->requests, callers);
    call->status = OPAL_ERR_NOT_FOUND;
    if (request) {
        call->pending = &request->theirs;
        check_pass(at, call);
        if (call->status != OPAL_SUCCESS) {
            check_report(at, CHECK_MODULE, "returned %d for a request that waits", call->status);
        }
        btl_map_remove(&at->check->requests, callers);
        free(request);
    }
}

static void request_of_ended(void *value, void *arg)
{
    const struct request *request = value;
    const struct check_call *call = arg;
    if (request->endpoint == call->endpoint) {
        check_report(call, CHECK_MODULE, "a request that waits for room was not called");
    }
}

void check_ext_endpoint_end(const struct check_call *call)
{
    struct check_call copy = *call;
    btl_map_each(&call->check->requests, request_of_ended, &copy);
}

static void request_lost(void *value, void *arg)
{
    struct request *request = value;
    struct check_call *call = arg;
    call->endpoint = request->endpoint;
    check_report(call, CHECK_MODULE, "a request that waits for room was not called");
    free(request);
}

void check_ext_fini(struct check_call *call)
{
    btl_map_each(&call->check->requests, request_lost, call);
    btl_map_fini(&call->check->requests);
}
