#include <config.h>

#include <launcher/node/kvs.h>

#include <stdlib.h>
#include <string.h>

struct entry {
    struct entry *next; /* in its bucket */
    uint32_t hash;
    const char *value; /* within text */
    char text[];       /* key and value, each with its end */
};

struct kvs {
    struct entry **buckets; /* owned; a power of two of them */
    size_t bucket_count, count;
    size_t bytes, max_bytes;
};

static uint32_t hash_of(const char *key)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *key; key++) {
        hash = (hash ^ (uint8_t) *key) * 16777619u;
    }
    return hash;
}

/* Where the pointer to an entry is, or would be. */
static struct entry **find(const struct kvs *kvs, uint32_t hash, const char *key)
{
    struct entry **at = &kvs->buckets[hash & (kvs->bucket_count - 1)];
    while (*at && ((*at)->hash != hash || strcmp((*at)->text, key) != 0)) {
        at = &(*at)->next;
    }
    return at;
}

/* Without memory it stays as it is, only slower. */
static void grow(struct kvs *kvs)
{
    size_t bucket_count = kvs->bucket_count * 2;
    struct entry **buckets = calloc(bucket_count, sizeof(*buckets));
    if (!buckets) {
        return;
    }
    for (size_t i = 0; i < kvs->bucket_count; i++) {
        for (struct entry *entry = kvs->buckets[i], *next; entry; entry = next) {
            struct entry **bucket = &buckets[entry->hash & (bucket_count - 1)];
            next = entry->next;
            entry->next = *bucket;
            *bucket = entry;
        }
    }
    free(kvs->buckets);
    kvs->buckets = buckets;
    kvs->bucket_count = bucket_count;
}

int kvs_create(struct kvs **out, size_t max_bytes)
{
    struct kvs *kvs = calloc(1, sizeof(*kvs));
    struct entry **buckets = calloc(64, sizeof(*buckets));
    if (!kvs || !buckets) {
        free(kvs);
        free(buckets);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    *kvs = (struct kvs){.buckets = buckets, .bucket_count = 64, .max_bytes = max_bytes};
    *out = kvs;
    return ORTE_SUCCESS;
}

void kvs_destroy(struct kvs *kvs)
{
    for (size_t i = 0; kvs && i < kvs->bucket_count; i++) {
        for (struct entry *entry = kvs->buckets[i], *next; entry; entry = next) {
            next = entry->next;
            free(entry);
        }
    }
    if (kvs) {
        free(kvs->buckets);
    }
    free(kvs);
}

static size_t entry_bytes(size_t key_size, size_t value_size)
{
    return sizeof(struct entry) + key_size + value_size;
}

int kvs_put(struct kvs *kvs, const char *key, const char *value)
{
    size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
    size_t size = entry_bytes(key_size, value_size);
    uint32_t hash = hash_of(key);
    if (*find(kvs, hash, key)) {
        return ORTE_EXISTS;
    }
    struct entry *entry = size <= kvs->max_bytes - kvs->bytes ? malloc(size) : NULL;
    if (!entry) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (kvs->count >= kvs->bucket_count) {
        grow(kvs);
    }
    memcpy(entry->text, key, key_size);
    memcpy(entry->text + key_size, value, value_size);
    entry->value = entry->text + key_size;
    entry->hash = hash;
    entry->next = NULL;
    *find(kvs, hash, key) = entry;
    kvs->count++;
    kvs->bytes += size;
    return ORTE_SUCCESS;
}

const char *kvs_get(const struct kvs *kvs, const char *key)
{
    const struct entry *entry = *find(kvs, hash_of(key), key);
    return entry ? entry->value : NULL;
}

int kvs_remove(struct kvs *kvs, const char *key)
{
    struct entry **at = find(kvs, hash_of(key), key);
    struct entry *entry = *at;
    if (!entry) {
        return ORTE_ERR_NOT_FOUND;
    }
    *at = entry->next;
    kvs->count--;
    kvs->bytes -= entry_bytes(strlen(entry->text) + 1, strlen(entry->value) + 1);
    free(entry);
    return ORTE_SUCCESS;
}
