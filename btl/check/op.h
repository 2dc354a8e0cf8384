/* What put, get and atomics have in common: one record an operation, which its callback ends. */
#ifndef CHECK_OP_H
#define CHECK_OP_H

#include <btl/check/check.h>

struct check_op {
    struct check *check;
    const char *operation;
    const void *from; /* where it was called */
    struct check_endpoint *endpoint;
    struct check_region *region; /* of the local handle; NULL: none */
    void *local_address;
    mca_btl_base_registration_handle_t *local_handle; /* the caller's */
    mca_btl_base_rdma_completion_fn_t cbfunc;
    void *cbcontext, *cbdata;
    bool ended; /* no callback may come, or come any more */
    bool called;
    bool in_call; /* the module's function has not returned yet */
};

/* A record, and what the module is to call instead: the callback that takes it as cbdata. NULL,
 * with *status: it cannot be begun. call->endpoint was looked up. */
struct check_op *check_op_begin(const struct check_call *call, void *local_address,
                                mca_btl_base_registration_handle_t *local_handle, size_t size,
                                mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                                void *cbdata, int *status);
void check_op_called(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                     void *local_address, mca_btl_base_registration_handle_t *local_handle,
                     void *context, void *cbdata, int status);
/* The module's function returned status. */
void check_op_returned(const struct check_call *call, struct check_op *op, int status);

static inline mca_btl_base_registration_handle_t *check_op_handle(const struct check_op *op)
{
    return op->region ? op->region->inner : NULL;
}

#endif
