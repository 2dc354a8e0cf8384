/* Ranks that are named one by one: --map-by seq and rankfiles. */
#include <config.h>

#include <launcher/map/mapping.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- a program's nodes --- */

/* "+e": those that no earlier program has ranks on. */
static int add_empty(struct mapping *mapping, const char *name)
{
    const char *number = name[strlen(NODES_EMPTY)] ? name + strlen(NODES_EMPTY) + 1 : "";
    uint32_t wanted, count = 0;
    bool limited = node_number(number, strlen(number), NODES_MAX, &wanted);
    for (uint32_t node = 0; node < mapping->plan->node_count && !(limited && count == wanted);
         node++) {
        if (mapping->nodes[node].placed == 0) {
            mapping->nodes[node].app_limit = UINT32_MAX;
            mapping->candidates[mapping->candidate_count++] = node;
            count++;
        }
    }
    return !limited || count == wanted
               ? ORTE_SUCCESS
               : mapping_fail(mapping, ORTE_ERR_NOT_FOUND, "host %s: %u node%s no rank yet", name,
                              count, count == 1 ? " has" : "s have");
}

static int add_host(struct mapping *mapping, const struct node_request *host)
{
    const struct map_node *found = job_plan_find(mapping->plan, host->name);
    if (strncasecmp(host->name, NODES_EMPTY, 2) == 0) { /* perhaps with ":K" behind it */
        return add_empty(mapping, host->name);
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

/* Of those that the ranks are to be mapped to; the reason says so. */
static bool has_no_object(struct mapping *mapping, uint32_t node)
{
    const struct view *view = mapping->nodes[node].view;
    bool none =
        mapping->map_level != LEVEL_NODE && view && view->levels[mapping->map_level].count == 0;
    if (none) {
        const char *level = level_name(mapping->map_level);
        (void) mapping_fail(mapping, ORTE_ERR_NOT_FOUND, "--map-by %s: node %s has no %s", level,
                            mapping->plan->nodes[node].name, level);
    }
    return none;
}

/* What remains of the nodes that were named. Those without such objects are an error; of a job that
 * runs they are left out, for not all of them are looked at. */
static int settle_nodes(struct mapping *mapping)
{
    uint32_t before = mapping->candidate_count;
    leave_out(mapping, has_no_object);
    if (mapping->candidate_count == 0 || (mapping->candidate_count < before && !mapping->use)) {
        return ORTE_ERR_NOT_FOUND;
    }
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

static bool is_candidate(const struct mapping *mapping, uint32_t node)
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
    if (!found || !is_candidate(mapping, (uint32_t) (found - mapping->plan->nodes))) {
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
                            "%u ranks are more than the %u lines of %s",
                            first + (count ? count : 1), lines, file);
    }
    uint32_t end = count ? first + count : lines;
    for (uint32_t at = first; at < end; at++) {
        char where[512];
        snprintf(where, sizeof(where), "%s: rank %u", file, at);
        int status = place_on(mapping, app, sequence_host(mapping, at), where, &node);
        if (status == ORTE_SUCCESS) {
            status = mapping_add(mapping, app, node, 0, NULL);
        }
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    return ORTE_SUCCESS;
}

/* --- rankfiles --- */

/* Marks the processors of a list: "*" all of the package, else by their number in it; package
 * TOPO_NONE: by their number on the node. */
static bool mark(const struct view *view, uint32_t package, const char *list, bool *chosen)
{
    const struct view_level *processors = &view->levels[view->processors];
    uint32_t most = view->topo->count, at = 0, count = 0;
    bool *wanted = calloc(most + 1, sizeof(*wanted)), right = false;
    const char *wrong;
    bool *seen = calloc(processors->count + 1, sizeof(*seen));
    bool all = strcmp(list, "*") == 0;
    if (wanted && seen && (all || topo_list_parse(list, wanted, most, &wrong))) {
        for (uint32_t i = 0; i < most; i++) {
            count += wanted[i];
        }
        uint32_t last = TOPO_NONE;
        for (uint32_t i = 0; i < most; i++) {
            const struct topo_thread *thread = &view->topo->threads[i];
            uint32_t logical = view->processors == TOPO_CORE ? thread->object[TOPO_CORE] : i;
            if (package != TOPO_NONE && thread->object[TOPO_PACKAGE] != package) {
                continue;
            }
            at += last != TOPO_NONE && logical != last;
            last = logical;
            uint32_t number = package == TOPO_NONE ? logical : at;
            uint32_t processor = processors->of[i];
            if (processor != TOPO_NONE && (all || (number < most && wanted[number]))) {
                count -= !all && !seen[processor];
                seen[processor] = true;
                chosen[processor] = true;
                right = true;
            }
        }
    }
    free(wanted);
    free(seen);
    return right && (all || count == 0);
}

/* "S:LIST", "S:*", "LIST" */
static bool mark_slot(const struct view *view, const char *slot, bool *chosen)
{
    const char *colon = strchr(slot, ':'), *wrong;
    if (!colon) {
        return mark(view, TOPO_NONE, slot, chosen);
    }
    char text[16];
    bool package[4096] = {false};
    if ((size_t) (colon - slot) >= sizeof(text)) {
        return false;
    }
    snprintf(text, sizeof(text), "%.*s", (int) (colon - slot), slot);
    if (!topo_list_parse(text, package, sizeof(package), &wrong)) {
        return false;
    }
    for (uint32_t number = 0; number < sizeof(package); number++) {
        if (package[number] && !mark(view, number, colon + 1, chosen)) {
            return false;
        }
    }
    return true;
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
    bool found = chosen && mark_slot(view, slot, chosen);
    if (found) {
        *cpus = view_cpus(view, view->processors, chosen);
    }
    free(chosen);
    if (!found) {
        return mapping_fail(mapping, ORTE_ERR_NOT_FOUND,
                            "%s: slot=%s names no processor that may be used on node %s", where,
                            slot, mapping->plan->nodes[node].name);
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
