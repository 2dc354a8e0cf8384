#include <config.h>

#include <btl/check/map.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

static size_t home(const struct btl_map *map, const void *key)
{
    uint64_t hash = (uint64_t) (uintptr_t) key * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t) (hash >> 20) & (map->capacity - 1);
}

/* Where the key is, or the free entry where it would go; one entry at least is free. */
static size_t place(const struct btl_map *map, const void *key)
{
    size_t at = home(map, key);
    while (map->entries[at].key && map->entries[at].key != key) {
        at = (at + 1) & (map->capacity - 1);
    }
    return at;
}

static int grow(struct btl_map *map)
{
    struct btl_map larger = {.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
                             .count = map->count};
    larger.entries = calloc(larger.capacity, sizeof(*larger.entries));
    if (!larger.entries) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].key) {
            larger.entries[place(&larger, map->entries[i].key)] = map->entries[i];
        }
    }
    free(map->entries);
    *map = larger;
    return ORTE_SUCCESS;
}

int btl_map_put(struct btl_map *map, const void *key, void *value)
{
    if (map->count * 4 >= map->capacity * 3 && grow(map) != ORTE_SUCCESS) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    map->entries[place(map, key)] = (struct btl_map_entry){.key = key, .value = value};
    map->count++;
    return ORTE_SUCCESS;
}

void **btl_map_find(const struct btl_map *map, const void *key)
{
    size_t at = key && map->count > 0 ? place(map, key) : 0;
    return key && map->count > 0 && map->entries[at].key ? &map->entries[at].value : NULL;
}

void *btl_map_get(const struct btl_map *map, const void *key)
{
    void **value = btl_map_find(map, key);
    return value ? *value : NULL;
}

void btl_map_remove(struct btl_map *map, const void *key)
{
    if (!btl_map_find(map, key)) {
        return;
    }
    size_t mask = map->capacity - 1, hole = place(map, key);
    /* What was pushed beyond the hole moves into it. */
    for (size_t at = (hole + 1) & mask; map->entries[at].key; at = (at + 1) & mask) {
        size_t wanted = home(map, map->entries[at].key);
        if (((at - wanted) & mask) >= ((at - hole) & mask)) {
            map->entries[hole] = map->entries[at];
            hole = at;
        }
    }
    map->entries[hole] = (struct btl_map_entry){.key = NULL};
    map->count--;
}

void btl_map_each(const struct btl_map *map, void (*visit)(void *value, void *arg), void *arg)
{
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].key) {
            visit(map->entries[i].value, arg);
        }
    }
}

void btl_map_fini(struct btl_map *map)
{
    free(map->entries);
    *map = (struct btl_map){.entries = NULL};
}
