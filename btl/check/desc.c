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
        (void) check_give_back(call, BTL_FREE, inner);
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
    if (total > call->check->module->btl_max_send_size) {
        check_report(call, CHECK_MODULE, "gives %zu bytes; btl_max_send_size is %zu", total,
                     call->check->module->btl_max_send_size);
    }
    if (made->des_flags != flags || made->des_cbfunc) {
        check_report(call, CHECK_MODULE, "gives a descriptor with flags 0x%x for 0x%x%s",
                     made->des_flags, flags, made->des_cbfunc ? " and a callback" : "");
    }
}

void check_alloc(struct check_call *at, struct btl_call *call)
{
    check_pass(at, call);
    mca_btl_base_descriptor_t *made = call->made;
    if (!made) {
        return;
    }
    check_desc_look(at, made, call->make.size, call->make.flags);
    if (made->des_segment_count != 1) {
        check_report(at, CHECK_MODULE, "gives %zu segments, not one", made->des_segment_count);
    }
    call->made = check_desc_create(at, made);
}

void check_prepare_src(struct check_call *at, struct btl_call *call)
{
    opal_convertor_t *convertor = call->make.convertor;
    if (!convertor || !call->make.taken) {
        check_report(at, CHECK_CALLER, "the %s is NULL", convertor ? "size" : "convertor");
        return;
    }
    size_t start = convertor->bytes_converted, asked = *call->make.taken;
    check_pass(at, call);
    mca_btl_base_descriptor_t *made = call->made;
    size_t moved = convertor->bytes_converted - start, taken = *call->make.taken;
    if (!made && moved != 0) {
        check_report(at, CHECK_MODULE, "failed, and moved the convertor by %zu bytes", moved);
    }
    if (!made) {
        return;
    }
    if (moved != taken || taken > asked) {
        check_report(at, CHECK_MODULE, "took %zu of %zu bytes and moved by %zu", taken, asked,
                     moved);
    }
    if (!(at->check->module->btl_flags & MCA_BTL_FLAGS_SEND_INPLACE) &&
        made->des_segment_count > 1) {
        check_report(at, CHECK_MODULE, "leaves data in place without SEND_INPLACE");
    }
    check_desc_look(at, made, call->make.reserve + taken, call->make.flags);
    call->made = check_desc_create(at, made);
}

/* Whether the caller may give it back. */
static bool may_free(struct check_call *at, const struct check_desc *desc, const void *descriptor)
{
    if (!desc) {
        check_report(at, CHECK_CALLER, "%p is no descriptor of this module", descriptor);
    } else if (desc->state == DESC_FREED) {
        check_report(at, CHECK_CALLER, "the descriptor was freed before");
    } else if (desc->state == DESC_MODULES) {
        check_report(at, CHECK_CALLER, "the descriptor was sent with BTL_OWNERSHIP");
    } else if (desc->pending > 0) {
        at->endpoint = desc->to;
        check_report(at, CHECK_CALLER, "the descriptor is in flight: %u callbacks are to come",
                     desc->pending);
    } else {
        return true;
    }
    return false;
}

void check_free(struct check_call *at, struct btl_call *call)
{
    struct check_desc *desc = btl_map_get(&at->check->descs, call->send.descriptor);
    if (!call->send.descriptor) {
        call->status = OPAL_SUCCESS;
    } else if (may_free(at, desc, call->send.descriptor)) {
        mca_btl_base_descriptor_t *inner = desc->inner;
        check_desc_end(at->check, desc);
        call->status = check_give_back(at, BTL_FREE, inner);
        if (call->status != OPAL_SUCCESS) {
            check_report(at, CHECK_MODULE, "returned %d", call->status);
        }
    }
}
