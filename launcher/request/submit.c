#include <config.h>

#include <launcher/request/submit.h>

#include <base/data/strings.h>
#include <launcher/request/rankfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

#define APPS_MAX 4096u

/* A text that may be missing: "" stands for NULL. */
static const char *text_or_none(const char *text)
{
    return text ? text : "";
}

static int text_unpack(opal_buffer_t *buffer, char **text)
{
    int status = proto_unpack(buffer, "s", text);
    if (status == OPAL_SUCCESS && !**text) {
        free(*text);
        *text = NULL;
    }
    return status;
}

/* --- numbers --- */

static int numbers_pack(opal_buffer_t *buffer, const struct run_request *request)
{
    return proto_pack(
        buffer, "uuuccucccccccccuuu", (uint32_t) request->app_count, request->simulate_nodes,
        request->simulate_slots, request->input, request->merge_stderr, request->input_rank,
        request->pty, request->oversubscribe, request->no_oversubscribe, request->report_bindings,
        request->display, request->json, request->report, request->dry_run, request->stand,
        request->timeout_s, (uint32_t) request->window.rows, (uint32_t) request->window.columns);
}

static int numbers_unpack(opal_buffer_t *buffer, struct run_request *request)
{
    uint32_t apps, rows, columns;
    uint8_t input, merge, pty, oversubscribe, no_oversubscribe, report_bindings, display, json,
        report, dry_run, stand;
    int status = proto_unpack(buffer, "uuuccucccccccccuuu", &apps, &request->simulate_nodes,
                              &request->simulate_slots, &input, &merge, &request->input_rank, &pty,
                              &oversubscribe, &no_oversubscribe, &report_bindings, &display, &json,
                              &report, &dry_run, &stand, &request->timeout_s, &rows, &columns);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (apps == 0 || apps > APPS_MAX || input > INPUT_NONE || pty > PTY_NEVER ||
        display >= 2 * DISPLAY_TOPO || !window_make(&request->window, rows, columns)) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    request->app_count = apps;
    request->input = input;
    request->merge_stderr = merge;
    request->pty = pty;
    request->oversubscribe = oversubscribe;
    request->no_oversubscribe = no_oversubscribe;
    request->report_bindings = report_bindings;
    request->display = display;
    request->json = json;
    request->report = report;
    request->dry_run = dry_run;
    request->stand = stand;
    return ORTE_SUCCESS;
}

/* --- nodes and programs --- */

/* Their names, each perhaps with "USER@" before it; then two numbers for each. Arrays, since a
 * hostfile has many nodes. */
static int nodes_pack(opal_buffer_t *buffer, const struct node_list *list)
{
    char **texts = NULL;
    uint32_t *slots = calloc(2 * list->count + 1, sizeof(*slots));
    bool whole = slots;
    for (size_t i = 0; whole && i < list->count; i++) {
        const struct node_request *node = &list->nodes[i];
        char *text = node->user ? NULL : strdup(node->name);
        if (node->user && asprintf(&text, "%s@%s", node->user, node->name) < 0) {
            text = NULL;
        }
        whole = strings_add(&texts, text);
        slots[2 * i] = node->slots;
        slots[2 * i + 1] = node->slots_max;
    }
    int status = whole ? proto_pack_strings(buffer, texts) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == OPAL_SUCCESS && list->count > 0) {
        status = opal_dss.pack(buffer, slots, (int32_t) (2 * list->count), OPAL_UINT32);
    }
    strings_free(texts);
    free(slots);
    return status;
}

/* Takes the text. */
static int node_add(struct node_list *list, char *text, const uint32_t slots[2])
{
    char *user = NULL, *name = text, *at = strchr(text, '@');
    if (at) {
        *at = '\0';
        user = text;
        name = strdup(at + 1);
    }
    if (name && (!node_name_ok(name) || (user && !node_user_ok(user)) ||
                 slots[0] > NODE_SLOTS_MAX || slots[1] > NODE_SLOTS_MAX)) {
        free(name);
        free(user);
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    int status = node_list_add(list, name, slots[0], slots[1]);
    if (status == ORTE_SUCCESS) {
        list->nodes[list->count - 1].user = user;
    } else {
        free(user);
    }
    return status;
}

static int nodes_unpack(opal_buffer_t *buffer, struct node_list *list)
{
    char **texts;
    uint32_t *slots = NULL;
    int status = proto_unpack_strings(buffer, &texts);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    size_t count = strings_count(texts), taken = 0;
    if (count > NODES_MAX) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    } else if (count > 0) {
        status = proto_unpack_u32s(buffer, 2 * (uint32_t) count, &slots);
    }
    for (; status == ORTE_SUCCESS && taken < count; taken++) {
        status = node_add(list, texts[taken], &slots[2 * taken]);
    }
    for (; taken < count; taken++) {
        free(texts[taken]);
    }
    free(texts);
    free(slots);
    return status;
}

static int app_pack(opal_buffer_t *buffer, const struct app_request *app)
{
    int status = proto_pack(buffer, "uus", app->count, app->per_node, text_or_none(app->wdir));
    if (status == OPAL_SUCCESS) {
        status = nodes_pack(buffer, &app->hosts);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_pack_strings(buffer, app->argv);
    }
    return status == OPAL_SUCCESS ? proto_pack_strings(buffer, app->env) : status;
}

static int app_unpack(opal_buffer_t *buffer, struct app_request *app)
{
    int status = proto_unpack(buffer, "uus", &app->count, &app->per_node, &app->wdir);
    if (status == OPAL_SUCCESS && (app->count > RANKS_MAX || app->per_node > RANKS_MAX)) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status == OPAL_SUCCESS) {
        status = nodes_unpack(buffer, &app->hosts);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, &app->argv);
    }
    if (status == OPAL_SUCCESS) {
        status = proto_unpack_strings(buffer, &app->env);
    }
    return status == OPAL_SUCCESS && !app->argv[0] ? ORTE_ERR_UNPACK_FAILURE : status;
}

/* --- placement --- */

static int words_pack(opal_buffer_t *buffer, const struct placement *placement)
{
    int status = proto_pack(buffer, "ccuucccccccccc", placement->map_by, placement->map_level,
                            placement->per_object, placement->cpus_per_rank, placement->span,
                            placement->no_local, placement->hwthreads, placement->rank_by,
                            placement->rank_level, placement->bind_given, placement->bind,
                            placement->bind_level, placement->overload, placement->if_supported);
    return status == OPAL_SUCCESS ? proto_pack(buffer, "ss", text_or_none(placement->cpu_set),
                                               text_or_none(placement->file))
                                  : status;
}

static int words_unpack(opal_buffer_t *buffer, struct placement *placement)
{
    uint8_t map_by, map_level, span, no_local, hwthreads, rank_by, rank_level, bind_given, bind,
        bind_level, overload, if_supported;
    int status =
        proto_unpack(buffer, "ccuucccccccccc", &map_by, &map_level, &placement->per_object,
                     &placement->cpus_per_rank, &span, &no_local, &hwthreads, &rank_by, &rank_level,
                     &bind_given, &bind, &bind_level, &overload, &if_supported);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (map_by > MAP_BY_RANKFILE || map_level > LEVEL_NODE || rank_by > RANK_BY_FILL ||
        rank_level > LEVEL_NODE || bind_level >= TOPO_LEVELS ||
        (map_by == MAP_BY_OBJECT && map_level == LEVEL_NODE) ||
        (map_by == MAP_BY_PPR) != (placement->per_object > 0) ||
        placement->per_object > RANKS_MAX || placement->cpus_per_rank > RANKS_MAX) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    placement->map_by = map_by;
    placement->map_level = map_level;
    placement->span = span;
    placement->no_local = no_local;
    placement->hwthreads = hwthreads;
    placement->rank_by = rank_by;
    placement->rank_level = rank_level;
    placement->bind_given = bind_given;
    placement->bind = bind;
    placement->bind_level = bind_level;
    placement->overload = overload;
    placement->if_supported = if_supported;
    status = text_unpack(buffer, &placement->cpu_set);
    return status == OPAL_SUCCESS ? text_unpack(buffer, &placement->file) : status;
}

static int ranks_pack(opal_buffer_t *buffer, const struct placement *placement)
{
    int status = proto_pack(buffer, "u", placement->rank_count);
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < placement->rank_count; i++) {
        const struct rank_place *rank = &placement->ranks[i];
        status = proto_pack(buffer, "sus", rank->host, rank->line, text_or_none(rank->cpus));
    }
    return status;
}

/* count: of the ranks that the message can hold, at most. */
static int ranks_unpack(opal_buffer_t *buffer, struct placement *placement)
{
    uint32_t count;
    int status = proto_unpack(buffer, "u", &count);
    if (status != OPAL_SUCCESS || count == 0) {
        return status;
    }
    if (count > RANKS_MAX || count > proto_left(buffer)) {
        return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    placement->ranks = calloc(count, sizeof(*placement->ranks));
    if (!placement->ranks) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    placement->rank_count = count;
    for (uint32_t i = 0; status == OPAL_SUCCESS && i < count; i++) {
        struct rank_place *rank = &placement->ranks[i];
        status = proto_unpack(buffer, "su", &rank->host, &rank->line);
        if (status == OPAL_SUCCESS) {
            status = text_unpack(buffer, &rank->cpus);
        }
        if (status == OPAL_SUCCESS &&
            (!node_name_ok(rank->host) || (rank->cpus && !rank_cpus_ok(rank->cpus)))) {
            status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
        }
    }
    return status;
}

static int sequence_unpack(opal_buffer_t *buffer, struct placement *placement)
{
    int status = proto_unpack_strings(buffer, &placement->sequence);
    if (status == OPAL_SUCCESS && !placement->sequence[0]) {
        free(placement->sequence);
        placement->sequence = NULL;
    }
    for (char **name = placement->sequence; status == OPAL_SUCCESS && name && *name; name++) {
        status = node_name_ok(*name) ? ORTE_SUCCESS : ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    return status;
}

static int placement_pack(opal_buffer_t *buffer, const struct placement *placement)
{
    int status = words_pack(buffer, placement);
    if (status == OPAL_SUCCESS) {
        status = ranks_pack(buffer, placement);
    }
    return status == OPAL_SUCCESS ? proto_pack_strings(buffer, placement->sequence) : status;
}

static int placement_unpack(opal_buffer_t *buffer, struct placement *placement)
{
    int status = words_unpack(buffer, placement);
    if (status == OPAL_SUCCESS) {
        status = ranks_unpack(buffer, placement);
    }
    if (status == OPAL_SUCCESS) {
        status = sequence_unpack(buffer, placement);
    }
    if (status == OPAL_SUCCESS && placement->cpu_set && !cpu_list_ok(placement->cpu_set)) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    bool ranked = placement->map_by == MAP_BY_RANKFILE;
    return status == OPAL_SUCCESS && ranked && !placement->ranks ? ORTE_ERR_UNPACK_FAILURE : status;
}

/* --- all of it --- */

int submit_pack(opal_buffer_t *buffer, const struct run_request *request)
{
    int status = numbers_pack(buffer, request);
    if (status == OPAL_SUCCESS) {
        status =
            proto_pack(buffer, "ssss", text_or_none(request->uri_file), text_or_none(request->dvm),
                       text_or_none(request->hostfile_name), text_or_none(request->simulate_topo));
    }
    for (size_t i = 0; status == OPAL_SUCCESS && i < request->app_count; i++) {
        status = app_pack(buffer, &request->apps[i]);
    }
    if (status == OPAL_SUCCESS) {
        status = nodes_pack(buffer, &request->hosts);
    }
    if (status == OPAL_SUCCESS) {
        status = nodes_pack(buffer, &request->hostfile);
    }
    return status == OPAL_SUCCESS ? placement_pack(buffer, &request->placement) : status;
}

static int request_unpack(opal_buffer_t *buffer, struct run_request *request)
{
    char **texts[] = {&request->uri_file, &request->dvm, &request->hostfile_name,
                      &request->simulate_topo};
    int status = ORTE_SUCCESS;
    for (size_t i = 0; status == ORTE_SUCCESS && i < sizeof(texts) / sizeof(*texts); i++) {
        status = text_unpack(buffer, texts[i]);
    }
    for (size_t i = 0; status == OPAL_SUCCESS && i < request->app_count; i++) {
        status = app_unpack(buffer, &request->apps[i]);
    }
    if (status == OPAL_SUCCESS) {
        status = nodes_unpack(buffer, &request->hosts);
    }
    if (status == OPAL_SUCCESS) {
        status = nodes_unpack(buffer, &request->hostfile);
    }
    return status == OPAL_SUCCESS ? placement_unpack(buffer, &request->placement) : status;
}

int submit_unpack(opal_buffer_t *buffer, struct run_request *request)
{
    struct run_request read = {0};
    int status = numbers_unpack(buffer, &read);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    read.apps = calloc(read.app_count, sizeof(*read.apps));
    if (!read.apps) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    status = request_unpack(buffer, &read);
    if (status != OPAL_SUCCESS) {
        run_request_fini(&read);
        return status;
    }
    *request = read;
    return ORTE_SUCCESS;
}
