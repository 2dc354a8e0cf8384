/* Daemons that are lost while a job runs: all others learn of it, those below find a new parent,
 * and the job ends or, with --enable-recovery, goes on without them. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <launcher/node/tree_repair.h>
#include <stdarg.h>
#include <stdio.h>
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

void hnp_note_failure(struct hnp *hnp, int exit_code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    bool runs = hnp->phase == PHASE_LAUNCHING || hnp->phase == PHASE_RUNNING;
    if (!hnp_recovers() || !runs || hnp->end.failing) {
        hnp_fail(hnp, exit_code, "%s", text);
        return;
    }
    hnp_tell(hnp, "%s%s", text, hnp->unended > 0 ? "; the job goes on" : "");
    if (hnp->end.exit_code == 0) {
        hnp->end.exit_code = exit_code;
    }
}

void hnp_tell_ended(struct hnp *hnp, uint32_t vpid, uint32_t rank)
{
    opal_buffer_t *ranks = OBJ_NEW(opal_buffer_t), *order = NULL;
    uint32_t count = 0;
    if (hnp->end.failing || hnp->phase >= PHASE_DRAINING) {
        OBJ_RELEASE(ranks);
        return;
    }
    for (uint32_t i = 0; i < hnp->plan.rank_count && ranks; i++) {
        bool here = hnp->daemon_of_node[hnp->plan.node_of[i]] == vpid;
        if (rank == UINT32_MAX ? here : i == rank) {
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

static void look_later(struct hnp *hnp)
{
    uint64_t first = UINT64_MAX, now = clock_us();
    for (uint32_t vpid = 1; vpid < hnp->peer_count; vpid++) {
        uint64_t until = hnp->peers[vpid].homeless_until;
        first = until > 0 && until < first ? until : first;
    }
    if (first < UINT64_MAX) {
        loop_timer_start(&hnp->timers.repair, first > now ? first - now : 0);
    }
}

/* Whoever was to find a parent by then is lost as well. */
static void lose_homeless(struct hnp *hnp, uint64_t by_us)
{
    for (uint32_t vpid = 1; vpid < hnp->peer_count; vpid++) {
        uint64_t until = hnp->peers[vpid].homeless_until;
        if (until > 0 && until <= by_us) {
            hnp_peer_lost(hnp, vpid,
                          "its parent in the tree was lost, and it has found no other in time "
                          "(routed_repair_timeout_ms)");
        }
    }
    look_later(hnp);
}

static void on_repair_timer(struct loop_timer *timer)
{
    lose_homeless(container_of(timer, struct hnp, timers.repair), clock_us());
}

void hnp_lose_homeless(struct hnp *hnp)
{
    lose_homeless(hnp, UINT64_MAX);
}

void hnp_repair_init(struct hnp *hnp)
{
    loop_timer_init(&hnp->timers.repair, hnp->loop, on_repair_timer);
}

void hnp_repair(struct hnp *hnp, uint32_t lost)
{
    struct rml *rml = hnp->daemon->rml;
    uint64_t until = clock_us() + (uint64_t) param_int(&repair_timeout) * 1000u;
    hnp->peers[lost].homeless_until = 0;
    for (uint32_t vpid = lost + 1; vpid < hnp->peer_count; vpid++) {
        if (hnp->peers[vpid].state != PEER_LOST && rml_parent_of(rml, vpid) == lost) {
            hnp->peers[vpid].homeless_until = until;
        }
    }
    repair_lose(hnp->daemon, lost);
    hnp_broadcast(hnp, proto_new(ORDER_LOST, "u", lost));
    look_later(hnp);
}

static int name_parent(struct hnp *hnp, uint32_t vpid)
{
    uint32_t count = 0;
    uint32_t parent = rml_parent_of(hnp->daemon->rml, vpid);
    for (uint32_t lost = 1; lost < hnp->peer_count; lost++) {
        count += hnp->peers[lost].state == PEER_LOST;
    }
    opal_buffer_t *order = proto_new(ORDER_REHOME, "u", count);
    for (uint32_t lost = 1; lost < hnp->peer_count && order; lost++) {
        if (hnp->peers[lost].state == PEER_LOST) {
            order = proto_whole(order, proto_pack(order, "u", lost));
        }
    }
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
    if (status == OPAL_SUCCESS && (parent == HNP_VPID || parent >= hnp->peer_count)) {
        status = ORTE_ERR_BAD_PARAM;
    }
    if (status == OPAL_SUCCESS) {
        hnp_peer_lost(hnp, parent, why);
    }
    free(why);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (hnp->phase == PHASE_DONE) {
        return daemon_order(hnp->daemon, vpid, proto_new(ORDER_EXIT, ""));
    }
    return hnp_peer_lives(hnp, vpid) ? name_parent(hnp, vpid) : ORTE_SUCCESS;
}

int hnp_rehomed(struct hnp *hnp, uint32_t vpid)
{
    hnp->peers[vpid].homeless_until = 0;
    hnp_peer_silent(hnp, vpid, false); /* whoever said that it was is lost */
    return ORTE_SUCCESS;
}
