#include <config.h>

#include <base/data/array.h>
#include <stdlib.h>
#include <string.h>

bool array_resize(void *array, size_t count, size_t size)
{
    void *old;
    memcpy(&old, array, sizeof(old)); /* whatever it points to */
    void *grown = count <= SIZE_MAX / size ? realloc(old, (count > 0 ? count : 1) * size) : NULL;
    if (grown) {
        memcpy(array, &grown, sizeof(grown));
    }
    return grown;
}

bool array_extend(void *array, size_t used, size_t count, size_t size)
{
    char *elements;
    if (!array_resize(array, count, size)) {
        return false;
    }
    memcpy(&elements, array, sizeof(elements));
    memset(elements + used * size, 0, (count - used) * size);
    return true;
}

/* There is room for a power of two of elements; it is full where that many are used. */
bool array_add(void *array, size_t used, size_t size)
{
    bool full = (used & (used - 1)) == 0;
    return !full || array_resize(array, used > 0 ? 2 * used : 1, size);
}
