#include <tests/lib/unit.h>

#include <btl/check/check.h>
#include <stdlib.h>

static struct btl_map map;
static char keys[5000];

START_TEST(what_is_put_is_found_until_it_is_removed)
{
    ck_assert_ptr_null(btl_map_get(&map, keys));
    btl_map_remove(&map, keys);
    for (size_t i = 0; i < sizeof(keys); i++) {
        ck_assert_int_eq(btl_map_put(&map, keys + i, keys + (i * 7) % sizeof(keys)), ORTE_SUCCESS);
    }
    for (size_t i = 0; i < sizeof(keys); i += 2) {
        btl_map_remove(&map, keys + i);
    }
    ck_assert_uint_eq(map.count, sizeof(keys) / 2);
    for (size_t i = 0; i < sizeof(keys); i++) {
        void *wanted = i % 2 ? keys + (i * 7) % sizeof(keys) : NULL;
        ck_assert_ptr_eq(btl_map_get(&map, keys + i), wanted);
    }
    ck_assert_ptr_null(btl_map_get(&map, NULL));
    ck_assert_ptr_null(btl_map_get(&map, &map));
    btl_map_fini(&map);
}
END_TEST

/* Against a plain table, in random order. */
START_TEST(any_order_of_put_and_remove_keeps_the_rest)
{
    bool there[sizeof(keys)] = {false};
    srand(5);
    for (int i = 0; i < 200000; i++) {
        size_t key = (size_t) rand() % 300 * 16;
        ck_assert_int_eq(btl_map_get(&map, keys + key) != NULL, there[key]);
        if (there[key]) {
            btl_map_remove(&map, keys + key);
        } else {
            ck_assert_int_eq(btl_map_put(&map, keys + key, keys), ORTE_SUCCESS);
        }
        there[key] = !there[key];
    }
    btl_map_fini(&map);
}
END_TEST

static void count(void *value, void *arg)
{
    (void) value;
    ++*(int *) arg;
}

START_TEST(each_visits_all)
{
    int visits = 0;
    btl_map_each(&map, count, &visits);
    ck_assert_int_eq(visits, 0);
    for (size_t i = 0; i < 100; i++) {
        ck_assert_int_eq(btl_map_put(&map, keys + i, keys), ORTE_SUCCESS);
    }
    btl_map_each(&map, count, &visits);
    ck_assert_int_eq(visits, 100);
    btl_map_fini(&map);
}
END_TEST

START_TEST(graves_give_back_the_oldest)
{
    static struct check_graves graves;
    for (size_t i = 0; i < CHECK_GRAVES; i++) {
        ck_assert_ptr_null(check_bury(&graves, keys + i));
    }
    ck_assert_ptr_eq(check_bury(&graves, keys), keys);
    ck_assert_ptr_eq(check_bury(&graves, keys), keys + 1);
}
END_TEST

UNIT_MAIN("check-map")
