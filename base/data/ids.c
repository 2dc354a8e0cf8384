#include <config.h>

#include <base/data/ids.h>
#include <stdlib.h>

enum { FIRST_ROOM = 64 };

void ids_init(struct ids *ids, uint32_t first)
{
    *ids = (struct ids){.first = first};
}

void ids_fini(struct ids *ids)
{
    free(ids->slots);
    *ids = (struct ids){0};
}

static bool ids_grow(struct ids *ids)
{
    uint32_t room = ids->room ? 2 * ids->room : FIRST_ROOM;
    struct ids_slot *slots = room > ids->room ? realloc(ids->slots, room * sizeof(*slots)) : NULL;
    if (slots) {
        ids->slots = slots;
        ids->room = room;
    }
    return slots;
}

bool ids_add(struct ids *ids, void *object, uint64_t *id)
{
    uint32_t index;
    if (ids->free) {
        index = ids->free - 1;
        ids->free = ids->slots[index].next;
    } else if (ids->count < ids->room || ids_grow(ids)) {
        index = ids->count++;
        ids->slots[index].generation = ids->first;
    } else {
        return false;
    }
    ids->slots[index].object = object;
    *id = (uint64_t) ids->slots[index].generation << 32 | index;
    return true;
}

static struct ids_slot *slot_of(const struct ids *ids, uint64_t id)
{
    uint32_t index = (uint32_t) id;
    struct ids_slot *slot = index < ids->count ? &ids->slots[index] : NULL;
    return slot && slot->object && slot->generation == id >> 32 ? slot : NULL;
}

void *ids_find(const struct ids *ids, uint64_t id)
{
    const struct ids_slot *slot = slot_of(ids, id);
    return slot ? slot->object : NULL;
}

void ids_remove(struct ids *ids, uint64_t id)
{
    struct ids_slot *slot = slot_of(ids, id);
    if (slot) {
        slot->object = NULL;
        slot->generation++;
        slot->next = ids->free;
        ids->free = (uint32_t) id + 1;
    }
}
