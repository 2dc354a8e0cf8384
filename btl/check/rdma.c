/* put and get. */
#include <config.h>

#include <btl/check/op.h>

/* Whether the module may refuse it for its size, alignment or kind: the caller should know. */
static bool is_over_limit(const struct check_call *call, enum call_kind kind,
                          const struct rdma_call *rdma)
{
    const mca_btl_base_module_t *inner = call->check->layer.inner;
    bool put = kind == CALL_PUT;
    size_t limit = put ? inner->btl_put_limit : inner->btl_get_limit;
    size_t alignment = put ? inner->btl_put_alignment : inner->btl_get_alignment;
    uint64_t places = (uintptr_t) rdma->local_address | rdma->remote_address | rdma->size;
    if (!(inner->btl_flags & (put ? MCA_BTL_FLAGS_PUT : MCA_BTL_FLAGS_GET))) {
        check_report(call, CHECK_CALLER, "is not advertised");
        return true;
    }
    if (rdma->size > limit) {
        check_report(call, CHECK_CALLER, "%zu bytes; the limit is %zu", rdma->size, limit);
        return true;
    }
    if (alignment > 1 && places % alignment != 0) {
        check_report(call, CHECK_CALLER, "addresses and size are not multiples of %zu", alignment);
        return true;
    }
    return false;
}

static int pass_on(const struct check_call *call, enum call_kind kind, const struct rdma_call *rdma,
                   bool over)
{
    int status;
    struct check_op *op = check_op_begin(call, rdma, &status);
    if (!op) {
        return status;
    }
    struct atomic_call theirs = {.rdma = check_op_inner(op)};
    status = call_make(call->check->layer.inner, call->endpoint->inner, kind, &theirs);
    if (status == 1) {
        check_report(call, CHECK_MODULE, "returned 1; its callers expect 0 and a callback");
    }
    if (over && status >= 0) {
        check_report(call, CHECK_MODULE, "took what is not advertised, or beyond its limits");
    }
    check_op_returned(call, op, status);
    return status;
}

static int rdma_checked(struct check_call *call, struct mca_btl_base_endpoint_t *endpoint,
                        enum call_kind kind, const struct rdma_call *rdma)
{
    if (!check_enter(call)) {
        return OPAL_ERR_BAD_PARAM;
    }
    int status = OPAL_ERR_BAD_PARAM;
    if (check_endpoint_ok(call, endpoint)) {
        const mca_btl_base_module_t *inner = call->check->layer.inner;
        bool over = is_over_limit(call, kind, rdma);
        if (!rdma->local_address && rdma->size > 0) {
            check_report(call, CHECK_CALLER, "the local address is NULL");
        } else if (!rdma->remote_handle && inner->btl_register_mem) {
            check_report(call, CHECK_CALLER, "the remote handle is NULL");
        } else {
            check_region_remote(call, rdma->remote_handle);
            status = pass_on(call, kind, rdma, over);
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
    struct rdma_call rdma = {local_address, remote_address, local_handle, remote_handle, size,
                             flags,         order,          cbfunc,       cbcontext,     cbdata};
    return rdma_checked(&call, endpoint, CALL_PUT, &rdma);
}

int check_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
              void *local_address, uint64_t remote_address,
              mca_btl_base_registration_handle_t *local_handle,
              mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
              mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct check_call call = {check_of(btl), "get", __builtin_return_address(0), NULL};
    struct rdma_call rdma = {local_address, remote_address, local_handle, remote_handle, size,
                             flags,         order,          cbfunc,       cbcontext,     cbdata};
    return rdma_checked(&call, endpoint, CALL_GET, &rdma);
}
