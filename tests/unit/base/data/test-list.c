#include <tests/lib/unit.h>

#include <base/data/list.h>
#include <string.h>

struct entry {
    char letter;
    struct list link;
};

static struct entry entries[6] = {{'a', {0}}, {'b', {0}}, {'c', {0}},
                                  {'d', {0}}, {'e', {0}}, {'f', {0}}};

static void prepare(void)
{
    for (int i = 0; i < 6; i++) {
        list_init(&entries[i].link);
    }
}

static void check_order(struct list *list, const char *letters)
{
    char forward[8] = "", backward[8] = "";
    size_t count = 0;
    struct entry *entry;
    list_for_each (entry, list, struct entry, link) {
        forward[count++] = entry->letter;
    }
    ck_assert_str_eq(forward, letters);
    for (struct list *link = list->prev; link != list; link = link->prev) {
        backward[--count] = container_of(link, struct entry, link)->letter;
    }
    ck_assert_str_eq(backward, letters);
}

START_TEST(orders)
{
    struct list list = LIST_INIT(list);
    prepare();
    ck_assert(list_empty(&list));
    check_order(&list, "");
    list_append(&list, &entries[1].link);
    list_append(&list, &entries[3].link);
    list_prepend(&list, &entries[0].link);
    list_insert_before(&entries[3].link, &entries[2].link);
    check_order(&list, "abcd");
    ck_assert(!list_empty(&list));
    list_remove(&entries[1].link);
    check_order(&list, "acd");
    ck_assert(list_empty(&entries[1].link)); /* a link that is on no list points to itself */
    list_remove(&entries[1].link);           /* and may be removed again */
    check_order(&list, "acd");
}
END_TEST

START_TEST(pops)
{
    struct list list = LIST_INIT(list);
    prepare();
    ck_assert_ptr_null(list_pop(&list));
    list_append(&list, &entries[0].link);
    list_append(&list, &entries[1].link);
    ck_assert_ptr_eq(list_pop(&list), &entries[0].link);
    ck_assert(list_empty(&entries[0].link));
    ck_assert_ptr_eq(list_pop(&list), &entries[1].link);
    ck_assert_ptr_null(list_pop(&list));
    ck_assert(list_empty(&list));
}
END_TEST

START_TEST(splices)
{
    struct list to = LIST_INIT(to), from = LIST_INIT(from);
    prepare();
    list_splice(&to, &from);
    check_order(&to, "");
    list_append(&from, &entries[0].link);
    list_append(&from, &entries[1].link);
    list_splice(&to, &from);
    check_order(&to, "ab");
    ck_assert(list_empty(&from));
    list_append(&from, &entries[2].link);
    list_splice(&to, &from);
    check_order(&to, "abc");
}
END_TEST

START_TEST(removes_while_it_walks)
{
    struct list list = LIST_INIT(list), other = LIST_INIT(other);
    struct entry *entry;
    prepare();
    for (int i = 0; i < 6; i++) {
        list_append(&list, &entries[i].link);
    }
    list_for_each (entry, &list, struct entry, link) {
        if (entry->letter % 2) {
            list_remove(&entry->link);
            list_append(&other, &entry->link);
        }
    }
    check_order(&list, "bdf");
    check_order(&other, "ace");
}
END_TEST

START_TEST(walks_within_a_walk)
{
    struct list list = LIST_INIT(list);
    struct entry *outer, *inner;
    int pairs = 0;
    prepare();
    for (int i = 0; i < 6; i++) {
        list_append(&list, &entries[i].link);
    }
    list_for_each (outer, &list, struct entry, link) {
        list_for_each (inner, &list, struct entry, link) {
            pairs += outer->letter < inner->letter;
        }
    }
    ck_assert_int_eq(pairs, 15);
}
END_TEST

UNIT_MAIN("list")
