/* More ranks, which a rank asks for while the job runs (MPI_Comm_spawn). They belong to its job:
 * they end with it, and it ends when one of them fails. */
#include <config.h>

#include <base/data/array.h>
#include <launcher/head/spawn/spawn_nodes.h>
#include <launcher/head/spawn/spawn_place.h>

#include <base/data/strings.h>
#include <base/settings/param.h>
#include <base/text/reason.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

static struct param requests_max = PARAM_INT(
    "spawn_requests_max", "256", 1, 65536, "",
    "How many requests of ranks for more ranks (MPI_Comm_spawn) may be under way at a time");
PARAM_ROWS("launcher", requests_max);

/* One request at a time gets daemons where it needs some, and is checked: what it was placed on is
 * free until it starts. */
enum spawn_state { SPAWN_QUEUED, SPAWN_GROWING, SPAWN_CHECKING, SPAWN_STARTING };

/* A request on its way. All daemons check it, so that nothing is started of one that cannot be, and
 * then start their part. */
struct spawn_request {
    struct list link;
    struct hnp *hnp;
    struct loop_timer timer;
    enum spawn_state state;
    uint32_t asker;
    uint64_t request;
    struct spawned spawned;         /* owned; placed once it is checked */
    struct spawn_program *programs; /* owned, one for each of spawned */
    struct node_set unknown;        /* the nodes whose topologies it needs */
    uint32_t missing;               /* daemons that have yet to check or to start their part */
    int32_t status;                 /* the first error */
    bool *settled;                  /* owned, by vpid: nothing more is to come of this daemon */
    uint32_t daemon_count;          /* of settled; later daemons have nothing to do with it */
};

static void request_free(struct spawn_request *request)
{
    loop_timer_stop(&request->timer);
    list_remove(&request->link);
    for (uint32_t i = 0; i < request->spawned.app_count; i++) {
        strings_free(request->programs[i].info);
    }
    free(request->programs);
    free(request->settled);
    free(request->unknown.nodes);
    spawned_fini(&request->spawned);
    free(request);
}

static bool is_settled(const struct spawn_request *request, uint32_t vpid)
{
    return vpid >= request->daemon_count || request->settled[vpid];
}

static void too_late(struct loop_timer *timer)
{
    struct spawn_request *request = container_of(timer, struct spawn_request, timer);
    struct hnp *hnp = request->hnp;
    uint32_t vpid = 0;
    while (vpid < request->daemon_count &&
           (request->settled[vpid] || !dvm_lives(&hnp->dvm, vpid))) {
        vpid++;
    }
    if (vpid < request->daemon_count) {
        job_fail(&hnp->job, EXIT_RUNTIME, "node %s: its daemon has not started more ranks in time",
                 hnp->dvm.daemons[vpid].node);
    }
}

static struct spawn_request *request_new(struct hnp *hnp, uint32_t asker, uint64_t id)
{
    struct spawn_request *request = calloc(1, sizeof(*request));
    if (request) {
        request->hnp = hnp;
        request->asker = asker;
        request->request = id;
        loop_timer_init(&request->timer, hnp->config.loop, too_late);
        list_append(&hnp->spawns.requests, &request->link);
    }
    return request;
}

static void answer(struct hnp *hnp, uint32_t asker, uint64_t request, int32_t status,
                   uint32_t number)
{
    if (dvm_lives(&hnp->dvm, asker)) {
        (void) daemon_order(hnp->daemon, asker,
                            proto_new(ORDER_SPAWNED, "qiu", request, status, number));
    }
}

/* The request is over, and gone. */
static void settle(struct spawn_request *request)
{
    answer(request->hnp, request->asker, request->request, request->status,
           request->status == ORTE_SUCCESS ? request->spawned.number : 0);
    request_free(request);
}

/* --- reading the request --- */

/* u programs, programs x struct spawn_wish. */
static int read_programs(opal_buffer_t *buffer, struct spawn_request *request, uint64_t *ranks)
{
    struct codec codec = {.buffer = buffer, .unpacks = true};
    struct spawned *spawned = &request->spawned;
    uint32_t count = 0;
    *ranks = 0;
    codec_u32(&codec, &count, SPAWN_APPS_MAX);
    codec_check(&codec, count > 0);
    codec_array(&codec, &request->programs, &spawned->app_count, count, sizeof(*request->programs));
    codec_array(&codec, &spawned->apps, &spawned->app_count, count, sizeof(*spawned->apps));
    for (uint32_t i = 0; i < count && codec_goes_on(&codec); i++) {
        struct spawn_wish wish = {0};
        spawn_wish_code(&codec, &wish);
        spawned->apps[i] = wish.app;
        request->programs[i].count = wish.count;
        request->programs[i].info = wish.info;
        *ranks += wish.count;
    }
    return codec.status;
}

static int read_request(opal_buffer_t *buffer, struct spawn_request *request, char *reason,
                        size_t reason_size)
{
    uint64_t ranks;
    struct spawned *spawned = &request->spawned;
    int status = proto_unpack_strings(buffer, &spawned->puts);
    if (status == ORTE_SUCCESS) {
        status = read_programs(buffer, request, &ranks);
    }
    if (status != ORTE_SUCCESS) {
        return reason_set(status, reason, reason_size, "%s", opal_strerror(status));
    }
    if (ranks == 0 || ranks > SPAWN_RANKS_MAX) {
        return reason_set(ORTE_ERR_BAD_PARAM, reason, reason_size,
                          "%llu ranks: 1 to %d can be spawned at a time",
                          (unsigned long long) ranks, SPAWN_RANKS_MAX);
    }
    spawned->count = (uint32_t) ranks;
    return ORTE_SUCCESS;
}

/* --- the HNP's own tables --- */

/* Programs are only named here: argv; -N goes on to what they spawn. */
static int add_programs(struct hnp *hnp, const struct spawned *spawned)
{
    struct run_request *request = &hnp->request;
    size_t count = request->app_count + spawned->app_count;
    if (!array_resize(&request->apps, count, sizeof(*request->apps))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    uint32_t per_node = request->apps[hnp->plan.app_of[spawned->parent]].per_node;
    for (uint32_t i = 0; i < spawned->app_count; i++) {
        struct app_request app = {.argv = calloc(2, sizeof(char *)), .per_node = per_node};
        if (!app.argv || !(app.argv[0] = strdup(spawned->apps[i].argv[0]))) {
            free(app.argv);
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
        request->apps[request->app_count++] = app;
    }
    return ORTE_SUCCESS;
}

static int add_ranks(struct hnp *hnp, const struct spawned *spawned)
{
    struct job_plan *plan = &hnp->plan;
    if (!job_plan_reserve(plan, spawned->count)) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < spawned->count; i++) {
        plan->cpus[spawned->first + i] = strdup(spawned->cpus[i]);
        plan->cpus[spawned->first + i + 1] = NULL;
        if (!plan->cpus[spawned->first + i]) {
            return ORTE_ERR_OUT_OF_RESOURCE;
        }
    }
    for (uint32_t i = 0; i < spawned->count; i++) {
        plan->node_of[spawned->first + i] = spawned->node_of[i];
        plan->app_of[spawned->first + i] = spawned->app_of[i];
        plan->local_rank_of[spawned->first + i] = spawned->local_rank_of[i];
    }
    plan->rank_count += spawned->count;
    return job_add_ranks(&hnp->job, spawned->count);
}

/* --- ordering --- */

static int await_all(struct spawn_request *request)
{
    const struct hnp *hnp = request->hnp;
    bool *settled = calloc(hnp->dvm.count, sizeof(*settled));
    if (!settled) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    free(request->settled);
    request->settled = settled;
    request->daemon_count = hnp->dvm.count;
    request->missing = 0;
    for (uint32_t vpid = 0; vpid < hnp->dvm.count; vpid++) {
        settled[vpid] = !hnp_peer_hears(hnp, vpid);
        request->missing += hnp_peer_hears(hnp, vpid);
    }
    return ORTE_SUCCESS;
}

/* To all daemons, each of which reports when it has done its part. */
static int order_all(struct spawn_request *request, uint8_t kind)
{
    struct hnp *hnp = request->hnp;
    opal_buffer_t *order = proto_new(kind, "");
    if (order) {
        order = proto_whole(order, spawned_pack(order, &request->spawned));
    }
    int status = order ? await_all(request) : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == ORTE_SUCCESS && kind == ORDER_SPAWN) {
        status = hnp_keep_order(hnp, order);
    }
    if (status != ORTE_SUCCESS) {
        (void) !proto_whole(order, status);
        return status;
    }
    loop_timer_start(&request->timer, hnp_launch_limit_us());
    return hnp_broadcast(hnp, order);
}

/* Does one of its programs ask for it? */
static bool wants(const struct spawn_request *request, const char *key)
{
    bool wanted = false;
    for (uint32_t i = 0; i < request->spawned.app_count && !wanted; i++) {
        wanted = strings_value(request->programs[i].info, key);
    }
    return wanted;
}

static void start(struct spawn_request *request)
{
    struct hnp *hnp = request->hnp;
    struct spawned *spawned = &request->spawned;
    request->state = SPAWN_STARTING;
    hnp->spawns.count++;
    int status = add_programs(hnp, spawned);
    if (status == ORTE_SUCCESS) {
        status = add_ranks(hnp, spawned);
    }
    if (status == ORTE_SUCCESS) {
        spawn_add_nodes(hnp, spawned);
        hnp_show(hnp, spawned->first,
                 (wants(request, SPAWN_DISPLAY_MAP) ? DISPLAY_MAP : 0u) |
                     (wants(request, SPAWN_DISPLAY_ALLOCATION) ? DISPLAY_ALLOCATION : 0u),
                 wants(request, SPAWN_REPORT_BINDINGS));
        for (uint32_t i = 0; hnp->request.simulate_topo && i < spawned->count; i++) {
            spawned->cpus[i][0] = '\0'; /* these processors are nowhere */
        }
        status = hnp_submit_take(hnp);
    }
    if (status == ORTE_SUCCESS) {
        status = order_all(request, ORDER_SPAWN);
    }
    if (status != ORTE_SUCCESS) { /* the tables of the daemons may differ now */
        job_fail(&hnp->job, EXIT_RUNTIME, "more ranks cannot be started: %s",
                 opal_strerror(status));
    }
}

static void refuse(struct spawn_request *request, int status, const char *reason)
{
    if (request->status == ORTE_SUCCESS) {
        hnp_tell(request->hnp, "rank %u: MPI_Comm_spawn is refused: %s", request->spawned.parent,
                 reason);
        request->status = status;
    }
}

/* What places it had. */
static void displace(struct spawned *spawned)
{
    free(spawned->app_of);
    free(spawned->node_of);
    free(spawned->local_rank_of);
    strings_free(spawned->cpus);
    spawned->app_of = spawned->node_of = spawned->local_rank_of = NULL;
    spawned->cpus = NULL;
}

static int place(struct spawn_request *request)
{
    char reason[512];
    struct hnp *hnp = request->hnp;
    struct spawned *spawned = &request->spawned;
    displace(spawned);
    free(request->unknown.nodes);
    request->unknown = (struct node_set){0};
    spawned->number = hnp->spawns.count + 1;
    spawned->first = hnp->plan.rank_count;
    spawned->app_first = (uint32_t) hnp->request.app_count;
    int status =
        spawn_place(hnp, spawned, request->programs, &request->unknown, reason, sizeof(reason));
    if (request->unknown.count > 0) {
        return ORTE_SUCCESS; /* it is placed again */
    }
    if (status != ORTE_SUCCESS) {
        refuse(request, status, reason);
    } else if (reason[0] && !spawn_lacks_daemons(hnp, spawned)) {
        hnp_tell(hnp, "rank %u: MPI_Comm_spawn: %s", spawned->parent, reason);
    }
    return status;
}

/* These nodes get daemons, and tell their topologies where these are needed. */
static void grow(struct spawn_request *request, const uint32_t *nodes, uint32_t count)
{
    char reason[512];
    struct hnp *hnp = request->hnp;
    request->state = SPAWN_GROWING;
    int status = hnp_grow(hnp, nodes, count, reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        refuse(request, status, reason);
        hnp->topologies.asked = NULL;
        settle(request);
    }
}

/* Has the daemons look whether they can start what is to run there. */
static void ask_all(struct spawn_request *request)
{
    request->state = SPAWN_CHECKING;
    int status = spawn_name_nodes(request->hnp, &request->spawned);
    if (status == ORTE_SUCCESS) {
        status = order_all(request, ORDER_CHECK);
    }
    request->status = status;
    if (status != ORTE_SUCCESS) {
        settle(request);
    }
}

/* Finds places, which may change while daemons are started there. */
static void check(struct spawn_request *request)
{
    int status = place(request);
    if (status != ORTE_SUCCESS) {
        settle(request);
    } else if (request->unknown.count > 0) {
        request->hnp->topologies.asked = &request->unknown;
        grow(request, request->unknown.nodes, request->unknown.count);
    } else if (spawn_lacks_daemons(request->hnp, &request->spawned)) {
        grow(request, request->spawned.node_of, request->spawned.count);
    } else {
        ask_all(request);
    }
}

static struct spawn_request *find_request(struct hnp *hnp, enum spawn_state state)
{
    struct spawn_request *request;
    list_for_each (request, &hnp->spawns.requests, struct spawn_request, link) {
        if (request->state == state) {
            return request;
        }
    }
    return NULL;
}

/* Checks the next request, unless one is being checked. */
static void go_on(struct hnp *hnp)
{
    struct spawn_request *next;
    while (!find_request(hnp, SPAWN_GROWING) && !find_request(hnp, SPAWN_CHECKING) &&
           (next = find_request(hnp, SPAWN_QUEUED))) {
        if (job_runs(&hnp->job)) {
            check(next);
        } else {
            next->status = ORTE_ERR_NOT_AVAILABLE;
            settle(next);
        }
    }
}

void hnp_spawn_unable(struct hnp *hnp, const char *reason)
{
    struct spawn_request *request = find_request(hnp, SPAWN_GROWING);
    if (request) {
        refuse(request, ORTE_ERR_NOT_AVAILABLE, reason);
    }
}

void hnp_spawn_grown(struct hnp *hnp)
{
    char reason[512];
    struct spawn_request *request = find_request(hnp, SPAWN_GROWING);
    if (!hnp_examined(hnp, reason, sizeof(reason))) {
        hnp_spawn_unable(hnp, reason);
    }
    if (!spawn_drop_lost(hnp, reason, sizeof(reason))) {
        hnp_spawn_unable(hnp, reason);
    }
    if (!request) {
        return;
    }
    if (request->status != ORTE_SUCCESS) {
        settle(request);
    } else if (!job_runs(&hnp->job)) {
        request->status = ORTE_ERR_NOT_AVAILABLE;
        settle(request);
    } else {
        check(request);
    }
    go_on(hnp);
}

/* --- requests and reports --- */

/* False: so many wait that it is refused. */
static bool has_room(struct hnp *hnp, uint32_t parent)
{
    uint32_t count = 0, most = (uint32_t) param_int(&requests_max);
    for (const struct list *link = hnp->spawns.requests.next; link != &hnp->spawns.requests;
         link = link->next) {
        count++;
    }
    if (count >= most) {
        hnp_tell(hnp,
                 "rank %u: MPI_Comm_spawn is refused: %u requests are under way "
                 "(spawn_requests_max)",
                 parent, count);
    }
    return count < most;
}

int hnp_spawn(struct hnp *hnp, uint32_t asker, opal_buffer_t *buffer)
{
    uint64_t id;
    uint32_t parent;
    int status = proto_unpack(buffer, "qu", &id, &parent);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    bool running = job_runs(&hnp->job) && parent < hnp->plan.rank_count;
    struct spawn_request *request =
        running && has_room(hnp, parent) ? request_new(hnp, asker, id) : NULL;
    if (!request) {
        answer(hnp, asker, id, running ? ORTE_ERR_OUT_OF_RESOURCE : ORTE_ERR_NOT_AVAILABLE, 0);
        return ORTE_SUCCESS;
    }
    char reason[128];
    request->spawned.parent = parent;
    status = read_request(buffer, request, reason, sizeof(reason));
    if (status == ORTE_SUCCESS) {
        go_on(hnp);
    } else {
        refuse(request, status, reason);
        settle(request);
    }
    return ORTE_SUCCESS;
}

/* All daemons have checked it. The daemon of an idle node may have been lost since it did. */
static void end_check(struct spawn_request *request)
{
    struct hnp *hnp = request->hnp;
    if (!job_runs(&hnp->job) && request->status == ORTE_SUCCESS) {
        request->status = ORTE_ERR_NOT_AVAILABLE;
    } else if (spawn_lacks_daemons(hnp, &request->spawned)) {
        refuse(request, ORTE_ERR_COMM_FAILURE, "a daemon that it needs is lost");
    }
    if (request->status == ORTE_SUCCESS) {
        start(request);
    } else {
        settle(request);
    }
}

/* This daemon will say no more about what it was ordered. After the last the request goes on. */
static void part_is_settled(struct spawn_request *request, uint32_t vpid)
{
    struct hnp *hnp = request->hnp;
    request->settled[vpid] = true;
    if (--request->missing > 0) {
        return;
    }
    loop_timer_stop(&request->timer);
    if (request->state == SPAWN_CHECKING) {
        end_check(request);
    } else {
        settle(request);
    }
    go_on(hnp);
}

static struct spawn_request *find_number(struct hnp *hnp, uint32_t number)
{
    struct spawn_request *request;
    list_for_each (request, &hnp->spawns.requests, struct spawn_request, link) {
        if (request->state >= SPAWN_CHECKING && request->spawned.number == number) {
            return request;
        }
    }
    return NULL;
}

static void ranks_unable(const struct spawn_request *request, struct hnp *hnp, uint32_t vpid,
                         const char *reason)
{
    char why[512];
    uint32_t first = request ? request->spawned.first : 0;
    snprintf(why, sizeof(why), "more ranks cannot be started: %s", reason);
    job_unable(&hnp->job, vpid, first, request ? first + request->spawned.count : 0, why);
}

int hnp_spawned(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t number;
    int32_t outcome;
    char *why;
    int status = proto_unpack(buffer, "uis", &number, &outcome, &why);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct spawn_request *request = find_number(hnp, number);
    bool checking = request && request->state == SPAWN_CHECKING;
    if (checking && outcome != ORTE_SUCCESS && !is_settled(request, vpid)) {
        refuse(request, outcome, why);
    } else if (!checking && outcome != ORTE_SUCCESS) { /* the others wait for those */
        ranks_unable(request, hnp, vpid, why);
    }
    if (request && !checking && request->status == ORTE_SUCCESS) {
        request->status = outcome;
    }
    if (request && !is_settled(request, vpid)) {
        part_is_settled(request, vpid);
    }
    free(why);
    return ORTE_SUCCESS;
}

static bool has_ranks_with(const struct hnp *hnp, const struct spawn_request *request,
                           uint32_t vpid)
{
    for (uint32_t i = 0; i < request->spawned.count; i++) {
        if (hnp->daemon_of_node[request->spawned.node_of[i]] == vpid) {
            return true;
        }
    }
    return false;
}

/* One that waits for this daemon. */
static struct spawn_request *find_waiting(struct hnp *hnp, uint32_t vpid)
{
    struct spawn_request *request;
    list_for_each (request, &hnp->spawns.requests, struct spawn_request, link) {
        if (request->state >= SPAWN_CHECKING && !is_settled(request, vpid)) {
            return request;
        }
    }
    return NULL;
}

static void refuse_lost(struct hnp *hnp, uint32_t vpid)
{
    struct spawn_request *request;
    list_for_each (request, &hnp->spawns.requests, struct spawn_request, link) {
        if (request->state >= SPAWN_CHECKING && request->status == ORTE_SUCCESS &&
            has_ranks_with(hnp, request, vpid)) {
            char reason[320];
            snprintf(reason, sizeof(reason), "node %s: its daemon is lost",
                     hnp->dvm.daemons[vpid].node);
            refuse(request, ORTE_ERR_COMM_FAILURE, reason);
        }
    }
}

void hnp_spawn_lost(struct hnp *hnp, uint32_t vpid)
{
    char unused[320];
    struct spawn_request *request;
    refuse_lost(hnp, vpid);      /* while its nodes are known */
    if (!dvm_grows(&hnp->dvm)) { /* else the spawn that waits for it is told why */
        (void) spawn_drop_lost(hnp, unused, sizeof(unused));
    }
    while ((request = find_waiting(hnp, vpid)) != NULL) {
        part_is_settled(request, vpid);
    }
}

void hnp_spawn_fini(struct hnp *hnp)
{
    struct spawn_request *request;
    list_for_each (request, &hnp->spawns.requests, struct spawn_request, link) {
        request_free(request);
    }
}
