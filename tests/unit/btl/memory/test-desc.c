#include <tests/lib/unit.h>

#include <btl/memory/desc.h>
#include <stdlib.h>
#include <string.h>

static const struct desc_size two_sizes[] = {
    {.payload = 100, .limit = 3, .per_chunk = 2},
    {.payload = 1000, .limit = 2, .per_chunk = 2},
};

START_TEST(alloc_takes_the_smallest_that_fits)
{
    struct desc_set set;
    desc_set_init(&set, two_sizes, 2, 0);
    mca_btl_base_descriptor_t *small = desc_alloc(&set, 7, 100, 5);
    mca_btl_base_descriptor_t *large = desc_alloc(&set, 7, 101, 5);
    ck_assert_uint_eq(desc_of(small)->capacity, 100);
    ck_assert_uint_eq(desc_of(large)->capacity, 1000);
    ck_assert_uint_eq(small->order, 7);
    ck_assert_uint_eq(small->des_flags, 5);
    ck_assert_uint_eq(small->des_segment_count, 1);
    ck_assert_uint_eq(small->des_segments[0].seg_len, 100);
    ck_assert_uint_eq((uintptr_t) small->des_segments[0].seg_addr.pval % 64, 0);
    ck_assert_ptr_null(desc_alloc(&set, 7, 1001, 5));
    ck_assert_ptr_null(desc_alloc(&set, 7, SIZE_MAX, 5));
    desc_set_fini(&set);
}
END_TEST

START_TEST(limits_hold_and_large_ones_help_out)
{
    struct desc_set set;
    desc_set_init(&set, two_sizes, 2, 0);
    mca_btl_base_descriptor_t *taken[5];
    for (int i = 0; i < 5; i++) {
        taken[i] = desc_alloc(&set, 0, 10, 0);
        ck_assert_ptr_nonnull(taken[i]);
        memset(taken[i]->des_segments[0].seg_addr.pval, i, 10);
    }
    ck_assert_ptr_null(desc_alloc(&set, 0, 10, 0));
    ck_assert_uint_eq(desc_of(taken[4])->capacity, 1000);
    ck_assert_int_eq(desc_free(taken[4]), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(desc_alloc(&set, 0, 1000, 0));
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(*(unsigned char *) taken[i]->des_segments[0].seg_addr.pval, i);
    }
    desc_set_fini(&set);
}
END_TEST

/* A caller may have turned everything; a descriptor comes back as new. */
START_TEST(a_descriptor_is_new_each_time)
{
    struct desc_set set;
    desc_set_init(&set, (struct desc_size[]){{.payload = 64, .limit = 1, .per_chunk = 1}}, 1, 0);
    mca_btl_base_descriptor_t *descriptor = desc_alloc(&set, 0, 10, 1);
    mca_btl_base_segment_t foreign[2];
    descriptor->des_segments = foreign;
    descriptor->des_segment_count = 2;
    descriptor->des_cbfunc = (mca_btl_base_completion_fn_t) (void *) &set;
    descriptor->des_cbdata = descriptor->des_context = &set;
    ck_assert_int_eq(desc_free(descriptor), OPAL_SUCCESS);
    mca_btl_base_descriptor_t *again = desc_alloc(&set, 0, 20, 2);
    ck_assert_ptr_eq(again, descriptor);
    ck_assert_ptr_eq(again->des_segments, desc_of(again)->segments);
    ck_assert_uint_eq(again->des_segment_count, 1);
    ck_assert_uint_eq(again->des_segments[0].seg_len, 20);
    ck_assert_ptr_null((void *) again->des_cbfunc);
    ck_assert_ptr_null(again->des_cbdata);
    ck_assert_ptr_null(again->des_context);
    desc_set_fini(&set);
}
END_TEST

static mca_btl_base_module_t module;
static int called;

static void note(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                 mca_btl_base_descriptor_t *descriptor, int status)
{
    (void) endpoint;
    ck_assert_ptr_eq(btl, &module);
    ck_assert_int_eq(status, OPAL_SUCCESS);
    ck_assert_uint_eq(descriptor->des_segments[0].seg_len, 10);
    called++;
}

static void note_and_free(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                          mca_btl_base_descriptor_t *descriptor, int status)
{
    note(btl, endpoint, descriptor, status);
    ck_assert_int_eq(desc_free(descriptor), OPAL_SUCCESS);
}

/* The last send gives it to the module, and is over first. */
START_TEST(a_descriptor_stays_until_its_last_send_is_over)
{
    enum { SENDS = 4 };
    struct desc_set set;
    struct desc_send *sends[SENDS];
    desc_set_init(&set, (struct desc_size[]){{.payload = 64, .limit = 1, .per_chunk = 1}}, 1, 0);
    for (int round = 0; round < 3; round++) {
        mca_btl_base_descriptor_t *descriptor = desc_alloc(&set, 0, 10, 0);
        ck_assert_ptr_nonnull(descriptor);
        called = 0;
        descriptor->des_cbfunc = note;
        for (int i = 0; i < SENDS; i++) {
            descriptor->des_flags = i < SENDS - 1 ? 0 : MCA_BTL_DES_FLAGS_BTL_OWNERSHIP;
            sends[i] = desc_send_begin(&set, desc_of(descriptor), NULL);
            ck_assert_ptr_nonnull(sends[i]);
        }
        for (int i = SENDS; i-- > 0;) {
            ck_assert_ptr_null(desc_alloc(&set, 0, 10, 0));
            desc_send_complete(&module, &set, sends[(i + round) % SENDS], OPAL_SUCCESS);
        }
        ck_assert_int_eq(called, SENDS);
        ck_assert_uint_eq(set.sends.in_use, 0);
    }
    ck_assert_ptr_nonnull(desc_alloc(&set, 0, 10, 0));
    desc_set_fini(&set);
}
END_TEST

START_TEST(who_frees_in_flight_or_twice_does_no_harm)
{
    struct desc_set set;
    desc_set_init(&set, (struct desc_size[]){{.payload = 64, .limit = 1, .per_chunk = 1}}, 1, 0);
    mca_btl_base_descriptor_t *descriptor = desc_alloc(&set, 0, 10, 0);
    struct desc_send *send = desc_send_begin(&set, desc_of(descriptor), NULL);
    ck_assert_int_eq(desc_free(descriptor), OPAL_SUCCESS);
    ck_assert_int_eq(desc_free(descriptor), OPAL_ERR_BAD_PARAM);
    ck_assert_ptr_null(desc_alloc(&set, 0, 10, 0));
    desc_send_complete(&module, &set, send, OPAL_SUCCESS);
    ck_assert_int_eq(desc_free(descriptor), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(desc_free(NULL), OPAL_SUCCESS);

    /* By its callback, and while the transport still has the bytes of another send. */
    descriptor = desc_alloc(&set, 0, 10, 0);
    descriptor->des_cbfunc = note_and_free;
    send = desc_send_begin(&set, desc_of(descriptor), NULL);
    desc_hold(desc_of(descriptor));
    desc_send_complete(&module, &set, send, OPAL_SUCCESS);
    ck_assert_ptr_null(desc_alloc(&set, 0, 10, 0));
    desc_release(desc_of(descriptor));
    ck_assert_ptr_nonnull(desc_alloc(&set, 0, 10, 0));
    desc_set_fini(&set);
}
END_TEST

/* One send with this status to an endpoint; returns what btl_send returns. */
static int send_once(struct desc_set *set, mca_btl_base_descriptor_t *descriptor, void *endpoint,
                     int status)
{
    struct desc_send *later;
    ck_assert_int_eq(desc_later_begin(set, desc_of(descriptor), endpoint, &later), OPAL_SUCCESS);
    return desc_later_end(&module, set, endpoint, desc_of(descriptor), later, status);
}

START_TEST(a_callback_that_was_asked_for_comes_later)
{
    struct desc_set set;
    char one, other;
    desc_set_init(&set, (struct desc_size[]){{.payload = 64, .limit = 1, .per_chunk = 1}}, 1, 0);
    mca_btl_base_descriptor_t *descriptor = desc_alloc(&set, 0, 10, 0);
    called = 0;
    descriptor->des_cbfunc = note;
    ck_assert_int_eq(send_once(&set, descriptor, &one, OPAL_SUCCESS), 1); /* nobody asked */
    descriptor->des_flags = MCA_BTL_DES_SEND_ALWAYS_CALLBACK;
    ck_assert_int_eq(send_once(&set, descriptor, &one, OPAL_ERR_OUT_OF_RESOURCE),
                     OPAL_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(desc_set_finish(&module, &set, NULL), 0);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(send_once(&set, descriptor, i == 1 ? &other : &one, OPAL_SUCCESS), 0);
    }
    ck_assert_int_eq(called, 0);
    ck_assert_int_eq(desc_set_finish(&module, &set, (void *) &one), 2);
    ck_assert_int_eq(called, 2);
    ck_assert_int_eq(desc_set_finish(&module, &set, NULL), 1);
    ck_assert_int_eq(called, 3);
    ck_assert_uint_eq(set.sends.in_use, 0);
    desc_set_fini(&set);
}
END_TEST

START_TEST(headroom_and_slots_are_the_modules)
{
    static unsigned char slots[4 * 256] __attribute__((aligned(64)));
    struct desc_set set;
    const struct desc_size size = {
        .payload = 128, .limit = 4, .per_chunk = 2, .slots = slots, .slot_size = 256};
    desc_set_init(&set, &size, 1, 64);
    bool seen[4] = {false};
    for (int i = 0; i < 4; i++) {
        mca_btl_base_descriptor_t *descriptor = desc_alloc(&set, 0, 128, 0);
        ck_assert_ptr_nonnull(descriptor);
        size_t offset = (size_t) (desc_of(descriptor)->payload - slots);
        ck_assert_uint_eq(offset % 256, 64);
        ck_assert(!seen[offset / 256]);
        seen[offset / 256] = true;
    }
    ck_assert_ptr_null(desc_alloc(&set, 0, 1, 0));
    desc_set_fini(&set);
}
END_TEST

static unsigned char user[4096];

static void fill_user(void)
{
    for (size_t i = 0; i < sizeof(user); i++) {
        user[i] = (unsigned char) (i * 7 + (i >> 8));
    }
}

START_TEST(contiguous_data_stays_in_place)
{
    fill_user();
    struct desc_set set;
    desc_set_init(&set, two_sizes, 2, 0);
    opal_convertor_t convertor;
    opal_convertor_prepare(&convertor, user, sizeof(user));
    size_t start = 11, size = 500;
    opal_convertor_set_position(&convertor, &start);
    mca_btl_base_descriptor_t *made = desc_prepare(&set, &convertor, 0, 24, &size, 0, true);
    ck_assert_uint_eq(size, 500);
    ck_assert_uint_eq(made->des_segment_count, 2);
    ck_assert_uint_eq(made->des_segments[0].seg_len, 24);
    ck_assert_ptr_eq(made->des_segments[1].seg_addr.pval, user + 11);
    ck_assert_uint_eq(made->des_segments[1].seg_len, 500);
    ck_assert_uint_eq(convertor.bytes_converted, 511);
    ck_assert_uint_eq(desc_of(made)->capacity, 100);
    size = SIZE_MAX; /* cut to what a message may have */
    made = desc_prepare(&set, &convertor, 0, 0, &size, 0, true);
    ck_assert_uint_eq(size, 1000);
    ck_assert_uint_eq(made->des_segment_count, 1);
    ck_assert_ptr_eq(made->des_segments[0].seg_addr.pval, user + 511);
    desc_set_fini(&set);
}
END_TEST

START_TEST(scattered_data_is_packed_behind_the_header)
{
    fill_user();
    struct desc_set set;
    desc_set_init(&set, two_sizes, 2, 0);
    const struct iovec pieces[] = {{user, 10}, {user + 100, 0}, {user + 200, 700}, {user + 10, 3}};
    opal_convertor_t convertor;
    ck_assert_int_eq(opal_convertor_prepare_iovec(&convertor, pieces, 4), OPAL_SUCCESS);
    size_t size = 5000;
    mca_btl_base_descriptor_t *made = desc_prepare(&set, &convertor, 0, 16, &size, 0, true);
    ck_assert_uint_eq(size, 713);
    ck_assert_uint_eq(made->des_segment_count, 1);
    ck_assert_uint_eq(made->des_segments[0].seg_len, 729);
    const unsigned char *bytes = made->des_segments[0].seg_addr.pval;
    ck_assert_mem_eq(bytes + 16, user, 10);
    ck_assert_mem_eq(bytes + 26, user + 200, 700);
    ck_assert_mem_eq(bytes + 726, user + 10, 3);
    /* Nothing is left: a descriptor with the header alone. */
    size = 100;
    made = desc_prepare(&set, &convertor, 0, 16, &size, 0, true);
    ck_assert_uint_eq(size, 0);
    ck_assert_uint_eq(made->des_segments[0].seg_len, 16);
    desc_set_fini(&set);
}
END_TEST

START_TEST(failed_prepare_leaves_the_convertor)
{
    struct desc_set set;
    desc_set_init(&set, (struct desc_size[]){{.payload = 64, .limit = 1, .per_chunk = 1}}, 1, 0);
    opal_convertor_t convertor;
    opal_convertor_prepare(&convertor, user, 100);
    size_t size = 10;
    ck_assert_ptr_null(desc_prepare(&set, &convertor, 0, 65, &size, 0, true));
    ck_assert_ptr_nonnull(desc_alloc(&set, 0, 1, 0));
    ck_assert_ptr_null(desc_prepare(&set, &convertor, 0, 0, &size, 0, false));
    ck_assert_uint_eq(size, 10);
    ck_assert_uint_eq(convertor.bytes_converted, 0);
    desc_set_fini(&set);
}
END_TEST

START_TEST(totals_are_checked)
{
    mca_btl_base_segment_t segments[17] = {{.seg_len = 10}, {.seg_len = 20}};
    mca_btl_base_descriptor_t descriptor = {.des_segments = segments, .des_segment_count = 2};
    size_t total = 77;
    ck_assert_int_eq(desc_total(&descriptor, 30, &total), OPAL_SUCCESS);
    ck_assert_uint_eq(total, 30);
    total = 77;
    ck_assert_int_eq(desc_total(&descriptor, 29, &total), OPAL_ERR_BAD_PARAM);
    segments[1].seg_len = UINT64_MAX;
    ck_assert_int_eq(desc_total(&descriptor, SIZE_MAX, &total), OPAL_ERR_BAD_PARAM);
    segments[1].seg_len = 0;
    descriptor.des_segment_count = 17;
    ck_assert_int_eq(desc_total(&descriptor, 100, &total), OPAL_ERR_BAD_PARAM);
    ck_assert_uint_eq(total, 77);
    descriptor.des_segment_count = 16;
    ck_assert_int_eq(desc_total(&descriptor, 100, &total), OPAL_SUCCESS);
}
END_TEST

START_TEST(gather_joins_segments)
{
    fill_user();
    mca_btl_base_segment_t segments[] = {
        {.seg_addr.pval = user, .seg_len = 3},
        {.seg_addr.pval = NULL, .seg_len = 0},
        {.seg_addr.pval = user + 50, .seg_len = 4},
    };
    unsigned char joined[7];
    ck_assert_uint_eq(desc_gather(joined, segments, 3), 7);
    ck_assert_mem_eq(joined, user, 3);
    ck_assert_mem_eq(joined + 3, user + 50, 4);
}
END_TEST

UNIT_MAIN("desc")
