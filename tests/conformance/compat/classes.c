/* Objects: classes of the program's own, lists, bit sets, references. */
#include "old.h"

#include "opal/class/opal_bitmap.h"
#include "opal/class/opal_list.h"

static int alive;

typedef struct {
    opal_list_item_t super;
    int number;
    char *text;
} entry_t;
OBJ_CLASS_DECLARATION(entry_t);

static void entry_construct(entry_t *entry)
{
    CHECK(NULL == entry->super.opal_list_next); /* the parent's constructor ran before */
    entry->number = 0;
    entry->text = NULL;
    alive++;
}

static void entry_destruct(entry_t *entry)
{
    free(entry->text);
    alive--;
}

OBJ_CLASS_INSTANCE(entry_t, opal_list_item_t, entry_construct, entry_destruct);

typedef struct {
    entry_t super;
    opal_buffer_t buffer;
} letter_t;
OBJ_CLASS_DECLARATION(letter_t);

static void letter_construct(letter_t *letter)
{
    CHECK(1 == alive); /* the parent's constructor ran before */
    OBJ_CONSTRUCT(&letter->buffer, opal_buffer_t);
}

static void letter_destruct(letter_t *letter)
{
    CHECK(1 == alive); /* the parent's destructor runs after */
    OBJ_DESTRUCT(&letter->buffer);
}

OBJ_CLASS_INSTANCE(letter_t, entry_t, letter_construct, letter_destruct);

static void lists(void)
{
    opal_list_t list;
    opal_list_item_t *item;
    entry_t *entry;
    int i, expected = 0;

    OBJ_CONSTRUCT(&list, opal_list_t);
    CHECK(opal_list_is_empty(&list));
    CHECK(NULL == opal_list_remove_first(&list) && NULL == opal_list_remove_last(&list));
    for (i = 1; i < 10; i++) {
        entry = OBJ_NEW(entry_t);
        entry->number = i;
        entry->text = strdup("text");
        opal_list_append(&list, &entry->super);
    }
    entry = OBJ_NEW(entry_t);
    opal_list_prepend(&list, &entry->super);
    CHECK(10 == opal_list_get_size(&list) && 10 == alive);
    for (item = opal_list_get_first(&list); item != opal_list_get_end(&list);
         item = opal_list_get_next(item)) {
        CHECK(((entry_t *) item)->number == expected++);
    }
    for (item = opal_list_get_last(&list); item != opal_list_get_begin(&list);
         item = opal_list_get_prev(item)) {
        CHECK(((entry_t *) item)->number == --expected);
    }
    item = opal_list_get_next(opal_list_get_first(&list));
    CHECK(opal_list_get_first(&list) == opal_list_remove_item(&list, item));
    OBJ_RELEASE(item);
    item = opal_list_remove_last(&list);
    CHECK(9 == ((entry_t *) item)->number);
    OBJ_RELEASE(item);
    while (NULL != (item = opal_list_remove_first(&list))) {
        OBJ_RELEASE(item);
    }
    CHECK(0 == opal_list_get_size(&list) && 0 == alive);
    OBJ_DESTRUCT(&list);
}

static entry_t *add_entry(opal_list_t *list, int number)
{
    entry_t *entry = OBJ_NEW(entry_t);
    entry->number = number;
    opal_list_append(list, &entry->super);
    return entry;
}

/* The list holds the numbers from first up to last, with prev and next in order, and is emptied. */
static void check_and_empty(opal_list_t *list, int first, int last)
{
    opal_list_item_t *item = opal_list_get_last(list);
    CHECK(opal_list_get_size(list) == (size_t) (last - first + 1));
    CHECK(first > last || ((entry_t *) item)->number == last);
    for (; first <= last; first++) {
        item = opal_list_remove_first(list);
        CHECK(NULL != item && ((entry_t *) item)->number == first);
        OBJ_RELEASE(item);
    }
    CHECK(opal_list_is_empty(list));
    OBJ_DESTRUCT(list);
}

static void whole_lists(void)
{
    opal_list_t list, other;
    entry_t *entry = OBJ_NEW(entry_t);
    int i;

    OBJ_CONSTRUCT(&list, opal_list_t);
    OBJ_CONSTRUCT(&other, opal_list_t);
    CHECK(!opal_list_insert(&list, &entry->super, 0)); /* before nothing */
    for (i = 1; i < 8; i++) {
        add_entry(i < 3 || i > 5 ? &list : &other, i);
    }
    CHECK(!opal_list_insert(&list, &entry->super, 4));
    CHECK(!opal_list_insert(&list, &entry->super, -1));
    CHECK(opal_list_insert(&list, &entry->super, 0)); /* 0 1 2 6 7, and 3 4 5 */
    opal_list_splice(&list, opal_list_get_prev(opal_list_get_last(&list)), &other,
                     opal_list_get_first(&other), opal_list_get_last(&other));
    CHECK(7 == opal_list_get_size(&list) && 1 == opal_list_get_size(&other));
    entry = (entry_t *) opal_list_remove_first(&other);
    CHECK(5 == entry->number);
    CHECK(opal_list_insert(&list, &entry->super, 5));
    check_and_empty(&other, 0, -1);

    OBJ_CONSTRUCT(&other, opal_list_t);
    add_entry(&other, 8);
    add_entry(&other, 9);
    opal_list_join(&list, opal_list_get_end(&list), &other);
    CHECK(opal_list_is_empty(&other) && 0 == opal_list_get_size(&other));
    opal_list_join(&list, opal_list_get_end(&list), &other); /* of nothing */
    check_and_empty(&list, 0, 9);
    OBJ_DESTRUCT(&other);
    CHECK(0 == alive);
}

static void references(void)
{
    letter_t *letter = OBJ_NEW(letter_t), *same = letter;
    letter_t here;
    int32_t number = 1;

    OBJ_RETAIN(letter);
    OBJ_RELEASE(letter);
    CHECK(letter == same && 1 == alive);
    CHECK(OPAL_SUCCESS == opal_dss.pack(&letter->buffer, &number, 1, OPAL_INT32));
    OBJ_RELEASE(letter);
    CHECK(NULL == letter && 0 == alive);
    OBJ_CONSTRUCT(&here, letter_t);
    CHECK(1 == alive);
    OBJ_DESTRUCT(&here);
    CHECK(0 == alive);
}

static void bit_sets(void)
{
    opal_bitmap_t bits;
    int free_bit = -1;

    OBJ_CONSTRUCT(&bits, opal_bitmap_t);
    CHECK(OPAL_SUCCESS == opal_bitmap_init(&bits, 8));
    CHECK(OPAL_SUCCESS == opal_bitmap_set_bit(&bits, 100));
    CHECK(opal_bitmap_is_set_bit(&bits, 100) && !opal_bitmap_is_set_bit(&bits, 99));
    CHECK(OPAL_SUCCESS == opal_bitmap_find_and_set_first_unset_bit(&bits, &free_bit));
    CHECK(0 == free_bit);
    OBJ_DESTRUCT(&bits);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    lists();
    whole_lists();
    references();
    bit_sets();
    return end();
}
