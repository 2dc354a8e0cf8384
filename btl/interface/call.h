/* Put, get and atomics as data: what a module's function is called with, for those who check a
 * call, keep it until it completes, or make it later. */
#ifndef BTL_CALL_H
#define BTL_CALL_H

#include <btl/interface/atomic.h>

/* The arguments of btl_put and btl_get behind the endpoint, in their order. */
struct rdma_call {
    void *local_address;
    uint64_t remote_address;
    mca_btl_base_registration_handle_t *local_handle;
    mca_btl_base_registration_handle_t
        *remote_handle; /* its bytes are there during the call only */
    size_t size;
    int flags, order;
    mca_btl_base_rdma_completion_fn_t cbfunc; /* NULL: nobody is called back */
    void *cbcontext;
    void *cbdata;
};

/* Those of btl_atomic_op, btl_atomic_fop and btl_atomic_cswap. local_address: where what was there
 * before goes, NULL: nowhere; size is atomic_bytes(flags). */
struct atomic_call {
    struct rdma_call rdma;
    struct atomic atomic;
};

/* Calls back, as module's endpoint; there is a cbfunc. */
void rdma_call_back(const struct rdma_call *call, mca_btl_base_module_t *module,
                    struct mca_btl_base_endpoint_t *endpoint, int status);

#endif
