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
/* The oldest item of this key; NULL: none. */
struct queue_link *queues_first(struct queues *queues, uint64_t key);
/* The same, and removes it. */
struct queue_link *queues_take(struct queues *queues, uint64_t key);
/* The oldest item of some key whose upper 32 bits are these; NULL: none. Looks at all keys. */
struct queue_link *queues_any_of(const struct queues *queues, uint32_t upper);
void queues_remove(struct queues *queues, struct queue_link *link);

#endif
