/* A hash table of structs that hold their link. */
#include <config.h>

#include <base/data/hash.h>
#include <base/data/list.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { ELEMENTS = 1000 };

struct element {
    struct hash_link link;
    unsigned number;
    bool seen;
};

static struct element elements[ELEMENTS];
static struct hash_table table;

/* Some hashes are shared by several. */
static uint32_t hash_of(unsigned number)
{
    return hash_of_number(number / 3);
}

static struct element *find(unsigned number)
{
    struct hash_link *link = hash_first(&table, hash_of(number));
    while (link && container_of(link, struct element, link)->number != number) {
        link = hash_next(link);
    }
    return link ? container_of(link, struct element, link) : NULL;
}

static void fill(void)
{
    for (unsigned i = 0; i < ELEMENTS; i++) {
        elements[i] = (struct element){.number = i};
        ck_assert(hash_add(&table, &elements[i].link, hash_of(i)));
    }
}

static void see(struct hash_link *link, void *arg)
{
    struct element *element = container_of(link, struct element, link);
    unsigned *count = arg;
    ck_assert(!element->seen);
    element->seen = true;
    (*count)++;
}

static void take_out(struct hash_link *link, void *arg)
{
    (void) arg;
    hash_remove(&table, link);
    memset(link, 0xff, sizeof(*link));
}

START_TEST(an_empty_table_has_nothing)
{
    unsigned count = 0;
    ck_assert_ptr_null(hash_first(&table, 0));
    hash_each(&table, see, &count);
    ck_assert_uint_eq(count, 0);
    hash_fini(&table);
}
END_TEST

START_TEST(what_was_added_is_found)
{
    unsigned count = 0;
    fill();
    ck_assert_uint_eq(table.count, ELEMENTS);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        ck_assert_ptr_eq(find(i), &elements[i]);
    }
    ck_assert_ptr_null(find(ELEMENTS + 2));
    hash_each(&table, see, &count);
    ck_assert_uint_eq(count, ELEMENTS);
    hash_fini(&table);
    ck_assert_uint_eq(table.count, 0);
}
END_TEST

START_TEST(what_was_removed_is_not)
{
    fill();
    for (unsigned i = 0; i < ELEMENTS; i += 2) {
        hash_remove(&table, &elements[i].link);
    }
    for (unsigned i = 0; i < ELEMENTS; i++) {
        ck_assert_ptr_eq(find(i), i % 2 == 0 ? NULL : &elements[i]);
    }
    ck_assert_uint_eq(table.count, ELEMENTS / 2);
    hash_each(&table, take_out, NULL);
    ck_assert_uint_eq(table.count, 0);
    hash_fini(&table);
}
END_TEST

START_TEST(strings_are_told_apart)
{
    ck_assert_uint_eq(hash_of_string(""), 2166136261u);
    ck_assert_uint_eq(hash_of_string("a"), 0xe40c292cu); /* FNV-1a's own example */
    ck_assert_uint_ne(hash_of_string("ab"), hash_of_string("ba"));
}
END_TEST

UNIT_MAIN("hash")
