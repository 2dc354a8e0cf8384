#include <config.h>

#include <keel/object.h>
#include <stdlib.h>

const opal_class_t opal_object_t_class = {
    .cls_name = "opal_object_t",
    .cls_sizeof = sizeof(opal_object_t),
};

opal_object_t *opal_obj_new(const opal_class_t *cls)
{
    opal_object_t *object = calloc(1, cls->cls_sizeof);
    if (object) {
        opal_obj_construct(object, cls);
    }
    return object;
}

static void construct_as(opal_object_t *object, const opal_class_t *cls)
{
    if (cls->cls_parent) {
        construct_as(object, cls->cls_parent);
    }
    if (cls->cls_construct) {
        cls->cls_construct(object);
    }
}

void opal_obj_construct(opal_object_t *object, const opal_class_t *cls)
{
    object->obj_class = cls;
    __atomic_store_n(&object->obj_reference_count, 1, __ATOMIC_RELAXED);
    construct_as(object, cls);
}

void opal_obj_destruct(opal_object_t *object)
{
    for (const opal_class_t *cls = object->obj_class; cls; cls = cls->cls_parent) {
        if (cls->cls_destruct) {
            cls->cls_destruct(object);
        }
    }
}

void opal_obj_retain(opal_object_t *object)
{
    __atomic_add_fetch(&object->obj_reference_count, 1, __ATOMIC_RELAXED);
}

/* The thread that drops the last reference sees what the others wrote before they dropped theirs.
 */
bool opal_obj_release(opal_object_t *object)
{
    if (!object || __atomic_sub_fetch(&object->obj_reference_count, 1, __ATOMIC_ACQ_REL) > 0) {
        return false;
    }
    opal_obj_destruct(object);
    free(object);
    return true;
}
