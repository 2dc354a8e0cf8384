/* What a tool is told of the job: the head's own view, and what the daemons have said. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/data/clock.h>
#include <launcher/head/explain/rank_states.h>
#include <launcher/head/standing.h>
#include <unistd.h>
#include <wireup/look.h>
#include <wireup/proto.h>

uint32_t hnp_look_count(const struct hnp *hnp)
{
    return hnp->mapped && !hnp->request.stand ? hnp->plan.rank_count : 0;
}

static int pack_job(const struct hnp *hnp, opal_buffer_t *buffer)
{
    const struct run_request *request = &hnp->request;
    const struct keel_job_state job = {
        .number = 1,
        .id = hnp->identity.uuid,
        .phase = request->stand ? "stands" : hnp->job.fsm->states[hnp->job.phase],
        .program = request->app_count > 0 ? request->apps[0].argv[0] : "",
        .pid = (uint32_t) getpid(),
        .age_ms = (clock_us() - hnp->submitted_us) / 1000u,
        .rank_count = hnp_look_count(hnp),
    };
    return look_pack_job(buffer, &job);
}

static bool is_awaited(const struct known *known, uint32_t vpid)
{
    return known && vpid < known->daemon_count && known->awaited[vpid];
}

static bool is_lost(const struct dvm_daemon *daemon)
{
    return daemon->state == DAEMON_LOST || daemon->state == DAEMON_UNEXPLAINED;
}

/* Its node was removed from the standing DVM, or has another daemon by now. */
static bool is_replaced(const struct hnp *hnp, uint32_t vpid)
{
    return hnp->standing && is_lost(&hnp->dvm.daemons[vpid]) && !standing_has(hnp->standing, vpid);
}

static int pack_node(const struct hnp *hnp, uint32_t vpid, const struct known *known,
                     opal_buffer_t *buffer)
{
    const struct dvm_daemon *daemon = &hnp->dvm.daemons[vpid];
    bool asked = known && vpid < known->daemon_count;
    const struct keel_node_state node = {
        .number = vpid,
        .name = daemon->node,
        .state = is_lost(daemon)                             ? "lost"
                 : daemon->state == DAEMON_STARTING          ? "starting"
                 : daemon->silent || is_awaited(known, vpid) ? "does not answer"
                                                             : "runs",
        .pid = vpid == HNP_VPID ? (uint32_t) getpid()
               : asked          ? known->pids[vpid]
                                : 0,
    };
    return look_pack_node(buffer, &node);
}

static int pack_rank(const struct hnp *hnp, uint32_t rank, const struct known *known,
                     opal_buffer_t *buffer)
{
    uint32_t vpid = hnp->daemon_of_node[hnp->plan.node_of[rank]];
    const struct rank_state_told *told = known ? rank_states_find(known->states, rank) : NULL;
    struct keel_rank_state state = {.rank = rank, .node = vpid};
    if (told) {
        state.pid = told->pid;
        state.state = told->what;
        state.still_ms = told->for_ms;
        state.age_ms = told->age_ms;
        state.cpu_ms = told->cpu_ms;
        state.memory_bytes = told->memory_bytes;
    } else {
        state.state = hnp->job.ended && hnp->job.ended[rank] ? "ended"
                      : hnp->job.phase < JOB_LAUNCHING       ? "not started"
                      : is_awaited(known, vpid)              ? "not known: its node does not answer"
                                                             : "not known";
    }
    return look_pack_rank(buffer, &state, told ? told->counters.data : NULL,
                          told ? told->counters.size : 0);
}

opal_buffer_t *hnp_look_pack(const struct hnp *hnp, uint64_t number, const struct known *known)
{
    opal_buffer_t *answer = proto_new(TOOL_LOOK, "qi", number, (int32_t) ORTE_SUCCESS);
    int status = answer ? pack_job(hnp, answer) : ORTE_ERR_OUT_OF_RESOURCE;
    for (uint32_t vpid = 0; vpid < hnp->dvm.count && status == ORTE_SUCCESS; vpid++) {
        status = is_replaced(hnp, vpid) ? status : pack_node(hnp, vpid, known, answer);
    }
    uint32_t ranks = hnp_look_count(hnp);
    for (uint32_t rank = 0; rank < ranks && status == ORTE_SUCCESS; rank++) {
        status = pack_rank(hnp, rank, known, answer);
    }
    return proto_whole(answer, status);
}
