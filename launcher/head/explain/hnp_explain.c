/* What the ranks do, for a user whose job hangs: at its time limit, and on SIGQUIT; and for tools
 * that ask. The daemons are asked, and those that do not answer in time are named. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/data/clock.h>
#include <base/settings/param.h>
#include <launcher/head/explain/rank_stacks.h>
#include <launcher/node/explain/tracer.h>
#include <stdio.h>
#include <stdlib.h>
#include <wireup/look.h>
#include <wireup/proto.h>

static struct param stack_traces =
    PARAM_INT("stack_traces_s", "10", 0, 3600, "s",
              "What debuggers have to look at all ranks of a job that hangs, or at all that crash; "
              "0: they do not where it hangs, and have stack_trace_s where ranks crash");
PARAM_ROWS("launcher", stack_traces);

#define TRACED_US 1000000u /* for the daemons to report, when that time is over */
#define ANSWER_US 2000000u /* for the daemons, which know what to say */

/* Who is told. */
struct asker {
    bool is_tool; /* else the user */
    bool stacks;  /* wants them */
    orte_process_name_t tool;
    uint64_t number; /* of the tool's question */
};

struct explanation {
    struct list link;
    struct hnp *hnp; /* borrowed */
    uint32_t number;
    struct asker asker;
    bool limit; /* the job's time is over, and it fails at the end */
    uint32_t daemon_count;
    bool *awaited;    /* owned, by vpid: it has not said its ranks' states ... */
    bool *tracing;    /* owned: ... and not all their stacks */
    uint32_t *pids;   /* owned: the daemons', where they have said it */
    bool states_told; /* to the asker */
    struct rank_states *states;
    struct rank_stacks *stacks;
    opal_buffer_t *lines; /* owned: for a tool; NULL: for the user, or no memory */
    struct loop_timer timer;
};

static void destroy(struct explanation *explanation)
{
    loop_timer_stop(&explanation->timer);
    rank_states_destroy(explanation->states);
    rank_stacks_destroy(explanation->stacks);
    free(explanation->awaited);
    free(explanation->tracing);
    free(explanation->pids);
    if (explanation->lines) {
        OBJ_RELEASE(explanation->lines);
    }
    free(explanation);
}

void hnp_explain_fini(struct hnp *hnp)
{
    for (struct list *link; (link = list_pop(&hnp->explanations.under_way));) {
        destroy(container_of(link, struct explanation, link));
    }
}

static struct explanation *find(const struct hnp *hnp, uint32_t number)
{
    struct explanation *explanation;
    list_for_each (explanation, &hnp->explanations.under_way, struct explanation, link) {
        if (explanation->number == number) {
            return explanation;
        }
    }
    return NULL;
}

/* The user's is that of no tool (NULL). */
static struct explanation *find_asker(const struct hnp *hnp, const orte_process_name_t *tool)
{
    struct explanation *explanation;
    list_for_each (explanation, &hnp->explanations.under_way, struct explanation, link) {
        const struct asker *asker = &explanation->asker;
        if (asker->is_tool == (tool != NULL) &&
            (!tool ||
             orte_util_compare_name_fields(ORTE_NS_CMP_ALL, tool, &asker->tool) == OPAL_EQUAL)) {
            return explanation;
        }
    }
    return NULL;
}

/* The one that debuggers are at work for. */
static struct explanation *find_tracing(const struct hnp *hnp)
{
    struct explanation *explanation;
    list_for_each (explanation, &hnp->explanations.under_way, struct explanation, link) {
        for (uint32_t vpid = 0; vpid < explanation->daemon_count; vpid++) {
            if (explanation->tracing[vpid]) {
                return explanation;
            }
        }
    }
    return NULL;
}

static void say(void *arg, const char *line)
{
    struct explanation *explanation = arg;
    if (!explanation->asker.is_tool) {
        hnp_tell(explanation->hnp, "%s", line);
    } else if (explanation->lines) {
        explanation->lines =
            proto_whole(explanation->lines, look_pack_line(explanation->lines, line));
    }
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

static void tell_missing(struct explanation *explanation, const char *what, const char *why,
                         bool (*chosen)(const void *arg, uint32_t vpid))
{
    uint32_t count;
    char *nodes = dvm_name_nodes(&explanation->hnp->dvm, chosen, explanation, &count), *line;
    if (count > 0 && asprintf(&line, "%s of the ranks of node%s %s%s", what, count == 1 ? "" : "s",
                              nodes ? nodes : "?", why) >= 0) {
        say(explanation, line);
        free(line);
    }
    free(nodes);
}

static void tell_states(struct explanation *explanation)
{
    explanation->states_told = true;
    if (explanation->asker.stacks) {
        rank_states_print(explanation->states, say, explanation);
        tell_missing(explanation, "nothing is known", ": no answer", is_awaited);
    }
    for (uint32_t vpid = 0; vpid < explanation->daemon_count; vpid++) {
        explanation->tracing[vpid] = explanation->tracing[vpid] && !explanation->awaited[vpid];
    }
}

static void answer_tool(struct explanation *explanation)
{
    struct hnp *hnp = explanation->hnp;
    const struct known known = {explanation->daemon_count, explanation->awaited, explanation->pids,
                                explanation->states};
    opal_buffer_t *answer = hnp_look_pack(hnp, explanation->asker.number, &known);
    int status = explanation->lines ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    if (answer && status == ORTE_SUCCESS) {
        status = opal_dss.copy_payload(answer, explanation->lines);
    }
    if (answer && status == ORTE_SUCCESS) {
        status = look_pack_end(answer);
    }
    tools_answer(hnp->tools, &explanation->asker.tool, proto_whole(answer, status));
}

/* The end: what is known is told, and the job whose time is over fails. */
static void conclude(struct explanation *explanation)
{
    struct hnp *hnp = explanation->hnp;
    bool limit = explanation->limit;
    list_remove(&explanation->link);
    if (!explanation->states_told) {
        tell_states(explanation);
    }
    rank_stacks_print(explanation->stacks, "are", say, explanation);
    tell_missing(explanation, "not all stacks are known", "", is_tracing);
    if (explanation->asker.is_tool) {
        answer_tool(explanation);
    }
    destroy(explanation);
    if (limit) {
        job_timer(&hnp->job, JOB_TIMER_LIMIT, clock_us());
    }
}

static bool all_lost(const struct explanation *explanation, const bool *daemons)
{
    bool all = true;
    for (uint32_t vpid = 0; vpid < explanation->daemon_count && all; vpid++) {
        all = !daemons[vpid] || !dvm_lives(&explanation->hnp->dvm, vpid);
    }
    return all;
}

uint64_t hnp_traces_us(void)
{
    return (uint64_t) param_int(&stack_traces) * 1000000u;
}

/* Somebody has answered, or should have: states first, then stacks. */
static void check(struct explanation *explanation, bool over)
{
    if (!explanation->states_told && (over || all_lost(explanation, explanation->awaited))) {
        over = false;
        tell_states(explanation);
        loop_timer_start(&explanation->timer, hnp_traces_us() + TRACED_US);
    }
    if (explanation->states_told && (over || all_lost(explanation, explanation->tracing))) {
        conclude(explanation);
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
    } else if (dvm_lives(&hnp->dvm, vpid)) {
        explanation->awaited[vpid] = true;
        explanation->tracing[vpid] = explanation->asker.stacks && hnp_traces_us() > 0;
    }
}

static struct explanation *create(struct hnp *hnp, const struct asker *asker)
{
    struct explanation *explanation = calloc(1, sizeof(*explanation));
    if (!explanation) {
        return NULL;
    }
    explanation->hnp = hnp;
    explanation->asker = *asker;
    explanation->lines = asker->is_tool ? OBJ_NEW(opal_buffer_t) : NULL;
    explanation->daemon_count = hnp->dvm.count;
    explanation->awaited = calloc((size_t) hnp->dvm.count + 1, sizeof(bool));
    explanation->tracing = calloc((size_t) hnp->dvm.count + 1, sizeof(bool));
    explanation->pids = calloc((size_t) hnp->dvm.count + 1, sizeof(uint32_t));
    loop_timer_init(&explanation->timer, hnp->config.loop, answers_over);
    int status = rank_states_create(&explanation->states, hnp->plan.rank_count);
    if (status == ORTE_SUCCESS) {
        status = rank_stacks_create(&explanation->stacks, hnp->plan.rank_count, true);
    }
    if (status != ORTE_SUCCESS || !explanation->awaited || !explanation->tracing ||
        !explanation->pids) {
        destroy(explanation);
        return NULL;
    }
    for (uint32_t rank = 0; rank < hnp->plan.rank_count; rank++) {
        await_rank(explanation, rank);
    }
    return explanation;
}

/* each_us 0: their states alone. */
static void order(struct hnp *hnp, uint32_t number, uint64_t each_us, uint64_t all_us)
{
    (void) !hnp_broadcast(hnp, proto_new(ORDER_EXPLAIN, "uuu", number, (uint32_t) (each_us / 1000u),
                                         (uint32_t) (all_us / 1000u)));
}

/* The debuggers are for one asker at a time, the user before tools. */
static void choose_tracing(struct hnp *hnp, struct asker *asker)
{
    struct explanation *other = asker->stacks ? find_tracing(hnp) : NULL;
    if (other && asker->is_tool) {
        asker->stacks = false;
    } else if (other) {
        say(other, "the stacks are wanted by keelrun itself, too, which prints them");
        conclude(other);
    }
}

/* NULL: there is no memory. */
static struct explanation *begin(struct hnp *hnp, struct asker asker)
{
    bool stacks = asker.stacks;
    choose_tracing(hnp, &asker);
    struct explanation *explanation = create(hnp, &asker);
    if (!explanation) {
        return NULL;
    }
    if (stacks && !asker.stacks) {
        say(explanation, "debuggers look at the ranks for somebody else just now: no stacks");
    }
    explanation->number = ++hnp->explanations.last;
    list_append(&hnp->explanations.under_way, &explanation->link);
    loop_timer_start(&explanation->timer, ANSWER_US);
    order(hnp, explanation->number, asker.stacks ? tracer_each_us() : 0,
          asker.stacks ? hnp_traces_us() : 0);
    return explanation;
}

static const struct asker the_user = {.stacks = true};

void hnp_explain_signal(struct hnp *hnp)
{
    struct explanation *explanation = find_asker(hnp, NULL);
    if (explanation) {
        hnp_tell(hnp, "what is not known yet is not waited for");
        order(hnp, ++hnp->explanations.last, tracer_each_us(), 0);
        conclude(explanation);
    } else if (!job_runs(&hnp->job)) {
        hnp_tell(hnp, "no ranks run: the job is %s", hnp->job.fsm->states[hnp->job.phase]);
        hnp_tell_away(hnp);
    } else if (begin(hnp, the_user)) {
        hnp_tell(hnp, "this is what the ranks do:");
    }
}

void hnp_explain_limit(struct hnp *hnp)
{
    struct explanation *explanation = find_asker(hnp, NULL);
    if (!job_runs(&hnp->job)) {
        hnp_tell_away(hnp);
    } else if (!explanation) {
        explanation = begin(hnp, the_user);
        hnp_tell(hnp, "%u s are over, and this is what the ranks do:", hnp->job.limits.timeout_s);
    }
    if (explanation) {
        explanation->limit = true;
    } else {
        job_timer(&hnp->job, JOB_TIMER_LIMIT, clock_us());
    }
}

void hnp_look(struct hnp *hnp, const orte_process_name_t *tool, uint64_t number, bool stacks)
{
    struct explanation *explanation = find_asker(hnp, tool);
    struct asker asker = {.is_tool = true, .stacks = stacks, .tool = *tool, .number = number};
    if (explanation) {
        conclude(explanation);
    }
    if (!job_has_ranks(&hnp->job)) {
        opal_buffer_t *answer = hnp_look_pack(hnp, number, NULL);
        int status = answer ? look_pack_end(answer) : ORTE_ERR_OUT_OF_RESOURCE;
        tools_answer(hnp->tools, tool, proto_whole(answer, status));
        return;
    }
    explanation = begin(hnp, asker);
    if (explanation) {
        check(explanation, false); /* nobody may be left to be asked */
    }
}

void hnp_explain_cut(struct hnp *hnp)
{
    hnp_crash_cut(hnp);
    while (!list_empty(&hnp->explanations.under_way)) {
        struct explanation *explanation =
            container_of(hnp->explanations.under_way.next, struct explanation, link);
        explanation->limit = false; /* the job ends already */
        conclude(explanation);
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
    int status =
        proto_unpack(buffer, "uuqsqqqb", &rank, &told.pid, &told.for_ms, &what, &told.age_ms,
                     &told.cpu_ms, &told.memory_bytes, &told.counters.data, &told.counters.size);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    told.what = what;
    status = !is_of(hnp, vpid, rank) ? ORTE_ERR_PERM
                                     : rank_states_tell(explanation->states, rank, &told);
    free(what);
    free(told.counters.data);
    return status == ORTE_ERR_VALUE_OUT_OF_BOUNDS ? ORTE_SUCCESS : status; /* added since */
}

int hnp_take_states(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t number, pid, count;
    int status = proto_unpack(buffer, "uuu", &number, &pid, &count);
    struct explanation *explanation = status == OPAL_SUCCESS ? find(hnp, number) : NULL;
    if (!explanation || !is_awaited(explanation, vpid)) {
        return status; /* late */
    }
    explanation->pids[vpid] = pid;
    for (uint32_t i = 0; i < count && status == ORTE_SUCCESS; i++) {
        status = take_state(explanation, vpid, buffer);
    }
    explanation->awaited[vpid] = false;
    check(explanation, false);
    return status;
}

/* The explanation that this belongs to, where it is still awaited from this daemon; else NULL. */
static struct explanation *find_awaiting(const struct hnp *hnp, uint32_t vpid, uint32_t number)
{
    struct explanation *explanation = find(hnp, number);
    return explanation && is_tracing(explanation, vpid) ? explanation : NULL;
}

static int take_thread(struct rank_stacks *stacks, uint32_t rank, opal_buffer_t *buffer)
{
    uint8_t first;
    char *frames;
    int status = proto_unpack(buffer, "cs", &first, &frames);
    if (status == OPAL_SUCCESS) {
        status = rank_stacks_tell(stacks, rank, first != 0, frames);
        free(frames);
    }
    return status;
}

static int take_threads(struct rank_stacks *stacks, uint32_t rank, const char *why,
                        uint32_t threads, opal_buffer_t *buffer)
{
    int status = why[0] ? rank_stacks_fail(stacks, rank, why) : ORTE_SUCCESS;
    for (uint32_t i = 0; i < threads && status == ORTE_SUCCESS; i++) {
        status = take_thread(stacks, rank, buffer);
    }
    return status;
}

static int take_crash(struct hnp *hnp, uint32_t rank, const char *why, uint32_t threads,
                      opal_buffer_t *buffer)
{
    struct rank_stacks *stacks = hnp_crash_stacks(hnp, rank);
    return stacks ? take_threads(stacks, rank, why, threads, buffer) : ORTE_ERR_OUT_OF_RESOURCE;
}

int hnp_take_stack(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t number, rank, threads;
    char *why;
    int status = proto_unpack(buffer, "uusu", &number, &rank, &why, &threads);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct explanation *explanation = find_awaiting(hnp, vpid, number); /* NULL: late */
    if (!is_of(hnp, vpid, rank)) {
        status = ORTE_ERR_PERM;
    } else if (number == STACK_OF_CRASH) {
        status = take_crash(hnp, rank, why, threads, buffer);
    } else if (explanation) {
        status = take_threads(explanation->stacks, rank, why, threads, buffer);
    }
    free(why);
    return status;
}

/* No rank of this daemon was looked at. */
static void fail_all(struct explanation *explanation, uint32_t vpid, const char *why)
{
    const struct hnp *hnp = explanation->hnp;
    for (uint32_t rank = 0; rank < hnp->plan.rank_count; rank++) {
        if (is_of(hnp, vpid, rank) && !hnp->job.ended[rank]) {
            (void) !rank_stacks_fail(explanation->stacks, rank, why);
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
    struct explanation *explanation = find_awaiting(hnp, vpid, number);
    if (explanation) {
        if (why[0]) {
            fail_all(explanation, vpid, why);
        }
        explanation->tracing[vpid] = false;
        check(explanation, false);
    }
    free(why);
    return ORTE_SUCCESS;
}
