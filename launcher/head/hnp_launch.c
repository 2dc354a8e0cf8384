/* The launch order: what is started where, the same for every daemon. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/data/strings.h>
#include <base/settings/param.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

static struct param launch_timeout =
    PARAM_INT("plm_launch_timeout_s", "120", 1, 86400, "s",
              "How long the daemons may take to start their ranks");
PARAM_ROWS("launcher", launch_timeout);

uint64_t hnp_launch_limit_us(void)
{
    return (uint64_t) param_int(&launch_timeout) * 1000000u;
}

static uint32_t *copy_numbers(const uint32_t *numbers, uint32_t count)
{
    uint32_t *copy = calloc(count, sizeof(*copy));
    if (copy) {
        memcpy(copy, numbers, count * sizeof(*copy));
    }
    return copy;
}

static int fill_map(const struct hnp *hnp, struct job_map *map)
{
    const struct job_plan *plan = &hnp->plan;
    map->jobid = hnp->identity.family | 1;
    memcpy(map->uuid, hnp->identity.uuid, sizeof(map->uuid));
    crypto_random(map->app_key, sizeof(map->app_key));
    map->size = plan->rank_count;
    map->node_count = plan->node_count;
    map->node_of = copy_numbers(plan->node_of, plan->rank_count);
    map->local_rank_of = copy_numbers(plan->local_rank_of, plan->rank_count);
    map->daemon_of_node = copy_numbers(hnp->daemon_of_node, plan->node_count);
    map->node_names = calloc(plan->node_count, sizeof(*map->node_names));
    if (!map->node_of || !map->local_rank_of || !map->daemon_of_node || !map->node_names) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t node = 0; node < plan->node_count; node++) {
        map->node_names[node] = strdup(plan->nodes[node].name);
        if (!map->node_names[node]) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    return ORTE_SUCCESS;
}

static int fill_apps(const struct hnp *hnp, struct launch *launch)
{
    launch->apps = calloc(hnp->request.app_count, sizeof(*launch->apps));
    launch->app_of = copy_numbers(hnp->plan.app_of, hnp->plan.rank_count);
    launch->cpus = strings_copy(hnp->plan.cpus);
    if (!launch->apps || !launch->app_of || !launch->cpus) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    launch->app_count = (uint32_t) hnp->request.app_count;
    for (uint32_t i = 0; i < launch->app_count; i++) {
        const struct app_request *app = &hnp->request.apps[i];
        launch->apps[i].argv = strings_copy(app->argv);
        launch->apps[i].env = strings_copy(app->env);
        launch->apps[i].wdir = app->wdir ? strdup(app->wdir) : NULL;
        if (!launch->apps[i].argv || !launch->apps[i].env || (app->wdir && !launch->apps[i].wdir)) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    return ORTE_SUCCESS;
}

static int send_all(struct hnp *hnp, const struct launch *launch)
{
    opal_buffer_t *order = proto_new(ORDER_LAUNCH, "");
    if (order) {
        order = proto_whole(order, launch_pack(order, launch));
    }
    int status = order ? hnp_keep_order(hnp, order) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status != ORTE_SUCCESS) {
        (void) !proto_whole(order, status);
        return status;
    }
    return hnp_broadcast(hnp, order);
}

void hnp_launch(struct hnp *hnp)
{
    struct launch launch = {
        .yield = hnp->plan.oversubscribed,
        .pty = hnp->request.pty == PTY_ALWAYS,
        .merge_stderr = hnp->request.merge_stderr,
        .input_first = hnp->request.input == INPUT_RANK ? hnp->request.input_rank : 0,
        .input_count = hnp->request.input == INPUT_RANK  ? 1
                       : hnp->request.input == INPUT_ALL ? hnp->plan.rank_count
                                                         : 0,
        .window = hnp->request.window,
        .universe = hnp->plan.universe,
    };
    int status = fill_map(hnp, &launch.map);
    if (status == ORTE_SUCCESS) {
        status = fill_apps(hnp, &launch);
    }
    if (status == ORTE_SUCCESS) {
        status = send_all(hnp, &launch);
    }
    launch_fini(&launch);
    if (status != ORTE_SUCCESS) {
        job_fail(&hnp->job, EXIT_RUNTIME, "the launch cannot be ordered: %s",
                 opal_strerror(status));
    }
}
