/* Key-value spaces with their ranks. */
#include <config.h>

#include <launcher/pmi1/pmi1_internal.h>

#include <base/host/procstat.h>
#include <base/settings/param.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct param kvs_max =
    PARAM_SIZE("pmi_kvs_max_bytes", "64m", 4096, INT32_MAX / 2,
               "How much the ranks of a job may put into the key-value space of PMI-1");
PARAM_ROWS("launcher", kvs_max);

/* what a client that was told our limits has room for, and more would not be read whole */
#define MAPPING_MAX (PMI1_LINE_MAX - PMI1_KVSNAME_MAX - PMI1_KEY_MAX - 30)

/* After an event that others must hear of first, and for requests that came too early. */
static void resume(struct loop_task *task)
{
    struct pmi1_space *space = container_of(task, struct pmi1_space, resume);
    for (uint32_t index = 0; index < space->size; index++) {
        struct pmi1_client *client = space->clients[index];
        if (client && client->in_size > 0) {
            pmi1_client_serve(client);
        }
    }
    pmi1_barrier_check(space);
}

/* Is the end of a process that closed its connection yet to be reported? */
static bool end_is_due(const struct pmi1_client *client)
{
    return client->lost < LOST_TURNS ||
           (client->lost < ENDING_TURNS && process_is_ending(client->pid));
}

static void lost_turn(struct loop_timer *timer)
{
    struct pmi1_space *space = container_of(timer, struct pmi1_space, lost_timer);
    bool more = false;
    for (uint32_t index = 0; index < space->size; index++) {
        struct pmi1_client *client = space->clients[index];
        if (!client || client->lost == 0) {
            continue;
        }
        if (end_is_due(client)) {
            client->lost++;
            more = true;
        } else {
            client->lost = 0;
            local_broken(space->daemon, client->rank,
                         "closed its PMI-1 connection without MPI_Finalize");
        }
    }
    if (more) {
        loop_timer_start(timer, LOST_TURN_US);
    }
}

struct pmi1_client **pmi1_space_client(struct pmi1_space *space, uint32_t rank)
{
    return &space->clients[rank - space->first];
}

void pmi1_space_destroy(struct pmi1_space *space)
{
    loop_timer_stop(&space->lost_timer);
    loop_cancel(space->daemon->loop, &space->resume);
    for (uint32_t index = 0; space->clients && index < space->size; index++) {
        if (space->clients[index]) {
            names_drop(space->daemon->names, space->clients[index]);
            pmi1_client_close(space->clients[index]);
            free(space->clients[index]);
        }
    }
    free(space->clients);
    free(space->daemons);
    kvs_destroy(space->kvs);
    blob_fini(&space->puts);
    free(space);
}

/* What the ranks find at their start. */
static int fill_kvs(struct pmi1_space *space, char *const *puts)
{
    char mapping[MAPPING_MAX];
    pmi1_mapping(mapping, sizeof(mapping), space->daemon->launch.map.node_of + space->first,
                 space->size);
    /* without it, ranks find out by their host names */
    int status = mapping[0] ? kvs_put(space->kvs, "PMI_process_mapping", mapping) : ORTE_SUCCESS;
    for (; puts && *puts && status == ORTE_SUCCESS; puts++) {
        const char *equals = strchr(*puts, '=');
        char *key = equals ? strndup(*puts, (size_t) (equals - *puts)) : NULL;
        status = key ? kvs_put(space->kvs, key, equals + 1) : ORTE_ERR_BAD_PARAM;
        free(key);
    }
    return status;
}

static int fill(struct pmi1_space *space, char *const *puts)
{
    const struct job_map *map = &space->daemon->launch.map;
    space->clients = calloc(space->size, sizeof(struct pmi1_client *));
    space->daemons = calloc(space->size, sizeof(*space->daemons));
    int status = kvs_create(&space->kvs, (size_t) param_int(&kvs_max));
    if (!space->clients || !space->daemons || status != ORTE_SUCCESS) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t index = 0; index < space->size; index++) {
        uint32_t rank = space->first + index;
        space->daemons[index] = map->daemon_of_node[map->node_of[rank]];
        if (local_is_here(space->daemon, rank) && space->local_count++ == 0) {
            space->local_first = map->local_rank_of[rank];
        }
    }
    return fill_kvs(space, puts);
}

int pmi1_space_create(struct pmi1_space **out, struct daemon *daemon, const struct spawned *spawned)
{
    const struct launch *launch = &daemon->launch;
    struct pmi1_space *space = calloc(1, sizeof(*space));
    if (!space) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    space->daemon = daemon;
    space->size = launch->map.size;
    space->resume.run = resume;
    loop_timer_init(&space->lost_timer, daemon->loop, lost_turn);
    if (spawned) {
        space->number = spawned->number;
        space->first = spawned->first;
        space->size = spawned->count;
        space->app_first = spawned->app_first;
    }
    snprintf(space->name, sizeof(space->name), spawned ? "keel_%.8s_%u" : "keel_%.8s",
             launch->map.uuid, space->number);
    int status = fill(space, spawned ? spawned->puts : NULL);
    if (status != ORTE_SUCCESS) {
        pmi1_space_destroy(space);
        return status;
    }
    *out = space;
    return ORTE_SUCCESS;
}
