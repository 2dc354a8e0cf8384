/* A job that runs on a standing DVM: its nodes, the slots that it takes, its daemons. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <launcher/standing/contact.h>
#include <launcher/standing/submitter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wireup/proto.h>

static void said(void *arg, const char *line)
{
    const struct hnp *hnp = arg;
    channel_send(hnp->config.front, proto_new(FRONT_PLAIN, "cs", (uint8_t) STDERR_FILENO, line));
}

/* Also one that has been part of the job, of whose loss its link tells. */
static void unstarted(void *arg, uint32_t vpid, const char *why)
{
    struct hnp *hnp = arg;
    if (vpid != HNP_VPID && vpid < hnp->dvm.count) {
        plm_unstarted(&hnp->plm, HNP_VPID, vpid, why);
    }
}

static void over(void *arg, const char *why)
{
    struct hnp *hnp = arg;
    job_fail(&hnp->job, EXIT_RUNTIME, "the DVM %s", why);
}

/* The free slots of its nodes; one without any is left out. */
static int take_nodes(struct hnp *hnp)
{
    struct allocation *allocation = &hnp->allocation;
    uint32_t count;
    const struct standing_node *nodes = submitter_nodes(hnp->submitter, &count);
    allocation->manager = ALLOCATION_DVM;
    allocation->job = strdup(contact_file(hnp->request.dvm));
    allocation->nodes = calloc(count, sizeof(*allocation->nodes));
    for (uint32_t i = 0; i < count && allocation->nodes; i++) {
        if (nodes[i].slots > nodes[i].used) {
            struct node_request *node = &allocation->nodes[allocation->count];
            node->slots = nodes[i].slots - nodes[i].used;
            node->name = strdup(nodes[i].name);
            if (!node->name) {
                return ORTE_ERR_OUT_OF_RESOURCE;
            }
            allocation->count++;
        }
    }
    return allocation->job && allocation->nodes ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

/* How much of the DVM other jobs have: a clause for a message; "" for nothing. */
static void describe_use(const struct hnp *hnp, char *text, size_t size)
{
    uint64_t slots = 0, used = 0;
    uint32_t count;
    const struct standing_node *nodes = submitter_nodes(hnp->submitter, &count);
    for (uint32_t i = 0; i < count; i++) {
        slots += nodes[i].slots;
        used += nodes[i].slots ? nodes[i].used : 0;
    }
    snprintf(text, size, "%llu of the DVM's %llu slots are in use by other jobs",
             (unsigned long long) used, (unsigned long long) slots);
    if (used == 0) {
        *text = '\0';
    }
}

int hnp_submit_open(struct hnp *hnp, char *reason, size_t reason_size)
{
    static const struct submitter_ops ops = {.said = said, .unstarted = unstarted, .over = over};
    char use[128];
    uint32_t limit_s = hnp->request.timeout_s;
    int status = submitter_open(&hnp->submitter, hnp->request.dvm, limit_s, reason, reason_size);
    if (status == ORTE_ERR_TIMEOUT) {
        job_fail(&hnp->job, EXIT_TIMEOUT, "the time limit of %u s is over: %s", limit_s, reason);
    }
    if (status != ORTE_SUCCESS) {
        return status;
    }
    submitter_serve(hnp->submitter, hnp->config.loop, &ops, hnp);
    status = take_nodes(hnp);
    if (status == ORTE_SUCCESS && hnp->allocation.count == 0) {
        describe_use(hnp, use, sizeof(use));
        snprintf(reason, reason_size, "no slot is free: %s",
                 *use ? use : "the DVM has lost all its daemons");
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    return status;
}

void hnp_submit_explain(const struct hnp *hnp, char *reason, size_t reason_size)
{
    char use[128] = "";
    size_t length = strlen(reason);
    if (hnp->submitter) {
        describe_use(hnp, use, sizeof(use));
    }
    if (*use && length < reason_size) {
        snprintf(reason + length, reason_size - length, "; %s", use);
    }
}

/* By node of the plan. malloc'd; NULL: no memory. */
static uint32_t *count_ranks(const struct job_plan *plan)
{
    uint32_t nodes = plan->node_count + plan->idle_count;
    uint32_t *ranks = calloc(nodes, sizeof(*ranks));
    for (uint32_t rank = 0; ranks && rank < plan->rank_count; rank++) {
        ranks[plan->node_of[rank]]++;
    }
    return ranks;
}

/* A rank takes a slot. */
int hnp_submit_take(struct hnp *hnp)
{
    const struct job_plan *plan = &hnp->plan;
    uint32_t count;
    if (!hnp->submitter) {
        return ORTE_SUCCESS;
    }
    const struct standing_node *nodes = submitter_nodes(hnp->submitter, &count);
    uint32_t *ranks = count_ranks(plan), *slots = calloc(count, sizeof(*slots));
    for (uint32_t i = 0; i < count && ranks && slots; i++) {
        const struct map_node *node = job_plan_find(plan, nodes[i].name);
        slots[i] = node ? ranks[node - plan->nodes] : 0;
    }
    bool taken = ranks && slots && submitter_take(hnp->submitter, slots);
    free(ranks);
    free(slots);
    return taken ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}
