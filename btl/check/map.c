#include <config.h>

#include <btl/check/map.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

static size_t home(const struct check_map *map, const void *key)
{
    uint64_t hash = (uint64_t) (uintptr_t) key * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t) (hash >> 20) & (map->capacity - 1);
}

/* Where the key is, or the free entry where it would go; one entry at least is free. */
static size_t place(const struct check_map *map, const void *key)
{
    size_t at = home(map, key);
    while (map->entries[at].key && map->entries[at].key != key) {
        at = (at + 1) & (map->capacity - 1);
    }
    return at;
}

static int grow(struct check_map *map)
{
    struct check_map larger = {.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY,
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

int check_map_put(struct check_map *map, const void *key, void *value)
{
    if (map->count * 2 >= map->capacity && grow(map) != ORTE_SUCCESS) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    map->entries[place(map, key)] = (struct check_map_entry){.key = key, .value = value};
    map->count++;
    return ORTE_SUCCESS;
}

void *check_map_get(const struct check_map *map, const void *key)
{
    return key && map->count > 0 ? map->entries[place(map, key)].value : NULL;
}

void check_map_remove(struct check_map *map, const void *key)
{
    if (!check_map_get(map, key)) {
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
    map->entries[hole] = (struct check_map_entry){.key = NULL};
    map->count--;
}

void check_map_each(const struct check_map *map, void (*visit)(void *value, void *arg), void *arg)
{
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].key) {
            visit(map->entries[i].value, arg);
        }
    }
}

void check_map_fini(struct check_map *map)
{
    free(map->entries);
    *map = (struct check_map){.entries = NULL};
}

void *check_bury(struct check_graves *graves, void *thing)
{
    size_t at = graves->next++ % CHECK_GRAVES;
    void *older = graves->graves[at];
    graves->graves[at] = thing;
    return older;
}
