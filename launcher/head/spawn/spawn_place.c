#include <config.h>

#include <launcher/head/spawn/spawn_place.h>

#include <base/data/strings.h>
#include <launcher/request/nodes/hostfile.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct placing {
    const struct hnp *hnp;
    struct job_plan plan; /* the job's, as it grows: the ranks' arrays are owned, the rest is not */
    bool *lost;           /* owned, by node */
    bool *closed;         /* owned, by node: lost, or of no use for this program */
    bool *unknown_nodes;  /* owned, by node: those that it needs to know */
    bool *used;           /* owned, by node: it has ranks that live, or of an earlier program */
    uint32_t *limits;     /* owned, by node: ranks of this program at most; 0: it may not be used */
    uint32_t *row;        /* owned: the nodes of this program, in order */
    uint32_t row_count;
    struct run_request wish; /* for one program */
    struct app_request app;  /* that program; its hosts are owned */
    char *const *info;       /* borrowed: the program's */
    struct plan_use use;
    uint32_t unbound;
    struct node_set *unknown;
    char *reason;
    size_t reason_size;
};

static KEEL_PRINTF(3, 4) int fail(struct placing *placing, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(placing->reason, placing->reason_size, format, arguments);
    va_end(arguments);
    return status;
}

/* --- the info --- */

/* One more host that the program may use. more: its slots; 0: as many as it likes. */
static void allow(struct placing *placing, uint32_t *limits, uint32_t node, uint32_t more)
{
    uint64_t limit = more ? (uint64_t) limits[node] + more : UINT32_MAX;
    uint32_t most = placing->limits[node];
    if (limits[node] == 0) {
        placing->row[placing->row_count++] = node;
    }
    limits[node] = limit < most ? (uint32_t) limit : most;
}

/* "+e", "+e:K" */
static int allow_empty(struct placing *placing, uint32_t *limits, const char *name, uint32_t wanted)
{
    uint32_t count = 0;
    for (uint32_t node = 0; node < placing->plan.node_count && count < wanted; node++) {
        if (!placing->used[node] && placing->limits[node] > 0 && limits[node] == 0) {
            allow(placing, limits, node, 0);
            count++;
        }
    }
    return count > 0 && (count == wanted || wanted == UINT32_MAX)
               ? ORTE_SUCCESS
               : fail(placing, ORTE_ERR_NOT_FOUND, "host %s: %u node%s no rank", name, count,
                      count == 1 ? " has" : "s have");
}

static int allow_host(struct placing *placing, uint32_t *limits, const struct node_request *host,
                      bool pass_over)
{
    uint32_t wanted;
    const struct map_node *found = job_plan_find(&placing->plan, host->name);
    uint32_t node = found ? (uint32_t) (found - placing->plan.nodes) : 0;
    if (node_is_empty(host->name, &wanted)) {
        return allow_empty(placing, limits, host->name, wanted);
    }
    if (found && placing->limits[node] > 0) {
        allow(placing, limits, node, host->slots);
        return ORTE_SUCCESS;
    }
    return pass_over ? ORTE_SUCCESS
                     : fail(placing, ORTE_ERR_NOT_FOUND,
                            found ? "host %s is lost, or not in the hostfile"
                                  : "host %s is none of the nodes of this job",
                            host->name);
}

/* Leaves the nodes of a list. Others than the job's are passed over, or are an error. */
static int restrict_to(struct placing *placing, const struct node_list *list, bool pass_over)
{
    uint32_t *limits = calloc(placing->plan.node_count + 1, sizeof(*limits));
    int status = limits ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    placing->row_count = 0;
    for (size_t i = 0; i < list->count && status == ORTE_SUCCESS; i++) {
        status = allow_host(placing, limits, &list->nodes[i], pass_over);
    }
    if (status == ORTE_SUCCESS) {
        memcpy(placing->limits, limits, placing->plan.node_count * sizeof(*limits));
    }
    free(limits);
    return status;
}

static int select_hosts(struct placing *placing, const struct node_list *list)
{
    return restrict_to(placing, list, false);
}

static int select_known(struct placing *placing, const struct node_list *list)
{
    return restrict_to(placing, list, true);
}

/* There are no others than the job's: what is added is to be among these. */
static int expect_known(struct placing *placing, const struct node_list *list)
{
    int status = ORTE_SUCCESS;
    for (size_t i = 0; i < list->count && status == ORTE_SUCCESS; i++) {
        if (!job_plan_find(&placing->plan, list->nodes[i].name)) {
            status = fail(placing, ORTE_ERR_NOT_FOUND,
                          "host %s is none of the nodes of this job, and no node can be added",
                          list->nodes[i].name);
        }
    }
    return status;
}

/* A key of the info, and what becomes of its value. */
struct key {
    const char *name;
    int (*take)(struct placing *placing, const struct key *key, const char *value);
    int (*use)(struct placing *placing, const struct node_list *list); /* of hosts and hostfiles */
    const char *word; /* of a flag: of --map-by; NULL: what it asks for is shown when it is known
                       * where all ranks go */
};

static int take_hosts(struct placing *placing, const struct key *key, const char *words)
{
    char why[320];
    struct node_list list = {.relative = true};
    int status = node_list_parse(&list, words, strlen(words), 0, 0, why, sizeof(why));
    status = status == ORTE_SUCCESS ? key->use(placing, &list)
                                    : fail(placing, status, "%s=%s: %s", key->name, words, why);
    node_list_fini(&list);
    return status;
}

static int take_hostfile(struct placing *placing, const struct key *key, const char *path)
{
    struct node_list list = {0};
    int status = hostfile_read(&list, path, false, placing->reason, placing->reason_size);
    status = status == ORTE_SUCCESS ? key->use(placing, &list) : status;
    node_list_fini(&list);
    return status == ORTE_SUCCESS && placing->row_count == 0
               ? fail(placing, ORTE_ERR_NOT_FOUND, "%s: it names no node of this job", path)
               : status;
}

/* Their files are not read. */
static bool names_ranks(const char *words)
{
    size_t size = strcspn(words, ":,");
    return (size == strlen("seq") && strncasecmp(words, "seq", size) == 0) ||
           (size == strlen("rankfile") && strncasecmp(words, "rankfile", size) == 0);
}

/* The words of --map-by, but for those that name a file; PE=n among them binds. key, value: where
 * they come from. */
static int map_by(struct placing *placing, const char *words, const struct key *key,
                  const char *value)
{
    char why[320];
    int oversubscribe = 0;
    struct placement *placement = &placing->wish.placement;
    uint32_t inherited = placement->cpus_per_rank;
    if (names_ranks(words)) {
        return fail(placing, ORTE_ERR_NOT_SUPPORTED,
                    "%s=%s: seq and rankfile are for keelrun alone", key->name, value);
    }
    placement->cpus_per_rank = 0;
    int status = placement_map_by(placement, words, &oversubscribe, why, sizeof(why));
    if (placement->cpus_per_rank) {
        placement->bind_given = false;
    } else {
        placement->cpus_per_rank = inherited;
    }
    const bool has_policy = placement_names_policy(words);
    if (has_policy) {
        placement->rank_by = RANK_BY_DEFAULT;
    }
    if (status == ORTE_SUCCESS) {
        status = placement_settle(placement, why, sizeof(why));
    }
    if (status != ORTE_SUCCESS) {
        return fail(placing, status, "%s=%s: %s", key->name, value, why);
    }
    if (oversubscribe) {
        placing->wish.no_oversubscribe = oversubscribe < 0;
    }
    placing->use.again &= !has_policy;
    return ORTE_SUCCESS;
}

static int take_map_by(struct placing *placing, const struct key *key, const char *words)
{
    return map_by(placing, words, key, words);
}

/* "N:OBJECT"; Open MPI writes "N:n" for npernode. With map_by it is a limit. */
static int take_ppr(struct placing *placing, const struct key *key, const char *value)
{
    char words[64];
    const char *colon = strchr(value, ':');
    bool node = colon && (strcasecmp(colon, ":n") == 0 || strcasecmp(colon, ":node") == 0);
    size_t size = colon ? (size_t) (colon - value) : strlen(value);
    int length = snprintf(words, sizeof(words), "ppr:%.*s%s", (int) size, value,
                          node ? ":node" : value + size);
    if (length < 0 || (size_t) length >= sizeof(words)) {
        return fail(placing, ORTE_ERR_BAD_PARAM, "ppr=%s: N:OBJECT is needed", value);
    }
    bool limit = strings_value(placing->info, "map_by");
    struct placement before = placing->wish.placement;
    int status = map_by(placing, words, key, value);
    if (status == ORTE_SUCCESS && limit) {
        placing->app.per_node = placing->wish.placement.per_object;
        placing->wish.placement = before;
    }
    return status == ORTE_SUCCESS && limit && !node
               ? fail(placing, ORTE_ERR_NOT_SUPPORTED, "ppr=%s: with map_by N:node is possible",
                      value)
               : status;
}

/* Attributes that --map-by has as words, behind whatever policy there is. */
static int take_cpus_per_proc(struct placing *placing, const struct key *key, const char *value)
{
    char words[32];
    int length = snprintf(words, sizeof(words), "PE=%s", value);
    return length < (int) sizeof(words)
               ? map_by(placing, words, key, value)
               : fail(placing, ORTE_ERR_BAD_PARAM, "%s=%s: a number is needed", key->name, value);
}

static int take_flag(struct placing *placing, const struct key *key, const char *value)
{
    if (strcasecmp(value, "true") != 0) {
        return fail(placing, ORTE_ERR_BAD_PARAM, "%s=%s: true is needed", key->name, value);
    }
    return key->word ? map_by(placing, key->word, key, value) : ORTE_SUCCESS;
}

/* Both are of the words of a policy, whatever was mapped before. */
static int settle(struct placing *placing, int status, const char *key, const char *value,
                  const char *why)
{
    char unfit[320];
    snprintf(unfit, sizeof(unfit), "%s", why);
    if (status == ORTE_SUCCESS) {
        status = placement_settle(&placing->wish.placement, unfit, sizeof(unfit));
    }
    return status == ORTE_SUCCESS ? status : fail(placing, status, "%s=%s: %s", key, value, unfit);
}

static int take_rank_by(struct placing *placing, const struct key *key, const char *words)
{
    char why[320] = "";
    int status = placement_rank_by(&placing->wish.placement, words, why, sizeof(why));
    return settle(placing, status, key->name, words, why);
}

static int take_bind_to(struct placing *placing, const struct key *key, const char *words)
{
    char why[320] = "";
    struct placement *placement = &placing->wish.placement;
    int status = placement_bind_to(placement, words, why, sizeof(why));
    placement->bind_given = true;
    return settle(placing, status, key->name, words, why);
}

/* In the order in which they are taken: the hosts select from the hostfile. */
static const struct key keys[] = {
    {"add-hostfile", take_hostfile, expect_known, NULL},
    {"add-host", take_hosts, expect_known, NULL},
    {"hostfile", take_hostfile, select_known, NULL},
    {"host", take_hosts, select_hosts, NULL},
    {"map_by", take_map_by, NULL, NULL},
    {"ppr", take_ppr, NULL, NULL},
    {"cpus-per-proc", take_cpus_per_proc, NULL, NULL},
    {"no-oversubscribe", take_flag, NULL, "NOOVERSUBSCRIBE"},
    {"no-procs-on-head", take_flag, NULL, "NOLOCAL"},
    {"rank_by", take_rank_by, NULL, NULL},
    {"bind_to", take_bind_to, NULL, NULL},
    {SPAWN_REPORT_BINDINGS, take_flag, NULL, NULL},
    {SPAWN_DISPLAY_MAP, take_flag, NULL, NULL},
    {SPAWN_DISPLAY_ALLOCATION, take_flag, NULL, NULL},
};
#define KEYS (sizeof(keys) / sizeof(*keys))

static bool is_known(const char *assignment)
{
    size_t size = strcspn(assignment, "=");
    for (size_t i = 0; i < KEYS; i++) {
        if (strlen(keys[i].name) == size && strncmp(keys[i].name, assignment, size) == 0) {
            return true;
        }
    }
    return false;
}

static int take_info(struct placing *placing)
{
    char *const *info = placing->info;
    int status = ORTE_SUCCESS;
    for (char *const *one = info; one && *one; one++) {
        if (!is_known(*one)) {
            return fail(placing, ORTE_ERR_NOT_SUPPORTED,
                        "%s: this info key is not supported; host, hostfile, add-host, "
                        "add-hostfile, map_by, npernode, pernode, ppr, cpus-per-proc, "
                        "no-oversubscribe, no-procs-on-head, rank_by, bind_to, "
                        "report-bindings, display-map and display-allocation are",
                        *one);
        }
    }
    for (size_t i = 0; i < KEYS && status == ORTE_SUCCESS; i++) {
        const char *value = strings_value(info, keys[i].name);
        status = value ? keys[i].take(placing, &keys[i], value) : ORTE_SUCCESS;
    }
    return status;
}

/* --- programs --- */

/* The job's: by slot where its ranks were named one by one. */
static void inherit(struct placing *placing, uint32_t parent)
{
    const struct run_request *job = &placing->hnp->request;
    uint32_t per_node = job->apps[placing->plan.app_of[parent]].per_node;
    struct placement placement = job->placement;
    placement.file = NULL;
    placement.sequence = NULL;
    placement.ranks = NULL;
    placement.rank_count = 0;
    placement.bind &= placement.map_by != MAP_BY_RANKFILE;
    if (placing->plan.binding_dropped) {
        placement.bind = false;
        placement.bind_given = true;
        placement.cpus_per_rank = 0;
    }
    if (placement.map_by >= MAP_BY_SEQ) {
        placement.map_by = MAP_BY_SLOT;
    }
    if (per_node && placement.map_by == MAP_BY_SLOT) {
        placement.map_by = MAP_BY_PPR;
        placement.map_level = LEVEL_NODE;
        placement.per_object = per_node;
    }
    placing->use.again = true;
    placing->wish = (struct run_request){.apps = &placing->app,
                                         .app_count = 1,
                                         .placement = placement,
                                         .no_oversubscribe = job->no_oversubscribe};
}

static void find_used(struct placing *placing)
{
    const struct plan_use *use = &placing->use;
    memset(placing->used, 0, placing->plan.node_count * sizeof(*placing->used));
    for (uint32_t rank = 0; rank < placing->plan.rank_count; rank++) {
        bool lives = rank >= use->ended_count || !use->ended[rank];
        placing->used[placing->plan.node_of[rank]] |= lives;
    }
}

/* All nodes that are not lost; the program may yet choose. */
static void begin_program(struct placing *placing, const struct launch_app *app,
                          const struct spawn_program *program)
{
    placing->app = (struct app_request){.argv = app->argv, .count = program->count};
    placing->info = program->info;
    placing->row_count = 0;
    find_used(placing);
    for (uint32_t node = 0; node < placing->plan.node_count; node++) {
        placing->limits[node] = placing->lost[node] ? 0 : UINT32_MAX;
        if (!placing->lost[node]) {
            placing->row[placing->row_count++] = node;
        }
    }
}

static int name_hosts(struct placing *placing)
{
    int status = ORTE_SUCCESS;
    for (uint32_t node = 0; node < placing->plan.node_count; node++) {
        placing->closed[node] = placing->limits[node] == 0;
    }
    for (uint32_t i = 0; i < placing->row_count && status == ORTE_SUCCESS; i++) {
        uint32_t node = placing->row[i], limit = placing->limits[node];
        status = node_list_add(&placing->app.hosts, strdup(placing->plan.nodes[node].name),
                               limit == UINT32_MAX ? 0 : limit, 0);
    }
    return status;
}

/* What is the program's own, and not the job's. */
static void end_program(struct placing *placing)
{
    struct placement *placement = &placing->wish.placement;
    placement->cpu_set = NULL;
    placement_fini(placement);
    node_list_fini(&placing->app.hosts);
}

/* The nodes that the program needs to know. */
static int find_unknown(struct placing *placing)
{
    struct node_set *unknown = placing->unknown;
    uint32_t count = placing->plan.node_count;
    unknown->nodes = malloc(((size_t) count + 1) * sizeof(*unknown->nodes));
    for (uint32_t node = 0; unknown->nodes && node < count; node++) {
        if (placing->unknown_nodes[node]) {
            unknown->nodes[unknown->count++] = node;
        }
    }
    return unknown->nodes ? ORTE_ERR_NOT_AVAILABLE : ORTE_ERR_OUT_OF_RESOURCE;
}

static int place_program(struct placing *placing)
{
    uint32_t unbound = 0;
    int status = take_info(placing);
    if (status == ORTE_SUCCESS) {
        status = name_hosts(placing);
    }
    if (status == ORTE_SUCCESS) {
        status = job_plan_extend(&placing->plan, &placing->wish, &placing->use, &unbound,
                                 placing->reason, placing->reason_size);
    }
    placing->unbound += unbound;
    return status == ORTE_ERR_NOT_AVAILABLE ? find_unknown(placing) : status;
}

static int place_all(struct placing *placing, const struct spawned *spawned,
                     const struct spawn_program *programs)
{
    int status = ORTE_SUCCESS;
    for (uint32_t i = 0; i < spawned->app_count && status == ORTE_SUCCESS; i++) {
        begin_program(placing, &spawned->apps[i], &programs[i]);
        inherit(placing, spawned->parent);
        placing->use.app = spawned->app_first + i;
        status = place_program(placing);
        end_program(placing);
    }
    return status;
}

/* --- all of it --- */

/* malloc'd; NULL: no memory. */
static void *copy(const void *array, size_t size)
{
    void *made = malloc(size + 1);
    if (made) {
        memcpy(made, array, size);
    }
    return made;
}

static bool begin(struct placing *placing)
{
    const struct hnp *hnp = placing->hnp;
    const struct job_plan *job = &hnp->plan;
    size_t ranks = job->rank_count, nodes = (size_t) job->node_count + job->idle_count;
    struct job_plan *plan = &placing->plan;
    *plan = *job;
    plan->node_count = (uint32_t) nodes; /* the idle ones get a daemon where they get ranks */
    plan->node_of = copy(job->node_of, ranks * sizeof(uint32_t));
    plan->app_of = copy(job->app_of, ranks * sizeof(uint32_t));
    plan->local_rank_of = copy(job->local_rank_of, ranks * sizeof(uint32_t));
    plan->cpus = copy(job->cpus, (ranks + 1) * sizeof(char *));
    placing->lost = malloc(nodes * sizeof(bool));
    placing->closed = malloc(nodes * sizeof(bool));
    placing->unknown_nodes = calloc(nodes, sizeof(bool));
    placing->used = malloc(nodes * sizeof(bool));
    placing->limits = malloc(nodes * sizeof(uint32_t));
    placing->row = malloc(nodes * sizeof(uint32_t));
    placing->use = (struct plan_use){.ended = hnp->job.ended,
                                     .ended_count = job->rank_count,
                                     .closed = placing->closed,
                                     .unknown = placing->unknown_nodes};
    for (uint32_t node = 0; placing->lost && node < nodes; node++) {
        uint32_t daemon = hnp->daemon_of_node[node];
        placing->lost[node] = daemon != NO_DAEMON && !dvm_lives(&hnp->dvm, daemon);
    }
    return plan->node_of && plan->app_of && plan->local_rank_of && plan->cpus && placing->lost &&
           placing->closed && placing->unknown_nodes && placing->used && placing->limits &&
           placing->row;
}

/* The ranks behind the job's. */
static int take(struct placing *placing, struct spawned *spawned)
{
    struct job_plan *plan = &placing->plan;
    size_t first = placing->hnp->plan.rank_count, size = spawned->count * sizeof(uint32_t);
    spawned->node_of = copy(plan->node_of + first, size);
    spawned->app_of = copy(plan->app_of + first, size);
    spawned->local_rank_of = copy(plan->local_rank_of + first, size);
    spawned->cpus = copy(plan->cpus + first, (spawned->count + 1) * sizeof(char *));
    plan->rank_count = spawned->cpus ? (uint32_t) first : plan->rank_count;
    return spawned->node_of && spawned->app_of && spawned->local_rank_of && spawned->cpus
               ? ORTE_SUCCESS
               : ORTE_ERR_OUT_OF_RESOURCE;
}

static void end(struct placing *placing)
{
    struct job_plan *plan = &placing->plan;
    for (uint32_t rank = placing->hnp->plan.rank_count; plan->cpus && rank < plan->rank_count;
         rank++) {
        free(plan->cpus[rank]);
    }
    free(plan->node_of);
    free(plan->app_of);
    free(plan->local_rank_of);
    free(plan->cpus);
    free(placing->lost);
    free(placing->closed);
    free(placing->unknown_nodes);
    free(placing->used);
    free(placing->limits);
    free(placing->row);
}

int spawn_place(const struct hnp *hnp, struct spawned *spawned,
                const struct spawn_program *programs, struct node_set *unknown, char *reason,
                size_t reason_size)
{
    struct placing placing = {
        .hnp = hnp, .unknown = unknown, .reason = reason, .reason_size = reason_size};
    int status = begin(&placing) ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    snprintf(reason, reason_size, "out of memory");
    if (status == ORTE_SUCCESS) {
        status = place_all(&placing, spawned, programs);
    }
    if (status == ORTE_SUCCESS) {
        status = take(&placing, spawned);
    }
    if (status == ORTE_SUCCESS) {
        reason[0] = '\0';
    }
    if (status == ORTE_SUCCESS && placing.unbound > 0) {
        snprintf(reason, reason_size,
                 "%u of %u ranks are not bound: all processors have ranks (:overload-allowed lets "
                 "them share)",
                 placing.unbound, spawned->count);
    }
    end(&placing);
    return status;
}
