/* Descriptors as callers see them: each stands for one of the module's, with a copy of its
 * segments, and stays known for a while after it was freed. */
#include <config.h>

#include <btl/check/check.h>
#include <stdlib.h>
#include <string.h>

static struct check_desc *desc_create(struct check *check, mca_btl_base_descriptor_t *inner)
{
    struct check_desc *made = calloc(1, sizeof(*made));
    if (!made || btl_map_put(&check->descs, made, made) != ORTE_SUCCESS) {
        free(made);
        return NULL;
    }
    if (btl_map_put(&check->inner_descs, inner, made) != ORTE_SUCCESS) {
        btl_map_remove(&check->descs, made);
        free(made);
        return NULL;
    }
    made->inner = inner;
    made->inner_segments = inner->des_segments;
    made->base = *inner;
    made->base.des_segments = made->segments;
    made->given_count = inner->des_segment_count;
    memcpy(made->given, inner->des_segments, made->given_count * sizeof(*made->given));
    memcpy(made->segments, made->given, sizeof(made->given));
    return made;
}

struct check_desc *check_desc_create(const struct check_call *call,
                                     mca_btl_base_descriptor_t *inner)
{
    struct check *check = call->check;
    if (btl_map_get(&check->inner_descs, inner)) {
        check_report(call, CHECK_MODULE, "hands out a descriptor that is in use");
        return NULL;
    }
    struct check_desc *made = NULL;
    if (inner->des_segment_count == 0 || inner->des_segment_count > MCA_BTL_DES_MAX_SEGMENTS) {
        check_report(call, CHECK_MODULE, "made a descriptor of %zu segments",
                     inner->des_segment_count);
    } else {
        made = desc_create(check, inner);
    }
    if (!made) {
        check->layer.inner->btl_free(check->layer.inner, inner);
    }
    return made;
}

void check_desc_end(struct check *check, struct check_desc *desc)
{
    btl_map_remove(&check->inner_descs, desc->inner);
    desc->state = DESC_FREED;
    desc->inner = NULL;
    check_end(&check->dead_descs, &check->descs, desc);
}

/* What alloc and prepare_src do before their work: the module's endpoint. NULL may be given. */
static bool begin(struct check_call *call, struct mca_btl_base_endpoint_t *endpoint,
                  struct mca_btl_base_endpoint_t **inner)
{
    *inner = NULL;
    if (!check_enter(call)) {
        return false;
    }
    if (endpoint) {
        if (!check_endpoint_ok(call, endpoint)) {
            check_leave();
            return false;
        }
        *inner = call->endpoint->inner;
    }
    return true;
}

void check_desc_look(const struct check_call *call, const mca_btl_base_descriptor_t *made,
                     size_t size, uint32_t flags)
{
    size_t total = 0;
    for (size_t i = 0; i < made->des_segment_count; i++) {
        total += made->des_segments[i].seg_len;
    }
    if (total != size) {
        check_report(call, CHECK_MODULE, "gives %zu bytes for %zu", total, size);
    }
    if (total > call->check->layer.inner->btl_max_send_size) {
        check_report(call, CHECK_MODULE, "gives %zu bytes; btl_max_send_size is %zu", total,
                     call->check->layer.inner->btl_max_send_size);
    }
    if (made->des_flags != flags || made->des_cbfunc) {
        check_report(call, CHECK_MODULE, "gives a descriptor with flags 0x%x for 0x%x%s",
                     made->des_flags, flags, made->des_cbfunc ? " and a callback" : "");
    }
}

mca_btl_base_descriptor_t *check_alloc(mca_btl_base_module_t *btl,
                                       struct mca_btl_base_endpoint_t *endpoint, uint8_t order,
                                       size_t size, uint32_t flags)
{
    struct check_call call = {check_of(btl), "alloc", __builtin_return_address(0), NULL};
    struct mca_btl_base_endpoint_t *theirs;
    if (!begin(&call, endpoint, &theirs)) {
        return NULL;
    }
    mca_btl_base_module_t *inner = call.check->layer.inner;
    mca_btl_base_descriptor_t *made = inner->btl_alloc(inner, theirs, order, size, flags);
    struct check_desc *desc = NULL;
    if (made) {
        check_desc_look(&call, made, size, flags);
        if (made->des_segment_count != 1) {
            check_report(&call, CHECK_MODULE, "gives %zu segments, not one",
                         made->des_segment_count);
        }
        desc = check_desc_create(&call, made);
    }
    check_leave();
    return desc ? &desc->base : NULL;
}

mca_btl_base_descriptor_t *check_prepare_src(mca_btl_base_module_t *btl,
                                             struct mca_btl_base_endpoint_t *endpoint,
                                             opal_convertor_t *convertor, uint8_t order,
                                             size_t reserve, size_t *size, uint32_t flags)
{
    struct check_call call = {check_of(btl), "prepare_src", __builtin_return_address(0), NULL};
    struct mca_btl_base_endpoint_t *theirs;
    if (!begin(&call, endpoint, &theirs)) {
        return NULL;
    }
    if (!convertor || !size) {
        check_report(&call, CHECK_CALLER, "the %s is NULL", convertor ? "size" : "convertor");
        check_leave();
        return NULL;
    }
    mca_btl_base_module_t *inner = call.check->layer.inner;
    size_t start = convertor->bytes_converted, asked = *size;
    mca_btl_base_descriptor_t *made =
        inner->btl_prepare_src(inner, theirs, convertor, order, reserve, size, flags);
    size_t moved = convertor->bytes_converted - start;
    struct check_desc *desc = NULL;
    if (!made && moved != 0) {
        check_report(&call, CHECK_MODULE, "failed, and moved the convertor by %zu bytes", moved);
    }
    if (made) {
        if (moved != *size || *size > asked) {
            check_report(&call, CHECK_MODULE, "took %zu of %zu bytes and moved by %zu", *size,
                         asked, moved);
        }
        if (!(inner->btl_flags & MCA_BTL_FLAGS_SEND_INPLACE) && made->des_segment_count > 1) {
            check_report(&call, CHECK_MODULE, "leaves data in place without SEND_INPLACE");
        }
        check_desc_look(&call, made, reserve + *size, flags);
        desc = check_desc_create(&call, made);
    }
    check_leave();
    return desc ? &desc->base : NULL;
}

int check_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    struct check *check = check_of(btl);
    struct check_call call = {check, "free", __builtin_return_address(0), NULL};
    if (!check_enter(&call)) {
        return OPAL_ERR_BAD_PARAM;
    }
    struct check_desc *desc = btl_map_get(&check->descs, descriptor);
    int status = OPAL_ERR_BAD_PARAM;
    if (!descriptor) {
        status = OPAL_SUCCESS;
    } else if (!desc) {
        check_report(&call, CHECK_CALLER, "%p is no descriptor of this module",
                     (void *) descriptor);
    } else if (desc->state == DESC_FREED) {
        check_report(&call, CHECK_CALLER, "the descriptor was freed before");
    } else if (desc->state == DESC_MODULES) {
        check_report(&call, CHECK_CALLER, "the descriptor was sent with BTL_OWNERSHIP");
    } else if (desc->pending > 0) {
        call.endpoint = desc->to;
        check_report(&call, CHECK_CALLER, "the descriptor is in flight: %u callbacks are to come",
                     desc->pending);
    } else {
        mca_btl_base_descriptor_t *inner = desc->inner;
        check_desc_end(check, desc);
        status = check->layer.inner->btl_free(check->layer.inner, inner);
        if (status != OPAL_SUCCESS) {
            check_report(&call, CHECK_MODULE, "returned %d", status);
        }
    }
    check_leave();
    return status;
}
