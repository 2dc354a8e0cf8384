/* Ranks that are added to a job: their order, and how a launch grows by them. */
#include <config.h>

#include <launcher/node/orders/orders.h>

#include <base/data/strings.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

int spawn_wish_pack(opal_buffer_t *buffer, const struct spawn_wish *wish)
{
    int status = launch_app_pack(buffer, &wish->app);
    if (status == ORTE_SUCCESS) {
        status = proto_pack(buffer, "u", wish->count);
    }
    return status == ORTE_SUCCESS ? proto_pack_strings(buffer, wish->info) : status;
}

void spawn_wish_fini(struct spawn_wish *wish)
{
    launch_app_fini(&wish->app);
    strings_free(wish->info);
    *wish = (struct spawn_wish){0};
}

static int nodes_pack(opal_buffer_t *buffer, const struct spawned *spawned)
{
    static char *none[] = {NULL};
    int status = proto_pack(buffer, "uu", spawned->node_first, spawned->node_count);
    if (status == OPAL_SUCCESS) {
        status = proto_pack_strings(buffer, spawned->node_names ? spawned->node_names : none);
    }
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < spawned->node_count; i++) {
        status = proto_pack(buffer, "u", spawned->daemon_of_node[i]);
    }
    return status;
}

static int nodes_unpack(opal_buffer_t *buffer, struct spawned *spawned)
{
    int status = proto_unpack(buffer, "uu", &spawned->node_first, &spawned->node_count);
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, &spawned->node_names);
    }
    if (status == OPAL_SUCCESS && strings_count(spawned->node_names) != spawned->node_count) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status != OPAL_SUCCESS) {
        return status;
    }
    spawned->daemon_of_node = calloc((size_t) spawned->node_count + 1, sizeof(uint32_t));
    status = spawned->daemon_of_node ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < spawned->node_count; i++) {
        status = proto_unpack(buffer, "u", &spawned->daemon_of_node[i]);
    }
    return status;
}

int spawned_pack(opal_buffer_t *buffer, const struct spawned *spawned)
{
    int status = proto_pack(buffer, "uuuuuu", spawned->number, spawned->parent, spawned->first,
                            spawned->count, spawned->app_first, spawned->app_count);
    if (status == OPAL_SUCCESS) {
        status = nodes_pack(buffer, spawned);
    }
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < spawned->app_count; i++) {
        status = launch_app_pack(buffer, &spawned->apps[i]);
    }
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < spawned->count; i++) {
        status = proto_pack(buffer, "uuu", spawned->app_of[i], spawned->node_of[i],
                            spawned->local_rank_of[i]);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_pack_strings(buffer, spawned->cpus);
    }
    return status == OPAL_SUCCESS ? proto_pack_strings(buffer, spawned->puts) : status;
}

static int allocate(opal_buffer_t *buffer, struct spawned *spawned)
{
    if (spawned->count == 0 || spawned->count > SPAWN_RANKS_MAX || spawned->app_count == 0 ||
        spawned->app_count > SPAWN_APPS_MAX ||
        proto_left(buffer) / (3 * sizeof(uint32_t)) < spawned->count) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    spawned->apps = calloc(spawned->app_count, sizeof(*spawned->apps));
    spawned->app_of = calloc(spawned->count, sizeof(*spawned->app_of));
    spawned->node_of = calloc(spawned->count, sizeof(*spawned->node_of));
    spawned->local_rank_of = calloc(spawned->count, sizeof(*spawned->local_rank_of));
    return spawned->apps && spawned->app_of && spawned->node_of && spawned->local_rank_of
               ? ORTE_SUCCESS
               : ORTE_ERR_OUT_OF_RESOURCE;
}

int spawned_unpack(opal_buffer_t *buffer, struct spawned *out)
{
    struct spawned read = {0};
    int status = proto_unpack(buffer, "uuuuuu", &read.number, &read.parent, &read.first,
                              &read.count, &read.app_first, &read.app_count);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    status = allocate(buffer, &read);
    if (status == OPAL_SUCCESS) {
        status = nodes_unpack(buffer, &read);
    }
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < read.app_count; i++) {
        status = launch_app_unpack(buffer, &read.apps[i]);
    }
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < read.count; i++) {
        status =
            proto_unpack(buffer, "uuu", &read.app_of[i], &read.node_of[i], &read.local_rank_of[i]);
    }
    if (status == OPAL_SUCCESS) {
        status = launch_cpus_unpack(buffer, read.count, &read.cpus);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, &read.puts);
    }
    if (status != OPAL_SUCCESS) {
        spawned_fini(&read);
        return status;
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

/* A longer copy of an array of numbers; NULL: no memory. */
static uint32_t *join(const uint32_t *head, uint32_t size, const uint32_t *tail, uint32_t count)
{
    uint32_t *joined = calloc((size_t) size + count, sizeof(*joined));
    if (joined) {
        memcpy(joined, head, size * sizeof(*joined));
        memcpy(joined + size, tail, count * sizeof(*joined));
    }
    return joined;
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

/* Room for more ranks' processors behind those that are there. */
static bool grow_cpus(struct launch *launch, uint32_t count)
{
    size_t size = ((size_t) launch->map.size + count + 1) * sizeof(*launch->cpus);
    char **cpus = realloc(launch->cpus, size);
    launch->cpus = cpus ? cpus : launch->cpus;
    return cpus;
}

static void take_cpus(struct launch *launch, struct spawned *spawned)
{
    memcpy(launch->cpus + launch->map.size, spawned->cpus,
           ((size_t) spawned->count + 1) * sizeof(*spawned->cpus));
    free(spawned->cpus);
    spawned->cpus = NULL;
}

/* The names of the nodes and of those that are added, which are moved; NULL: no memory. */
static char **join_names(struct job_map *map, struct spawned *spawned)
{
    size_t count = (size_t) map->node_count + spawned->node_count;
    char **joined = calloc(count + 1, sizeof(*joined));
    if (joined) {
        memcpy(joined, map->node_names, map->node_count * sizeof(*joined));
        memcpy(joined + map->node_count, spawned->node_names,
               spawned->node_count * sizeof(*joined));
        free(spawned->node_names);
        spawned->node_names = NULL;
    }
    return joined;
}

/* Nodes that the job did not have; no effect on failure. */
static int add_nodes(struct job_map *map, struct spawned *spawned)
{
    if (spawned->node_count == 0) {
        return ORTE_SUCCESS;
    }
    uint32_t *daemons =
        join(map->daemon_of_node, map->node_count, spawned->daemon_of_node, spawned->node_count);
    char **names = daemons ? join_names(map, spawned) : NULL;
    if (!names) {
        free(daemons);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    free(map->daemon_of_node);
    free(map->node_names);
    map->daemon_of_node = daemons;
    map->node_names = names;
    map->node_count += spawned->node_count;
    return ORTE_SUCCESS;
}

static void replace(uint32_t **array, uint32_t *with)
{
    free(*array);
    *array = with;
}

int launch_extend(struct launch *launch, struct spawned *spawned)
{
    struct job_map *map = &launch->map;
    if (!launch_fits(launch, spawned)) {
        return ORTE_ERR_BAD_PARAM;
    }
    for (uint32_t i = 0; i < spawned->app_count; i++) {
        int status = inherit(&spawned->apps[i], &launch->apps[launch->app_of[spawned->parent]]);
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    uint32_t *node_of = join(map->node_of, map->size, spawned->node_of, spawned->count);
    uint32_t *local = join(map->local_rank_of, map->size, spawned->local_rank_of, spawned->count);
    uint32_t *app_of = join(launch->app_of, map->size, spawned->app_of, spawned->count);
    size_t apps_size = ((size_t) launch->app_count + spawned->app_count) * sizeof(*launch->apps);
    bool room = node_of && local && app_of && grow_cpus(launch, spawned->count);
    struct launch_app *apps = room ? realloc(launch->apps, apps_size) : NULL;
    launch->apps = apps ? apps : launch->apps;
    if (!apps || add_nodes(map, spawned) != ORTE_SUCCESS) {
        free(node_of);
        free(local);
        free(app_of);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    memcpy(apps + launch->app_count, spawned->apps, spawned->app_count * sizeof(*apps));
    free(spawned->apps);
    spawned->apps = NULL;
    launch->app_count += spawned->app_count;
    replace(&map->node_of, node_of);
    replace(&map->local_rank_of, local);
    replace(&launch->app_of, app_of);
    take_cpus(launch, spawned);
    map->size += spawned->count;
    return ORTE_SUCCESS;
}
