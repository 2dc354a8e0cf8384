/* Ranks that are added to a job: their order, and how a launch grows by them. */
#include <config.h>

#include <launcher/node/orders/orders.h>

#include <base/data/array.h>
#include <base/data/strings.h>
#include <stdlib.h>
#include <string.h>

void spawn_wish_code(struct codec *codec, struct spawn_wish *wish)
{
    launch_app_code(codec, &wish->app);
    codec_u32(codec, &wish->count, UINT32_MAX);
    codec_strings(codec, &wish->info);
}

void spawn_wish_fini(struct spawn_wish *wish)
{
    launch_app_fini(&wish->app);
    strings_free(wish->info);
    *wish = (struct spawn_wish){0};
}

static void nodes_code(struct codec *codec, struct spawned *spawned)
{
    uint32_t nodes = spawned->node_count;
    codec_u32(codec, &spawned->node_first, UINT32_MAX);
    codec_u32(codec, &nodes, UINT32_MAX);
    codec_strings(codec, &spawned->node_names);
    codec_check(codec, strings_count(spawned->node_names) == nodes);
    codec_array(codec, &spawned->daemon_of_node, &spawned->node_count, nodes, sizeof(uint32_t));
    for (uint32_t i = 0; codec_goes_on(codec) && i < nodes; i++) {
        codec_u32(codec, &spawned->daemon_of_node[i], UINT32_MAX);
    }
}

static void ranks_code(struct codec *codec, struct spawned *spawned, uint32_t count)
{
    codec_array(codec, &spawned->app_of, &spawned->count, count, sizeof(uint32_t));
    codec_array(codec, &spawned->node_of, &spawned->count, count, sizeof(uint32_t));
    codec_array(codec, &spawned->local_rank_of, &spawned->count, count, sizeof(uint32_t));
    for (uint32_t i = 0; codec_goes_on(codec) && i < count; i++) {
        codec_u32(codec, &spawned->app_of[i], UINT32_MAX);
        codec_u32(codec, &spawned->node_of[i], UINT32_MAX);
        codec_u32(codec, &spawned->local_rank_of[i], UINT32_MAX);
    }
    launch_cpus_code(codec, &spawned->cpus, count);
}

static void spawned_code(struct codec *codec, struct spawned *spawned)
{
    uint32_t count = spawned->count, apps = spawned->app_count;
    codec_u32(codec, &spawned->number, UINT32_MAX);
    codec_u32(codec, &spawned->parent, UINT32_MAX);
    codec_u32(codec, &spawned->first, UINT32_MAX);
    codec_u32(codec, &count, SPAWN_RANKS_MAX);
    codec_u32(codec, &spawned->app_first, UINT32_MAX);
    codec_u32(codec, &apps, SPAWN_APPS_MAX);
    codec_check(codec, count > 0 && apps > 0);
    nodes_code(codec, spawned);
    codec_array(codec, &spawned->apps, &spawned->app_count, apps, sizeof(*spawned->apps));
    for (uint32_t i = 0; codec_goes_on(codec) && i < apps; i++) {
        launch_app_code(codec, &spawned->apps[i]);
    }
    ranks_code(codec, spawned, count);
    codec_strings(codec, &spawned->puts);
}

int spawned_pack(opal_buffer_t *buffer, const struct spawned *spawned)
{
    struct spawned packed = *spawned; /* has the same arrays: nothing is written to them */
    struct codec codec = {.buffer = buffer};
    spawned_code(&codec, &packed);
    return codec.status;
}

int spawned_unpack(opal_buffer_t *buffer, struct spawned *out)
{
    struct spawned read = {0};
    struct codec codec = {.buffer = buffer, .unpacks = true};
    spawned_code(&codec, &read);
    if (codec.status != ORTE_SUCCESS) {
        spawned_fini(&read);
        return codec.status;
    }
    *out = read;
    return ORTE_SUCCESS;
}

void spawned_fini(struct spawned *spawned)
{
    for (uint32_t i = 0; spawned->apps && i < spawned->app_count; i++) {
        launch_app_fini(&spawned->apps[i]);
    }
    strings_free(spawned->node_names);
    free(spawned->daemon_of_node);
    free(spawned->apps);
    free(spawned->app_of);
    free(spawned->node_of);
    free(spawned->local_rank_of);
    strings_free(spawned->cpus);
    strings_free(spawned->puts);
    *spawned = (struct spawned){0};
}

uint32_t launch_daemon_of(const struct launch *launch, const struct spawned *spawned, uint32_t node)
{
    const struct job_map *map = &launch->map;
    return node < map->node_count ? map->daemon_of_node[node]
                                  : spawned->daemon_of_node[node - map->node_count];
}

bool launch_fits(const struct launch *launch, const struct spawned *spawned)
{
    if (spawned->first != launch->map.size || spawned->node_first != launch->map.node_count ||
        spawned->node_count > NODES_MAX - launch->map.node_count ||
        spawned->app_first != launch->app_count || spawned->parent >= launch->map.size ||
        spawned->count > UINT32_MAX - spawned->first ||
        spawned->app_count > UINT32_MAX - spawned->app_first) {
        return false;
    }
    for (uint32_t i = 0; i < spawned->count; i++) {
        if (spawned->node_of[i] >= launch->map.node_count + spawned->node_count ||
            spawned->app_of[i] < spawned->app_first ||
            spawned->app_of[i] - spawned->app_first >= spawned->app_count) {
            return false;
        }
    }
    return true;
}

const char *launch_app_wdir(const struct launch_app *app, const struct launch_app *parent)
{
    const struct launch_app *owner = app->wdir && app->wdir[0] ? app : parent;
    return owner->wdir ? owner->wdir : "";
}

/* What keelrun's user set for the parent (-x, --mca) holds for what it spawns, beneath the settings
 * of that; so does its folder where none is named. */
static int inherit(struct launch_app *app, const struct launch_app *parent)
{
    char **env = strings_copy(parent->env);
    char *wdir = strdup(launch_app_wdir(app, parent));
    bool good = env && wdir;
    for (char **own = app->env; good && own && *own; own++) {
        good = strings_set(&env, strdup(*own));
    }
    if (!good) {
        strings_free(env);
        free(wdir);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    strings_free(app->env);
    free(app->wdir);
    app->env = env;
    app->wdir = wdir;
    return ORTE_SUCCESS;
}

/* Room behind what is there. */
static bool reserve(struct launch *launch, const struct spawned *spawned)
{
    struct job_map *map = &launch->map;
    size_t ranks = (size_t) map->size + spawned->count;
    size_t nodes = (size_t) map->node_count + spawned->node_count;
    size_t apps = (size_t) launch->app_count + spawned->app_count;
    return array_resize(&launch->apps, apps, sizeof(*launch->apps)) &&
           array_resize(&map->daemon_of_node, nodes, sizeof(uint32_t)) &&
           array_resize(&map->node_names, nodes, sizeof(char *)) &&
           array_resize(&map->node_of, ranks, sizeof(uint32_t)) &&
           array_resize(&map->local_rank_of, ranks, sizeof(uint32_t)) &&
           array_resize(&launch->app_of, ranks, sizeof(uint32_t)) &&
           array_resize(&launch->cpus, ranks + 1, sizeof(char *));
}

/* What it owns of that is the launch's now. */
static void take(struct launch *launch, struct spawned *spawned)
{
    struct job_map *map = &launch->map;
    for (uint32_t i = 0; i < spawned->app_count; i++) {
        launch->apps[launch->app_count++] = spawned->apps[i];
    }
    for (uint32_t i = 0; i < spawned->node_count; i++, map->node_count++) {
        map->daemon_of_node[map->node_count] = spawned->daemon_of_node[i];
        map->node_names[map->node_count] = spawned->node_names[i];
    }
    for (uint32_t i = 0; i < spawned->count; i++, map->size++) {
        map->node_of[map->size] = spawned->node_of[i];
        map->local_rank_of[map->size] = spawned->local_rank_of[i];
        launch->app_of[map->size] = spawned->app_of[i];
        launch->cpus[map->size] = spawned->cpus[i];
    }
    launch->cpus[map->size] = NULL;
    free(spawned->apps);
    free(spawned->node_names);
    free(spawned->cpus);
    spawned->apps = NULL;
    spawned->node_names = spawned->cpus = NULL;
}

int launch_extend(struct launch *launch, struct spawned *spawned)
{
    if (!launch_fits(launch, spawned)) {
        return ORTE_ERR_BAD_PARAM;
    }
    for (uint32_t i = 0; i < spawned->app_count; i++) {
        int status = inherit(&spawned->apps[i], &launch->apps[launch->app_of[spawned->parent]]);
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    if (!reserve(launch, spawned)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    take(launch, spawned);
    return ORTE_SUCCESS;
}
