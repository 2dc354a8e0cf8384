/* Ranks that crash, with --stack-traces: they are stopped until debuggers have looked at all that
 * have crashed meanwhile, on every node, so that those that crashed in one place are told together;
 * but not for ever. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/settings/log.h>
#include <launcher/head/explain/rank_stacks.h>
#include <launcher/node/explain/tracer.h>
#include <wireup/proto.h>

#define CUT_US 5000000u /* for debuggers to be killed, and for nodes to report it */

static void tell(void *arg, const char *line)
{
    hnp_tell(arg, "%s", line);
}

void hnp_crash_tell(struct hnp *hnp)
{
    struct rank_stacks *stacks = hnp->crashes.stacks;
    if (stacks) {
        rank_stacks_print(stacks, "crashed", tell, hnp);
        rank_stacks_destroy(stacks);
        hnp->crashes.stacks = NULL;
    }
}

struct rank_stacks *hnp_crash_stacks(struct hnp *hnp, uint32_t rank)
{
    struct hnp_crashes *crashes = &hnp->crashes;
    if (rank >= crashes->ranks) { /* it was added since */
        hnp_crash_tell(hnp);
    }
    if (!crashes->stacks) {
        crashes->ranks = hnp->plan.rank_count;
        (void) !rank_stacks_create(&crashes->stacks, crashes->ranks, false);
    }
    return crashes->stacks;
}

static void order(struct hnp *hnp, bool cut)
{
    (void) !hnp_broadcast(hnp, proto_new(ORDER_CRASHED, "c", (uint8_t) cut));
}

/* They go on: where some are looked at, when those were. */
static void release(struct hnp *hnp)
{
    loop_timer_stop(&hnp->crashes.timer);
    for (uint32_t vpid = 0; vpid < hnp->dvm.count; vpid++) {
        hnp->peers[vpid].crashing = false;
    }
    hnp->crashes.nodes = 0;
    hnp->crashes.cut = false;
    order(hnp, false);
}

static void too_long(struct loop_timer *timer)
{
    struct hnp *hnp = container_of(timer, struct hnp, crashes.timer);
    if (hnp->crashes.cut) {
        release(hnp);
    } else { /* no rank ends before all nodes have said of which ranks there is no stack */
        hnp->crashes.cut = true;
        loop_timer_start(timer, CUT_US);
        order(hnp, true);
    }
}

void hnp_crash_init(struct hnp *hnp)
{
    loop_timer_init(&hnp->crashes.timer, hnp->config.loop, too_long);
}

void hnp_crash_fini(struct hnp *hnp)
{
    loop_timer_stop(&hnp->crashes.timer);
    rank_stacks_destroy(hnp->crashes.stacks);
}

static void begin(struct hnp *hnp, uint32_t vpid)
{
    uint64_t all_us = hnp_traces_us();
    log_info(LOG_LAUNCHER, "ranks crash on node %s", hnp->dvm.daemons[vpid].node);
    hnp->peers[vpid].crashing = true;
    if (hnp->crashes.nodes++ == 0) {
        loop_timer_start(&hnp->crashes.timer, all_us ? all_us : tracer_each_us());
    }
}

void hnp_crash_over(struct hnp *hnp, uint32_t vpid)
{
    bool *crashing = &hnp->peers[vpid].crashing;
    if (*crashing && --hnp->crashes.nodes == 0) {
        release(hnp);
    }
    *crashing = false;
}

int hnp_take_crashes(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint8_t crashing;
    int status = proto_unpack(buffer, "c", &crashing);
    if (status == OPAL_SUCCESS && !crashing) {
        hnp_crash_over(hnp, vpid);
    } else if (status == OPAL_SUCCESS && !hnp->peers[vpid].crashing) {
        begin(hnp, vpid);
    }
    return status;
}

void hnp_crash_cut(struct hnp *hnp)
{
    hnp_crash_tell(hnp);
    if (hnp->crashes.nodes > 0) {
        release(hnp);
    }
}
