/* Taps: what they see, in which order, and what the module's own functions are called with. */
#include <tests/lib/unit.h>

#include <btl/memory/region.h>
#include <btl/modules/tap.h>
#include <string.h>

/* What the module's function was called with. */
static struct seen {
    enum btl_slot kind;
    struct mca_btl_base_endpoint_t *endpoint;
    struct atomic_call call;
} seen;
static unsigned calls;

static int note(enum btl_slot kind, struct mca_btl_base_endpoint_t *endpoint,
                const struct atomic_call *call)
{
    calls++;
    seen = (struct seen){.kind = kind, .endpoint = endpoint, .call = *call};
    return 40 + (int) kind;
}

static int rdma(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                const struct rdma_call *call, bool put)
{
    (void) btl;
    return note(put ? BTL_PUT : BTL_GET, endpoint, &(struct atomic_call){.rdma = *call});
}

static int atomic(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                  const struct atomic_call *call)
{
    (void) btl;
    return note(call->atomic.op == ATOMIC_CSWAP ? BTL_ATOMIC_CSWAP
                : call->rdma.local_address      ? BTL_ATOMIC_FOP
                                                : BTL_ATOMIC_OP,
                endpoint, call);
}

static struct btl_component component = {
    .component = {.btl_version = {MCA_BTL_DEFAULT_VERSION("test")}},
    .rdma = rdma,
    .atomic = atomic};
static mca_btl_base_module_t module = {.btl_component = &component.component,
                                       .btl_put = btl_put,
                                       .btl_get = btl_get,
                                       .btl_atomic_op = btl_atomic_op,
                                       .btl_atomic_fop = btl_atomic_fop,
                                       .btl_atomic_cswap = btl_atomic_cswap};

static struct region_handle everywhere = {.size = UINT64_MAX};
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

static struct atomic_call make_call(enum btl_slot kind)
{
    bool atomic = kind >= BTL_ATOMIC_OP, swaps = kind == BTL_ATOMIC_CSWAP;
    return (struct atomic_call){
        .rdma = {.local_address = kind == BTL_ATOMIC_OP ? NULL : &bytes[1],
                 .remote_address = 0x1000,
                 .local_handle = kind == BTL_ATOMIC_OP ? NULL : (void *) &bytes[2],
                 .remote_handle = (void *) &everywhere,
                 .size = atomic ? sizeof(uint32_t) : 77,
                 .flags = atomic ? MCA_BTL_ATOMIC_FLAG_32BIT : 4,
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

/* ---- taps that note what passes ---- */

static struct btl_taps taps;
static enum btl_tap_place passed[16];
static unsigned passes;
static struct btl_call noted;

static void note_call(struct btl_tap *tap, struct btl_call *call)
{
    passed[passes++] = tap->ops->place;
    noted = *call;
    btl_tap_next(tap, call);
}

static void note_message(struct btl_tap *tap, struct mca_btl_base_endpoint_t *endpoint,
                         uint8_t channel, mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments,
                         size_t count)
{
    passed[passes++] = tap->ops->place;
    btl_deliver_outward(tap, endpoint, channel, tag, segments, count);
}

static unsigned destroyed;

static void note_end(struct btl_tap *tap)
{
    (void) tap;
    destroyed++;
}

static const struct btl_tap_ops tap_ops[BTL_TAP_PLACES] = {
    {.place = BTL_TAP_LOCK, .call = note_call, .deliver = note_message, .destroy = note_end},
    {.place = BTL_TAP_HOLD, .call = note_call, .deliver = note_message},
    {.place = BTL_TAP_CHECK, .call = note_call, .deliver = note_message},
    {.place = BTL_TAP_STATS, .call = note_call, .deliver = note_message},
    {.place = BTL_TAP_FAULT, .call = note_call, .deliver = note_message, .destroy = note_end},
};
static struct btl_tap some_taps[BTL_TAP_PLACES];

static void add(enum btl_tap_place place)
{
    some_taps[place].ops = &tap_ops[place];
    btl_tap_add(&taps, &some_taps[place]);
}

static int make(enum btl_slot kind, const struct atomic_call *call)
{
    struct mca_btl_base_endpoint_t *endpoint = (void *) &bytes[0];
    const struct rdma_call *rdma = &call->rdma;
    mca_btl_base_atomic_op_t which = (mca_btl_base_atomic_op_t) call->atomic.op;
    switch (kind) {
    case BTL_PUT:
    case BTL_GET:
        return (kind == BTL_PUT ? module.btl_put : module.btl_get)(
            &module, endpoint, rdma->local_address, rdma->remote_address, rdma->local_handle,
            rdma->remote_handle, rdma->size, rdma->flags, rdma->order, rdma->cbfunc,
            rdma->cbcontext, rdma->cbdata);
    case BTL_ATOMIC_OP:
        return module.btl_atomic_op(&module, endpoint, rdma->remote_address, rdma->remote_handle,
                                    which, call->atomic.operand, rdma->flags, rdma->order,
                                    rdma->cbfunc, rdma->cbcontext, rdma->cbdata);
    case BTL_ATOMIC_FOP:
        return module.btl_atomic_fop(&module, endpoint, rdma->local_address, rdma->remote_address,
                                     rdma->local_handle, rdma->remote_handle, which,
                                     call->atomic.operand, rdma->flags, rdma->order, rdma->cbfunc,
                                     rdma->cbcontext, rdma->cbdata);
    default:
        return module.btl_atomic_cswap(&module, endpoint, rdma->local_address, rdma->remote_address,
                                       rdma->local_handle, rdma->remote_handle,
                                       call->atomic.operand, call->atomic.value, rdma->flags,
                                       rdma->order, rdma->cbfunc, rdma->cbcontext, rdma->cbdata);
    }
}

static void same_call(const struct atomic_call *got, const struct atomic_call *call)
{
    ck_assert_ptr_eq(got->rdma.local_address, call->rdma.local_address);
    ck_assert_uint_eq(got->rdma.remote_address, call->rdma.remote_address);
    ck_assert_ptr_eq(got->rdma.local_handle, call->rdma.local_handle);
    ck_assert_ptr_eq(got->rdma.remote_handle, call->rdma.remote_handle);
    ck_assert_uint_eq(got->rdma.size, call->rdma.size);
    ck_assert_int_eq(got->rdma.flags, call->rdma.flags);
    ck_assert_int_eq(got->rdma.order, 6);
    ck_assert(got->rdma.cbfunc == completed);
    ck_assert_ptr_eq(got->rdma.cbcontext, &bytes[4]);
    ck_assert_ptr_eq(got->rdma.cbdata, &bytes[5]);
    ck_assert_uint_eq(got->atomic.op, call->atomic.op);
    ck_assert_uint_eq(got->atomic.operand, call->atomic.operand);
    ck_assert_uint_eq(got->atomic.value, call->atomic.value);
}

START_TEST(each_argument_arrives_at_its_place)
{
    btl_taps_init(&taps, &module, NULL);
    add(BTL_TAP_CHECK);
    for (enum btl_slot kind = BTL_PUT; kind <= BTL_ATOMIC_CSWAP; kind++) {
        struct atomic_call call = make_call(kind);
        passes = 0;
        ck_assert_int_eq(make(kind, &call), 40 + (int) kind);
        ck_assert_uint_eq(passes, 1);
        ck_assert_int_eq(noted.slot, kind);
        ck_assert_ptr_nonnull(noted.from);
        ck_assert_ptr_eq(noted.endpoint, (void *) &bytes[0]);
        same_call(&noted.rdma, &call);
        ck_assert_int_eq(seen.kind, kind);
        ck_assert_ptr_eq(seen.endpoint, (void *) &bytes[0]);
        same_call(&seen.call, &call);
    }
    ck_assert_uint_eq(calls, 5);
    btl_taps_fini(&taps);
}
END_TEST

START_TEST(taps_stand_in_one_order_and_messages_pass_them_backwards)
{
    struct atomic_call call = make_call(BTL_PUT);
    btl_taps_init(&taps, &module, NULL);
    add(BTL_TAP_FAULT);
    add(BTL_TAP_LOCK);
    add(BTL_TAP_CHECK);
    ck_assert_int_eq(make(BTL_PUT, &call), 40 + BTL_PUT);
    ck_assert_uint_eq(passes, 3);
    ck_assert(passed[0] == BTL_TAP_LOCK && passed[1] == BTL_TAP_CHECK &&
              passed[2] == BTL_TAP_FAULT);
    passes = 0;
    btl_deliver_on(&module, NULL, 0, 1, NULL, 0);
    ck_assert_uint_eq(passes, 3);
    ck_assert(passed[0] == BTL_TAP_FAULT && passed[1] == BTL_TAP_CHECK &&
              passed[2] == BTL_TAP_LOCK);
    destroyed = 0;
    btl_taps_fini(&taps);
    ck_assert_uint_eq(destroyed, 2);
    ck_assert_ptr_null(btl_tapped);
}
END_TEST

START_TEST(a_module_without_taps_has_its_own_table)
{
    btl_taps_init(&taps, &module, NULL);
    mca_btl_base_module_t before = module;
    ck_assert(btl_own(&module) == &module);
    add(BTL_TAP_HOLD);
    ck_assert(module.btl_send != before.btl_send);
    ck_assert(btl_own(&module)->btl_send == before.btl_send);
    ck_assert(!module.btl_register_mem && !module.btl_deregister_mem);
    module.btl_eager_limit = 77; /* what a module says of itself is its own to change */
    btl_tap_remove(&some_taps[BTL_TAP_HOLD]);
    before.btl_eager_limit = 77;
    ck_assert_mem_eq(&module, &before, sizeof(module));
    ck_assert_ptr_null(btl_tapped);
    btl_taps_fini(&taps);
}
END_TEST

static int flushes;

static int flush(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    ck_assert_ptr_eq(btl, &module);
    ck_assert_ptr_eq(endpoint, (void *) &bytes[0]);
    return ++flushes;
}

START_TEST(the_extension_passes_taps_that_stay)
{
    static const struct keel_btl_ext ext = {.flags = 9, .flush = flush};
    btl_taps_init(&taps, &module, &ext);
    add(BTL_TAP_HOLD); /* which comes and goes */
    ck_assert_ptr_null(btl_taps_ext(&module));
    add(BTL_TAP_FAULT);
    const struct keel_btl_ext *tapped = btl_taps_ext(&module);
    ck_assert_ptr_nonnull(tapped);
    ck_assert_uint_eq(tapped->flags, 9);
    ck_assert_int_eq(tapped->flush(&module, (void *) &bytes[0]), 1);
    ck_assert_uint_eq(passes, 2);
    ck_assert_int_eq(noted.slot, BTL_FLUSH);
    btl_taps_fini(&taps);
}
END_TEST

START_TEST(a_completion_names_what_the_caller_named)
{
    struct atomic_call call = make_call(BTL_GET);
    rdma_call_back(&call.rdma, &module, (void *) &bytes[0], OPAL_ERR_PERM);
    ck_assert_uint_eq(completions, 1);
}
END_TEST

UNIT_MAIN("tap")
