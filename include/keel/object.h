/* Reference-counted objects, by the names that ORTE's programs use: OBJ_NEW and its family. */
#ifndef KEEL_OBJECT_H
#define KEEL_OBJECT_H

#include <keel/types.h>

BEGIN_C_DECLS

struct opal_object_t;
typedef void (*opal_construct_t)(struct opal_object_t *object);
typedef void (*opal_destruct_t)(struct opal_object_t *object);

typedef struct opal_class_t {
    const char *cls_name;
    const struct opal_class_t *cls_parent; /* constructed before, destructed after; NULL: none */
    opal_construct_t cls_construct;        /* may be NULL */
    opal_destruct_t cls_destruct;          /* may be NULL */
    size_t cls_sizeof;
} opal_class_t;

typedef struct opal_object_t {
    const opal_class_t *obj_class;
    int32_t obj_reference_count; /* changed atomically */
} opal_object_t;

/* Effect of the macros: NEW mallocs and constructs (NULL without memory); CONSTRUCT prepares memory
 * that the caller owns; RETAIN and RELEASE count, from any thread; the last RELEASE destructs and
 * frees, and sets the variable to NULL. DESTRUCT undoes CONSTRUCT. */
opal_object_t *opal_obj_new(const opal_class_t *cls) KEEL_PUBLIC(opal_obj_new);
void opal_obj_construct(opal_object_t *object, const opal_class_t *cls)
    KEEL_PUBLIC(opal_obj_construct);
void opal_obj_destruct(opal_object_t *object) KEEL_PUBLIC(opal_obj_destruct);
void opal_obj_retain(opal_object_t *object) KEEL_PUBLIC(opal_obj_retain);
bool opal_obj_release(opal_object_t *object) KEEL_PUBLIC(opal_obj_release); /* true: freed */

#define OBJ_CLASS(type) (&type##_class)
/* A class of the application's: a type that begins with its parent's struct. The functions take a
 * pointer to the type, or are NULL. */
#define OBJ_CLASS_DECLARATION(type) extern const opal_class_t type##_class
#define OBJ_CLASS_INSTANCE(type, parent, construct, destruct)                                    \
    const opal_class_t type##_class = {#type, OBJ_CLASS(parent), (opal_construct_t) (construct), \
                                       (opal_destruct_t) (destruct), sizeof(type)}
/* The initial value of an object with static storage; its constructor does not run. */
#define OPAL_OBJ_STATIC_INIT(type) \
    {                              \
        OBJ_CLASS(type), 1         \
    }
#define OBJ_NEW(type) ((type *) opal_obj_new(OBJ_CLASS(type)))
#define OBJ_CONSTRUCT(object, type) opal_obj_construct((opal_object_t *) (object), OBJ_CLASS(type))
#define OBJ_DESTRUCT(object) opal_obj_destruct((opal_object_t *) (object))
#define OBJ_RETAIN(object) opal_obj_retain((opal_object_t *) (object))
#define OBJ_RELEASE(object)                                 \
    do {                                                    \
        if (opal_obj_release((opal_object_t *) (object))) { \
            (object) = NULL;                                \
        }                                                   \
    } while (0)

/* The class that has no parent. */
extern const opal_class_t opal_object_t_class KEEL_PUBLIC(opal_object_t_class);

END_C_DECLS
#endif
