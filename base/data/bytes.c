#include <config.h>

#include <base/data/bytes.h>
#include <stdlib.h>
#include <string.h>

void *bytes_grow(void *data, size_t *capacity, size_t wanted, size_t first, size_t max)
{
    size_t room = *capacity ? *capacity : first;
    if (*capacity >= wanted && data) {
        return data;
    }
    if (wanted > max) {
        return NULL;
    }
    while (room < wanted && room <= max / 2) {
        room *= 2;
    }
    if (room < wanted || room > max) {
        room = max;
    }
    void *grown = realloc(data, room);
    if (grown) {
        *capacity = room;
    }
    return grown;
}

int blob_reserve(struct blob *blob, size_t size)
{
    size_t most = SIZE_MAX / 2;
    uint8_t *grown = size <= most - blob->size
                         ? bytes_grow(blob->data, &blob->capacity, blob->size + size, 256, most)
                         : NULL;
    if (!grown) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    blob->data = grown;
    return ORTE_SUCCESS;
}

int blob_append(struct blob *blob, const void *data, size_t size)
{
    int status = size > 0 ? blob_reserve(blob, size) : ORTE_SUCCESS;
    if (status == ORTE_SUCCESS && size > 0) {
        memcpy(blob->data + blob->size, data, size);
        blob->size += size;
    }
    return status;
}

void blob_fini(struct blob *blob)
{
    free(blob->data);
    *blob = (struct blob){0};
}

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
    size_t most = SIZE_MAX / 2;
    char *data = size <= most - waiting
                     ? bytes_grow(bytes->data, &bytes->capacity, waiting + size, 4096, most)
                     : NULL;
    if (!data) {
        return false;
    }
    bytes->data = data;
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
