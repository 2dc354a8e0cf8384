/* Ranks that are added to a job that runs: what its ranks have taken. */
#include <config.h>

#include <launcher/map/mapping.h>

#include <base/text/number.h>
#include <stdlib.h>
#include <string.h>

/* --- what is taken --- */

static bool lives_on(const struct mapping *mapping, uint32_t rank, uint32_t node)
{
    const struct plan_use *use = mapping->use;
    return mapping->plan->node_of[rank] == node && (rank >= use->ended_count || !use->ended[rank]);
}

/* The threads that a rank is bound to, by thread of the node. False: it is not bound. */
static bool find_threads(const struct mapping *mapping, uint32_t node, uint32_t rank, bool *threads)
{
    const struct topo *topo = mapping->nodes[node].view->topo;
    const char *text = mapping->plan->cpus[rank];
    uint32_t first, last;
    bool any = false;
    memset(threads, 0, topo->count * sizeof(*threads));
    while ((text = range_read(text, UINT32_MAX, &first, &last)) != NULL) {
        for (uint32_t i = 0; i < topo->count; i++) {
            threads[i] |= topo->threads[i].os >= first && topo->threads[i].os <= last;
            any |= threads[i];
        }
        text += *text == ',';
    }
    return any;
}

static void take_processor(struct node_state *state, uint32_t processor)
{
    if (processor != TOPO_NONE && !state->taken[processor]) {
        state->taken[processor] = true;
        state->taken_count++;
    }
}

/* The processors that it is bound to. Where PE=n binds nothing, a rank that is not bound has the n
 * lowest. */
static void take_processors(const struct mapping *mapping, struct node_state *state,
                            const bool *threads, bool bound)
{
    const struct view *view = state->view;
    const struct placement *placement = mapping->placement;
    uint32_t most = state->taken_count + (placement->bind ? 0 : placement->cpus_per_rank);
    for (uint32_t i = 0; i < view->topo->count; i++) {
        if (bound ? threads[i] : state->taken_count < most) {
            take_processor(state, view->levels[view->processors].of[i]);
        }
    }
}

/* The object of a level that has the first of these threads; TOPO_NONE: none has. */
static uint32_t first_object(const struct view *view, unsigned level, const bool *threads)
{
    uint32_t object = TOPO_NONE;
    for (uint32_t i = 0; i < view->topo->count && object == TOPO_NONE; i++) {
        object = threads[i] ? view->levels[level].of[i] : TOPO_NONE;
    }
    return object;
}

static uint32_t most_threads(const struct mapping *mapping)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < mapping->view_count; i++) {
        uint32_t count = mapping->views[i].topo->count;
        most = count > most ? count : most;
    }
    return most;
}

/* Ranks that are not bound are counted on one object after the other. */
static void take_rank(const struct mapping *mapping, uint32_t rank, bool *threads)
{
    uint32_t node = mapping->plan->node_of[rank];
    struct node_state *state = &mapping->nodes[node];
    uint32_t before = state->placed++;
    if (!state->view) {
        return;
    }
    bool bound = find_threads(mapping, node, rank, threads);
    take_processors(mapping, state, threads, bound);
    if (state->load) {
        uint32_t object = bound ? first_object(state->view, mapping->map_level, threads)
                                : before % state->view->levels[mapping->map_level].count;
        state->load[object == TOPO_NONE ? 0 : object]++;
    }
}

int mapping_take_used(struct mapping *mapping)
{
    bool *threads = calloc((size_t) most_threads(mapping) + 1, sizeof(*threads));
    bool made = threads != NULL;
    for (uint32_t node = 0; node < mapping->plan->node_count && made; node++) {
        struct node_state *state = &mapping->nodes[node];
        uint32_t count = mapping->placement->map_by == MAP_BY_OBJECT && state->view
                             ? state->view->levels[mapping->map_level].count
                             : 0;
        state->load = count ? calloc(count, sizeof(*state->load)) : NULL;
        made = state->load || !count;
    }
    for (uint32_t rank = 0; rank < mapping->plan->rank_count && made; rank++) {
        if (lives_on(mapping, rank, mapping->plan->node_of[rank])) {
            take_rank(mapping, rank, threads);
        }
    }
    free(threads);
    return made ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

int mapping_count_ranks(const struct mapping *mapping, uint32_t node, unsigned level,
                        uint32_t *ranks)
{
    const struct view *view = mapping->nodes[node].view;
    bool *threads = calloc((size_t) view->topo->count + 1, sizeof(*threads));
    for (uint32_t rank = 0; threads && rank < mapping->plan->rank_count; rank++) {
        if (lives_on(mapping, rank, node) && find_threads(mapping, node, rank, threads)) {
            uint32_t object = first_object(view, level, threads);
            ranks[object == TOPO_NONE ? 0 : object] += object != TOPO_NONE;
        }
    }
    free(threads);
    return threads ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

int mapping_expect_known(struct mapping *mapping, int status)
{
    bool placed = status == ORTE_SUCCESS;
    for (uint32_t node = 0; node < mapping->plan->node_count && mapping->needs_views; node++) {
        const struct node_state *state = &mapping->nodes[node];
        if (!state->view && state->of_app > 0 && (placed || mapping_is_open(state))) {
            mapping->use->unknown[node] = true;
            status = mapping_unknown(mapping, node);
        }
    }
    return status;
}
