#include <base/data/ids.h>
#include <tests/lib/unit.h>

enum { MANY = 1000 };

static int objects[MANY];
static uint64_t ids_of[MANY];

START_TEST(objects_are_found_by_their_numbers)
{
    struct ids ids;
    ids_init(&ids, UINT32_MAX);
    ck_assert_ptr_null(ids_find(&ids, (uint64_t) UINT32_MAX << 32));
    for (int i = 0; i < MANY; i++) {
        ck_assert(ids_add(&ids, &objects[i], &ids_of[i]));
    }
    for (int i = 0; i < MANY; i++) {
        ck_assert_ptr_eq(ids_find(&ids, ids_of[i]), &objects[i]);
        ck_assert_ptr_null(ids_find(&ids, ids_of[i] + ((uint64_t) 1 << 32)));
    }
    ck_assert_ptr_null(ids_find(&ids, ((uint64_t) UINT32_MAX << 32) + MANY));
    ids_fini(&ids);
}
END_TEST

START_TEST(a_number_is_stale_when_its_place_is_used_again)
{
    struct ids ids;
    uint64_t id, first;
    ids_init(&ids, UINT32_MAX);
    ck_assert(ids_add(&ids, &objects[0], &first));
    ids_remove(&ids, first);
    ck_assert_ptr_null(ids_find(&ids, first));
    ids_remove(&ids, first);
    ids_remove(&ids, 12345);
    for (int i = 1; i < MANY; i++) {
        ck_assert(ids_add(&ids, &objects[i], &id));
        ck_assert_uint_ne(id, first);
        ck_assert_ptr_null(ids_find(&ids, first));
        ck_assert_ptr_eq(ids_find(&ids, id), &objects[i]);
        ids_remove(&ids, id);
    }
    ck_assert_uint_eq(ids.count, 1);
    ids_fini(&ids);
}
END_TEST

START_TEST(places_are_used_again)
{
    struct ids ids;
    ids_init(&ids, 1);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            ck_assert(ids_add(&ids, &objects[i], &ids_of[i]));
        }
        ck_assert_uint_eq(ids.count, MANY);
        for (int i = round; i < MANY + round; i++) {
            ids_remove(&ids, ids_of[i % MANY]);
        }
    }
    ids_fini(&ids);
}
END_TEST

UNIT_MAIN("ids")
