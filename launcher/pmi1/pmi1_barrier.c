/* Barriers, and what clients have put into the key-value space between two of them. */
#include <config.h>

#include <launcher/pmi1/pmi1_internal.h>

#include <base/settings/log.h>
#include <stdio.h>
#include <string.h>

/* What all daemons' ranks have put, this one's included: those are known already. */
static void merge_puts(struct pmi1_space *space, const uint8_t *data, size_t size)
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
        int status = kvs_put(space->kvs, key, value + 1);
        if (status != ORTE_SUCCESS && status != ORTE_EXISTS) {
            log_error(LOG_LAUNCHER, "PMI-1 key %s is lost: %s", key, opal_strerror(status));
        }
        at = last + 1;
    }
}

static uint32_t first_in_barrier(const struct pmi1_space *space)
{
    uint32_t index = 0;
    while (!space->clients[index] || !space->clients[index]->in_barrier) {
        index++;
    }
    return space->first + index;
}

static void barrier_done(void *arg, int status, const uint8_t *data, size_t size)
{
    struct pmi1_space *space = arg;
    if (status != ORTE_SUCCESS) {
        if (space->arrived > 0) {
            local_broken(space->daemon, first_in_barrier(space),
                         status == ORTE_ERR_COMM_FAILURE
                             ? "waits in a barrier that some rank will never reach"
                             : "waits in a barrier that the daemons cannot carry out");
        }
        return; /* joined stays: there is no other barrier after it */
    }
    merge_puts(space, data, size);
    space->barrier++;
    space->joined = false;
    space->arrived = 0;
    for (uint32_t index = 0; index < space->size; index++) {
        if (space->clients[index] && space->clients[index]->in_barrier) {
            pmi1_client_reply(space->clients[index], "cmd=barrier_out");
        }
    }
    loop_post(space->daemon->loop, &space->resume);
}

void pmi1_barrier_check(struct pmi1_space *space)
{
    bool complete = space->arrived == space->local_count;
    if (space->joined || space->arrived == 0 || (!complete && space->gone == 0)) {
        return;
    }
    const struct job_map *map = &space->daemon->launch.map;
    char key[64];
    snprintf(key, sizeof(key), "pmi1/%u/%u/%u", map->jobid, space->number, space->barrier);
    struct blob puts = space->puts;
    space->puts = (struct blob){0};
    space->joined = true;
    int status = allgather_join(space->daemon->allgather, key, space->daemons, space->size,
                                complete ? ORTE_SUCCESS : ORTE_ERR_COMM_FAILURE, puts.data,
                                puts.size, barrier_done, space);
    blob_fini(&puts);
    if (status != ORTE_SUCCESS) {
        barrier_done(space, status, NULL, 0);
    }
}
