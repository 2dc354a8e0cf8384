/* The Keel half: a job of one, its buffers, a message to itself, a rail to itself. */
#include "coexist.h"

#include <keel/keel.h>

#include <stdlib.h>
#include <string.h>

enum { MESSAGE_TAG = 123, RAIL_TAG = MCA_BTL_TAG_USR, PROGRESS_MAX = 1000000 };

static orte_process_name_t me;

const char *keel_half_begin(void)
{
    if (keel_init(NULL) != ORTE_SUCCESS) {
        return "keel_init";
    }
    me = *keel_my_name();
    return keel_job_size() == 1 ? NULL : "not alone";
}

static const char *use_buffers(void)
{
    const char *text = "a text";
    const uint64_t numbers[] = {1, UINT64_MAX};
    uint64_t read[2] = {0};
    int32_t count = 2, one = 1;
    char *copy = NULL;
    opal_buffer_t *buffer = OBJ_NEW(opal_buffer_t);
    if (opal_dss.pack(buffer, numbers, 2, OPAL_UINT64) != OPAL_SUCCESS ||
        opal_dss.pack(buffer, &text, 1, OPAL_STRING) != OPAL_SUCCESS ||
        opal_dss.unpack(buffer, read, &count, OPAL_UINT64) != OPAL_SUCCESS ||
        opal_dss.unpack(buffer, &copy, &one, OPAL_STRING) != OPAL_SUCCESS) {
        return "opal_dss";
    }
    int same = memcmp(read, numbers, sizeof(read)) == 0 && strcmp(copy, text) == 0;
    free(copy);
    OBJ_RELEASE(buffer);
    return same ? NULL : "what came out of a buffer";
}

static const char *use_messages(void)
{
    int32_t sent = 4711, received = 0, one = 1;
    opal_buffer_t *out = OBJ_NEW(opal_buffer_t), *in = OBJ_NEW(opal_buffer_t);
    if (opal_dss.pack(out, &sent, 1, OPAL_INT32) != OPAL_SUCCESS ||
        orte_rml.send_buffer(&me, out, MESSAGE_TAG, 0) < 0 ||
        orte_rml.recv_buffer(&me, in, MESSAGE_TAG, 0) < 0 ||
        opal_dss.unpack(in, &received, &one, OPAL_INT32) != OPAL_SUCCESS) {
        return "orte_rml";
    }
    OBJ_RELEASE(out);
    OBJ_RELEASE(in);
    return received == sent ? NULL : "what came in a message";
}

static void arrived(mca_btl_base_module_t *btl, mca_btl_base_tag_t tag,
                    mca_btl_base_descriptor_t *descriptor, void *cbdata)
{
    (void) btl;
    (void) tag;
    *(int *) cbdata = memcmp(descriptor->des_segments->seg_addr.pval, "hello", 6) == 0;
}

static const char *use_rails(void)
{
    size_t count = 0;
    const struct keel_rail *rail = keel_rails(&me, &count);
    int came = 0;
    if (count == 0) {
        return "no rail to itself";
    }
    mca_btl_base_module_t *btl = rail->btl;
    if (btl->btl_register(btl, RAIL_TAG, arrived, &came) != OPAL_SUCCESS) {
        return "btl_register";
    }
    mca_btl_base_descriptor_t *descriptor =
        btl->btl_alloc(btl, rail->endpoint, MCA_BTL_NO_ORDER, 6, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    if (!descriptor) {
        return "btl_alloc";
    }
    memcpy(descriptor->des_segments->seg_addr.pval, "hello", 6);
    if (btl->btl_send(btl, rail->endpoint, descriptor, RAIL_TAG) < 0) {
        return "btl_send";
    }
    for (int i = 0; i < PROGRESS_MAX && !came; i++) {
        keel_progress();
    }
    return came ? NULL : "nothing came over the rail";
}

const char *keel_half_use(void)
{
    const char *wrong = use_buffers();
    wrong = wrong ? wrong : use_messages();
    return wrong ? wrong : use_rails();
}

const char *keel_half_end(void)
{
    return keel_finalize() == ORTE_SUCCESS ? NULL : "keel_finalize";
}
