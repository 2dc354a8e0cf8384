#include <config.h>

#include <launcher/request/submit.h>

#include <base/data/strings.h>
#include <launcher/request/rankfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/codec.h>

/* --- nodes --- */

/* Of a list: the names, each perhaps with "USER@" before it, and two numbers for each. Arrays,
 * since a hostfile has many nodes. */
struct columns {
    char **texts;    /* owned */
    uint32_t *slots; /* owned */
};

static bool columns_fill(struct columns *columns, const struct node_list *list)
{
    columns->slots = calloc(2 * list->count + 1, sizeof(*columns->slots));
    bool whole = columns->slots;
    for (size_t i = 0; whole && i < list->count; i++) {
        const struct node_request *node = &list->nodes[i];
        char *text;
        bool user = node->user;
        if (asprintf(&text, "%s%s%s", user ? node->user : "", user ? "@" : "", node->name) < 0) {
            text = NULL;
        }
        whole = strings_add(&columns->texts, text);
        columns->slots[2 * i] = node->slots;
        columns->slots[2 * i + 1] = node->slots_max;
    }
    return whole;
}

static int node_add(struct node_list *list, const char *text, const uint32_t slots[2])
{
    const char *at = strchr(text, '@');
    char *user = at ? strndup(text, (size_t) (at - text)) : NULL;
    char *name = user || !at ? strdup(at ? at + 1 : text) : NULL;
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

static void nodes(struct codec *codec, struct node_list *list)
{
    struct columns columns = {0};
    if (!codec->unpacks && !columns_fill(&columns, list)) {
        codec_fail(codec, ORTE_ERR_OUT_OF_RESOURCE);
    }
    codec_strings(codec, &columns.texts);
    size_t count = strings_count(columns.texts);
    codec_check(codec, count <= NODES_MAX);
    if (count > 0) {
        codec_u32s(codec, &columns.slots, 2 * (uint32_t) count);
    }
    for (size_t i = 0; codec->unpacks && codec_goes_on(codec) && i < count; i++) {
        codec->status = node_add(list, columns.texts[i], &columns.slots[2 * i]);
    }
    strings_free(columns.texts);
    free(columns.slots);
}

/* --- what is both packed and unpacked: each member stands here once --- */

static void options(struct codec *codec, struct run_request *request)
{
    codec_u32(codec, &request->simulate_nodes, UINT32_MAX);
    codec_u32(codec, &request->simulate_slots, UINT32_MAX);
    codec_u8(codec, (unsigned *) &request->input, INPUT_NONE);
    codec_flag(codec, &request->merge_stderr);
    codec_u32(codec, &request->input_rank, UINT32_MAX);
    codec_u8(codec, (unsigned *) &request->pty, PTY_NEVER);
    codec_flag(codec, &request->oversubscribe);
    codec_flag(codec, &request->no_oversubscribe);
    codec_flag(codec, &request->report_bindings);
    codec_u8(codec, &request->display, 2 * DISPLAY_TOPO - 1);
    codec_flag(codec, &request->json);
    codec_flag(codec, &request->report);
    codec_flag(codec, &request->dry_run);
    codec_flag(codec, &request->stand);
    codec_u32(codec, &request->timeout_s, UINT32_MAX);
    codec_window(codec, &request->window);
    codec_optional_text(codec, &request->uri_file);
    codec_optional_text(codec, &request->dvm);
    codec_optional_text(codec, &request->hostfile_name);
    codec_optional_text(codec, &request->simulate_topo);
    codec_optional_text(codec, &request->output.ranks);
}

static void app(struct codec *codec, struct app_request *app)
{
    codec_u32(codec, &app->count, RANKS_MAX);
    codec_u32(codec, &app->per_node, RANKS_MAX);
    codec_optional_text(codec, &app->wdir);
    nodes(codec, &app->hosts);
    codec_strings(codec, &app->argv);
    codec_strings(codec, &app->env);
    codec_check(codec, app->argv && app->argv[0]);
}

static void policies(struct codec *codec, struct placement *placement)
{
    codec_u8(codec, (unsigned *) &placement->map_by, MAP_BY_RANKFILE);
    codec_u8(codec, &placement->map_level, LEVEL_NODE);
    codec_u32(codec, &placement->per_object, RANKS_MAX);
    codec_u32(codec, &placement->cpus_per_rank, RANKS_MAX);
    codec_flag(codec, &placement->span);
    codec_flag(codec, &placement->no_local);
    codec_flag(codec, &placement->hwthreads);
    codec_u8(codec, (unsigned *) &placement->rank_by, RANK_BY_FILL);
    codec_u8(codec, &placement->rank_level, LEVEL_NODE);
    codec_flag(codec, &placement->bind_given);
    codec_flag(codec, &placement->bind);
    codec_u8(codec, &placement->bind_level, TOPO_LEVELS - 1);
    codec_flag(codec, &placement->overload);
    codec_flag(codec, &placement->if_supported);
    codec_optional_text(codec, &placement->cpu_set);
    codec_optional_text(codec, &placement->file);
    codec_check(codec, placement->map_by != MAP_BY_OBJECT || placement->map_level != LEVEL_NODE);
    codec_check(codec, (placement->map_by == MAP_BY_PPR) == (placement->per_object > 0));
    codec_check(codec, !placement->cpu_set || cpu_list_ok(placement->cpu_set));
}

static void rank_place(struct codec *codec, struct rank_place *rank)
{
    codec_text(codec, &rank->host);
    codec_u32(codec, &rank->line, UINT32_MAX);
    codec_optional_text(codec, &rank->cpus);
    codec_check(codec, rank->host && node_name_ok(rank->host) &&
                           (!rank->cpus || rank_cpus_ok(rank->cpus)));
}

static void sequence(struct codec *codec, struct placement *placement)
{
    codec_strings(codec, &placement->sequence);
    if (codec->unpacks && strings_count(placement->sequence) == 0) {
        free(placement->sequence);
        placement->sequence = NULL;
    }
    for (char **name = placement->sequence; name && *name; name++) {
        codec_check(codec, node_name_ok(*name));
    }
}

static void places(struct codec *codec, struct placement *placement)
{
    uint32_t ranks = placement->rank_count;
    policies(codec, placement);
    codec_u32(codec, &ranks, RANKS_MAX);
    codec_array(codec, &placement->ranks, &placement->rank_count, ranks, sizeof(struct rank_place));
    for (uint32_t i = 0; codec_goes_on(codec) && i < ranks; i++) {
        rank_place(codec, &placement->ranks[i]);
    }
    sequence(codec, placement);
    codec_check(codec, placement->map_by != MAP_BY_RANKFILE || placement->ranks);
}

static void body(struct codec *codec, struct run_request *request)
{
    uint32_t apps = (uint32_t) request->app_count, read = 0;
    codec_u32(codec, &apps, APPS_MAX);
    codec_check(codec, apps > 0);
    options(codec, request);
    codec_array(codec, &request->apps, &read, apps, sizeof(struct app_request));
    request->app_count = codec->unpacks ? read : request->app_count;
    for (uint32_t i = 0; codec_goes_on(codec) && i < apps; i++) {
        app(codec, &request->apps[i]);
    }
    nodes(codec, &request->hosts);
    nodes(codec, &request->hostfile);
    places(codec, &request->placement);
}

int submit_pack(opal_buffer_t *buffer, const struct run_request *request)
{
    struct codec codec = {.buffer = buffer};
    struct run_request packed = *request; /* has the same strings: nothing is written to them */
    body(&codec, &packed);
    return codec.status;
}

int submit_unpack(opal_buffer_t *buffer, struct run_request *request)
{
    struct codec codec = {.buffer = buffer, .unpacks = true};
    struct run_request read = {0};
    body(&codec, &read);
    if (codec.status != ORTE_SUCCESS) {
        run_request_fini(&read);
        return codec.status;
    }
    *request = read;
    return ORTE_SUCCESS;
}
