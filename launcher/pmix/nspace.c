#include <config.h>

#include <launcher/pmix/nspace.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nspace *nspace_find(struct list *all, const char *name)
{
    struct nspace *nspace;
    list_for_each (nspace, all, struct nspace, link) {
        if (strcmp(nspace->name, name) == 0) {
            return nspace;
        }
    }
    return NULL;
}

struct nspace *nspace_of_rank(struct list *all, uint32_t number)
{
    struct nspace *nspace;
    list_for_each (nspace, all, struct nspace, link) {
        if (number >= nspace->first && number - nspace->first < nspace->map.size) {
            return nspace;
        }
    }
    return NULL;
}

pmix_proc_t nspace_rank_name(struct list *all, uint32_t number)
{
    pmix_proc_t name = {.rank = PMIX_RANK_INVALID};
    const struct nspace *nspace = nspace_of_rank(all, number);
    if (nspace) {
        PMIX_LOAD_PROCID(&name, nspace->name, number - nspace->first);
    }
    return name;
}

void nspace_destroy(struct nspace *nspace)
{
    free(nspace->map.node_names);
    free(nspace->map.daemon_of_node);
    free(nspace->map.node_of);
    free(nspace->map.local_rank_of);
    free(nspace->app_of);
    free(nspace->cpus);
    free(nspace->programs);
    free(nspace);
}

/* Within the namespace: counted node by node. */
static int count_local_ranks(struct job_map *map)
{
    uint32_t *next = calloc(map->node_count, sizeof(*next));
    for (uint32_t rank = 0; next && rank < map->size; rank++) {
        map->local_rank_of[rank] = next[map->node_of[rank]]++;
    }
    bool counted = next != NULL;
    free(next);
    return counted ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* The texts stay where they are when the launch grows. */
static int copy_cpus(struct nspace *nspace, const struct launch *launch, uint32_t count)
{
    nspace->cpus = calloc(count, sizeof(*nspace->cpus));
    for (uint32_t rank = 0; nspace->cpus && rank < count; rank++) {
        nspace->cpus[rank] = launch->cpus[nspace->first + rank];
    }
    return nspace->cpus ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* The names stay where they are when the job gets more nodes. */
static int copy_nodes(struct job_map *map, const struct job_map *from)
{
    map->node_count = from->node_count;
    map->node_names = calloc(from->node_count, sizeof(*map->node_names));
    map->daemon_of_node = calloc(from->node_count, sizeof(*map->daemon_of_node));
    if (!map->node_names || !map->daemon_of_node) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    memcpy(map->node_names, from->node_names, from->node_count * sizeof(*map->node_names));
    memcpy(map->daemon_of_node, from->daemon_of_node,
           from->node_count * sizeof(*map->daemon_of_node));
    return ORTE_SUCCESS;
}

/* Fills the maps from the daemon's launch. */
static int copy_map(struct nspace *nspace, const struct launch *launch, uint32_t count,
                    uint32_t app_count)
{
    struct job_map *map = &nspace->map;
    map->size = count;
    map->node_of = calloc(count, sizeof(*map->node_of));
    map->local_rank_of = calloc(count, sizeof(*map->local_rank_of));
    nspace->app_of = calloc(count, sizeof(*nspace->app_of));
    nspace->programs = calloc(app_count, sizeof(*nspace->programs));
    if (!map->node_of || !map->local_rank_of || !nspace->app_of || !nspace->programs) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        map->node_of[rank] = launch->map.node_of[nspace->first + rank];
        nspace->app_of[rank] = launch->app_of[nspace->first + rank] - nspace->app_first;
    }
    for (uint32_t app = 0; app < app_count; app++) {
        nspace->programs[app] =
            (struct pmix_program){.argv = launch->apps[nspace->app_first + app].argv,
                                  .wdir = launch->apps[nspace->app_first + app].wdir};
    }
    int status = copy_nodes(map, &launch->map);
    if (status == ORTE_SUCCESS) {
        status = count_local_ranks(map);
    }
    return status == ORTE_SUCCESS ? copy_cpus(nspace, launch, count) : status;
}

struct nspace *nspace_of_app(struct list *all, uint32_t app)
{
    struct nspace *nspace;
    list_for_each (nspace, all, struct nspace, link) {
        if (app >= nspace->app_first && app - nspace->app_first < nspace->job.app_count) {
            return nspace;
        }
    }
    return NULL;
}

uint32_t nspace_local_size(const struct nspace *nspace)
{
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < nspace->map.size; rank++) {
        count += nspace->map.daemon_of_node[nspace->map.node_of[rank]] == nspace->job.daemon;
    }
    return count;
}

static void describe(struct nspace *nspace, const struct nspace_setup *setup, uint32_t app_count,
                     struct list *all)
{
    const struct spawned *spawned = setup->spawned;
    const char *uuid = setup->daemon->launch.map.uuid;
    if (spawned) {
        snprintf(nspace->name, sizeof(nspace->name), "keel-%s.%u", uuid, spawned->number);
        nspace->parent = nspace_rank_name(all, spawned->parent);
    } else {
        snprintf(nspace->name, sizeof(nspace->name), "keel-%s", uuid);
    }
    nspace->job = (struct pmix_job){.nspace = nspace->name,
                                    .parent = spawned ? &nspace->parent : NULL,
                                    .first = nspace->first,
                                    .map = &nspace->map,
                                    .daemon = setup->daemon->name.vpid,
                                    .node = setup->daemon->node,
                                    .apps = nspace->programs,
                                    .app_count = app_count,
                                    .app_of = nspace->app_of,
                                    .cpus = nspace->cpus,
                                    .folder = setup->folder,
                                    .universe = setup->daemon->launch.universe};
}

struct nspace *nspace_add(struct list *all, const struct nspace_setup *setup)
{
    const struct launch *launch = &setup->daemon->launch;
    const struct spawned *spawned = setup->spawned;
    struct nspace *nspace = calloc(1, sizeof(*nspace));
    if (!nspace) {
        return NULL;
    }
    uint32_t apps = spawned ? spawned->app_count : launch->app_count;
    nspace->first = spawned ? spawned->first : 0;
    nspace->app_first = spawned ? spawned->app_first : 0;
    if (copy_map(nspace, launch, spawned ? spawned->count : launch->map.size, apps) !=
        ORTE_SUCCESS) {
        nspace_destroy(nspace);
        return NULL;
    }
    describe(nspace, setup, apps, all);
    list_append(all, &nspace->link);
    return nspace;
}
