#include <config.h>

#include <launcher/node/onward.h>

#include <base/data/strings.h>
#include <launcher/agent/agents.h>
#include <launcher/node/daemon.h>
#include <stdio.h>
#include <stdlib.h>
#include <wireup/codec.h>
#include <wireup/proto.h>

struct onward {
    struct agents *agents;
    struct start_order order;
};

/* --- the order, as bytes --- */

/* A host that begins with a dash would be an option of the agent's. */
static void node_code(struct codec *codec, struct start_node *node)
{
    codec_u32(codec, &node->vpid, UINT32_MAX);
    codec_text(codec, &node->node);
    codec_text(codec, &node->host);
    codec_check(codec, node->vpid != HNP_VPID && node->node && node->node[0] && node->host &&
                           node->host[0] && node->host[0] != '-');
}

static void order_code(struct codec *codec, struct start_order *order)
{
    uint32_t count = order->count;
    codec_strings(codec, &order->words);
    codec_strings(codec, &order->program);
    codec_check(codec, strings_count(order->words) > 0 && strings_count(order->program) > 0);
    codec_u32(codec, &order->max, UINT32_MAX);
    codec_u32(codec, &order->retries, UINT32_MAX);
    codec_u32(codec, &order->limit_ms, UINT32_MAX);
    codec_u32(codec, &count, UINT32_MAX);
    codec_check(codec, count > 0);
    codec_array(codec, &order->nodes, &order->count, count, sizeof(*order->nodes));
    for (uint32_t i = 0; codec_goes_on(codec) && i < count; i++) {
        node_code(codec, &order->nodes[i]);
    }
    codec_check(codec, proto_left(codec->buffer) == 0);
}

int start_order_pack(opal_buffer_t *buffer, const struct start_order *order)
{
    struct start_order packed = *order; /* has the same arrays: nothing is written to them */
    struct codec codec = {.buffer = buffer};
    order_code(&codec, &packed);
    return codec.status;
}

int start_order_unpack(opal_buffer_t *buffer, struct start_order *order)
{
    struct start_order read = {0};
    struct codec codec = {.buffer = buffer, .unpacks = true};
    order_code(&codec, &read);
    if (codec.status != ORTE_SUCCESS) {
        start_order_fini(&read);
        return codec.status;
    }
    *order = read;
    return ORTE_SUCCESS;
}

void start_order_fini(struct start_order *order)
{
    for (uint32_t i = 0; i < order->count; i++) {
        free(order->nodes[i].node);
        free(order->nodes[i].host);
    }
    free(order->nodes);
    strings_free(order->words);
    strings_free(order->program);
    *order = (struct start_order){0};
}

/* --- the agents' owner --- */

static const struct start_node *find(const struct onward *onward, uint32_t vpid)
{
    for (uint32_t i = 0; i < onward->order.count; i++) {
        if (onward->order.nodes[i].vpid == vpid) {
            return &onward->order.nodes[i];
        }
    }
    return NULL;
}

/* What this daemon was told, but for whose it is. */
static char *home_of(void *arg, uint32_t vpid, size_t *size, char *reason, size_t reason_size)
{
    const struct daemon *daemon = arg;
    const struct start_node *node = find(daemon->onward, vpid);
    struct home home = *daemon->home;
    home.vpid = vpid;
    home.node = node->node;
    home.nodes = NULL;
    home.agent = true;
    char *text = home_print(&home, size, reason, reason_size);
    crypto_wipe(&home, sizeof(home));
    return text;
}

static void failed(void *arg, uint32_t vpid, const char *why, char *const *said)
{
    (void) said; /* the HNP tries it, and hears the same */
    daemon_report(arg, proto_new(REPORT_UNSTARTED, "us", vpid, why));
}

static void says(void *arg, const char *line)
{
    (void) arg;
    fprintf(stderr, "%s\n", line);
}

static const struct agents_owner owner = {.home = home_of, .failed = failed, .says = says};

/* --- orders --- */

/* Are they daemons of this job that others may be? */
static int check_numbers(const struct daemon *daemon, const struct start_order *order)
{
    for (uint32_t i = 0; i < order->count; i++) {
        uint32_t vpid = order->nodes[i].vpid;
        if (vpid >= daemon->tree.count || vpid == daemon->name.vpid) {
            return ORTE_ERR_VALUE_OUT_OF_BOUNDS;
        }
    }
    return daemon->home && !daemon->onward ? ORTE_SUCCESS : ORTE_EXISTS;
}

/* Takes the order. */
static int open_onward(struct daemon *daemon, struct start_order *order)
{
    struct agents_config config = {
        .words = order->words,
        .program = order->program,
        .max = order->max,
        .retries = order->retries,
        .limit_us = (uint64_t) order->limit_ms * 1000u,
    };
    struct onward *onward = calloc(1, sizeof(*onward));
    int status = ORTE_ERR_OUT_OF_RESOURCE;
    if (onward) {
        status =
            agents_create(&onward->agents, daemon->loop, daemon->shepherd, &config, &owner, daemon);
    }
    if (status != ORTE_SUCCESS) {
        free(onward);
        return status;
    }
    onward->order = *order;
    *order = (struct start_order){0};
    daemon->onward = onward;
    daemon->agents = (struct agent_watcher){&agents_ops, onward->agents};
    return ORTE_SUCCESS;
}

int onward_start(struct daemon *daemon, opal_buffer_t *buffer)
{
    struct start_order order = {0};
    int status = start_order_unpack(buffer, &order);
    if (status == ORTE_SUCCESS) {
        status = check_numbers(daemon, &order);
    }
    if (status == ORTE_SUCCESS) {
        status = open_onward(daemon, &order);
    }
    for (uint32_t i = 0; status == ORTE_SUCCESS && i < daemon->onward->order.count; i++) {
        const struct start_node *node = &daemon->onward->order.nodes[i];
        int begun = agents_start(daemon->onward->agents, node->vpid, node->host);
        if (begun != ORTE_SUCCESS) {
            failed(daemon, node->vpid, opal_strerror(begun), NULL);
        }
    }
    start_order_fini(&order);
    return status;
}

int onward_started(struct daemon *daemon, opal_buffer_t *buffer)
{
    uint32_t vpid;
    int status = proto_unpack(buffer, "u", &vpid);
    if (status == OPAL_SUCCESS && daemon->onward) {
        agents_home(daemon->onward->agents, vpid);
    }
    return status;
}

void onward_destroy(struct daemon *daemon)
{
    if (daemon->onward) {
        agents_destroy(daemon->onward->agents);
        daemon->agents.arg = NULL;
        start_order_fini(&daemon->onward->order);
        free(daemon->onward);
        daemon->onward = NULL;
    }
}
