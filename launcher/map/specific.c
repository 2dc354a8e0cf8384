/* Ranks that are named one by one: --map-by seq and rankfiles. */
#include <config.h>

#include <launcher/map/mapping.h>

#include <base/text/number.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a program's nodes --- */

/* "+e": those that no earlier program has ranks on. */
static int add_empty(struct mapping *mapping, const char *name, uint32_t wanted)
{
    uint32_t count = 0;
    for (uint32_t node = 0; node < mapping->plan->node_count && count < wanted; node++) {
        if (mapping->nodes[node].placed == 0 && mapping->nodes[node].app_limit == 0) {
            mapping->nodes[node].app_limit = UINT32_MAX;
            mapping->candidates[mapping->candidate_count++] = node;
            count++;
        }
    }
    return count == wanted || wanted == UINT32_MAX
               ? ORTE_SUCCESS
               : mapping_fail(mapping, ORTE_ERR_NOT_FOUND, "host %s: %u node%s no rank yet", name,
                              count, count == 1 ? " is left that has" : "s are left that have");
}

static int add_host(struct mapping *mapping, const struct node_request *host)
{
    const struct map_node *found = job_plan_find(mapping->plan, host->name);
    uint32_t wanted;
    if (node_is_empty(host->name, &wanted)) {
        return add_empty(mapping, host->name, wanted);
    }
    if (!found) {
        return mapping_fail(mapping, ORTE_ERR_NOT_FOUND, "host %s is not among the job's nodes",
                            host->name);
    }
    uint32_t node = (uint32_t) (found - mapping->plan->nodes);
    struct node_state *state = &mapping->nodes[node];
    bool limited = host->slots && !mapping->request->oversubscribe;
    if (state->app_limit == 0) {
        mapping->candidates[mapping->candidate_count++] = node;
    }
    state->app_limit = !limited || host->slots > UINT32_MAX - state->app_limit
                           ? UINT32_MAX
                           : state->app_limit + host->slots;
    return ORTE_SUCCESS;
}

static void leave_out(struct mapping *mapping, bool (*without)(struct mapping *, uint32_t node))
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < mapping->candidate_count; i++) {
        if (!without(mapping, mapping->candidates[i])) {
            mapping->candidates[kept++] = mapping->candidates[i];
        }
    }
    mapping->candidate_count = kept;
}

static bool is_local(struct mapping *mapping, uint32_t node)
{
    return mapping->plan->nodes[node].local;
}

/* Of those that the ranks are to be mapped to. */
static bool has_no_object(struct mapping *mapping, uint32_t node)
{
    const struct view *view = mapping->nodes[node].view;
    return mapping->map_level != LEVEL_NODE && view && view->levels[mapping->map_level].count == 0;
}

/* first is the first of count nodes. */
static int explain_no_object(struct mapping *mapping, uint32_t first, uint32_t count)
{
    char policy[POLICY_MAX], have[32] = " has";
    placement_policy(mapping->placement, policy);
    if (count > 1) {
        snprintf(have, sizeof(have), " and %u more have", count - 1);
    }
    return mapping_fail(mapping, ORTE_ERR_NOT_FOUND, "--map-by %s: node %s%s no %s", policy,
                        mapping->plan->nodes[first].name, have, level_name(mapping->map_level));
}

/* What remains of the nodes that were named. Those without such objects are an error; of a job that
 * runs they are left out, for not all of them are looked at. */
static int settle_nodes(struct mapping *mapping)
{
    uint32_t without = 0, first = 0;
    for (uint32_t i = mapping->candidate_count; i-- > 0;) {
        if (has_no_object(mapping, mapping->candidates[i])) {
            first = mapping->candidates[i];
            without++;
        }
    }
    if (without > 0 && (without == mapping->candidate_count || !mapping->use)) {
        return explain_no_object(mapping, first, without);
    }
    leave_out(mapping, has_no_object);
    for (uint32_t i = 0; i < mapping->candidate_count; i++) {
        struct node_state *state = &mapping->nodes[mapping->candidates[i]];
        state->turn = i;
        if (mapping->per_node && mapping->per_node < state->app_limit) {
            state->app_limit = mapping->per_node;
        }
    }
    return ORTE_SUCCESS;
}

int mapping_choose_nodes(struct mapping *mapping, uint32_t app)
{
    const struct app_request *wants = &mapping->request->apps[app];
    bool all = wants->hosts.count == 0;
    mapping->candidate_count = 0;
    mapping->per_node = wants->per_node;
    for (uint32_t node = 0; node < mapping->plan->node_count; node++) {
        mapping->nodes[node].app_limit = all ? UINT32_MAX : 0;
        mapping->nodes[node].of_app = 0;
        mapping->candidates[node] = node;
    }
    mapping->candidate_count = all ? mapping->plan->node_count : 0;
    for (size_t i = 0; i < wants->hosts.count; i++) {
        int status = add_host(mapping, &wants->hosts.nodes[i]);
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    if (mapping->placement->no_local) {
        leave_out(mapping, is_local);
    }
    return mapping->candidate_count
               ? settle_nodes(mapping)
               : mapping_fail(mapping, ORTE_ERR_NOT_FOUND, "there is no node for %s%s",
                              wants->argv[0],
                              mapping->placement->no_local ? " without keelrun's own" : "");
}

/* --- one rank --- */

bool mapping_is_candidate(const struct mapping *mapping, uint32_t node)
{
    return mapping->nodes[node].app_limit > 0 &&
           !(mapping->placement->no_local && mapping->plan->nodes[node].local);
}

/* Is it the slots that are too few, and would --oversubscribe help? */
static bool may_oversubscribe(const struct mapping *mapping, uint32_t node)
{
    const struct map_node *of = &mapping->plan->nodes[node];
    const struct node_state *state = &mapping->nodes[node];
    bool slots = state->placed >= state->limit ? state->limit != of->slots_max
                                               : state->app_limit != mapping->per_node;
    return slots && !mapping->request->oversubscribe && !mapping->request->no_oversubscribe;
}

/* where: of the rank in a file, for messages. */
static int place_on(struct mapping *mapping, uint32_t app, const char *host, const char *where,
                    uint32_t *node)
{
    const struct map_node *found = job_plan_find(mapping->plan, host);
    if (!found || !mapping_is_candidate(mapping, (uint32_t) (found - mapping->plan->nodes))) {
        char meant[320] = "";
        if (!found) {
            job_plan_suggest(mapping->plan, host, meant, sizeof(meant));
        }
        return mapping_fail(mapping, ORTE_ERR_NOT_FOUND, "%s: host %s is not among %s's nodes%s",
                            where, host, mapping->request->apps[app].argv[0], meant);
    }
    *node = (uint32_t) (found - mapping->plan->nodes);
    const struct node_state *state = &mapping->nodes[*node];
    if (state->placed >= state->limit || state->of_app >= state->app_limit) {
        uint32_t most = state->placed >= state->limit ? state->limit : state->app_limit;
        return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE, "%s: host %s takes %u rank%s%s",
                            where, host, most, most == 1 ? "" : "s",
                            may_oversubscribe(mapping, *node) ? "; --oversubscribe allows more"
                                                              : "");
    }
    return ORTE_SUCCESS;
}

/* --- seq --- */

static const char *sequence_host(const struct mapping *mapping, size_t at)
{
    const struct node_list *hostfile = &mapping->request->hostfile;
    if (mapping->placement->sequence) {
        return mapping->placement->sequence[at];
    }
    return at < hostfile->count ? hostfile->nodes[at].name : NULL;
}

int mapping_place_sequence(struct mapping *mapping, uint32_t app, uint32_t count)
{
    const char *file =
        mapping->placement->file ? mapping->placement->file : mapping->request->hostfile_name;
    uint32_t node, first = mapping->count, lines = 0;
    while (sequence_host(mapping, lines)) {
        lines++;
    }
    if (lines == 0) {
        return mapping_fail(mapping, ORTE_ERR_NOT_FOUND,
                            "--map-by seq needs a list of hosts: FILE=F, or --hostfile");
    }
    if (count > lines - first || first == lines) {
        return mapping_fail(mapping, ORTE_ERR_OUT_OF_RESOURCE,
                            "%u ranks are more than the %u line%s of %s",
                            first + (count ? count : 1), lines, lines == 1 ? "" : "s", file);
    }
    uint32_t end = count ? first + count : lines;
    for (uint32_t at = first; at < end; at++) {
        char where[512];
        snprintf(where, sizeof(where), "%s: rank %u", file, at);
        int status = place_on(mapping, app, sequence_host(mapping, at), where, &node);
        if (status == ORTE_SUCCESS) {
            status = mapping_place_on(mapping, app, node, where);
        }
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    return ORTE_SUCCESS;
}

/* --- rankfiles --- */

enum { SHOWN_BYTES = 32 };

/* The processors by their numbers in the package; package TOPO_NONE: by those on the node.
 * malloc'd, as many as there are threads; TOPO_NONE: none that may be used has this number. */
static uint32_t *number_processors(const struct view *view, uint32_t package)
{
    uint32_t most = view->topo->count, at = 0, last = TOPO_NONE;
    uint32_t *of = malloc((most + 1) * sizeof(*of));
    if (of) {
        memset(of, 0xff, most * sizeof(*of)); /* TOPO_NONE */
    }
    for (uint32_t i = 0; of && i < most; i++) {
        const struct topo_thread *thread = &view->topo->threads[i];
        uint32_t logical = view->processors == TOPO_CORE ? thread->object[TOPO_CORE] : i;
        if (package != TOPO_NONE && thread->object[TOPO_PACKAGE] != package) {
            continue;
        }
        at += last != TOPO_NONE && logical != last;
        last = logical;
        uint32_t number = package == TOPO_NONE ? logical : at;
        uint32_t processor = view->levels[view->processors].of[i];
        if (number < most && processor != TOPO_NONE) {
            of[number] = processor;
        }
    }
    return of;
}

/* False: a number of the list, *missing, is no processor's. */
static bool mark_list(const uint32_t *of, uint32_t count, const char *list, bool *chosen,
                      uint32_t *missing)
{
    uint32_t last;
    while ((list = range_read(list, TOPO_NONE - 1, missing, &last)) != NULL) {
        for (; *missing <= last; (*missing)++) {
            if (*missing >= count || of[*missing] == TOPO_NONE) {
                return false;
            }
            chosen[of[*missing]] = true;
        }
        if (!*list++) {
            return true;
        }
    }
    return false;
}

/* Marks the processors of a list, or of "*". False: missing is what names none of them; "": there
 * is no memory. */
static bool mark(const struct view *view, uint32_t package, const char *list, bool *chosen,
                 char missing[SHOWN_BYTES])
{
    uint32_t number = 0, count = view->topo->count, *of = number_processors(view, package);
    bool all = strcmp(list, "*") == 0;
    bool right = of && !all && mark_list(of, count, list, chosen, &number);
    char prefix[16] = "";
    for (uint32_t i = 0; of && all && i < count; i++) {
        if (of[i] != TOPO_NONE) {
            chosen[of[i]] = right = true;
        }
    }
    if (package != TOPO_NONE) {
        snprintf(prefix, sizeof(prefix), "%u:", package);
    }
    if (of && all) {
        snprintf(missing, SHOWN_BYTES, "%s*", prefix);
    } else if (of) {
        snprintf(missing, SHOWN_BYTES, "%s%u", prefix, number);
    }
    free(of);
    return right;
}

/* "S:LIST", "S:*", "LIST" */
static bool mark_slot(const struct view *view, const char *slot, bool *chosen,
                      char missing[SHOWN_BYTES])
{
    const char *colon = strchr(slot, ':');
    uint32_t package, last;
    if (!colon) {
        return mark(view, TOPO_NONE, slot, chosen, missing);
    }
    while ((slot = range_read(slot, TOPO_NONE - 1, &package, &last)) != NULL) {
        for (; package <= last; package++) {
            if (!mark(view, package, colon + 1, chosen, missing)) {
                return false;
            }
        }
        if (slot++ == colon) {
            return true;
        }
    }
    return false;
}

/* The processors of "slot=..."; NULL: not bound. */
static int find_cpus(struct mapping *mapping, const char *slot, const char *where, uint32_t node,
                     char **cpus)
{
    const struct view *view = mapping->nodes[node].view;
    *cpus = NULL;
    if (!slot) {
        return ORTE_SUCCESS;
    }
    bool *chosen = calloc(view->levels[view->processors].count + 1, sizeof(*chosen));
    char missing[SHOWN_BYTES] = "";
    bool found = chosen && mark_slot(view, slot, chosen, missing);
    if (found) {
        *cpus = view_cpus(view, view->processors, chosen);
    }
    free(chosen);
    if (!found && missing[0]) {
        return mapping_fail(mapping, ORTE_ERR_NOT_FOUND,
                            "%s: slot=%s: %s names no processor that may be used on node %s", where,
                            slot, missing, mapping->plan->nodes[node].name);
    }
    return *cpus ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

int mapping_place_rankfile(struct mapping *mapping, uint32_t app, uint32_t count)
{
    const struct placement *placement = mapping->placement;
    uint32_t node, first = mapping->count;
    if (count > placement->rank_count - first || first == placement->rank_count) {
        return mapping_fail(mapping, ORTE_ERR_NOT_FOUND, "%s: there is no line for rank %u",
                            placement->file, placement->rank_count);
    }
    uint32_t end = count ? first + count : placement->rank_count;
    for (uint32_t at = first; at < end; at++) {
        const struct rank_place *line = &placement->ranks[at];
        char where[512], *cpus = NULL;
        snprintf(where, sizeof(where), "%s:%u", placement->file, line->line);
        int status = place_on(mapping, app, line->host, where, &node);
        if (status == ORTE_SUCCESS) {
            status = find_cpus(mapping, line->cpus, where, node, &cpus);
        }
        if (status == ORTE_SUCCESS) {
            status = mapping_add(mapping, app, node, 0, cpus);
        }
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    return ORTE_SUCCESS;
}
