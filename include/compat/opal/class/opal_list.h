/* opal_list_t: a list of objects that begin with an opal_list_item_t, each in one list at a time.
 * One thread at a time. The list does not own its items. */
#ifndef KEEL_COMPAT_OPAL_LIST_H
#define KEEL_COMPAT_OPAL_LIST_H

#include <opal/class/opal_object.h>

BEGIN_C_DECLS

struct opal_list_item_t {
    opal_object_t super;
    struct opal_list_item_t *opal_list_next; /* NULL: in no list */
    struct opal_list_item_t *opal_list_prev;
};
typedef struct opal_list_item_t opal_list_item_t;
extern const opal_class_t opal_list_item_t_class KEEL_PUBLIC(opal_list_item_t_class);

struct opal_list_t {
    opal_object_t super;
    opal_list_item_t opal_list_sentinel; /* stands before the first item and behind the last */
    size_t opal_list_length;
};
typedef struct opal_list_t opal_list_t;
extern const opal_class_t opal_list_t_class KEEL_PUBLIC(opal_list_t_class);

/* The neighbours of an item, of whatever type that begins with one; the sentinel at the ends. */
#define opal_list_get_next(item) (((opal_list_item_t *) (item))->opal_list_next)
#define opal_list_get_prev(item) (((opal_list_item_t *) (item))->opal_list_prev)

/* first and last of an empty list are its end and begin. */
static inline opal_list_item_t *opal_list_get_first(opal_list_t *list)
{
    return list->opal_list_sentinel.opal_list_next;
}

static inline opal_list_item_t *opal_list_get_last(opal_list_t *list)
{
    return list->opal_list_sentinel.opal_list_prev;
}

static inline opal_list_item_t *opal_list_get_begin(opal_list_t *list)
{
    return &list->opal_list_sentinel;
}

static inline opal_list_item_t *opal_list_get_end(opal_list_t *list)
{
    return &list->opal_list_sentinel;
}

static inline bool opal_list_is_empty(opal_list_t *list)
{
    return opal_list_get_first(list) == opal_list_get_end(list);
}

static inline size_t opal_list_get_size(opal_list_t *list)
{
    return list->opal_list_length;
}

/* Before an item that is in the list, or its end. */
static inline void opal_list_insert_pos(opal_list_t *list, opal_list_item_t *position,
                                        opal_list_item_t *item)
{
    item->opal_list_next = position;
    item->opal_list_prev = position->opal_list_prev;
    position->opal_list_prev->opal_list_next = item;
    position->opal_list_prev = item;
    list->opal_list_length++;
}

static inline void opal_list_append(opal_list_t *list, opal_list_item_t *item)
{
    opal_list_insert_pos(list, opal_list_get_end(list), item);
}

static inline void opal_list_prepend(opal_list_t *list, opal_list_item_t *item)
{
    opal_list_insert_pos(list, opal_list_get_first(list), item);
}

/* Before the item with this index; false: there is none. */
bool opal_list_insert(opal_list_t *list, opal_list_item_t *item, long long index)
    KEEL_PUBLIC(opal_list_insert);
/* Moves the items of other from first up to, and without, last before an item of list, or its end.
 * The two may be one list, if the position is not among what is moved. */
void opal_list_splice(opal_list_t *list, opal_list_item_t *position, opal_list_t *other,
                      opal_list_item_t *first, opal_list_item_t *last)
    KEEL_PUBLIC(opal_list_splice);
/* The same with all items of other, which is another list. */
void opal_list_join(opal_list_t *list, opal_list_item_t *position, opal_list_t *other)
    KEEL_PUBLIC(opal_list_join);

/* Returns the item before it. */
static inline opal_list_item_t *opal_list_remove_item(opal_list_t *list, opal_list_item_t *item)
{
    opal_list_item_t *before = item->opal_list_prev;
    before->opal_list_next = item->opal_list_next;
    item->opal_list_next->opal_list_prev = before;
    item->opal_list_next = item->opal_list_prev = NULL;
    list->opal_list_length--;
    return before;
}

/* The item taken, or NULL from an empty list. */
static inline opal_list_item_t *opal_list_remove_first(opal_list_t *list)
{
    opal_list_item_t *item = opal_list_get_first(list);
    if (opal_list_is_empty(list)) {
        return NULL;
    }
    (void) opal_list_remove_item(list, item);
    return item;
}

static inline opal_list_item_t *opal_list_remove_last(opal_list_t *list)
{
    opal_list_item_t *item = opal_list_get_last(list);
    if (opal_list_is_empty(list)) {
        return NULL;
    }
    (void) opal_list_remove_item(list, item);
    return item;
}

END_C_DECLS
#endif
