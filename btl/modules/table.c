#include <config.h>

#include <btl/modules/entry.h>
#include <btl/modules/module.h>
#include <stdlib.h>
#include <string.h>

const struct btl_common btl_common = {
    .exclusivity =
        PARAM_INT(NULL, NULL, 0, MCA_BTL_EXCLUSIVITY_HIGH, "",
                  "Of the modules that reach a peer, those with the highest are its rails."),
    .bandwidth = PARAM_INT(NULL, NULL, 0, 1 << 20, "MB/s",
                           "Bandwidth by which rails share their load; 0: the module's own word."),
    .eager_limit = PARAM_SIZE(NULL, NULL, 1 << 10, 4 << 20,
                              "Largest first fragment of a message, headers included."),
    .max_send_size = PARAM_SIZE(NULL, NULL, 4 << 10, 4 << 20, "Largest message of btl_send."),
    .hello_timeout =
        PARAM_INT(NULL, NULL, 1, 3600000, "ms",
                  "Time for a peer to answer the first hello; it may be busy computing."),
    .flush_timeout = PARAM_INT(NULL, NULL, 0, 3600000, "ms",
                               "Time for what is in flight to arrive when a peer is given up."),
};

int btl_register_tag(mca_btl_base_module_t *module, mca_btl_base_tag_t tag,
                     mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    (void) module;
    mca_btl_base_active_message_trigger[tag] =
        (mca_btl_active_message_callback_t){.cbfunc = cbfunc, .cbdata = cbdata};
    return OPAL_SUCCESS;
}

int btl_register_error_fn(mca_btl_base_module_t *module, mca_btl_base_module_error_cb_fn_t cbfunc)
{
    struct btl_module_entry *entry = btl_entry(module);
    if (!entry) {
        return OPAL_ERR_NOT_FOUND;
    }
    entry->error = cbfunc;
    return OPAL_SUCCESS;
}

/* ---- memory ---- */

static struct btl_module *module_of(mca_btl_base_module_t *module)
{
    return (struct btl_module *) (void *) module;
}

mca_btl_base_descriptor_t *btl_alloc(mca_btl_base_module_t *module,
                                     struct mca_btl_base_endpoint_t *endpoint, uint8_t order,
                                     size_t size, uint32_t flags)
{
    (void) endpoint;
    return desc_alloc(&module_of(module)->descs, order, size, flags);
}

mca_btl_base_descriptor_t *btl_prepare_src(mca_btl_base_module_t *module,
                                           struct mca_btl_base_endpoint_t *endpoint,
                                           opal_convertor_t *convertor, uint8_t order,
                                           size_t reserve, size_t *size, uint32_t flags)
{
    (void) endpoint;
    return desc_prepare(&module_of(module)->descs, convertor, order, reserve, size, flags,
                        module->btl_flags & MCA_BTL_FLAGS_SEND_INPLACE);
}

mca_btl_base_registration_handle_t *btl_register_mem(mca_btl_base_module_t *module,
                                                     struct mca_btl_base_endpoint_t *endpoint,
                                                     void *base, size_t size, uint32_t flags)
{
    return region_add(module_of(module)->regions, endpoint, base, size, flags);
}

int btl_deregister_mem(mca_btl_base_module_t *module, mca_btl_base_registration_handle_t *handle)
{
    return region_remove(module_of(module)->regions, handle);
}

/* ---- sendi ---- */

/* Puts the descriptor's bytes in: the header, then size bytes of the convertor, which moves on.
 * False: the convertor has less. */
static bool fill(mca_btl_base_descriptor_t *descriptor, opal_convertor_t *convertor,
                 const void *header, size_t header_size, size_t payload_size)
{
    unsigned char *to = descriptor->des_segments[0].seg_addr.pval;
    if (header_size > 0) {
        memcpy(to, header, header_size);
    }
    return payload_size == 0 ||
           opal_convertor_pack_bytes(convertor, to + header_size, payload_size) == payload_size;
}

mca_btl_base_module_t **btl_one_module(mca_btl_base_module_t *module, int *count)
{
    mca_btl_base_module_t **modules = module ? malloc(sizeof(*modules)) : NULL;
    *count = modules ? 1 : 0;
    if (modules) {
        modules[0] = module;
    } else if (module) {
        module->btl_finalize(module);
    }
    return modules;
}

/* Inlined twice: on self a message on no channel pays nothing for them. */
__attribute__((always_inline)) static inline int
sendi(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
      opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
      uint8_t order, uint32_t flags, uint8_t channel, mca_btl_base_tag_t tag,
      mca_btl_base_descriptor_t **descriptor)
{
    if (descriptor) {
        *descriptor = NULL;
    }
    bool lacks = (payload_size > 0 && !convertor) || (header_size > 0 && !header);
    if (lacks || channel > KEEL_BTL_CHANNEL_MAX || header_size > module->btl_max_send_size ||
        payload_size > module->btl_max_send_size - header_size) {
        return OPAL_ERR_BAD_PARAM;
    }
    const mca_btl_base_module_t *own = btl_own(module);
    mca_btl_base_descriptor_t *made =
        own->btl_alloc(module, endpoint, order, header_size + payload_size, flags);
    if (!made) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    size_t start = convertor ? convertor->bytes_converted : 0;
    int status = OPAL_ERR_BAD_PARAM;
    if (fill(made, convertor, header, header_size, payload_size)) {
        /* No callback was asked for, and none can be: the caller never sees this descriptor. */
        made->des_flags &= ~(uint32_t) MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
        made->des_flags |= MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
        status = channel == 0 ? own->btl_send(module, endpoint, made, tag)
                              : btl_component_of(module)->ext->channel_send(module, endpoint, made,
                                                                            channel, tag);
        if (status >= 0) {
            return OPAL_SUCCESS;
        }
    }
    if (convertor) {
        opal_convertor_set_position(convertor, &start);
    }
    made->des_flags = flags;
    if (descriptor && btl_is_shortage(status)) {
        *descriptor = made;
    } else {
        own->btl_free(module, made);
    }
    return status;
}

int btl_sendi_by_send(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                      opal_convertor_t *convertor, void *header, size_t header_size,
                      size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                      mca_btl_base_descriptor_t **descriptor)
{
    return sendi(module, endpoint, convertor, header, header_size, payload_size, order, flags, 0,
                 tag, descriptor);
}

int btl_sendi_by_send_on(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size,
                         size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                         mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
    return sendi(module, endpoint, convertor, header, header_size, payload_size, order, flags,
                 channel, tag, descriptor);
}

/* ---- sends of modules that have channels ---- */

int btl_send_by_channel(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                        mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    return btl_component_of(module)->ext->channel_send(module, endpoint, descriptor, 0, tag);
}

int btl_sendi_by_channel(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                         opal_convertor_t *convertor, void *header, size_t header_size,
                         size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                         mca_btl_base_descriptor_t **descriptor)
{
    return btl_component_of(module)->ext->channel_sendi(module, endpoint, convertor, header,
                                                        header_size, payload_size, order, flags, 0,
                                                        tag, descriptor);
}

/* ---- put, get and atomics: the arguments become a struct btl_call ---- */

static int make_atomic(mca_btl_base_module_t *module, const struct btl_call *call)
{
    const struct btl_component *component = btl_component_of(module);
    if (call->slot != BTL_ATOMIC_CSWAP && !atomic_is_known(call->rdma.atomic.op)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (!component->atomic || call->rdma.rdma.flags & ~MCA_BTL_ATOMIC_FLAG_32BIT) {
        return ORTE_ERR_NOT_SUPPORTED;
    }
    int status = region_check_atomic(&call->rdma);
    return status == OPAL_SUCCESS ? component->atomic(module, call->endpoint, &call->rdma) : status;
}

int btl_make_rdma(mca_btl_base_module_t *module, const struct btl_call *call)
{
    if (call->slot > BTL_GET) {
        return make_atomic(module, call);
    }
    int status = region_check_call(&call->rdma.rdma);
    return status == OPAL_SUCCESS
               ? btl_component_of(module)->rdma(module, call->endpoint, &call->rdma.rdma,
                                                call->slot == BTL_PUT)
               : status;
}

static inline int start(mca_btl_base_module_t *module, struct btl_call *call)
{
    return btl_taps_of(module) ? btl_tap_first(module, call) : btl_make_rdma(module, call);
}

int btl_put(struct mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
            void *local_address, uint64_t remote_address,
            struct mca_btl_base_registration_handle_t *local_handle,
            struct mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
            int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct btl_call call = {
        BTL_PUT, endpoint, __builtin_return_address(0),
        .rdma = {.rdma = {local_address, remote_address, local_handle, remote_handle, size, flags,
                          order, cbfunc, cbcontext, cbdata}}};
    return start(module, &call);
}

int btl_get(struct mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
            void *local_address, uint64_t remote_address,
            struct mca_btl_base_registration_handle_t *local_handle,
            struct mca_btl_base_registration_handle_t *remote_handle, size_t size, int flags,
            int order, mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct btl_call call = {
        BTL_GET, endpoint, __builtin_return_address(0),
        .rdma = {.rdma = {local_address, remote_address, local_handle, remote_handle, size, flags,
                          order, cbfunc, cbcontext, cbdata}}};
    return start(module, &call);
}

int btl_atomic_op(struct mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                  uint64_t remote_address, struct mca_btl_base_registration_handle_t *remote_handle,
                  mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                  mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct btl_call call = {
        BTL_ATOMIC_OP, endpoint, __builtin_return_address(0),
        .rdma = {.rdma = {NULL, remote_address, NULL, remote_handle, atomic_bytes(flags), flags,
                          order, cbfunc, cbcontext, cbdata},
                 .atomic = {op, operand, 0}}};
    return start(module, &call);
}

int btl_atomic_fop(struct mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                   void *local_address, uint64_t remote_address,
                   struct mca_btl_base_registration_handle_t *local_handle,
                   struct mca_btl_base_registration_handle_t *remote_handle,
                   mca_btl_base_atomic_op_t op, uint64_t operand, int flags, int order,
                   mca_btl_base_rdma_completion_fn_t cbfunc, void *cbcontext, void *cbdata)
{
    struct btl_call call = {
        BTL_ATOMIC_FOP, endpoint, __builtin_return_address(0),
        .rdma = {.rdma = {local_address, remote_address, local_handle, remote_handle,
                          atomic_bytes(flags), flags, order, cbfunc, cbcontext, cbdata},
                 .atomic = {op, operand, 0}}};
    return start(module, &call);
}

int btl_atomic_cswap(struct mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                     void *local_address, uint64_t remote_address,
                     struct mca_btl_base_registration_handle_t *local_handle,
                     struct mca_btl_base_registration_handle_t *remote_handle, uint64_t compare,
                     uint64_t value, int flags, int order, mca_btl_base_rdma_completion_fn_t cbfunc,
                     void *cbcontext, void *cbdata)
{
    struct btl_call call = {
        BTL_ATOMIC_CSWAP, endpoint, __builtin_return_address(0),
        .rdma = {.rdma = {local_address, remote_address, local_handle, remote_handle,
                          atomic_bytes(flags), flags, order, cbfunc, cbcontext, cbdata},
                 .atomic = {ATOMIC_CSWAP, compare, value}}};
    return start(module, &call);
}
