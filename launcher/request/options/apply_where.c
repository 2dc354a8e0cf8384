/* The options that say where ranks run. */
#include <config.h>

#include <launcher/request/options/parser.h>

#include <base/data/strings.h>
#include <launcher/request/nodes/hostfile.h>
#include <launcher/request/suggest.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SIMULATED_MAX = 1024 };

bool apply_simulate(struct parser *parser, const char *value)
{
    struct run_request *request = parser->request;
    size_t size = strcspn(value, "x");
    const char *slots = value + size + (value[size] != '\0');
    return (node_number(value, size, SIMULATED_MAX, &request->simulate_nodes) &&
            node_number(slots, strlen(slots), TOPO_CPUS_MAX, &request->simulate_slots)) ||
           parser_wrong(parser, "%s '%s': NODESxSLOTS is needed, up to %dx%d, as in 3x2",
                        parser->option, value, SIMULATED_MAX, TOPO_CPUS_MAX);
}

/* Both the program's own, and the job's, which has those of all programs. */
bool apply_host(struct parser *parser, const char *value)
{
    struct node_list *lists[] = {&parser->app->hosts, &parser->request->hosts};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        char why[256];
        lists[i]->relative = true;
        if (node_list_parse(lists[i], value, strlen(value), 0, 0, why, sizeof(why)) !=
            ORTE_SUCCESS) {
            return parser_wrong(parser, "%s %s", parser->option, why);
        }
    }
    return true;
}

bool apply_hostfile(struct parser *parser, const char *value)
{
    struct run_request *request = parser->request;
    char why[512], *name, *text;
    size_t size;
    int status = hostfile_load(&text, &size, value, true, why, sizeof(why));
    if (status == ORTE_SUCCESS && !strings_add(&parser->hostfiles, text)) {
        return parser_no_memory(parser);
    }
    if (status == ORTE_SUCCESS) {
        status = hostfile_parse(&request->hostfile, value, text, size, why, sizeof(why));
    }
    if (status != ORTE_SUCCESS) {
        return parser_wrong(parser, "%s %s", parser->option, why);
    }
    if (asprintf(&name, "%s%s%s", request->hostfile_name ? request->hostfile_name : "",
                 request->hostfile_name ? ", " : "", value) < 0) {
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

bool apply_map_by(struct parser *parser, const char *words)
{
    struct run_request *request = parser->request;
    struct placement before = request->placement; /* has the same strings: only numbers are read */
    char why[512];
    int oversubscribe = 0;
    if (placement_map_by(&request->placement, words, &oversubscribe, why, sizeof(why)) !=
        ORTE_SUCCESS) {
        return parser_wrong(parser, "%s %s", parser->option, why);
    }
    if (placement_names_policy(words)) {
        if (parser->mapped[0] && !same_mapping(&before, &request->placement)) {
            return parser_wrong(parser, "%s: %s has said already how ranks are mapped",
                                parser->option, parser->mapped);
        }
        snprintf(parser->mapped, sizeof(parser->mapped), "%s", parser->option);
    }
    request->oversubscribe |= oversubscribe > 0;
    request->no_oversubscribe |= oversubscribe < 0;
    return true;
}

bool apply_npersocket(struct parser *parser, const char *value)
{
    struct placement *placement = &parser->request->placement;
    char words[64];
    uint32_t count;
    if (!number_option(parser, value, &count)) {
        return false;
    }
    snprintf(words, sizeof(words), "ppr:%u:package", count);
    if (!placement->bind_given) {
        placement->bind = true;
        placement->bind_level = TOPO_PACKAGE;
    }
    return apply_map_by(parser, words);
}

/* N:OBJECT, as Open MPI wrote it once. */
bool apply_ppr(struct parser *parser, const char *value)
{
    char *words;
    if (asprintf(&words, "ppr:%s", value) < 0) {
        return parser_no_memory(parser);
    }
    bool right = apply_map_by(parser, words);
    free(words);
    return right;
}

bool apply_rankfile(struct parser *parser, const char *file)
{
    return apply_place(parser, file) && apply_map_by(parser, "rankfile");
}

bool apply_display(struct parser *parser, const char *value)
{
    static const char *const names[] = {"map", "allocation", "bind", "topo", NULL};
    uint32_t bits = 0;
    for (const char *word = value;; word++) {
        size_t size = strcspn(word, ",:"), i = 0;
        while (names[i] && (strlen(names[i]) != size || strncasecmp(names[i], word, size) != 0)) {
            i++;
        }
        if (!names[i]) {
            char why[256];
            suggest_among(names, word, size, why, sizeof(why));
            return parser_wrong(parser, "%s %s", parser->option, why);
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

bool apply_simulate_topo(struct parser *parser, const char *value)
{
    char why[512];
    struct topo topo = {0};
    int status = *value ? topo_describe(&topo, value, why, sizeof(why)) : ORTE_SUCCESS;
    topo_fini(&topo);
    if (status == ORTE_ERR_BAD_PARAM) { /* what else fails fails again where it is mapped */
        return parser_wrong(parser, "%s %s", parser->option, why);
    }
    return apply_text(parser, value);
}
