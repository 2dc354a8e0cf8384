/* The module's table: members, limits, descriptors. */
#include <stdlib.h>
#include <string.h>
#include <tests/conformance/btl.h>

static void members_are_there(struct test *test)
{
    const mca_btl_base_module_t *btl = test->btl;
    must(test, btl->btl_component != NULL);
    must(test, btl->btl_add_procs && btl->btl_del_procs && btl->btl_register);
    must(test, btl->btl_finalize && btl->btl_alloc && btl->btl_free && btl->btl_prepare_src);
    must(test, btl->btl_send && btl->btl_sendi && btl->btl_put && btl->btl_get && btl->btl_dump);
    must(test, btl->btl_atomic_op && btl->btl_atomic_fop && btl->btl_atomic_cswap);
    must(test, btl->btl_register_error && btl->btl_ft_event);
    must(test, (btl->btl_register_mem != NULL) == (btl->btl_deregister_mem != NULL));
    must(test, (btl->btl_register_mem != NULL) == (btl->btl_registration_handle_size > 0));
    must(test, btl->btl_mpool == NULL);
}

static bool is_alignment(size_t value)
{
    return (value & (value - 1)) == 0;
}

static void limits_are_sane(struct test *test)
{
    const mca_btl_base_module_t *btl = test->btl;
    must(test, btl->btl_eager_limit > 0 && btl->btl_eager_limit <= btl->btl_max_send_size);
    must(test, btl->btl_rndv_eager_limit > 0);
    must(test, btl->btl_rndv_eager_limit <= btl->btl_max_send_size);
    must(test, btl->btl_flags & MCA_BTL_FLAGS_SEND);
    must(test, btl->btl_registration_handle_size <= MCA_BTL_REG_HANDLE_MAX_SIZE);
    must(test, btl->btl_exclusivity <= MCA_BTL_EXCLUSIVITY_HIGH);
    must(test, btl->btl_bandwidth > 0);
    must(test, btl->btl_put_limit > 0 && btl->btl_get_limit > 0);
    must(test, is_alignment(btl->btl_put_alignment) && is_alignment(btl->btl_get_alignment));
    must(test, ((btl->btl_flags & (MCA_BTL_FLAGS_ATOMIC_OPS | MCA_BTL_FLAGS_ATOMIC_FOPS)) != 0) ==
                   (btl->btl_atomic_flags != 0));
}

/* What is not advertised says so. */
static void unsupported_says_so(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[test->right];
    uint64_t value = 0;
    if (!(btl->btl_flags & MCA_BTL_FLAGS_ATOMIC_OPS)) {
        must(test,
             btl->btl_atomic_op(btl, endpoint, 0, NULL, MCA_BTL_ATOMIC_ADD, 1, 0, MCA_BTL_NO_ORDER,
                                NULL, NULL, NULL) == ORTE_ERR_NOT_SUPPORTED);
    }
    if (!(btl->btl_flags & MCA_BTL_FLAGS_ATOMIC_FOPS)) {
        must(test,
             btl->btl_atomic_fop(btl, endpoint, &value, 0, NULL, NULL, MCA_BTL_ATOMIC_ADD, 1, 0,
                                 MCA_BTL_NO_ORDER, NULL, NULL, NULL) == ORTE_ERR_NOT_SUPPORTED);
        must(test,
             btl->btl_atomic_cswap(btl, endpoint, &value, 0, NULL, NULL, 0, 1, 0, MCA_BTL_NO_ORDER,
                                   NULL, NULL, NULL) == ORTE_ERR_NOT_SUPPORTED);
    }
}

static void alloc_gives_exactly_what_was_asked(struct test *test)
{
    mca_btl_base_module_t *btl = test->btl;
    const size_t sizes[] = {0,
                            1,
                            2,
                            63,
                            btl->btl_eager_limit - 1,
                            btl->btl_eager_limit,
                            btl->btl_max_send_size - 1,
                            btl->btl_max_send_size};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        mca_btl_base_descriptor_t *descriptor = alloc_wait(test, test->right, sizes[i], 0x40);
        must(test, descriptor->des_flags == 0x40);
        must(test, descriptor->des_cbfunc == NULL);
        memset(descriptor->des_segments[0].seg_addr.pval, 0xa5, sizes[i]);
        must(test, btl->btl_free(btl, descriptor) == OPAL_SUCCESS);
    }
    struct mca_btl_base_endpoint_t *endpoint = test->endpoints[test->right];
    must(test, !btl->btl_alloc(btl, endpoint, MCA_BTL_NO_ORDER, btl->btl_max_send_size + 1, 0));
    must(test, !btl->btl_alloc(btl, endpoint, MCA_BTL_NO_ORDER, SIZE_MAX, 0));
}

/* Many descriptors at a time do not overlap, and a limit is a NULL, not a crash. */
static void descriptors_are_apart(struct test *test)
{
    enum { MANY = 300 };
    mca_btl_base_module_t *btl = test->btl;
    mca_btl_base_descriptor_t *descriptors[MANY];
    size_t count = 0;
    while (count < MANY) {
        mca_btl_base_descriptor_t *made =
            btl->btl_alloc(btl, test->endpoints[test->right], MCA_BTL_NO_ORDER, 100, 0);
        if (!made) {
            break;
        }
        pattern_fill(made->des_segments[0].seg_addr.pval, 100, (unsigned) count);
        descriptors[count++] = made;
    }
    must(test, count >= 8);
    for (size_t i = 0; i < count; i++) {
        must(test, pattern_is(descriptors[i]->des_segments[0].seg_addr.pval, 100, (unsigned) i));
        must(test, btl->btl_free(btl, descriptors[i]) == OPAL_SUCCESS);
    }
}

static void dump_does_no_harm(struct test *test)
{
    for (int verbose = 0; verbose < 4; verbose++) {
        test->btl->btl_dump(test->btl, NULL, verbose);
        test->btl->btl_dump(test->btl, test->endpoints[test->right], verbose);
    }
}

static void on_error(mca_btl_base_module_t *btl, int32_t flags, opal_proc_t *proc, char *text)
{
    (void) btl, (void) flags, (void) proc, (void) text;
}

static void error_callback_is_taken(struct test *test)
{
    must(test, test->btl->btl_register_error(test->btl, on_error) == OPAL_SUCCESS);
    must(test, test->btl->btl_register_error(test->btl, NULL) == OPAL_SUCCESS);
}

/* Regions are registered and given up again, in any order, beyond any small table. */
static void regions_come_and_go(struct test *test)
{
    enum { MANY = 500 };
    mca_btl_base_module_t *btl = test->btl;
    if (!btl->btl_register_mem) {
        return;
    }
    static unsigned char memory[MANY * 16];
    mca_btl_base_registration_handle_t *handles[MANY];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < MANY; i++) {
            handles[i] = btl->btl_register_mem(btl, MCA_BTL_ENDPOINT_ANY, memory + i * 16, 16,
                                               MCA_BTL_REG_FLAG_ACCESS_ANY);
            must(test, handles[i]);
        }
        for (size_t i = 0; i < MANY; i++) {
            must(test, btl->btl_deregister_mem(btl, handles[i * 7 % MANY]) == OPAL_SUCCESS);
        }
    }
    must(test, !btl->btl_register_mem(btl, MCA_BTL_ENDPOINT_ANY, memory + 1, SIZE_MAX,
                                      MCA_BTL_REG_FLAG_ACCESS_ANY));
}

const struct test_case table_cases[] = {
    {.name = "members", .run = members_are_there, .alone = true},
    {.name = "limits", .run = limits_are_sane, .alone = true},
    {.name = "unsupported", .run = unsupported_says_so, .alone = true},
    {.name = "dump", .run = dump_does_no_harm, .alone = true},
    {.name = "register_error", .run = error_callback_is_taken, .alone = true},
    {.name = "regions", .run = regions_come_and_go, .alone = true, .asks_too_much = true},
    {.name = "alloc", .run = alloc_gives_exactly_what_was_asked, .min_size = 1},
    {.name = "descriptors", .run = descriptors_are_apart, .min_size = 1, .undisturbed = true},
    {.name = NULL},
};
