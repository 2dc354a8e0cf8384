#include <config.h>

#include <launcher/pmi1/pmi1.h>

#include <base/settings/log.h>
#include <launcher/pmi1/pmi1_internal.h>
#include <stdio.h>
#include <stdlib.h>

struct pmi1 {
    struct daemon *daemon; /* borrowed */
    struct list spaces;    /* of struct pmi1_space: the user's ranks, then what they have spawned */
    struct spawned_watcher watcher;
};

/* Every rank and every program is of one. */
static struct pmi1_space *space_of_rank(struct pmi1 *pmi1, uint32_t rank)
{
    struct pmi1_space *space, *found = NULL;
    list_for_each (space, &pmi1->spaces, struct pmi1_space, link) {
        found = space->first <= rank ? space : found;
    }
    return found;
}

static struct pmi1_space *space_of_app(struct pmi1 *pmi1, uint32_t app)
{
    struct pmi1_space *space, *found = NULL;
    list_for_each (space, &pmi1->spaces, struct pmi1_space, link) {
        found = space->app_first <= app ? space : found;
    }
    return found;
}

/* The HNP's answer to a spawn of PMI-1 or of another service. */
static void answered(void *arg, uint64_t request, int status, uint32_t number)
{
    struct pmi1 *pmi1 = arg;
    struct pmi1_space *space;
    (void) number;
    list_for_each (space, &pmi1->spaces, struct pmi1_space, link) {
        for (uint32_t index = 0; index < space->size; index++) {
            struct pmi1_client *client = space->clients[index];
            if (client && client->spawn_request == request) {
                pmi1_client_spawned(client, status);
                return;
            }
        }
    }
}

static bool job_end(void *state)
{
    struct pmi1 *pmi1 = state;
    struct pmi1_space *space;
    list_remove(&pmi1->watcher.link);
    allgather_forget(pmi1->daemon->allgather, "pmi1/");
    list_for_each (space, &pmi1->spaces, struct pmi1_space, link) {
        pmi1_space_destroy(space);
    }
    free(pmi1);
    return true;
}

static int add_space(struct pmi1 *pmi1, const struct spawned *spawned)
{
    struct pmi1_space *space;
    int status = pmi1_space_create(&space, pmi1->daemon, spawned);
    if (status == ORTE_SUCCESS) {
        list_append(&pmi1->spaces, &space->link);
    }
    return status;
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
    list_init(&pmi1->spaces);
    pmi1->watcher = (struct spawned_watcher){.fn = answered, .arg = pmi1};
    daemon_watch_spawned(daemon, &pmi1->watcher);
    int status = add_space(pmi1, NULL);
    if (status != ORTE_SUCCESS) {
        job_end(pmi1);
        return status;
    }
    *state = pmi1;
    return ORTE_SUCCESS;
}

static int spawned(void *state, const struct spawned *what)
{
    return add_space(state, what);
}

static void app_vars(void *state, uint32_t app, struct vars *vars)
{
    const struct pmi1_space *space = space_of_app(state, app);
    vars_format(vars, "PMI_FD=%d", RANK_SOCKET);
    vars_format(vars, "PMI_SIZE=%u", space->size);
    vars_format(vars, "MPI_LOCALNRANKS=%u", space->local_count);
    if (space->number) {
        vars_format(vars, "PMI_SPAWNED=1");
    }
}

static void rank_vars(void *state, uint32_t rank, struct vars *vars)
{
    const struct pmi1_space *space = space_of_rank(state, rank);
    vars_format(vars, "PMI_RANK=%u", rank - space->first);
    vars_format(vars, "MPI_LOCALRANKID=%u",
                space->daemon->launch.map.local_rank_of[rank] - space->local_first);
}

static void rank_started(void *state, uint32_t rank, pid_t pid, int fd)
{
    struct pmi1_space *space = space_of_rank(state, rank);
    struct pmi1_client *client = fd >= 0 ? calloc(1, sizeof(*client)) : NULL;
    if (!client) {
        log_error(LOG_LAUNCHER, "rank %u has no PMI-1 connection", rank);
        fd_close(&fd);
        return;
    }
    client->space = space;
    client->rank = rank;
    client->pid = pid;
    client->fd = fd;
    *pmi1_space_client(space, rank) = client;
    pmi1_client_start(client);
}

static const char *rank_ended(void *state, uint32_t rank, int wait_status)
{
    struct pmi1_space *space = space_of_rank(state, rank);
    struct pmi1_client *client = *pmi1_space_client(space, rank);
    (void) wait_status;
    space->gone++;
    loop_post(space->daemon->loop, &space->resume); /* when the end was reported */
    if (!client) {
        return NULL;
    }
    for (unsigned reads = 0; reads < 256 && pmi1_client_read(client) > 0; reads++) {
        client->out_size = 0; /* nobody reads it */
        pmi1_client_serve(client);
    }
    bool unfinished = client->state == CLIENT_INIT;
    space->arrived -= client->in_barrier;
    names_drop(space->daemon->names, client);
    pmi1_client_close(client);
    free(client);
    *pmi1_space_client(space, rank) = NULL;
    return unfinished ? "MPI_Finalize" : NULL;
}

static void rank_doing(void *state, uint32_t rank, struct doing *doing)
{
    const struct pmi1_client *client = *pmi1_space_client(space_of_rank(state, rank), rank);
    if (!client || client->state == CLIENT_NEW) {
        return;
    }
    snprintf(doing->what, sizeof(doing->what), "%s",
             client->state == CLIENT_FINAL ? "finalized, in or after MPI_Finalize"
             : client->in_barrier          ? "in a PMI-1 barrier, of MPI_Init or MPI_Finalize"
                                           : "running, in or after MPI_Init");
}

const struct service_ops pmi1_service_ops = {
    .name = "PMI-1",
    .socket = true,
    .job_start = job_start,
    .app_vars = app_vars,
    .rank_vars = rank_vars,
    .spawned = spawned,
    .rank_started = rank_started,
    .rank_ended = rank_ended,
    .rank_doing = rank_doing,
    .job_end = job_end,
};
