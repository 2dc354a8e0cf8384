#include <config.h>

#include <launcher/map/mapping.h>

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
        return mapping_fail(mapping, ORTE_ERR_NOT_AVAILABLE,
                            "the processors of node %s are not known",
                            mapping->plan->nodes[node].name);
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

static int begin_node(struct mapping *mapping, uint32_t node, bool views)
{
    struct map_node *map_node = &mapping->plan->nodes[node];
    if (map_node->slots == 0) {
        map_node->slots = count_slots(map_node->topo, mapping->placement->hwthreads);
    }
    mapping->plan->universe += mapping->use ? 0 : map_node->slots;
    mapping->nodes[node].limit = limit_of(map_node, mapping);
    return views ? find_view(mapping, node) : ORTE_SUCCESS;
}

int mapping_begin(struct mapping *mapping)
{
    const struct placement *placement = mapping->placement;
    bool by_object = placement->map_by == MAP_BY_OBJECT || placement->map_by == MAP_BY_PPR;
    uint32_t nodes = mapping->plan->node_count;
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    mapping->map_level = by_object ? placement->map_level : LEVEL_NODE;
    mapping->nodes = calloc(nodes, sizeof(*mapping->nodes));
    mapping->views = calloc(nodes, sizeof(*mapping->views));
    mapping->candidates = calloc(nodes, sizeof(*mapping->candidates));
    if (mapping->nodes && mapping->views && mapping->candidates) {
        status = ORTE_SUCCESS;
    }
    for (uint32_t node = 0; node < nodes && status == ORTE_SUCCESS; node++) {
        status = begin_node(mapping, node, needs_views(placement));
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

/* Local ranks follow the ranks' numbers. */
static int fill(struct mapping *mapping)
{
    struct job_plan *plan = mapping->plan;
    uint32_t *next = calloc(plan->node_count, sizeof(*next));
    plan->node_of = calloc(mapping->count, sizeof(uint32_t));
    plan->app_of = calloc(mapping->count, sizeof(uint32_t));
    plan->local_rank_of = calloc(mapping->count, sizeof(uint32_t));
    if (!next || !plan->node_of || !plan->app_of || !plan->local_rank_of) {
        free(next);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < mapping->count; i++) {
        const struct place *place = &mapping->places[i];
        plan->node_of[place->rank] = place->node;
        plan->app_of[place->rank] = place->app;
    }
    for (uint32_t rank = 0; rank < mapping->count; rank++) {
        plan->local_rank_of[rank] = next[plan->node_of[rank]]++;
    }
    free(next);
    plan->rank_count = mapping->count;
    plan->universe = plan->universe > plan->rank_count ? plan->universe : plan->rank_count;
    plan->oversubscribed = is_oversubscribed(mapping);
    return ORTE_SUCCESS;
}

void mapping_end(struct mapping *mapping)
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

int job_plan_map(struct job_plan *plan, const struct run_request *request, char *reason,
                 size_t reason_size)
{
    struct mapping mapping = {.request = request,
                              .placement = &request->placement,
                              .plan = plan,
                              .reason = reason,
                              .reason_size = reason_size};
    snprintf(reason, reason_size, "out of memory");
    int status = mapping_begin(&mapping);
    if (status == ORTE_SUCCESS) {
        status = mapping_place(&mapping);
    }
    if (status == ORTE_SUCCESS) {
        status = mapping_number(&mapping);
    }
    if (status == ORTE_SUCCESS) {
        status = fill(&mapping);
    }
    if (status == ORTE_SUCCESS) {
        status = mapping_bind(&mapping);
    }
    if (status == ORTE_SUCCESS) {
        plan->cpus = mapping.cpus;
        mapping.cpus = NULL;
    }
    mapping_end(&mapping);
    return status;
}

int job_plan_drop_idle(struct job_plan *plan)
{
    uint32_t *kept_as = calloc(plan->node_count, sizeof(*kept_as)), kept = 0;
    if (!kept_as) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t rank = 0; rank < plan->rank_count; rank++) {
        kept_as[plan->node_of[rank]] = 1;
    }
    for (uint32_t node = 0; node < plan->node_count; node++) {
        if (kept_as[node]) {
            kept_as[node] = kept;
            plan->nodes[kept++] = plan->nodes[node];
        } else {
            free(plan->nodes[node].name);
            free(plan->nodes[node].user);
        }
    }
    for (uint32_t rank = 0; rank < plan->rank_count; rank++) {
        plan->node_of[rank] = kept_as[plan->node_of[rank]];
    }
    plan->node_count = kept;
    free(kept_as);
    return job_plan_index(plan);
}
