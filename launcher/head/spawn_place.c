#include <config.h>

#include <launcher/head/spawn_place.h>

#include <base/data/strings.h>
#include <launcher/head/spawn_bind.h>
#include <launcher/request/nodes/hostfile.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* MOST_FREE: the node with the most free slots; the others as --map-by says. */
enum spread { BY_MOST_FREE, BY_SLOT, BY_NODE, BY_PPR };

struct candidate {
    uint32_t living, ever; /* ranks of the job */
    uint32_t placed;       /* of this program */
    uint32_t limit;        /* the same at most; 0: it may not be used */
};

struct placing {
    const struct hnp *hnp;
    struct candidate *nodes; /* owned, by node of the plan */
    uint32_t *row;           /* owned: the nodes of this program, in order */
    uint32_t row_count;
    struct spawn_binding *binding; /* owned; NULL: the job is not bound */
    enum spread spread;
    uint32_t per_node; /* 0: no limit */
    char *reason;
    size_t reason_size;
};

static KEEL_PRINTF(3, 4) int fail(struct placing *placing, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(placing->reason, placing->reason_size, format, arguments);
    va_end(arguments);
    return status;
}

/* --- the info --- */

/* Leaves the nodes of a list. Others than the job's are passed over, or are an error. */
static int restrict_to(struct placing *placing, const struct node_list *list, bool pass_over)
{
    const struct job_plan *plan = &placing->hnp->plan;
    uint32_t *limits = calloc(plan->node_count + 1, sizeof(*limits));
    int status = limits ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    placing->row_count = 0;
    for (size_t i = 0; i < list->count && status == ORTE_SUCCESS; i++) {
        const struct node_request *host = &list->nodes[i];
        const struct map_node *found = job_plan_find(plan, host->name);
        uint32_t node = found ? (uint32_t) (found - plan->nodes) : 0;
        if (!found || placing->nodes[node].limit == 0) {
            bool known = found && placing->nodes[node].ever > 0;
            status = pass_over ? ORTE_SUCCESS
                               : fail(placing, ORTE_ERR_NOT_FOUND,
                                      known ? "host %s is lost, or not in the hostfile"
                                            : "host %s has no rank of this job",
                                      host->name);
            continue;
        }
        if (limits[node] == 0) {
            placing->row[placing->row_count++] = node;
        }
        uint64_t limit = host->slots ? (uint64_t) limits[node] + host->slots : UINT32_MAX;
        uint32_t most = placing->nodes[node].limit;
        limits[node] = limit < most ? (uint32_t) limit : most;
    }
    for (uint32_t node = 0; node < plan->node_count && status == ORTE_SUCCESS; node++) {
        placing->nodes[node].limit = limits[node];
    }
    free(limits);
    return status;
}

static int take_hostfile(struct placing *placing, const char *path)
{
    struct node_list list = {0};
    int status = hostfile_read(&list, path, placing->reason, placing->reason_size);
    if (status == ORTE_SUCCESS) {
        status = restrict_to(placing, &list, true);
    }
    node_list_fini(&list);
    if (status == ORTE_SUCCESS && placing->row_count == 0) {
        return fail(placing, ORTE_ERR_NOT_FOUND, "%s: it names no node of this job", path);
    }
    return status;
}

static int take_host(struct placing *placing, const char *words)
{
    struct node_list list = {0};
    int status =
        node_list_parse(&list, words, strlen(words), 0, 0, placing->reason, placing->reason_size);
    if (status == ORTE_SUCCESS) {
        status = restrict_to(placing, &list, false);
    }
    node_list_fini(&list);
    return status;
}

/* "N:node"; Open MPI writes "N:n" for npernode. */
static bool read_ppr(const char *words, uint32_t *per_node)
{
    const char *colon = strchr(words, ':');
    return colon && (strcasecmp(colon, ":n") == 0 || strcasecmp(colon, ":node") == 0) &&
           node_number(words, (size_t) (colon - words), NODE_SLOTS_MAX, per_node);
}

static int take_ppr(struct placing *placing, const char *words)
{
    if (!read_ppr(words, &placing->per_node)) {
        return fail(placing, ORTE_ERR_NOT_SUPPORTED,
                    "ppr=%s: N:node is possible, as is npernode=N, with a number from 1 on", words);
    }
    placing->spread = placing->spread == BY_MOST_FREE ? BY_PPR : placing->spread;
    return ORTE_SUCCESS;
}

static int take_map_by(struct placing *placing, const char *words)
{
    if (strcasecmp(words, "slot") == 0) {
        placing->spread = BY_SLOT;
    } else if (strcasecmp(words, "node") == 0) {
        placing->spread = BY_NODE;
    } else if (strncasecmp(words, "ppr:", 4) == 0 && read_ppr(words + 4, &placing->per_node)) {
        placing->spread = BY_PPR;
    } else {
        return fail(placing, ORTE_ERR_NOT_SUPPORTED,
                    "map_by=%s: slot, node and ppr:N:node are possible", words);
    }
    return ORTE_SUCCESS;
}

/* In the order in which they are taken: the hosts select from the hostfile. */
static const struct {
    const char *key;
    int (*take)(struct placing *placing, const char *value);
} keys[] = {
    {"hostfile", take_hostfile},
    {"host", take_host},
    {"map_by", take_map_by},
    {"ppr", take_ppr},
};
#define KEYS (sizeof(keys) / sizeof(*keys))

static bool is_known(const char *assignment)
{
    size_t size = strcspn(assignment, "=");
    for (size_t i = 0; i < KEYS; i++) {
        if (strlen(keys[i].key) == size && strncmp(keys[i].key, assignment, size) == 0) {
            return true;
        }
    }
    return false;
}

static int take_info(struct placing *placing, char *const *info)
{
    int status = ORTE_SUCCESS;
    for (char *const *one = info; one && *one; one++) {
        if (!is_known(*one)) {
            return fail(placing, ORTE_ERR_NOT_SUPPORTED,
                        "the info key of %s is not supported; host, hostfile, map_by, npernode, "
                        "pernode and "
                        "ppr are",
                        *one);
        }
    }
    for (size_t i = 0; i < KEYS && status == ORTE_SUCCESS; i++) {
        const char *value = strings_value(info, keys[i].key);
        status = value ? keys[i].take(placing, value) : ORTE_SUCCESS;
    }
    return status;
}

/* --- the nodes --- */

/* All nodes that have ranks and live; the program may yet choose. */
static void begin_program(struct placing *placing)
{
    const struct hnp *hnp = placing->hnp;
    placing->spread = hnp->request.placement.map_by == MAP_BY_NODE ? BY_NODE : BY_MOST_FREE;
    placing->per_node = 0;
    placing->row_count = 0;
    for (uint32_t node = 0; node < hnp->plan.node_count; node++) {
        struct candidate *candidate = &placing->nodes[node];
        bool usable = candidate->ever > 0 && hnp_peer_lives(hnp, hnp->daemon_of_node[node]);
        candidate->placed = 0;
        candidate->limit = usable ? UINT32_MAX : 0;
        if (usable) {
            placing->row[placing->row_count++] = node;
        }
    }
}

/* The node for the next rank; UINT32_MAX: none has room. */
static uint32_t choose_node(const struct placing *placing)
{
    uint32_t best = UINT32_MAX;
    int64_t highest = 0;
    for (uint32_t i = 0; i < placing->row_count; i++) {
        const struct map_node *node = &placing->hnp->plan.nodes[placing->row[i]];
        const struct candidate *candidate = &placing->nodes[placing->row[i]];
        int64_t free_slots = (int64_t) node->slots - candidate->living;
        const int64_t score[] = {
            [BY_MOST_FREE] = free_slots,
            [BY_SLOT] = free_slots > 0 ? INT64_MAX : free_slots,
            [BY_NODE] = (free_slots > 0 ? INT64_C(1) << 32 : 0) - candidate->placed,
            [BY_PPR] = 0,
        };
        bool full = candidate->placed >= candidate->limit ||
                    (placing->per_node && candidate->placed >= placing->per_node) ||
                    (node->slots_max && candidate->living >= node->slots_max) ||
                    (placing->hnp->request.no_oversubscribe && free_slots <= 0);
        if (!full && (best == UINT32_MAX || score[placing->spread] > highest)) {
            best = placing->row[i];
            highest = score[placing->spread];
        }
    }
    return best;
}

/* --- ranks --- */

static int place_rank(struct placing *placing, struct spawned *spawned, uint32_t at, uint32_t app)
{
    uint32_t node = choose_node(placing);
    if (node == UINT32_MAX) {
        return fail(placing, ORTE_ERR_OUT_OF_RESOURCE, "there is room for %u of %u ranks", at,
                    spawned->count);
    }
    struct candidate *candidate = &placing->nodes[node];
    candidate->living++;
    candidate->placed++;
    spawned->app_of[at] = spawned->app_first + app;
    spawned->node_of[at] = node;
    spawned->local_rank_of[at] = candidate->ever++;
    if (placing->binding) {
        spawned->cpus[at] = spawn_binding_choose(placing->binding, node);
    }
    return !placing->binding || spawned->cpus[at] ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static int place_all(struct placing *placing, struct spawned *spawned,
                     const struct spawn_program *programs)
{
    uint32_t at = 0;
    int status = ORTE_SUCCESS;
    for (uint32_t app = 0; app < spawned->app_count && status == ORTE_SUCCESS; app++) {
        begin_program(placing);
        status = take_info(placing, programs[app].info);
        for (uint32_t i = 0; i < programs[app].count && status == ORTE_SUCCESS; i++) {
            status = place_rank(placing, spawned, at++, app);
        }
    }
    return status;
}

static bool make_room(struct placing *placing, struct spawned *spawned)
{
    const struct job_plan *plan = &placing->hnp->plan;
    placing->nodes = calloc(plan->node_count, sizeof(*placing->nodes));
    placing->row = calloc(plan->node_count, sizeof(*placing->row));
    spawned->app_of = calloc(spawned->count, sizeof(uint32_t));
    spawned->node_of = calloc(spawned->count, sizeof(uint32_t));
    spawned->local_rank_of = calloc(spawned->count, sizeof(uint32_t));
    spawned->cpus = plan->cpus ? calloc((size_t) spawned->count + 1, sizeof(char *)) : NULL;
    return placing->nodes && placing->row && spawned->app_of && spawned->node_of &&
           spawned->local_rank_of &&
           (!plan->cpus || (spawned->cpus &&
                            spawn_binding_create(&placing->binding, placing->hnp) == ORTE_SUCCESS));
}

int spawn_place(const struct hnp *hnp, struct spawned *spawned,
                const struct spawn_program *programs, char *reason, size_t reason_size)
{
    struct placing placing = {.hnp = hnp, .reason = reason, .reason_size = reason_size};
    snprintf(reason, reason_size, "out of memory");
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    if (make_room(&placing, spawned)) {
        for (uint32_t rank = 0; rank < hnp->plan.rank_count; rank++) {
            struct candidate *candidate = &placing.nodes[hnp->plan.node_of[rank]];
            candidate->ever++;
            candidate->living += !hnp->ended[rank];
        }
        status = place_all(&placing, spawned, programs);
    }
    uint32_t unbound = placing.binding ? spawn_binding_unbound(placing.binding) : 0;
    if (status == ORTE_SUCCESS) {
        snprintf(reason, reason_size,
                 unbound ? "%u of %u ranks are not bound: all processors have "
                           "ranks (:overload-allowed lets them share)"
                         : "",
                 unbound, spawned->count);
    }
    spawn_binding_destroy(placing.binding);
    free(placing.nodes);
    free(placing.row);
    return status;
}
