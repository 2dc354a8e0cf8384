/* A call as data reaches the module's function argument by argument. */
#include <tests/lib/unit.h>

#include <btl/call.h>
#include <string.h>

/* What the module's function was called with. */
static struct seen {
    enum call_kind kind;
    struct mca_btl_base_endpoint_t *endpoint;
    struct atomic_call call;
} seen;
static unsigned calls;

static int note(enum call_kind kind, struct mca_btl_base_endpoint_t *endpoint,
                const struct rdma_call *rdma, uint64_t op, uint64_t operand, uint64_t value)
{
    calls++;
    seen = (struct seen){
        .kind = kind,
        .endpoint = endpoint,
        .call = {.rdma = *rdma, .atomic = {(uint32_t) op, operand, value}},
    };
    return 40 + (int) kind;
}

static int put(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local,
               uint64_t remote, mca_btl_base_registration_handle_t *local_handle,
               mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
               mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    (void) btl;
    struct rdma_call rdma = {local, remote, local_handle, remote_handle, size,
                             flags, order,  cbfunc,       cbcontext,     cbdata};
    return note(CALL_PUT, endpoint, &rdma, 0, 0, 0);
}

static int get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local,
               uint64_t remote, mca_btl_base_registration_handle_t *local_handle,
               mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags, int order,
               mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    (void) btl;
    struct rdma_call rdma = {local, remote, local_handle, remote_handle, size,
                             flags, order,  cbfunc,       cbcontext,     cbdata};
    return note(CALL_GET, endpoint, &rdma, 0, 0, 0);
}

static int op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, uint64_t remote,
              mca_btl_base_registration_handle_t *remote_handle, mca_btl_base_atomic_op_t which,
              uint64_t operand, int flags, int order, mca_btl_base_rdma_completion_fn_t cbfunc,
              void *cbcontext, void *cbdata)
{
    (void) btl;
    struct rdma_call rdma = {NULL,  remote, NULL,   remote_handle, sizeof(uint64_t),
                             flags, order,  cbfunc, cbcontext,     cbdata};
    return note(CALL_ATOMIC_OP, endpoint, &rdma, which, operand, 0);
}

static int fop(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local,
               uint64_t remote, mca_btl_base_registration_handle_t *local_handle,
               mca_btl_base_registration_handle_t *remote_handle, mca_btl_base_atomic_op_t which,
               uint64_t operand, int flags, int order, mca_btl_base_rdma_completion_fn_t cbfunc,
               void *cbcontext, void *cbdata)
{
    (void) btl;
    struct rdma_call rdma = {local, remote, local_handle, remote_handle, sizeof(uint64_t),
                             flags, order,  cbfunc,       cbcontext,     cbdata};
    return note(CALL_ATOMIC_FOP, endpoint, &rdma, which, operand, 0);
}

static int cswap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *local,
                 uint64_t remote, mca_btl_base_registration_handle_t *local_handle,
                 mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                 uint64_t value, int flags, int order, mca_btl_base_rdma_completion_fn_t cbfunc,
                 void *cbcontext, void *cbdata)
{
    (void) btl;
    struct rdma_call rdma = {local, remote, local_handle, remote_handle, sizeof(uint64_t),
                             flags, order,  cbfunc,       cbcontext,     cbdata};
    return note(CALL_ATOMIC_CSWAP, endpoint, &rdma, ATOMIC_CSWAP, compare, value);
}

static mca_btl_base_module_t module = {.btl_put = put,
                                       .btl_get = get,
                                       .btl_atomic_op = op,
                                       .btl_atomic_fop = fop,
                                       .btl_atomic_cswap = cswap};

static char bytes[8]; /* addresses that differ */
static unsigned completions;

static void completed(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      void *local, mca_btl_base_registration_handle_t *local_handle, void *context,
                      void *cbdata, int status)
{
    ck_assert_ptr_eq(btl, &module);
    ck_assert_ptr_eq(endpoint, (void *) &bytes[0]);
    ck_assert_ptr_eq(local, &bytes[1]);
    ck_assert_ptr_eq(local_handle, (void *) &bytes[2]);
    ck_assert_ptr_eq(context, &bytes[4]);
    ck_assert_ptr_eq(cbdata, &bytes[5]);
    ck_assert_int_eq(status, OPAL_ERR_PERM);
    completions++;
}

static struct atomic_call make_call(enum call_kind kind)
{
    bool atomic = kind >= CALL_ATOMIC_OP, swaps = kind == CALL_ATOMIC_CSWAP;
    return (struct atomic_call){
        .rdma = {.local_address = kind == CALL_ATOMIC_OP ? NULL : &bytes[1],
                 .remote_address = 0x1000,
                 .local_handle = kind == CALL_ATOMIC_OP ? NULL : (void *) &bytes[2],
                 .remote_handle = (void *) &bytes[3],
                 .size = atomic ? sizeof(uint64_t) : 77,
                 .flags = 5,
                 .order = 6,
                 .cbfunc = completed,
                 .cbcontext = &bytes[4],
                 .cbdata = &bytes[5]},
        .atomic = {.op = swaps    ? ATOMIC_CSWAP
                         : atomic ? MCA_BTL_ATOMIC_XOR
                                  : 0,
                   .operand = atomic ? 8 : 0,
                   .value = swaps ? 9 : 0},
    };
}

START_TEST(each_argument_arrives_at_its_place)
{
    struct mca_btl_base_endpoint_t *endpoint = (void *) &bytes[0];
    for (int kind = CALL_PUT; kind <= CALL_ATOMIC_CSWAP; kind++) {
        struct atomic_call call = make_call((enum call_kind) kind);
        ck_assert_int_eq(call_make(&module, endpoint, (enum call_kind) kind, &call), 40 + kind);
        ck_assert_int_eq(seen.kind, kind);
        ck_assert_ptr_eq(seen.endpoint, endpoint);
        ck_assert_ptr_eq(seen.call.rdma.local_address, call.rdma.local_address);
        ck_assert_uint_eq(seen.call.rdma.remote_address, call.rdma.remote_address);
        ck_assert_ptr_eq(seen.call.rdma.local_handle, call.rdma.local_handle);
        ck_assert_ptr_eq(seen.call.rdma.remote_handle, call.rdma.remote_handle);
        ck_assert_uint_eq(seen.call.rdma.size, call.rdma.size);
        ck_assert_int_eq(seen.call.rdma.flags, 5);
        ck_assert_int_eq(seen.call.rdma.order, 6);
        ck_assert(seen.call.rdma.cbfunc == completed);
        ck_assert_ptr_eq(seen.call.rdma.cbcontext, &bytes[4]);
        ck_assert_ptr_eq(seen.call.rdma.cbdata, &bytes[5]);
        ck_assert_uint_eq(seen.call.atomic.op, call.atomic.op);
        ck_assert_uint_eq(seen.call.atomic.operand, call.atomic.operand);
        ck_assert_uint_eq(seen.call.atomic.value, call.atomic.value);
    }
    ck_assert_uint_eq(calls, 5);
}
END_TEST

START_TEST(a_completion_names_what_the_caller_named)
{
    struct atomic_call call = make_call(CALL_GET);
    rdma_call_back(&call.rdma, &module, (void *) &bytes[0], OPAL_ERR_PERM);
    ck_assert_uint_eq(completions, 1);
}
END_TEST

UNIT_MAIN("call", each_argument_arrives_at_its_place, a_completion_names_what_the_caller_named)
