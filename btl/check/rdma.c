/* put, get and atomics. */
#include <config.h>

#include <btl/check/op.h>

static bool is_over_limit(const struct check_call *at, size_t limit, size_t alignment,
                          const struct rdma_call *rdma)
{
    uint64_t places = (uintptr_t) rdma->local_address | rdma->remote_address | rdma->size;
    if (rdma->size > limit) {
        check_report(at, CHECK_CALLER, "%zu bytes; the limit is %zu", rdma->size, limit);
        return true;
    }
    if (alignment > 1 && places % alignment != 0) {
        check_report(at, CHECK_CALLER, "addresses and size are not multiples of %zu", alignment);
        return true;
    }
    return false;
}

/* Whether the module may refuse it for its size, alignment or kind: the caller should know. */
static bool is_beyond(const struct check_call *at, bool put, const struct rdma_call *rdma)
{
    const mca_btl_base_module_t *module = at->check->module;
    if (!(module->btl_flags & (put ? MCA_BTL_FLAGS_PUT : MCA_BTL_FLAGS_GET))) {
        check_report(at, CHECK_CALLER, "is not advertised");
        return true;
    }
    return put ? is_over_limit(at, module->btl_put_limit, module->btl_put_alignment, rdma)
               : is_over_limit(at, module->btl_get_limit, module->btl_get_alignment, rdma);
}

/* Makes the call, with the module's own handle and a callback of the check's. False: not made. */
static bool pass_on(const struct check_call *at, struct btl_call *call, struct check_op **op)
{
    *op = check_op_begin(at, &call->rdma.rdma, &call->status);
    if (!*op) {
        return false;
    }
    call->rdma.rdma = check_op_inner(*op);
    check_pass(at, call);
    return true;
}

void check_rdma(struct check_call *at, struct btl_call *call)
{
    const struct rdma_call *rdma = &call->rdma.rdma;
    bool over = is_beyond(at, call->slot == BTL_PUT, rdma);
    struct check_op *op;
    if (!rdma->local_address && rdma->size > 0) {
        check_report(at, CHECK_CALLER, "the local address is NULL");
        return;
    }
    if (!rdma->remote_handle && at->check->module->btl_register_mem) {
        check_report(at, CHECK_CALLER, "the remote handle is NULL");
        return;
    }
    check_region_remote(at, rdma->remote_handle);
    if (!pass_on(at, call, &op)) {
        return;
    }
    if (call->status == 1) {
        check_report(at, CHECK_MODULE, "returned 1; its callers expect 0 and a callback");
    }
    if (over && call->status >= 0) {
        check_report(at, CHECK_MODULE, "took what is not advertised, or beyond its limits");
    }
    check_op_returned(at, op, call->status);
}

/* Whether the module has to refuse it. */
static bool is_not_offered(const struct check_call *at, const struct btl_call *call)
{
    const mca_btl_base_module_t *module = at->check->module;
    const struct keel_btl_ext *ext = at->check->tap.taps->own_ext;
    const struct atomic_call *atomic = &call->rdma;
    uint32_t offered = module->btl_atomic_flags | (ext ? ext->atomic_flags : 0);
    uint32_t needed =
        call->slot == BTL_ATOMIC_OP ? MCA_BTL_FLAGS_ATOMIC_OPS : MCA_BTL_FLAGS_ATOMIC_FOPS;
    size_t size = atomic->rdma.size;
    if (!(module->btl_flags & needed) || !(offered & atomic_support(atomic->atomic.op))) {
        check_report(at, CHECK_CALLER, "operation 0x%x is not advertised", atomic->atomic.op);
        return true;
    }
    if (atomic->rdma.flags & ~MCA_BTL_ATOMIC_FLAG_32BIT ||
        (size == sizeof(uint32_t) && !(offered & MCA_BTL_ATOMIC_SUPPORTS_32BIT))) {
        check_report(at, CHECK_CALLER, "the flags 0x%x are not advertised",
                     (unsigned) atomic->rdma.flags);
        return true;
    }
    if (atomic->rdma.remote_address % size != 0) {
        check_report(at, CHECK_CALLER, "the remote address is no multiple of %zu", size);
        return true;
    }
    return false;
}

void check_atomic(struct check_call *at, struct btl_call *call)
{
    const mca_btl_base_module_t *module = at->check->module;
    const void *handle = call->rdma.rdma.remote_handle;
    struct check_op *op;
    if (!handle && module->btl_register_mem && module->btl_atomic_flags) {
        check_report(at, CHECK_CALLER, "the remote handle is NULL");
        return;
    }
    bool bad = is_not_offered(at, call);
    check_region_remote(at, handle);
    if (!pass_on(at, call, &op)) {
        return;
    }
    if (bad && call->status >= 0) {
        check_report(at, CHECK_MODULE, "took what is not advertised, or not aligned");
    }
    check_op_returned(at, op, call->status);
}
