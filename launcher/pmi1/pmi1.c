#include <config.h>

#include <launcher/pmi1/pmi1.h>

#include <base/host/procstat.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <launcher/pmi1/pmi1_internal.h>
#include <stdio.h>
#include <stdlib.h>

static struct param kvs_max =
    PARAM_SIZE("pmi_kvs_max_bytes", "64m", 4096, INT32_MAX / 2,
               "How much the ranks of a job may put into the key-value space of PMI-1");
PARAM_ROWS("launcher", kvs_max);

/* what a client that was told our limits has room for, and more would not be read whole */
#define MAPPING_MAX (PMI1_LINE_MAX - PMI1_KVSNAME_MAX - PMI1_KEY_MAX - 30)

/* After an event that others must hear of first, and for requests that came too early. */
static void resume(struct loop_task *task)
{
    struct pmi1 *pmi1 = container_of(task, struct pmi1, resume);
    for (uint32_t rank = 0; rank < pmi1->size; rank++) {
        struct pmi1_client *client = pmi1->clients[rank];
        if (client && client->in_size > 0) {
            pmi1_client_serve(client);
        }
    }
    pmi1_barrier_check(pmi1);
}

/* Is the end of a process that closed its connection yet to be reported? */
static bool end_is_due(const struct pmi1_client *client)
{
    return client->lost < LOST_TURNS ||
           (client->lost < ENDING_TURNS && process_is_ending(client->pid));
}

static void lost_turn(struct loop_timer *timer)
{
    struct pmi1 *pmi1 = container_of(timer, struct pmi1, lost_timer);
    bool more = false;
    for (uint32_t rank = 0; rank < pmi1->size; rank++) {
        struct pmi1_client *client = pmi1->clients[rank];
        if (!client || client->lost == 0) {
            continue;
        }
        if (end_is_due(client)) {
            client->lost++;
            more = true;
        } else {
            client->lost = 0;
            local_broken(pmi1->daemon, rank, "closed its PMI-1 connection without MPI_Finalize");
        }
    }
    if (more) {
        loop_timer_start(timer, LOST_TURN_US);
    }
}

static void job_end(void *state)
{
    struct pmi1 *pmi1 = state;
    loop_timer_stop(&pmi1->lost_timer);
    loop_cancel(pmi1->daemon->loop, &pmi1->resume);
    allgather_forget(pmi1->daemon->allgather, "pmi1/");
    for (uint32_t rank = 0; pmi1->clients && rank < pmi1->size; rank++) {
        if (pmi1->clients[rank]) {
            names_drop(pmi1->daemon->names, pmi1->clients[rank]);
            pmi1_client_close(pmi1->clients[rank]);
            free(pmi1->clients[rank]);
        }
    }
    free(pmi1->clients);
    free(pmi1->daemons);
    kvs_destroy(pmi1->kvs);
    blob_fini(&pmi1->puts);
    free(pmi1);
}

static int fill_job(struct pmi1 *pmi1)
{
    const struct job_map *map = &pmi1->daemon->launch.map;
    pmi1->size = map->size;
    pmi1->clients = calloc(map->size, sizeof(struct pmi1_client *));
    pmi1->daemons = calloc(map->size, sizeof(*pmi1->daemons));
    int status = kvs_create(&pmi1->kvs, (size_t) param_int(&kvs_max));
    if (!pmi1->clients || !pmi1->daemons || status != ORTE_SUCCESS) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t rank = 0; rank < map->size; rank++) {
        pmi1->daemons[rank] = map->daemon_of_node[map->node_of[rank]];
        pmi1->local_count += local_is_here(pmi1->daemon, rank);
    }
    char mapping[MAPPING_MAX];
    pmi1_mapping(mapping, sizeof(mapping), map->node_of, map->size);
    /* without it, ranks find out by their host names */
    return mapping[0] ? kvs_put(pmi1->kvs, "PMI_process_mapping", mapping) : ORTE_SUCCESS;
}

static int job_start(void **state, struct daemon *daemon, char *reason, size_t reason_size)
{
    (void) reason;
    (void) reason_size;
    struct pmi1 *pmi1 = calloc(1, sizeof(*pmi1));
    if (!pmi1) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    pmi1->daemon = daemon;
    pmi1->resume.run = resume;
    loop_timer_init(&pmi1->lost_timer, daemon->loop, lost_turn);
    snprintf(pmi1->name, sizeof(pmi1->name), "keel_%.8s", daemon->launch.map.uuid);
    int status = fill_job(pmi1);
    if (status != ORTE_SUCCESS) {
        job_end(pmi1);
        return status;
    }
    *state = pmi1;
    return ORTE_SUCCESS;
}

static void app_vars(void *state, uint32_t app, struct vars *vars)
{
    const struct pmi1 *pmi1 = state;
    (void) app;
    vars_format(vars, "PMI_FD=%d", RANK_SOCKET);
    vars_format(vars, "PMI_SIZE=%u", pmi1->size);
    vars_format(vars, "MPI_LOCALNRANKS=%u", pmi1->local_count);
}

static void rank_vars(void *state, uint32_t rank, struct vars *vars)
{
    const struct pmi1 *pmi1 = state;
    vars_format(vars, "PMI_RANK=%u", rank);
    vars_format(vars, "MPI_LOCALRANKID=%u", pmi1->daemon->launch.map.local_rank_of[rank]);
}

static void rank_started(void *state, uint32_t rank, pid_t pid, int fd)
{
    struct pmi1 *pmi1 = state;
    struct pmi1_client *client = fd >= 0 ? calloc(1, sizeof(*client)) : NULL;
    if (!client) {
        log_error(LOG_LAUNCHER, "rank %u has no PMI-1 connection", rank);
        fd_close(&fd);
        return;
    }
    client->pmi1 = pmi1;
    client->rank = rank;
    client->pid = pid;
    client->fd = fd;
    pmi1->clients[rank] = client;
    pmi1_client_start(client);
}

static const char *rank_ended(void *state, uint32_t rank, int wait_status)
{
    struct pmi1 *pmi1 = state;
    struct pmi1_client *client = pmi1->clients[rank];
    (void) wait_status;
    pmi1->gone++;
    loop_post(pmi1->daemon->loop, &pmi1->resume); /* when the end was reported */
    if (!client) {
        return NULL;
    }
    for (unsigned reads = 0; reads < 256 && pmi1_client_read(client) > 0; reads++) {
        client->out_size = 0; /* nobody reads it */
        pmi1_client_serve(client);
    }
    bool unfinished = client->state == CLIENT_INIT;
    pmi1->arrived -= client->in_barrier;
    names_drop(pmi1->daemon->names, client);
    pmi1_client_close(client);
    free(client);
    pmi1->clients[rank] = NULL;
    return unfinished ? "MPI_Finalize" : NULL;
}

const struct service_ops pmi1_service_ops = {
    .name = "PMI-1",
    .socket = true,
    .job_start = job_start,
    .app_vars = app_vars,
    .rank_vars = rank_vars,
    .rank_started = rank_started,
    .rank_ended = rank_ended,
    .job_end = job_end,
};
