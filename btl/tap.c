#include <config.h>

#include <btl/tap.h>
#include <string.h>

struct btl_taps *btl_tapped;

struct btl_taps *btl_taps_find(const mca_btl_base_module_t *module)
{
    struct btl_taps *taps = btl_tapped;
    while (taps && taps->module != module) {
        taps = taps->next;
    }
    return taps;
}

/* ---- out of a struct btl_call, into the module's own functions ---- */

static int make_rdma(const mca_btl_base_module_t *own, mca_btl_base_module_t *btl,
                     const struct btl_call *call)
{
    const struct rdma_call *rdma = &call->rdma.rdma;
    const struct atomic *atomic = &call->rdma.atomic;
    switch (call->slot) {
    case BTL_PUT:
    case BTL_GET:
        return (call->slot == BTL_PUT ? own->btl_put : own->btl_get)(
            btl, call->endpoint, rdma->local_address, rdma->remote_address, rdma->local_handle,
            rdma->remote_handle, rdma->size, rdma->flags, rdma->order, rdma->cbfunc,
            rdma->cbcontext, rdma->cbdata);
    case BTL_ATOMIC_OP:
        return own->btl_atomic_op(btl, call->endpoint, rdma->remote_address, rdma->remote_handle,
                                  (mca_btl_base_atomic_op_t) atomic->op, atomic->operand,
                                  rdma->flags, rdma->order, rdma->cbfunc, rdma->cbcontext,
                                  rdma->cbdata);
    case BTL_ATOMIC_FOP:
        return own->btl_atomic_fop(
            btl, call->endpoint, rdma->local_address, rdma->remote_address, rdma->local_handle,
            rdma->remote_handle, (mca_btl_base_atomic_op_t) atomic->op, atomic->operand,
            rdma->flags, rdma->order, rdma->cbfunc, rdma->cbcontext, rdma->cbdata);
    default:
        return own->btl_atomic_cswap(btl, call->endpoint, rdma->local_address, rdma->remote_address,
                                     rdma->local_handle, rdma->remote_handle, atomic->operand,
                                     atomic->value, rdma->flags, rdma->order, rdma->cbfunc,
                                     rdma->cbcontext, rdma->cbdata);
    }
}

static void make_memory(const mca_btl_base_module_t *own, mca_btl_base_module_t *btl,
                        struct btl_call *call)
{
    switch (call->slot) {
    case BTL_ALLOC:
        call->made = own->btl_alloc(btl, call->endpoint, call->make.order, call->make.size,
                                    call->make.flags);
        return;
    case BTL_PREPARE_SRC:
        call->made =
            own->btl_prepare_src(btl, call->endpoint, call->make.convertor, call->make.order,
                                 call->make.reserve, call->make.taken, call->make.flags);
        return;
    default:
        call->made = own->btl_register_mem(btl, call->endpoint, call->region.base,
                                           call->region.size, call->region.flags);
    }
}

static int make_send(const struct btl_taps *taps, const struct btl_call *call)
{
    mca_btl_base_module_t *btl = taps->module;
    return call->send.channel == 0
               ? taps->own.btl_send(btl, call->endpoint, call->send.descriptor, call->send.tag)
               : taps->own_ext->channel_send(btl, call->endpoint, call->send.descriptor,
                                             call->send.channel, call->send.tag);
}

static int make_sendi(const struct btl_taps *taps, const struct btl_call *call)
{
    mca_btl_base_module_t *btl = taps->module;
    if (call->sendi.channel == 0) {
        return taps->own.btl_sendi(btl, call->endpoint, call->sendi.convertor, call->sendi.header,
                                   call->sendi.header_size, call->sendi.payload_size,
                                   call->sendi.order, call->sendi.flags, call->sendi.tag,
                                   call->sendi.descriptor);
    }
    return taps->own_ext->channel_sendi(
        btl, call->endpoint, call->sendi.convertor, call->sendi.header, call->sendi.header_size,
        call->sendi.payload_size, call->sendi.order, call->sendi.flags, call->sendi.channel,
        call->sendi.tag, call->sendi.descriptor);
}

static int make_message(const struct btl_taps *taps, const struct btl_call *call)
{
    const mca_btl_base_module_t *own = &taps->own;
    mca_btl_base_module_t *btl = taps->module;
    switch (call->slot) {
    case BTL_FREE:
        return own->btl_free(btl, call->send.descriptor);
    case BTL_DEREGISTER_MEM:
        return own->btl_deregister_mem(btl, call->handle);
    case BTL_SEND:
        return make_send(taps, call);
    default:
        return make_sendi(taps, call);
    }
}

static int make_control(const mca_btl_base_module_t *own, mca_btl_base_module_t *btl,
                        const struct btl_call *call)
{
    switch (call->slot) {
    case BTL_ADD_PROCS:
        return own->btl_add_procs(btl, call->procs.count, call->procs.procs, call->procs.endpoints,
                                  call->procs.reachable);
    case BTL_DEL_PROCS:
        return own->btl_del_procs(btl, call->procs.count, call->procs.procs, call->procs.endpoints);
    case BTL_REGISTER:
        return own->btl_register(btl, call->receiver.at, call->receiver.cbfunc,
                                 call->receiver.cbdata);
    case BTL_REGISTER_ERROR:
        return own->btl_register_error(btl, call->error);
    case BTL_DUMP:
        own->btl_dump(btl, call->endpoint, call->verbose);
        return OPAL_SUCCESS;
    default:
        return own->btl_finalize(btl);
    }
}

static int make_ext(const struct keel_btl_ext *own, mca_btl_base_module_t *btl,
                    const struct btl_call *call)
{
    switch (call->slot) {
    case BTL_FLUSH:
        return own->flush(btl, call->endpoint);
    case BTL_PENDING_ADD:
        return own->pending_add(btl, call->endpoint, call->pending);
    case BTL_PENDING_REMOVE:
        return own->pending_remove(btl, call->pending);
    case BTL_WAIT_FD:
        return own->wait_fd(btl);
    case BTL_CHANNEL_REGISTER:
        return own->channel_register(btl, call->receiver.at, call->receiver.cbfunc,
                                     call->receiver.cbdata);
    default:
        return own->wait_arm(btl);
    }
}

static void make(struct btl_taps *taps, struct btl_call *call)
{
    const mca_btl_base_module_t *own = &taps->own;
    mca_btl_base_module_t *btl = taps->module;
    switch (call->slot) {
    case BTL_ALLOC:
    case BTL_PREPARE_SRC:
    case BTL_REGISTER_MEM:
        make_memory(own, btl, call);
        return;
    case BTL_FREE:
    case BTL_DEREGISTER_MEM:
    case BTL_SEND:
    case BTL_SENDI:
        call->status = make_message(taps, call);
        return;
    case BTL_PUT:
    case BTL_GET:
    case BTL_ATOMIC_OP:
    case BTL_ATOMIC_FOP:
    case BTL_ATOMIC_CSWAP:
        call->status = make_rdma(own, btl, call);
        return;
    default:
        call->status = call->slot >= BTL_FLUSH ? make_ext(taps->own_ext, btl, call)
                                               : make_control(own, btl, call);
    }
}

static void pass(struct btl_taps *taps, unsigned place, struct btl_call *call)
{
    while (place < BTL_TAP_PLACES && !taps->at[place]) {
        place++;
    }
    if (place < BTL_TAP_PLACES) {
        taps->at[place]->ops->call(taps->at[place], call);
    } else {
        make(taps, call);
    }
}

void btl_tap_next(const struct btl_tap *tap, struct btl_call *call)
{
    pass(tap->taps, tap->ops->place + 1, call);
}

/* ---- from a function's arguments into a struct btl_call ---- */

static int begin(const mca_btl_base_module_t *btl, struct btl_call *call)
{
    call->status = OPAL_ERR_OUT_OF_RESOURCE;
    pass(btl_taps_find(btl), 0, call);
    return call->status;
}

static void *begin_made(const mca_btl_base_module_t *btl, struct btl_call *call)
{
    (void) begin(btl, call);
    return call->made;
}

static int tap_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                         struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    struct btl_call call = {.slot = BTL_ADD_PROCS,
                            .from = __builtin_return_address(0),
                            .procs = {count, procs, endpoints, reachable}};
    return begin(btl, &call);
}

static int tap_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                         struct mca_btl_base_endpoint_t **endpoints)
{
    struct btl_call call = {.slot = BTL_DEL_PROCS,
                            .from = __builtin_return_address(0),
                            .procs = {count, procs, endpoints, NULL}};
    return begin(btl, &call);
}

static int tap_register(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                        mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    struct btl_call call = {.slot = BTL_REGISTER,
                            .from = __builtin_return_address(0),
                            .receiver = {tag, cbfunc, cbdata}};
    return begin(btl, &call);
}

static int tap_register_error(mca_btl_base_module_t *btl, mca_btl_base_module_error_cb_fn_t error)
{
    struct btl_call call = {
        .slot = BTL_REGISTER_ERROR, .from = __builtin_return_address(0), .error = error};
    return begin(btl, &call);
}

static int tap_finalize(mca_btl_base_module_t *btl)
{
    struct btl_call call = {.slot = BTL_FINALIZE, .from = __builtin_return_address(0)};
    return begin(btl, &call);
}

static void tap_dump(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     int verbose)
{
    struct btl_call call = {.slot = BTL_DUMP,
                            .endpoint = endpoint,
                            .from = __builtin_return_address(0),
                            .verbose = verbose};
    (void) begin(btl, &call);
}

static mca_btl_base_descriptor_t *tap_alloc(mca_btl_base_module_t *btl,
                                            struct mca_btl_base_endpoint_t *endpoint, uint8_t order,
                                            size_t size, uint32_t flags)
{
    struct btl_call call = {.slot = BTL_ALLOC,
                            .endpoint = endpoint,
                            .from = __builtin_return_address(0),
                            .make = {.size = size, .flags = flags, .order = order}};
    return begin_made(btl, &call);
}

static int tap_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    struct btl_call call = {
        .slot = BTL_FREE, .from = __builtin_return_address(0), .send = {.descriptor = descriptor}};
    return begin(btl, &call);
}

static mca_btl_base_descriptor_t *tap_prepare_src(mca_btl_base_module_t *btl,
                                                  struct mca_btl_base_endpoint_t *endpoint,
                                                  opal_convertor_t *convertor, uint8_t order,
                                                  size_t reserve, size_t *size, uint32_t flags)
{
    struct btl_call call = {.slot = BTL_PREPARE_SRC,
                            .endpoint = endpoint,
                            .from = __builtin_return_address(0),
                            .make = {.convertor = convertor,
                                     .reserve = reserve,
                                     .taken = size,
                                     .flags = flags,
                                     .order = order}};
    return begin_made(btl, &call);
}

static mca_btl_base_registration_handle_t *
tap_register_mem(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *base,
                 size_t size, uint32_t flags)
{
    struct btl_call call = {.slot = BTL_REGISTER_MEM,
                            .endpoint = endpoint,
                            .from = __builtin_return_address(0),
                            .region = {base, size, flags}};
    return begin_made(btl, &call);
}

static int tap_deregister_mem(mca_btl_base_module_t *btl,
                              mca_btl_base_registration_handle_t *handle)
{
    struct btl_call call = {
        .slot = BTL_DEREGISTER_MEM, .from = __builtin_return_address(0), .handle = handle};
    return begin(btl, &call);
}

static int tap_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    struct btl_call call = {.slot = BTL_SEND,
                            .endpoint = endpoint,
                            .from = __builtin_return_address(0),
                            .send = {.descriptor = descriptor, .tag = tag}};
    return begin(btl, &call);
}

static int tap_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     opal_convertor_t *convertor, void *header, size_t header_size,
                     size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                     mca_btl_base_descriptor_t **descriptor)
{
    struct btl_call call = {.slot = BTL_SENDI,
                            .endpoint = endpoint,
                            .from = __builtin_return_address(0),
                            .sendi = {.convertor = convertor,
                                      .header = header,
                                      .header_size = header_size,
                                      .payload_size = payload_size,
                                      .descriptor = descriptor,
                                      .flags = flags,
                                      .order = order,
                                      .tag = tag}};
    if (descriptor) {
        *descriptor = NULL;
    }
    return begin(btl, &call);
}

static int tap_put(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                   void *local_address, uint64_t remote_address,
                   mca_btl_base_registration_handle_t *local_handle,
                   mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                   int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                   void *cbdata)
{
    struct btl_call call = {
        .slot = BTL_PUT,
        .endpoint = endpoint,
        .from = __builtin_return_address(0),
        .rdma = {.rdma = {local_address, remote_address, local_handle, remote_handle, size, flags,
                          order, cbfunc, cbcontext, cbdata}}};
    return begin(btl, &call);
}

static int tap_get(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                   void *local_address, uint64_t remote_address,
                   mca_btl_base_registration_handle_t *local_handle,
                   mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
                   int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext,
                   void *cbdata)
{
    struct btl_call call = {
        .slot = BTL_GET,
        .endpoint = endpoint,
        .from = __builtin_return_address(0),
        .rdma = {.rdma = {local_address, remote_address, local_handle, remote_handle, size, flags,
                          order, cbfunc, cbcontext, cbdata}}};
    return begin(btl, &call);
}

static int tap_atomic_op(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                         uint64_t remote_address, mca_btl_base_registration_handle_t *remote_handle,
                         mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                         mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct btl_call call = {
        .slot = BTL_ATOMIC_OP,
        .endpoint = endpoint,
        .from = __builtin_return_address(0),
        .rdma = {.rdma = {NULL, remote_address, NULL, remote_handle, atomic_bytes(flags), flags,
                          order, cbfunc, cbcontext, cbdata},
                 .atomic = {op, operand, 0}}};
    return begin(btl, &call);
}

static int tap_atomic_fop(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                          void *local_address, uint64_t remote_address,
                          mca_btl_base_registration_handle_t *local_handle,
                          mca_btl_base_registration_handle_t *remote_handle,
                          mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                          mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct btl_call call = {
        .slot = BTL_ATOMIC_FOP,
        .endpoint = endpoint,
        .from = __builtin_return_address(0),
        .rdma = {.rdma = {local_address, remote_address, local_handle, remote_handle,
                          atomic_bytes(flags), flags, order, cbfunc, cbcontext, cbdata},
                 .atomic = {op, operand, 0}}};
    return begin(btl, &call);
}

static int tap_atomic_cswap(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            void *local_address, uint64_t remote_address,
                            mca_btl_base_registration_handle_t *local_handle,
                            mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                            uint64_t value, int flags, int order,
                            mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct btl_call call = {
        .slot = BTL_ATOMIC_CSWAP,
        .endpoint = endpoint,
        .from = __builtin_return_address(0),
        .rdma = {.rdma = {local_address, remote_address, local_handle, remote_handle,
                          atomic_bytes(flags), flags, order, cbfunc, cbcontext, cbdata},
                 .atomic = {ATOMIC_CSWAP, compare, value}}};
    return begin(btl, &call);
}

static int tap_flush(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    struct btl_call call = {
        .slot = BTL_FLUSH, .endpoint = endpoint, .from = __builtin_return_address(0)};
    return begin(btl, &call);
}

static int tap_pending_add(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                           struct keel_btl_pending *pending)
{
    struct btl_call call = {.slot = BTL_PENDING_ADD,
                            .endpoint = endpoint,
                            .from = __builtin_return_address(0),
                            .pending = pending};
    return begin(btl, &call);
}

static int tap_pending_remove(mca_btl_base_module_t *btl, struct keel_btl_pending *pending)
{
    struct btl_call call = {
        .slot = BTL_PENDING_REMOVE, .from = __builtin_return_address(0), .pending = pending};
    return begin(btl, &call);
}

static int tap_wait_fd(mca_btl_base_module_t *btl)
{
    struct btl_call call = {.slot = BTL_WAIT_FD, .from = __builtin_return_address(0)};
    return begin(btl, &call);
}

static int tap_wait_arm(mca_btl_base_module_t *btl)
{
    struct btl_call call = {.slot = BTL_WAIT_ARM, .from = __builtin_return_address(0)};
    return begin(btl, &call);
}

static int tap_channel_register(mca_btl_base_module_t *btl, uint8_t channel,
                                mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    struct btl_call call = {.slot = BTL_CHANNEL_REGISTER,
                            .from = __builtin_return_address(0),
                            .receiver = {channel, cbfunc, cbdata}};
    return begin(btl, &call);
}

static int tap_channel_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                            mca_btl_base_tag_t tag)
{
    struct btl_call call = {.slot = BTL_SEND,
                            .endpoint = endpoint,
                            .from = __builtin_return_address(0),
                            .send = {descriptor, tag, channel}};
    return begin(btl, &call);
}

static int tap_channel_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                             opal_convertor_t *convertor, void *header, size_t header_size,
                             size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                             mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
    struct btl_call call = {.slot = BTL_SENDI,
                            .endpoint = endpoint,
                            .from = __builtin_return_address(0),
                            .sendi = {.convertor = convertor,
                                      .header = header,
                                      .header_size = header_size,
                                      .payload_size = payload_size,
                                      .descriptor = descriptor,
                                      .flags = flags,
                                      .order = order,
                                      .channel = channel,
                                      .tag = tag}};
    if (descriptor) {
        *descriptor = NULL;
    }
    return begin(btl, &call);
}

static const mca_btl_base_module_t packing = {
    .btl_add_procs = tap_add_procs,
    .btl_del_procs = tap_del_procs,
    .btl_register = tap_register,
    .btl_finalize = tap_finalize,
    .btl_alloc = tap_alloc,
    .btl_free = tap_free,
    .btl_prepare_src = tap_prepare_src,
    .btl_send = tap_send,
    .btl_sendi = tap_sendi,
    .btl_put = tap_put,
    .btl_get = tap_get,
    .btl_dump = tap_dump,
    .btl_atomic_op = tap_atomic_op,
    .btl_atomic_fop = tap_atomic_fop,
    .btl_atomic_cswap = tap_atomic_cswap,
    .btl_register_mem = tap_register_mem,
    .btl_deregister_mem = tap_deregister_mem,
    .btl_register_error = tap_register_error,
};

/* ---- which taps stand before a module ---- */

/* The functions that taps see; all else in a table is data, which the module may change. */
static void take_functions(mca_btl_base_module_t *to, const mca_btl_base_module_t *from)
{
    to->btl_add_procs = from->btl_add_procs;
    to->btl_del_procs = from->btl_del_procs;
    to->btl_register = from->btl_register;
    to->btl_finalize = from->btl_finalize;
    to->btl_alloc = from->btl_alloc;
    to->btl_free = from->btl_free;
    to->btl_prepare_src = from->btl_prepare_src;
    to->btl_send = from->btl_send;
    to->btl_sendi = from->btl_sendi;
    to->btl_put = from->btl_put;
    to->btl_get = from->btl_get;
    to->btl_dump = from->btl_dump;
    to->btl_atomic_op = from->btl_atomic_op;
    to->btl_atomic_fop = from->btl_atomic_fop;
    to->btl_atomic_cswap = from->btl_atomic_cswap;
    to->btl_register_mem = to->btl_register_mem ? from->btl_register_mem : NULL;
    to->btl_deregister_mem = to->btl_deregister_mem ? from->btl_deregister_mem : NULL;
    to->btl_register_error = from->btl_register_error;
}

void btl_taps_init(struct btl_taps *taps, mca_btl_base_module_t *module,
                   const struct keel_btl_ext *ext)
{
    *taps = (struct btl_taps){.module = module, .own_ext = ext};
    if (ext) {
        taps->ext = *ext;
        taps->ext.flush = tap_flush;
        taps->ext.pending_add = tap_pending_add;
        taps->ext.pending_remove = tap_pending_remove;
        taps->ext.wait_fd = tap_wait_fd;
        taps->ext.wait_arm = tap_wait_arm;
        taps->ext.channel_register = tap_channel_register;
        taps->ext.channel_send = tap_channel_send;
        taps->ext.channel_sendi = tap_channel_sendi;
    }
}

static bool is_tapped(const struct btl_taps *taps)
{
    bool any = false;
    for (unsigned i = 0; i < BTL_TAP_PLACES; i++) {
        any = any || taps->at[i];
    }
    return any;
}

static void list_out(const struct btl_taps *taps)
{
    struct btl_taps **at = &btl_tapped;
    while (*at && *at != taps) {
        at = &(*at)->next;
    }
    if (*at) {
        *at = taps->next;
    }
}

void btl_taps_fini(struct btl_taps *taps)
{
    list_out(taps);
    for (unsigned i = 0; i < BTL_TAP_PLACES; i++) {
        struct btl_tap *tap = taps->at[i];
        taps->at[i] = NULL;
        if (tap && tap->ops->destroy) {
            tap->ops->destroy(tap);
        }
    }
}

void btl_tap_add(struct btl_taps *taps, struct btl_tap *tap)
{
    if (!is_tapped(taps)) {
        taps->own = *taps->module;
        take_functions(taps->module, &packing);
        taps->next = btl_tapped;
        btl_tapped = taps;
    }
    tap->taps = taps;
    taps->at[tap->ops->place] = tap;
}

void btl_tap_remove(struct btl_tap *tap)
{
    struct btl_taps *taps = tap->taps;
    taps->at[tap->ops->place] = NULL;
    if (!is_tapped(taps)) {
        take_functions(taps->module, &taps->own);
        list_out(taps);
    }
}

/* A hold alone, which comes and goes, takes no part in the extension: callers keep what they were
 * given. */
const struct keel_btl_ext *btl_taps_ext(const mca_btl_base_module_t *module)
{
    const struct btl_taps *taps = btl_taps_of(module);
    bool stands =
        taps && (taps->at[BTL_TAP_LOCK] || taps->at[BTL_TAP_CHECK] || taps->at[BTL_TAP_FAULT]);
    return stands && taps->own_ext ? &taps->ext : NULL;
}

/* ---- for ft_event and progress ---- */

bool btl_taps_quiet(const struct btl_taps *taps)
{
    bool quiet = true;
    for (unsigned i = 0; i < BTL_TAP_PLACES; i++) {
        const struct btl_tap *tap = taps->at[i];
        quiet = quiet && (!tap || !tap->ops->is_quiet || tap->ops->is_quiet(tap));
    }
    return quiet;
}

void btl_taps_end(struct btl_taps *taps)
{
    for (unsigned i = BTL_TAP_PLACES; i-- > 0;) {
        struct btl_tap *tap = taps->at[i];
        if (tap && tap->ops->end) {
            tap->ops->end(tap);
        }
    }
}

void btl_taps_drained(struct btl_taps *taps)
{
    for (unsigned i = BTL_TAP_PLACES; i-- > 0;) {
        struct btl_tap *tap = taps->at[i];
        if (tap && tap->ops->drained) {
            tap->ops->drained(tap);
        }
    }
}

int btl_taps_progress(void)
{
    int events = 0;
    for (struct btl_taps *taps = btl_tapped; taps; taps = taps->next) {
        struct btl_tap *tap = taps->at[BTL_TAP_FAULT];
        events += tap && tap->ops->progress ? tap->ops->progress(tap) : 0;
    }
    return events;
}

bool btl_taps_keep(void)
{
    bool any = false;
    for (const struct btl_taps *taps = btl_tapped; taps; taps = taps->next) {
        any = any || (taps->at[BTL_TAP_FAULT] && taps->at[BTL_TAP_FAULT]->ops->progress);
    }
    return any;
}
