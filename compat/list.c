/* The classes of opal_list.h, and its longer functions. */
#include <config.h>

#include <opal/class/opal_list.h>

static void item_construct(opal_object_t *object)
{
    opal_list_item_t *item = (opal_list_item_t *) object;
    item->opal_list_next = item->opal_list_prev = NULL;
}

static void list_construct(opal_object_t *object)
{
    opal_list_t *list = (opal_list_t *) object;
    opal_list_item_t *sentinel = &list->opal_list_sentinel;
    OBJ_CONSTRUCT(sentinel, opal_list_item_t);
    sentinel->opal_list_next = sentinel->opal_list_prev = sentinel;
    list->opal_list_length = 0;
}

const opal_class_t opal_list_item_t_class = {
    .cls_name = "opal_list_item_t",
    .cls_parent = OBJ_CLASS(opal_object_t),
    .cls_construct = item_construct,
    .cls_sizeof = sizeof(opal_list_item_t),
};

const opal_class_t opal_list_t_class = {
    .cls_name = "opal_list_t",
    .cls_parent = OBJ_CLASS(opal_object_t),
    .cls_construct = list_construct,
    .cls_sizeof = sizeof(opal_list_t),
};

bool opal_list_insert(opal_list_t *list, opal_list_item_t *item, long long index)
{
    opal_list_item_t *position = opal_list_get_first(list);
    if (index < 0 || (unsigned long long) index >= opal_list_get_size(list)) {
        return false;
    }
    for (; index > 0; index--) {
        position = opal_list_get_next(position);
    }
    opal_list_insert_pos(list, position, item);
    return true;
}

void opal_list_splice(opal_list_t *list, opal_list_item_t *position, opal_list_t *other,
                      opal_list_item_t *first, opal_list_item_t *last)
{
    for (opal_list_item_t *item = first, *next; item != last; item = next) {
        next = opal_list_get_next(item);
        (void) opal_list_remove_item(other, item);
        opal_list_insert_pos(list, position, item);
    }
}

void opal_list_join(opal_list_t *list, opal_list_item_t *position, opal_list_t *other)
{
    opal_list_splice(list, position, other, opal_list_get_first(other), opal_list_get_end(other));
}
