/* The three atomics. */
#include <config.h>

#include <btl/check/op.h>

/* Whether the module has to refuse it. */
static bool is_not_offered(const struct check_call *call, enum call_kind kind,
                           const struct atomic_call *atomic)
{
    const mca_btl_base_module_t *inner = call->check->layer.inner;
    uint32_t offered = inner->btl_atomic_flags | call->check->ext.atomic_flags;
    uint32_t needed = kind == CALL_ATOMIC_OP ? MCA_BTL_FLAGS_ATOMIC_OPS : MCA_BTL_FLAGS_ATOMIC_FOPS;
    size_t size = atomic->rdma.size;
    if (!(inner->btl_flags & needed) || !(offered & atomic_support(atomic->atomic.op))) {
        check_report(call, CHECK_CALLER, "operation 0x%x is not advertised", atomic->atomic.op);
        return true;
    }
    if (atomic->rdma.flags & ~MCA_BTL_ATOMIC_FLAG_32BIT ||
        (size == sizeof(uint32_t) && !(offered & MCA_BTL_ATOMIC_SUPPORTS_32BIT))) {
        check_report(call, CHECK_CALLER, "the flags 0x%x are not advertised",
                     (unsigned) atomic->rdma.flags);
        return true;
    }
    if (atomic->rdma.remote_address % size != 0) {
        check_report(call, CHECK_CALLER, "the remote address is no multiple of %zu", size);
        return true;
    }
    return false;
}

static int pass_on(const struct check_call *call, enum call_kind kind,
                   const struct atomic_call *atomic)
{
    int status;
    bool bad = is_not_offered(call, kind, atomic);
    check_region_remote(call, atomic->rdma.remote_handle);
    struct check_op *op = check_op_begin(call, &atomic->rdma, &status);
    if (!op) {
        return status;
    }
    struct atomic_call theirs = {.rdma = check_op_inner(op), .atomic = atomic->atomic};
    status = call_make(call->check->layer.inner, call->endpoint->inner, kind, &theirs);
    if (bad && status >= 0) {
        check_report(call, CHECK_MODULE, "took what is not advertised, or not aligned");
    }
    check_op_returned(call, op, status);
    return status;
}

static int atomic_checked(struct check_call *call, struct mca_btl_base_endpoint_t *endpoint,
                          enum call_kind kind, const struct atomic_call *atomic)
{
    if (!check_enter(call)) {
        return OPAL_ERR_BAD_PARAM;
    }
    int status = OPAL_ERR_BAD_PARAM;
    if (check_endpoint_ok(call, endpoint)) {
        const mca_btl_base_module_t *inner = call->check->layer.inner;
        if (!atomic->rdma.remote_handle && inner->btl_register_mem && inner->btl_atomic_flags) {
            check_report(call, CHECK_CALLER, "the remote handle is NULL");
        } else {
            status = pass_on(call, kind, atomic);
        }
    }
    check_leave();
    return status;
}

int check_atomic_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    uint64_t remote_address, mca_btl_base_registration_handle_t *remote_handle,
                    mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                    mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct check_call call = {check_of(btl), "atomic_op", __builtin_return_address(0), NULL};
    struct atomic_call atomic = {.rdma = {NULL, remote_address, NULL, remote_handle,
                                          atomic_bytes(flags), flags, order, cbfunc, cbcontext,
                                          cbdata},
                                 .atomic = {op, operand, 0}};
    return atomic_checked(&call, endpoint, CALL_ATOMIC_OP, &atomic);
}

int check_atomic_fop(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, mca_btl_base_atomic_op_t op,
                     uint64_t operand, int flags, int order,
                     mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct check_call call = {check_of(btl), "atomic_fop", __builtin_return_address(0), NULL};
    struct atomic_call atomic = {.rdma = {local_address, remote_address, local_handle,
                                          remote_handle, atomic_bytes(flags), flags, order, cbfunc,
                                          cbcontext, cbdata},
                                 .atomic = {op, operand, 0}};
    return atomic_checked(&call, endpoint, CALL_ATOMIC_FOP, &atomic);
}

int check_atomic_cswap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       void *local_address, uint64_t remote_address,
                       mca_btl_base_registration_handle_t *local_handle,
                       mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                       uint64_t value, int flags, int order,
                       mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct check_call call = {check_of(btl), "atomic_cswap", __builtin_return_address(0), NULL};
    struct atomic_call atomic = {.rdma = {local_address, remote_address, local_handle,
                                          remote_handle, atomic_bytes(flags), flags, order, cbfunc,
                                          cbcontext, cbdata},
                                 .atomic = {ATOMIC_CSWAP, compare, value}};
    return atomic_checked(&call, endpoint, CALL_ATOMIC_CSWAP, &atomic);
}
