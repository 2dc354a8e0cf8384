/* The launch order: what is started where, the same for every daemon. */
#include <config.h>

#include <launcher/head/hnp.h>

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

/* The arrays are the plan's and the request's, but for these three: lend_fini frees them. Nothing
 * is bound to the processors of --simulate-topo, which are nowhere. */
static int lend(const struct hnp *hnp, struct launch *launch)
{
    static char not_bound[] = "";
    const struct job_plan *plan = &hnp->plan;
    struct job_map *map = &launch->map;
    map->node_names = calloc(plan->node_count, sizeof(*map->node_names));
    launch->apps = calloc(hnp->request.app_count, sizeof(*launch->apps));
    launch->cpus = calloc((size_t) plan->rank_count + 1, sizeof(*launch->cpus));
    if (!map->node_names || !launch->apps || !launch->cpus) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    map->size = plan->rank_count;
    map->node_count = plan->node_count;
    map->node_of = plan->node_of;
    map->local_rank_of = plan->local_rank_of;
    map->daemon_of_node = hnp->daemon_of_node;
    for (uint32_t node = 0; node < plan->node_count; node++) {
        map->node_names[node] = plan->nodes[node].name;
    }
    launch->app_of = plan->app_of;
    for (uint32_t rank = 0; rank < plan->rank_count; rank++) {
        launch->cpus[rank] = hnp->request.simulate_topo ? not_bound : plan->cpus[rank];
    }
    launch->app_count = (uint32_t) hnp->request.app_count;
    for (uint32_t i = 0; i < launch->app_count; i++) {
        const struct app_request *app = &hnp->request.apps[i];
        launch->apps[i] =
            (struct launch_app){.argv = app->argv, .env = app->env, .wdir = app->wdir};
    }
    return ORTE_SUCCESS;
}

static void lend_fini(struct launch *launch)
{
    free(launch->map.node_names);
    free(launch->apps);
    free(launch->cpus);
    crypto_wipe(launch->map.app_key, sizeof(launch->map.app_key));
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
        .map.jobid = hnp->identity.family | 1,
    };
    memcpy(launch.map.uuid, hnp->identity.uuid, sizeof(launch.map.uuid));
    crypto_random(launch.map.app_key, sizeof(launch.map.app_key));
    int status = lend(hnp, &launch);
    if (status == ORTE_SUCCESS) {
        status = send_all(hnp, &launch);
    }
    lend_fini(&launch);
    if (status != ORTE_SUCCESS) {
        job_fail(&hnp->job, EXIT_RUNTIME, "the launch cannot be ordered: %s",
                 opal_strerror(status));
    }
}
