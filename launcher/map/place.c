/* Which node each rank goes to, and to which object of it. The words are those of docs/mapping.md:
 * level, limit, round. */
#include <config.h>

#include <launcher/map/mapping.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* --- processors for PE=n --- */

/* The lowest free processors, n of them, marked in chosen (by processor): those of the object, or,
 * where objects are smaller than n, of the node. False: there are not that many. */
static bool find_processors(const struct mapping *mapping, uint32_t node, uint32_t object,
                            bool *chosen)
{
    const struct node_state *state = &mapping->nodes[node];
    const struct view *view = state->view;
    const struct view_level *processors = &view->levels[view->processors];
    const struct view_level *objects = &view->levels[mapping->map_level];
    uint32_t wanted = mapping->placement->cpus_per_rank, found = 0;
    bool whole = objects->size[object] < wanted;
    for (uint32_t i = 0; i < view->topo->count && found < wanted; i++) {
        uint32_t processor = processors->of[i];
        if (processor != TOPO_NONE && !state->taken[processor] && !chosen[processor] &&
            (whole || objects->of[i] == object)) {
            chosen[processor] = true;
            found++;
        }
    }
    return found == wanted;
}

/* Of a level, on the known node that has the most of them; UINT32_MAX: none is known. */
static uint32_t most_objects(const struct mapping *mapping, unsigned level)
{
    uint32_t most = mapping->view_count ? 1 : UINT32_MAX;
    for (uint32_t i = 0; i < mapping->view_count; i++) {
        uint32_t count = mapping->views[i].levels[level].count;
        most = count > most ? count : most;
    }
    return most;
}

/* May a node that is not known have processors for one more rank? */
static bool may_have_processors(const struct mapping *mapping, uint32_t node)
{
    uint32_t ranks = mapping->nodes[node].of_app;
    unsigned processors = mapping->placement->hwthreads ? TOPO_HWTHREAD : TOPO_CORE;
    return ranks == 0 || mapping->placement->overload ||
           ranks < most_objects(mapping, processors) / mapping->placement->cpus_per_rank;
}

/* Room for one more rank's processors, as the object's or the node's. */
static bool has_processors(const struct mapping *mapping, uint32_t node, uint32_t object)
{
    const struct node_state *state = &mapping->nodes[node];
    if (mapping->placement->cpus_per_rank == 0) {
        return true;
    }
    if (!state->view) {
        return may_have_processors(mapping, node);
    }
    bool *chosen = calloc(state->view->levels[state->view->processors].count, sizeof(*chosen));
    bool found = chosen && find_processors(mapping, node, object, chosen);
    free(chosen);
    return found;
}

static void free_processors(struct node_state *state)
{
    memset(state->taken, 0, state->view->levels[state->view->processors].count);
    state->taken_count = 0;
}

/* Takes them; *cpus: what the rank is bound to, NULL if it is not. */
static int take_processors(struct mapping *mapping, uint32_t node, uint32_t object, char **cpus)
{
    struct node_state *state = &mapping->nodes[node];
    uint32_t wanted = mapping->placement->cpus_per_rank;
    *cpus = NULL;
    if (wanted == 0 || !state->view) {
        return ORTE_SUCCESS;
    }
    const struct view *view = state->view;
    uint32_t count = view->levels[view->processors].count;
    bool *chosen = calloc(count, sizeof(*chosen));
    if (!chosen || !find_processors(mapping, node, object, chosen)) {
        free(chosen);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < count; i++) {
        state->taken[i] |= chosen[i];
    }
    state->taken_count += wanted;
    if (mapping->placement->bind) {
        *cpus = view_cpus(view, view->processors, chosen);
    }
    bool made = *cpus || !mapping->placement->bind;
    free(chosen);
    return made ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* --- room --- */

/* How many ranks a node may have in this round. */
static uint32_t level_of(const struct map_node *node, uint64_t round)
{
    uint64_t level = node->slots_explicit ? node->slots + (round - 1) : node->slots * round;
    return level < UINT32_MAX ? (uint32_t) level : UINT32_MAX;
}

static uint32_t objects_of(const struct mapping *mapping, uint32_t node)
{
    const struct view *view = mapping->nodes[node].view;
    if (mapping->map_level == LEVEL_NODE) {
        return 1;
    }
    return view ? view->levels[mapping->map_level].count
                : most_objects(mapping, mapping->map_level);
}

/* The next object of the node that takes a rank; where ranks are added, the next of those with the
 * fewest. False: none does. */
static bool find_object(const struct mapping *mapping, uint32_t node, uint32_t *object)
{
    const struct node_state *state = &mapping->nodes[node];
    uint32_t count = objects_of(mapping, node);
    bool found = false;
    for (uint32_t i = 0; i < count && (!found || state->load); i++) {
        uint32_t next = (state->next_object + i) % count;
        bool better = !found || state->load[next] < state->load[*object];
        if (better && has_processors(mapping, node, next)) {
            *object = next;
            found = true;
        }
    }
    return found;
}

bool mapping_is_open(const struct node_state *state)
{
    return state->placed < state->limit && state->of_app < state->app_limit;
}

/* With overload-allowed, what was taken is free again when it does not suffice. */
static bool may_free(const struct mapping *mapping, uint32_t node)
{
    return mapping->placement->overload && mapping->nodes[node].taken_count > 0;
}

/* The object for one more rank; frees processors where that helps. */
static bool make_object(struct mapping *mapping, uint32_t node, uint32_t *object)
{
    if (find_object(mapping, node, object)) {
        return true;
    }
    if (!may_free(mapping, node)) {
        return false;
    }
    free_processors(&mapping->nodes[node]);
    return find_object(mapping, node, object);
}

/* Has the node room in this round, and for which object? */
static bool has_room(struct mapping *mapping, uint32_t node, uint64_t round, uint32_t *object)
{
    struct node_state *state = &mapping->nodes[node];
    bool leveled = mapping->per_node == 0; /* with -N the limit is the level */
    return mapping_is_open(state) &&
           (!leveled || state->placed < level_of(&mapping->plan->nodes[node], round)) &&
           make_object(mapping, node, object);
}

static int place_one(struct mapping *mapping, uint32_t app, uint32_t node, uint32_t object)
{
    char *cpus;
    int status = take_processors(mapping, node, object, &cpus);
    mapping->nodes[node].next_object = object + 1;
    return status == ORTE_SUCCESS ? mapping_add(mapping, app, node, object, cpus) : status;
}

/* --- the ways of mapping --- */

/* One round: a node is filled before the next, or, in turns, gets one rank at a time. */
static int place_round(struct mapping *mapping, uint32_t app, uint64_t round, bool in_turns,
                       uint32_t *left)
{
    int status = ORTE_SUCCESS;
    bool any = true;
    while (any && *left > 0 && status == ORTE_SUCCESS) {
        any = false;
        for (uint32_t i = 0; i<mapping->candidate_count && * left> 0; i++) {
            uint32_t node = mapping->candidates[i], object;
            for (bool again = true; again && *left > 0 && status == ORTE_SUCCESS;) {
                again = has_room(mapping, node, round, &object);
                if (again) {
                    status = place_one(mapping, app, node, object);
                    (*left)--;
                    any = in_turns;
                    again = !in_turns;
                }
            }
        }
    }
    return status;
}

/* Leaves out nodes that no round brings room. */
static void drop_full(struct mapping *mapping)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < mapping->candidate_count; i++) {
        uint32_t node = mapping->candidates[i], object;
        if (mapping_is_open(&mapping->nodes[node]) &&
            has_room(mapping, node, UINT32_MAX, &object)) {
            mapping->candidates[kept++] = node;
        }
    }
    mapping->candidate_count = kept;
}

static int place_rounds(struct mapping *mapping, uint32_t app, uint64_t rounds, uint32_t *left)
{
    bool in_turns = mapping->placement->map_by == MAP_BY_NODE || mapping->placement->span;
    int status = ORTE_SUCCESS;
    for (uint64_t round = 1; round <= rounds && *left > 0 && status == ORTE_SUCCESS; round++) {
        status = place_round(mapping, app, round, in_turns, left);
        drop_full(mapping);
        if (mapping->candidate_count == 0) {
            break;
        }
    }
    return status;
}

static int place_ppr_once(struct mapping *mapping, uint32_t app, uint32_t *left)
{
    for (uint32_t i = 0; i < mapping->candidate_count; i++) {
        uint32_t node = mapping->candidates[i], objects = objects_of(mapping, node);
        uint64_t places = (uint64_t) objects * mapping->placement->per_object;
        for (uint64_t at = 0; at<places && * left> 0 && mapping_is_open(&mapping->nodes[node]);
             at++) {
            uint32_t object = (uint32_t) (at / mapping->placement->per_object);
            if (!has_processors(mapping, node, object) && may_free(mapping, node)) {
                free_processors(&mapping->nodes[node]);
            }
            if (!has_processors(mapping, node, object)) {
                continue;
            }
            int status = place_one(mapping, app, node, object);
            if (status != ORTE_SUCCESS) {
                return status;
            }
            (*left)--;
        }
    }
    return ORTE_SUCCESS;
}

static int place_ppr(struct mapping *mapping, uint32_t app, uint32_t *left)
{
    uint32_t before;
    int status;
    do {
        before = *left;
        status = place_ppr_once(mapping, app, left);
    } while (mapping->use && mapping->use->again && status == ORTE_SUCCESS && *left > 0 &&
             *left < before);
    return status;
}

/* --- how many --- */

/* Ranks of a program without -n, where -N or ppr gives them. */
static uint64_t count_by_map(const struct mapping *mapping)
{
    uint64_t count = 0;
    uint32_t per_node = mapping->per_node;
    for (uint32_t i = 0; i < mapping->candidate_count; i++) {
        uint64_t objects = objects_of(mapping, mapping->candidates[i]);
        uint64_t ppr = objects * mapping->placement->per_object;
        bool by_ppr = mapping->placement->map_by == MAP_BY_PPR;
        count += !by_ppr ? per_node : per_node && per_node < ppr ? per_node : ppr;
    }
    return count;
}

/* May a later program have ranks on the nodes of the one that is being mapped? */
static bool shares_nodes(const struct mapping *mapping, const struct app_request *later)
{
    bool shares = later->hosts.count == 0;
    for (size_t i = 0; i < later->hosts.count && !shares; i++) {
        const struct map_node *node = job_plan_find(mapping->plan, later->hosts.nodes[i].name);
        shares = !node || mapping->nodes[node - mapping->plan->nodes].app_limit > 0;
    }
    return shares;
}

/* Ranks that round 1 has room for, at most, less those of the programs behind it. */
static uint64_t count_free(const struct mapping *mapping, uint32_t app)
{
    uint64_t room = 0, later = 0;
    for (uint32_t i = 0; i < mapping->candidate_count; i++) {
        const struct node_state *state = &mapping->nodes[mapping->candidates[i]];
        uint32_t level = least(mapping->plan->nodes[mapping->candidates[i]].slots, state->limit);
        uint32_t more = level > state->placed ? level - state->placed : 0;
        room += least(more, state->app_limit);
    }
    for (size_t i = app + 1; i < mapping->request->app_count; i++) {
        const struct app_request *other = &mapping->request->apps[i];
        later += shares_nodes(mapping, other) ? other->count : 0;
    }
    return room > later ? room - later : 0;
}

/* --- why ranks have no place --- */

static const char share_hint[] = "; --bind-to :overload-allowed lets ranks share them";

static const char *plural(unsigned long long count)
{
    return count == 1 ? "" : "s";
}

/* What there are no n of: "free processor", "2 free processors". */
static const char *missing_processors(char text[40], uint32_t n)
{
    snprintf(text, 40, n == 1 ? "free processor" : "%u free processors", n);
    return text;
}

int mapping_place_on(struct mapping *mapping, uint32_t app, uint32_t node, const char *where)
{
    uint32_t object;
    char wanted[40];
    const struct node_state *state = &mapping->nodes[node];
    if (make_object(mapping, node, &object)) {
        return place_one(mapping, app, node, object);
    }
    return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE, "%s: host %s has no %s%s", where,
                        mapping->plan->nodes[node].name,
                        missing_processors(wanted, mapping->placement->cpus_per_rank),
                        state->taken_count && !mapping->placement->overload ? share_hint : "");
}

/* What the nodes of the program that is being mapped have taken. */
struct shortage {
    unsigned long long placed; /* ranks */
    unsigned long long most;   /* ranks on all nodes of the job, for max_slots */
    uint32_t nodes;
    bool given;      /* slots of some were given */
    bool limited;    /* -N or ppr asks for more on some than its max_slots */
    bool open;       /* some have slots that are free, */
    bool processors; /* but not the processors of one more rank, */
    bool shared;     /* which others have taken: overload-allowed would help */
};

/* Has a node no processors for one more rank, of some object? */
static bool lacks_processors(const struct mapping *mapping, uint32_t node)
{
    bool lacks = false;
    for (uint32_t object = 0; object < objects_of(mapping, node) && !lacks; object++) {
        lacks = !has_processors(mapping, node, object);
    }
    return lacks;
}

/* How many ranks -N or ppr puts on a node; 0: as many as there are. */
static uint64_t count_asked(const struct mapping *mapping, uint32_t node)
{
    return mapping->placement->map_by == MAP_BY_PPR
               ? (uint64_t) mapping->placement->per_object * objects_of(mapping, node)
               : mapping->per_node;
}

static struct shortage find_shortage(const struct mapping *mapping)
{
    struct shortage found = {0};
    for (uint32_t i = 0; i < mapping->plan->node_count; i++) {
        const struct map_node *node = &mapping->plan->nodes[i];
        const struct node_state *state = &mapping->nodes[i];
        found.most += node->slots_max ? node->slots_max : RANKS_MAX;
        if (mapping_is_candidate(mapping, i)) {
            bool open = mapping_is_open(state);
            found.nodes++;
            found.placed += state->placed;
            found.given |= node->slots_explicit;
            found.limited |= node->slots_max > 0 && count_asked(mapping, i) > node->slots_max;
            found.open |= open;
            found.processors |= open && lacks_processors(mapping, i);
            found.shared |= open && state->taken_count > 0 && !mapping->placement->overload;
        }
    }
    return found;
}

static int explain_slots(struct mapping *mapping, const struct shortage *shortage, uint64_t wanted,
                         uint32_t left)
{
    const struct run_request *request = mapping->request;
    const char *hint = shortage->limited ? "; max_slots allows no more"
                       : request->oversubscribe || request->no_oversubscribe
                           ? ""
                           : "; --oversubscribe allows it";
    const char *are = shortage->given ? "were given" : "there are";
    if (shortage->open) { /* by ppr, which does not fill it */
        return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE,
                            "%u of %llu ranks of ppr:%u:%s find no free slot%s", left,
                            (unsigned long long) wanted, mapping->placement->per_object,
                            level_name(mapping->map_level), hint);
    }
    if (request->oversubscribe && shortage->limited) {
        return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE,
                            "%llu ranks are more than the %llu that max_slots allows",
                            shortage->placed + left, shortage->placed);
    }
    if (shortage->placed == 1) {
        are = shortage->given ? "was given" : "there is";
    }
    return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE,
                        "%llu ranks are more than the %llu slot%s that %s%s%s",
                        shortage->placed + left, shortage->placed, plural(shortage->placed), are,
                        mapping->per_node ? " and that -N counts" : "", hint);
}

static int explain_added(struct mapping *mapping, uint64_t wanted, uint32_t left)
{
    uint32_t cpus = mapping->placement->cpus_per_rank;
    char each[64] = "";
    if (cpus) {
        snprintf(each, sizeof(each), " with %u processor%s each", cpus, plural(cpus));
    }
    return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE, "there is room for %u of %u ranks%s",
                        (uint32_t) wanted - left, (uint32_t) wanted, each);
}

/* Why left of the wanted ranks of a program have no place. */
static int explain_full(struct mapping *mapping, uint64_t wanted, uint32_t left)
{
    const struct placement *placement = mapping->placement;
    struct shortage shortage = find_shortage(mapping);
    unsigned long long ranks = wanted, total = mapping->count + left;
    uint64_t places = placement->map_by == MAP_BY_PPR ? count_by_map(mapping) : wanted;
    if (total > shortage.most) {
        return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE,
                            "%llu ranks are more than the %llu that max_slots allows", total,
                            shortage.most);
    }
    if (mapping->per_node && wanted > (uint64_t) mapping->per_node * shortage.nodes) {
        return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE,
                            "%llu ranks are more than %u on each of %u node%s", ranks,
                            mapping->per_node, shortage.nodes, plural(shortage.nodes));
    }
    if (wanted > places) {
        return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE,
                            "%llu ranks are more than the %llu place%s of ppr:%u:%s", ranks,
                            (unsigned long long) places, plural(places), placement->per_object,
                            level_name(placement->map_level));
    }
    if (shortage.processors) {
        char processors[40];
        return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE, "%u of %llu ranks find no %s%s",
                            left, ranks, missing_processors(processors, placement->cpus_per_rank),
                            shortage.shared ? share_hint : "");
    }
    return explain_slots(mapping, &shortage, wanted, left);
}

/* --- programs --- */

static int place_app(struct mapping *mapping, uint32_t app)
{
    const struct app_request *wants = &mapping->request->apps[app];
    enum map_by by = mapping->placement->map_by;
    if (by == MAP_BY_SEQ) {
        return mapping_place_sequence(mapping, app, wants->count);
    }
    if (by == MAP_BY_RANKFILE) {
        return mapping_place_rankfile(mapping, app, wants->count);
    }
    bool exact = wants->count || by == MAP_BY_PPR || mapping->per_node;
    uint64_t wanted = wants->count ? wants->count
                      : exact      ? count_by_map(mapping)
                                   : count_free(mapping, app);
    if (wanted == 0) {
        return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE,
                            "no slot is free for %s: give its number of ranks with -n",
                            wants->argv[0]);
    }
    if (wanted > RANKS_MAX - mapping->count) {
        return mapping_fail(mapping, ORTE_ERR_VALUE_OUT_OF_BOUNDS,
                            "%llu ranks: 1 to %d are possible",
                            (unsigned long long) (wanted + mapping->count), RANKS_MAX);
    }
    uint32_t left = (uint32_t) wanted;
    int status = by == MAP_BY_PPR ? place_ppr(mapping, app, &left)
                                  : place_rounds(mapping, app, exact ? UINT32_MAX : 1, &left);
    bool placed = exact ? left == 0 : left < wanted;
    if (status != ORTE_SUCCESS || placed) {
        return status;
    }
    return mapping->use ? explain_added(mapping, wanted, left)
                        : explain_full(mapping, wanted, left);
}

int mapping_place(struct mapping *mapping)
{
    int status = ORTE_SUCCESS;
    for (uint32_t app = 0; app < mapping->request->app_count && status == ORTE_SUCCESS; app++) {
        status = mapping_choose_nodes(mapping, app);
        if (status == ORTE_SUCCESS) {
            status = place_app(mapping, app);
        }
    }
    return mapping->use ? mapping_expect_known(mapping, status) : status;
}
