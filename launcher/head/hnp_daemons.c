/* The other nodes' daemons: started by plm, wired into the tree when all have called home. */
#include <config.h>

#include <launcher/head/hnp.h>

#include <base/host/paths.h>
#include <base/settings/log.h>
#include <launcher/node/limits.h>
#include <launcher/request/nodes/hostlist.h>
#include <stdlib.h>
#include <string.h>
#include <wireup/proto.h>

/* --- what plm asks for and tells --- */

static const char *node_of_daemon(void *arg, uint32_t vpid)
{
    const struct hnp *hnp = arg;
    return hnp->peers[vpid].node;
}

static const char *user_of_daemon(void *arg, uint32_t vpid)
{
    const struct hnp *hnp = arg;
    return hnp->peers[vpid].user;
}

static bool is_home(void *arg, uint32_t vpid)
{
    const struct hnp *hnp = arg;
    return hnp->peers[vpid].state != PEER_STARTING;
}

static bool is_failing(void *arg)
{
    const struct hnp *hnp = arg;
    return hnp->end.failing;
}

static int order_daemon(void *arg, uint32_t vpid, opal_buffer_t *buffer)
{
    const struct hnp *hnp = arg;
    return daemon_order(hnp->daemon, vpid, buffer);
}

static void plm_failed(void *arg, int exit_code, const char *text)
{
    hnp_fail(arg, exit_code, "%s", text);
}

static void plm_tells(void *arg, const char *text)
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
    .fail = plm_failed,
    .tell = plm_tells,
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
    if (hnp_slurm_said(hnp) != HNP_VPID ||
        hostlist_expand(&list, nodes, reason, sizeof(reason)) != ORTE_SUCCESS) {
        return;
    }
    for (uint32_t vpid = 1; vpid < hnp->peer_count; vpid++) {
        struct peer *peer = &hnp->peers[vpid];
        if (!peer->slurm_said && is_listed(&list, peer->node)) {
            peer->slurm_said = strdup(how);
        }
    }
    hostlist_fini(&list);
}

void hnp_daemons_init(struct hnp *hnp)
{
    plm_init(&hnp->plm, hnp->loop, hnp->shepherd, hnp->front, &plm_owner, hnp);
    hnp->plm.step.daemons_ended = daemons_ended;
}

/* --- start --- */

static void start(struct hnp *hnp, char *keeld)
{
    struct plm_config config = {
        .count = hnp->peer_count,
        .family = hnp->family,
        .radix = hnp->daemon->radix,
        .contact = hnp->daemon->contact,
        .settings = hnp->request.apps[0].env,
        .topology = !hnp->mapped,
        .simulated = hnp->request.simulate_nodes > 0,
        .slurm_job = allocation_is_slurm(&hnp->allocation) ? hnp->allocation.job : NULL,
        .outlives_daemons = hnp_recovers(),
        .grace_s = hnp_grace_s(),
    };
    memcpy(config.uuid, hnp->uuid, sizeof(config.uuid));
    memcpy(config.key, hnp->control_key, sizeof(config.key));
    hnp_enter(hnp, PHASE_DAEMONS);
    loop_timer_start(&hnp->timers.start, home_limit_us());
    plm_start(&hnp->plm, &config, keeld);
    crypto_wipe(config.key, sizeof(config.key));
}

void hnp_start_daemons(struct hnp *hnp)
{
    char reason[256] = "";
    char *keeld = paths_program("keeld");
    int status = daemon_listen(hnp->daemon, reason, sizeof(reason));
    if (status == ORTE_SUCCESS) {
        bool agents = hnp->request.simulate_nodes == 0 && !allocation_is_slurm(&hnp->allocation);
        status = limits_daemons(hnp->peer_count - 1, agents, reason, sizeof(reason));
    }
    if (!keeld || status != ORTE_SUCCESS) {
        hnp_fail(hnp, EXIT_RUNTIME, "cannot start other nodes: %s",
                 keeld ? reason : "keeld is not beside keelrun");
    } else {
        start(hnp, keeld);
    }
    free(keeld);
}

/* A daemon whose parent is not the HNP is told where its parent is. */
void hnp_wire(struct hnp *hnp)
{
    hnp_enter(hnp, PHASE_WIRING);
    for (uint32_t vpid = 1; vpid < hnp->peer_count; vpid++) {
        uint32_t parent = tree_parent(hnp->daemon->radix, vpid);
        if (parent == HNP_VPID) {
            hnp->peers[vpid].state = PEER_WIRED; /* by calling home */
            continue;
        }
        (void) daemon_order(hnp->daemon, vpid,
                            proto_new(ORDER_WIREUP, "s", hnp->peers[parent].contact));
    }
    if (hnp_peers_reached(hnp, PEER_WIRED)) {
        hnp_launch(hnp);
    }
}

/* All have been at home; is nobody lost since? */
static bool all_live(struct hnp *hnp)
{
    for (uint32_t vpid = 1; vpid < hnp->peer_count; vpid++) {
        if (!hnp_peer_lives(hnp, vpid)) {
            hnp_fail(hnp, EXIT_RUNTIME, "lost the daemon of node %s", hnp->peers[vpid].node);
            return false;
        }
    }
    return true;
}

int hnp_unstarted(struct hnp *hnp, uint32_t starter, opal_buffer_t *buffer)
{
    uint32_t vpid;
    char *why;
    int status = proto_unpack(buffer, "us", &vpid, &why);
    if (status == OPAL_SUCCESS && (vpid == HNP_VPID || vpid >= hnp->peer_count)) {
        status = ORTE_ERR_VALUE_OUT_OF_BOUNDS;
    }
    if (status == OPAL_SUCCESS) {
        plm_unstarted(&hnp->plm, starter, vpid, why);
    }
    free(why);
    return status;
}

void hnp_home(struct hnp *hnp, uint32_t vpid, char *contact)
{
    struct peer *peer = &hnp->peers[vpid];
    if (peer->state != PEER_STARTING) {
        log_warn(LOG_LAUNCHER, "daemon %u calls home twice", vpid);
        free(contact);
        return;
    }
    peer->state = PEER_HOME;
    peer->contact = contact;
    plm_came_home(&hnp->plm, vpid);
    if (hnp->phase == PHASE_DAEMONS && hnp_peers_reached(hnp, PEER_HOME) && all_live(hnp)) {
        if (hnp->mapped) {
            hnp_wire(hnp);
        } else {
            hnp_ask_topologies(hnp);
        }
    }
}
