/* The other nodes' daemons: what the plm and the dvm ask for and are told. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/data/clock.h>
#include <base/host/paths.h>
#include <launcher/node/limits.h>
#include <launcher/request/nodes/hostlist.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

/* --- what plm asks for and tells --- */

static const char *node_of_daemon(void *arg, uint32_t vpid)
{
    const struct hnp *hnp = arg;
    return hnp->dvm.daemons[vpid].node;
}

static const char *user_of_daemon(void *arg, uint32_t vpid)
{
    const struct hnp *hnp = arg;
    return hnp->peers[vpid].user;
}

static bool is_home(void *arg, uint32_t vpid)
{
    const struct hnp *hnp = arg;
    return hnp->dvm.daemons[vpid].state != DAEMON_STARTING;
}

static bool is_failing(void *arg)
{
    const struct hnp *hnp = arg;
    return job_is_ending(&hnp->job);
}

static int order_daemon(void *arg, uint32_t vpid, opal_buffer_t *buffer)
{
    const struct hnp *hnp = arg;
    return daemon_order(hnp->daemon, vpid, buffer);
}

/* Those that are added are lost, and no job ends for it. */
static bool goes_on(void *arg, uint32_t vpid, const char *why)
{
    struct hnp *hnp = arg;
    bool added = dvm_grows(&hnp->dvm) && vpid >= hnp->dvm.added;
    if (added) {
        dvm_lost(&hnp->dvm, vpid, why, clock_us());
    }
    return added;
}

static void plm_failed(void *arg, int exit_code, const char *text)
{
    struct hnp *hnp = arg;
    if (dvm_stands(&hnp->dvm)) {
        for (uint32_t vpid = hnp->dvm.added; vpid < hnp->dvm.count; vpid++) {
            (void) (is_home(hnp, vpid) || goes_on(hnp, vpid, text));
        }
        return;
    }
    job_fail(&hnp->job, exit_code, "%s", text);
}

static void tell(void *arg, const char *text)
{
    hnp_tell(arg, "%s", text);
}

static void plm_ended(void *arg)
{
    hnp_finished(arg);
}

static const struct plm_owner plm_owner = {
    .node = node_of_daemon,
    .user = user_of_daemon,
    .is_home = is_home,
    .is_failing = is_failing,
    .order = order_daemon,
    .goes_on = goes_on,
    .fail = plm_failed,
    .tell = tell,
    .ended = plm_ended,
};

static bool is_listed(const struct hostlist *list, const char *node)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], node) == 0) {
            return true;
        }
    }
    return false;
}

/* The first that srun names are the reason for the end of the others. */
static void daemons_ended(struct step *step, const char *nodes, const char *how)
{
    struct hnp *hnp = container_of(step, struct hnp, plm.step);
    struct hostlist list;
    char reason[256];
    if (dvm_first_said(&hnp->dvm) != HNP_VPID ||
        hostlist_expand(&list, nodes, reason, sizeof(reason)) != ORTE_SUCCESS) {
        return;
    }
    for (uint32_t vpid = 1; vpid < hnp->dvm.count; vpid++) {
        if (is_listed(&list, hnp->dvm.daemons[vpid].node)) {
            dvm_said(&hnp->dvm, vpid, how);
        }
    }
    hostlist_fini(&list);
}

static void step_settled(struct step *step)
{
    dvm_explained(&container_of(step, struct hnp, plm.step)->dvm);
}

/* --- what the dvm asks for --- */

static void set_timer(void *arg, enum dvm_timer timer, uint64_t wait_us)
{
    struct hnp *hnp = arg;
    loop_timer_start(&hnp->timers.dvm[timer].timer, wait_us);
}

static void stop_timer(void *arg, enum dvm_timer timer)
{
    struct hnp *hnp = arg;
    loop_timer_stop(&hnp->timers.dvm[timer].timer);
}

static void came_home(void *arg, uint32_t vpid)
{
    struct hnp *hnp = arg;
    plm_came_home(&hnp->plm, vpid);
}

static void ask_topologies(void *arg)
{
    hnp_ask_topologies(arg);
}

/* A daemon whose parent is not the HNP is told where its parent is. */
static void wire(void *arg, uint32_t vpid, uint32_t parent)
{
    struct hnp *hnp = arg;
    (void) daemon_order(hnp->daemon, vpid,
                        proto_new(ORDER_WIREUP, "s", hnp->peers[parent].contact));
}

static uint32_t parent_of(void *arg, uint32_t vpid)
{
    const struct hnp *hnp = arg;
    return rml_parent_of(hnp->daemon->rml, vpid);
}

static void forget(void *arg, uint32_t lost)
{
    hnp_forget(arg, lost);
}

static void announce(void *arg)
{
    hnp_announce(arg);
}

static void join(void *arg, uint32_t vpid)
{
    hnp_join(arg, vpid);
}

/* Those that are not in the tree are told each. */
static void end_daemons(void *arg, bool by_tree)
{
    struct hnp *hnp = arg;
    if (by_tree) {
        (void) !hnp_broadcast(hnp, proto_new(ORDER_EXIT, ""));
    }
    for (uint32_t vpid = 0; vpid < hnp->dvm.count && hnp->daemon; vpid++) {
        if (dvm_lives(&hnp->dvm, vpid) && !(by_tree && hnp_peer_hears(hnp, vpid))) {
            (void) daemon_order(hnp->daemon, vpid, proto_new(ORDER_EXIT, ""));
        }
    }
}

static bool start_together(void *arg)
{
    const struct hnp *hnp = arg;
    return hnp->plm.step_runs;
}

static void read_reasons(void *arg)
{
    struct hnp *hnp = arg;
    step_read(&hnp->plm.step);
}

static bool awaits_reason(void *arg, bool wait)
{
    struct hnp *hnp = arg;
    if (!wait) {
        step_settle(&hnp->plm.step);
    }
    return !step_is_settled(&hnp->plm.step);
}

/* Slurm has said why it ended it, or it said itself by what signal. */
static const char *explain(void *arg, uint32_t vpid, const char *why, char *text, size_t size)
{
    const struct hnp *hnp = arg;
    const char *said = hnp->dvm.daemons[vpid].said;
    int signal = hnp->peers[vpid].signal;
    if (said) {
        snprintf(text, size, "srun says: %s", said);
        return text;
    }
    if (hnp->plm.step.reason[0]) {
        return hnp->plm.step.reason;
    }
    if (signal == 0) {
        return why;
    }
    const char *name = sigabbrev_np(signal);
    bool slurm = plm_is_slurm(&hnp->plm);
    snprintf(text, size, "%s ended it by SIG%s%s", slurm ? "Slurm" : "somebody", name ? name : "?",
             slurm ? ": scancel, the time limit or a node that failed" : "");
    return text;
}

const struct dvm_ops hnp_dvm_ops = {
    .set_timer = set_timer,
    .stop_timer = stop_timer,
    .tell = tell,
    .came_home = came_home,
    .ask_topologies = ask_topologies,
    .wire = wire,
    .announce = announce,
    .join = join,
    .parent = parent_of,
    .forget = forget,
    .exit = end_daemons,
    .start_together = start_together,
    .read_reasons = read_reasons,
    .awaits_reason = awaits_reason,
    .explain = explain,
};

static void on_timer(struct loop_timer *timer)
{
    struct hnp_timer *own = container_of(timer, struct hnp_timer, timer);
    dvm_timer(&own->hnp->dvm, (enum dvm_timer) own->number, clock_us());
}

void hnp_daemons_init(struct hnp *hnp)
{
    plm_init(&hnp->plm, hnp->config.loop, hnp->config.shepherd, hnp->config.front, &plm_owner, hnp);
    hnp->plm.step.daemons_ended = daemons_ended;
    hnp->plm.step.settled = step_settled;
    for (int i = 0; i < DVM_TIMERS; i++) {
        hnp->timers.dvm[i].hnp = hnp;
        hnp->timers.dvm[i].number = i;
        loop_timer_init(&hnp->timers.dvm[i].timer, hnp->config.loop, on_timer);
    }
}

/* --- start --- */

static void start_agents(struct hnp *hnp, uint32_t first, char *keeld)
{
    struct plm_config config = {
        .count = hnp->dvm.count,
        .first = first,
        .job = hnp->identity,
        .radix = hnp->daemon->tree.radix,
        .contact = hnp->daemon->contact,
        .settings = hnp->request.apps[0].env,
        .topology = !hnp->mapped,
        .simulated = hnp->request.simulate_nodes > 0,
        .submitter = hnp->submitter,
        .slurm_job = allocation_is_slurm(&hnp->allocation) ? hnp->allocation.job : NULL,
        .outlives_daemons = hnp_recovers(),
        .grace_s = hnp_grace_s(),
    };
    plm_start(&hnp->plm, &config, keeld);
    crypto_wipe(config.job.control_key, sizeof(config.job.control_key));
}

static void start(struct hnp *hnp)
{
    const struct dvm_limits limits = {.home_us = home_limit_us(),
                                      .repair_us = hnp_repair_limit_us(),
                                      .suspicion_us = rml_suspicion_us()};
    dvm_start(&hnp->dvm, &limits);
}

int hnp_start_agents(struct hnp *hnp, uint32_t first, char *reason, size_t reason_size)
{
    char *keeld = paths_program("keeld");
    snprintf(reason, reason_size, "keeld is not beside keelrun");
    int status = keeld ? daemon_listen(hnp->daemon, reason, reason_size) : ORTE_ERR_NOT_FOUND;
    if (status == ORTE_SUCCESS) {
        bool agents = hnp->request.simulate_nodes == 0 && !allocation_is_slurm(&hnp->allocation) &&
                      !hnp->submitter;
        status = limits_daemons(hnp->dvm.count - 1, agents, reason, reason_size);
    }
    if (status == ORTE_SUCCESS) {
        start_agents(hnp, first, keeld);
        hnp_report_starts(hnp, first);
    }
    free(keeld);
    return status;
}

void hnp_start_daemons(struct hnp *hnp)
{
    char reason[256] = "";
    start(hnp);
    int status =
        hnp->dvm.count > 1 ? hnp_start_agents(hnp, 1, reason, sizeof(reason)) : ORTE_SUCCESS;
    if (status != ORTE_SUCCESS) {
        job_fail(&hnp->job, EXIT_RUNTIME, "cannot start other nodes: %s", reason);
    }
}

int hnp_unstarted(struct hnp *hnp, uint32_t starter, opal_buffer_t *buffer)
{
    uint32_t vpid;
    char *why;
    int status = proto_unpack(buffer, "us", &vpid, &why);
    if (status == OPAL_SUCCESS && (vpid == HNP_VPID || vpid >= hnp->dvm.count)) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status == OPAL_SUCCESS) {
        plm_unstarted(&hnp->plm, starter, vpid, why);
    }
    free(why);
    return status;
}

void hnp_home(struct hnp *hnp, uint32_t vpid, char *contact, const char *topology)
{
    struct peer *peer = &hnp->peers[vpid];
    if (peer->contact || vpid == HNP_VPID) {
        free(contact);
    } else {
        peer->contact = contact;
        snprintf(peer->topology, sizeof(peer->topology), "%s", topology);
    }
    dvm_home(&hnp->dvm, vpid);
}

static bool is_away(const void *arg, uint32_t vpid)
{
    const struct hnp *hnp = arg;
    return hnp->dvm.daemons[vpid].state == DAEMON_STARTING;
}

/* The nodes that have not called home, and how many; NULL: none, or no memory. */
static char *name_away(const struct hnp *hnp, uint32_t *waiting)
{
    *waiting = 0;
    return hnp->dvm.phase == DVM_STARTING ? dvm_name_nodes(&hnp->dvm, is_away, hnp, waiting) : NULL;
}

void hnp_tell_progress(struct hnp *hnp)
{
    uint32_t waiting;
    char *nodes = name_away(hnp, &waiting);
    channel_send(hnp->config.front,
                 proto_new(FRONT_PROGRESS, "cuus", (uint8_t) (hnp->dvm.phase > DVM_STARTING),
                           waiting > 0 ? hnp->dvm.count - 1 : 0, waiting, nodes ? nodes : "?"));
    free(nodes);
}

void hnp_tell_away(struct hnp *hnp)
{
    uint32_t waiting, all = hnp->dvm.count - 1;
    char *nodes = name_away(hnp, &waiting);
    if (waiting > 0 && !job_is_ending(&hnp->job)) {
        hnp_tell(hnp, "%u of %u nodes %s called home; waiting for %s", all - waiting, all,
                 all - waiting == 1 ? "has" : "have", nodes ? nodes : "?");
    }
    free(nodes);
}
