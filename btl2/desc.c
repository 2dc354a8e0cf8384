/* Descriptors: around one of the 3.0 module's, or around memory that is only put and got. */
#include <config.h>

#include <base/data/least.h>
#include <btl/lock/lock.h>
#include <btl2/adapter.h>
#include <string.h>

const opal_class_t mca_btl2_base_descriptor_t_class = {
    .cls_name = "mca_btl_base_descriptor_t",
    .cls_parent = OBJ_CLASS(opal_object_t),
    .cls_sizeof = sizeof(mca_btl2_base_descriptor_t),
};

/* ---- their life ---- */

static struct btl2_desc *desc_get(struct btl2_module *module, uint8_t order, uint32_t flags)
{
    struct btl2_desc *desc = pool_get(&module->descs);

    if (!desc) {
        return NULL;
    }
    desc->super = (mca_btl2_base_descriptor_t){
        .super = {.super = OPAL_OBJ_STATIC_INIT(mca_btl2_base_descriptor_t),
                  .pool = &module->descs},
        .des_flags = flags,
        .order = order,
    };
    desc->module = module;
    desc->regions[0] = desc->regions[1] = NULL;
    desc->inner = NULL;
    desc->holds = desc->accesses = 0;
    desc->freed = false;
    return desc;
}

static void desc_put(struct btl2_desc *desc)
{
    mca_btl_base_module_t *btl = desc->module->btl;

    for (size_t i = 0; i < BTL2_MINE; i++) {
        btl2_region_release(desc->regions[i]);
    }
    if (desc->inner) {
        (void) btl->btl_free(btl, desc->inner);
    }
    pool_put(&desc->module->descs, desc);
}

int btl2_free(mca_btl2_base_module_t *btl, mca_btl2_base_descriptor_t *descriptor)
{
    struct btl2_desc *desc = btl2_desc_of(descriptor);
    int status = OPAL_SUCCESS;

    if (!desc) {
        return status;
    }
    btl_lock();
    if (desc->freed || desc->module != btl2_of(btl)) {
        status = OPAL_ERR_BAD_PARAM;
    } else {
        desc->freed = true;
        if (desc->holds == 0) {
            desc_put(desc);
        }
    }
    btl_unlock();
    return status;
}

void btl2_complete(struct btl2_desc *desc, struct mca_btl_base_endpoint_t *endpoint, int status)
{
    /* The callback may free a descriptor that is its own. One that is the module's, perhaps by a
     * later operation, stays until the last is over. */
    bool owned = desc->freed || (desc->super.des_flags & MCA_BTL2_DES_FLAGS_BTL_OWNERSHIP);
    bool last = --desc->holds == 0;

    desc->freed = owned;
    if (desc->super.des_cbfunc) {
        desc->super.des_cbfunc(&desc->module->super, btl2_outer(endpoint), &desc->super, status);
    }
    if (owned && last) {
        desc_put(desc);
    }
}

/* ---- for sending ---- */

/* des_src is what inner has. */
struct btl2_desc *btl2_wrap(struct btl2_module *module, mca_btl_base_descriptor_t *inner,
                            uint32_t flags)
{
    struct btl2_desc *desc = desc_get(module, inner->order, flags);

    if (!desc) {
        return NULL;
    }
    desc->inner = inner;
    for (size_t i = 0; i < inner->des_segment_count && i < BTL2_MINE; i++) {
        desc->mine[i] = (mca_btl2_base_segment_t){
            .seg_addr = inner->des_segments[i].seg_addr,
            .seg_len = (uint32_t) inner->des_segments[i].seg_len,
        };
    }
    desc->super.des_src = desc->mine;
    desc->super.des_src_cnt = least(inner->des_segment_count, BTL2_MINE);
    return desc;
}

mca_btl_base_descriptor_t *btl2_desc_inner(struct btl2_desc *desc,
                                           struct mca_btl_base_endpoint_t *endpoint)
{
    mca_btl_base_module_t *btl = desc->module->btl;

    if (!desc->inner) {
        desc->inner = btl->btl_alloc(btl, endpoint, desc->super.order, 0, 0);
    }
    return desc->inner;
}

mca_btl2_base_descriptor_t *btl2_alloc(mca_btl2_base_module_t *btl,
                                       struct mca_btl2_base_endpoint_t *endpoint, uint8_t order,
                                       size_t size, uint32_t flags)
{
    struct btl2_module *module = btl2_of(btl);

    btl_lock();
    mca_btl_base_descriptor_t *inner =
        module->btl->btl_alloc(module->btl, btl2_inner(endpoint), order, size, 0);
    struct btl2_desc *desc = inner ? btl2_wrap(module, inner, flags) : NULL;
    if (inner && !desc) {
        (void) module->btl->btl_free(module->btl, inner);
    }
    btl_unlock();
    return desc ? &desc->super : NULL;
}

/* ---- preparing ---- */

/* The arguments of prepare, and what comes of them. */
struct wish {
    struct btl2_module *module;
    struct mca_btl_base_endpoint_t *endpoint;
    struct btl2_region *registration; /* NULL: the adapter makes its own */
    opal_convertor_t *convertor;
    size_t reserve, size; /* size: then what was taken */
    uint32_t flags, rights;
    uint8_t order;
};

/* Registers what desc has in mine, or takes the caller's registration for the data, the last one.
 */
static bool give_keys(struct btl2_desc *desc, const struct wish *wish, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mca_btl2_base_segment_t *segment = &desc->mine[i];
        struct btl2_region *given = i == count - 1 ? wish->registration : NULL;

        if (segment->seg_len == 0) {
            continue;
        }
        if (given && (given->super.mpool != &wish->module->mpool ||
                      !btl2_region_covers(given, segment->seg_addr.pval, segment->seg_len))) {
            return false;
        }
        if (given) {
            btl2_region_hold(given);
        } else {
            given = btl2_region_open(wish->module, segment->seg_addr.pval, segment->seg_len,
                                     wish->rights);
        }
        if (!given) {
            return false;
        }
        desc->regions[i] = given;
        memcpy(segment->seg_key.key64, given->key, sizeof(given->key));
    }
    return true;
}

/* Data that stays where it is, as far as it lies together, behind a header in a payload of the 3.0
 * module's. The convertor does not move yet. */
static struct btl2_desc *prepare_in_place(struct wish *wish)
{
    mca_btl_base_module_t *btl = wish->module->btl;
    mca_btl_base_descriptor_t *inner = NULL;
    struct btl2_desc *desc;
    bool header = wish->reserve > 0;

    if (header) {
        inner = btl->btl_alloc(btl, wish->endpoint, wish->order, wish->reserve, 0);
        desc = inner ? btl2_wrap(wish->module, inner, wish->flags) : NULL;
    } else {
        desc = desc_get(wish->module, wish->order, wish->flags);
    }
    if (!desc) {
        if (inner) {
            (void) btl->btl_free(btl, inner);
        }
        return NULL;
    }
    mca_btl2_base_segment_t *data = &desc->mine[header];
    *data = (mca_btl2_base_segment_t){.seg_len = 0};
    data->seg_addr.pval = opal_convertor_current(wish->convertor, &wish->size);
    data->seg_len = (uint32_t) wish->size;
    desc->super.des_src = desc->mine;
    desc->super.des_src_cnt = header + 1u;
    return desc;
}

/* As the 3.0 module prepares what it sends: packed where it does not lie together. */
static struct btl2_desc *prepare_to_send(struct wish *wish)
{
    mca_btl_base_module_t *btl = wish->module->btl;
    mca_btl_base_descriptor_t *inner = btl->btl_prepare_src(
        btl, wish->endpoint, wish->convertor, wish->order, wish->reserve, &wish->size, 0);
    struct btl2_desc *desc = inner ? btl2_wrap(wish->module, inner, wish->flags) : NULL;

    if (inner && !desc) {
        (void) btl->btl_free(btl, inner);
    }
    return desc;
}

static struct wish wish_of(mca_btl2_base_module_t *btl, struct mca_btl2_base_endpoint_t *endpoint,
                           mca_mpool_base_registration_t *registration, opal_convertor_t *convertor,
                           size_t size)
{
    size_t left = opal_convertor_get_packed_size(convertor) - convertor->bytes_converted;

    return (struct wish){
        .module = btl2_of(btl),
        .endpoint = btl2_inner(endpoint),
        .registration = (struct btl2_region *) (void *) registration,
        .convertor = convertor,
        .size = least(least(size, left), UINT32_MAX),
    };
}

/* Undoes what was prepared where the keys cannot be had. */
static mca_btl2_base_descriptor_t *finish(struct btl2_desc *desc, const struct wish *wish,
                                          bool keyed, size_t begin, size_t *size)
{
    size_t end = begin + wish->size;

    if (desc && keyed && !give_keys(desc, wish, desc->super.des_src_cnt)) {
        desc_put(desc);
        desc = NULL;
        end = begin;
    }
    if (!desc) {
        opal_convertor_set_position(wish->convertor, &begin);
        return NULL;
    }
    opal_convertor_set_position(wish->convertor, &end);
    *size = wish->size;
    return &desc->super;
}

mca_btl2_base_descriptor_t *btl2_prepare_src(mca_btl2_base_module_t *btl,
                                             struct mca_btl2_base_endpoint_t *endpoint,
                                             mca_mpool_base_registration_t *registration,
                                             opal_convertor_t *convertor, uint8_t order,
                                             size_t reserve, size_t *size, uint32_t flags)
{
    struct wish wish = wish_of(btl, endpoint, registration, convertor, *size);
    const uint32_t access = MCA_BTL2_DES_FLAGS_PUT | MCA_BTL2_DES_FLAGS_GET;
    bool accessed = registration || (flags & access);
    bool together = !opal_convertor_need_buffers(convertor, wish.size);
    size_t begin = convertor->bytes_converted;

    wish.reserve = reserve;
    wish.order = order;
    wish.flags = flags;
    wish.rights = MCA_BTL_REG_FLAG_REMOTE_READ;
    btl_lock();
    bool in_place = together && (reserve == 0 || accessed);
    wish.registration =
        in_place ? wish.registration : NULL; /* it is of the memory, not of a copy */
    struct btl2_desc *desc = in_place ? prepare_in_place(&wish) : prepare_to_send(&wish);
    mca_btl2_base_descriptor_t *made = finish(desc, &wish, accessed || in_place, begin, size);
    btl_unlock();
    return made;
}

mca_btl2_base_descriptor_t *btl2_prepare_dst(mca_btl2_base_module_t *btl,
                                             struct mca_btl2_base_endpoint_t *endpoint,
                                             mca_mpool_base_registration_t *registration,
                                             opal_convertor_t *convertor, uint8_t order,
                                             size_t reserve, size_t *size, uint32_t flags)
{
    struct wish wish = wish_of(btl, endpoint, registration, convertor, *size);

    wish.reserve = reserve;
    wish.order = order;
    wish.flags = flags;
    wish.rights = MCA_BTL_REG_FLAG_REMOTE_WRITE | MCA_BTL_REG_FLAG_LOCAL_WRITE;
    btl_lock();
    mca_btl2_base_descriptor_t *made =
        finish(prepare_in_place(&wish), &wish, true, convertor->bytes_converted, size);
    if (made) {
        made->des_dst = made->des_src;
        made->des_dst_cnt = made->des_src_cnt;
        made->des_src = NULL;
        made->des_src_cnt = 0;
    }
    btl_unlock();
    return made;
}
