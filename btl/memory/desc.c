#include <config.h>

#include <base/data/least.h>
#include <btl/memory/desc.h>
#include <string.h>

#define ALIGNMENT 64
/* Sends under way, beside the first of each descriptor. */
#define SENDS_MAX 4096

static size_t round_up(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
}

static void desc_construct(void *item, void *arg)
{
    struct desc *desc = item;
    struct desc_class *class = arg;
    memset(desc, 0, sizeof(*desc));
    desc->pool = &class->pool;
    desc->capacity = class->size.payload;
    desc->payload = class->size.slots
                        ? (unsigned char *) class->size.slots +
                              class->made * class->size.slot_size + class->headroom
                        : (unsigned char *) item + round_up(sizeof(*desc) + class->headroom);
    class->made++;
    list_init(&desc->send.link);
}

void desc_set_init(struct desc_set *set, const struct desc_size *sizes, size_t count,
                   size_t headroom)
{
    set->count = count;
    list_init(&set->done);
    for (size_t i = 0; i < count; i++) {
        struct desc_class *class = &set->classes[i];
        *class = (struct desc_class){.size = sizes[i], .headroom = headroom};
        size_t item = sizes[i].slots ? sizeof(struct desc)
                                     : round_up(sizeof(struct desc) + headroom) + sizes[i].payload;
        pool_init(&class->pool, round_up(item), ALIGNMENT, sizes[i].per_chunk, sizes[i].limit,
                  desc_construct, class);
    }
    pool_init(&set->sends, sizeof(struct desc_send), _Alignof(struct desc_send), 32, SENDS_MAX,
              NULL, NULL);
}

void desc_set_fini(struct desc_set *set)
{
    pool_fini(&set->sends);
    for (size_t i = 0; i < set->count; i++) {
        pool_fini(&set->classes[i].pool);
    }
    set->count = 0;
}

/* The smallest descriptor with room for size bytes; a larger one when the small ones are all out.
 */
static struct desc *take(struct desc_set *set, size_t size, uint8_t order, uint32_t flags)
{
    struct desc *desc = NULL;
    for (size_t i = 0; i < set->count && !desc; i++) {
        if (size <= set->classes[i].size.payload) {
            desc = pool_get(&set->classes[i].pool);
        }
    }
    if (!desc) {
        return NULL;
    }
    desc->base = (mca_btl_base_descriptor_t){
        .super = {.super = OPAL_OBJ_STATIC_INIT(mca_btl_base_descriptor_t), .pool = desc->pool},
        .des_segments = desc->segments,
        .des_segment_count = 1,
        .des_flags = flags,
        .order = order,
    };
    desc->segments[0].seg_addr.pval = desc->payload;
    desc->segments[0].seg_len = size;
    desc->freed = false;
    return desc;
}

enum btl_room desc_set_room(const struct desc_set *set)
{
    size_t with_room = 0;
    for (size_t i = 0; i < set->count; i++) {
        with_room += pool_has_room(&set->classes[i].pool);
    }
    return with_room == set->count ? BTL_ROOM : with_room > 0 ? BTL_ROOM_UNSEEN : BTL_ROOM_NONE;
}

mca_btl_base_descriptor_t *desc_alloc(struct desc_set *set, uint8_t order, size_t size,
                                      uint32_t flags)
{
    struct desc *desc = take(set, size, order, flags);
    return desc ? &desc->base : NULL;
}

mca_btl_base_descriptor_t *desc_prepare(struct desc_set *set, opal_convertor_t *convertor,
                                        uint8_t order, size_t reserve, size_t *size, uint32_t flags,
                                        bool in_place)
{
    size_t max = set->classes[set->count - 1].size.payload;
    if (reserve > max) {
        return NULL;
    }
    size_t left = opal_convertor_get_packed_size(convertor) - convertor->bytes_converted;
    size_t wanted = least(least(*size, left), max - reserve);
    in_place = in_place && wanted > 0 && !opal_convertor_need_buffers(convertor, wanted);
    struct desc *desc = take(set, in_place ? reserve : reserve + wanted, order, flags);
    if (!desc) {
        return NULL;
    }
    if (!in_place) {
        wanted = opal_convertor_pack_bytes(convertor, desc->payload + reserve, wanted);
        desc->segments[0].seg_len = reserve + wanted;
    } else {
        size_t together = wanted;
        mca_btl_base_segment_t *data = &desc->segments[reserve > 0];
        data->seg_addr.pval = opal_convertor_current(convertor, &together);
        data->seg_len = wanted;
        desc->base.des_segment_count = reserve > 0 ? 2 : 1;
        size_t position = convertor->bytes_converted + wanted;
        opal_convertor_set_position(convertor, &position);
    }
    *size = wanted;
    return &desc->base;
}

int desc_free(mca_btl_base_descriptor_t *descriptor)
{
    struct desc *desc = desc_of(descriptor);
    if (!desc) {
        return OPAL_SUCCESS;
    }
    if (desc->freed) {
        return OPAL_ERR_BAD_PARAM;
    }
    desc->freed = true;
    if (desc->holds == 0) {
        pool_put(desc->pool, desc);
    }
    return OPAL_SUCCESS;
}

int desc_btl_free(mca_btl_base_module_t *module, mca_btl_base_descriptor_t *descriptor)
{
    (void) module;
    return desc_free(descriptor);
}

void desc_release(struct desc *desc)
{
    if (--desc->holds == 0 && desc->freed) {
        pool_put(desc->pool, desc);
    }
}

void desc_complete(mca_btl_base_module_t *module, struct mca_btl_base_endpoint_t *endpoint,
                   struct desc *desc, int status)
{
    /* The callback may free a descriptor that is its own. One that is the module's, perhaps by a
     * later send, stays until the last send is over. */
    bool owned = desc->freed || (desc->base.des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    bool last = --desc->holds == 0;
    desc->freed = owned;
    if (desc->base.des_cbfunc) {
        btl_callbacks++;
        desc->base.des_cbfunc(module, endpoint, &desc->base, status);
        btl_callbacks--;
    }
    if (owned && last) {
        pool_put(desc->pool, desc);
    }
}

struct desc_send *desc_send_begin(struct desc_set *set, struct desc *desc,
                                  struct mca_btl_base_endpoint_t *endpoint)
{
    struct desc_send *send = desc->send.desc ? pool_get(&set->sends) : &desc->send;
    if (send) {
        *send = (struct desc_send){.desc = desc, .endpoint = endpoint};
        list_init(&send->link);
        desc_hold(desc);
    }
    return send;
}

/* The record is free. */
static struct desc *send_end(struct desc_set *set, struct desc_send *send)
{
    struct desc *desc = send->desc;
    send->desc = NULL;
    if (send != &desc->send) {
        pool_put(&set->sends, send);
    }
    return desc;
}

void desc_send_release(struct desc_set *set, struct desc_send *send)
{
    desc_release(send_end(set, send));
}

void desc_send_complete(mca_btl_base_module_t *module, struct desc_set *set, struct desc_send *send,
                        int status)
{
    struct mca_btl_base_endpoint_t *endpoint = send->endpoint;
    desc_complete(module, endpoint, send_end(set, send), status);
}

int desc_later_end(mca_btl_base_module_t *module, struct desc_set *set,
                   struct mca_btl_base_endpoint_t *endpoint, struct desc *desc,
                   struct desc_send *later, int status)
{
    if (!later) {
        return status == OPAL_SUCCESS ? btl_sent(module, endpoint, &desc->base) : status;
    }
    if (status == OPAL_SUCCESS) {
        list_append(&set->done, &later->link);
    } else {
        desc_send_release(set, later);
    }
    return status;
}

int desc_set_finish(mca_btl_base_module_t *module, struct desc_set *set,
                    const struct mca_btl_base_endpoint_t *endpoint)
{
    struct list due;
    struct desc_send *send;
    int events = 0;
    list_init(&due);
    list_for_each (send, &set->done, struct desc_send, link) {
        if (!endpoint || send->endpoint == endpoint) {
            list_remove(&send->link);
            list_append(&due, &send->link);
        }
    }
    for (struct list *link; (link = list_pop(&due)); events++) {
        desc_send_complete(module, set, container_of(link, struct desc_send, link), OPAL_SUCCESS);
    }
    return events;
}

int desc_total(const mca_btl_base_descriptor_t *descriptor, size_t max, size_t *total)
{
    if (!descriptor || descriptor->des_segment_count > MCA_BTL_DES_MAX_SEGMENTS) {
        return OPAL_ERR_BAD_PARAM;
    }
    size_t sum = 0;
    for (size_t i = 0; i < descriptor->des_segment_count; i++) {
        if (descriptor->des_segments[i].seg_len > max - sum) {
            return OPAL_ERR_BAD_PARAM;
        }
        sum += descriptor->des_segments[i].seg_len;
    }
    *total = sum;
    return OPAL_SUCCESS;
}

size_t desc_gather(void *to, const mca_btl_base_segment_t *segments, size_t count)
{
    unsigned char *at = to;
    for (size_t i = 0; i < count; i++) {
        if (segments[i].seg_len > 0) {
            memcpy(at, segments[i].seg_addr.pval, segments[i].seg_len);
            at += segments[i].seg_len;
        }
    }
    return (size_t) (at - (unsigned char *) to);
}

const opal_class_t mca_btl_base_descriptor_t_class = {
    .cls_name = "mca_btl_base_descriptor_t",
    .cls_parent = OBJ_CLASS(opal_object_t),
    .cls_sizeof = sizeof(mca_btl_base_descriptor_t),
};
