/* put and get. */
#include <config.h>

#include <btl/check/op.h>

/* The two in one: what they are called with. */
struct transfer {
    bool put;
    struct mca_btl_base_endpoint_t *endpoint;
    void *local_address;
    uint64_t remote_address;
    mca_btl_base_registration_handle_t *local_handle, *remote_handle;
    size_t size;
    int flags, order;
    mca_btl_base_rdma_completion_fn_t cbfunc;
    void *cbcontext, *cbdata;
};

/* Whether the module may refuse it for its size, alignment or kind: the caller should know. */
static bool is_over_limit(const struct check_call *call, const struct transfer *transfer)
{
    const mca_btl_base_module_t *inner = call->check->layer.inner;
    size_t limit = transfer->put ? inner->btl_put_limit : inner->btl_get_limit;
    size_t alignment = transfer->put ? inner->btl_put_alignment : inner->btl_get_alignment;
    uint32_t flag = transfer->put ? MCA_BTL_FLAGS_PUT : MCA_BTL_FLAGS_GET;
    uint64_t places =
        (uintptr_t) transfer->local_address | transfer->remote_address | transfer->size;
    if (!(inner->btl_flags & flag)) {
        check_report(call, CHECK_CALLER, "is not advertised");
        return true;
    }
    if (transfer->size > limit) {
        check_report(call, CHECK_CALLER, "%zu bytes; the limit is %zu", transfer->size, limit);
        return true;
    }
    if (alignment > 1 && places % alignment != 0) {
        check_report(call, CHECK_CALLER, "addresses and size are not multiples of %zu", alignment);
        return true;
    }
    return false;
}

static int pass_on(const struct check_call *call, const struct transfer *transfer, bool over)
{
    mca_btl_base_module_t *inner = call->check->layer.inner;
    int status;
    struct check_op *op =
        check_op_begin(call, transfer->local_address, transfer->local_handle, transfer->size,
                       transfer->cbfunc, transfer->cbcontext, transfer->cbdata, &status);
    if (!op) {
        return status;
    }
    mca_btl_base_module_put_fn_t function = transfer->put ? inner->btl_put : inner->btl_get;
    status =
        function(inner, call->endpoint->inner, transfer->local_address, transfer->remote_address,
                 check_op_handle(op), transfer->remote_handle, transfer->size, transfer->flags,
                 transfer->order, transfer->cbfunc ? check_op_called : NULL, call->check, op);
    if (status == 1) {
        check_report(call, CHECK_MODULE, "returned 1; its callers expect 0 and a callback");
    }
    if (over && status >= 0) {
        check_report(call, CHECK_MODULE, "took what is not advertised, or beyond its limits");
    }
    check_op_returned(call, op, status);
    return status;
}

static int transfer_checked(struct check_call *call, const struct transfer *transfer)
{
    if (!check_enter(call)) {
        return OPAL_ERR_BAD_PARAM;
    }
    int status = OPAL_ERR_BAD_PARAM;
    if (check_endpoint_ok(call, transfer->endpoint)) {
        const mca_btl_base_module_t *inner = call->check->layer.inner;
        bool over = is_over_limit(call, transfer);
        if (!transfer->local_address && transfer->size > 0) {
            check_report(call, CHECK_CALLER, "the local address is NULL");
        } else if (!transfer->remote_handle && inner->btl_register_mem) {
            check_report(call, CHECK_CALLER, "the remote handle is NULL");
        } else {
            check_region_remote(call, transfer->remote_handle);
            status = pass_on(call, transfer, over);
        }
    }
    check_leave();
    return status;
}

int check_put(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
              void *local_address, uint64_t remote_address,
              mca_btl_base_registration_handle_t *local_handle,
              mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
              mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct check_call call = {check_of(btl), "put", __builtin_return_address(0), NULL};
    struct transfer transfer = {true,         endpoint,      local_address, remote_address,
                                local_handle, remote_handle, size,          flags,
                                order,        cbfunc,        cbcontext,     cbdata};
    return transfer_checked(&call, &transfer);
}

int check_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
              void *local_address, uint64_t remote_address,
              mca_btl_base_registration_handle_t *local_handle,
              mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
              mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct check_call call = {check_of(btl), "get", __builtin_return_address(0), NULL};
    struct transfer transfer = {false,        endpoint,      local_address, remote_address,
                                local_handle, remote_handle, size,          flags,
                                order,        cbfunc,        cbcontext,     cbdata};
    return transfer_checked(&call, &transfer);
}
