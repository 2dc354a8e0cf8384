#include <config.h>

#include <launcher/node/server/kvs.h>

#include <base/data/hash.h>
#include <base/data/list.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct hash_link link;
    const char *value; /* within text */
    char text[];       /* key and value, each with its end */
};

struct kvs {
    struct hash_table entries;
    size_t bytes, max_bytes;
};

/* NULL: the key is not there. */
static struct entry *find(const struct kvs *kvs, const char *key)
{
    struct hash_link *link = hash_first(&kvs->entries, hash_of_string(key));
    while (link && strcmp(container_of(link, struct entry, link)->text, key) != 0) {
        link = hash_next(link);
    }
    return link ? container_of(link, struct entry, link) : NULL;
}

int kvs_create(struct kvs **out, size_t max_bytes)
{
    struct kvs *kvs = calloc(1, sizeof(*kvs));
    if (!kvs) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    kvs->max_bytes = max_bytes;
    *out = kvs;
    return ORTE_SUCCESS;
}

static void destroy(struct hash_link *link, void *arg)
{
    (void) arg;
    free(container_of(link, struct entry, link));
}

void kvs_destroy(struct kvs *kvs)
{
    if (kvs) {
        hash_each(&kvs->entries, destroy, NULL);
        hash_fini(&kvs->entries);
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
    if (find(kvs, key)) {
        return ORTE_EXISTS;
    }
    struct entry *entry = size <= kvs->max_bytes - kvs->bytes ? malloc(size) : NULL;
    if (!entry || !hash_add(&kvs->entries, &entry->link, hash_of_string(key))) {
        free(entry);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    memcpy(entry->text, key, key_size);
    memcpy(entry->text + key_size, value, value_size);
    entry->value = entry->text + key_size;
    kvs->bytes += size;
    return ORTE_SUCCESS;
}

const char *kvs_get(const struct kvs *kvs, const char *key)
{
    const struct entry *entry = find(kvs, key);
    return entry ? entry->value : NULL;
}

int kvs_remove(struct kvs *kvs, const char *key)
{
    struct entry *entry = find(kvs, key);
    if (!entry) {
        return ORTE_ERR_NOT_FOUND;
    }
    hash_remove(&kvs->entries, &entry->link);
    kvs->bytes -= entry_bytes(strlen(entry->text) + 1, strlen(entry->value) + 1);
    free(entry);
    return ORTE_SUCCESS;
}
