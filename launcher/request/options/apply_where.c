/* The options that say where ranks run. */
#include <config.h>

#include <launcher/request/options/parser.h>

#include <base/data/strings.h>
#include <launcher/request/nodes/hostfile.h>
#include <launcher/request/rankfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SIMULATED_MAX = 1024 };

bool apply_simulate(struct parser *parser, const char *option, char **values)
{
    struct run_request *request = parser->request;
    char nodes[16];
    size_t size = strcspn(values[0], "x");
    snprintf(nodes, sizeof(nodes), "%.*s", (int) size, values[0]);
    if (size >= sizeof(nodes) || !values[0][size] ||
        !parse_number(nodes, 1, SIMULATED_MAX, &request->simulate_nodes) ||
        !parse_number(values[0] + size + 1, 1, TOPO_CPUS_MAX, &request->simulate_slots)) {
        return parser_wrong(parser, "%s %s: NODESxSLOTS is needed, up to %dx%d, as in 3x2", option,
                            values[0], SIMULATED_MAX, TOPO_CPUS_MAX);
    }
    return true;
}

bool apply_per_node(struct parser *parser, const char *option, char **values)
{
    return number_option(parser, option, values[0], RANKS_MAX, &parser->app->per_node);
}

/* Both the program's own, and the job's, which has those of all programs. */
bool apply_host(struct parser *parser, const char *option, char **values)
{
    struct node_list *lists[] = {&parser->app->hosts, &parser->request->hosts};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        char why[256];
        lists[i]->relative = true;
        if (node_list_parse(lists[i], values[0], strlen(values[0]), 0, 0, why, sizeof(why)) !=
            ORTE_SUCCESS) {
            return parser_wrong(parser, "%s %s", option, why);
        }
    }
    return true;
}

bool apply_hostfile(struct parser *parser, const char *option, char **values)
{
    struct run_request *request = parser->request;
    char why[512], *name, *text;
    size_t size;
    int status = hostfile_load(&text, &size, values[0], true, why, sizeof(why));
    if (status == ORTE_SUCCESS && !strings_add(&parser->hostfiles, text)) {
        return parser_no_memory(parser);
    }
    if (status == ORTE_SUCCESS) {
        status = hostfile_parse(&request->hostfile, values[0], text, size, why, sizeof(why));
    }
    if (status != ORTE_SUCCESS) {
        return parser_wrong(parser, "%s %s", option, why);
    }
    if (asprintf(&name, "%s%s%s", request->hostfile_name ? request->hostfile_name : "",
                 request->hostfile_name ? ", " : "", values[0]) < 0) {
        return parser_no_memory(parser);
    }
    free(request->hostfile_name);
    request->hostfile_name = name;
    return true;
}

static bool same_mapping(const struct placement *one, const struct placement *other)
{
    return one->map_by == other->map_by && one->map_level == other->map_level &&
           one->per_object == other->per_object;
}

bool apply_map_by(struct parser *parser, const char *option, char **values)
{
    struct run_request *request = parser->request;
    struct placement before = request->placement; /* has the same strings: only numbers are read */
    char why[512];
    int oversubscribe = 0;
    if (placement_map_by(&request->placement, values[0], &oversubscribe, why, sizeof(why)) !=
        ORTE_SUCCESS) {
        return parser_wrong(parser, "%s %s", option, why);
    }
    if (placement_names_policy(values[0])) {
        if (parser->mapped[0] && !same_mapping(&before, &request->placement)) {
            return parser_wrong(parser, "%s: %s has said already how ranks are mapped", option,
                                parser->mapped);
        }
        snprintf(parser->mapped, sizeof(parser->mapped), "%s", option);
    }
    request->oversubscribe |= oversubscribe > 0;
    request->no_oversubscribe |= oversubscribe < 0;
    return true;
}

/* As PE=N of --map-by. */
bool apply_cpus_per_rank(struct parser *parser, const char *option, char **values)
{
    return number_option(parser, option, values[0], 1 << 16,
                         &parser->request->placement.cpus_per_rank);
}

bool apply_npersocket(struct parser *parser, const char *option, char **values)
{
    char words[64];
    uint32_t count;
    if (!number_option(parser, option, values[0], RANKS_MAX, &count)) {
        return false;
    }
    snprintf(words, sizeof(words), "ppr:%u:package", count);
    struct placement *placement = &parser->request->placement;
    if (!placement->bind_given) {
        placement->bind = true;
        placement->bind_level = TOPO_PACKAGE;
    }
    return apply_map_by(parser, option, (char *[]){words});
}

/* N:OBJECT, as Open MPI wrote it once. */
bool apply_ppr(struct parser *parser, const char *option, char **values)
{
    char *words;
    if (asprintf(&words, "ppr:%s", values[0]) < 0) {
        return parser_no_memory(parser);
    }
    bool right = apply_map_by(parser, option, (char *[]){words});
    free(words);
    return right;
}

/* What fn makes of a value. */
static bool place(struct parser *parser, const char *option, const char *value,
                  int (*fn)(struct placement *placement, const char *value, char *reason,
                            size_t reason_size))
{
    char why[512];
    return fn(&parser->request->placement, value, why, sizeof(why)) == ORTE_SUCCESS ||
           parser_wrong(parser, "%s %s", option, why);
}

bool apply_rankfile(struct parser *parser, const char *option, char **values)
{
    char words[] = "rankfile";
    return place(parser, option, values[0], rankfile_read) &&
           apply_map_by(parser, option, (char *[]){words});
}

bool apply_rank_by(struct parser *parser, const char *option, char **values)
{
    return place(parser, option, values[0], placement_rank_by);
}

bool apply_bind(struct parser *parser, const char *option, char **values)
{
    return place(parser, option, values[0], placement_bind_to);
}

bool apply_cpu_set(struct parser *parser, const char *option, char **values)
{
    return place(parser, option, values[0], placement_cpu_set);
}

bool apply_display(struct parser *parser, const char *option, char **values)
{
    static const char *const names[] = {"map", "allocation", "bind", "topo"};
    uint32_t bits = 0;
    for (const char *word = values[0];; word++) {
        size_t size = strcspn(word, ",:"), i = 0;
        while (i < 4 && (strlen(names[i]) != size || strncasecmp(names[i], word, size) != 0)) {
            i++;
        }
        if (i == 4) {
            return parser_wrong(parser, "%s '%.*s': map, allocation, bind or topo is needed",
                                option, size < 40 ? (int) size : 40, word);
        }
        bits |= 1u << i;
        word += size;
        if (!*word) {
            break;
        }
    }
    parser->request->display |= bits;
    return true;
}

bool apply_simulate_topo(struct parser *parser, const char *option, char **values)
{
    char why[512];
    struct topo topo = {0};
    int status = values[0][0] ? topo_describe(&topo, values[0], why, sizeof(why)) : ORTE_SUCCESS;
    topo_fini(&topo);
    if (status == ORTE_ERR_BAD_PARAM) { /* what else fails fails again where it is mapped */
        return parser_wrong(parser, "%s %s", option, why);
    }
    return set_text(parser, option, "a description or a file", values[0],
                    &parser->request->simulate_topo);
}
