/* The parameters that stand in for options. Sites set them; those of Open MPI count where Keel's
 * own are not set. */
#include <config.h>

#include <launcher/request/options/parser.h>

#include <base/settings/param.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct param map_by, ompi_map_by, rank_by, ompi_rank_by, bind_to, ompi_bind_to, hostfile,
        ompi_hostfile, dvm, oversubscribe, ompi_oversubscribe;
} params = {
    .map_by = PARAM_STRING("map_by", "", "What --map-by says where no option does"),
    .ompi_map_by = PARAM_STRING("rmaps_base_mapping_policy", "", "Open MPI's name for map_by"),
    .rank_by = PARAM_STRING("rank_by", "", "What --rank-by says where the option is not given"),
    .ompi_rank_by = PARAM_STRING("rmaps_base_ranking_policy", "", "Open MPI's name for rank_by"),
    .bind_to = PARAM_STRING("bind_to", "", "What --bind-to says where no option does"),
    .ompi_bind_to = PARAM_STRING("hwloc_base_binding_policy", "", "Open MPI's name for bind_to"),
    .hostfile = PARAM_STRING("hostfile", "", "The hostfile where --hostfile is not given"),
    .ompi_hostfile = PARAM_STRING("orte_default_hostfile", "", "Open MPI's name for hostfile"),
    .dvm = PARAM_STRING("dvm", "", "The standing DVM's file where --dvm is not given"),
    .oversubscribe =
        PARAM_BOOL("oversubscribe", "0", "Allow more ranks than slots, as --oversubscribe does"),
    .ompi_oversubscribe =
        PARAM_BOOL("rmaps_base_oversubscribe", "0", "Open MPI's name for oversubscribe"),
};
PARAM_ROWS("launcher", params);

/* Open MPI's parameters are set by its variables, too. */
static bool read_variables(struct parser *parser)
{
    struct param *const theirs[] = {&params.ompi_map_by, &params.ompi_rank_by, &params.ompi_bind_to,
                                    &params.ompi_hostfile, &params.ompi_oversubscribe};
    for (size_t i = 0; i < sizeof(theirs) / sizeof(*theirs); i++) {
        char name[64];
        snprintf(name, sizeof(name), "OMPI_MCA_%s", theirs[i]->name);
        const char *value = getenv(name);
        if (value && !param_is_set(theirs[i]->name) &&
            param_override(theirs[i]->name, value) != ORTE_SUCCESS) {
            return parser_wrong(parser, "the variable %s=%s cannot be read", name, value);
        }
    }
    return true;
}

/* The first that is set; NULL: none is. */
static struct param *either(struct param *own, struct param *ompis)
{
    struct param *param = *param_string(own) ? own : ompis;
    return *param_string(param) ? param : NULL;
}

/* As if this option had the value, unless it is given, or there is none. */
static bool apply(struct parser *parser, const char *option, bool given, struct param *param)
{
    char shown[64];
    if (given || !param) {
        return true;
    }
    snprintf(shown, sizeof(shown), "the parameter %s:", param->name);
    return option_apply(parser, option_find(option, strlen(option)), shown, param_string(param));
}

static bool settles(const struct placement *placement)
{
    struct placement copy = *placement; /* has the same strings, which stay as they are */
    char ignored[512];
    copy.bind_given = copy.bind_given && copy.bind;
    return placement_settle(&copy, ignored, sizeof(ignored)) == ORTE_SUCCESS;
}

/* The same; a default that does not go with what the options say does not count. */
static bool apply_fitting(struct parser *parser, const char *option, bool given,
                          struct param *param)
{
    struct placement *placement = &parser->request->placement, before = *placement;
    bool right = apply(parser, option, given, param);
    if (right && !given && param && !settles(placement)) {
        *placement = before;
    }
    return right;
}

/* Options count more. */
static bool map_default(struct parser *parser)
{
    struct run_request *request = parser->request;
    bool over = request->oversubscribe, never = request->no_oversubscribe;
    uint32_t cpus = request->placement.cpus_per_rank;
    bool right =
        apply(parser, "map-by", parser->mapped[0], either(&params.map_by, &params.ompi_map_by));
    if (over || never) {
        request->oversubscribe = over;
        request->no_oversubscribe = never;
    }
    request->placement.cpus_per_rank = cpus ? cpus : request->placement.cpus_per_rank;
    return right;
}

/* hydra's variable for --timeout */
static bool timeout_default(struct parser *parser)
{
    const char *value = getenv("MPIEXEC_TIMEOUT");
    return parser->request->timeout_s || !value || !*value ||
           option_apply(parser, option_find("timeout", strlen("timeout")), "MPIEXEC_TIMEOUT",
                        value);
}

/* Simulated nodes are the job's own. */
static bool nodes_default(struct parser *parser)
{
    const struct run_request *request = parser->request;
    return apply(parser, "hostfile", parser->hostfiles || request->simulate_nodes,
                 either(&params.hostfile, &params.ompi_hostfile)) &&
           apply(parser, "dvm", request->dvm || request->simulate_nodes,
                 either(&params.dvm, &params.dvm));
}

static bool place_default(struct parser *parser)
{
    const struct placement *placement = &parser->request->placement;
    return map_default(parser) &&
           apply_fitting(parser, "rank-by", placement->rank_by != RANK_BY_DEFAULT,
                         either(&params.rank_by, &params.ompi_rank_by)) &&
           apply_fitting(parser, "bind-to",
                         placement->bind_given || placement->bind ||
                             placement->map_by == MAP_BY_RANKFILE,
                         either(&params.bind_to, &params.ompi_bind_to));
}

bool defaults_apply(struct parser *parser)
{
    struct run_request *request = parser->request;
    if (!read_variables(parser)) {
        return false;
    }
    if (!request->oversubscribe && !request->no_oversubscribe) {
        request->oversubscribe = param_is_set("oversubscribe")
                                     ? param_bool(&params.oversubscribe)
                                     : param_bool(&params.ompi_oversubscribe);
    }
    return nodes_default(parser) && place_default(parser) && timeout_default(parser);
}
