#include <config.h>

#include <btl/check/op.h>
#include <stdlib.h>

/* Whether the map of operations has it; what a module hands back may be anything. */
static struct check_op *find(struct check *check, void *cbdata)
{
    return check ? btl_map_get(&check->ops, cbdata) : NULL;
}

struct check_op *check_op_begin(const struct check_call *call, const struct rdma_call *callers,
                                int *status)
{
    bool bad;
    size_t size = callers->local_address ? callers->size : 0;
    struct check_region *region =
        check_region_local(call, callers->local_handle, callers->local_address, size, &bad);
    *status = OPAL_ERR_BAD_PARAM;
    if (bad) {
        return NULL;
    }
    *status = OPAL_ERR_OUT_OF_RESOURCE;
    struct check_op *op = calloc(1, sizeof(*op));
    if (!op || btl_map_put(&call->check->ops, op, op) != ORTE_SUCCESS) {
        free(op);
        return NULL;
    }
    *op = (struct check_op){
        .check = call->check,
        .operation = call->operation,
        .from = call->from,
        .endpoint = call->endpoint,
        .region = region,
        .callers = *callers,
        .in_call = true,
    };
    if (callers->cbfunc) {
        op->endpoint->pending++;
        op->endpoint->operations++;
        if (region) {
            region->users++;
        }
    }
    return op;
}

/* No callback will come any more. */
static void op_end(struct check_op *op)
{
    if (op->callers.cbfunc && !op->ended) {
        op->endpoint->pending--;
        op->endpoint->operations--;
        if (op->region) {
            op->region->users--;
        }
    }
    op->ended = true;
}

/* What a target says about what it was asked. */
static void look_at_status(const struct check_call *call, int status)
{
    if (status == OPAL_ERR_PERM) {
        check_report(call, CHECK_CALLER,
                     "the remote handle was refused: stale, forged, or not for this use");
    } else if (status == OPAL_ERR_VALUE_OUT_OF_BOUNDS) {
        check_report(call, CHECK_CALLER, "the remote memory is outside of its handle's region");
    }
}

static mca_btl_base_registration_handle_t *inner_handle(const struct check_op *op)
{
    return op->region ? op->region->inner : NULL;
}

static void called_back(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                        void *local_address, mca_btl_base_registration_handle_t *local_handle,
                        void *context, void *cbdata, int status)
{
    (void) module;
    struct check *check = context;
    struct check_op *op = find(check, cbdata);
    struct check_call call = {check, "callback", __builtin_return_address(0), NULL};
    if (!op) {
        check_report(&call, CHECK_MODULE, "calls back for an operation that is long over");
        return;
    }
    call.endpoint = op->endpoint;
    call.operation = op->operation;
    if (op->ended) {
        check_report(&call, CHECK_MODULE, "calls back %s",
                     op->called ? "twice" : "for an operation that it had refused or finished");
        return;
    }
    check_callback_begin(&call);
    if (op->endpoint->gone) {
        check_report(&call, CHECK_MODULE, "calls back after del_procs");
    }
    if (endpoint != op->endpoint->endpoint || local_address != op->callers.local_address ||
        local_handle != inner_handle(op)) {
        check_report(&call, CHECK_MODULE, "calls back with another endpoint, address or handle");
    }
    if (status > 0) {
        check_report(&call, CHECK_MODULE, "calls back with status %d", status);
    }
    call.from = op->from;
    look_at_status(&call, status);
    op->called = true;
    op_end(op);
    rdma_call_back(&op->callers, check->module, op->endpoint->endpoint, status);
    if (!op->in_call) {
        check_end(&check->dead_ops, &check->ops, op);
    }
    check_callback_end();
}

struct rdma_call check_op_inner(struct check_op *op)
{
    struct rdma_call inner = op->callers;
    inner.local_handle = inner_handle(op);
    inner.cbfunc = op->callers.cbfunc ? called_back : NULL;
    inner.cbcontext = op->check;
    inner.cbdata = op;
    return inner;
}

void check_op_returned(const struct check_call *call, struct check_op *op, int status)
{
    op->in_call = false;
    if (status > 1) {
        check_report(call, CHECK_MODULE, "returned %d", status);
    }
    if (status != 0 && op->called) {
        check_report(call, CHECK_MODULE, "returned %d after its callback", status);
    }
    check_taken(call, status);
    look_at_status(call, status);
    if (status != 0 || !op->callers.cbfunc) {
        op_end(op);
    }
    if (op->ended) {
        check_end(&call->check->dead_ops, &call->check->ops, op);
    }
}
