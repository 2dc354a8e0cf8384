/* A set of pointers with a value each, for what a caller or module may hand over without having it:
 * looking one up touches only the map. And a graveyard: what ended stays readable for a while, so
 * that its use afterwards is told from a stranger's. One thread at a time. */
#ifndef CHECK_MAP_H
#define CHECK_MAP_H

#include <keel/types.h>

struct check_map_entry {
    const void *key; /* NULL: free */
    void *value;
};

struct check_map {
    struct check_map_entry *entries; /* owned */
    size_t capacity;                 /* a power of two, or 0 */
    size_t count;
};

/* The key (not NULL) is not in the map yet. */
int check_map_put(struct check_map *map, const void *key, void *value) KEEL_MUST_CHECK;
/* NULL: not there. */
void *check_map_get(const struct check_map *map, const void *key);
void check_map_remove(struct check_map *map, const void *key);
void check_map_each(const struct check_map *map, void (*visit)(void *value, void *arg), void *arg);
void check_map_fini(struct check_map *map);

enum { CHECK_GRAVES = 4096 };

struct check_graves {
    void *graves[CHECK_GRAVES];
    size_t next;
};

/* Buries a thing; returns the one that its grave held before, or NULL. */
void *check_bury(struct check_graves *graves, void *thing);

#endif
