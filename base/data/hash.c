#include <config.h>

#include <base/data/hash.h>
#include <stdlib.h>

enum { FIRST_BUCKETS = 16 };

static struct hash_link **bucket_of(const struct hash_table *table, uint32_t hash)
{
    return &table->buckets[hash & (table->bucket_count - 1)];
}

static void insert(struct hash_table *table, struct hash_link *link)
{
    struct hash_link **bucket = bucket_of(table, link->hash);
    link->next = *bucket;
    *bucket = link;
}

static void grow(struct hash_table *table)
{
    struct hash_table larger = {.count = table->count};
    larger.bucket_count = table->bucket_count ? table->bucket_count * 2 : FIRST_BUCKETS;
    larger.buckets = calloc(larger.bucket_count, sizeof(*larger.buckets));
    if (!larger.buckets) {
        return;
    }
    for (size_t i = 0; i < table->bucket_count; i++) {
        for (struct hash_link *link = table->buckets[i], *next; link; link = next) {
            next = link->next;
            insert(&larger, link);
        }
    }
    free(table->buckets);
    *table = larger;
}

bool hash_add(struct hash_table *table, struct hash_link *link, uint32_t hash)
{
    if (table->count >= table->bucket_count) {
        grow(table);
    }
    if (table->bucket_count == 0) {
        return false;
    }
    link->hash = hash;
    insert(table, link);
    table->count++;
    return true;
}

void hash_remove(struct hash_table *table, struct hash_link *link)
{
    struct hash_link **at = bucket_of(table, link->hash);
    while (*at != link) {
        at = &(*at)->next;
    }
    *at = link->next;
    table->count--;
}

static struct hash_link *next_with(struct hash_link *link, uint32_t hash)
{
    while (link && link->hash != hash) {
        link = link->next;
    }
    return link;
}

struct hash_link *hash_first(const struct hash_table *table, uint32_t hash)
{
    return table->bucket_count ? next_with(*bucket_of(table, hash), hash) : NULL;
}

struct hash_link *hash_next(const struct hash_link *link)
{
    return next_with(link->next, link->hash);
}

void hash_each(struct hash_table *table, void (*visit)(struct hash_link *link, void *arg),
               void *arg)
{
    for (size_t i = 0; i < table->bucket_count; i++) {
        for (struct hash_link *link = table->buckets[i], *next; link; link = next) {
            next = link->next;
            visit(link, arg);
        }
    }
}

void hash_fini(struct hash_table *table)
{
    free(table->buckets);
    *table = (struct hash_table){0};
}

uint32_t hash_of_string(const char *text)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *text; text++) {
        hash = (hash ^ (uint8_t) *text) * 16777619u;
    }
    return hash;
}

uint32_t hash_of_number(uint64_t number)
{
    return (uint32_t) (number * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}
