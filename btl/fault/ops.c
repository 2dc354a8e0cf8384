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
        rdma_call_back(&ended.call.rdma, face, ended.endpoint, status);
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
    struct atomic_call call = op->call;
    call.rdma.cbfunc = op->call.rdma.cbfunc ? called_back : NULL;
    call.rdma.cbcontext = NULL;
    call.rdma.cbdata = op;
    return call_make(op->owner->layer.inner, op->endpoint, op->kind, &call);
}

/* A handle lives no longer than its call. */
static bool hold(struct fault_op *op, int64_t delay_ms)
{
    struct rdma_call *rdma = &op->call.rdma;
    if (rdma->remote_handle) {
        memcpy(op->remote, rdma->remote_handle,
               op->owner->layer.inner->btl_registration_handle_size);
        rdma->remote_handle = (mca_btl_base_registration_handle_t *) (void *) op->remote;
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
    if (op->ended || status != OPAL_SUCCESS || !op->call.rdma.cbfunc) {
        free(op);
    }
    return status;
}

static int start(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 enum call_kind kind, const struct atomic_call *call, struct fault fault)
{
    bool calls_back = call->rdma.cbfunc != NULL;
    if (fault_layer_of(btl)->layer.held) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (fault.action == FAULT_ERROR) {
        return fault_status(fault.value);
    }
    if (fault.action == FAULT_DROP && !calls_back) {
        return OPAL_ERR_UNREACH; /* who cannot be called back is told now */
    }
    struct fault_op *op = malloc(sizeof(*op));
    if (!op) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *op = (struct fault_op){
        .owner = fault_layer_of(btl), .endpoint = endpoint, .kind = kind, .call = *call};
    bool held = fault.action == FAULT_DROP || (fault.action == FAULT_DELAY && calls_back);
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

/* What every module refuses is left to it: a fault that takes it would hide that. */
static int start_atomic(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                        enum call_kind kind, const struct atomic_call *call)
{
    bool known = kind == CALL_ATOMIC_CSWAP || atomic_is_known(call->atomic.op);
    bool aligned = call->rdma.remote_address % call->rdma.size == 0;
    struct fault fault = {.action = FAULT_NONE};
    if (known && aligned) {
        fault = fault_ask("btl.any.atomic");
    }
    return start(btl, endpoint, kind, call, fault);
}

static int fault_put(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                     void *cbdata)
{
    struct atomic_call call = {.rdma = {local_address, remote_address, local_handle, remote_handle,
                                        size, flags, order, cbfunc, cbcontext, cbdata}};
    return start(btl, endpoint, CALL_PUT, &call, fault_ask("btl.any.put"));
}

static int fault_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                     int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                     void *cbdata)
{
    struct atomic_call call = {.rdma = {local_address, remote_address, local_handle, remote_handle,
                                        size, flags, order, cbfunc, cbcontext, cbdata}};
    return start(btl, endpoint, CALL_GET, &call, fault_ask("btl.any.get"));
}

static int fault_atomic_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                           uint64_t remote_address,
                           mca_btl_base_registration_handle_t *remote_handle,
                           mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                           mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct atomic_call call = {.rdma = {NULL, remote_address, NULL, remote_handle,
                                        atomic_bytes(flags), flags, order, cbfunc, cbcontext,
                                        cbdata},
                               .atomic = {op, operand, 0}};
    return start_atomic(btl, endpoint, CALL_ATOMIC_OP, &call);
}

static int fault_atomic_fop(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            void *local_address, uint64_t remote_address,
                            mca_btl_base_registration_handle_t *local_handle,
                            mca_btl_base_registration_handle_t *remote_handle,
                            mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                            mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct atomic_call call = {.rdma = {local_address, remote_address, local_handle, remote_handle,
                                        atomic_bytes(flags), flags, order, cbfunc, cbcontext,
                                        cbdata},
                               .atomic = {op, operand, 0}};
    return start_atomic(btl, endpoint, CALL_ATOMIC_FOP, &call);
}

static int fault_atomic_cswap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                              void *local_address, uint64_t remote_address,
                              mca_btl_base_registration_handle_t *local_handle,
                              mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                              uint64_t value, int flags, int order,
                              mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                              void *cbdata)
{
    struct atomic_call call = {.rdma = {local_address, remote_address, local_handle, remote_handle,
                                        atomic_bytes(flags), flags, order, cbfunc, cbcontext,
                                        cbdata},
                               .atomic = {ATOMIC_CSWAP, compare, value}};
    return start_atomic(btl, endpoint, CALL_ATOMIC_CSWAP, &call);
}

void fault_ops_table(mca_btl_base_module_t *table)
{
    table->btl_put = fault_put;
    table->btl_get = fault_get;
    table->btl_atomic_op = fault_atomic_op;
    table->btl_atomic_fop = fault_atomic_fop;
    table->btl_atomic_cswap = fault_atomic_cswap;
}
