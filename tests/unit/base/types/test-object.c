#include <tests/lib/unit.h>

#include <keel/object.h>
#include <pthread.h>

/* A class that counts its constructions and destructions. */
typedef struct thing_t {
    opal_object_t super;
    int number;
} thing_t;

static int constructed, destructed;

static void thing_construct(opal_object_t *object)
{
    ((thing_t *) object)->number = 42;
    constructed++;
}

static void thing_destruct(opal_object_t *object)
{
    ck_assert_int_eq(((thing_t *) object)->number, 42);
    destructed++;
}

static const opal_class_t thing_t_class = {
    .cls_name = "thing_t",
    .cls_sizeof = sizeof(thing_t),
    .cls_construct = thing_construct,
    .cls_destruct = thing_destruct,
};

typedef struct plain_t {
    opal_object_t super;
    char bytes[64];
} plain_t;

static const opal_class_t plain_t_class = {.cls_name = "plain_t", .cls_sizeof = sizeof(plain_t)};

START_TEST(last_release_frees)
{
    thing_t *thing = OBJ_NEW(thing_t), *same = thing;
    ck_assert_int_eq(constructed, 1);
    ck_assert_int_eq(thing->number, 42);
    ck_assert_ptr_eq(thing->super.obj_class, &thing_t_class);
    OBJ_RETAIN(thing);
    ck_assert_int_eq(thing->super.obj_reference_count, 2);
    OBJ_RELEASE(same);
    ck_assert_ptr_eq(same, thing); /* not the last */
    ck_assert_int_eq(destructed, 0);
    OBJ_RELEASE(thing);
    ck_assert_ptr_null(thing);
    ck_assert_int_eq(destructed, 1);
    OBJ_RELEASE(thing); /* NULL: nothing happens */
    ck_assert_int_eq(destructed, 1);
}
END_TEST

START_TEST(constructed_in_place)
{
    thing_t thing;
    OBJ_CONSTRUCT(&thing, thing_t);
    ck_assert_int_eq(thing.number, 42);
    ck_assert_int_eq(thing.super.obj_reference_count, 1);
    OBJ_DESTRUCT(&thing);
    ck_assert_int_eq(constructed, 1);
    ck_assert_int_eq(destructed, 1);
}
END_TEST

START_TEST(a_class_without_functions)
{
    plain_t *plain = OBJ_NEW(plain_t);
    for (size_t i = 0; i < sizeof(plain->bytes); i++) {
        ck_assert_int_eq(plain->bytes[i], 0);
    }
    OBJ_RELEASE(plain);
    ck_assert_ptr_null(plain);
}
END_TEST

/* A class of an application: its functions take its own type. */
typedef struct child_t {
    thing_t super;
    int *ends; /* counts them */
} child_t;

OBJ_CLASS_DECLARATION(child_t);

static void child_construct(child_t *child)
{
    ck_assert_int_eq(child->super.number, 42); /* the parent came first */
    child->ends = NULL;
}

static void child_destruct(child_t *child)
{
    ck_assert_int_eq(destructed, *child->ends); /* the parent comes last */
    ++*child->ends;
}

OBJ_CLASS_INSTANCE(child_t, thing_t, child_construct, child_destruct);

typedef struct grandchild_t {
    child_t super;
} grandchild_t;

static OBJ_CLASS_INSTANCE(grandchild_t, child_t, NULL, NULL);

START_TEST(parents_first_and_last)
{
    int ends = 0;
    child_t *child = OBJ_NEW(child_t);
    child->ends = &ends;
    OBJ_RELEASE(child);
    ck_assert_int_eq(ends, 1);
    ck_assert_int_eq(destructed, 1);
    grandchild_t grandchild;
    OBJ_CONSTRUCT(&grandchild, grandchild_t);
    ck_assert_int_eq(constructed, 2);
    grandchild.super.ends = &ends;
    OBJ_DESTRUCT(&grandchild);
    ck_assert_int_eq(ends, 2);
    ck_assert_int_eq(destructed, 2);
    ck_assert_ptr_null(OBJ_CLASS(opal_object_t)->cls_parent);
    ck_assert_str_eq(OBJ_CLASS(child_t)->cls_name, "child_t");
}
END_TEST

START_TEST(constructed_by_the_compiler)
{
    static thing_t thing = {OPAL_OBJ_STATIC_INIT(thing_t), 42};
    OBJ_RETAIN(&thing);
    ck_assert_int_eq(thing.super.obj_reference_count, 2);
    OBJ_DESTRUCT(&thing);
    ck_assert_int_eq(constructed, 0);
    ck_assert_int_eq(destructed, 1);
}
END_TEST

static void *retain_and_release(void *arg)
{
    thing_t *thing = arg;
    for (int i = 0; i < 100000; i++) {
        OBJ_RETAIN(thing);
        OBJ_RELEASE(thing);
    }
    return thing;
}

START_TEST(counts_from_many_threads)
{
    pthread_t threads[4];
    thing_t *thing = OBJ_NEW(thing_t);
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, retain_and_release, thing), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_int_eq(thing->super.obj_reference_count, 1);
    OBJ_RELEASE(thing);
    ck_assert_int_eq(destructed, 1);
}
END_TEST

UNIT_MAIN("object")
