/* Daemons that are lost: the tree closes over them. Who is lost is for the launcher to say; until
 * it does, what goes over a daemon whose link is down waits with its origin. */
#include <config.h>

#include <base/data/clock.h>
#include <base/settings/log.h>
#include <rml/broadcast/xcast.h>
#include <rml/state/state.h>

void rml_repair_routes(struct rml *rml)
{
    pthread_mutex_lock(&rml->lock);
    rml->repairs = true;
    pthread_mutex_unlock(&rml->lock);
}

bool rml_awaits_repair_locked(const struct rml *rml, const orte_process_name_t *name)
{
    return rml->repairs && rml_is_daemon(rml) &&
           name->jobid == rml_daemon_job(rml->config.name.jobid) &&
           name->vpid < rml->route.tree.count && !rml_tree_is_lost(&rml->route.tree, name->vpid);
}

uint32_t rml_parent_of(struct rml *rml, uint32_t vpid)
{
    pthread_mutex_lock(&rml->lock);
    uint32_t parent = rml_tree_parent(&rml->route.tree, vpid);
    pthread_mutex_unlock(&rml->lock);
    return parent;
}

bool rml_is_lost(struct rml *rml, uint32_t vpid)
{
    pthread_mutex_lock(&rml->lock);
    bool lost = rml_tree_is_lost(&rml->route.tree, vpid);
    pthread_mutex_unlock(&rml->lock);
    return lost;
}

/* Nothing comes from the lost daemon and its ranks any more. For everybody else frames may have
 * been on their way over it. */
static void settle_peer(struct rml_peer *peer, void *arg)
{
    struct rml *rml = arg;
    orte_process_name_t target;
    if (peer->state != RML_PEER_UP &&
        rml_route_target(&rml->route, &peer->name, &target) == ORTE_ERR_COMM_FAILURE) {
        if (!peer->gone) {
            rml_gone_locked(rml, peer);
        }
    } else if (peer->session && rml_session_pending(peer->session)) {
        rml_session_repair(peer->session, clock_us());
        rml_poke_locked(rml, peer);
    }
}

int rml_lose_daemon(struct rml *rml, uint32_t vpid)
{
    struct list frames = LIST_INIT(frames);
    orte_process_name_t name = {rml_daemon_job(rml->config.name.jobid), vpid};
    pthread_mutex_lock(&rml->lock);
    int status = rml_tree_lose(&rml->route.tree, vpid);
    struct rml_peer *peer = rml_peer_find(&rml->peers, &name);
    if (status == ORTE_SUCCESS && peer) {
        rml_unpend_locked(peer, &frames);
        if (peer->state != RML_PEER_UP) {
            rml_mend_forget_locked(peer);
            peer->state = RML_PEER_DOWN;
        }
    }
    if (status == ORTE_SUCCESS) {
        rml_peers_each(&rml->peers, settle_peer, rml);
        rml_tell_lost_locked(rml, vpid);
    }
    pthread_mutex_unlock(&rml->lock);
    if (status == ORTE_SUCCESS) {
        log_info(LOG_RML, "daemon %u is lost", vpid);
        rml_fail_frames(&frames, ORTE_ERR_COMM_FAILURE);
        rml_disconnect(rml, &name, false);
        rml_xcast_children(rml, vpid);
        rml_wake(rml);
    }
    return status;
}

void rml_rejoin(struct rml *rml)
{
    rml_xcast_join(rml);
}
