/* What the ranks do, for a user whose job hangs: at its time limit, and on SIGQUIT. The daemons are
 * asked, and those that do not answer in time are named. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/data/clock.h>
#include <launcher/head/rank_states.h>
#include <stdlib.h>
#include <wireup/proto.h>

#define ANSWER_US 2000000u /* for the daemons, which know what to say */

struct explanation {
    struct hnp *hnp; /* borrowed */
    bool limit;      /* the job's time is over, and it fails at the end */
    uint32_t daemon_count;
    bool *awaited; /* owned, by vpid */
    struct rank_states *states;
    struct loop_timer timer;
};

static void destroy(struct explanation *explanation)
{
    loop_timer_stop(&explanation->timer);
    rank_states_destroy(explanation->states);
    free(explanation->awaited);
    free(explanation);
}

void hnp_explain_fini(struct hnp *hnp)
{
    if (hnp->explanation) {
        destroy(hnp->explanation);
        hnp->explanation = NULL;
    }
}

static void say(void *arg, const char *line)
{
    hnp_tell(arg, "%s", line);
}

static bool is_awaited(const void *arg, uint32_t vpid)
{
    const struct explanation *explanation = arg;
    return vpid < explanation->daemon_count && explanation->awaited[vpid];
}

static void tell_silent(const struct explanation *explanation)
{
    struct hnp *hnp = explanation->hnp;
    uint32_t count;
    char *nodes = dvm_name_nodes(&hnp->dvm, is_awaited, explanation, &count);
    if (count > 0) {
        hnp_tell(hnp, "nothing is known of the ranks of node%s %s: %s not answered",
                 count == 1 ? "" : "s", nodes ? nodes : "?",
                 count == 1 ? "its daemon has" : "their daemons have");
    }
    free(nodes);
}

/* The end: what is known is told, and the job whose time is over fails. */
static void conclude(struct hnp *hnp)
{
    struct explanation *explanation = hnp->explanation;
    bool limit = explanation->limit;
    hnp->explanation = NULL;
    rank_states_print(explanation->states, say, hnp);
    tell_silent(explanation);
    destroy(explanation);
    if (limit) {
        job_timer(&hnp->job, JOB_TIMER_LIMIT, clock_us());
    }
}

static void answers_over(struct loop_timer *timer)
{
    conclude(container_of(timer, struct explanation, timer)->hnp);
}

/* Its daemon is to say what it does, unless it is known. */
static void await_rank(struct explanation *explanation, uint32_t rank)
{
    const struct hnp *hnp = explanation->hnp;
    uint32_t vpid = hnp->daemon_of_node[hnp->plan.node_of[rank]];
    struct rank_state_told told = {.what = "ended", .node = hnp->dvm.daemons[vpid].node};
    if (hnp->job.ended[rank]) {
        (void) !rank_states_tell(explanation->states, rank, &told);
    } else if (hnp_peer_lives(hnp, vpid)) {
        explanation->awaited[vpid] = true;
    }
}

static struct explanation *create(struct hnp *hnp)
{
    struct explanation *explanation = calloc(1, sizeof(*explanation));
    if (!explanation) {
        return NULL;
    }
    explanation->hnp = hnp;
    explanation->daemon_count = hnp->dvm.count;
    explanation->awaited = calloc((size_t) hnp->dvm.count + 1, sizeof(bool));
    loop_timer_init(&explanation->timer, hnp->loop, answers_over);
    int status = rank_states_create(&explanation->states, hnp->plan.rank_count);
    if (status != ORTE_SUCCESS || !explanation->awaited) {
        destroy(explanation);
        return NULL;
    }
    for (uint32_t rank = 0; rank < hnp->plan.rank_count; rank++) {
        await_rank(explanation, rank);
    }
    return explanation;
}

/* False: there is nobody to ask. */
static bool begin(struct hnp *hnp, bool limit)
{
    hnp->explanation = create(hnp);
    if (!hnp->explanation) {
        return false;
    }
    hnp->explanation->limit = limit;
    loop_timer_start(&hnp->explanation->timer, ANSWER_US);
    (void) !hnp_broadcast(hnp, proto_new(ORDER_EXPLAIN, "u", ++hnp->explanations));
    return true;
}

void hnp_explain_signal(struct hnp *hnp)
{
    if (hnp->explanation) {
        hnp_tell(hnp, "what is not known yet is not waited for");
        conclude(hnp);
    } else if (!job_runs(&hnp->job)) {
        hnp_tell(hnp, "no ranks run: the job is %s", hnp->job.fsm->states[hnp->job.phase]);
    } else if (begin(hnp, false)) {
        hnp_tell(hnp, "this is what the ranks do:");
    }
}

void hnp_explain_limit(struct hnp *hnp)
{
    if (hnp->explanation) {
        hnp->explanation->limit = true;
    } else if (begin(hnp, true)) {
        hnp_tell(hnp, "%u s are over, and this is what the ranks do:", hnp->job.limits.timeout_s);
    } else {
        job_timer(&hnp->job, JOB_TIMER_LIMIT, clock_us());
    }
}

void hnp_explain_cut(struct hnp *hnp)
{
    if (hnp->explanation) {
        hnp->explanation->limit = false; /* the job ends already */
        conclude(hnp);
    }
}

/* --- answers --- */

static int take_state(struct explanation *explanation, uint32_t vpid, opal_buffer_t *buffer)
{
    const struct hnp *hnp = explanation->hnp;
    uint32_t rank;
    char *what;
    struct rank_state_told told = {.node = hnp->dvm.daemons[vpid].node};
    int status = proto_unpack(buffer, "uuqs", &rank, &told.pid, &told.for_ms, &what);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    told.what = what;
    status = rank >= hnp->plan.rank_count || hnp->daemon_of_node[hnp->plan.node_of[rank]] != vpid
                 ? ORTE_ERR_PERM
                 : rank_states_tell(explanation->states, rank, &told);
    free(what);
    return status;
}

static bool all_have_answered(const struct explanation *explanation)
{
    bool all = true;
    for (uint32_t vpid = 0; vpid < explanation->daemon_count && all; vpid++) {
        all = !explanation->awaited[vpid] || !hnp_peer_lives(explanation->hnp, vpid);
    }
    return all;
}

int hnp_take_states(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    struct explanation *explanation = hnp->explanation;
    uint32_t number, count;
    int status = proto_unpack(buffer, "uu", &number, &count);
    if (status != OPAL_SUCCESS || number != hnp->explanations || !explanation ||
        !is_awaited(explanation, vpid)) {
        return status; /* that of an earlier question, and late */
    }
    for (uint32_t i = 0; i < count && status == ORTE_SUCCESS; i++) {
        status = take_state(explanation, vpid, buffer);
    }
    explanation->awaited[vpid] = false;
    if (all_have_answered(explanation)) {
        conclude(hnp);
    }
    return status;
}
