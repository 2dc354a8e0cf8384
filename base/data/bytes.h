/* Bytes that grow: a block of memory, a sequence, and a queue. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <keel/types.h>

/* Memory for wanted bytes in place of data (malloc'd; NULL while capacity is 0), with what is in
 * it: doubled from first (not 0) on until they fit, but never more than max. NULL: no memory, or
 * wanted is more than max; data stays as it is. */
void *bytes_grow(void *data, size_t *capacity, size_t wanted, size_t first,
                 size_t max) KEEL_MUST_CHECK;

/* A sequence. All zero: an empty one. */
struct blob {
    uint8_t *data; /* owned */
    size_t size, capacity;
};
/* Room for size more bytes, so that they can be appended without fail. */
int blob_reserve(struct blob *blob, size_t size) KEEL_MUST_CHECK;
/* ORTE_ERR_OUT_OF_RESOURCE: nothing was appended. */
int blob_append(struct blob *blob, const void *data, size_t size) KEEL_MUST_CHECK;
void blob_fini(struct blob *blob);

/* A queue. What waits lies in [head, tail). All zero: an empty one. */
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
