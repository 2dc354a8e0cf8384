#include <config.h>

#include <launcher/head/hnp.h>
#include <launcher/head/standing.h>

#include <base/data/clock.h>
#include <base/host/hostname.h>
#include <base/settings/log.h>
#include <base/settings/param.h>
#include <launcher/request/submit.h>
#include <launcher/standing/submitter.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

static struct param routed_radix = PARAM_INT(
    "routed_radix", "64", 1, 65536, "", "How many children a daemon has in the tree of daemons");
PARAM_ROWS("launcher", routed_radix);

void hnp_tell(struct hnp *hnp, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    hnp_report_message(hnp, text);
    channel_send(hnp->config.front, proto_new(FRONT_TEXT, "s", text));
}

bool hnp_peer_hears(const struct hnp *hnp, uint32_t vpid)
{
    return dvm_lives(&hnp->dvm, vpid) && hnp->dvm.daemons[vpid].state != DAEMON_HOME;
}

int hnp_broadcast(struct hnp *hnp, opal_buffer_t *order)
{
    return daemon_order_all(hnp->daemon, order);
}

/* --- reports --- */

static int take_home(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    char *contact, *topology;
    int status = proto_unpack(buffer, "ss", &contact, &topology);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    hnp_home(hnp, vpid, contact, topology);
    free(topology);
    return ORTE_SUCCESS;
}

static int take_failed(struct hnp *hnp, uint32_t daemon, opal_buffer_t *buffer)
{
    (void) daemon;
    uint32_t rank;
    uint8_t stage;
    int32_t error;
    char *what;
    int status = proto_unpack(buffer, "ucis", &rank, &stage, &error, &what);
    if (status == OPAL_SUCCESS && rank < hnp->plan.rank_count) {
        hnp_rank_failed(hnp, rank, stage, error, what);
    }
    free(what);
    return status;
}

static int take_exited(struct hnp *hnp, uint32_t daemon, opal_buffer_t *buffer)
{
    (void) daemon;
    uint32_t rank;
    struct rank_end end;
    char *missing, *call, *core;
    int status = proto_unpack(buffer, "uuuicsssc", &rank, &end.pid, &end.peak_kib, &end.wait_status,
                              &end.joined, &missing, &call, &core, &end.oom_kill);
    if (status == OPAL_SUCCESS && rank < hnp->plan.rank_count) {
        end.missing = missing;
        end.call = call;
        end.core = core;
        if (end.wait_status != 0) {
            hnp_crash_tell(hnp);
        }
        hnp_report_ended(hnp, rank, &end);
        job_rank_exited(&hnp->job, rank, &end);
    }
    free(missing);
    free(call);
    free(core);
    return status;
}

static int take_joined(struct hnp *hnp, uint32_t daemon, opal_buffer_t *buffer)
{
    (void) daemon;
    char *call;
    int status = proto_unpack(buffer, "s", &call);
    if (status == OPAL_SUCCESS) {
        job_rank_joined(&hnp->job, call);
        free(call);
    }
    return status;
}

static int take_broken(struct hnp *hnp, uint32_t daemon, opal_buffer_t *buffer)
{
    (void) daemon;
    uint32_t rank, pid;
    char *reason;
    int status = proto_unpack(buffer, "uus", &rank, &pid, &reason);
    if (status == OPAL_SUCCESS && rank < hnp->plan.rank_count) {
        job_rank_broken(&hnp->job, rank, pid, reason);
    }
    free(reason);
    return status;
}

static int take_abort(struct hnp *hnp, uint32_t daemon, opal_buffer_t *buffer)
{
    (void) daemon;
    uint32_t rank, pid;
    int32_t code;
    char *reason;
    int status = proto_unpack(buffer, "uuis", &rank, &pid, &code, &reason);
    if (status == OPAL_SUCCESS && rank < hnp->plan.rank_count) {
        job_rank_aborted(&hnp->job, rank, pid, code, reason);
    }
    free(reason);
    return status;
}

static int take_text(struct hnp *hnp, uint32_t daemon, opal_buffer_t *buffer)
{
    (void) daemon;
    char *text;
    int status = proto_unpack(buffer, "s", &text);
    if (status == OPAL_SUCCESS) {
        hnp_tell(hnp, "%s", text);
        free(text);
    }
    return status;
}

static int take_unable(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    char *why = NULL;
    int status = proto_unpack(buffer, "s", &why);
    if (status == OPAL_SUCCESS && hnp->job.parts && hnp->job.parts[vpid] == PART_ABSENT) {
        dvm_lost(&hnp->dvm, vpid, why, clock_us());
    } else if (status == OPAL_SUCCESS) {
        job_unable(&hnp->job, vpid, 0, hnp->plan.rank_count, why);
    }
    free(why);
    return status;
}

static int take_lost(struct hnp *hnp, uint32_t daemon, opal_buffer_t *buffer)
{
    (void) daemon;
    uint32_t vpid;
    char *why;
    int status = proto_unpack(buffer, "us", &vpid, &why);
    if (status == OPAL_SUCCESS && vpid < hnp->dvm.count) {
        dvm_lost(&hnp->dvm, vpid, why, clock_us());
    }
    free(why);
    return status;
}

static int take_signalled(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    return proto_unpack(buffer, "i", &hnp->peers[vpid].signal);
}

static int take_silent(struct hnp *hnp, uint32_t daemon, opal_buffer_t *buffer)
{
    (void) daemon;
    uint32_t vpid;
    uint8_t is_silent;
    int status = proto_unpack(buffer, "uc", &vpid, &is_silent);
    if (status == OPAL_SUCCESS && vpid < hnp->dvm.count) {
        dvm_silent(&hnp->dvm, vpid, is_silent != 0, clock_us());
    }
    return status;
}

static int take_launched(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    uint32_t count;
    int status = proto_unpack(buffer, "u", &count);
    if (status == OPAL_SUCCESS) {
        hnp_report_started(hnp, vpid, count);
        job_launched(&hnp->job, vpid);
        hnp_open_input(hnp);
    }
    return status;
}

static int take_wired(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    (void) buffer;
    dvm_wired(&hnp->dvm, vpid);
    return ORTE_SUCCESS;
}

static int take_rehomed(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer)
{
    (void) buffer;
    dvm_rehomed(&hnp->dvm, vpid, clock_us());
    return ORTE_SUCCESS;
}

typedef int take_report(struct hnp *hnp, uint32_t vpid, opal_buffer_t *buffer);

static take_report *const reports[] = {
    [REPORT_HOME] = take_home,
    [REPORT_WIRED] = take_wired,
    [REPORT_LAUNCHED] = take_launched,
    [REPORT_FAILED] = take_failed,
    [REPORT_EXITED] = take_exited,
    [REPORT_ABORT] = take_abort,
    [REPORT_TEXT] = take_text,
    [REPORT_LOST] = take_lost,
    [REPORT_SILENT] = take_silent,
    [REPORT_JOINED] = take_joined,
    [REPORT_BROKEN] = take_broken,
    [REPORT_UNABLE] = take_unable,
    [REPORT_SPAWN] = hnp_spawn,
    [REPORT_SPAWNED] = hnp_spawned,
    [REPORT_ORPHAN] = hnp_orphan,
    [REPORT_REHOMED] = take_rehomed,
    [REPORT_SIGNALLED] = take_signalled,
    [REPORT_TOPOLOGY] = hnp_take_topology,
    [REPORT_UNSTARTED] = hnp_unstarted,
    [REPORT_STATES] = hnp_take_states,
    [REPORT_STACK] = hnp_take_stack,
    [REPORT_GROWN] = hnp_take_grown,
    [REPORT_TRACED] = hnp_take_traced,
    [REPORT_HOSTED] = standing_hosted,
    [REPORT_UNHOSTED] = standing_unhosted,
    [REPORT_CRASHES] = hnp_take_crashes,
};

static void from_daemon(void *arg, const struct rml_info *info, opal_buffer_t **buffer)
{
    struct hnp *hnp = arg;
    uint8_t kind = 0;
    int status = proto_unpack(*buffer, "c", &kind);
    if (status == OPAL_SUCCESS) {
        take_report *take = kind < sizeof(reports) / sizeof(reports[0]) ? reports[kind] : NULL;
        status = !take                                 ? ORTE_ERR_BAD_PARAM
                 : info->origin.vpid >= hnp->dvm.count ? ORTE_ERR_PERM
                 : dvm_is_lost(&hnp->dvm, info->origin.vpid) /* said before it was */
                     ? ORTE_SUCCESS
                     : take(hnp, info->origin.vpid, *buffer);
    }
    if (status != ORTE_SUCCESS) {
        log_error(LOG_LAUNCHER, "report %u of %s makes no sense: %s", kind,
                  ORTE_NAME_PRINT(&info->origin), opal_strerror(status));
    }
}

/* --- what this process's daemon part says --- */

static void link_changed(void *arg, uint32_t vpid, const char *why, bool closed)
{
    struct hnp *hnp = arg;
    if (why && vpid < hnp->dvm.count && dvm_needs_link(&hnp->dvm, vpid, closed)) {
        dvm_lost(&hnp->dvm, vpid, why, clock_us());
    }
}

static void silence_changed(void *arg, uint32_t vpid, bool is_silent)
{
    struct hnp *hnp = arg;
    if (vpid < hnp->dvm.count) {
        dvm_silent(&hnp->dvm, vpid, is_silent, clock_us());
    }
}

/* Simulated nodes' daemons were its children, and have been ended too: those below in the tree
 * first, so that none is given a new parent. */
static void shepherd_lost(void *arg)
{
    struct hnp *hnp = arg;
    if (shepherd_is_stopped(hnp->config.shepherd)) {
        hnp_tell(hnp,
                 "the shepherd of this node is stopped, and is killed with all that it started");
    }
    shepherd_reap_orphans(hnp->config.shepherd);
    job_fail(&hnp->job, EXIT_RUNTIME, "the shepherd of this node was killed");
    for (uint32_t vpid = hnp->request.simulate_nodes ? hnp->dvm.count : 1; vpid-- > HNP_VPID;) {
        dvm_lost(&hnp->dvm, vpid, "keelrun's shepherd was killed", clock_us());
    }
}

static void ordered_to_exit(void *arg)
{
    (void) arg; /* the front end ends this process, when it has written everything */
}

static int admit(void *arg, const struct oob_peer *peer)
{
    struct hnp *hnp = arg;
    return hnp->tools ? tools_admit(hnp->tools, peer) : ORTE_ERR_PERM;
}

static uint32_t count_ranks(void *arg)
{
    return hnp_look_count(arg);
}

static void look(void *arg, const orte_process_name_t *tool, uint64_t number, bool stacks)
{
    hnp_look(arg, tool, number, stacks);
}

static const struct tools_ops tools_ops = {.count = count_ranks, .look = look};

static const struct daemon_ops daemon_ops = {
    .link = link_changed,
    .silent = silence_changed,
    .shepherd_lost = shepherd_lost,
    .exit = ordered_to_exit,
    .admit = admit,
};

/* --- a job comes --- */

static int add_daemon(struct hnp *hnp, const char *node, const char *user)
{
    char **copy = &hnp->peers[hnp->dvm.count].user;
    *copy = user ? strdup(user) : NULL;
    return user && !*copy ? ORTE_ERR_OUT_OF_RESOURCE : dvm_add(&hnp->dvm, node);
}

/* A daemon for every node but mine and the idle ones; the HNP is the first. */
static int number_daemons(struct hnp *hnp)
{
    const struct job_plan *plan = &hnp->plan;
    char host[256];
    const char *own = host;
    uint32_t all = plan->node_count + plan->idle_count;
    hnp->daemon_of_node = calloc(all, sizeof(*hnp->daemon_of_node));
    hnp->peers = calloc((size_t) plan->node_count + 1, sizeof(*hnp->peers));
    if (!hnp->daemon_of_node || !hnp->peers) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    host_name(host, sizeof(host));
    for (uint32_t node = 0; node < all; node++) {
        own = plan->nodes[node].local ? plan->nodes[node].name : own;
        hnp->daemon_of_node[node] = plan->nodes[node].local ? HNP_VPID : NO_DAEMON;
    }
    int status = dvm_add(&hnp->dvm, own);
    for (uint32_t node = 0; node < plan->node_count && status == ORTE_SUCCESS; node++) {
        const struct map_node *planned = &plan->nodes[node];
        if (!planned->local) {
            hnp->daemon_of_node[node] = hnp->dvm.count;
            status = add_daemon(hnp, planned->name, planned->user);
        }
    }
    return status;
}

static int open_daemon(struct hnp *hnp, char *reason, size_t reason_size)
{
    struct daemon_config config = {
        .job = &hnp->identity,
        .vpid = HNP_VPID,
        .count = hnp->dvm.count,
        .radix = (uint32_t) param_int(&routed_radix),
        .node = hnp->dvm.daemons[HNP_VPID].node,
        .shepherd = hnp->config.shepherd,
        .service_table = hnp->config.service_table,
        .loop = hnp->config.loop,
    };
    int status = daemon_create(&hnp->daemon, &config, &daemon_ops, hnp, reason, reason_size);
    if (status == ORTE_SUCCESS) {
        hnp->daemon->agents = (struct agent_watcher){&plm_agents, &hnp->plm};
        rml_handle(hnp->daemon->rml, RML_TAG_REPORT, from_daemon, hnp);
        hnp_stdio_init(hnp);
        status = tools_create(&hnp->tools, hnp->daemon->rml, hnp->identity.family,
                              hnp->daemon->session, &tools_ops, hnp, reason, reason_size);
    }
    return status;
}

/* False: it has failed, or nothing is to be started. */
static bool plan_job(struct hnp *hnp, opal_buffer_t *buffer)
{
    char reason[512] = "";
    int status = hnp->job.phase == JOB_IDLE ? submit_unpack(buffer, &hnp->request) : ORTE_EXISTS;
    if (status != ORTE_SUCCESS) {
        job_fail(&hnp->job, EXIT_RUNTIME, "the job cannot be read: %s", opal_strerror(status));
        return false;
    }
    hnp_report_begin(hnp);
    status = hnp_plan(hnp, reason, sizeof(reason));
    if (status != ORTE_SUCCESS) {
        job_fail(&hnp->job, EXIT_RUNTIME, "%s", reason[0] ? reason : opal_strerror(status));
        return false;
    }
    if (hnp->mapped && hnp->request.dry_run) {
        job_end_dry(&hnp->job);
        return false;
    }
    return true;
}

static void take_submit(struct hnp *hnp, opal_buffer_t *buffer)
{
    char reason[512] = "";
    struct job_limits limits;
    uint64_t asked_us = clock_us();
    if (!plan_job(hnp, buffer)) {
        return;
    }
    hnp->identity.family = job_uuid_make(hnp->identity.uuid);
    hnp->submitted_us = clock_us();
    channel_send(hnp->config.front, proto_new(FRONT_JOB, "s", hnp->identity.uuid));
    hnp_report_job(hnp);
    crypto_random(hnp->identity.control_key, sizeof(hnp->identity.control_key));
    hnp_job_limits(hnp, &limits);
    limits.waited_us = hnp->submitted_us - asked_us;
    int status = number_daemons(hnp);
    if (status == ORTE_SUCCESS) {
        status = open_daemon(hnp, reason, sizeof(reason));
    }
    if (status == ORTE_SUCCESS) {
        status = hnp->request.stand ? standing_create(&hnp->standing, hnp)
                                    : job_submit(&hnp->job, &limits);
    }
    if (status != ORTE_SUCCESS) {
        job_fail(&hnp->job, EXIT_RUNTIME, "%s", reason[0] ? reason : opal_strerror(status));
        return;
    }
    hnp_start_daemons(hnp);
}

/* A DVM has no ranks. */
static void end_standing(struct hnp *hnp, int signal)
{
    if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP) {
        return;
    }
    if (dvm_stands(&hnp->dvm)) {
        standing_end(hnp->standing);
    } else {
        job_signal(&hnp->job, signal);
    }
}

/* Whoever interrupts a job, or closes its terminal, knows it. */
static void tell_signal(struct hnp *hnp, int signal, const char *sender)
{
    char text[96];
    bool ends = signal == SIGTERM || signal == SIGHUP;
    bool first = hnp->standing && dvm_stands(&hnp->dvm) ? !standing_ends(hnp->standing)
                                                        : job_is_interruptible(&hnp->job);
    if (ends && first && sender[0]) {
        rank_end_print_signal(signal, text, sizeof(text));
        hnp_tell(hnp, "%s from %s ends the %s", text, sender, hnp->standing ? "DVM" : "job");
    }
}

static void take_signal(struct hnp *hnp, int signal, const char *sender)
{
    tell_signal(hnp, signal, sender);
    if (hnp->standing) {
        end_standing(hnp, signal);
    } else if (signal == SIGQUIT) {
        hnp_explain_signal(hnp);
    } else {
        job_signal(&hnp->job, signal);
    }
}

static void from_front(void *arg, opal_buffer_t *buffer)
{
    struct hnp *hnp = arg;
    uint8_t kind = 0;
    int32_t signal = 0;
    char *sender = NULL;
    if (proto_unpack(buffer, "c", &kind) != OPAL_SUCCESS) {
        return;
    }
    switch (kind) {
    case FRONT_SUBMIT:
        take_submit(hnp, buffer);
        break;
    case FRONT_SIGNAL:
        if (proto_unpack(buffer, "is", &signal, &sender) == OPAL_SUCCESS) {
            take_signal(hnp, signal, sender);
        }
        free(sender);
        break;
    case FRONT_ASK_PROGRESS:
        hnp_tell_progress(hnp);
        break;
    case FRONT_WINDOW:
        hnp_resize(hnp, buffer);
        break;
    case FRONT_INPUT:
        hnp_input(hnp, buffer);
        break;
    case FRONT_WRITTEN:
        hnp_written(hnp, buffer);
        break;
    case FRONT_OUTPUT_LOST:
        (void) hnp_report_output_lost(hnp, buffer);
        break;
    case FRONT_OUTPUT_CLOSED:
        hnp_output_closed(hnp, buffer);
        break;
    default:
        log_error(LOG_LAUNCHER, "message %u of the front end makes no sense", kind);
        break;
    }
}

int hnp_create(struct hnp **out, const struct hnp_config *config)
{
    struct hnp *hnp = calloc(1, sizeof(*hnp));
    if (!hnp) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    hnp->config = *config;
    dvm_init(&hnp->dvm, &hnp_dvm_ops, hnp);
    job_init(&hnp->job, &hnp->dvm, &hnp_job_ops, hnp);
    list_init(&hnp->spawns.requests);
    list_init(&hnp->topologies.known);
    list_init(&hnp->explanations.under_way);
    list_init(&hnp->spawns.orders);
    hnp_daemons_init(hnp);
    hnp_end_init(hnp);
    hnp_crash_init(hnp);
    channel_receive(config->front, from_front, hnp);
    *out = hnp;
    return ORTE_SUCCESS;
}

void hnp_destroy(struct hnp *hnp)
{
    if (!hnp) {
        return;
    }
    for (int i = 0; i < DVM_TIMERS; i++) {
        loop_timer_stop(&hnp->timers.dvm[i].timer);
    }
    for (int i = 0; i < JOB_TIMERS; i++) {
        loop_timer_stop(&hnp->timers.job[i].timer);
    }
    loop_timer_stop(&hnp->timers.step);
    hnp_report_fini(hnp);
    hnp_explain_fini(hnp);
    hnp_crash_fini(hnp);
    standing_destroy(hnp->standing);
    submitter_close(hnp->submitter);
    plm_fini(&hnp->plm);
    hnp_remove_uri(hnp);
    tools_destroy(hnp->tools);
    daemon_destroy(hnp->daemon);
    for (uint32_t vpid = 0; vpid < hnp->dvm.count; vpid++) {
        free(hnp->peers[vpid].user);
        free(hnp->peers[vpid].contact);
    }
    free(hnp->peers);
    free(hnp->daemon_of_node);
    hnp_spawn_fini(hnp);
    hnp_grow_fini(hnp);
    hnp_plan_fini(hnp);
    job_fini(&hnp->job);
    dvm_fini(&hnp->dvm);
    run_request_fini(&hnp->request);
    crypto_wipe(hnp->identity.control_key, sizeof(hnp->identity.control_key));
    free(hnp);
}
