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

static void grow(struct queues *queues)
{
    unsigned bits = queues->bits + 1;
    struct queue_link **slots = calloc((size_t) 1 << bits, sizeof(*slots));

    if (!slots) {
        return;
    }
    for (size_t i = 0; i < (size_t) 1 << queues->bits; i++) {
        for (struct queue_link *link = queues->slots[i], *next; link; link = next) {
            struct queue_link **slot = &slots[queues_slot_of(link->key, bits)];
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
    struct queue_link **at = queues_find(queues, key);

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
    struct queue_link **at = queues_find(queues, link->key);

    if (*at == link) {
        queues_remove_first(queues, at);
    } else {
        list_remove(&link->queue);
    }
}
