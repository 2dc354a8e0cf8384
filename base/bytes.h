/* A growing queue of bytes. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <keel/types.h>

/* What waits lies in [head, tail). All zero: an empty queue. */
struct bytes {
    char *data; /* owned */
    size_t head, tail, capacity;
};

/* Makes room for size more bytes behind tail. False: no memory. */
bool bytes_reserve(struct bytes *bytes, size_t size) KEEL_MUST_CHECK;
bool bytes_append(struct bytes *bytes, const void *data, size_t size) KEEL_MUST_CHECK;
void bytes_consume(struct bytes *bytes, size_t size);
void bytes_fini(struct bytes *bytes);

static inline size_t bytes_waiting(const struct bytes *bytes)
{
    return bytes->tail - bytes->head;
}

#endif
