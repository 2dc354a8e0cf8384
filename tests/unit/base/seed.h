/* Assertions in the compiler about names that come from elsewhere. */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include <stddef.h>

/* A constant's value. */
#define ASSERT_VALUE(name, value) _Static_assert((name) == (value), #name)
/* An expression's type, exactly. */
#define ASSERT_TYPE(expression, ...) \
    _Static_assert(_Generic((expression), __VA_ARGS__ : 1, default : 0), #expression)
/* A function pointer in a table of function pointers: its place and its type. */
#define ASSERT_SLOT(table, place, member, ...)                                            \
    _Static_assert(offsetof(table, member) == (place) * sizeof(void (*)(void)), #member); \
    ASSERT_TYPE(((table *) NULL)->member, __VA_ARGS__)

#endif
