/* sendi over send, and what a module lacks. */
#include <tests/lib/unit.h>

#include <btl/interface/base.h>
#include <btl/memory/desc.h>
#include <string.h>

static struct desc_set descs;
static int send_status, sends;
static unsigned char sent[256];
static size_t sent_size;
static uint32_t sent_flags;

static mca_btl_base_descriptor_t *do_alloc(mca_btl_base_module_t *btl,
                                           struct mca_btl_base_endpoint_t *endpoint, uint8_t order,
                                           size_t size, uint32_t flags)
{
    (void) btl, (void) endpoint;
    return desc_alloc(&descs, order, size, flags);
}

static int do_free(mca_btl_base_module_t *btl, mca_btl_base_descriptor_t *descriptor)
{
    (void) btl;
    return desc_free(descriptor);
}

static int do_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                   mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    ck_assert_uint_eq(tag, 9);
    sends++;
    if (send_status < 0) {
        return send_status;
    }
    sent_size = desc_gather(sent, descriptor->des_segments, descriptor->des_segment_count);
    sent_flags = descriptor->des_flags;
    ck_assert_ptr_null((void *) descriptor->des_cbfunc);
    return btl_sent(btl, endpoint, descriptor);
}

static struct btl_component component;
static mca_btl_base_module_t module = {.btl_component = &component.component,
                                       .btl_max_send_size = 100,
                                       .btl_alloc = do_alloc,
                                       .btl_free = do_free,
                                       .btl_send = do_send};
static opal_convertor_t convertor;
static mca_btl_base_descriptor_t *left;

static void begin(void)
{
    static char user[] = "xxpayload and more";
    const struct desc_size size = {.payload = 100, .limit = 1, .per_chunk = 1};
    desc_set_init(&descs, &size, 1, 0);
    opal_convertor_prepare(&convertor, user, sizeof(user));
    size_t start = 2;
    opal_convertor_set_position(&convertor, &start);
    left = (void *) &left;
}

static int sendi(size_t payload, uint32_t flags, bool with_descriptor)
{
    return btl_sendi_by_send(&module, NULL, &convertor, (void *) "head", 4, payload, 255, flags, 9,
                             with_descriptor ? &left : NULL);
}

START_TEST(header_and_payload_go_together)
{
    begin();
    ck_assert_int_eq(sendi(7, MCA_BTL_DES_SEND_ALWAYS_CALLBACK, true), OPAL_SUCCESS);
    ck_assert_uint_eq(sent_size, 11);
    ck_assert_mem_eq(sent, "headpayload", 11);
    ck_assert_uint_eq(sent_flags, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP); /* nobody to call back */
    ck_assert_ptr_null(left);
    ck_assert_uint_eq(convertor.bytes_converted, 9);
    ck_assert_uint_eq(descs.classes[0].pool.in_use, 0);
    ck_assert_int_eq(btl_sendi_by_send(&module, NULL, NULL, NULL, 0, 0, 255, 0, 9, NULL),
                     OPAL_SUCCESS);
    ck_assert_uint_eq(sent_size, 0);
    desc_set_fini(&descs);
}
END_TEST

START_TEST(a_full_rail_leaves_a_descriptor_or_nothing)
{
    static const int shortages[] = {OPAL_ERR_OUT_OF_RESOURCE, OPAL_ERR_TEMP_OUT_OF_RESOURCE,
                                    OPAL_ERR_RESOURCE_BUSY};
    for (int i = 0; i < 3; i++) {
        begin();
        send_status = shortages[i];
        ck_assert_int_eq(sendi(7, 0, true), shortages[i]);
        ck_assert_ptr_nonnull(left);
        ck_assert_uint_eq(left->des_segments[0].seg_len, 11);
        ck_assert_uint_eq(left->des_flags, 0);
        ck_assert_uint_eq(convertor.bytes_converted, 2);
        ck_assert_uint_eq(descs.classes[0].pool.in_use, 1);
        /* No descriptor is to be had any more. */
        ck_assert_int_eq(sendi(7, 0, true), OPAL_ERR_OUT_OF_RESOURCE);
        ck_assert_ptr_null(left);
        desc_set_fini(&descs);
        begin();
        ck_assert_int_eq(sendi(7, 0, false), shortages[i]);
        ck_assert_uint_eq(descs.classes[0].pool.in_use, 0);
        ck_assert_uint_eq(convertor.bytes_converted, 2);
        desc_set_fini(&descs);
    }
}
END_TEST

START_TEST(errors_leave_nothing)
{
    begin();
    send_status = OPAL_ERR_UNREACH;
    ck_assert_int_eq(sendi(7, 0, true), OPAL_ERR_UNREACH);
    ck_assert_ptr_null(left);
    ck_assert_uint_eq(descs.classes[0].pool.in_use, 0);
    ck_assert_uint_eq(convertor.bytes_converted, 2);
    sends = 0;
    left = (void *) &left;
    ck_assert_int_eq(sendi(97, 0, true), OPAL_ERR_BAD_PARAM); /* above the limit */
    ck_assert_ptr_null(left);
    ck_assert_int_eq(sendi(SIZE_MAX, 0, true), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(sendi(90, 0, true), OPAL_ERR_BAD_PARAM); /* more than the convertor has */
    ck_assert_int_eq(sends, 0);
    ck_assert_uint_eq(descs.classes[0].pool.in_use, 0);
    ck_assert_uint_eq(convertor.bytes_converted, 2);
    desc_set_fini(&descs);
}
END_TEST

START_TEST(a_module_without_atomics_says_so)
{
    ck_assert_int_eq(
        btl_atomic_op(&module, NULL, 0, NULL, MCA_BTL_ATOMIC_ADD, 1, 0, 0, NULL, NULL, NULL),
        ORTE_ERR_NOT_SUPPORTED);
    ck_assert_int_eq(btl_atomic_fop(&module, NULL, NULL, 0, NULL, NULL, MCA_BTL_ATOMIC_ADD, 1, 0, 0,
                                    NULL, NULL, NULL),
                     ORTE_ERR_NOT_SUPPORTED);
    ck_assert_int_eq(
        btl_atomic_cswap(&module, NULL, NULL, 0, NULL, NULL, 0, 1, 0, 0, NULL, NULL, NULL),
        ORTE_ERR_NOT_SUPPORTED);
}
END_TEST

UNIT_MAIN("table")
