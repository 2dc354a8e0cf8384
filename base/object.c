#include <config.h>

#include <keel/object.h>
#include <stdlib.h>

opal_object_t *opal_obj_new(const opal_class_t *cls)
{
    opal_object_t *object = calloc(1, cls->cls_size);
    if (object) {
        opal_obj_construct(object, cls);
    }
    return object;
}

void opal_obj_construct(opal_object_t *object, const opal_class_t *cls)
{
    object->obj_class = cls;
    __atomic_store_n(&object->obj_reference_count, 1, __ATOMIC_RELAXED);
    if (cls->cls_construct) {
        cls->cls_construct(object);
    }
}

void opal_obj_destruct(opal_object_t *object)
{
    if (object->obj_class->cls_destruct) {
        object->obj_class->cls_destruct(object);
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
