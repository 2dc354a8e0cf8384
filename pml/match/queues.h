/* First-in, first-out queues, found by a 64-bit key. A lookup costs the same whatever else is
 * queued.
 *
 * Nothing is allocated for an item: it has a link for each queue that it is on. Only the oldest
 * item of each key stands in the hash table, so a long queue costs others nothing. The table
 * doubles when more than half of its slots' number of keys are in use; without memory it stays as
 * it is, and lookups take longer. It does not shrink. */
#ifndef PML_QUEUES_H
#define PML_QUEUES_H

#include <base/data/list.h>
#include <keel/types.h>

enum { QUEUES_FIRST_BITS = 4 };

struct queue_link {
    struct list queue;       /* the items of the key; the oldest one's prev is the newest */
    struct queue_link *next; /* of the oldest: the oldest of another key in the same slot */
    uint64_t key;
};

struct queues {
    struct queue_link **slots; /* first_slots, or owned */
    struct queue_link *first_slots[1 << QUEUES_FIRST_BITS];
    unsigned bits;  /* slots: 1 << bits */
    size_t keys;    /* that have items */
    uint64_t steps; /* places that lookups looked at, ever */
};

/* The struct may not move before queues_fini. */
void queues_init(struct queues *queues);
/* Items that are queued are forgotten. */
void queues_fini(struct queues *queues);

void queues_append(struct queues *queues, struct queue_link *link, uint64_t key);

/* The next three are for the functions below them and for queues.c. A place that queues_find
 * returned lasts until something is appended. */

/* Every bit of the key counts in the upper bits of the product, which choose the slot. */
static inline size_t queues_slot_of(uint64_t key, unsigned bits)
{
    return (size_t) (key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}
/* What points to the oldest item of the key; to NULL if there is none. */
static inline struct queue_link **queues_find(struct queues *queues, uint64_t key)
{
    struct queue_link **at = &queues->slots[queues_slot_of(key, queues->bits)];

    for (queues->steps++; *at && (*at)->key != key; queues->steps++) {
        at = &(*at)->next;
    }
    return at;
}
/* The oldest item of its key, at its place. */
static inline void queues_remove_first(struct queues *queues, struct queue_link **at)
{
    struct queue_link *link = *at;

    if (list_empty(&link->queue)) {
        *at = link->next;
        queues->keys--;
    } else {
        *at = container_of(link->queue.next, struct queue_link, queue);
        (*at)->next = link->next;
        list_remove(&link->queue);
    }
}

/* The oldest item of this key; NULL: none. */
static inline struct queue_link *queues_first(struct queues *queues, uint64_t key)
{
    return queues->keys > 0 ? *queues_find(queues, key) : NULL;
}
/* The oldest item of this key, which is removed; NULL: none. */
static inline struct queue_link *queues_take(struct queues *queues, uint64_t key)
{
    struct queue_link **at = queues_find(queues, key), *link = *at;

    if (link) {
        queues_remove_first(queues, at);
    }
    return link;
}
/* The oldest item of some key whose upper 32 bits are these; NULL: none. Looks at all keys. */
struct queue_link *queues_any_of(const struct queues *queues, uint32_t upper);
void queues_remove(struct queues *queues, struct queue_link *link);

#endif
