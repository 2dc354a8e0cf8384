/* Pools of equal objects: get and put cost a few instructions; memory grows by chunks up to a
 * limit and is freed with the pool. Not thread safe: the owner's lock or thread guards a pool. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <keel/types.h>

struct pool_item {
    struct pool_item *next;
};

struct pool {
    size_t item_size; /* rounded up to the alignment */
    size_t alignment; /* a power of two */
    size_t per_chunk;
    size_t limit; /* most items, 0: none */
    size_t total; /* items made */
    size_t in_use;
    struct pool_item *free;
    struct pool_chunk *chunks;
    void (*construct)(void *item,
                      void *arg); /* once per item, when its chunk is made; may be NULL */
    void *arg;
};

void pool_init(struct pool *pool, size_t item_size, size_t alignment, size_t per_chunk,
               size_t limit, void (*construct)(void *item, void *arg), void *arg);
/* For pool_get: makes a chunk. False: the limit is reached, or no memory. */
bool pool_grow(struct pool *pool);
/* NULL: the limit is reached, or no memory. The content is as the last user left it, but for the
 * first pointer-sized bytes. */
static inline void *pool_get(struct pool *pool)
{
    if (!pool->free && !pool_grow(pool)) {
        return NULL;
    }
    struct pool_item *item = pool->free;
    pool->free = item->next;
    pool->in_use++;
    return item;
}
static inline void pool_put(struct pool *pool, void *item)
{
    struct pool_item *link = item;
    link->next = pool->free;
    pool->free = link;
    pool->in_use--;
}
/* The limit leaves another item. */
static inline bool pool_has_room(const struct pool *pool)
{
    return pool->free || pool->limit == 0 || pool->total < pool->limit;
}
/* Frees all memory, items in use included. */
void pool_fini(struct pool *pool);

#endif
