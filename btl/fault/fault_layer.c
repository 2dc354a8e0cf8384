/* The module, its messages and its peers. */
#include <config.h>

#include <base/clock.h>
#include <btl/desc.h>
#include <btl/fault/fault_layer.h>
#include <btl/framework.h>
#include <errno.h>
#include <stdlib.h>

#define FLUSH_US 60000000u

int fault_status(int64_t error)
{
    switch (error) {
    case ENOMEM:
    case EAGAIN:
    case ENOBUFS:
        return OPAL_ERR_OUT_OF_RESOURCE;
    case EBUSY:
        return OPAL_ERR_RESOURCE_BUSY;
    case EINVAL:
        return OPAL_ERR_BAD_PARAM;
    default:
        return OPAL_ERR_UNREACH;
    }
}

/* Sends a copy, so that the descriptor is done with inside the call. */
static int send_copy(struct fault_layer *layer, struct mca_btl_base_endpoint_t *endpoint,
                     const mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                     mca_btl_base_tag_t tag)
{
    mca_btl_base_module_t *inner = layer->layer.inner;
    size_t total;
    int status = desc_total(descriptor, inner->btl_max_send_size, &total);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    mca_btl_base_descriptor_t *copy = inner->btl_alloc(inner, endpoint, descriptor->order, total,
                                                       MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (!copy) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    desc_gather(copy->des_segments[0].seg_addr.pval, descriptor->des_segments,
                descriptor->des_segment_count);
    status = btl_send_on(inner, endpoint, copy, channel, tag);
    if (status < 0) {
        inner->btl_free(inner, copy);
    }
    return status;
}

static int send_early(struct fault_layer *layer, struct mca_btl_base_endpoint_t *endpoint,
                      mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                      mca_btl_base_tag_t tag, bool twice)
{
    int status = send_copy(layer, endpoint, descriptor, channel, tag);
    if (status < 0) {
        return status;
    }
    if (twice && descriptor->des_cbfunc) {
        descriptor->des_cbfunc(btl_layer_outermost(&layer->layer.super), endpoint, descriptor,
                               OPAL_SUCCESS);
    }
    btl_complete(&layer->layer.super, endpoint, descriptor, OPAL_SUCCESS);
    return OPAL_SUCCESS;
}

static int send_held(struct fault_layer *layer, struct mca_btl_base_endpoint_t *endpoint,
                     mca_btl_base_descriptor_t *descriptor, uint8_t channel, mca_btl_base_tag_t tag,
                     int status, int64_t delay_ms)
{
    struct fault_op *op = calloc(1, sizeof(*op));
    if (!op) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    *op = (struct fault_op){.owner = layer,
                            .endpoint = endpoint,
                            .descriptor = descriptor,
                            .channel = channel,
                            .tag = tag,
                            .status = status};
    if (!fault_hold(layer, op, delay_ms)) {
        free(op);
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    return OPAL_SUCCESS;
}

static int fault_channel_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                              mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                              mca_btl_base_tag_t tag)
{
    struct fault_layer *layer = fault_layer_of(btl);
    mca_btl_base_module_t *inner = layer->layer.inner;
    if (layer->layer.held) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    struct fault fault = fault_ask("btl.any.send");
    if (fault.action == FAULT_ERROR) {
        return fault_status(fault.value);
    }
    if (fault.action == FAULT_DROP) {
        /* Who cannot be called back is told now. */
        return descriptor->des_cbfunc
                   ? send_held(layer, endpoint, descriptor, channel, tag, ORTE_ERR_COMM_FAILURE, 0)
                   : OPAL_ERR_UNREACH;
    }
    if (fault.action == FAULT_DELAY || fault_holds_send(layer, endpoint)) {
        return send_held(layer, endpoint, descriptor, channel, tag, OPAL_SUCCESS,
                         fault.action == FAULT_DELAY ? fault.value : 0);
    }
    if (fault.action == FAULT_EARLY || fault.action == FAULT_DUPLICATE) {
        return send_early(layer, endpoint, descriptor, channel, tag,
                          fault.action == FAULT_DUPLICATE);
    }
    return btl_send_on(inner, endpoint, descriptor, channel, tag);
}

static int fault_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                      mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    return fault_channel_send(btl, endpoint, descriptor, 0, tag);
}

static int fault_channel_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                               opal_convertor_t *convertor, void *header, size_t header_size,
                               size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                               mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
    struct fault_layer *layer = fault_layer_of(btl);
    mca_btl_base_module_t *inner = layer->layer.inner;
    if (descriptor) {
        *descriptor = NULL;
    }
    if (layer->layer.held) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    struct fault fault = fault_ask("btl.any.send");
    bool held = fault_holds_send(layer, endpoint);
    if (fault.action == FAULT_ERROR || fault.action == FAULT_DROP) {
        return fault.action == FAULT_ERROR ? fault_status(fault.value) : OPAL_ERR_UNREACH;
    }
    return held ? OPAL_ERR_OUT_OF_RESOURCE
                : btl_sendi_on(inner, endpoint, convertor, header, header_size, payload_size, order,
                               flags, channel, tag, descriptor);
}

static int fault_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       opal_convertor_t *convertor, void *header, size_t header_size,
                       size_t payload_size, uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
                       mca_btl_base_descriptor_t **descriptor)
{
    return fault_channel_sendi(btl, endpoint, convertor, header, header_size, payload_size, order,
                               flags, 0, tag, descriptor);
}

static mca_btl_base_descriptor_t *fault_alloc(mca_btl_base_module_t *btl,
                                              struct mca_btl_base_endpoint_t *endpoint,
                                              uint8_t order, size_t size, uint32_t flags)
{
    mca_btl_base_module_t *inner = fault_layer_of(btl)->layer.inner;
    return fault_at("btl.any.alloc").action == FAULT_ERROR
               ? NULL
               : inner->btl_alloc(inner, endpoint, order, size, flags);
}

static mca_btl_base_descriptor_t *fault_prepare(mca_btl_base_module_t *btl,
                                                struct mca_btl_base_endpoint_t *endpoint,
                                                opal_convertor_t *convertor, uint8_t order,
                                                size_t reserve, size_t *size, uint32_t flags)
{
    mca_btl_base_module_t *inner = fault_layer_of(btl)->layer.inner;
    return fault_at("btl.any.alloc").action == FAULT_ERROR
               ? NULL
               : inner->btl_prepare_src(inner, endpoint, convertor, order, reserve, size, flags);
}

static int fault_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    mca_btl_base_module_t *inner = fault_layer_of(btl)->layer.inner;
    return inner->btl_free(inner, descriptor);
}

static mca_btl_base_registration_handle_t *
fault_register_mem(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint, void *base,
                   size_t size, uint32_t flags)
{
    mca_btl_base_module_t *inner = fault_layer_of(btl)->layer.inner;
    return fault_at("btl.any.register").action == FAULT_ERROR
               ? NULL
               : inner->btl_register_mem(inner, endpoint, base, size, flags);
}

static int fault_deregister_mem(mca_btl_base_module_t *btl,
                                mca_btl_base_registration_handle_t *handle)
{
    mca_btl_base_module_t *inner = fault_layer_of(btl)->layer.inner;
    return inner->btl_deregister_mem(inner, handle);
}

static int fault_add_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           struct mca_btl_base_endpoint_t **endpoints, opal_bitmap_t *reachable)
{
    mca_btl_base_module_t *inner = fault_layer_of(btl)->layer.inner;
    return inner->btl_add_procs(inner, count, procs, endpoints, reachable);
}

static int fault_del_procs(mca_btl_base_module_t *btl, size_t count, opal_proc_t **procs,
                           struct mca_btl_base_endpoint_t **endpoints)
{
    struct fault_layer *layer = fault_layer_of(btl);
    for (size_t i = 0; i < count; i++) {
        if (endpoints[i] && btl_del_ends(layer->layer.inner, endpoints[i])) {
            fault_end(layer, endpoints[i]);
        }
    }
    return layer->layer.inner->btl_del_procs(layer->layer.inner, count, procs, endpoints);
}

static int fault_register(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                          mca_btl_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    mca_btl_base_module_t *inner = fault_layer_of(btl)->layer.inner;
    return inner->btl_register(inner, tag, cbfunc, cbdata);
}

static int fault_register_error(mca_btl_base_module_t *btl, mca_btl_base_module_error_cb_fn_t fn)
{
    mca_btl_base_module_t *inner = fault_layer_of(btl)->layer.inner;
    return inner->btl_register_error(inner, fn);
}

static void fault_dump(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                       int verbose)
{
    mca_btl_base_module_t *inner = fault_layer_of(btl)->layer.inner;
    inner->btl_dump(inner, endpoint, verbose);
}

static int fault_finalize(mca_btl_base_module_t *btl)
{
    struct fault_layer *layer = fault_layer_of(btl);
    fault_end(layer, NULL);
    int status = layer->layer.inner->btl_finalize(layer->layer.inner);
    btl_layer_remove(&layer->layer);
    free(layer);
    return status;
}

static void deliver(struct btl_layer *layer, struct mca_btl_base_endpoint_t *endpoint,
                    uint8_t channel, mca_btl_base_tag_t tag, mca_btl_base_segment_t *segments,
                    size_t count)
{
    btl_deliver_on(&layer->super, endpoint, channel, tag, segments, count);
}

/* ---- checkpoints ---- */

static bool is_quiet(const struct btl_layer *base)
{
    return ((const struct fault_layer *) base)->held_count == 0;
}

static void end_all(struct btl_layer *base)
{
    fault_end(fault_layer_of(&base->super), NULL);
}

/* ---- keel_btl_ext ---- */

/* What is held is not complete, and the module does not know of it. */
static int fault_flush(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint)
{
    struct fault_layer *layer = fault_layer_of(btl);
    uint64_t begin = clock_us();
    while (fault_holds_rdma(layer, endpoint)) {
        if (btl_progressing()) {
            return OPAL_ERR_RESOURCE_BUSY;
        }
        if (btl_progress() == 0 && clock_us() - begin > FLUSH_US) {
            return OPAL_ERR_TIMEOUT;
        }
    }
    return keel_btl_ext(layer->layer.inner)->flush(layer->layer.inner, endpoint);
}

static int fault_wait_arm(mca_btl_base_module_t *btl)
{
    struct fault_layer *layer = fault_layer_of(btl);
    int status = keel_btl_ext(layer->layer.inner)->wait_arm(layer->layer.inner);
    return status == OPAL_SUCCESS && layer->held_count > 0 ? OPAL_ERR_RESOURCE_BUSY : status;
}

static void make_ext(struct fault_layer *layer)
{
    const struct keel_btl_ext *theirs = keel_btl_ext(layer->layer.inner);
    if (theirs) {
        layer->ext = *theirs;
        layer->ext.flush = fault_flush;
        layer->ext.wait_arm = fault_wait_arm;
        layer->ext.channel_send = fault_channel_send;
        layer->ext.channel_sendi = fault_channel_sendi;
        layer->layer.ext = &layer->ext;
    }
}

static void make_table(mca_btl_base_module_t *table, const mca_btl_base_module_t *inner)
{
    *table = *inner;
    table->btl_add_procs = fault_add_procs;
    table->btl_del_procs = fault_del_procs;
    table->btl_register = fault_register;
    table->btl_finalize = fault_finalize;
    table->btl_alloc = fault_alloc;
    table->btl_free = fault_free;
    table->btl_prepare_src = fault_prepare;
    table->btl_send = fault_send;
    table->btl_sendi = fault_sendi;
    table->btl_dump = fault_dump;
    table->btl_register_mem = inner->btl_register_mem ? fault_register_mem : NULL;
    table->btl_deregister_mem = inner->btl_deregister_mem ? fault_deregister_mem : NULL;
    table->btl_register_error = fault_register_error;
    fault_ops_table(table);
}

int fault_layer_create(mca_btl_base_module_t *inner, struct btl_layer **layer)
{
    if (!fault_names("btl.any.")) {
        return ORTE_SUCCESS;
    }
    struct fault_layer *made = calloc(1, sizeof(*made));
    if (!made) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    made->layer = (struct btl_layer){.inner = inner,
                                     .deliver = deliver,
                                     .progress = fault_progress,
                                     .is_quiet = is_quiet,
                                     .end = end_all};
    list_init(&made->held);
    make_table(&made->layer.super, inner);
    make_ext(made);
    *layer = &made->layer;
    return ORTE_SUCCESS;
}
