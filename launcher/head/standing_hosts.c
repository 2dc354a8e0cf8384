/* The nodes of a standing DVM: some are added, some are removed. A node keeps its number. */
#include <config.h>

#include <launcher/head/standing_parts.h>

#include <base/data/array.h>
#include <base/text/reason.h>
#include <stdio.h>
#include <wireup/proto.h>

/* It has a daemon, and was not removed. */
bool standing_offers(const struct standing *standing, uint32_t node)
{
    uint32_t vpid = standing_daemon(standing, node);
    return standing->hnp->plan.nodes[node].slots > 0 && vpid != NO_DAEMON &&
           dvm_lives(&standing->hnp->dvm, vpid);
}

/* It hangs up then, or its time is over. */
static void changed(struct submission *submission, const char *why)
{
    (void) talk_send(&submission->talk,
                     why[0] ? proto_new(TALK_OVER, "s", why) : proto_new(TALK_CHANGED, ""));
}

/* The node of a host; its number, or NODES_MAX: none that is there. */
static uint32_t find_host(const struct standing *standing, const char *name)
{
    const struct job_plan *plan = &standing->hnp->plan;
    const struct map_node *node = job_plan_find(plan, name);
    uint32_t number = node ? (uint32_t) (node - plan->nodes) : NODES_MAX;
    return node && standing_offers(standing, number) ? number : NODES_MAX;
}

/* Room for more nodes in what is kept by node. */
static int reserve_nodes(struct standing *standing, size_t more)
{
    struct hnp *hnp = standing->hnp;
    size_t before = hnp->plan.node_count, count = before + more;
    if (!array_extend(&standing->used, before, count, sizeof(uint32_t)) ||
        !array_resize(&hnp->daemon_of_node, count, sizeof(uint32_t)) ||
        !array_resize(&standing->added.nodes, more, sizeof(uint32_t))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (size_t i = before; i < count; i++) {
        hnp->daemon_of_node[i] = NO_DAEMON;
    }
    return ORTE_SUCCESS;
}

/* Whoever had been there gets a new daemon; this process is the one of its own node. */
static int add_hosts(struct submission *submission, char *why, size_t why_size)
{
    struct standing *standing = submission->standing;
    struct hnp *hnp = standing->hnp;
    const struct node_list *hosts = &submission->hosts;
    for (size_t i = 0; i < hosts->count; i++) {
        if (find_host(standing, hosts->nodes[i].name) != NODES_MAX) {
            return reason_set(ORTE_EXISTS, why, why_size, "has host %s already",
                              hosts->nodes[i].name);
        }
    }
    int status =
        dvm_grows(&hnp->dvm) ? ORTE_ERR_NOT_AVAILABLE : reserve_nodes(standing, hosts->count);
    if (status == ORTE_SUCCESS) {
        status = job_plan_add_nodes(&hnp->plan, hosts, standing->added.nodes);
    }
    for (size_t i = 0; i < hosts->count && status == ORTE_SUCCESS; i++) {
        uint32_t node = standing->added.nodes[i];
        hnp->daemon_of_node[node] = hnp->plan.nodes[node].local ? HNP_VPID : NO_DAEMON;
    }
    snprintf(why, why_size, "cannot add nodes: %s", opal_strerror(status));
    if (status == ORTE_SUCCESS) {
        standing->added.count = (uint32_t) hosts->count;
        status = hnp_grow(hnp, standing->added.nodes, standing->added.count, why, why_size);
    }
    standing->added.count = status == ORTE_SUCCESS ? standing->added.count : 0;
    return status;
}

/* One of a job that is planned or runs: those of jobs that are over end by themselves. */
static bool has_daemon_of_job(const struct standing *standing, uint32_t vpid)
{
    const struct submission *submission;
    list_for_each (submission, &standing->submissions, struct submission, link) {
        for (uint32_t i = 0; i < submission->daemon_count; i++) {
            if (submission->state != TALKS_ENDED && submission->daemons[i] == vpid) {
                return true;
            }
        }
    }
    return false;
}

/* May this node go? A job may have a daemon where it has no ranks. */
static int check_idle(const struct standing *standing, uint32_t node, const char *name, char *why,
                      size_t why_size)
{
    uint32_t ranks = standing->used[node];
    if (ranks > 0) {
        return reason_set(ORTE_ERR_NOT_AVAILABLE, why, why_size, "has %u rank%s of jobs on host %s",
                          ranks, ranks == 1 ? "" : "s", name);
    }
    if (has_daemon_of_job(standing, standing_daemon(standing, node))) {
        return reason_set(ORTE_ERR_NOT_AVAILABLE, why, why_size, "has a daemon of a job on host %s",
                          name);
    }
    return ORTE_SUCCESS;
}

/* All or none. Their daemons end. */
static int remove_hosts(struct submission *submission, char *why, size_t why_size)
{
    struct standing *standing = submission->standing;
    struct hnp *hnp = standing->hnp;
    const struct node_list *hosts = &submission->hosts;
    for (size_t i = 0; i < hosts->count; i++) {
        const char *name = hosts->nodes[i].name;
        uint32_t node = find_host(standing, name);
        if (node == NODES_MAX) {
            return reason_set(ORTE_ERR_NOT_FOUND, why, why_size, "has no host %s", name);
        }
        int status = check_idle(standing, node, name, why, why_size);
        if (status != ORTE_SUCCESS) {
            return status;
        }
    }
    for (size_t i = 0; i < hosts->count; i++) {
        uint32_t node = find_host(standing, hosts->nodes[i].name);
        if (node != NODES_MAX) { /* it may be named by two names */
            hnp->plan.nodes[node].slots = 0;
            if (standing_daemon(standing, node) != HNP_VPID) {
                (void) daemon_order(hnp->daemon, standing_daemon(standing, node),
                                    proto_new(ORDER_EXIT, ""));
            }
        }
    }
    return ORTE_SUCCESS;
}

void standing_change(struct submission *submission)
{
    char why[512] = "";
    int status = submission->adds ? add_hosts(submission, why, sizeof(why))
                                  : remove_hosts(submission, why, sizeof(why));
    if (status != ORTE_SUCCESS || !submission->adds) {
        changed(submission, status == ORTE_SUCCESS ? "" : why);
    }
}

/* Who has asked for them may be gone. */
void standing_grown(struct standing *standing)
{
    struct hnp *hnp = standing->hnp;
    struct submission *asker = standing->planner;
    char why[512] = "";
    plm_started(&hnp->plm);
    for (uint32_t i = 0; i < standing->added.count; i++) {
        const struct dvm_daemon *daemon =
            &hnp->dvm.daemons[standing_daemon(standing, standing->added.nodes[i])];
        if (!standing_offers(standing, standing->added.nodes[i]) && !why[0]) {
            snprintf(why, sizeof(why), "has no daemon on node %s: %s", daemon->node,
                     daemon->why ? daemon->why : "it is lost");
        }
    }
    standing->added.count = 0;
    if (asker && asker->adds) {
        changed(asker, why);
    }
}

bool standing_has(const struct standing *standing, uint32_t vpid)
{
    const struct job_plan *plan = &standing->hnp->plan;
    uint32_t node = 0;
    while (node < plan->node_count && standing_daemon(standing, node) != vpid) {
        node++;
    }
    bool joins = dvm_grows(&standing->hnp->dvm) && vpid >= standing->hnp->dvm.added;
    return !joins && node < plan->node_count && plan->nodes[node].slots > 0;
}
