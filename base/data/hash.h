/* A hash table of structs that hold their link. It grows by doubling; where there is no memory for
 * that, it only gets slower. Keys are compared by the caller: it walks those of one hash. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <keel/types.h>

struct hash_link {
    struct hash_link *next; /* in its bucket */
    uint32_t hash;
};

/* All zero: an empty table. */
struct hash_table {
    struct hash_link **buckets; /* owned */
    size_t bucket_count;        /* a power of two, or 0 */
    size_t count;
};

/* Adds an element, which the caller keeps. False: no memory for a first bucket. */
bool hash_add(struct hash_table *table, struct hash_link *link, uint32_t hash) KEEL_MUST_CHECK;
/* It is in the table. */
void hash_remove(struct hash_table *table, struct hash_link *link);
/* The elements with this hash, one after the other; NULL: there is none, or no other. */
struct hash_link *hash_first(const struct hash_table *table, uint32_t hash);
struct hash_link *hash_next(const struct hash_link *link);
/* All elements; visit may remove and free the one that it is given. */
void hash_each(struct hash_table *table, void (*visit)(struct hash_link *link, void *arg),
               void *arg);
/* The table is empty then; its elements are the caller's. */
void hash_fini(struct hash_table *table);

uint32_t hash_of_string(const char *text);
uint32_t hash_of_number(uint64_t number);

#endif
