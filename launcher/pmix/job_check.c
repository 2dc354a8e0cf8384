#include <config.h>

#include <launcher/pmix/job_check.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int refuse(char *reason, size_t size, const char *what, const char *which)
{
    snprintf(reason, size, "%s%s%s", what, which ? ": " : "", which ? which : "");
    return -1;
}

static int check_names(const struct pmix_job *job, char *reason, size_t size)
{
    const struct job_map *map = job->map;
    size_t length = strlen(job->nspace);
    if (length == 0 || length > PMIX_MAX_NSLEN) {
        return refuse(reason, size, "the job's name is empty or too long", job->nspace);
    }
    if (!job->folder || job->folder[0] == '\0') {
        return refuse(reason, size, "the job has no folder", NULL);
    }
    for (uint32_t node = 0; node < map->node_count; node++) {
        const char *name = map->node_names[node];
        if (name[0] == '\0' || strpbrk(name, ",;[] \t\n")) {
            return refuse(reason, size, "a node's name cannot be put into a list", name);
        }
    }
    for (uint32_t app = 0; app < job->app_count; app++) {
        if (!job->apps[app].argv || !job->apps[app].argv[0]) {
            return refuse(reason, size, "a program has no name", NULL);
        }
    }
    return 0;
}

static int check_sizes(const struct pmix_job *job, char *reason, size_t size)
{
    if (job->map->size == 0 || job->map->size >= PMIX_RANK_VALID || job->app_count == 0) {
        return refuse(reason, size, "the job has no ranks, or too many", NULL);
    }
    return job->universe == 0 ? refuse(reason, size, "the job's universe is empty", NULL) : 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *) a, *(const char *const *) b);
}

/* libpmix tells nodes apart by their names; so only those with ranks matter. */
static int check_twins(const struct pmix_job *job, const uint32_t *ranks, char *reason, size_t size)
{
    const struct job_map *map = job->map;
    uint32_t count = 0;
    const char **names = calloc(map->node_count, sizeof(*names));
    if (!names) {
        return refuse(reason, size, "no memory", NULL);
    }
    for (uint32_t node = 0; node < map->node_count; node++) {
        if (ranks[node] > 0) {
            names[count++] = map->node_names[node];
        }
    }
    int status = 0;
    qsort(names, count, sizeof(*names), compare_names);
    for (uint32_t i = 1; i < count && status == 0; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            status = refuse(reason, size, "two nodes have one name", names[i]);
        }
    }
    free(names);
    return status;
}

/* The local ranks of each node are 0, 1, 2 in the order of their ranks, and the server bears the
 * name of its ranks' node: else they do not know each other. Counts the ranks of each node. */
static int check_places(const struct pmix_job *job, uint32_t *ranks, char *reason, size_t size)
{
    const struct job_map *map = job->map;
    for (uint32_t rank = 0; rank < map->size; rank++) {
        uint32_t node = map->node_of[rank];
        if (node >= map->node_count || job->app_of[rank] >= job->app_count) {
            return refuse(reason, size, "the job's map names a node or program that is not there",
                          NULL);
        }
        if (map->local_rank_of[rank] > UINT16_MAX || map->local_rank_of[rank] != ranks[node]++) {
            return refuse(reason, size, "the local ranks of a node are wrong",
                          map->node_names[node]);
        }
        if (map->daemon_of_node[node] == job->daemon &&
            strcmp(map->node_names[node], job->node) != 0) {
            return refuse(reason, size, "this node has another name in the job's map",
                          map->node_names[node]);
        }
    }
    return 0;
}

int pmix_job_check(const struct pmix_job *job, char *reason, size_t size)
{
    if (check_sizes(job, reason, size) != 0 || check_names(job, reason, size) != 0) {
        return -1;
    }
    uint32_t *ranks = calloc(job->map->node_count + 1u, sizeof(*ranks));
    if (!ranks) {
        return refuse(reason, size, "no memory", NULL);
    }
    int status = check_places(job, ranks, reason, size);
    if (status == 0) {
        status = check_twins(job, ranks, reason, size);
    }
    free(ranks);
    return status;
}
