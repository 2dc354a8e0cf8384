/* The three atomics. */
#include <config.h>

#include <btl/atomic.h>
#include <btl/check/op.h>

enum kind { OP, FOP, CSWAP };

struct atomic_args {
    enum kind kind;
    struct mca_btl_base_endpoint_t *endpoint;
    void *local_address;
    uint64_t remote_address;
    mca_btl_base_registration_handle_t *local_handle, *remote_handle;
    mca_btl_base_atomic_op_t op;
    uint64_t operand, value;
    int flags, order;
    mca_btl_base_rdma_completion_fn_t cbfunc;
    void *cbcontext, *cbdata;
};

/* The bit of btl_atomic_flags; 0: there is no such operation. */
static uint32_t flag_of(const struct atomic_args *args)
{
    if (args->kind == CSWAP) {
        return MCA_BTL_ATOMIC_SUPPORTS_CSWAP;
    }
    switch (args->op) {
    case MCA_BTL_ATOMIC_ADD:
        return MCA_BTL_ATOMIC_SUPPORTS_ADD;
    case MCA_BTL_ATOMIC_AND:
        return MCA_BTL_ATOMIC_SUPPORTS_AND;
    case MCA_BTL_ATOMIC_OR:
        return MCA_BTL_ATOMIC_SUPPORTS_OR;
    case MCA_BTL_ATOMIC_XOR:
        return MCA_BTL_ATOMIC_SUPPORTS_XOR;
    default:
        return 0;
    }
}

/* Whether the module has to refuse it. */
static bool is_not_offered(const struct check_call *call, const struct atomic_args *args)
{
    const mca_btl_base_module_t *inner = call->check->layer.inner;
    uint32_t kind = args->kind == OP ? MCA_BTL_FLAGS_ATOMIC_OPS : MCA_BTL_FLAGS_ATOMIC_FOPS;
    if (!(inner->btl_flags & kind) || !(inner->btl_atomic_flags & flag_of(args))) {
        check_report(call, CHECK_CALLER, "operation 0x%x is not advertised",
                     args->kind == CSWAP ? ATOMIC_CSWAP : (unsigned) args->op);
        return true;
    }
    if (args->remote_address % ATOMIC_BYTES != 0) {
        check_report(call, CHECK_CALLER, "the remote address is no multiple of %d", ATOMIC_BYTES);
        return true;
    }
    return false;
}

static int ask(const struct check_call *call, const struct atomic_args *args, struct check_op *op)
{
    mca_btl_base_module_t *inner = call->check->layer.inner;
    struct mca_btl_base_endpoint_t *endpoint = call->endpoint->inner;
    mca_btl_base_rdma_completion_fn_t cbfunc = args->cbfunc ? check_op_called : NULL;
    switch (args->kind) {
    case OP:
        return inner->btl_atomic_op(inner, endpoint, args->remote_address, args->remote_handle,
                                    args->op, args->operand, args->flags, args->order, cbfunc,
                                    call->check, op);
    case FOP:
        return inner->btl_atomic_fop(inner, endpoint, args->local_address, args->remote_address,
                                     check_op_handle(op), args->remote_handle, args->op,
                                     args->operand, args->flags, args->order, cbfunc, call->check,
                                     op);
    default:
        return inner->btl_atomic_cswap(inner, endpoint, args->local_address, args->remote_address,
                                       check_op_handle(op), args->remote_handle, args->operand,
                                       args->value, args->flags, args->order, cbfunc, call->check,
                                       op);
    }
}

static int pass_on(const struct check_call *call, const struct atomic_args *args)
{
    int status;
    bool bad = is_not_offered(call, args);
    check_region_remote(call, args->remote_handle);
    struct check_op *op = check_op_begin(call, args->local_address, args->local_handle,
                                         args->local_address ? ATOMIC_BYTES : 0, args->cbfunc,
                                         args->cbcontext, args->cbdata, &status);
    if (!op) {
        return status;
    }
    status = ask(call, args, op);
    if (bad && status >= 0) {
        check_report(call, CHECK_MODULE, "took what is not advertised, or not aligned");
    }
    check_op_returned(call, op, status);
    return status;
}

static int atomic_checked(struct check_call *call, const struct atomic_args *args)
{
    if (!check_enter(call)) {
        return OPAL_ERR_BAD_PARAM;
    }
    int status = OPAL_ERR_BAD_PARAM;
    if (check_endpoint_ok(call, args->endpoint)) {
        const mca_btl_base_module_t *inner = call->check->layer.inner;
        if (!args->remote_handle && inner->btl_register_mem && inner->btl_atomic_flags) {
            check_report(call, CHECK_CALLER, "the remote handle is NULL");
        } else {
            status = pass_on(call, args);
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
    struct atomic_args args = {OP,        endpoint, NULL, remote_address, NULL,  remote_handle,
                               op,        operand,  0,    flags,          order, cbfunc,
                               cbcontext, cbdata};
    return atomic_checked(&call, &args);
}

int check_atomic_fop(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     mca_btl_base_registration_handle_t *local_handle,
                     mca_btl_base_registration_handle_t *remote_handle, mca_btl_base_atomic_op_t op,
                     uint64_t operand, int flags, int order,
                     mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct check_call call = {check_of(btl), "atomic_fop", __builtin_return_address(0), NULL};
    struct atomic_args args = {
        FOP,     endpoint, local_address, remote_address, local_handle, remote_handle, op,
        operand, 0,        flags,         order,          cbfunc,       cbcontext,     cbdata};
    return atomic_checked(&call, &args);
}

int check_atomic_cswap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       void *local_address, uint64_t remote_address,
                       mca_btl_base_registration_handle_t *local_handle,
                       mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                       uint64_t value, int flags, int order,
                       mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct check_call call = {check_of(btl), "atomic_cswap", __builtin_return_address(0), NULL};
    struct atomic_args args = {CSWAP,         endpoint, local_address, remote_address, local_handle,
                               remote_handle, 0,        compare,       value,          flags,
                               order,         cbfunc,   cbcontext,     cbdata};
    return atomic_checked(&call, &args);
}
