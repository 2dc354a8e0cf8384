#include <tests/lib/unit.h>

#include <base/data/pool.h>
#include <string.h>

static void count_construct(void *item, void *arg)
{
    memset(item, 0x5a, 40);
    ++*(int *) arg;
}

START_TEST(gets_and_puts)
{
    struct pool pool;
    int made = 0;
    unsigned char *items[10];
    pool_init(&pool, 40, 64, 4, 0, count_construct, &made);
    ck_assert_int_eq(made, 0); /* nothing before the first item is wanted */
    for (int i = 0; i < 10; i++) {
        items[i] = pool_get(&pool);
        ck_assert_ptr_nonnull(items[i]);
        ck_assert_uint_eq((uintptr_t) items[i] % 64, 0);
        ck_assert_uint_eq(items[i][39], 0x5a);
        for (int k = 0; k < i; k++) {
            ck_assert_ptr_ne(items[i], items[k]);
        }
        memset(items[i], i, 40);
    }
    ck_assert_int_eq(made, 12); /* three chunks */
    ck_assert_uint_eq(pool.total, 12);
    ck_assert_uint_eq(pool.in_use, 10);
    pool_put(&pool, items[3]);
    ck_assert_uint_eq(pool.in_use, 9);
    unsigned char *again = pool_get(&pool);
    ck_assert_ptr_eq(again, items[3]);
    ck_assert_uint_eq(again[39], 3); /* as its last user left it */
    ck_assert_int_eq(made, 12);
    pool_fini(&pool);
}
END_TEST

START_TEST(keeps_to_the_limit)
{
    struct pool pool;
    void *items[7];
    pool_init(&pool, 16, 8, 5, 7, NULL, NULL);
    for (int i = 0; i < 7; i++) {
        items[i] = pool_get(&pool);
        ck_assert_ptr_nonnull(items[i]);
    }
    ck_assert_ptr_null(pool_get(&pool));
    ck_assert_uint_eq(pool.total, 7);
    ck_assert_uint_eq(pool.in_use, 7);
    pool_put(&pool, items[0]);
    ck_assert_ptr_eq(pool_get(&pool), items[0]);
    ck_assert_ptr_null(pool_get(&pool));
    pool_fini(&pool);
}
END_TEST

START_TEST(small_and_odd_sizes)
{
    static const size_t sizes[] = {0, 1, 7, 8, 9, 63, 65, 4097};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct pool pool;
        char *items[20];
        pool_init(&pool, sizes[s], 1, 0, 0, NULL, NULL);
        ck_assert_uint_ge(pool.item_size, sizes[s]);
        for (int i = 0; i < 20; i++) {
            items[i] = pool_get(&pool);
            ck_assert_uint_eq((uintptr_t) items[i] % sizeof(void *), 0);
            memset(items[i], i, sizes[s]);
        }
        for (int i = 0; i < 20 && sizes[s] > 0; i++) {
            ck_assert_int_eq(items[i][sizes[s] - 1], i); /* nobody wrote over it */
        }
        pool_fini(&pool);
    }
}
END_TEST

START_TEST(no_memory)
{
    struct pool pool;
    pool_init(&pool, SIZE_MAX / 2, 8, 16, 0, NULL, NULL);
    ck_assert_ptr_null(pool_get(&pool));
    ck_assert_uint_eq(pool.total, 0);
    pool_fini(&pool);
}
END_TEST

START_TEST(fini_empties)
{
    struct pool pool;
    pool_init(&pool, 32, 8, 8, 0, NULL, NULL);
    pool_fini(&pool); /* nothing made */
    ck_assert_ptr_nonnull(pool_get(&pool));
    pool_fini(&pool);
    ck_assert_uint_eq(pool.total, 0);
    ck_assert_uint_eq(pool.in_use, 0);
    ck_assert_ptr_nonnull(pool_get(&pool)); /* and it can be used again */
    pool_fini(&pool);
}
END_TEST

UNIT_MAIN("pool")
