/* The functions that stand in a module's table while it has taps: each packs its arguments into a
 * struct btl_call, as those of put, get and atomics always do (btl/modules/table.c). */
#include <config.h>

#include <btl/modules/tap.h>

static void *begin_made(const mca_btl_base_module_t *btl, struct btl_call *call)
{
    (void) btl_tap_first(btl, call);
    return call->made;
}

static int tap_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                         struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    struct btl_call call = {BTL_ADD_PROCS, NULL, __builtin_return_address(0),
                            .procs = {count, procs, endpoints, reachable}};
    return btl_tap_first(btl, &call);
}

static int tap_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                         struct mca_btl_base_endpoint_t **endpoints)
{
    struct btl_call call = {BTL_DEL_PROCS, NULL, __builtin_return_address(0),
                            .procs = {count, procs, endpoints, NULL}};
    return btl_tap_first(btl, &call);
}

static int tap_register(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                        mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    struct btl_call call = {BTL_REGISTER, NULL, __builtin_return_address(0),
                            .receiver = {tag, cbfunc, cbdata}};
    return btl_tap_first(btl, &call);
}

static int tap_register_error(mca_btl_base_module_t *btl, mca_btl_base_module_error_cb_fn_t error)
{
    struct btl_call call = {BTL_REGISTER_ERROR, NULL, __builtin_return_address(0), .error = error};
    return btl_tap_first(btl, &call);
}

static int tap_finalize(mca_btl_base_module_t *btl)
{
    struct btl_call call = {.slot = BTL_FINALIZE, .from = __builtin_return_address(0)};
    return btl_tap_first(btl, &call);
}

static void tap_dump(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     int verbose)
{
    struct btl_call call = {BTL_DUMP, endpoint, __builtin_return_address(0), .verbose = verbose};
    (void) btl_tap_first(btl, &call);
}

static mca_btl_base_descriptor_t *tap_alloc(mca_btl_base_module_t *btl,
                                            struct mca_btl_base_endpoint_t *endpoint, uint8_t order,
                                            size_t size, uint32_t flags)
{
    struct btl_call call = {BTL_ALLOC, endpoint, __builtin_return_address(0),
                            .make = {.size = size, .flags = flags, .order = order}};
    return begin_made(btl, &call);
}

static int tap_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    struct btl_call call = {BTL_FREE, NULL, __builtin_return_address(0),
                            .send = {.descriptor = descriptor}};
    return btl_tap_first(btl, &call);
}

static mca_btl_base_descriptor_t *tap_prepare_src(mca_btl_base_module_t *btl,
                                                  struct mca_btl_base_endpoint_t *endpoint,
                                                  opal_convertor_t *convertor, uint8_t order,
                                                  size_t reserve, size_t *size, uint32_t flags)
{
    struct btl_call call = {BTL_PREPARE_SRC, endpoint, __builtin_return_address(0),
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
    struct btl_call call = {BTL_REGISTER_MEM, endpoint, __builtin_return_address(0),
                            .region = {base, size, flags}};
    return begin_made(btl, &call);
}

static int tap_deregister_mem(mca_btl_base_module_t *btl,
                              mca_btl_base_registration_handle_t *handle)
{
    struct btl_call call = {BTL_DEREGISTER_MEM, NULL, __builtin_return_address(0),
                            .handle = handle};
    return btl_tap_first(btl, &call);
}

static int tap_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    struct btl_call call = {BTL_SEND, endpoint, __builtin_return_address(0),
                            .send = {.descriptor = descriptor, .tag = tag}};
    return btl_tap_first(btl, &call);
}

static int sendi(mca_btl_base_module_t *btl, struct btl_call *call)
{
    if (call->sendi.descriptor) {
        *call->sendi.descriptor = NULL;
    }
    return btl_tap_first(btl, call);
}

static int tap_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     opal_convertor_t *convertor, void *header, size_t header_size,
                     size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                     mca_btl_base_descriptor_t **descriptor)
{
    struct btl_call call = {
        BTL_SENDI, endpoint, __builtin_return_address(0),
        .sendi = {convertor, header, header_size, payload_size, descriptor, flags, order, 0, tag}};
    return sendi(btl, &call);
}

static int tap_flush(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    struct btl_call call = {
        .slot = BTL_FLUSH, .endpoint = endpoint, .from = __builtin_return_address(0)};
    return btl_tap_first(btl, &call);
}

static int tap_pending_add(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                           struct keel_btl_pending *pending)
{
    struct btl_call call = {BTL_PENDING_ADD, endpoint, __builtin_return_address(0),
                            .pending = pending};
    return btl_tap_first(btl, &call);
}

static int tap_pending_remove(mca_btl_base_module_t *btl, struct keel_btl_pending *pending)
{
    struct btl_call call = {BTL_PENDING_REMOVE, NULL, __builtin_return_address(0),
                            .pending = pending};
    return btl_tap_first(btl, &call);
}

static int tap_wait_fd(mca_btl_base_module_t *btl)
{
    struct btl_call call = {.slot = BTL_WAIT_FD, .from = __builtin_return_address(0)};
    return btl_tap_first(btl, &call);
}

static int tap_wait_arm(mca_btl_base_module_t *btl)
{
    struct btl_call call = {.slot = BTL_WAIT_ARM, .from = __builtin_return_address(0)};
    return btl_tap_first(btl, &call);
}

static int tap_channel_register(mca_btl_base_module_t *btl, uint8_t channel,
                                mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    struct btl_call call = {BTL_CHANNEL_REGISTER, NULL, __builtin_return_address(0),
                            .receiver = {channel, cbfunc, cbdata}};
    return btl_tap_first(btl, &call);
}

static int tap_channel_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                            mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                            mca_btl_base_tag_t tag)
{
    struct btl_call call = {BTL_SEND, endpoint, __builtin_return_address(0),
                            .send = {descriptor, tag, channel}};
    return btl_tap_first(btl, &call);
}

static int tap_channel_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                             opal_convertor_t *convertor, void *header, size_t header_size,
                             size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                             mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
    struct btl_call call = {BTL_SENDI, endpoint, __builtin_return_address(0),
                            .sendi = {convertor, header, header_size, payload_size, descriptor,
                                      flags, order, channel, tag}};
    return sendi(btl, &call);
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
    .btl_dump = tap_dump,
    .btl_register_mem = tap_register_mem,
    .btl_deregister_mem = tap_deregister_mem,
    .btl_register_error = tap_register_error,
};

void btl_taps_init(struct btl_taps *taps, mca_btl_base_module_t *module,
                   const struct keel_btl_ext *ext)
{
    *taps = (struct btl_taps){.module = module, .own_ext = ext, .packing = &packing};
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
