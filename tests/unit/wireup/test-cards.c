#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>
#include <wireup/cards.h>

enum { RANKS = 3 };

static struct blob set;

static void add(const char *key, const char *text)
{
    ck_assert_int_eq(cards_add(&set, key, text, strlen(text)), ORTE_SUCCESS);
}

static void assert_card(const struct blob *from, const char *key, const char *text)
{
    const uint8_t *data;
    size_t size;
    ck_assert_msg(cards_find(from, key, &data, &size) == ORTE_SUCCESS, "no card %s", key);
    ck_assert_uint_eq(size, strlen(text));
    ck_assert(memcmp(data, text, size) == 0);
}

static void free_sets(struct blob sets[RANKS])
{
    for (int rank = 0; rank < RANKS; rank++) {
        blob_fini(&sets[rank]);
    }
}

START_TEST(test_what_is_added_is_found)
{
    const uint8_t *data;
    size_t size;
    add("btl.sm", "one");
    add("btl.tcp", "two");
    add("empty", "");
    assert_card(&set, "btl.sm", "one");
    assert_card(&set, "btl.tcp", "two");
    assert_card(&set, "empty", "");
    ck_assert_int_eq(cards_find(&set, "btl", &data, &size), ORTE_ERR_NOT_FOUND);
    ck_assert_int_eq(cards_find(&set, "btl.sm2", &data, &size), ORTE_ERR_NOT_FOUND);
    ck_assert_int_eq(cards_check(set.data, set.size), ORTE_SUCCESS);
    blob_fini(&set);
}
END_TEST

START_TEST(test_a_key_is_there_once)
{
    add("key", "first");
    size_t size = set.size;
    ck_assert_int_eq(cards_add(&set, "key", "second", 6), ORTE_EXISTS);
    ck_assert_uint_eq(set.size, size);
    assert_card(&set, "key", "first");
    blob_fini(&set);
}
END_TEST

START_TEST(test_bad_keys_and_sizes_are_refused)
{
    char key[CARD_KEY_MAX + 2];
    memset(key, 'k', sizeof(key));
    key[CARD_KEY_MAX + 1] = 0;
    ck_assert_int_eq(cards_add(&set, key, "x", 1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(cards_add(&set, "", "x", 1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(cards_add(&set, "a b", "x", 1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(cards_add(&set, "a\n", "x", 1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(cards_add(&set, "\xc3\xa4", "x", 1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(cards_add(&set, NULL, "x", 1), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(cards_add(&set, "key", NULL, 1), ORTE_ERR_BAD_PARAM);
    void *much = calloc(1, CARD_SIZE_MAX + 1);
    ck_assert_int_eq(cards_add(&set, "key", much, CARD_SIZE_MAX + 1), ORTE_ERR_BAD_PARAM);
    ck_assert_uint_eq(set.size, 0);
    key[CARD_KEY_MAX] = 0;
    ck_assert_int_eq(cards_add(&set, key, much, CARD_SIZE_MAX), ORTE_SUCCESS);
    free(much);
    blob_fini(&set);
}
END_TEST

START_TEST(test_sets_go_to_their_ranks)
{
    struct blob collection = {0}, sets[RANKS] = {0};
    add("a", "1");
    ck_assert_int_eq(cards_collect(&collection, 2, set.data, set.size), ORTE_SUCCESS);
    add("b", "2");
    ck_assert_int_eq(cards_collect(&collection, 0, set.data, set.size), ORTE_SUCCESS);
    ck_assert_int_eq(cards_collect(&collection, 1, NULL, 0), ORTE_SUCCESS);
    ck_assert_int_eq(cards_merge(sets, RANKS, collection.data, collection.size), ORTE_SUCCESS);
    assert_card(&sets[2], "a", "1");
    assert_card(&sets[0], "b", "2");
    ck_assert_uint_eq(sets[1].size, 0);
    /* what comes later is added to it */
    blob_fini(&set);
    blob_fini(&collection);
    add("c", "3");
    ck_assert_int_eq(cards_collect(&collection, 2, set.data, set.size), ORTE_SUCCESS);
    ck_assert_int_eq(cards_merge(sets, RANKS, collection.data, collection.size), ORTE_SUCCESS);
    assert_card(&sets[2], "a", "1");
    assert_card(&sets[2], "c", "3");
    free_sets(sets);
    blob_fini(&collection);
    blob_fini(&set);
}
END_TEST

/* Exact copies, so that a sanitizer sees a read behind them. */
static int check_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    int status = cards_check(copy, size);
    free(copy);
    return status;
}

START_TEST(test_a_set_that_ends_too_early_is_refused)
{
    add("first", "12345");
    size_t first = set.size;
    add("second", "123");
    for (size_t size = 0; size < set.size; size++) {
        int expected = size == 0 || size == first ? ORTE_SUCCESS : ORTE_ERR_BAD_PARAM;
        ck_assert_int_eq(check_copy(set.data, size), expected);
    }
    blob_fini(&set);
}
END_TEST

START_TEST(test_hostile_sets_are_refused)
{
    static const uint8_t no_key[] = {0, 0, 0, 0, 0};
    static const uint8_t long_key[] = {64, 'k', 0, 0, 0, 0};
    static const uint8_t huge[] = {1, 'k', 0xff, 0xff, 0xff, 0xff, 'x'};
    static const uint8_t large[] = {1, 'k', 1, 0, 1, 0, 'x'}; /* CARD_SIZE_MAX + 1 */
    ck_assert_int_eq(check_copy(no_key, sizeof(no_key)), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(check_copy(long_key, sizeof(long_key)), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(check_copy(huge, sizeof(huge)), ORTE_ERR_BAD_PARAM);
    ck_assert_int_eq(check_copy(large, sizeof(large)), ORTE_ERR_BAD_PARAM);
    struct blob bad = {(uint8_t *) (uintptr_t) huge, sizeof(huge), sizeof(huge)};
    const uint8_t *data;
    size_t size;
    ck_assert_int_eq(cards_find(&bad, "other", &data, &size), ORTE_ERR_BAD_PARAM);
}
END_TEST

static int merge_copy(struct blob sets[RANKS], const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    int status = cards_merge(sets, RANKS, copy, size);
    free(copy);
    return status;
}

START_TEST(test_of_a_bad_collection_nothing_is_taken)
{
    struct blob collection = {0}, sets[RANKS] = {0};
    add("key", "data");
    ck_assert_int_eq(cards_collect(&collection, 0, set.data, set.size), ORTE_SUCCESS);
    size_t first = collection.size;
    ck_assert_int_eq(cards_collect(&collection, 1, set.data, set.size), ORTE_SUCCESS);
    for (size_t size = 1; size < collection.size; size++) {
        if (size != first) {
            ck_assert_int_eq(merge_copy(sets, collection.data, size), ORTE_ERR_BAD_PARAM);
        }
    }
    collection.data[first] = RANKS; /* the second's rank */
    ck_assert_int_eq(merge_copy(sets, collection.data, collection.size), ORTE_ERR_BAD_PARAM);
    collection.data[first] = 1;
    collection.data[first + 7] = 0xff; /* its size */
    ck_assert_int_eq(merge_copy(sets, collection.data, collection.size), ORTE_ERR_BAD_PARAM);
    ck_assert_uint_eq(sets[0].size, 0);
    free_sets(sets);
    blob_fini(&collection);
    blob_fini(&set);
}
END_TEST

START_TEST(test_noise_is_survived)
{
    struct blob collection = {0};
    add("first", "12345");
    add("second", "123");
    ck_assert_int_eq(cards_collect(&collection, 0, set.data, set.size), ORTE_SUCCESS);
    ck_assert_int_eq(cards_collect(&collection, 1, set.data, set.size), ORTE_SUCCESS);
    srandom(1);
    for (int round = 0; round < 20000; round++) {
        struct blob sets[RANKS] = {0};
        uint8_t saved = 0;
        size_t at = (size_t) random() % collection.size;
        saved = collection.data[at];
        collection.data[at] = (uint8_t) random();
        if (merge_copy(sets, collection.data, collection.size) == ORTE_SUCCESS) {
            ck_assert_int_eq(cards_check(sets[0].data, sets[0].size), ORTE_SUCCESS);
        }
        free_sets(sets);
        collection.data[at] = saved;
    }
    blob_fini(&collection);
    blob_fini(&set);
}
END_TEST

UNIT_MAIN("cards")
