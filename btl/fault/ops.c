/* put, get and atomics. */
#include <config.h>

#include <base/clock.h>
#include <btl/fault/fault_layer.h>
#include <btl/framework.h>
#include <stdlib.h>
#include <string.h>

/* How long a call with the action early polls for its own end. */
#define EARLY_US 20000

void fault_op_end(struct fault_op *op, int status)
{
    struct fault_op ended = *op;
    mca_btl_base_module_t *face = btl_layer_outermost(&ended.owner->layer.super);
    op->ended = true;
    if (!ended.waits) {
        free(op);
    }
    for (int i = 0; i <= (ended.twice ? 1 : 0); i++) {
        ended.cbfunc(face, ended.endpoint, ended.local_address, ended.local_handle, ended.cbcontext,
                     ended.cbdata, status);
    }
}

static void called_back(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                        void *local_address, mca_btl_base_registration_handle_t *local_handle,
                        void *context, void *cbdata, int status)
{
    (void) module, (void) endpoint, (void) local_address, (void) local_handle, (void) context;
    fault_op_end(cbdata, status);
}

int fault_op_call(struct fault_op *op)
{
    mca_btl_base_module_t *inner = op->owner->layer.inner;
    mca_btl_base_rdma_completion_fn_t cbfunc = op->cbfunc ? called_back : NULL;
    switch (op->kind) {
    case FAULT_PUT:
    case FAULT_GET:
        return (op->kind == FAULT_PUT ? inner->btl_put : inner->btl_get)(
            inner, op->endpoint, op->local_address, op->remote_address, op->local_handle,
            op->remote_handle, op->size, op->flags, op->order, cbfunc, NULL, op);
    case FAULT_OP:
        return inner->btl_atomic_op(inner, op->endpoint, op->remote_address, op->remote_handle,
                                    op->op, op->operand, op->flags, op->order, cbfunc, NULL, op);
    case FAULT_FOP:
        return inner->btl_atomic_fop(inner, op->endpoint, op->local_address, op->remote_address,
                                     op->local_handle, op->remote_handle, op->op, op->operand,
                                     op->flags, op->order, cbfunc, NULL, op);
    default:
        return inner->btl_atomic_cswap(inner, op->endpoint, op->local_address, op->remote_address,
                                       op->local_handle, op->remote_handle, op->operand, op->value,
                                       op->flags, op->order, cbfunc, NULL, op);
    }
}

/* A handle lives no longer than its call. */
static bool hold(struct fault_op *op, int64_t delay_ms)
{
    if (op->remote_handle) {
        memcpy(op->remote, op->remote_handle, op->owner->layer.inner->btl_registration_handle_size);
        op->remote_handle = (mca_btl_base_registration_handle_t *) (void *) op->remote;
    }
    return fault_hold(op->owner, op, delay_ms);
}

/* Makes the call now; early: stays in it until its callback came, for some time. */
static int go(struct fault_op *op, bool early)
{
    op->waits = true;
    int status = fault_op_call(op);
    if (status == OPAL_SUCCESS && early && !btl_progressing()) {
        uint64_t begin = clock_us();
        while (!op->ended && clock_us() - begin < EARLY_US) {
            btl_progress();
        }
    }
    op->waits = false;
    if (op->ended || status != OPAL_SUCCESS || !op->cbfunc) {
        free(op);
    }
    return status;
}

static int start(const struct fault_op *wanted, struct fault fault)
{
    if (fault.action == FAULT_ERROR) {
        return fault_status(fault.value);
    }
    if (fault.action == FAULT_DROP && !wanted->cbfunc) {
        return OPAL_ERR_UNREACH; /* who cannot be called back is told now */
    }
    struct fault_op *op = malloc(sizeof(*op));
    if (!op) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *op = *wanted;
    bool held = fault.action == FAULT_DROP || (fault.action == FAULT_DELAY && op->cbfunc);
    if (!held) {
        op->twice = fault.action == FAULT_DUPLICATE;
        return go(op, fault.action == FAULT_EARLY);
    }
    op->status = fault.action == FAULT_DROP ? ORTE_ERR_COMM_FAILURE : OPAL_SUCCESS;
    if (!hold(op, fault.action == FAULT_DROP ? 0 : fault.value)) {
        free(op);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return OPAL_SUCCESS;
}

static int fault_put(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                     void *cbdata)
{
    struct fault_op op = {.owner = fault_layer_of(btl),
                          .kind = FAULT_PUT,
                          .endpoint = endpoint,
                          .local_address = local_address,
                          .remote_address = remote_address,
                          .local_handle = local_handle,
                          .remote_handle = remote_handle,
                          .size = size,
                          .flags = flags,
                          .order = order,
                          .cbfunc = cbfunc,
                          .cbcontext = cbcontext,
                          .cbdata = cbdata};
    return start(&op, fault_ask("btl.any.put"));
}

static int fault_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                     void *cbdata)
{
    struct fault_op op = {.owner = fault_layer_of(btl),
                          .kind = FAULT_GET,
                          .endpoint = endpoint,
                          .local_address = local_address,
                          .remote_address = remote_address,
                          .local_handle = local_handle,
                          .remote_handle = remote_handle,
                          .size = size,
                          .flags = flags,
                          .order = order,
                          .cbfunc = cbfunc,
                          .cbcontext = cbcontext,
                          .cbdata = cbdata};
    return start(&op, fault_ask("btl.any.get"));
}

static int fault_atomic_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                           uint64_t remote_address,
                           mca_btl_base_registration_handle_t *remote_handle,
                           mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                           mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct fault_op call = {.owner = fault_layer_of(btl),
                            .kind = FAULT_OP,
                            .endpoint = endpoint,
                            .remote_address = remote_address,
                            .remote_handle = remote_handle,
                            .op = op,
                            .operand = operand,
                            .flags = flags,
                            .order = order,
                            .cbfunc = cbfunc,
                            .cbcontext = cbcontext,
                            .cbdata = cbdata};
    return start(&call, fault_ask("btl.any.atomic"));
}

static int fault_atomic_fop(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            void *local_address, uint64_t remote_address,
                            mca_btl_base_registration_handle_t *local_handle,
                            mca_btl_base_registration_handle_t *remote_handle,
                            mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                            mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct fault_op call = {.owner = fault_layer_of(btl),
                            .kind = FAULT_FOP,
                            .endpoint = endpoint,
                            .local_address = local_address,
                            .remote_address = remote_address,
                            .local_handle = local_handle,
                            .remote_handle = remote_handle,
                            .op = op,
                            .operand = operand,
                            .flags = flags,
                            .order = order,
                            .cbfunc = cbfunc,
                            .cbcontext = cbcontext,
                            .cbdata = cbdata};
    return start(&call, fault_ask("btl.any.atomic"));
}

static int fault_atomic_cswap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                              void *local_address, uint64_t remote_address,
                              mca_btl_base_registration_handle_t *local_handle,
                              mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                              uint64_t value, int flags, int order,
                              mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                              void *cbdata)
{
    struct fault_op call = {.owner = fault_layer_of(btl),
                            .kind = FAULT_CSWAP,
                            .endpoint = endpoint,
                            .local_address = local_address,
                            .remote_address = remote_address,
                            .local_handle = local_handle,
                            .remote_handle = remote_handle,
                            .operand = compare,
                            .value = value,
                            .flags = flags,
                            .order = order,
                            .cbfunc = cbfunc,
                            .cbcontext = cbcontext,
                            .cbdata = cbdata};
    return start(&call, fault_ask("btl.any.atomic"));
}

void fault_ops_table(mca_btl_base_module_t *table)
{
    table->btl_put = fault_put;
    table->btl_get = fault_get;
    table->btl_atomic_op = fault_atomic_op;
    table->btl_atomic_fop = fault_atomic_fop;
    table->btl_atomic_cswap = fault_atomic_cswap;
}
