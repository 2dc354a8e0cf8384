/* What the ranks of a job are told about it. A rank that asks for something that is missing here
 * waits for ever, so everything is checked before libpmix gets it. docs/mpi.md has the reasons of
 * each key. */
#include <config.h>

#include <launcher/pmix/job_check.h>
#include <launcher/pmix/module/pmix_module_internal.h>

#include <hwloc/glibc-sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A growing list of keys; the first error stays. */
struct keys {
    void *list;
    pmix_status_t status;
};

static struct keys keys_begin(void)
{
    struct keys keys = {PMIx_Info_list_start(), PMIX_SUCCESS};
    keys.status = keys.list ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
    return keys;
}

static void add(struct keys *keys, const char *key, const void *value, pmix_data_type_t type)
{
    if (keys->status == PMIX_SUCCESS) {
        keys->status = PMIx_Info_list_add(keys->list, key, value, type);
    }
}

static void add_text(struct keys *keys, const char *key, const char *text)
{
    add(keys, key, text, PMIX_STRING);
}

static void add_u32(struct keys *keys, const char *key, uint32_t number)
{
    add(keys, key, &number, PMIX_UINT32);
}

static void add_u16(struct keys *keys, const char *key, uint32_t number)
{
    uint16_t value = (uint16_t) number;
    add(keys, key, &value, PMIX_UINT16);
}

static void add_rank(struct keys *keys, const char *key, uint32_t rank)
{
    pmix_rank_t value = rank;
    add(keys, key, &value, PMIX_PROC_RANK);
}

/* Ends the list; what it held is in the array. */
static pmix_status_t keys_end(struct keys *keys, pmix_data_array_t *array)
{
    PMIX_DATA_ARRAY_CONSTRUCT(array, 0, PMIX_INFO);
    if (keys->status == PMIX_SUCCESS) {
        keys->status = PMIx_Info_list_convert(keys->list, array);
    }
    if (keys->list) {
        PMIx_Info_list_release(keys->list);
        keys->list = NULL;
    }
    return keys->status;
}

/* Adds the list under a key of another. */
static void add_keys(struct keys *keys, const char *key, struct keys *part)
{
    pmix_data_array_t array;
    if (keys_end(part, &array) == PMIX_SUCCESS) {
        add(keys, key, &array, PMIX_DATA_ARRAY);
    } else if (keys->status == PMIX_SUCCESS) {
        keys->status = part->status;
    }
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}

static int refuse(char *reason, size_t size, const char *what, const char *which)
{
    snprintf(reason, size, "%s%s%s", what, which ? ": " : "", which ? which : "");
    return -1;
}

/* --- maps: which nodes have ranks, and which --- */

struct maps {
    uint32_t *number; /* owned: by node, its place among those that have ranks; UINT32_MAX: none */
    uint32_t count;
    char *nodes, *ranks; /* owned: "a,b" and "0,1;2" */
};

static void maps_fini(struct maps *maps)
{
    free(maps->number);
    free(maps->nodes);
    free(maps->ranks);
}

static void print_node(FILE *nodes, FILE *ranks, const struct job_map *map, uint32_t node)
{
    const char *separator = "";
    fputs(map->node_names[node], nodes);
    for (uint32_t rank = 0; rank < map->size; rank++) {
        if (map->node_of[rank] == node) {
            fprintf(ranks, "%s%u", separator, rank);
            separator = ",";
        }
    }
}

static int maps_make(struct maps *maps, const struct job_map *map)
{
    size_t node_size = 0, rank_size = 0;
    memset(maps, 0, sizeof(*maps));
    maps->number = calloc(map->node_count, sizeof(*maps->number));
    FILE *nodes = open_memstream(&maps->nodes, &node_size);
    FILE *ranks = open_memstream(&maps->ranks, &rank_size);
    int status = maps->number && nodes && ranks ? 0 : -1;
    for (uint32_t rank = 0; status == 0 && rank < map->size; rank++) {
        maps->number[map->node_of[rank]] = 1;
    }
    for (uint32_t node = 0; status == 0 && node < map->node_count; node++) {
        if (maps->number[node] == 0) {
            maps->number[node] = UINT32_MAX;
            continue;
        }
        maps->number[node] = maps->count++;
        fputs(maps->number[node] > 0 ? "," : "", nodes);
        fputs(maps->number[node] > 0 ? ";" : "", ranks);
        print_node(nodes, ranks, map, node);
    }
    status = nodes && fclose(nodes) == 0 ? status : -1;
    status = ranks && fclose(ranks) == 0 ? status : -1;
    if (status != 0) {
        maps_fini(maps);
    }
    return status;
}

static void add_regex(struct keys *keys, const char *key, const char *text,
                      pmix_status_t (*compress)(const char *, char **))
{
    char *regex = NULL;
    pmix_status_t status = compress(text, &regex);
    if (status == PMIX_SUCCESS) {
        add(keys, key, regex, PMIX_REGEX);
    } else if (keys->status == PMIX_SUCCESS) {
        keys->status = status;
    }
    free(regex);
}

/* --- ranks, apps, the job --- */

/* Where a bound rank runs. Without it, ranks of one node still know that they share it. */
static void add_binding(struct keys *keys, const char *cpus)
{
    pmix_cpuset_t set = {(char *) "hwloc", hwloc_bitmap_alloc()};
    char *locality = NULL, *text = NULL;
    if (set.bitmap && hwloc_bitmap_list_sscanf(set.bitmap, cpus) == 0 &&
        PMIx_server_generate_locality_string(&set, &locality) == PMIX_SUCCESS &&
        PMIx_server_generate_cpuset_string(&set, &text) == PMIX_SUCCESS) {
        add_text(keys, PMIX_LOCALITY_STRING, locality);
        add_text(keys, PMIX_CPUSET, text);
    }
    free(locality);
    free(text);
    hwloc_bitmap_free(set.bitmap);
}

static void add_process(struct keys *keys, const struct pmix_job *job, const struct maps *maps,
                        uint32_t rank, uint32_t app_rank)
{
    const struct job_map *map = job->map;
    struct keys process = keys_begin();
    add_rank(&process, PMIX_RANK, rank); /* libpmix wants it first */
    add_u32(&process, PMIX_APPNUM, job->app_of[rank]);
    add_rank(&process, PMIX_APP_RANK, app_rank);
    add_rank(&process, PMIX_GLOBAL_RANK, rank);
    add_u16(&process, PMIX_LOCAL_RANK, map->local_rank_of[rank]);
    add_u16(&process, PMIX_NODE_RANK, map->local_rank_of[rank]);
    add_u32(&process, PMIX_NODEID, maps->number[map->node_of[rank]]);
    add_text(&process, PMIX_HOSTNAME, map->node_names[map->node_of[rank]]);
    add_u32(&process, PMIX_REINCARNATION, 0);
    if (job->cpus[rank][0] && module_is_local(job, rank)) {
        add_binding(&process, job->cpus[rank]);
    }
    add_keys(keys, PMIX_PROC_INFO_ARRAY, &process);
}

static void add_app(struct keys *keys, const struct pmix_job *job, uint32_t index)
{
    uint32_t size = 0, leader = 0;
    for (uint32_t rank = job->map->size; rank-- > 0;) {
        if (job->app_of[rank] == index) {
            size++;
            leader = rank;
        }
    }
    struct keys app = keys_begin();
    add_u32(&app, PMIX_APPNUM, index);
    add_u32(&app, PMIX_APP_SIZE, size);
    add_rank(&app, PMIX_APPLDR, leader);
    if (job->apps[index].wdir) {
        add_text(&app, PMIX_WDIR, job->apps[index].wdir);
    }
    add_keys(keys, PMIX_APP_INFO_ARRAY, &app);
}

static void add_processes(struct keys *keys, const struct pmix_job *job, const struct maps *maps)
{
    uint32_t *next =
        calloc(job->app_count, sizeof(*next)); /* by app: the next rank's place in it */
    if (!next) {
        keys->status = PMIX_ERR_NOMEM;
        return;
    }
    for (uint32_t rank = 0; rank < job->map->size; rank++) {
        add_process(keys, job, maps, rank, next[job->app_of[rank]]++);
    }
    free(next);
}

static void add_job(struct keys *keys, const struct pmix_job *job, const struct maps *maps)
{
    bool yes = true;
    char folder[4096];
    add_text(keys, PMIX_JOBID, job->nspace);
    if (job->parent) {
        add(keys, PMIX_SPAWNED, &yes, PMIX_BOOL);
        add(keys, PMIX_PARENT_ID, job->parent, PMIX_PROC);
    }
    add_u32(keys, PMIX_JOB_SIZE, job->map->size);
    add_u32(keys, PMIX_MAX_PROCS, job->map->size);
    add_u32(keys, PMIX_UNIV_SIZE, job->universe);
    add_u32(keys, PMIX_JOB_NUM_APPS, job->app_count);
    add_u32(keys, PMIX_NUM_NODES, maps->count);
    add_regex(keys, PMIX_NODE_MAP, maps->nodes, PMIx_generate_regex);
    add_regex(keys, PMIX_PROC_MAP, maps->ranks, PMIx_generate_ppn);
    add_text(keys, PMIX_TMPDIR, job->folder);
    snprintf(folder, sizeof(folder), "%s/%s", job->folder, job->nspace);
    add_text(keys, PMIX_NSDIR, folder);
    add(keys, PMIX_TDIR_RMCLEAN, &yes, PMIX_BOOL);
}

static pmix_status_t register_ranks(const struct pmix_job *job, const struct pmix_server *server)
{
    pmix_status_t status = PMIX_SUCCESS;
    for (uint32_t rank = 0; rank < job->map->size && status == PMIX_SUCCESS; rank++) {
        if (module_is_local(job, rank)) {
            pmix_proc_t name;
            PMIX_LOAD_PROCID(&name, job->nspace, rank);
            status = PMIx_server_register_client(&name, server->uid, server->gid, NULL, NULL, NULL);
            status = status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
        }
    }
    return status;
}

static pmix_status_t register_job(const struct pmix_job *job, const struct maps *maps)
{
    int local = 0;
    struct keys keys = keys_begin();
    add_job(&keys, job, maps);
    for (uint32_t app = 0; app < job->app_count; app++) {
        add_app(&keys, job, app);
    }
    add_processes(&keys, job, maps);
    for (uint32_t rank = 0; rank < job->map->size; rank++) {
        local += module_is_local(job, rank);
    }
    pmix_data_array_t array;
    pmix_status_t status = keys_end(&keys, &array);
    if (status == PMIX_SUCCESS) {
        status =
            PMIx_server_register_nspace(job->nspace, local, array.array, array.size, NULL, NULL);
    }
    PMIX_DATA_ARRAY_DESTRUCT(&array);
    return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
}

int registration_make(const struct pmix_job *job, const struct pmix_server *server, char *reason,
                      size_t reason_size)
{
    struct maps maps;
    if (pmix_job_check(job, reason, reason_size) != 0) {
        return -1;
    }
    if (maps_make(&maps, job->map) != 0) {
        return refuse(reason, reason_size, "no memory for the job's maps", NULL);
    }
    pmix_status_t status = register_job(job, &maps);
    if (status == PMIX_SUCCESS) {
        status = register_ranks(job, server);
    }
    maps_fini(&maps);
    return status == PMIX_SUCCESS ? 0
                                  : refuse(reason, reason_size, "libpmix does not take the job",
                                           PMIx_Error_string(status));
}
