/* What is published, for whom, for how long; and how answers travel. */
#include <config.h>

#include <launcher/pmix/exchange/published.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static struct published *published;

static struct publish_party party(const char *nspace, uint32_t rank, uint32_t daemon)
{
    struct publish_party party = {.daemon = daemon};
    PMIX_LOAD_PROCID(&party.rank, nspace, rank);
    return party;
}

static pmix_status_t add(const struct publish_party *who, pmix_data_range_t range,
                         pmix_persistence_t persistence, const char *key, const char *value)
{
    struct pmix_item item = {key, value, strlen(value)};
    return published_add(published, who, (struct pmix_scope){range, persistence}, &item);
}

static bool sees(const struct publish_party *who, pmix_data_range_t range, const char *key,
                 const char *value)
{
    struct pmix_found found;
    return published_find(published, who, range, key, &found) && found.size == strlen(value) &&
           memcmp(found.value, value, found.size) == 0 && strcmp(found.key, key) == 0;
}

START_TEST(ranges)
{
    struct publish_party a = party("job", 0, 0), near = party("job", 1, 0),
                         far = party("job", 2, 1), other = party("other", 0, 0);
    published = published_create();
    ck_assert_int_eq(add(&a, PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION, "s", "1"), PMIX_SUCCESS);
    ck_assert_int_eq(add(&a, PMIX_RANGE_LOCAL, PMIX_PERSIST_SESSION, "l", "2"), PMIX_SUCCESS);
    ck_assert_int_eq(add(&a, PMIX_RANGE_NAMESPACE, PMIX_PERSIST_SESSION, "n", "3"), PMIX_SUCCESS);
    ck_assert_int_eq(add(&a, PMIX_RANGE_PROC_LOCAL, PMIX_PERSIST_SESSION, "p", "4"), PMIX_SUCCESS);
    ck_assert_int_eq(add(&a, PMIX_RANGE_CUSTOM, PMIX_PERSIST_SESSION, "c", "5"),
                     PMIX_ERR_BAD_PARAM);
    ck_assert_int_eq(add(&a, PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION, "", "6"),
                     PMIX_ERR_BAD_PARAM);
    ck_assert(sees(&far, PMIX_RANGE_SESSION, "s", "1"));
    ck_assert(sees(&other, PMIX_RANGE_GLOBAL, "s", "1"));
    ck_assert(!sees(&other, PMIX_RANGE_NAMESPACE, "s", "1"));
    ck_assert(sees(&near, PMIX_RANGE_SESSION, "l", "2"));
    ck_assert(!sees(&far, PMIX_RANGE_SESSION, "l", "2"));
    ck_assert(sees(&far, PMIX_RANGE_SESSION, "n", "3"));
    ck_assert(!sees(&other, PMIX_RANGE_SESSION, "n", "3"));
    ck_assert(sees(&a, PMIX_RANGE_SESSION, "p", "4"));
    ck_assert(!sees(&near, PMIX_RANGE_SESSION, "p", "4"));
    published_destroy(published);
}
END_TEST

START_TEST(one_of_each)
{
    struct publish_party a = party("job", 0, 0), b = party("job", 1, 1);
    published = published_create();
    ck_assert_int_eq(add(&a, PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION, "k", "1"), PMIX_SUCCESS);
    ck_assert_int_eq(add(&b, PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION, "k", "2"),
                     PMIX_ERR_DUPLICATE_KEY);
    published_remove(published, &b.rank, "k"); /* not its own */
    ck_assert(sees(&b, PMIX_RANGE_SESSION, "k", "1"));
    published_remove(published, &a.rank, "k");
    ck_assert(!sees(&b, PMIX_RANGE_SESSION, "k", "1"));
    ck_assert_int_eq(add(&b, PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION, "k", "2"), PMIX_SUCCESS);
    ck_assert_int_eq(add(&b, PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION, "j", ""), PMIX_SUCCESS);
    published_remove(published, &b.rank, NULL);
    ck_assert(!sees(&b, PMIX_RANGE_SESSION, "j", ""));
    published_destroy(published);
}
END_TEST

START_TEST(read_once)
{
    struct publish_party a = party("job", 0, 0);
    struct pmix_found found;
    published = published_create();
    ck_assert_int_eq(add(&a, PMIX_RANGE_SESSION, PMIX_PERSIST_FIRST_READ, "k", "1"), PMIX_SUCCESS);
    ck_assert_int_eq(add(&a, PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION, "j", "2"), PMIX_SUCCESS);
    ck_assert(published_find(published, &a, PMIX_RANGE_SESSION, "k", &found));
    published_was_read(published, &found);
    ck_assert(!sees(&a, PMIX_RANGE_SESSION, "k", "1"));
    ck_assert(published_find(published, &a, PMIX_RANGE_SESSION, "j", &found));
    published_was_read(published, &found);
    ck_assert(sees(&a, PMIX_RANGE_SESSION, "j", "2"));
    published_destroy(published);
}
END_TEST

START_TEST(limits)
{
    struct publish_party a = party("job", 0, 0);
    char *value = calloc(1, 1u << 20);
    pmix_status_t status = PMIX_SUCCESS;
    int count = 0;
    published = published_create();
    for (; status == PMIX_SUCCESS && count < 100; count++) {
        char key[16];
        snprintf(key, sizeof(key), "k%d", count);
        struct pmix_item item = {key, value, 1u << 20};
        status = published_add(
            published, &a, (struct pmix_scope){PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION}, &item);
    }
    ck_assert_int_eq(status, PMIX_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(count, 64); /* the last of them did not fit beside the keys */
    published_remove(published, &a.rank, NULL);
    ck_assert_int_eq(add(&a, PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION, "k", "1"), PMIX_SUCCESS);
    published_destroy(published);
    free(value);
}
END_TEST

static size_t put_two(uint8_t *to)
{
    struct pmix_found one = {.key = "first", .value = "abc", .size = 3};
    struct pmix_found two = {.key = "second", .value = "", .size = 0};
    PMIX_LOAD_PROCID(&one.publisher, "job", 0x01020304);
    PMIX_LOAD_PROCID(&two.publisher, "other", 5);
    size_t used = pmix_found_put(to, &one);
    return used + pmix_found_put(to ? to + used : NULL, &two);
}

START_TEST(answers)
{
    size_t size = put_two(NULL), left = size;
    uint8_t *bytes = malloc(size);
    const uint8_t *at = bytes;
    struct pmix_found found;
    ck_assert_uint_eq(put_two(bytes), size);
    ck_assert_mem_eq(bytes, "\x04\x03\x02\x01\x03\0\0\0\x04\0\0\0\x06\0\0\0job\0first\0abc", 29);
    ck_assert(pmix_found_next(&at, &left, &found));
    ck_assert_str_eq(found.publisher.nspace, "job");
    ck_assert_uint_eq(found.publisher.rank, 0x01020304);
    ck_assert_str_eq(found.key, "first");
    ck_assert_mem_eq(found.value, "abc", 3);
    ck_assert(pmix_found_next(&at, &left, &found));
    ck_assert_str_eq(found.key, "second");
    ck_assert_uint_eq(found.size, 0);
    ck_assert(!pmix_found_next(&at, &left, &found));
    ck_assert_uint_eq(left, 0);
    free(bytes);
}
END_TEST

START_TEST(broken_answers)
{
    size_t size = put_two(NULL);
    struct pmix_found found;
    uint8_t *whole = malloc(size);
    put_two(whole);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *bytes = malloc(cut ? cut : 1);
        memcpy(bytes, whole, cut);
        const uint8_t *at = bytes;
        size_t left = cut;
        int count = 0;
        while (pmix_found_next(&at, &left, &found)) {
            count++;
        }
        ck_assert_int_lt(count, 2);
        free(bytes);
    }
    for (int field = 1; field < 4; field++) {
        uint8_t bytes[64];
        const uint8_t *at = bytes;
        size_t left = 29;
        memcpy(bytes, whole, left);
        memset(bytes + 4 * field, 0xff, 4);
        ck_assert(!pmix_found_next(&at, &left, &found));
    }
    free(whole);
}
END_TEST

UNIT_MAIN("pmix-published")
