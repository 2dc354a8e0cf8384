/* Nodes that get a daemon while the job runs: where ranks are spawned that none had. What they have
 * missed is kept: the launch and all that was spawned since. */
#include <config.h>

#include <base/data/array.h>
#include <launcher/head/hnp.h>

#include <base/data/clock.h>
#include <launcher/node/tree_growth.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

struct kept_order {
    struct list link;
    opal_buffer_t *order; /* a reference */
};

static opal_buffer_t *copy_of(const opal_buffer_t *order)
{
    opal_buffer_t *copy = OBJ_NEW(opal_buffer_t);
    return copy
               ? proto_whole(copy, opal_dss.copy_payload(copy, (opal_buffer_t *) (uintptr_t) order))
               : NULL;
}

int hnp_keep_order(struct hnp *hnp, const opal_buffer_t *order)
{
    struct kept_order *kept = calloc(1, sizeof(*kept));
    if (!kept || !(kept->order = copy_of(order))) {
        free(kept);
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    list_append(&hnp->spawns.orders, &kept->link);
    return ORTE_SUCCESS;
}

void hnp_grow_fini(struct hnp *hnp)
{
    for (struct list *link; (link = list_pop(&hnp->spawns.orders));) {
        struct kept_order *kept = container_of(link, struct kept_order, link);
        OBJ_RELEASE(kept->order);
        free(kept);
    }
}

/* --- begin --- */

static int reserve_peers(struct hnp *hnp, uint32_t count)
{
    size_t known = hnp->dvm.count;
    return array_extend(&hnp->peers, known, known + count, sizeof(*hnp->peers))
               ? ORTE_SUCCESS
               : ORTE_ERR_OUT_OF_RESOURCE;
}

/* Numbers of daemons for those nodes that have none; on failure for the first added of them. */
static int number_nodes(struct hnp *hnp, const uint32_t *nodes, uint32_t count, const char **names,
                        uint32_t *added)
{
    *added = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct map_node *node = &hnp->plan.nodes[nodes[i]];
        uint32_t vpid = hnp->dvm.count + *added;
        if (hnp->daemon_of_node[nodes[i]] != NO_DAEMON) {
            continue;
        }
        hnp->peers[vpid].user = node->user ? strdup(node->user) : NULL;
        if (node->user && !hnp->peers[vpid].user) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        hnp->daemon_of_node[nodes[i]] = vpid;
        names[(*added)++] = node->name;
    }
    return ORTE_SUCCESS;
}

/* There are no such daemons. */
static void forget_nodes(struct hnp *hnp, uint32_t added)
{
    uint32_t nodes = hnp->plan.node_count + hnp->plan.idle_count;
    for (uint32_t i = 0; i < added; i++) {
        free(hnp->peers[hnp->dvm.count + i].user);
    }
    for (uint32_t node = 0; node < nodes; node++) {
        bool none = hnp->daemon_of_node[node] >= hnp->dvm.count;
        hnp->daemon_of_node[node] = none ? NO_DAEMON : hnp->daemon_of_node[node];
    }
}

/* Those that are there now cannot be started. */
static void lose_added(struct hnp *hnp, const char *why)
{
    for (uint32_t vpid = hnp->dvm.added; vpid < hnp->dvm.count; vpid++) {
        dvm_lost(&hnp->dvm, vpid, why, clock_us());
    }
}

static int add_daemons(struct hnp *hnp, const uint32_t *nodes, uint32_t count, const char **names)
{
    char why[256];
    uint32_t added, first = hnp->dvm.count;
    int status = number_nodes(hnp, nodes, count, names, &added);
    if (status == ORTE_SUCCESS) {
        status = added < DAEMONS_MAX - first ? dvm_grow(&hnp->dvm, names, added)
                                             : ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status != ORTE_SUCCESS) {
        forget_nodes(hnp, added);
        return status;
    }
    if (added == 0) { /* only their topologies are needed */
        return ORTE_SUCCESS;
    }
    status = growth_set(hnp->daemon, hnp->dvm.count);
    snprintf(why, sizeof(why), "%s", opal_strerror(status));
    if (status == ORTE_SUCCESS) {
        status = hnp_start_agents(hnp, first, why, sizeof(why));
    }
    if (status != ORTE_SUCCESS) {
        lose_added(hnp, why); /* which the spawns are told */
    }
    return ORTE_SUCCESS;
}

int hnp_grow(struct hnp *hnp, const uint32_t *nodes, uint32_t count, char *reason,
             size_t reason_size)
{
    const char **names = calloc((size_t) count + 1, sizeof(*names));
    int status = names ? reserve_peers(hnp, count) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == ORTE_SUCCESS) {
        status = add_daemons(hnp, nodes, count, names);
    }
    free(names);
    snprintf(reason, reason_size, "no more nodes can be added: %s", opal_strerror(status));
    return status;
}

/* --- the tree --- */

void hnp_announce(struct hnp *hnp)
{
    opal_buffer_t *order = proto_new(ORDER_GROW, "u", hnp->dvm.count);
    (void) !hnp_broadcast(hnp, hnp_add_losses(hnp, order));
}

int hnp_take_grown(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t count;
    char *contact;
    int status = proto_unpack(buffer, "us", &count, &contact);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (count == hnp->dvm.count) {
        free(hnp->peers[vpid].contact);
        hnp->peers[vpid].contact = contact;
        dvm_has_grown(&hnp->dvm, vpid);
    } else {
        free(contact);
    }
    return ORTE_SUCCESS;
}

static opal_buffer_t *place_order(struct hnp *hnp, uint32_t vpid)
{
    uint32_t parent = rml_parent_of(hnp->daemon->rml, vpid);
    struct rml_casts last = rml_last_casts(hnp->daemon->rml);
    opal_buffer_t *order =
        hnp_add_losses(hnp, proto_new(ORDER_JOIN, "qqu", last.control, last.app, hnp->dvm.count));
    const char *contact = parent == HNP_VPID ? "" : hnp->peers[parent].contact;
    return order ? proto_whole(order, proto_pack(order, "s", contact)) : NULL;
}

/* It hears what all others have heard, and then where its place is. */
void hnp_join(struct hnp *hnp, uint32_t vpid)
{
    const struct kept_order *kept;
    struct window window = hnp->request.window;
    list_for_each (kept, &hnp->spawns.orders, struct kept_order, link) {
        (void) daemon_order(hnp->daemon, vpid, copy_of(kept->order));
    }
    (void) daemon_order(
        hnp->daemon, vpid,
        proto_new(ORDER_WINDOW, "uu", (uint32_t) window.rows, (uint32_t) window.columns));
    (void) daemon_order(hnp->daemon, vpid, place_order(hnp, vpid));
}
