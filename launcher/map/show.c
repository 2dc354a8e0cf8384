#include <config.h>

#include <launcher/map/show.h>

#include <base/text/json.h>
#include <base/text/reason.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- a binding --- */

/* By thread: is it in cpus? NULL: no memory. */
static bool *find_bound(const struct topo *topo, const char *cpus)
{
    uint32_t most = 0;
    const char *wrong;
    for (uint32_t i = 0; i < topo->count; i++) {
        most = topo->threads[i].os > most ? topo->threads[i].os : most;
    }
    bool *by_number = calloc((size_t) most + 1, sizeof(bool));
    bool *bound = calloc((size_t) topo->count + 1, sizeof(bool));
    if (by_number && bound && cpus[0]) {
        (void) topo_list_parse(cpus, by_number, most + 1, &wrong); /* the mapping wrote it */
    }
    for (uint32_t i = 0; by_number && bound && i < topo->count; i++) {
        bound[i] = by_number[topo->threads[i].os];
    }
    free(by_number);
    return bound;
}

/* A rank's binding as mpirun draws it: a bracket for each package, a letter for each hardware
 * thread, "/" between cores: "[BB/..][../~~]". B: bound, a dot: not, ~: may not be used. malloc'd;
 * NULL: no memory. cpus: as in struct job_plan. */
static char *binding_picture(const struct topo *topo, const char *cpus)
{
    bool *bound = find_bound(topo, cpus);
    char *text = calloc((size_t) topo->count * 3 + 3, 1), *at = text;
    for (uint32_t i = 0; bound && text && i < topo->count; i++) {
        const struct topo_thread *thread = &topo->threads[i];
        const struct topo_thread *before = i ? &topo->threads[i - 1] : NULL;
        if (!before || thread->object[TOPO_PACKAGE] != before->object[TOPO_PACKAGE]) {
            *at++ = before ? ']' : '[';
            at += before && (*at = '[');
        } else if (thread->object[TOPO_CORE] != before->object[TOPO_CORE]) {
            *at++ = '/';
        }
        *at++ = bound[i] ? 'B' : thread->usable ? '.' : '~';
    }
    if (bound && text) {
        *at = ']';
    }
    free(bound);
    return text;
}

/* --- lines --- */

static void show_nodes(FILE *out, const struct job_plan *plan)
{
    fprintf(out, "Nodes: %u\n", plan->node_count);
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct map_node *node = &plan->nodes[i];
        fprintf(out, "    %s: %u slot%s, %s", node->name, node->slots, node->slots == 1 ? "" : "s",
                node->slots_explicit ? "given" : "counted");
        if (node->slots_max) {
            fprintf(out, ", at most %u rank%s", node->slots_max, node->slots_max == 1 ? "" : "s");
        }
        fputc('\n', out);
    }
}

static void show_map(FILE *out, const struct job_plan *plan, const struct run_request *request,
                     uint32_t count, const uint32_t *first, const uint32_t *next)
{
    uint32_t used = 0;
    for (uint32_t node = 0; node < plan->node_count; node++) {
        used += first[node] < plan->rank_count;
    }
    fprintf(out, "Map: %u rank%s on %u node%s\n", count, count == 1 ? "" : "s", used,
            used == 1 ? "" : "s");
    for (uint32_t node = 0; node < plan->node_count; node++) {
        if (first[node] == plan->rank_count) {
            continue;
        }
        fprintf(out, "    %s:\n", plan->nodes[node].name);
        for (uint32_t rank = first[node]; rank < plan->rank_count; rank = next[rank]) {
            uint32_t app = plan->app_of[rank];
            char program[PATH_MAX];
            snprintf(program, sizeof(program), "%s", request->apps[app].argv[0]);
            reason_printable(program);
            fprintf(out, "        rank %u: local rank %u, program %u, %s\n", rank,
                    plan->local_rank_of[rank], app, program);
        }
    }
}

/* Node by node. False: no memory. */
static bool show_mapped(FILE *out, const struct job_plan *plan, const struct run_request *request,
                        uint32_t from)
{
    uint32_t *first = malloc((plan->node_count + 1) * sizeof(*first));
    uint32_t *next = malloc((plan->rank_count + 1) * sizeof(*next));
    bool done = first && next;
    for (uint32_t node = 0; done && node < plan->node_count; node++) {
        first[node] = plan->rank_count;
    }
    for (uint32_t rank = plan->rank_count; done && rank-- > from;) {
        next[rank] = first[plan->node_of[rank]];
        first[plan->node_of[rank]] = rank;
    }
    if (done) {
        show_map(out, plan, request, plan->rank_count - from, first, next);
    }
    free(first);
    free(next);
    return done;
}

char *binding_line(const struct job_plan *plan, uint32_t rank)
{
    const struct map_node *node = &plan->nodes[plan->node_of[rank]];
    const char *cpus = plan->cpus[rank];
    char *picture = node->topo && cpus[0] ? binding_picture(node->topo, cpus) : NULL, *line;
    int size = cpus[0] ? asprintf(&line, "rank %u on %s: bound to processors %s%s%s", rank,
                                  node->name, cpus, picture ? " " : "", picture ? picture : "")
                       : asprintf(&line, "rank %u on %s: not bound", rank, node->name);
    free(picture);
    return size < 0 ? NULL : line;
}

static void show_binding(FILE *out, const struct job_plan *plan, uint32_t rank)
{
    char *line = binding_line(plan, rank);
    fprintf(out, "%s\n", line ? line : "out of memory");
    free(line);
}

static void show_thread(FILE *out, const struct topo *topo, uint32_t at)
{
    const struct topo_thread *thread = &topo->threads[at];
    fputs("   ", out);
    for (unsigned level = TOPO_LEVELS; level-- > 0;) {
        if (thread->object[level] != TOPO_NONE) {
            fprintf(out, " %s %u", level_name(level), thread->object[level]);
        }
    }
    fprintf(out, ": processor %u%s\n", thread->os, thread->usable ? "" : ", may not be used");
}

/* Once for all nodes that have it. */
static void show_topologies(FILE *out, const struct job_plan *plan)
{
    for (uint32_t node = 0; node < plan->node_count; node++) {
        const struct topo *topo = plan->nodes[node].topo;
        bool shown = !topo;
        for (uint32_t before = 0; before < node && !shown; before++) {
            shown = plan->nodes[before].topo == topo;
        }
        if (shown) {
            continue;
        }
        fprintf(out, "Topology of %s", plan->nodes[node].name);
        for (uint32_t other = node + 1; other < plan->node_count; other++) {
            if (plan->nodes[other].topo == topo) {
                fprintf(out, ", %s", plan->nodes[other].name);
            }
        }
        fputs(":\n", out);
        for (uint32_t i = 0; i < topo->count; i++) {
            show_thread(out, topo, i);
        }
    }
}

static bool show_lines(FILE *out, const struct job_plan *plan, const struct run_request *request,
                       uint32_t from)
{
    if (request->display & DISPLAY_ALLOCATION) {
        show_nodes(out, plan);
    }
    if (request->display & DISPLAY_TOPO) {
        show_topologies(out, plan);
    }
    if (request->display & DISPLAY_MAP && !show_mapped(out, plan, request, from)) {
        return false;
    }
    for (uint32_t rank = from; request->display & DISPLAY_BIND && rank < plan->rank_count; rank++) {
        show_binding(out, plan, rank);
    }
    return true;
}

/* --- JSON --- */

static void json_topology(FILE *out, const struct topo *topo)
{
    fputs(", \"threads\": [", out);
    for (uint32_t i = 0; i < topo->count; i++) {
        fprintf(out, "%s{\"processor\": %u, \"usable\": %s", i ? ", " : "", topo->threads[i].os,
                topo->threads[i].usable ? "true" : "false");
        for (unsigned level = 0; level < TOPO_LEVELS; level++) {
            if (topo->threads[i].object[level] != TOPO_NONE) {
                fprintf(out, ", \"%s\": %u", level_name(level), topo->threads[i].object[level]);
            }
        }
        fputc('}', out);
    }
    fputc(']', out);
}

static void json_nodes(FILE *out, const struct job_plan *plan, uint32_t display)
{
    fputs("\"nodes\": [", out);
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const struct map_node *node = &plan->nodes[i];
        fputs(i ? ",\n  {\"name\": " : "\n  {\"name\": ", out);
        json_text(out, node->name);
        fprintf(out, ", \"slots\": %u, \"given\": %s, \"max_slots\": %u", node->slots,
                node->slots_explicit ? "true" : "false", node->slots_max);
        if (display & DISPLAY_TOPO && node->topo) {
            json_topology(out, node->topo);
        }
        fputc('}', out);
    }
    fputs("]", out);
}

static void json_ranks(FILE *out, const struct job_plan *plan, const struct run_request *request,
                       uint32_t from)
{
    fputs("\"ranks\": [", out);
    for (uint32_t rank = from; rank < plan->rank_count; rank++) {
        uint32_t app = plan->app_of[rank];
        fprintf(out, "%s\n  {\"rank\": %u, \"node\": ", rank > from ? "," : "", rank);
        json_text(out, plan->nodes[plan->node_of[rank]].name);
        fprintf(out,
                ", \"local_rank\": %u, \"program\": %u, \"command\": ", plan->local_rank_of[rank],
                app);
        json_text(out, request->apps[app].argv[0]);
        if (request->display & DISPLAY_BIND) {
            fputs(", \"processors\": ", out);
            json_text(out, plan->cpus[rank]);
        }
        fputc('}', out);
    }
    fputs("]", out);
}

static bool show_json(FILE *out, const struct job_plan *plan, const struct run_request *request,
                      uint32_t from)
{
    bool nodes = request->display & (DISPLAY_ALLOCATION | DISPLAY_TOPO);
    bool ranks = request->display & (DISPLAY_MAP | DISPLAY_BIND);
    fputc('{', out);
    if (nodes) {
        json_nodes(out, plan, request->display);
    }
    fputs(nodes && ranks ? ",\n " : "", out);
    if (ranks) {
        json_ranks(out, plan, request, from);
    }
    fputs("}\n", out);
    return true;
}

char *plan_show(const struct job_plan *plan, const struct run_request *request, uint32_t from)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        return NULL;
    }
    bool shown = (request->json ? show_json : show_lines)(out, plan, request, from);
    if (fclose(out) != 0 || !shown) {
        free(text);
        return NULL;
    }
    return text;
}
