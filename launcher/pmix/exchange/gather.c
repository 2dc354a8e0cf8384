/* Collectives of processes, as collectives of their daemons. Which one it is follows from its
 * purpose, its processes, and how often these have met for it. */
#include <config.h>

#include <launcher/pmix/exchange/exchange_internal.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often the same processes have met for the same purpose. */
struct meeting {
    struct list link;
    char *signature; /* owned */
    uint64_t count;
};

static int compare_ranks(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;
    return *left < *right ? -1 : *left > *right;
}

/* How many ranks these are; 0: somebody who is not of this job. */
static uint32_t count_ranks(const struct exchange *exchange, const pmix_proc_t *procs, size_t count)
{
    const uint64_t most = 2 * (uint64_t) exchange->daemon->launch.map.size; /* some may be twice */
    uint64_t total = 0;
    uint32_t first, size;
    for (size_t i = 0; i < count; i++) {
        if (!exchange->ops->find(exchange->arg, procs[i].nspace, &first, &size) ||
            (procs[i].rank != PMIX_RANK_WILDCARD && procs[i].rank >= size)) {
            return 0;
        }
        total += procs[i].rank == PMIX_RANK_WILDCARD ? size : 1;
    }
    return total <= most ? (uint32_t) total : 0;
}

uint32_t *exchange_numbers(const struct exchange *exchange, const pmix_proc_t *procs, size_t count,
                           uint32_t *rank_count)
{
    uint32_t total = count_ranks(exchange, procs, count), used = 0, first, size;
    uint32_t *ranks = total > 0 ? calloc(total, sizeof(*ranks)) : NULL;
    for (size_t i = 0; ranks && i < count; i++) {
        (void) exchange->ops->find(exchange->arg, procs[i].nspace, &first, &size);
        bool all = procs[i].rank == PMIX_RANK_WILDCARD;
        for (uint32_t j = 0; j < (all ? size : 1); j++) {
            ranks[used++] = first + (all ? j : procs[i].rank);
        }
    }
    if (ranks) {
        qsort(ranks, total, sizeof(*ranks), compare_ranks);
    }
    *rank_count = total;
    return ranks;
}

static char *make_signature(const struct exchange *exchange, const struct pmix_meeting *meeting,
                            const uint32_t *ranks, uint32_t count)
{
    struct crypto_hash hash;
    uint8_t digest[32];
    char hex[2 * sizeof(digest) + 1], *signature = NULL;
    crypto_hash_begin(&hash);
    crypto_hash_update(&hash, meeting->id, strlen(meeting->id) + 1);
    crypto_hash_update(&hash, ranks, count * sizeof(*ranks));
    crypto_hash_end(&hash, digest);
    crypto_to_hex(hex, digest, sizeof(digest));
    if (asprintf(&signature, "pmix/%s/%s/%s", exchange->daemon->launch.map.uuid, meeting->purpose,
                 hex) < 0) {
        return NULL;
    }
    return signature;
}

/* Takes the signature. How many times these have met, this one included; 0: no memory. */
static uint64_t count_meeting(struct exchange *exchange, char *signature)
{
    struct meeting *meeting;
    list_for_each (meeting, &exchange->meetings, struct meeting, link) {
        if (strcmp(meeting->signature, signature) == 0) {
            free(signature);
            return ++meeting->count;
        }
    }
    meeting = calloc(1, sizeof(*meeting));
    if (!meeting) {
        free(signature);
        return 0;
    }
    meeting->signature = signature;
    meeting->count = 1;
    list_append(&exchange->meetings, &meeting->link);
    return 1;
}

static void gathered(void *arg, int status, const uint8_t *data, size_t size)
{
    exchange_pending_end(arg, status == ORTE_SUCCESS ? PMIX_SUCCESS : PMIX_ERR_LOST_CONNECTION,
                         data, size);
}

static int join(struct pending *pending, const char *key, const uint32_t *ranks, uint32_t count,
                const void *data, size_t size)
{
    struct daemon *daemon = pending->exchange->daemon;
    const struct job_map *map = &daemon->launch.map;
    uint32_t *daemons = calloc(count, sizeof(*daemons));
    if (!daemons) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < count; i++) {
        daemons[i] = map->daemon_of_node[map->node_of[ranks[i]]];
    }
    int status = allgather_join(daemon->allgather, key, daemons, count, ORTE_SUCCESS, data, size,
                                gathered, pending);
    free(daemons);
    return status;
}

/* The name of this meeting for the daemons; NULL: no memory. */
static char *make_key(struct exchange *exchange, const struct pmix_meeting *meeting,
                      const uint32_t *ranks, uint32_t count)
{
    char *signature = make_signature(exchange, meeting, ranks, count), *key = NULL;
    char *copy = signature ? strdup(signature) : NULL;
    uint64_t turn = copy ? count_meeting(exchange, copy) : 0;
    if (turn == 0 || asprintf(&key, "%s/%llu", signature, (unsigned long long) turn) < 0) {
        key = NULL;
    }
    free(signature);
    return key;
}

void exchange_gather(struct exchange *exchange, const struct pmix_meeting *meeting,
                     const void *data, size_t size, pmix_done_fn *done, void *done_arg)
{
    uint32_t rank_count;
    uint32_t *ranks = exchange_numbers(exchange, meeting->procs, meeting->count, &rank_count);
    if (!ranks) {
        done(done_arg, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
        return;
    }
    char *key = make_key(exchange, meeting, ranks, rank_count);
    struct pending *pending = exchange_pending(exchange, done, done_arg);
    if (pending && meeting->timeout_ms > 0) {
        loop_timer_start(&pending->timer, meeting->timeout_ms * 1000u);
    }
    if (pending) {
        int status =
            key ? join(pending, key, ranks, rank_count, data, size) : ORTE_ERR_OUT_OF_RESOURCE;
        if (status != ORTE_SUCCESS) {
            exchange_pending_end(pending, PMIX_ERROR, NULL, 0);
        }
    }
    free(ranks);
    free(key);
}

void gather_forget(struct exchange *exchange)
{
    struct meeting *meeting;
    list_for_each (meeting, &exchange->meetings, struct meeting, link) {
        list_remove(&meeting->link);
        free(meeting->signature);
        free(meeting);
    }
}
