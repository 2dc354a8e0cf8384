#include <config.h>

#include <base/bytes.h>
#include <stdlib.h>
#include <string.h>

bool bytes_reserve(struct bytes *bytes, size_t size)
{
    if (bytes->capacity - bytes->tail >= size) {
        return true;
    }
    size_t waiting = bytes_waiting(bytes);
    if (bytes->head > 0) {
        memmove(bytes->data, bytes->data + bytes->head, waiting);
        bytes->head = 0;
        bytes->tail = waiting;
    }
    if (bytes->capacity - waiting >= size) {
        return true;
    }
    size_t capacity = bytes->capacity ? bytes->capacity : 4096;
    while (capacity - waiting < size) {
        if (capacity > SIZE_MAX / 2) {
            return false;
        }
        capacity *= 2;
    }
    char *data = realloc(bytes->data, capacity);
    if (!data) {
        return false;
    }
    bytes->data = data;
    bytes->capacity = capacity;
    return true;
}

bool bytes_append(struct bytes *bytes, const void *data, size_t size)
{
    if (size == 0) {
        return true;
    }
    if (!bytes_reserve(bytes, size)) {
        return false;
    }
    memcpy(bytes->data + bytes->tail, data, size);
    bytes->tail += size;
    return true;
}

void bytes_consume(struct bytes *bytes, size_t size)
{
    bytes->head += size;
    if (bytes->head == bytes->tail) {
        bytes->head = bytes->tail = 0;
    }
}

void bytes_fini(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}
