/* A set of pointers with a value each, for what a caller or module may hand over without having it:
 * looking one up touches only the map. One thread at a time. */
#ifndef BTL_CHECK_MAP_H
#define BTL_CHECK_MAP_H

#include <keel/types.h>

struct btl_map_entry {
    const void *key; /* NULL: free */
    void *value;
};

struct btl_map {
    struct btl_map_entry *entries; /* owned */
    size_t capacity;               /* a power of two, or 0 */
    size_t count;
};

/* The key (not NULL) is not in the map yet. */
int btl_map_put(struct btl_map *map, const void *key, void *value) KEEL_MUST_CHECK;
/* Where the key's value stands, until the map changes; NULL: not there. */
void **btl_map_find(const struct btl_map *map, const void *key);
/* NULL: not there. */
void *btl_map_get(const struct btl_map *map, const void *key);
void btl_map_remove(struct btl_map *map, const void *key);
void btl_map_each(const struct btl_map *map, void (*visit)(void *value, void *arg), void *arg);
void btl_map_fini(struct btl_map *map);

#endif
