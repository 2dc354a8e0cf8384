/* What the ranks do, for a user whose job hangs: at its time limit, and on SIGQUIT. The daemons are
 * asked, and those that do not answer in time are named. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/data/clock.h>
#include <base/settings/param.h>
#include <launcher/head/rank_stacks.h>
#include <stdlib.h>
#include <wireup/proto.h>

static struct param stack_params[] = {
    PARAM_INT("stack_traces_s", "10", 0, 3600, "s",
              "What debuggers have to look at all ranks of a job that hangs; 0: they do not"),
    PARAM_INT("stack_trace_s", "5", 1, 3600, "s", "What a debugger has to look at one of them"),
};
PARAM_ROWS("launcher", stack_params);

#define TRACED_US 1000000u /* for the daemons to report, when that time is over */
#define ANSWER_US 2000000u /* for the daemons, which know what to say */

struct explanation {
    struct hnp *hnp; /* borrowed */
    bool limit;      /* the job's time is over, and it fails at the end */
    uint32_t daemon_count;
    bool *awaited;    /* owned, by vpid: it has not said its ranks' states ... */
    bool *tracing;    /* owned: ... and not all their stacks */
    bool states_told; /* to the user */
    struct rank_states *states;
    struct rank_stacks *stacks;
    struct loop_timer timer;
};

static void destroy(struct explanation *explanation)
{
    loop_timer_stop(&explanation->timer);
    rank_states_destroy(explanation->states);
    rank_stacks_destroy(explanation->stacks);
    free(explanation->awaited);
    free(explanation->tracing);
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

static bool is_tracing(const void *arg, uint32_t vpid)
{
    const struct explanation *explanation = arg;
    return vpid < explanation->daemon_count && explanation->tracing[vpid];
}

static void tell_missing(const struct explanation *explanation, const char *what, const char *why,
                         bool (*chosen)(const void *arg, uint32_t vpid))
{
    struct hnp *hnp = explanation->hnp;
    uint32_t count;
    char *nodes = dvm_name_nodes(&hnp->dvm, chosen, explanation, &count);
    if (count > 0) {
        hnp_tell(hnp, "%s of the ranks of node%s %s%s", what, count == 1 ? "" : "s",
                 nodes ? nodes : "?", why);
    }
    free(nodes);
}

static void tell_states(struct explanation *explanation)
{
    explanation->states_told = true;
    rank_states_print(explanation->states, say, explanation->hnp);
    tell_missing(explanation, "nothing is known", ": no answer", is_awaited);
    for (uint32_t vpid = 0; vpid < explanation->daemon_count; vpid++) {
        explanation->tracing[vpid] = explanation->tracing[vpid] && !explanation->awaited[vpid];
    }
}

/* The end: what is known is told, and the job whose time is over fails. */
static void conclude(struct hnp *hnp)
{
    struct explanation *explanation = hnp->explanation;
    bool limit = explanation->limit;
    hnp->explanation = NULL;
    if (!explanation->states_told) {
        tell_states(explanation);
    }
    rank_stacks_print(explanation->stacks, say, hnp);
    tell_missing(explanation, "not all stacks are known", "", is_tracing);
    destroy(explanation);
    if (limit) {
        job_timer(&hnp->job, JOB_TIMER_LIMIT, clock_us());
    }
}

static bool all_lost(const struct explanation *explanation, const bool *daemons)
{
    bool all = true;
    for (uint32_t vpid = 0; vpid < explanation->daemon_count && all; vpid++) {
        all = !daemons[vpid] || !hnp_peer_lives(explanation->hnp, vpid);
    }
    return all;
}

static uint64_t traces_us(void)
{
    return (uint64_t) param_int(&stack_params[0]) * 1000000u;
}

/* Somebody has answered, or should have: states first, then stacks. */
static void check(struct explanation *explanation, bool over)
{
    if (!explanation->states_told && (over || all_lost(explanation, explanation->awaited))) {
        over = false;
        tell_states(explanation);
        loop_timer_start(&explanation->timer, traces_us() + TRACED_US);
    }
    if (explanation->states_told && (over || all_lost(explanation, explanation->tracing))) {
        conclude(explanation->hnp);
    }
}

static void answers_over(struct loop_timer *timer)
{
    check(container_of(timer, struct explanation, timer), true);
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
        explanation->tracing[vpid] = traces_us() > 0;
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
    explanation->tracing = calloc((size_t) hnp->dvm.count + 1, sizeof(bool));
    loop_timer_init(&explanation->timer, hnp->loop, answers_over);
    int status = rank_states_create(&explanation->states, hnp->plan.rank_count);
    if (status == ORTE_SUCCESS) {
        status = rank_stacks_create(&explanation->stacks, hnp->plan.rank_count);
    }
    if (status != ORTE_SUCCESS || !explanation->awaited || !explanation->tracing) {
        destroy(explanation);
        return NULL;
    }
    for (uint32_t rank = 0; rank < hnp->plan.rank_count; rank++) {
        await_rank(explanation, rank);
    }
    return explanation;
}

static void order(struct hnp *hnp, uint64_t all_us)
{
    uint32_t each_ms = (uint32_t) param_int(&stack_params[1]) * 1000u;
    (void) !hnp_broadcast(hnp, proto_new(ORDER_EXPLAIN, "uuu", ++hnp->explanations, each_ms,
                                         (uint32_t) (all_us / 1000u)));
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
    order(hnp, traces_us());
    return true;
}

void hnp_explain_signal(struct hnp *hnp)
{
    if (hnp->explanation) {
        hnp_tell(hnp, "what is not known yet is not waited for");
        order(hnp, 0);
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

static bool is_of(const struct hnp *hnp, uint32_t vpid, uint32_t rank)
{
    return rank < hnp->plan.rank_count && hnp->daemon_of_node[hnp->plan.node_of[rank]] == vpid;
}

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
    status = !is_of(hnp, vpid, rank) ? ORTE_ERR_PERM
                                     : rank_states_tell(explanation->states, rank, &told);
    free(what);
    return status;
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
    check(explanation, false);
    return status;
}

/* Is this about what is asked now, and still awaited from this daemon? */
static bool is_current(const struct hnp *hnp, uint32_t vpid, uint32_t number)
{
    return hnp->explanation && number == hnp->explanations && is_tracing(hnp->explanation, vpid);
}

static int take_thread(struct explanation *explanation, uint32_t rank, opal_buffer_t *buffer)
{
    uint8_t first;
    char *frames;
    int status = proto_unpack(buffer, "cs", &first, &frames);
    if (status == OPAL_SUCCESS) {
        status = rank_stacks_tell(explanation->stacks, rank, first != 0, frames);
        free(frames);
    }
    return status;
}

int hnp_take_stack(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t number, rank, threads;
    char *why;
    int status = proto_unpack(buffer, "uusu", &number, &rank, &why, &threads);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (!is_current(hnp, vpid, number)) {
        threads = 0; /* late */
    } else if (!is_of(hnp, vpid, rank)) {
        status = ORTE_ERR_PERM;
    } else if (why[0]) {
        status = rank_stacks_fail(hnp->explanation->stacks, rank, why);
    }
    for (uint32_t i = 0; i < threads && status == ORTE_SUCCESS; i++) {
        status = take_thread(hnp->explanation, rank, buffer);
    }
    free(why);
    return status;
}

/* No rank of this daemon was looked at. */
static void fail_all(struct hnp *hnp, uint32_t vpid, const char *why)
{
    for (uint32_t rank = 0; rank < hnp->plan.rank_count; rank++) {
        if (is_of(hnp, vpid, rank) && !hnp->job.ended[rank]) {
            (void) !rank_stacks_fail(hnp->explanation->stacks, rank, why);
        }
    }
}

int hnp_take_traced(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t number;
    char *why;
    int status = proto_unpack(buffer, "us", &number, &why);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    if (is_current(hnp, vpid, number)) {
        if (why[0]) {
            fail_all(hnp, vpid, why);
        }
        hnp->explanation->tracing[vpid] = false;
        check(hnp->explanation, false);
    }
    free(why);
    return ORTE_SUCCESS;
}
