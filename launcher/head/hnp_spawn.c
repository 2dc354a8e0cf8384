/* More ranks, which a rank asks for while the job runs (MPI_Comm_spawn). They belong to its job:
 * they end with it, and it ends when one of them fails. */
#include <config.h>

#include <launcher/head/spawn_place.h>

#include <base/data/strings.h>
#include <base/settings/log.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

enum { PROGRAMS_MAX = 1024, SPAWNED_MAX = 1 << 16 };

/* A request on its way: which daemon asked, how many daemons have yet to start their part, which
 * have. */
struct spawn_request {
    struct list link;
    struct hnp *hnp;
    struct loop_timer timer;
    uint32_t asker;
    uint64_t request;
    uint32_t number;
    uint32_t first, count; /* its ranks */
    uint32_t missing;
    int32_t status; /* the first error */
    bool started[]; /* by vpid: nothing more is to come of this daemon */
};

static void request_free(struct spawn_request *request)
{
    loop_timer_stop(&request->timer);
    list_remove(&request->link);
    free(request);
}

static void too_late(struct loop_timer *timer)
{
    struct spawn_request *request = container_of(timer, struct spawn_request, timer);
    struct hnp *hnp = request->hnp;
    uint32_t vpid = 0;
    while (vpid < hnp->peer_count && (request->started[vpid] || !hnp_peer_lives(hnp, vpid))) {
        vpid++;
    }
    if (vpid < hnp->peer_count) {
        hnp_fail(hnp, EXIT_RUNTIME, "node %s: its daemon has not started more ranks in time",
                 hnp->peers[vpid].node);
    }
}

static struct spawn_request *request_new(struct hnp *hnp, uint32_t asker, uint64_t id)
{
    struct spawn_request *request = calloc(1, sizeof(*request) + hnp->peer_count);
    if (request) {
        request->hnp = hnp;
        request->asker = asker;
        request->request = id;
        request->number = ++hnp->spawn_count;
        loop_timer_init(&request->timer, hnp->loop, too_late);
        loop_timer_start(&request->timer, hnp_launch_limit_us());
        list_append(&hnp->spawns, &request->link);
    }
    return request;
}

static void answer(struct hnp *hnp, uint32_t asker, uint64_t request, int32_t status,
                   uint32_t number)
{
    if (hnp_peer_lives(hnp, asker)) {
        (void) daemon_order(hnp->daemon, asker,
                            proto_new(ORDER_SPAWNED, "qiu", request, status, number));
    }
}

/* --- reading the request --- */

/* u programs, programs x (program, u count, info); out has a place for each program. */
static int read_programs(opal_buffer_t *buffer, struct spawned *spawned, struct spawn_program **out)
{
    uint32_t count;
    uint64_t ranks = 0;
    int status = proto_unpack(buffer, "u", &count);
    if (status != OPAL_SUCCESS || count == 0 || count > PROGRAMS_MAX) {
        return ORTE_ERR_BAD_PARAM;
    }
    struct spawn_program *programs = calloc(count, sizeof(*programs));
    *out = programs;
    spawned->apps = calloc(count, sizeof(*spawned->apps));
    status = spawned->apps && programs ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    spawned->app_count = spawned->apps && programs ? count : 0;
    for (uint32_t i = 0; i < count && status == ORTE_SUCCESS; i++) {
        status = launch_app_unpack(buffer, &spawned->apps[i]);
        if (status == ORTE_SUCCESS) {
            status = proto_unpack(buffer, "u", &programs[i].count);
        }
        if (status == ORTE_SUCCESS) {
            status = proto_unpack_strings(buffer, &programs[i].info);
        }
        ranks += programs[i].count;
    }
    if (status == ORTE_SUCCESS && (ranks == 0 || ranks > SPAWNED_MAX)) {
        status = ORTE_ERR_BAD_PARAM;
    }
    spawned->count = (uint32_t) ranks;
    return status;
}

static void free_programs(struct spawn_program *programs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        strings_free(programs[i].info);
    }
    free(programs);
}

/* --- the HNP's own tables --- */

static bool grow(void *array, size_t size)
{
    void **pointer = array;
    void *grown = realloc(*pointer, size);
    if (grown) {
        *pointer = grown;
    }
    return grown != NULL;
}

/* Programs are only named here: argv. */
static int add_programs(struct run_request *request, const struct spawned *spawned)
{
    size_t count = request->app_count + spawned->app_count;
    if (!grow(&request->apps, count * sizeof(*request->apps))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; i < spawned->app_count; i++) {
        struct app_request app = {.argv = calloc(2, sizeof(char *))};
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
    size_t count = (size_t) plan->rank_count + spawned->count;
    if (!grow(&plan->node_of, count * sizeof(uint32_t)) ||
        !grow(&plan->app_of, count * sizeof(uint32_t)) ||
        !grow(&plan->local_rank_of, count * sizeof(uint32_t)) ||
        !grow(&hnp->ended, count * sizeof(bool)) ||
        (plan->cpus && !grow(&plan->cpus, (count + 1) * sizeof(char *)))) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    for (uint32_t i = 0; plan->cpus && i < spawned->count; i++) {
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
        hnp->ended[spawned->first + i] = false;
    }
    plan->rank_count = (uint32_t) count;
    hnp->unended += spawned->count;
    return ORTE_SUCCESS;
}

/* --- ordering --- */

static int order_all(struct hnp *hnp, const struct spawned *spawned, struct spawn_request *request)
{
    opal_buffer_t *order = proto_new(ORDER_SPAWN, "");
    if (order) {
        order = proto_whole(order, spawned_pack(order, spawned));
    }
    for (uint32_t vpid = 0; vpid < hnp->peer_count; vpid++) {
        request->started[vpid] = !hnp_peer_lives(hnp, vpid);
        request->missing += hnp_peer_lives(hnp, vpid);
    }
    return hnp_broadcast(hnp, order);
}

static void start(struct hnp *hnp, struct spawned *spawned, struct spawn_request *request)
{
    spawned->number = request->number;
    request->first = spawned->first;
    request->count = spawned->count;
    int status = add_programs(&hnp->request, spawned);
    if (status == ORTE_SUCCESS) {
        status = add_ranks(hnp, spawned);
    }
    if (status == ORTE_SUCCESS) {
        status = order_all(hnp, spawned, request);
    }
    if (status != ORTE_SUCCESS) { /* the tables of the daemons may differ now */
        hnp_fail(hnp, EXIT_RUNTIME, "more ranks cannot be started: %s", opal_strerror(status));
    }
}

static int place(struct hnp *hnp, struct spawned *spawned, const struct spawn_program *programs)
{
    char reason[512];
    spawned->first = hnp->plan.rank_count;
    spawned->app_first = (uint32_t) hnp->request.app_count;
    int status = spawn_place(hnp, spawned, programs, reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        hnp_tell(hnp, "rank %u: MPI_Comm_spawn is refused: %s", spawned->parent, reason);
    } else if (reason[0]) {
        hnp_tell(hnp, "rank %u: MPI_Comm_spawn: %s", spawned->parent, reason);
    }
    return status;
}

int hnp_spawn(struct hnp *hnp, uint32_t asker, opal_buffer_t *buffer)
{
    struct spawned spawned = {0};
    uint64_t id;
    struct spawn_program *programs = NULL;
    int status = proto_unpack(buffer, "qu", &id, &spawned.parent);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    bool running = (hnp->phase == PHASE_LAUNCHING || hnp->phase == PHASE_RUNNING) &&
                   !hnp->end.failing && spawned.parent < hnp->plan.rank_count;
    status = running ? read_programs(buffer, &spawned, &programs) : ORTE_ERR_NOT_AVAILABLE;
    if (status == ORTE_SUCCESS) {
        status = place(hnp, &spawned, programs);
    }
    struct spawn_request *request = status == ORTE_SUCCESS ? request_new(hnp, asker, id) : NULL;
    if (request) {
        start(hnp, &spawned, request);
    } else {
        answer(hnp, asker, id, status != ORTE_SUCCESS ? status : ORTE_ERR_OUT_OF_RESOURCE, 0);
    }
    free_programs(programs, spawned.app_count);
    spawned_fini(&spawned);
    return ORTE_SUCCESS;
}

static struct spawn_request *find_request(struct hnp *hnp, uint32_t number)
{
    struct spawn_request *request;
    list_for_each (request, &hnp->spawns, struct spawn_request, link) {
        if (request->number == number) {
            return request;
        }
    }
    return NULL;
}

/* This daemon will say no more about it. After the last the request is answered, and gone. */
static void part_is_settled(struct spawn_request *request, uint32_t vpid)
{
    request->started[vpid] = true;
    if (--request->missing == 0) {
        answer(request->hnp, request->asker, request->request, request->status, request->number);
        request_free(request);
    }
}

int hnp_spawned(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t number;
    int32_t outcome;
    int status = proto_unpack(buffer, "ui", &number, &outcome);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    struct spawn_request *request = find_request(hnp, number);
    if (outcome != ORTE_SUCCESS) { /* the others wait for those that were to start there */
        hnp_ranks_unable(hnp, vpid, request ? request->first : 0, request ? request->count : 0,
                         opal_strerror(outcome));
    }
    if (!request) {
        return ORTE_SUCCESS;
    }
    request->status = request->status != ORTE_SUCCESS ? request->status : outcome;
    if (!request->started[vpid]) {
        part_is_settled(request, vpid);
    }
    return ORTE_SUCCESS;
}

static bool has_ranks_with(const struct hnp *hnp, const struct spawn_request *request,
                           uint32_t vpid)
{
    for (uint32_t i = 0; i < request->count; i++) {
        if (hnp->daemon_of_node[hnp->plan.node_of[request->first + i]] == vpid) {
            return true;
        }
    }
    return false;
}

void hnp_spawn_lost(struct hnp *hnp, uint32_t vpid)
{
    struct spawn_request *request;
    list_for_each (request, &hnp->spawns, struct spawn_request, link) {
        if (request->status == ORTE_SUCCESS && has_ranks_with(hnp, request, vpid)) {
            request->status = ORTE_ERR_COMM_FAILURE;
        }
        if (!request->started[vpid]) {
            part_is_settled(request, vpid);
        }
    }
}

void hnp_spawn_fini(struct hnp *hnp)
{
    struct spawn_request *request;
    list_for_each (request, &hnp->spawns, struct spawn_request, link) {
        request_free(request);
    }
}
