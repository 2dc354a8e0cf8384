#include <config.h>

#include <base/data/array.h>
#include <base/types/name.h>
#include <btl/peers/roster.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHUNK 256 /* endpoints */
#define LINE 64
#define NONE UINT32_MAX

enum { SLOT_FREE, SLOT_LISTED, SLOT_FORGOTTEN };

struct chunk {
    unsigned char *memory; /* of CHUNK endpoints */
    struct roster_entry entries[CHUNK];
    uint8_t states[CHUNK];
};

struct roster {
    size_t stride; /* bytes from one endpoint to the next */
    struct chunk **chunks;
    uint32_t chunk_count;
    uint32_t used;     /* slots that were ever used, from the first on */
    uint32_t free;     /* the first free one below used, linked by next */
    uint32_t *buckets; /* the first entry of each, linked by next; bucket_count is a power of two */
    uint32_t bucket_count;
    uint32_t listed;
};

struct roster *roster_create(size_t endpoint_bytes)
{
    struct roster *roster = calloc(1, sizeof(*roster));
    if (roster) {
        roster->stride = (endpoint_bytes + LINE - 1) / LINE * LINE;
        roster->free = NONE;
    }
    return roster;
}

void roster_destroy(struct roster *roster)
{
    if (!roster) {
        return;
    }
    for (uint32_t i = 0; i < roster->chunk_count; i++) {
        munmap(roster->chunks[i]->memory, roster->stride * CHUNK);
        free(roster->chunks[i]);
    }
    free(roster->chunks);
    free(roster->buckets);
    free(roster);
}

static struct roster_entry *entry_at(const struct roster *roster, uint32_t slot)
{
    return &roster->chunks[slot / CHUNK]->entries[slot % CHUNK];
}

static void *endpoint_at(const struct roster *roster, uint32_t slot)
{
    return roster->chunks[slot / CHUNK]->memory + slot % CHUNK * roster->stride;
}

static uint8_t *state_at(const struct roster *roster, uint32_t slot)
{
    return &roster->chunks[slot / CHUNK]->states[slot % CHUNK];
}

/* The newest are found first. */
uint32_t roster_number(const struct roster *roster, const void *endpoint)
{
    for (uint32_t i = roster->chunk_count; i-- > 0;) {
        uintptr_t offset = (uintptr_t) endpoint - (uintptr_t) roster->chunks[i]->memory;
        uint32_t slot = i * CHUNK + (uint32_t) (offset / roster->stride);
        if (offset < roster->stride * CHUNK) {
            return offset % roster->stride == 0 && slot < roster->used ? slot : NONE;
        }
    }
    return NONE;
}

uint32_t *roster_added(const struct roster *roster, const void *endpoint)
{
    uint32_t slot = roster_number(roster, endpoint);
    bool listed = slot != NONE && *state_at(roster, slot) == SLOT_LISTED;
    return listed ? &entry_at(roster, slot)->added : NULL;
}

void *roster_at(const struct roster *roster, uint32_t number)
{
    bool listed = number < roster->used && *state_at(roster, number) == SLOT_LISTED;
    return listed ? endpoint_at(roster, number) : NULL;
}

struct roster_entry *roster_entry(const struct roster *roster, const void *endpoint)
{
    return entry_at(roster, roster_number(roster, endpoint));
}

static uint32_t *bucket_of(const struct roster *roster, const orte_process_name_t *name)
{
    uint32_t hash = (name->jobid * 0x9e3779b1u) ^ (name->vpid * 0x85ebca6bu);
    return &roster->buckets[(hash ^ hash >> 15) & (roster->bucket_count - 1)];
}

static void list_slot(struct roster *roster, uint32_t slot)
{
    struct roster_entry *entry = entry_at(roster, slot);
    uint32_t *bucket = bucket_of(roster, &entry->name);
    entry->next = *bucket;
    *bucket = slot;
}

/* Room for one more in the buckets, one for each entry. */
static bool buckets_grow(struct roster *roster)
{
    if (roster->listed < roster->bucket_count) {
        return true;
    }
    uint32_t count = roster->bucket_count ? roster->bucket_count * 2 : 16;
    uint32_t *buckets = malloc(count * sizeof(*buckets));
    if (!buckets) {
        return false;
    }
    memset(buckets, 0xff, count * sizeof(*buckets)); /* NONE */
    free(roster->buckets);
    roster->buckets = buckets;
    roster->bucket_count = count;
    for (uint32_t slot = 0; slot < roster->used; slot++) {
        if (*state_at(roster, slot) == SLOT_LISTED) {
            list_slot(roster, slot);
        }
    }
    return true;
}

static bool chunk_add(struct roster *roster)
{
    size_t bytes = roster->stride * CHUNK;
    if (!array_add(&roster->chunks, roster->chunk_count, sizeof(*roster->chunks))) {
        return false;
    }
    struct chunk *chunk = malloc(sizeof(*chunk));
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!chunk || memory == MAP_FAILED) {
        if (memory != MAP_FAILED) {
            munmap(memory, bytes);
        }
        free(chunk);
        return false;
    }
    (void) madvise(memory, bytes, MADV_NOHUGEPAGE); /* one endpoint's use is to cost one page */
    chunk->memory = memory;
    roster->chunks[roster->chunk_count++] = chunk;
    return true;
}

void *roster_add(struct roster *roster, const orte_process_name_t *name, opal_proc_t *proc)
{
    if (!buckets_grow(roster) || (roster->free == NONE && roster->used / CHUNK == NONE / CHUNK)) {
        return NULL;
    }
    uint32_t slot = roster->free;
    if (slot != NONE) {
        roster->free = entry_at(roster, slot)->next;
    } else {
        if (roster->used == roster->chunk_count * CHUNK && !chunk_add(roster)) {
            return NULL;
        }
        slot = roster->used++;
    }
    *entry_at(roster, slot) = (struct roster_entry){.name = *name, .proc = proc};
    *state_at(roster, slot) = SLOT_LISTED;
    list_slot(roster, slot);
    roster->listed++;
    return endpoint_at(roster, slot);
}

void *roster_find(const struct roster *roster, const orte_process_name_t *name)
{
    uint32_t slot = roster->bucket_count ? *bucket_of(roster, name) : NONE;
    while (slot != NONE) {
        const struct roster_entry *entry = entry_at(roster, slot);
        if (name_equal(&entry->name, name)) {
            return endpoint_at(roster, slot);
        }
        slot = entry->next;
    }
    return NULL;
}

static void forget(struct roster *roster, uint32_t slot)
{
    struct roster_entry *entry = entry_at(roster, slot);
    if (*state_at(roster, slot) != SLOT_LISTED) {
        return;
    }
    uint32_t *link = bucket_of(roster, &entry->name);
    while (*link != slot) {
        link = &entry_at(roster, *link)->next;
    }
    *link = entry->next;
    *state_at(roster, slot) = SLOT_FORGOTTEN;
    roster->listed--;
}

void roster_forget(struct roster *roster, void *endpoint)
{
    forget(roster, roster_number(roster, endpoint));
}

void roster_remove(struct roster *roster, void *endpoint, bool touched)
{
    uint32_t slot = roster_number(roster, endpoint);
    struct roster_entry *entry = entry_at(roster, slot);
    forget(roster, slot);
    if (touched) {
        memset(endpoint, 0, roster->stride);
    }
    *state_at(roster, slot) = SLOT_FREE;
    entry->next = roster->free;
    roster->free = slot;
}
