/* Ranks that are added to a job that runs: what its ranks have taken, and the plan as it grows. */
#include <config.h>

#include <launcher/map/mapping.h>

#include <sched.h>
#include <stdio.h>
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
    const char *text = mapping->plan->cpus ? mapping->plan->cpus[rank] : "", *wrong;
    bool chosen[CPU_SETSIZE] = {false}, any = false;
    if (!text[0] || !topo_list_parse(text, chosen, CPU_SETSIZE, &wrong)) {
        return false;
    }
    for (uint32_t i = 0; i < topo->count; i++) {
        threads[i] = topo->threads[i].os < CPU_SETSIZE && chosen[topo->threads[i].os];
        any |= threads[i];
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

/* The processors that it is bound to; those of PE=n that is not bound are the lowest. */
static void take_processors(const struct mapping *mapping, struct node_state *state,
                            const bool *threads, bool bound)
{
    const struct view *view = state->view;
    uint32_t most = state->taken_count + mapping->placement->cpus_per_rank;
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
        uint32_t count = mapping->placement->map_by == MAP_BY_OBJECT
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

/* --- the plan --- */

static bool grow(void *array, size_t size)
{
    void **pointer = array;
    void *grown = realloc(*pointer, size);
    if (grown) {
        *pointer = grown;
    }
    return grown != NULL;
}

/* Ranks of a job that is bound which are not have "". */
static bool take_cpus(struct mapping *mapping, uint32_t first)
{
    char **cpus = mapping->plan->cpus;
    for (uint32_t i = 0; i < mapping->count; i++) {
        cpus[first + i] = mapping->cpus ? mapping->cpus[i] : strdup("");
        cpus[first + i + 1] = NULL;
        while (!cpus[first + i]) {
            if (i-- == 0) {
                return false;
            }
            free(cpus[first + i]);
            cpus[first + i] = NULL;
        }
    }
    free(mapping->cpus);
    mapping->cpus = NULL;
    return true;
}

/* Behind the ranks that are there; local ranks follow those that the node has had. */
static int append(struct mapping *mapping)
{
    struct job_plan *plan = mapping->plan;
    uint32_t first = plan->rank_count;
    size_t count = (size_t) first + mapping->count;
    uint32_t *next = calloc((size_t) plan->node_count + 1, sizeof(*next));
    if (!next || !grow(&plan->node_of, count * sizeof(uint32_t)) ||
        !grow(&plan->app_of, count * sizeof(uint32_t)) ||
        !grow(&plan->local_rank_of, count * sizeof(uint32_t)) ||
        (plan->cpus &&
         (!grow(&plan->cpus, (count + 1) * sizeof(char *)) || !take_cpus(mapping, first)))) {
        free(next);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < mapping->count; i++) {
        plan->node_of[first + mapping->places[i].rank] = mapping->places[i].node;
        plan->app_of[first + i] = mapping->use->app;
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        uint32_t local = next[plan->node_of[rank]]++;
        plan->local_rank_of[rank] = rank < first ? plan->local_rank_of[rank] : local;
    }
    free(next);
    plan->rank_count = (uint32_t) count;
    return ORTE_SUCCESS;
}

int job_plan_extend(struct job_plan *plan, const struct run_request *request,
                    const struct plan_use *use, uint32_t *unbound, char *reason, size_t reason_size)
{
    struct mapping mapping = {.request = request,
                              .placement = &request->placement,
                              .plan = plan,
                              .use = use,
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
    if (status == ORTE_SUCCESS && plan->cpus) {
        status = mapping_bind(&mapping);
    }
    if (status == ORTE_SUCCESS) {
        status = append(&mapping);
    }
    if (status == ORTE_SUCCESS) {
        *unbound = mapping.unbound;
    }
    mapping_end(&mapping);
    return status;
}
