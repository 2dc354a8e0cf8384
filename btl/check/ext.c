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

static const struct keel_btl_ext *ext_of(const struct check *check)
{
    return keel_btl_ext(check->layer.inner);
}

/* NULL is an endpoint here: all. */
static bool begin(struct check_call *call, struct mca_btl_base_endpoint_t *endpoint)
{
    if (!check_enter(call)) {
        return false;
    }
    if (endpoint && !check_endpoint_ok(call, endpoint)) {
        check_leave();
        return false;
    }
    return true;
}

static struct mca_btl_base_endpoint_t *inner_of(const struct check_call *call)
{
    return call->endpoint ? call->endpoint->inner : NULL;
}

static void add_operations(void *value, void *arg)
{
    *(unsigned long *) arg += ((const struct check_endpoint *) value)->operations;
}

static int check_flush(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    struct check *check = check_of(btl);
    struct check_call call = {check, "flush", __builtin_return_address(0), NULL};
    if (!begin(&call, endpoint)) {
        return OPAL_ERR_BAD_PARAM;
    }
    int status = ext_of(check)->flush(check->layer.inner, inner_of(&call));
    unsigned long open = call.endpoint ? call.endpoint->operations : 0;
    if (!call.endpoint) {
        btl_map_each(&check->endpoints, add_operations, &open);
    }
    if (status == OPAL_SUCCESS && open > 0) {
        check_report(&call, CHECK_MODULE, "returned while %lu operations are not complete", open);
    }
    check_leave();
    return status;
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
    callers->ready(&check->layer.super, call.endpoint ? check_endpoint_outer(call.endpoint) : NULL,
                   callers, status);
    check_callback_end();
}

static int request_add(const struct check_call *call, struct keel_btl_pending *callers)
{
    struct check *check = call->check;
    struct request *request = calloc(1, sizeof(*request));
    if (!request || btl_map_put(&check->requests, callers, request) != ORTE_SUCCESS) {
        free(request);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    request->theirs.ready = room_again;
    request->callers = callers;
    request->check = check;
    request->endpoint = call->endpoint;
    int status = ext_of(check)->pending_add(check->layer.inner, inner_of(call), &request->theirs);
    if (status != OPAL_SUCCESS) {
        btl_map_remove(&check->requests, callers);
        free(request);
    }
    return status;
}

static int check_pending_add(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                             struct keel_btl_pending *pending)
{
    struct check *check = check_of(btl);
    struct check_call call = {check, "pending_add", __builtin_return_address(0), NULL};
    int status = OPAL_ERR_BAD_PARAM;
    if (!begin(&call, endpoint)) {
        return status;
    }
    if (btl_map_get(&check->requests, pending)) {
        status = OPAL_EXISTS;
    } else if (pending && pending->ready) {
        status = request_add(&call, pending);
    }
    check_leave();
    return status;
}

static int check_pending_remove(mca_btl_base_module_t *btl, struct keel_btl_pending *pending)
{
    struct check *check = check_of(btl);
    struct check_call call = {check, "pending_remove", __builtin_return_address(0), NULL};
    if (!check_enter(&call)) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct request *request = btl_map_get(&check->requests, pending);
    int status = OPAL_ERR_NOT_FOUND;
    if (request) {
        status = ext_of(check)->pending_remove(check->layer.inner, &request->theirs);
        if (status != OPAL_SUCCESS) {
            check_report(&call, CHECK_MODULE, "returned %d for a request that waits", status);
        }
        btl_map_remove(&check->requests, pending);
        free(request);
    }
    check_leave();
    return status;
}

static int check_wait_fd(mca_btl_base_module_t *btl)
{
    return ext_of(check_of(btl))->wait_fd(check_of(btl)->layer.inner);
}

static int check_wait_arm(mca_btl_base_module_t *btl)
{
    return ext_of(check_of(btl))->wait_arm(check_of(btl)->layer.inner);
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

void check_ext_init(struct check *check)
{
    const struct keel_btl_ext *theirs = ext_of(check);
    if (theirs) {
        check->ext = (struct keel_btl_ext){
            .flags = theirs->flags,
            .atomic_flags = theirs->atomic_flags,
            .flush = check_flush,
            .pending_add = check_pending_add,
            .pending_remove = check_pending_remove,
            .wait_fd = check_wait_fd,
            .wait_arm = check_wait_arm,
            .channel_register = btl_register_channel,
            .channel_send = check_channel_send,
            .channel_sendi = check_channel_sendi,
        };
        check->layer.ext = &check->ext;
    }
}
