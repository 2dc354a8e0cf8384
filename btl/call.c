#include <config.h>

#include <btl/call.h>

int call_make(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
              enum call_kind kind, const struct atomic_call *call)
{
    const struct rdma_call *rdma = &call->rdma;
    mca_btl_base_atomic_op_t op = (mca_btl_base_atomic_op_t) call->atomic.op;
    uint64_t operand = call->atomic.operand;
    switch (kind) {
    case CALL_PUT:
    case CALL_GET:
        return (kind == CALL_PUT ? module->btl_put : module->btl_get)(
            module, endpoint, rdma->local_address, rdma->remote_address, rdma->local_handle,
            rdma->remote_handle, rdma->size, rdma->flags, rdma->order, rdma->cbfunc,
            rdma->cbcontext, rdma->cbdata);
    case CALL_ATOMIC_OP:
        return module->btl_atomic_op(module, endpoint, rdma->remote_address, rdma->remote_handle,
                                     op, operand, rdma->flags, rdma->order, rdma->cbfunc,
                                     rdma->cbcontext, rdma->cbdata);
    case CALL_ATOMIC_FOP:
        return module->btl_atomic_fop(module, endpoint, rdma->local_address, rdma->remote_address,
                                      rdma->local_handle, rdma->remote_handle, op, operand,
                                      rdma->flags, rdma->order, rdma->cbfunc, rdma->cbcontext,
                                      rdma->cbdata);
    case CALL_ATOMIC_CSWAP:
        return module->btl_atomic_cswap(module, endpoint, rdma->local_address, rdma->remote_address,
                                        rdma->local_handle, rdma->remote_handle, operand,
                                        call->atomic.value, rdma->flags, rdma->order, rdma->cbfunc,
                                        rdma->cbcontext, rdma->cbdata);
    }
    return OPAL_ERR_BAD_PARAM;
}
