#include <tests/lib/unit.h>

#include <btl/memory/region.h>
#include <string.h>

static unsigned char memory[4096];
static struct mca_btl_base_endpoint_t *const one = (void *) &memory[0];
static struct mca_btl_base_endpoint_t *const two = (void *) &memory[1];

static uint64_t at(size_t offset)
{
    return (uint64_t) (uintptr_t) memory + offset;
}

static struct region_handle flat(const mca_btl_base_registration_handle_t *handle)
{
    struct region_handle copy;
    memcpy(&copy, handle, sizeof(copy));
    return copy;
}

START_TEST(access_is_checked_against_bounds)
{
    struct region_table *table = region_table_create(4);
    struct region_handle handle =
        flat(region_add(table, NULL, memory + 100, 200, MCA_BTL_REG_FLAG_ACCESS_ANY));
    static const struct {
        int64_t offset;
        uint64_t size;
        bool fits;
    } cases[] = {
        {100, 200, true},
        {100, 0, true},
        {300, 0, true},
        {299, 1, true},
        {150, 10, true},
        {99, 1, false},
        {100, 201, false},
        {299, 2, false},
        {300, 1, false},
        {301, 0, false},
        {100, UINT64_MAX, false},
        {-5000, 10000, false},
        {250, UINT64_MAX - 200, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        int status = 1;
        void *found = region_access(table, &handle, one, at(0) + (uint64_t) cases[i].offset,
                                    cases[i].size, MCA_BTL_REG_FLAG_REMOTE_READ, &status);
        ck_assert_ptr_eq(found, cases[i].fits ? memory + cases[i].offset : NULL);
        ck_assert_int_eq(status, cases[i].fits ? OPAL_SUCCESS : OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    }
    region_table_destroy(table);
}
END_TEST

START_TEST(access_needs_all_rights)
{
    struct region_table *table = region_table_create(4);
    for (uint32_t given = 0; given <= MCA_BTL_REG_FLAG_ACCESS_ANY; given++) {
        mca_btl_base_registration_handle_t *kept = region_add(table, NULL, memory, 10, given);
        struct region_handle handle = flat(kept);
        for (uint32_t needed = 0; needed <= MCA_BTL_REG_FLAG_ACCESS_ANY; needed++) {
            int status;
            void *found = region_access(table, &handle, one, at(0), 10, needed, &status);
            bool allowed = (given & needed) == needed;
            ck_assert_ptr_eq(found, allowed ? memory : NULL);
            ck_assert_int_eq(status, allowed ? OPAL_SUCCESS : OPAL_ERR_PERM);
        }
        ck_assert_int_eq(region_remove(table, kept), OPAL_SUCCESS);
    }
    region_table_destroy(table);
}
END_TEST

START_TEST(a_region_of_one_endpoint_is_closed_to_others)
{
    struct region_table *table = region_table_create(4);
    struct region_handle closed = flat(region_add(table, one, memory, 10, 15));
    struct region_handle open = flat(region_add(table, MCA_BTL_ENDPOINT_ANY, memory, 10, 15));
    int status;
    ck_assert_ptr_nonnull(region_access(table, &closed, one, at(0), 1, 15, &status));
    ck_assert_ptr_null(region_access(table, &closed, two, at(0), 1, 15, &status));
    ck_assert_int_eq(status, OPAL_ERR_PERM);
    ck_assert_ptr_null(region_access(table, &closed, NULL, at(0), 1, 15, &status));
    ck_assert_ptr_nonnull(region_access(table, &open, two, at(0), 1, 15, &status));
    ck_assert_ptr_nonnull(region_access(table, &open, NULL, at(0), 1, 15, &status));
    region_table_destroy(table);
}
END_TEST

START_TEST(every_flipped_bit_is_refused)
{
    struct region_table *table = region_table_create(1000);
    struct region_handle handle = {0};
    for (int i = 0; i < 300; i++) {
        mca_btl_base_registration_handle_t *kept = region_add(table, NULL, memory, 10, 15);
        ck_assert_ptr_nonnull(kept);
        handle = i == 150 ? flat(kept) : handle;
    }
    for (int bit = 0; bit < 64; bit++) {
        struct region_handle forged = handle;
        if (bit < 32) {
            forged.index ^= 1u << bit;
        } else {
            forged.generation ^= 1u << (bit - 32);
        }
        int status = OPAL_SUCCESS;
        ck_assert_ptr_null(region_access(table, &forged, one, at(0), 1, 0, &status));
        ck_assert_int_eq(status, OPAL_ERR_PERM);
    }
    region_table_destroy(table);
}
END_TEST

START_TEST(a_handle_tells_what_it_covers)
{
    const struct region_handle handle = {.base = 1000, .size = 100};
    ck_assert(region_handle_covers(&handle, 1000, 100));
    ck_assert(region_handle_covers(&handle, 1100, 0));
    ck_assert(!region_handle_covers(&handle, 999, 1));
    ck_assert(!region_handle_covers(&handle, 1000, 101));
    ck_assert(!region_handle_covers(&handle, 1101, 0));
    ck_assert(!region_handle_covers(&handle, 1050, UINT64_MAX - 20));
    ck_assert(!region_handle_covers(&handle, UINT64_MAX, 2));
}
END_TEST

/* What the initiator refuses by itself. */
START_TEST(a_call_is_checked_against_its_own_handle)
{
    struct region_handle handle = {.base = 1000, .size = 100};
    struct rdma_call call = {.local_address = memory,
                             .remote_address = 1000,
                             .remote_handle = (void *) &handle,
                             .size = 100};
    ck_assert_int_eq(region_check_call(&call), OPAL_SUCCESS);
    call.remote_address = 1001;
    ck_assert_int_eq(region_check_call(&call), OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    handle.base = UINT64_MAX - 10; /* what wraps around is nowhere */
    handle.size = UINT64_MAX;
    call.remote_address = UINT64_MAX - 5;
    ck_assert_int_eq(region_check_call(&call), OPAL_ERR_VALUE_OUT_OF_BOUNDS);
    call.size = 5;
    ck_assert_int_eq(region_check_call(&call), OPAL_SUCCESS);
    call.local_address = NULL;
    ck_assert_int_eq(region_check_call(&call), OPAL_ERR_BAD_PARAM);
    call.size = 0;
    ck_assert_int_eq(region_check_call(&call), OPAL_SUCCESS);
    call.remote_handle = NULL;
    ck_assert_int_eq(region_check_call(&call), OPAL_ERR_BAD_PARAM);
}
END_TEST

START_TEST(base_and_size_of_a_handle_are_never_trusted)
{
    struct region_table *table = region_table_create(4);
    struct region_handle handle = flat(region_add(table, NULL, memory + 10, 10, 15));
    handle.base = 0;
    handle.size = UINT64_MAX;
    int status;
    ck_assert_ptr_null(region_access(table, &handle, one, at(0), 1, 15, &status));
    ck_assert_ptr_null(region_access(table, &handle, one, at(20), 1, 15, &status));
    ck_assert_ptr_eq(region_access(table, &handle, one, at(19), 1, 15, &status), memory + 19);
    region_table_destroy(table);
}
END_TEST

START_TEST(a_removed_region_is_dead_also_when_its_slot_lives_again)
{
    struct region_table *table = region_table_create(1);
    struct region_handle old[50];
    for (int i = 0; i < 50; i++) {
        mca_btl_base_registration_handle_t *kept = region_add(table, NULL, memory, 10, 15);
        ck_assert_ptr_nonnull(kept);
        old[i] = flat(kept);
        int status;
        ck_assert_ptr_nonnull(region_access(table, &old[i], one, at(0), 1, 15, &status));
        for (int j = 0; j < i; j++) {
            ck_assert_ptr_null(region_access(table, &old[j], one, at(0), 1, 15, &status));
            ck_assert_int_eq(status, OPAL_ERR_PERM);
        }
        ck_assert_int_eq(region_remove(table, kept), OPAL_SUCCESS);
        ck_assert_ptr_null(region_access(table, &old[i], one, at(0), 1, 15, &status));
        old[i].generation++; /* the dead slot's own, even */
        ck_assert_ptr_null(region_access(table, &old[i], one, at(0), 1, 15, &status));
        old[i].generation--;
        ck_assert_int_eq(region_remove(table, kept), OPAL_ERR_BAD_PARAM);
    }
    region_table_destroy(table);
}
END_TEST

START_TEST(only_the_tables_own_handles_are_removed)
{
    struct region_table *table = region_table_create(4);
    mca_btl_base_registration_handle_t *kept = region_add(table, NULL, memory, 10, 15);
    struct region_handle copy = flat(kept), far = {.index = 4000000000u, .generation = 1};
    ck_assert_int_eq(region_remove(table, (void *) &copy), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(region_remove(table, (void *) &far), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(region_remove(table, NULL), OPAL_ERR_BAD_PARAM);
    ck_assert_int_eq(region_remove(table, kept), OPAL_SUCCESS);
    region_table_destroy(table);
}
END_TEST

START_TEST(the_limit_and_senseless_regions_are_refused)
{
    struct region_table *table = region_table_create(129);
    ck_assert_ptr_null(region_add(table, NULL, NULL, 10, 15));
    ck_assert_ptr_null(region_add(table, NULL, memory, 0, 15));
    ck_assert_ptr_null(region_add(table, NULL, memory, SIZE_MAX, 15));
    mca_btl_base_registration_handle_t *kept = NULL;
    for (int i = 0; i < 129; i++) {
        kept = region_add(table, NULL, memory, 10, 15);
        ck_assert_ptr_nonnull(kept);
    }
    ck_assert_ptr_null(region_add(table, NULL, memory, 10, 15));
    ck_assert_int_eq(region_remove(table, kept), OPAL_SUCCESS);
    ck_assert_ptr_nonnull(region_add(table, NULL, memory, 10, 15));
    region_table_destroy(table);
    region_table_destroy(NULL);
}
END_TEST

UNIT_MAIN("region")
