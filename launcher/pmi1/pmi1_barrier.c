/* Barriers, and what clients have put into the key-value space between two of them. */
#include <config.h>

#include <launcher/pmi1/pmi1_internal.h>

#include <base/settings/log.h>
#include <stdio.h>
#include <string.h>

/* What all daemons' ranks have put, this one's included: those are known already. */
static void merge_puts(struct pmi1 *pmi1, const uint8_t *data, size_t size)
{
    const char *at = (const char *) data, *end = at + size;
    while (at < end) {
        const char *key = at;
        const char *value = memchr(key, '\0', (size_t) (end - key));
        const char *last = value ? memchr(value + 1, '\0', (size_t) (end - value - 1)) : NULL;
        if (!last) {
            log_error(LOG_LAUNCHER, "a part of the PMI-1 key-value space is malformed");
            return;
        }
        int status = kvs_put(pmi1->kvs, key, value + 1);
        if (status != ORTE_SUCCESS && status != ORTE_EXISTS) {
            log_error(LOG_LAUNCHER, "PMI-1 key %s is lost: %s", key, opal_strerror(status));
        }
        at = last + 1;
    }
}

static uint32_t first_in_barrier(const struct pmi1 *pmi1)
{
    uint32_t rank = 0;
    while (!pmi1->clients[rank] || !pmi1->clients[rank]->in_barrier) {
        rank++;
    }
    return rank;
}

static void barrier_done(void *arg, int status, const uint8_t *data, size_t size)
{
    struct pmi1 *pmi1 = arg;
    if (status != ORTE_SUCCESS) {
        if (pmi1->arrived > 0) {
            local_broken(pmi1->daemon, first_in_barrier(pmi1),
                         status == ORTE_ERR_COMM_FAILURE
                             ? "waits in a barrier that some rank will never reach"
                             : "waits in a barrier that the daemons cannot carry out");
        }
        return; /* joined stays: there is no other barrier after it */
    }
    merge_puts(pmi1, data, size);
    pmi1->barrier++;
    pmi1->joined = false;
    pmi1->arrived = 0;
    for (uint32_t rank = 0; rank < pmi1->size; rank++) {
        if (pmi1->clients[rank] && pmi1->clients[rank]->in_barrier) {
            pmi1_client_reply(pmi1->clients[rank], "cmd=barrier_out");
        }
    }
    loop_post(pmi1->daemon->loop, &pmi1->resume);
}

void pmi1_barrier_check(struct pmi1 *pmi1)
{
    bool complete = pmi1->arrived == pmi1->local_count;
    if (pmi1->joined || pmi1->arrived == 0 || (!complete && pmi1->gone == 0)) {
        return;
    }
    const struct job_map *map = &pmi1->daemon->launch.map;
    char key[64];
    snprintf(key, sizeof(key), "pmi1/%u/%u", map->jobid, pmi1->barrier);
    struct blob puts = pmi1->puts;
    pmi1->puts = (struct blob){0};
    pmi1->joined = true;
    int status = allgather_join(pmi1->daemon->allgather, key, pmi1->daemons, pmi1->size,
                                complete ? ORTE_SUCCESS : ORTE_ERR_COMM_FAILURE, puts.data,
                                puts.size, barrier_done, pmi1);
    blob_fini(&puts);
    if (status != ORTE_SUCCESS) {
        barrier_done(pmi1, status, NULL, 0);
    }
}
