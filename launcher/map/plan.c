#include <config.h>

#include <launcher/map/mapping.h>

#include <base/data/array.h>
#include <base/data/strings.h>
#include <base/host/topo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what is to be known of the nodes --- */

static bool needs_views(const struct placement *placement)
{
    bool objects = placement->map_by == MAP_BY_OBJECT ||
                   (placement->map_by == MAP_BY_PPR && placement->map_level != LEVEL_NODE);
    bool named = false;
    for (uint32_t i = 0; i < placement->rank_count && !named; i++) {
        named = placement->ranks[i].cpus;
    }
    return objects || named || placement->bind || placement->cpus_per_rank || placement->cpu_set;
}

bool job_plan_needs_topologies(const struct job_plan *plan, const struct run_request *request)
{
    bool unknown = request->display & DISPLAY_TOPO;
    for (uint32_t i = 0; i < plan->node_count && !unknown; i++) {
        unknown = plan->nodes[i].slots == 0;
    }
    return unknown || needs_views(&request->placement);
}

/* The usable processors that may run at a time. */
static uint32_t count_slots(const struct topo *topo, bool hwthreads)
{
    uint32_t count = 0, last = TOPO_NONE;
    for (uint32_t i = 0; topo && i < topo->count; i++) {
        const struct topo_thread *thread = &topo->threads[i];
        if (thread->usable && (hwthreads || thread->object[TOPO_CORE] != last)) {
            count++;
            last = thread->object[TOPO_CORE];
        }
    }
    count = topo && topo->quota && topo->quota < count ? topo->quota : count;
    return count ? count : 1;
}

/* The view of the node's topology, made once for all that have it. */
static int find_view(struct mapping *mapping, uint32_t node)
{
    const struct topo *topo = mapping->plan->nodes[node].topo;
    const struct placement *placement = mapping->placement;
    uint32_t at = 0;
    int status = ORTE_SUCCESS;
    if (!topo) {
        return mapping->use ? ORTE_SUCCESS : mapping_unknown(mapping, node);
    }
    while (at < mapping->view_count && mapping->views[at].topo != topo) {
        at++;
    }
    if (at == mapping->view_count) {
        char why[256] = "out of memory";
        status = view_make(&mapping->views[at], topo, placement->cpu_set, placement->hwthreads, why,
                           sizeof(why));
        if (status != ORTE_SUCCESS) {
            return mapping_fail(mapping, status, "node %s: %s", mapping->plan->nodes[node].name,
                                why);
        }
        mapping->view_count++;
    }
    struct node_state *state = &mapping->nodes[node];
    state->view = &mapping->views[at];
    state->taken = calloc(state->view->levels[state->view->processors].count + 1, sizeof(bool));
    return state->taken ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static uint32_t limit_of(const struct map_node *node, const struct mapping *mapping)
{
    const struct run_request *request = mapping->request;
    if (mapping->use && mapping->use->closed[node - mapping->plan->nodes]) {
        return 0;
    }
    uint32_t limit = node->slots_max ? node->slots_max : UINT32_MAX;
    bool given = node->slots_explicit && !request->oversubscribe && !mapping->use;
    bool limited = request->no_oversubscribe || given;
    return limited && node->slots < limit ? node->slots : limit;
}

static int begin_node(struct mapping *mapping, uint32_t node)
{
    struct map_node *map_node = &mapping->plan->nodes[node];
    if (map_node->slots == 0) {
        map_node->slots = count_slots(map_node->topo, mapping->placement->hwthreads);
    }
    mapping->plan->universe += mapping->use ? 0 : map_node->slots;
    mapping->nodes[node].limit = limit_of(map_node, mapping);
    return mapping->needs_views ? find_view(mapping, node) : ORTE_SUCCESS;
}

static int begin(struct mapping *mapping)
{
    const struct placement *placement = mapping->placement;
    bool by_object = placement->map_by == MAP_BY_OBJECT || placement->map_by == MAP_BY_PPR;
    uint32_t nodes = mapping->plan->node_count;
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    mapping->needs_views = needs_views(placement);
    mapping->map_level = by_object ? placement->map_level : LEVEL_NODE;
    mapping->nodes = calloc(nodes, sizeof(*mapping->nodes));
    mapping->views = calloc(nodes, sizeof(*mapping->views));
    mapping->candidates = calloc(nodes, sizeof(*mapping->candidates));
    if (mapping->nodes && mapping->views && mapping->candidates) {
        status = ORTE_SUCCESS;
    }
    for (uint32_t node = 0; node < nodes && status == ORTE_SUCCESS; node++) {
        status = begin_node(mapping, node);
    }
    return status == ORTE_SUCCESS && mapping->use ? mapping_take_used(mapping) : status;
}

/* --- the plan --- */

/* More ranks than slots on a node, or than processors on this machine. */
static bool is_oversubscribed(const struct mapping *mapping)
{
    uint64_t here = 0;
    for (uint32_t i = 0; i < mapping->plan->node_count; i++) {
        const struct map_node *node = &mapping->plan->nodes[i];
        uint32_t placed = mapping->nodes[i].placed;
        if (placed > node->slots) {
            return true;
        }
        if (node->slots_explicit && (node->local || mapping->request->simulate_nodes)) {
            here += placed;
        }
    }
    return here > 1 && here > topo_usable_cpus();
}

bool job_plan_reserve(struct job_plan *plan, uint32_t more)
{
    size_t count = (size_t) plan->rank_count + more;
    return array_extend(&plan->cpus, plan->rank_count, count + 1, sizeof(char *)) &&
           array_resize(&plan->node_of, count, sizeof(uint32_t)) &&
           array_resize(&plan->app_of, count, sizeof(uint32_t)) &&
           array_resize(&plan->local_rank_of, count, sizeof(uint32_t));
}

/* Behind the ranks that are there. Local ranks follow the ranks' numbers, and those that the node
 * has had. */
static int append(struct mapping *mapping)
{
    struct job_plan *plan = mapping->plan;
    uint32_t first = plan->rank_count, count = first + mapping->count;
    uint32_t *next = calloc((size_t) plan->node_count + 1, sizeof(*next));
    if (!next || !job_plan_reserve(plan, mapping->count)) {
        free(next);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < mapping->count; i++) {
        const struct place *place = &mapping->places[i];
        plan->node_of[first + place->rank] = place->node;
        plan->app_of[first + place->rank] = place->app + (mapping->use ? mapping->use->app : 0);
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        uint32_t local = next[plan->node_of[rank]]++;
        plan->local_rank_of[rank] = rank < first ? plan->local_rank_of[rank] : local;
    }
    memcpy(plan->cpus + first, mapping->cpus, (mapping->count + 1) * sizeof(*plan->cpus));
    free(mapping->cpus);
    mapping->cpus = NULL;
    free(next);
    plan->rank_count = count;
    return ORTE_SUCCESS;
}

static void end(struct mapping *mapping)
{
    for (uint32_t i = 0; mapping->nodes && i < mapping->plan->node_count; i++) {
        free(mapping->nodes[i].taken);
        free(mapping->nodes[i].load);
    }
    strings_free(mapping->cpus);
    for (uint32_t i = 0; i < mapping->view_count; i++) {
        view_fini(&mapping->views[i]);
    }
    for (uint32_t i = 0; i < mapping->count; i++) {
        free(mapping->places[i].cpus);
    }
    free(mapping->nodes);
    free(mapping->views);
    free(mapping->candidates);
    free(mapping->places);
}

/* Ranks of the request, behind those of the plan. */
static int map_ranks(struct mapping *mapping)
{
    static int (*const steps[])(struct mapping * mapping) = {begin, mapping_place, mapping_number,
                                                             mapping_bind, append};
    int status = ORTE_SUCCESS;
    mapping->placement = &mapping->request->placement;
    snprintf(mapping->reason, mapping->reason_size, "out of memory");
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && status == ORTE_SUCCESS; i++) {
        status = steps[i](mapping);
    }
    if (status == ORTE_SUCCESS && !mapping->use) {
        struct job_plan *plan = mapping->plan;
        plan->universe = plan->universe > plan->rank_count ? plan->universe : plan->rank_count;
        plan->oversubscribed = is_oversubscribed(mapping);
    }
    end(mapping);
    return status;
}

int job_plan_map(struct job_plan *plan, const struct run_request *request, char *reason,
                 size_t reason_size)
{
    struct mapping mapping = {
        .request = request, .plan = plan, .reason = reason, .reason_size = reason_size};
    return map_ranks(&mapping);
}

int job_plan_extend(struct job_plan *plan, const struct run_request *request,
                    const struct plan_use *use, uint32_t *unbound, char *reason, size_t reason_size)
{
    struct mapping mapping = {
        .request = request, .plan = plan, .use = use, .reason = reason, .reason_size = reason_size};
    int status = map_ranks(&mapping);
    *unbound = status == ORTE_SUCCESS ? mapping.unbound : *unbound;
    return status;
}

int job_plan_set_idle(struct job_plan *plan)
{
    uint32_t count = plan->node_count, kept = 0, idle = 0;
    uint32_t *place_of = calloc(count, sizeof(*place_of)); /* 1: it has ranks */
    struct map_node *nodes = calloc(count, sizeof(*nodes));
    if (!place_of || !nodes) {
        free(place_of);
        free(nodes);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t rank = 0; rank < plan->rank_count; rank++) {
        kept += place_of[plan->node_of[rank]] == 0;
        place_of[plan->node_of[rank]] = 1;
    }
    plan->node_count = kept;
    plan->idle_count = count - kept;
    kept = 0;
    for (uint32_t node = 0; node < count; node++) {
        place_of[node] = place_of[node] ? kept++ : plan->node_count + idle++;
        nodes[place_of[node]] = plan->nodes[node];
    }
    for (uint32_t rank = 0; rank < plan->rank_count; rank++) {
        plan->node_of[rank] = place_of[plan->node_of[rank]];
    }
    free(plan->nodes);
    free(place_of);
    plan->nodes = nodes;
    return job_plan_index(plan);
}
