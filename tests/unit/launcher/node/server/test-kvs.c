#include <config.h>

#include <launcher/node/server/kvs.h>
#include <stdio.h>
#include <string.h>
#include <tests/lib/unit.h>

START_TEST(test_what_is_put_is_found_once)
{
    struct kvs *kvs;
    ck_assert_int_eq(kvs_create(&kvs, 4096), ORTE_SUCCESS);
    ck_assert_ptr_null(kvs_get(kvs, "a"));
    ck_assert_int_eq(kvs_put(kvs, "a", "1"), ORTE_SUCCESS);
    ck_assert_int_eq(kvs_put(kvs, "", ""), ORTE_SUCCESS);
    ck_assert_int_eq(kvs_put(kvs, "a", "2"), ORTE_EXISTS);
    ck_assert_str_eq(kvs_get(kvs, "a"), "1");
    ck_assert_str_eq(kvs_get(kvs, ""), "");
    ck_assert_int_eq(kvs_remove(kvs, "b"), ORTE_ERR_NOT_FOUND);
    ck_assert_int_eq(kvs_remove(kvs, "a"), ORTE_SUCCESS);
    ck_assert_ptr_null(kvs_get(kvs, "a"));
    ck_assert_int_eq(kvs_put(kvs, "a", "2"), ORTE_SUCCESS);
    ck_assert_str_eq(kvs_get(kvs, "a"), "2");
    kvs_destroy(kvs);
    kvs_destroy(NULL);
}
END_TEST

START_TEST(test_many_keys)
{
    enum { KEYS = 5000 };
    struct kvs *kvs;
    char key[32], value[32];
    ck_assert_int_eq(kvs_create(&kvs, 1 << 20), ORTE_SUCCESS);
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        snprintf(value, sizeof(value), "%d", i * 3);
        ck_assert_int_eq(kvs_put(kvs, key, value), ORTE_SUCCESS);
    }
    for (int i = 0; i < KEYS; i += 2) {
        snprintf(key, sizeof(key), "key-%d", i);
        ck_assert_int_eq(kvs_remove(kvs, key), ORTE_SUCCESS);
    }
    for (int i = 0; i < KEYS; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        snprintf(value, sizeof(value), "%d", i * 3);
        ck_assert_pstr_eq(kvs_get(kvs, key), i % 2 ? value : NULL);
    }
    kvs_destroy(kvs);
}
END_TEST

START_TEST(test_the_limit_holds_and_removed_bytes_come_back)
{
    struct kvs *kvs;
    char long_value[600], key[16];
    int count = 0, status;
    memset(long_value, 'x', sizeof(long_value) - 1);
    long_value[sizeof(long_value) - 1] = '\0';
    ck_assert_int_eq(kvs_create(&kvs, 4096), ORTE_SUCCESS);
    do {
        snprintf(key, sizeof(key), "%d", count++);
        status = kvs_put(kvs, key, long_value);
    } while (status == ORTE_SUCCESS);
    ck_assert_int_eq(status, ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(count, 7); /* six fit */
    ck_assert_int_eq(kvs_remove(kvs, "0"), ORTE_SUCCESS);
    ck_assert_int_eq(kvs_put(kvs, key, long_value), ORTE_SUCCESS);
    ck_assert_int_eq(kvs_put(kvs, "more", long_value), ORTE_ERR_OUT_OF_RESOURCE);
    kvs_destroy(kvs);
}
END_TEST

UNIT_MAIN("kvs")
