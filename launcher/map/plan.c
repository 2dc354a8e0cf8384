#include <config.h>

#include <launcher/map/plan.h>

#include <base/host/hostname.h>
#include <base/host/topo.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { RANKS_MAX = 1 << 20 };

static KEEL_PRINTF(4, 5) int explain(int status, char *reason, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, size, format, args);
    va_end(args);
    return status;
}

static int make_simulated(struct job_plan *plan, const struct run_request *request)
{
    for (uint32_t i = 0; i < plan->node_count; i++) {
        struct map_node *node = &plan->nodes[i];
        node->slots = request->simulate_slots;
        node->slots_explicit = true;
        if (asprintf(&node->name, "node%u", i) < 0) {
            node->name = NULL;
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    return ORTE_SUCCESS;
}

/* The node that a host's name stands for, if it is among the first count. */
static struct map_node *same_node(struct job_plan *plan, uint32_t count, const char *name)
{
    bool local = host_is_local(name);
    for (uint32_t i = 0; i < count; i++) {
        if (local ? plan->nodes[i].local : strcasecmp(plan->nodes[i].name, name) == 0) {
            return &plan->nodes[i];
        }
    }
    return NULL;
}

/* A host that is named again adds slots to its node. */
static int make_hosts(struct job_plan *plan, const struct run_request *request)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct node_request *host = &request->nodes[i];
        struct map_node *node = same_node(plan, count, host->name);
        if (!node) {
            node = &plan->nodes[count++];
            node->local = host_is_local(host->name);
            node->slots = node->local && host->slots == 0 ? topo_usable_cpus() : 0;
            node->name = strdup(host->name);
            if (!node->name) {
                return ORTE_ERR_OUT_OF_RESOURCE;
            }
        }
        node->slots_explicit |= host->slots > 0;
        node->slots += host->slots > 0 ? host->slots : !node->local;
    }
    plan->node_count = count;
    return ORTE_SUCCESS;
}

/* Which of the allocation's nodes this machine is; its count: none of them. */
static size_t local_of(const struct allocation *allocation)
{
    for (size_t i = 0; i < allocation->count; i++) {
        if (host_is_local(allocation->nodes[i].name)) {
            return i;
        }
    }
    for (size_t i = 0; allocation->here && i < allocation->count; i++) {
        if (strcasecmp(allocation->nodes[i].name, allocation->here) == 0) {
            return i;
        }
    }
    return allocation->count;
}

static size_t find_allocated(const struct allocation *allocation, size_t local, const char *host)
{
    for (size_t i = 0; i < allocation->count; i++) {
        if (host_same(allocation->nodes[i].name, host)) {
            return i;
        }
    }
    return host_is_local(host) ? local : allocation->count;
}

static int add_allocated(struct map_node *node, const struct node_request *given, bool local)
{
    *node = (struct map_node){
        .name = strdup(given->name), .slots = given->slots, .slots_explicit = true, .local = local};
    return node->name ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static int make_allocated(struct job_plan *plan, const struct allocation *allocation)
{
    size_t local = local_of(allocation);
    int status = ORTE_SUCCESS;
    for (size_t i = 0; status == ORTE_SUCCESS && i < allocation->count; i++) {
        status = add_allocated(&plan->nodes[i], &allocation->nodes[i], i == local);
    }
    return status;
}

/* The node of an allocated one, among the first count of the plan. */
static struct map_node *planned(struct job_plan *plan, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(plan->nodes[i].name, name) == 0) {
            return &plan->nodes[i];
        }
    }
    return NULL;
}

/* The allocation's nodes that the user named, in the user's order, with all their slots or as many
 * as were asked for. */
static int make_chosen(struct job_plan *plan, const struct run_request *request,
                       const struct allocation *allocation, char *reason, size_t reason_size)
{
    uint32_t count = 0;
    size_t local = local_of(allocation);
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct node_request *host = &request->nodes[i];
        size_t index = find_allocated(allocation, local, host->name);
        if (index == allocation->count) {
            return explain(ORTE_ERR_NOT_FOUND, reason, reason_size,
                           "host %s is not in the allocation of Slurm's job %s; with --mca plm rsh "
                           "hosts need not be",
                           host->name, allocation->job);
        }
        const struct node_request *given = &allocation->nodes[index];
        struct map_node *node = planned(plan, count, given->name);
        if (node) { /* by another of its names */
            node->slots += host->slots ? host->slots : 1;
        } else {
            node = &plan->nodes[count++];
            if (add_allocated(node, given, index == local) != ORTE_SUCCESS) {
                return ORTE_ERR_OUT_OF_RESOURCE;
            }
            node->slots = host->slots ? host->slots : given->slots;
        }
        if (node->slots > given->slots && !request->oversubscribe) {
            return explain(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size,
                           "host %s: %u slots are more than the %u that Slurm's job %s has there; "
                           "--oversubscribe allows it",
                           host->name, node->slots, given->slots, allocation->job);
        }
    }
    plan->node_count = count;
    return ORTE_SUCCESS;
}

static int make_this_node(struct job_plan *plan)
{
    char name[256];
    host_name(name, sizeof(name));
    plan->nodes[0] =
        (struct map_node){.name = strdup(name), .slots = topo_usable_cpus(), .local = true};
    return plan->nodes[0].name ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static uint32_t most_nodes(const struct run_request *request, const struct allocation *allocation)
{
    if (request->simulate_nodes) {
        return request->simulate_nodes;
    }
    if (request->node_count) {
        return (uint32_t) request->node_count;
    }
    return allocation->count ? (uint32_t) allocation->count : 1;
}

static int make_nodes(struct job_plan *plan, const struct run_request *request,
                      const struct allocation *allocation, char *reason, size_t reason_size)
{
    plan->node_count = most_nodes(request, allocation);
    plan->nodes = calloc(plan->node_count, sizeof(*plan->nodes));
    if (!plan->nodes) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (request->simulate_nodes) {
        return make_simulated(plan, request);
    }
    if (allocation->count) {
        return request->node_count ? make_chosen(plan, request, allocation, reason, reason_size)
                                   : make_allocated(plan, allocation);
    }
    return request->node_count ? make_hosts(plan, request) : make_this_node(plan);
}

/* How many ranks each app has: those without a number share what is free; the first gets it. */
static int count_ranks(const struct run_request *request, uint64_t slots, uint32_t *counts,
                       uint64_t *total, char *reason, size_t reason_size)
{
    uint64_t given = 0;
    for (size_t i = 0; i < request->app_count; i++) {
        given += request->apps[i].count;
    }
    *total = given;
    for (size_t i = 0; i < request->app_count; i++) {
        counts[i] = request->apps[i].count;
        if (counts[i] == 0) {
            if (*total >= slots) {
                return explain(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size,
                               "no slot is free for %s: give its number of ranks with -n",
                               request->apps[i].argv[0]);
            }
            counts[i] = (uint32_t) (slots - *total);
            *total = slots;
        }
    }
    if (*total == 0 || *total > RANKS_MAX) {
        return explain(ORTE_ERR_VALUE_OUT_OF_BOUNDS, reason, reason_size,
                       "%llu ranks: 1 to %d are possible", (unsigned long long) *total, RANKS_MAX);
    }
    return ORTE_SUCCESS;
}

/* Shares ranks among nodes: each up to its slots; then, where more are allowed, again by slots. */
static void fill_nodes(const struct job_plan *plan, uint32_t *ranks_of, uint32_t left,
                       bool oversubscribe)
{
    for (bool first = true; left > 0; first = false) {
        for (uint32_t i = 0; i < plan->node_count && left > 0; i++) {
            const struct map_node *node = &plan->nodes[i];
            if (first || oversubscribe || !node->slots_explicit) {
                uint32_t more = left < node->slots ? left : node->slots;
                ranks_of[i] += more;
                left -= more;
            }
        }
    }
}

/* More ranks than slots on a node, or than processors on this machine. */
static bool is_oversubscribed(const struct job_plan *plan, const uint32_t *ranks_of, bool simulated)
{
    uint64_t here = 0;
    bool counted = false;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct map_node *node = &plan->nodes[i];
        if (ranks_of[i] > node->slots) {
            return true;
        }
        if (node->slots_explicit && (node->local || simulated)) {
            here += ranks_of[i];
            counted = true;
        }
    }
    return counted && here > topo_usable_cpus();
}

static int place(struct job_plan *plan, const uint32_t *counts, const uint32_t *ranks_of)
{
    size_t size = plan->rank_count * sizeof(uint32_t);
    plan->node_of = malloc(size);
    plan->app_of = malloc(size);
    plan->local_rank_of = malloc(size);
    if (!plan->node_of || !plan->app_of || !plan->local_rank_of) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    uint32_t rank = 0, app = 0, of_app = 0;
    for (uint32_t node = 0; node < plan->node_count; node++) {
        for (uint32_t local = 0; local < ranks_of[node]; local++, rank++) {
            while (of_app == counts[app]) {
                app++;
                of_app = 0;
            }
            of_app++;
            plan->node_of[rank] = node;
            plan->app_of[rank] = app;
            plan->local_rank_of[rank] = local;
        }
    }
    return ORTE_SUCCESS;
}

static int check_slots(const struct job_plan *plan, bool oversubscribe, uint64_t ranks,
                       uint64_t slots, char *reason, size_t reason_size)
{
    bool all_explicit = true;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        all_explicit = all_explicit && plan->nodes[i].slots_explicit;
    }
    if (ranks > slots && all_explicit && !oversubscribe) {
        return explain(ORTE_ERR_OUT_OF_RESOURCE, reason, reason_size,
                       "%llu ranks are more than the %llu slots that were given; "
                       "--oversubscribe allows it",
                       (unsigned long long) ranks, (unsigned long long) slots);
    }
    return ORTE_SUCCESS;
}

static int map_ranks(struct job_plan *plan, const struct run_request *request, uint32_t *counts,
                     uint32_t *ranks_of, char *reason, size_t reason_size)
{
    uint64_t slots = 0, total;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        slots += plan->nodes[i].slots;
    }
    int rc = count_ranks(request, slots, counts, &total, reason, reason_size);
    if (rc == ORTE_SUCCESS) {
        rc = check_slots(plan, request->oversubscribe, total, slots, reason, reason_size);
    }
    if (rc != ORTE_SUCCESS) {
        return rc;
    }
    plan->rank_count = (uint32_t) total;
    fill_nodes(plan, ranks_of, plan->rank_count, request->oversubscribe);
    plan->oversubscribed = is_oversubscribed(plan, ranks_of, request->simulate_nodes > 0);
    return place(plan, counts, ranks_of);
}

int job_plan_make(struct job_plan *out, const struct run_request *request,
                  const struct allocation *allocation, char *reason, size_t reason_size)
{
    struct job_plan plan = {0};
    uint32_t *counts = NULL, *ranks_of = NULL;
    snprintf(reason, reason_size, "out of memory");
    int rc = make_nodes(&plan, request, allocation, reason, reason_size);
    if (rc == ORTE_SUCCESS) {
        counts = calloc(request->app_count, sizeof(*counts));
        ranks_of = calloc(plan.node_count, sizeof(*ranks_of));
        rc = counts && ranks_of ? map_ranks(&plan, request, counts, ranks_of, reason, reason_size)
                                : ORTE_ERR_OUT_OF_RESOURCE;
    }
    free(counts);
    free(ranks_of);
    if (rc != ORTE_SUCCESS) {
        job_plan_fini(&plan);
        return rc;
    }
    *out = plan;
    return ORTE_SUCCESS;
}

void job_plan_fini(struct job_plan *plan)
{
    for (uint32_t i = 0; plan->nodes && i < plan->node_count; i++) {
        free(plan->nodes[i].name);
    }
    free(plan->nodes);
    free(plan->node_of);
    free(plan->app_of);
    free(plan->local_rank_of);
    *plan = (struct job_plan){0};
}
