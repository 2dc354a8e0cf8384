/* What the job is to run on: the allocation, the nodes, their topologies where the map needs them,
 * and the map. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/settings/log.h>
#include <launcher/map/show.h>
#include <launcher/node/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wireup/proto.h>

/* A topology that some nodes have. */
struct topology {
    struct list link;
    char hash[TOPO_HASH_TEXT];
    struct topo topo; /* without threads: not here yet */
};

/* What a resource manager has given, unless the user has said otherwise. */
static int find_allocation(struct hnp *hnp, char *reason, size_t reason_size)
{
    struct run_request *request = &hnp->request;
    for (size_t i = 0; i < request->app_count; i++) {
        if (!allocation_give_on(&request->apps[i].env)) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    if (request->dvm) {
        return hnp_submit_open(hnp, reason, reason_size);
    }
    enum plm_choice choice = plm_choice();
    if (request->simulate_nodes ||
        (choice >= PLM_RSH && (request->hosts.count || request->hostfile.count))) {
        return ORTE_SUCCESS;
    }
    int status = allocation_find(&hnp->allocation, reason, reason_size);
    if (status == ORTE_SUCCESS && choice == PLM_SLURM && !allocation_is_slurm(&hnp->allocation)) {
        snprintf(reason, reason_size,
                 "plm is slurm, but this is no Slurm allocation: SLURM_JOB_ID and "
                 "SLURM_JOB_NODELIST are not set");
        return ORTE_ERR_NOT_FOUND;
    }
    if (hnp->allocation.sign && !request->hosts.count && !request->hostfile.count) {
        hnp_tell(hnp,
                 "warning: %s is set, but %s, which would name the job's nodes, is not: only "
                 "this one is used",
                 hnp->allocation.sign, hnp->allocation.missing);
    }
    return status;
}

/* --- the map --- */

/* Simulated nodes share this machine: each has a daemon with a shepherd. */
static int check_limits(const struct hnp *hnp, char *reason, size_t reason_size)
{
    uint64_t nodes = hnp->request.dry_run ? 0 : hnp->request.simulate_nodes;
    return nodes == 0 ? ORTE_SUCCESS
                      : limits_processes(hnp->plan.rank_count + 2 * nodes, reason, reason_size);
}

/* Who gives slots, or simulates nodes, has counted; the others may not know. */
static void warn_oversubscribed(struct hnp *hnp)
{
    const struct job_plan *plan = &hnp->plan;
    uint32_t most = 0, full = UINT32_MAX;
    for (uint32_t rank = 0; rank < plan->rank_count && !hnp->request.oversubscribe; rank++) {
        const struct map_node *node = &plan->nodes[plan->node_of[rank]];
        uint32_t ranks = plan->local_rank_of[rank] + 1;
        if (!node->slots_explicit && ranks > node->slots && ranks > most &&
            (full == UINT32_MAX || full == plan->node_of[rank])) {
            full = plan->node_of[rank];
            most = ranks;
        }
    }
    if (most > 0) {
        hnp_tell(hnp, "warning: %u ranks share %u processor%s (--oversubscribe silences this)",
                 most, plan->nodes[full].slots, plan->nodes[full].slots == 1 ? "" : "s");
    }
}

/* Only a warning: the job may spawn them. */
static void warn_unknown_ranks(struct hnp *hnp)
{
    const char *list = hnp->request.output.ranks;
    bool *ranks = list ? ranks_parse(list) : NULL;
    for (uint32_t rank = hnp->plan.rank_count; ranks && rank < RANKS_MAX; rank++) {
        if (ranks[rank]) {
            hnp_tell(hnp, "warning: --output-ranks %s: there is no rank %u, the ranks are 0 to %u",
                     list, rank, hnp->plan.rank_count - 1);
            break;
        }
    }
    free(ranks);
}

static void report_bindings(struct hnp *hnp, uint32_t first)
{
    for (uint32_t rank = first; rank < hnp->plan.rank_count; rank++) {
        char *line = binding_line(&hnp->plan, rank);
        if (line) {
            hnp_tell(hnp, "%s", line);
        }
        free(line);
    }
}

void hnp_show(struct hnp *hnp, uint32_t first, uint32_t display, bool bindings)
{
    struct run_request request = hnp->request; /* has the same memory */
    request.display = display | (request.json && bindings ? DISPLAY_BIND : 0);
    if (request.display) {
        char *text = plan_show(&hnp->plan, &request, first);
        if (text && text[0]) {
            text[strlen(text) - 1] = '\0'; /* the front end ends the last line */
        }
        channel_send(hnp->config.front,
                     text ? proto_new(FRONT_PLAIN, "cs", (uint8_t) STDOUT_FILENO, text) : NULL);
        free(text);
    }
    if (bindings && !request.json) {
        report_bindings(hnp, first);
    }
}

static int map_ranks(struct hnp *hnp, char *reason, size_t reason_size)
{
    int status = job_plan_map(&hnp->plan, &hnp->request, reason, reason_size);
    if (status == ORTE_ERR_OUT_OF_RESOURCE) {
        hnp_submit_explain(hnp, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        status = check_limits(hnp, reason, reason_size);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (hnp->request.input == INPUT_RANK && hnp->request.input_rank >= hnp->plan.rank_count) {
        snprintf(reason, reason_size, "--stdin %u: the ranks are 0 to %u", hnp->request.input_rank,
                 hnp->plan.rank_count - 1);
        return ORTE_ERR_BAD_PARAM;
    }
    status = job_add_ranks(&hnp->job, hnp->plan.rank_count);
    if (status == ORTE_SUCCESS && !hnp->request.dry_run) {
        status = hnp_submit_take(hnp);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    warn_oversubscribed(hnp);
    warn_unknown_ranks(hnp);
    if (hnp->plan.note) {
        hnp_tell(hnp, "%s", hnp->plan.note);
    }
    hnp_show(hnp, 0, hnp->request.display, hnp->request.report_bindings);
    hnp->mapped = true;
    return ORTE_SUCCESS;
}

/* --- topologies --- */

static struct topology *find_topology(struct hnp *hnp, const char *hash)
{
    struct topology *topology;
    list_for_each (topology, &hnp->topologies.known, struct topology, link) {
        if (strcmp(topology->hash, hash) == 0) {
            return topology;
        }
    }
    return NULL;
}

static struct topology *add_topology(struct hnp *hnp, const char *hash)
{
    struct topology *topology = calloc(1, sizeof(*topology));
    if (topology) {
        snprintf(topology->hash, sizeof(topology->hash), "%s", hash);
        list_append(&hnp->topologies.known, &topology->link);
    }
    return topology;
}

/* That of keelrun's own node and of simulated ones. */
static struct topology *read_own(struct hnp *hnp, char *reason, size_t reason_size)
{
    const char *described = hnp->request.simulate_nodes ? hnp->request.simulate_topo : NULL;
    struct topo topo = {0};
    int status = described ? topo_describe(&topo, described, reason, reason_size)
                           : topo_read(&topo, reason, reason_size);
    char *text = status == ORTE_SUCCESS ? topo_print(&topo) : NULL;
    char hash[TOPO_HASH_TEXT];
    struct topology *own = NULL;
    if (text) {
        topo_hash(hash, text);
        own = add_topology(hnp, hash);
    }
    free(text);
    if (!own) {
        topo_fini(&topo);
        return NULL;
    }
    own->topo = topo;
    return own;
}

/* Sets those of the nodes that are here. False: others' are needed. */
static bool know_own(struct hnp *hnp, const struct topology *own)
{
    bool all = true;
    for (uint32_t i = 0; i < hnp->plan.node_count; i++) {
        struct map_node *node = &hnp->plan.nodes[i];
        bool here = node->local || hnp->request.simulate_nodes > 0;
        node->topo = here ? &own->topo : NULL;
        all &= here;
    }
    return all;
}

int hnp_plan(struct hnp *hnp, char *reason, size_t reason_size)
{
    int status = find_allocation(hnp, reason, reason_size);
    bool all = true;
    if (status == ORTE_SUCCESS) {
        status = job_plan_nodes(&hnp->plan, &hnp->request, &hnp->allocation, reason, reason_size);
        if (status != ORTE_SUCCESS) { /* a node without a free slot is not among them */
            hnp_submit_explain(hnp, reason, reason_size);
        }
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    if (job_plan_needs_topologies(&hnp->plan, &hnp->request) || hnp->request.simulate_topo) {
        struct topology *own = read_own(hnp, reason, reason_size);
        if (!own) {
            return ORTE_ERR_NOT_AVAILABLE;
        }
        all = know_own(hnp, own);
    }
    if (!all) { /* the daemons tell the rest */
        return ORTE_SUCCESS;
    }
    status = map_ranks(hnp, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        status = job_plan_set_idle(&hnp->plan);
    }
    return status;
}

static void fail(struct hnp *hnp, int status, const char *reason)
{
    job_fail(&hnp->job, EXIT_RUNTIME, "%s", reason[0] ? reason : opal_strerror(status));
}

static const struct topo *topo_of(struct hnp *hnp, uint32_t node)
{
    const struct peer *peer = &hnp->peers[hnp->daemon_of_node[node]];
    const struct topology *topology = find_topology(hnp, peer->topology);
    return topology && topology->topo.count > 0 ? &topology->topo : NULL;
}

/* All topologies that are needed are here. */
static void go_on(struct hnp *hnp)
{
    char reason[512] = "";
    for (uint32_t i = 0; i < hnp->plan.node_count; i++) {
        struct map_node *node = &hnp->plan.nodes[i];
        node->topo = node->topo ? node->topo : topo_of(hnp, i);
    }
    int status = map_ranks(hnp, reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        fail(hnp, status, reason);
    } else if (hnp->request.dry_run) {
        job_end_dry(&hnp->job);
    } else {
        dvm_topologies_known(&hnp->dvm);
    }
}

static bool all_known(const struct hnp *hnp)
{
    bool all = true;
    for (uint32_t vpid = 0; vpid < hnp->dvm.count && all; vpid++) {
        all = !hnp->peers[vpid].examined;
    }
    return all;
}

static void look(struct hnp *hnp)
{
    if (!all_known(hnp)) {
        return;
    }
    if (hnp->mapped) {
        dvm_topologies_known(&hnp->dvm);
    } else {
        go_on(hnp);
    }
}

/* For the hash, then for the topology, once for all that have it. */
static void ask(struct hnp *hnp, uint32_t vpid)
{
    struct peer *peer = &hnp->peers[vpid];
    bool whole = peer->topology[0];
    peer->examined = !whole || !find_topology(hnp, peer->topology);
    if (peer->examined && whole && !add_topology(hnp, peer->topology)) {
        fail(hnp, ORTE_ERR_OUT_OF_RESOURCE, "");
    } else if (peer->examined) {
        (void) daemon_order(hnp->daemon, vpid, proto_new(ORDER_TOPOLOGY, "c", (uint8_t) whole));
    }
}

/* The job's first map needs those of all nodes, a spawn those of some. */
void hnp_ask_topologies(struct hnp *hnp)
{
    for (uint32_t vpid = 1; vpid < hnp->dvm.count && !hnp->mapped; vpid++) {
        ask(hnp, vpid);
    }
    for (uint32_t i = 0; hnp->topologies.asked && i < hnp->topologies.asked->count; i++) {
        uint32_t vpid = hnp->daemon_of_node[hnp->topologies.asked->nodes[i]];
        if (dvm_lives(&hnp->dvm, vpid)) {
            ask(hnp, vpid);
        }
    }
    look(hnp);
}

/* What this daemon was asked for does not come. */
static void forget(struct hnp *hnp, uint32_t vpid)
{
    struct peer *peer = &hnp->peers[vpid];
    struct topology *topology = find_topology(hnp, peer->topology);
    if (topology && topology->topo.count == 0) {
        list_remove(&topology->link);
        free(topology);
    }
    peer->examined = false;
}

static void unable(struct hnp *hnp, uint32_t vpid, const char *what, const char *why)
{
    char reason[512];
    snprintf(reason, sizeof(reason), "node %s: %s%s", hnp->dvm.daemons[vpid].node, what, why);
    if (hnp->mapped) {
        hnp_spawn_unable(hnp, reason);
        forget(hnp, vpid);
        look(hnp);
    } else {
        job_fail(&hnp->job, EXIT_RUNTIME, "%s", reason);
    }
}

static bool read_topology(struct hnp *hnp, const struct peer *peer, const char *text)
{
    char hash[TOPO_HASH_TEXT];
    struct topology *topology = find_topology(hnp, peer->topology);
    topo_hash(hash, text);
    return topology && strcmp(hash, topology->hash) == 0 &&
           topo_parse(&topology->topo, text) == ORTE_SUCCESS;
}

/* hash: of a daemon that has not told it when it called home. */
static void take_topology(struct hnp *hnp, uint32_t vpid, const char *hash, const char *text,
                          const char *why)
{
    struct peer *peer = &hnp->peers[vpid];
    if (why[0]) {
        unable(hnp, vpid, "its processors are not known: ", why);
    } else if (!peer->topology[0] && hash[0] && strlen(hash) < sizeof(peer->topology)) {
        snprintf(peer->topology, sizeof(peer->topology), "%s", hash);
        ask(hnp, vpid);
        look(hnp);
    } else if (!text[0] && strcmp(hash, peer->topology) == 0) {
        log_debug(LOG_LAUNCHER, "daemon %u tells its hash again", vpid); /* it was late before */
    } else if (!read_topology(hnp, peer, text)) {
        unable(hnp, vpid, "what it says of its processors makes no sense", "");
    } else {
        peer->examined = false;
        look(hnp);
    }
}

int hnp_take_topology(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    char *hash, *text, *why;
    int status = proto_unpack(buffer, "sss", &hash, &text, &why);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (hnp->peers[vpid].examined) {
        take_topology(hnp, vpid, hash, text, why);
    } else if (!hnp->mapped) { /* else a spawn may have given up */
        status = ORTE_ERR_BAD_PARAM;
    }
    free(hash);
    free(text);
    free(why);
    return status;
}

/* --- for ranks that are spawned --- */

bool hnp_examined(struct hnp *hnp, char *reason, size_t reason_size)
{
    bool all = all_known(hnp);
    for (uint32_t vpid = 0; vpid < hnp->dvm.count; vpid++) {
        if (hnp->peers[vpid].examined) {
            snprintf(reason, reason_size,
                     "node %s: its daemon has not reported the node's processors in time "
                     "(plm_start_timeout_s)",
                     hnp->dvm.daemons[vpid].node);
            forget(hnp, vpid);
        }
    }
    for (uint32_t i = 0; hnp->topologies.asked && i < hnp->topologies.asked->count; i++) {
        uint32_t node = hnp->topologies.asked->nodes[i];
        struct map_node *told = &hnp->plan.nodes[node];
        told->topo = told->topo ? told->topo : topo_of(hnp, node);
    }
    hnp->topologies.asked = NULL;
    return all;
}

void hnp_unexamined(struct hnp *hnp, uint32_t vpid)
{
    const char *why = hnp->dvm.daemons[vpid].why;
    if (hnp->mapped && hnp->peers[vpid].examined) {
        unable(hnp, vpid, why ? why : "its daemon is lost", "");
    }
}

void hnp_plan_fini(struct hnp *hnp)
{
    struct topology *topology;
    list_for_each (topology, &hnp->topologies.known, struct topology, link) {
        list_remove(&topology->link);
        topo_fini(&topology->topo);
        free(topology);
    }
    job_plan_fini(&hnp->plan);
    allocation_fini(&hnp->allocation);
}
