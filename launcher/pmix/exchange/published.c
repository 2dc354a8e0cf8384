#include <config.h>

#include <base/data/list.h>
#include <launcher/pmix/exchange/published.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct list link;
    struct publish_party publisher;
    struct pmix_scope scope;
    size_t size;
    char *key; /* in this block, behind the value */
    uint8_t value[];
};

struct published {
    struct list all;
    size_t bytes;
};

struct published *published_create(void)
{
    struct published *published = calloc(1, sizeof(*published));
    if (published) {
        list_init(&published->all);
    }
    return published;
}

static size_t cost(const struct entry *entry)
{
    return sizeof(*entry) + entry->size + strlen(entry->key) + 1;
}

static void drop(struct published *published, struct entry *entry)
{
    published->bytes -= cost(entry);
    list_remove(&entry->link);
    free(entry);
}

void published_destroy(struct published *published)
{
    if (!published) {
        return;
    }
    struct entry *entry;
    list_for_each (entry, &published->all, struct entry, link) {
        drop(published, entry);
    }
    free(published);
}

static bool same_process(const pmix_proc_t *a, const pmix_proc_t *b)
{
    return a->rank == b->rank && strcmp(a->nspace, b->nspace) == 0;
}

static bool served(pmix_data_range_t range)
{
    switch (range) {
    case PMIX_RANGE_LOCAL:
    case PMIX_RANGE_NAMESPACE:
    case PMIX_RANGE_SESSION:
    case PMIX_RANGE_GLOBAL:
    case PMIX_RANGE_PROC_LOCAL:
        return true;
    default:
        return false;
    }
}

/* Is the one within the range of the other? */
static bool reaches(pmix_data_range_t range, const struct publish_party *from,
                    const struct publish_party *to)
{
    switch (range) {
    case PMIX_RANGE_LOCAL:
        return from->daemon == to->daemon;
    case PMIX_RANGE_NAMESPACE:
        return strcmp(from->rank.nspace, to->rank.nspace) == 0;
    case PMIX_RANGE_PROC_LOCAL:
        return same_process(&from->rank, &to->rank);
    default: /* one session is all there is */
        return true;
    }
}

static struct entry *find(struct published *published, const struct publish_party *seeker,
                          pmix_data_range_t range, const char *key)
{
    struct entry *entry;
    list_for_each (entry, &published->all, struct entry, link) {
        if (strcmp(entry->key, key) == 0 &&
            reaches(entry->scope.range, &entry->publisher, seeker) &&
            reaches(range, seeker, &entry->publisher)) {
            return entry;
        }
    }
    return NULL;
}

pmix_status_t published_add(struct published *published, const struct publish_party *publisher,
                            struct pmix_scope scope, const struct pmix_item *item)
{
    size_t key_size = strlen(item->key) + 1;
    if (key_size == 1 || key_size > PMIX_MAX_KEYLEN + 1 || !served(scope.range)) {
        return PMIX_ERR_BAD_PARAM;
    }
    if (find(published, publisher, scope.range, item->key)) {
        return PMIX_ERR_DUPLICATE_KEY;
    }
    if (item->size > PUBLISHED_BYTES_MAX) {
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    struct entry *entry = malloc(sizeof(*entry) + item->size + key_size);
    if (!entry) {
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    *entry = (struct entry){.publisher = *publisher, .scope = scope, .size = item->size};
    memcpy(entry->value, item->value, item->size);
    entry->key = (char *) entry->value + item->size;
    memcpy(entry->key, item->key, key_size);
    if (cost(entry) > PUBLISHED_BYTES_MAX - published->bytes) {
        free(entry);
        return PMIX_ERR_OUT_OF_RESOURCE;
    }
    published->bytes += cost(entry);
    list_append(&published->all, &entry->link);
    return PMIX_SUCCESS;
}

bool published_find(struct published *published, const struct publish_party *seeker,
                    pmix_data_range_t range, const char *key, struct pmix_found *found)
{
    struct entry *entry = served(range) ? find(published, seeker, range, key) : NULL;
    if (!entry) {
        return false;
    }
    *found = (struct pmix_found){entry->publisher.rank, entry->key, entry->value, entry->size};
    return true;
}

void published_was_read(struct published *published, const struct pmix_found *found)
{
    struct entry *entry;
    list_for_each (entry, &published->all, struct entry, link) {
        if (entry->value == found->value && entry->scope.persistence == PMIX_PERSIST_FIRST_READ) {
            drop(published, entry);
            return;
        }
    }
}

void published_remove(struct published *published, const pmix_proc_t *publisher, const char *key)
{
    struct entry *entry;
    list_for_each (entry, &published->all, struct entry, link) {
        if (same_process(&entry->publisher.rank, publisher) &&
            (!key || strcmp(entry->key, key) == 0)) {
            drop(published, entry);
        }
    }
}
