/* Which processors each rank is bound to: --bind-to. */
#include <config.h>

#include <launcher/map/mapping.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVEL_NONE = LEVEL_NODE + 1 };

/* Ranks bound to each object of a node, by index. */
struct load {
    uint32_t *ranks; /* owned; NULL: no rank was looked at */
};

struct binding {
    struct mapping *mapping;
    unsigned level;
    struct load *loads; /* owned, by node */
};

/* A job with more ranks than counted slots on a node is not bound, unless --oversubscribe or
 * overload-allowed is given. The plan's note says so. */
static bool drops_binding(struct mapping *mapping)
{
    for (uint32_t i = 0; i < mapping->plan->node_count; i++) {
        const struct map_node *node = &mapping->plan->nodes[i];
        uint32_t placed = mapping->nodes[i].placed;
        if (!mapping->placement->overload && !mapping->request->oversubscribe &&
            !node->slots_explicit && placed > node->slots) {
            mapping->plan->binding_dropped = true;
            free(mapping->plan->note);
            if (asprintf(&mapping->plan->note,
                         "ranks are not bound: node %s has %u of them for %u processor%s",
                         node->name, placed, node->slots, node->slots == 1 ? "" : "s") < 0) {
                mapping->plan->note = NULL;
            }
            return true;
        }
    }
    return false;
}

/* The object that a rank is bound to. TOPO_NONE: the node has none. */
static uint32_t choose(const struct binding *binding, const struct place *place)
{
    const struct mapping *mapping = binding->mapping;
    const struct view *view = mapping->nodes[place->node].view;
    uint32_t best = view_container(view, mapping->map_level, place->object, binding->level);
    const uint32_t *ranks = binding->loads[place->node].ranks;
    if (best != TOPO_NONE) {
        return best;
    }
    for (uint32_t i = 0; i < view->topo->count; i++) {
        uint32_t inside = view->levels[binding->level].of[i];
        bool meets = inside != TOPO_NONE && view->levels[mapping->map_level].of[i] == place->object;
        bool fewer = best == TOPO_NONE || (meets && ranks[inside] < ranks[best]);
        if (meets && (fewer || (inside < best && ranks[inside] == ranks[best]))) {
            best = inside;
        }
    }
    return best;
}

static int check_load(struct mapping *mapping, const struct place *place, unsigned level,
                      uint32_t object, uint32_t ranks)
{
    const struct view_level *objects = &mapping->nodes[place->node].view->levels[level];
    if (ranks <= objects->size[object] || mapping->placement->overload || level == LEVEL_NODE) {
        return ORTE_SUCCESS;
    }
    return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE,
                        "node %s: %u ranks would be bound to %s %u, which has %u processor%s; "
                        "--bind-to %s:overload-allowed allows it",
                        mapping->plan->nodes[place->node].name, ranks, level_name(level),
                        objects->number[object], objects->size[object],
                        objects->size[object] == 1 ? "" : "s", level_name(level));
}

static int print_object(const struct view *view, unsigned level, uint32_t object, char **cpus)
{
    bool *chosen = calloc(view->levels[level].count + 1, sizeof(*chosen));
    if (chosen) {
        chosen[object] = true;
        *cpus = view_cpus(view, level, chosen);
    }
    free(chosen);
    return *cpus ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* By object: the ranks of the job that live. NULL: no memory. */
static uint32_t *count_load(const struct mapping *mapping, uint32_t node, unsigned level)
{
    uint32_t *ranks = calloc(mapping->nodes[node].view->levels[level].count, sizeof(*ranks));
    if (ranks && mapping->use && mapping_count_ranks(mapping, node, level, ranks) != ORTE_SUCCESS) {
        free(ranks);
        return NULL;
    }
    return ranks;
}

/* May one more rank be bound to it? */
static bool has_processor(const struct mapping *mapping, const struct view_level *objects,
                          unsigned level, uint32_t object, const struct load *load)
{
    return load->ranks[object] < objects->size[object] || mapping->placement->overload ||
           level == LEVEL_NODE;
}

static int bind_one(struct binding *binding, const struct place *place, char **cpus)
{
    struct mapping *mapping = binding->mapping;
    const struct view *view = mapping->nodes[place->node].view;
    struct load *load = &binding->loads[place->node];
    const struct view_level *objects = &view->levels[binding->level];
    if (objects->count == 0 && mapping->placement->if_supported) {
        return ORTE_SUCCESS;
    }
    if (objects->count == 0) {
        return mapping_fail(mapping, ORTE_ERR_NOT_FOUND,
                            "--bind-to %s: node %s has no %s; with :if-supported its ranks are not "
                            "bound",
                            level_name(binding->level), mapping->plan->nodes[place->node].name,
                            level_name(binding->level));
    }
    if (!load->ranks && !(load->ranks = count_load(mapping, place->node, binding->level))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    uint32_t object = choose(binding, place);
    if (object == TOPO_NONE) {
        return mapping_fail(mapping, ORTE_ERR_NOT_FOUND,
                            "node %s: a %s is in no %s that may be used",
                            mapping->plan->nodes[place->node].name, level_name(mapping->map_level),
                            level_name(binding->level));
    }
    if (mapping->use && !has_processor(mapping, objects, binding->level, object, load)) {
        mapping->unbound++;
        return ORTE_SUCCESS;
    }
    int status = check_load(mapping, place, binding->level, object, ++load->ranks[object]);
    return status == ORTE_SUCCESS ? print_object(view, binding->level, object, cpus) : status;
}

/* binds: else none is bound. */
static int bind_all(struct binding *binding, struct place **by_rank, bool binds)
{
    int status = ORTE_SUCCESS;
    char **cpus = binding->mapping->cpus;
    for (uint32_t rank = 0; rank < binding->mapping->count && status == ORTE_SUCCESS; rank++) {
        struct place *place = by_rank[rank];
        if (binds) {
            cpus[rank] = place->cpus; /* PE=n, a rankfile */
            place->cpus = NULL;
        }
        if (!cpus[rank] && binds && binding->level != LEVEL_NONE) {
            status = bind_one(binding, place, &cpus[rank]);
        }
        if (status == ORTE_SUCCESS && !cpus[rank]) {
            cpus[rank] = strdup("");
            status = cpus[rank] ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    return status;
}

/* What ranks are bound to that nothing was said of one by one: objects of this level, LEVEL_NODE:
 * the whole node, or LEVEL_NONE. */
static unsigned bind_level(const struct placement *placement)
{
    bool one_by_one = placement->cpus_per_rank || placement->map_by == MAP_BY_RANKFILE;
    if (placement->bind && !one_by_one) {
        return placement->bind_level;
    }
    return placement->cpu_set && !placement->bind_given && !one_by_one ? LEVEL_NODE : LEVEL_NONE;
}

static bool any_bound(const struct mapping *mapping)
{
    bool any = false;
    for (uint32_t i = 0; i < mapping->count && !any; i++) {
        any = mapping->places[i].cpus;
    }
    return any;
}

int mapping_bind(struct mapping *mapping)
{
    struct binding binding = {.mapping = mapping, .level = bind_level(mapping->placement)};
    bool binds = binding.level != LEVEL_NONE || any_bound(mapping);
    if (binds && !mapping->use && binding.level != LEVEL_NODE) {
        binds = !drops_binding(mapping);
    }
    struct place **by_rank = calloc(mapping->count, sizeof(struct place *));
    mapping->cpus = calloc((size_t) mapping->count + 1, sizeof(*mapping->cpus));
    binding.loads = calloc(mapping->plan->node_count, sizeof(*binding.loads));
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    if (by_rank && mapping->cpus && binding.loads) {
        for (uint32_t i = 0; i < mapping->count; i++) {
            by_rank[mapping->places[i].rank] = &mapping->places[i];
        }
        status = bind_all(&binding, by_rank, binds);
    }
    for (uint32_t node = 0; binding.loads && node < mapping->plan->node_count; node++) {
        free(binding.loads[node].ranks);
    }
    free(binding.loads);
    free(by_rank);
    return status;
}
