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
    struct rdma_call callers;    /* as the caller called */
    bool ended;                  /* no callback may come, or come any more */
    bool called;
    bool in_call; /* the module's function has not returned yet */
};

/* NULL, with *status: it cannot be begun. call->endpoint was looked up. */
struct check_op *check_op_begin(const struct check_call *call, const struct rdma_call *callers,
                                int *status);
/* What the module is to be called with: its own handle, and a callback of the check's. */
struct rdma_call check_op_inner(struct check_op *op);
/* The module's function returned status. */
void check_op_returned(const struct check_call *call, struct check_op *op, int status);

#endif
