/* Active messages: both ways the segments change their type, and the bytes stay where they are. */
#include <config.h>

#include <btl/lock/lock.h>
#include <btl2/adapter.h>

/* ---- receiving ---- */

mca_btl2_active_message_callback_t mca_btl2_base_active_message_trigger[MCA_BTL2_TAG_MAX + 1];

/* The 3.0 callback of every tag that has a 2.0 one. */
static void received(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                     mca_btl_base_descriptor_t *descriptor, void *unused)
{
    (void) unused;
    const mca_btl2_active_message_callback_t *trigger = &mca_btl2_base_active_message_trigger[tag];
    struct btl2_module *module = btl2_module_of(btl);
    mca_btl2_base_segment_t segments[MCA_BTL2_DES_MAX_SEGMENTS];
    size_t count = descriptor->des_segment_count;

    if (!trigger->cbfunc || !module || count > MCA_BTL2_DES_MAX_SEGMENTS) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        segments[i] = (mca_btl2_base_segment_t){
            .seg_addr = descriptor->des_segments[i].seg_addr,
            .seg_len = (uint32_t) descriptor->des_segments[i].seg_len,
        };
    }
    mca_btl2_base_descriptor_t arrived = {
        .des_dst = segments,
        .des_dst_cnt = count,
        .des_context = descriptor->des_context,
        .order = MCA_BTL2_NO_ORDER,
    };
    trigger->cbfunc(&module->super, tag, &arrived, trigger->cbdata);
}

int btl2_register(mca_btl2_base_module_t *btl, mca_btl2_base_tag_t tag,
                  mca_btl2_base_module_recv_cb_fn_t cbfunc, void *cbdata)
{
    mca_btl_base_module_t *inner = btl2_of(btl)->btl;
    int status = OPAL_SUCCESS;

    btl_lock();
    if (cbfunc) {
        status = inner->btl_register(inner, tag, received, NULL);
    } else if (mca_btl_base_active_message_trigger[tag].cbfunc == received) {
        status = inner->btl_register(inner, tag, NULL, NULL); /* a tag of 3.0's stays */
    }
    if (status == OPAL_SUCCESS) {
        mca_btl2_base_active_message_trigger[tag] =
            (mca_btl2_active_message_callback_t){.cbfunc = cbfunc, .cbdata = cbdata};
    }
    btl_unlock();
    return status;
}

/* ---- sending ---- */

static void sent(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *inner, int status)
{
    (void) btl;
    btl2_complete(inner->des_cbdata, endpoint, status);
}

/* What inner sends is what the caller has made of des_src. */
static void take_segments(struct btl2_desc *desc, mca_btl_base_descriptor_t *inner)
{
    const mca_btl2_base_descriptor_t *super = &desc->super;

    for (size_t i = 0; i < super->des_src_cnt; i++) {
        desc->segments[i] =
            (mca_btl_base_segment_t){super->des_src[i].seg_addr, super->des_src[i].seg_len};
    }
    inner->des_segments = desc->segments;
    inner->des_segment_count = super->des_src_cnt;
    inner->des_cbfunc = sent;
    inner->des_cbdata = desc;
    inner->des_flags =
        (super->des_flags & MCA_BTL_DES_FLAGS_PRIORITY) | MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
}

static int start(struct btl2_desc *desc, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl2_base_tag_t tag)
{
    mca_btl_base_module_t *btl = desc->module->btl;
    mca_btl_base_descriptor_t *inner = btl2_desc_inner(desc, endpoint);

    if (!inner) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    take_segments(desc, inner);
    desc->holds++; /* the callback may come before the call returns, and end it */
    int status = btl->btl_send(btl, endpoint, inner, tag);
    if (status < 0) {
        desc->holds--;
        return status;
    }
    return OPAL_SUCCESS;
}

int btl2_send(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
              mca_btl2_base_descriptor_t *descriptor, mca_btl2_base_tag_t tag)
{
    if (!descriptor || btl2_desc_of(descriptor)->module != btl2_of(btl) ||
        descriptor->des_src_cnt > MCA_BTL2_DES_MAX_SEGMENTS) {
        return OPAL_ERR_BAD_PARAM;
    }
    btl_lock();
    int status = start(btl2_desc_of(descriptor), btl2_inner(endpoint), tag);
    btl_unlock();
    return status;
}

/* A descriptor of the whole size, which 3.0 left to its caller. */
static mca_btl2_base_descriptor_t *returned(struct btl2_module *module,
                                            mca_btl_base_descriptor_t *inner, uint32_t flags)
{
    btl_lock();
    struct btl2_desc *desc = btl2_wrap(module, inner, flags);
    if (!desc) {
        (void) module->btl->btl_free(module->btl, inner);
    }
    btl_unlock();
    return desc ? &desc->super : NULL;
}

int btl2_sendi(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
               opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
               uint8_t order, uint32_t flags, mca_btl2_base_tag_t tag,
               mca_btl2_base_descriptor_t **descriptor)
{
    mca_btl_base_module_t *inner = btl2_of(btl)->btl;
    mca_btl_base_descriptor_t *left = NULL;
    int status = inner->btl_sendi(inner, btl2_inner(endpoint), convertor, header, header_size,
                                  payload_size, order, flags, tag, descriptor ? &left : NULL);

    if (descriptor) {
        *descriptor = left ? returned(btl2_of(btl), left, flags) : NULL;
    }
    return status;
}
