/* Arrays that grow. array is the address of the pointer to one, which is malloc'd, or NULL where it
 * has no elements; size is that of an element. They return false where there is no memory: then the
 * array is as before. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <keel/types.h>

/* Room for count elements. */
bool array_resize(void *array, size_t count, size_t size) KEEL_MUST_CHECK;
/* The same; those behind the first used ones, which are at most count, are zero. */
bool array_extend(void *array, size_t used, size_t count, size_t size) KEEL_MUST_CHECK;
/* Room for one more behind those that are used, in an array that grows by this alone; it doubles.
 */
bool array_add(void *array, size_t used, size_t size) KEEL_MUST_CHECK;

#endif
