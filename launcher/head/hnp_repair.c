/* What daemons are told of those that are lost while a job runs, and of ranks that have failed
 * where the job goes on (--enable-recovery). */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/data/clock.h>
#include <base/settings/param.h>
#include <launcher/node/tree_repair.h>
#include <stdlib.h>
#include <wireup/proto.h>

static struct param enable_recovery =
    PARAM_BOOL("enable_recovery", "0",
               "The job goes on when ranks fail or daemons are lost (--enable-recovery)");
PARAM_ROWS("launcher", enable_recovery);
static struct param repair_timeout =
    PARAM_INT("routed_repair_timeout_ms", "5000", 1, 3600000, "ms",
              "How long a daemon whose parent in the tree was lost may take to find its new one");
PARAM_ROWS("launcher", repair_timeout);

bool hnp_recovers(void)
{
    return param_bool(&enable_recovery);
}

uint64_t hnp_repair_limit_us(void)
{
    return (uint64_t) param_int(&repair_timeout) * 1000u;
}

void hnp_tell_ended(struct hnp *hnp, uint32_t vpid, uint32_t rank)
{
    opal_buffer_t *ranks = OBJ_NEW(opal_buffer_t), *order = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < hnp->plan.rank_count && ranks; i++) {
        bool here = hnp->daemon_of_node[hnp->plan.node_of[i]] == vpid;
        if (vpid == JOB_ALL ? i == rank : here) {
            ranks = proto_whole(ranks, proto_pack(ranks, "u", i));
            count++;
        }
    }
    if (ranks && count > 0) {
        order = proto_new(ORDER_ENDED, "u", count);
    }
    if (order) {
        order = proto_whole(order, opal_dss.copy_payload(order, ranks));
        (void) !hnp_broadcast(hnp, order);
    }
    OBJ_RELEASE(ranks);
}

/* --- the tree --- */

void hnp_forget(struct hnp *hnp, uint32_t lost)
{
    hnp_unexamined(hnp, lost);
    hnp_crash_over(hnp, lost);
    plm_lost(&hnp->plm, lost);
    repair_lose(hnp->daemon, lost);
    (void) !hnp_broadcast(hnp, proto_new(ORDER_LOST, "u", lost));
}

opal_buffer_t *hnp_add_losses(const struct hnp *hnp, opal_buffer_t *order)
{
    uint32_t count = 0;
    for (uint32_t lost = 1; lost < hnp->dvm.count; lost++) {
        count += dvm_is_lost(&hnp->dvm, lost);
    }
    order = order ? proto_whole(order, proto_pack(order, "u", count)) : NULL;
    for (uint32_t lost = 1; lost < hnp->dvm.count && order; lost++) {
        if (dvm_is_lost(&hnp->dvm, lost)) {
            order = proto_whole(order, proto_pack(order, "u", lost));
        }
    }
    return order;
}

static int name_parent(struct hnp *hnp, uint32_t vpid)
{
    uint32_t parent = rml_parent_of(hnp->daemon->rml, vpid);
    opal_buffer_t *order = hnp_add_losses(hnp, proto_new(ORDER_REHOME, ""));
    if (order) {
        const char *contact = parent == HNP_VPID ? "" : hnp->peers[parent].contact;
        order = proto_whole(order, proto_pack(order, "s", contact));
    }
    return daemon_order(hnp->daemon, vpid, order);
}

int hnp_orphan(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t parent;
    char *why;
    int status = proto_unpack(buffer, "us", &parent, &why);
    if (status == OPAL_SUCCESS && (parent == HNP_VPID || parent >= hnp->dvm.count)) {
        status = ORTE_ERR_BAD_PARAM;
    }
    if (status == OPAL_SUCCESS) {
        dvm_lost(&hnp->dvm, parent, why, clock_us());
    }
    free(why);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (hnp->dvm.phase == DVM_OVER) {
        return daemon_order(hnp->daemon, vpid, proto_new(ORDER_EXIT, ""));
    }
    return dvm_lives(&hnp->dvm, vpid) ? name_parent(hnp, vpid) : ORTE_SUCCESS;
}
