#include <config.h>

#include <pml/match/queues.h>
#include <stdlib.h>

void queues_init(struct queues *queues)
{
    *queues = (struct queues){.slots = queues->first_slots, .bits = QUEUES_FIRST_BITS};
}

static void free_slots(struct queues *queues)
{
    if (queues->slots != queues->first_slots) {
        free(queues->slots);
    }
}

void queues_fini(struct queues *queues)
{
    free_slots(queues);
    queues_init(queues);
}

/* Every bit of the key counts in the upper bits of the product, which choose the slot. */
static size_t slot_of(uint64_t key, unsigned bits)
{
    return (size_t) (key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

/* What points to the oldest item of the key; to NULL if there is none. */
static inline struct queue_link **find(struct queues *queues, uint64_t key)
{
    struct queue_link **at = &queues->slots[slot_of(key, queues->bits)];

    for (queues->steps++; *at && (*at)->key != key; queues->steps++) {
        at = &(*at)->next;
    }
    return at;
}

static void grow(struct queues *queues)
{
    unsigned bits = queues->bits + 1;
    struct queue_link **slots = calloc((size_t) 1 << bits, sizeof(*slots));

    if (!slots) {
        return;
    }
    for (size_t i = 0; i < (size_t) 1 << queues->bits; i++) {
        for (struct queue_link *link = queues->slots[i], *next; link; link = next) {
            struct queue_link **slot = &slots[slot_of(link->key, bits)];
            next = link->next;
            link->next = *slot;
            *slot = link;
        }
    }
    free_slots(queues);
    queues->slots = slots;
    queues->bits = bits;
}

void queues_append(struct queues *queues, struct queue_link *link, uint64_t key)
{
    struct queue_link **at = find(queues, key);

    link->key = key;
    if (*at) {
        list_append(&(*at)->queue, &link->queue);
        return;
    }
    list_init(&link->queue);
    link->next = NULL;
    *at = link;
    if (++queues->keys > (size_t) 1 << (queues->bits - 1)) {
        grow(queues);
    }
}

struct queue_link *queues_first(struct queues *queues, uint64_t key)
{
    return queues->keys > 0 ? *find(queues, key) : NULL;
}

/* The oldest item of its key, at its place. */
static void remove_first(struct queues *queues, struct queue_link **at)
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

struct queue_link *queues_take(struct queues *queues, uint64_t key)
{
    struct queue_link **at = find(queues, key), *link = *at;

    if (link) {
        remove_first(queues, at);
    }
    return link;
}

struct queue_link *queues_any_of(const struct queues *queues, uint32_t upper)
{
    for (size_t i = 0; i < (size_t) 1 << queues->bits; i++) {
        for (struct queue_link *link = queues->slots[i]; link; link = link->next) {
            if (link->key >> 32 == upper) {
                return link;
            }
        }
    }
    return NULL;
}

void queues_remove(struct queues *queues, struct queue_link *link)
{
    struct queue_link **at = find(queues, link->key);

    if (*at == link) {
        remove_first(queues, at);
    } else {
        list_remove(&link->queue);
    }
}
