#include <config.h>

#include <base/data/pool.h>
#include <stdlib.h>

struct pool_chunk {
    struct pool_chunk *next;
};

static size_t round_up(size_t size, size_t alignment)
{
    return (size + alignment - 1) & ~(alignment - 1);
}

void pool_init(struct pool *pool, size_t item_size, size_t alignment, size_t per_chunk,
               size_t limit, void (*construct)(void *item, void *arg), void *arg)
{
    if (alignment < sizeof(void *)) {
        alignment = sizeof(void *);
    }
    if (item_size < sizeof(struct pool_item)) {
        item_size = sizeof(struct pool_item);
    }
    *pool = (struct pool){
        .item_size = round_up(item_size, alignment),
        .alignment = alignment,
        .per_chunk = per_chunk > 0 ? per_chunk : 1,
        .limit = limit,
        .construct = construct,
        .arg = arg,
    };
}

/* How many items the next chunk gets: 0 at the limit, or when its size would overflow. */
static size_t next_chunk_items(const struct pool *pool)
{
    size_t items = pool->per_chunk;
    if (pool->limit > 0 && items > pool->limit - pool->total) {
        items = pool->limit - pool->total;
    }
    size_t head = round_up(sizeof(struct pool_chunk), pool->alignment);
    return items <= (SIZE_MAX - head) / pool->item_size ? items : 0;
}

bool pool_grow(struct pool *pool)
{
    size_t items = next_chunk_items(pool);
    size_t head = round_up(sizeof(struct pool_chunk), pool->alignment);
    void *memory;
    if (items == 0 ||
        posix_memalign(&memory, pool->alignment, head + items * pool->item_size) != 0) {
        return false;
    }
    struct pool_chunk *chunk = memory;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    pool->total += items;
    /* Linked from the last to the first, so that items are handed out in the order of memory. */
    while (items-- > 0) {
        struct pool_item *item = (void *) ((char *) memory + head + items * pool->item_size);
        if (pool->construct) {
            pool->construct(item, pool->arg);
        }
        item->next = pool->free;
        pool->free = item;
    }
    return true;
}

void pool_fini(struct pool *pool)
{
    while (pool->chunks) {
        struct pool_chunk *chunk = pool->chunks;
        pool->chunks = chunk->next;
        free(chunk);
    }
    pool->free = NULL;
    pool->total = 0;
    pool->in_use = 0;
}
