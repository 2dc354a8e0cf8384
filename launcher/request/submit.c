#include <config.h>

#include <launcher/request/submit.h>

#include <base/data/strings.h>
#include <launcher/request/rankfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/codec.h>
#include <wireup/proto.h>

/* --- nodes --- */

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

static void nodes(struct codec *codec, struct node_list *list)
{
    if (codec_goes_on(codec)) {
        codec->status =
            codec->unpacks ? nodes_unpack(codec->buffer, list) : nodes_pack(codec->buffer, list);
    }
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
