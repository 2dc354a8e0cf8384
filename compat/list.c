/* The classes of opal_list.h, whose functions stand there. */
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
