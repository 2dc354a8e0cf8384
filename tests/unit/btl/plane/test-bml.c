#include <tests/lib/unit.h>

#include <btl/plane/bml.h>

static mca_btl_base_module_t make(uint32_t exclusivity, uint32_t latency, uint32_t bandwidth,
                                  uint32_t flags)
{
    return (mca_btl_base_module_t){.btl_exclusivity = exclusivity,
                                   .btl_latency = latency,
                                   .btl_bandwidth = bandwidth,
                                   .btl_flags = flags};
}

START_TEST(none_of_none)
{
    ck_assert_uint_eq(bml_choose(NULL, 0), 0);
}
END_TEST

START_TEST(highest_exclusivity_wins_alone)
{
    mca_btl_base_module_t tcp = make(100, 1, 100000, MCA_BTL_FLAGS_SEND);
    mca_btl_base_module_t sm = make(65536, 50, 1, MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_PUT);
    mca_btl_base_module_t net = make(1024, 0, 100000, MCA_BTL_FLAGS_SEND);
    struct keel_rail rails[] = {{.btl = &tcp}, {.btl = &sm}, {.btl = &net}};
    ck_assert_uint_eq(bml_choose(rails, 3), 1);
    ck_assert_ptr_eq(rails[0].btl, &sm);
    ck_assert_double_eq(rails[0].weight, 1.0);
    ck_assert(rails[0].eager && rails[0].send && rails[0].rdma);
    /* The others are behind, to be given back. */
    ck_assert_ptr_eq(rails[1].btl, &net);
    ck_assert_ptr_eq(rails[2].btl, &tcp);
}
END_TEST

START_TEST(equals_share_by_bandwidth_in_the_order_of_latency)
{
    mca_btl_base_module_t slow = make(1024, 20, 3000, MCA_BTL_FLAGS_SEND);
    mca_btl_base_module_t fast = make(1024, 5, 1000, MCA_BTL_FLAGS_SEND | MCA_BTL_FLAGS_GET);
    mca_btl_base_module_t wide = make(1024, 5, 4000, MCA_BTL_FLAGS_PUT);
    struct keel_rail rails[] = {{.btl = &slow}, {.btl = &fast}, {.btl = &wide}};
    ck_assert_uint_eq(bml_choose(rails, 3), 3);
    ck_assert_ptr_eq(rails[0].btl, &wide);
    ck_assert_ptr_eq(rails[1].btl, &fast);
    ck_assert_ptr_eq(rails[2].btl, &slow);
    ck_assert_double_eq_tol(rails[0].weight, 0.5, 1e-12);
    ck_assert_double_eq_tol(rails[1].weight, 0.125, 1e-12);
    ck_assert_double_eq_tol(rails[2].weight, 0.375, 1e-12);
    ck_assert(rails[0].eager && rails[1].eager && !rails[2].eager);
    ck_assert(!rails[0].send && rails[1].send && rails[2].send);
    ck_assert(rails[0].rdma && rails[1].rdma && !rails[2].rdma);
}
END_TEST

START_TEST(unknown_bandwidths_share_equally)
{
    mca_btl_base_module_t a = make(1, 1, 0, MCA_BTL_FLAGS_SEND), b = a, c = a, d = a;
    struct keel_rail rails[] = {{.btl = &a}, {.btl = &b}, {.btl = &c}, {.btl = &d}};
    ck_assert_uint_eq(bml_choose(rails, 4), 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq_tol(rails[i].weight, 0.25, 1e-12);
        ck_assert(rails[i].eager);
    }
}
END_TEST

UNIT_MAIN("bml")
