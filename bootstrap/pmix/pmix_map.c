#include <config.h>

#include <bootstrap/pmix/pmix_map.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_MAX 255

struct place {
    const char *host;
    uint32_t rank;
};

static int by_host(const void *a, const void *b)
{
    const struct place *left = a, *right = b;
    int order = strcmp(left->host, right->host);
    return order != 0 ? order : left->rank < right->rank ? -1 : left->rank > right->rank;
}

static bool is_host(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] > '~') {
            return false;
        }
    }
    return length > 0 && length <= HOST_MAX;
}

/* leaders[rank]: the lowest rank on the same host. */
static int find_leaders(const struct pmix_view *view, uint32_t *leaders, char *reason, size_t size)
{
    size_t known = 0;
    struct place *places = calloc(view->size, sizeof(*places));
    if (!places) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t rank = 0; rank < view->size; rank++) {
        leaders[rank] = rank;
        if (view->hosts[rank] && !is_host(view->hosts[rank])) {
            snprintf(reason, size, "the PMIx server's name for the node of rank %u is none", rank);
            free(places);
            return ORTE_ERR_BAD_PARAM;
        }
        if (view->hosts[rank]) {
            places[known++] = (struct place){view->hosts[rank], rank};
        }
    }
    qsort(places, known, sizeof(*places), by_host);
    for (size_t i = 1; i < known; i++) {
        if (strcmp(places[i].host, places[i - 1].host) == 0) {
            leaders[places[i].rank] = leaders[places[i - 1].rank];
        }
    }
    free(places);
    return ORTE_SUCCESS;
}

/* Numbers nodes and ranks of a node in the order of the ranks. */
static void number_nodes(struct job_map *map, const uint32_t *leaders)
{
    for (uint32_t rank = 0; rank < map->size; rank++) {
        uint32_t leader = leaders[rank];
        map->node_of[rank] = leader == rank ? map->node_count++ : map->node_of[leader];
    }
}

static int name_nodes(struct job_map *map, const struct pmix_view *view)
{
    uint32_t *next = calloc(map->node_count, sizeof(*next)); /* by node: local ranks so far */
    map->node_names = calloc(map->node_count, sizeof(*map->node_names));
    map->daemon_of_node = calloc(map->node_count, sizeof(*map->daemon_of_node));
    int status =
        next && map->node_names && map->daemon_of_node ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    for (uint32_t rank = 0; status == ORTE_SUCCESS && rank < map->size; rank++) {
        uint32_t node = map->node_of[rank];
        map->local_rank_of[rank] = next[node]++;
        if (!map->node_names[node]) {
            map->node_names[node] = strdup(view->hosts[rank] ? view->hosts[rank] : "unknown");
            status = map->node_names[node] ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    free(next);
    return status;
}

static void hash(uint8_t digest[32], const char *nspace, const char *server)
{
    struct crypto_hash state;
    crypto_hash_begin(&state);
    crypto_hash_update(&state, nspace, strlen(nspace) + 1);
    crypto_hash_update(&state, server, strlen(server));
    crypto_hash_end(&state, digest);
}

static void make_ids(struct job_map *map, const char *nspace, const char *server)
{
    uint8_t digest[32];
    hash(digest, nspace, "");
    map->jobid = job_family_of(digest) | 1;
    hash(digest, nspace, server);
    crypto_to_hex(map->uuid, digest, (JOB_UUID_TEXT - 1) / 2);
}

int pmix_job_map(struct job_map *map, const struct pmix_view *view, const char *server,
                 char *reason, size_t reason_size)
{
    struct job_map made = {.size = view->size};
    uint32_t *leaders = calloc(view->size, sizeof(*leaders));
    made.node_of = calloc(view->size, sizeof(*made.node_of));
    made.local_rank_of = calloc(view->size, sizeof(*made.local_rank_of));
    int status =
        leaders && made.node_of && made.local_rank_of ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == ORTE_SUCCESS) {
        status = find_leaders(view, leaders, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        number_nodes(&made, leaders);
        status = name_nodes(&made, view);
    }
    free(leaders);
    if (status != ORTE_SUCCESS) {
        job_map_fini(&made);
        return status;
    }
    make_ids(&made, view->nspace, server);
    *map = made;
    return ORTE_SUCCESS;
}
