#include <config.h>

#include <pml/peers/peer.h>
#include <stdlib.h>

static uint64_t key_of(const opal_proc_t *proc)
{
    return (uint64_t) proc->proc_name.jobid << 32 | proc->proc_name.vpid;
}

static struct peer *peer_find(struct pml *pml, const opal_proc_t *proc)
{
    struct queue_link *link = queues_first(&pml->peers, key_of(proc));
    return link ? container_of(link, struct peer, by_proc) : NULL;
}

static struct peer *peer_create(struct pml *pml, opal_proc_t *proc)
{
    struct peer *peer = calloc(1, sizeof(*peer));
    if (!peer) {
        return NULL;
    }
    peer->pml = pml;
    peer->proc = proc;
    peer->quota.most = pml->unexpected_most;
    list_init(&peer->due);
    list_init(&peer->change);
    list_init(&peer->pending);
    list_init(&peer->sending);
    list_init(&peer->receiving);
    list_append(&pml->all_peers, &peer->all);
    queues_append(&pml->peers, &peer->by_proc, key_of(proc));
    return peer;
}

struct peer *peer_of(struct pml *pml, opal_proc_t *proc)
{
    struct peer *peer = peer_find(pml, proc);
    return peer ? peer : peer_create(pml, proc);
}

int peer_connect(struct peer *peer)
{
    if (peer->gone != OPAL_SUCCESS || peer->paths.count > 0) {
        return peer->gone;
    }
    struct ompi_proc_t *proc = (struct ompi_proc_t *) peer->proc;
    int status = ptl_add_procs(peer->pml->ptls, 1, &proc, &peer->paths);
    if (status != OPAL_SUCCESS) {
        (void) ptl_del_procs(1, &proc, &peer->paths); /* it may have room for some */
    }
    return status;
}

void peer_destroy(struct peer *peer)
{
    struct ompi_proc_t *proc = (struct ompi_proc_t *) peer->proc;
    (void) ptl_del_procs(1, &proc, &peer->paths);
    queues_remove(&peer->pml->peers, &peer->by_proc);
    list_remove(&peer->all);
    list_remove(&peer->due);
    list_remove(&peer->change);
    free(peer->rails);
    free(peer);
}

void peer_is_due(struct peer *peer)
{
    pml_queue(peer->pml, &peer->pml->due, &peer->due);
}

void peer_is_short(struct peer *peer, mca_ptl_base_module_t *ptl)
{
    if (!keel_ptl_extended(ptl)) {
        peer_is_due(peer);
    } else if (list_empty(&peer->due)) {
        list_append(&peer->pml->short_of_room, &peer->due);
    }
}

void peer_has_changed(struct peer *peer, int status)
{
    if (status != OPAL_SUCCESS && peer->doubt == OPAL_SUCCESS) {
        peer->doubt = status;
    }
    pml_queue(peer->pml, &peer->pml->changed, &peer->change);
}

/* A path that is back by the time of the next progress has been away: messages may be lost, unless
 * its module sees to them. */
static bool has_lost(const struct peer *peer, const mca_ptl_base_module_t *ptl)
{
    for (size_t i = 0; !(ptl->ptl_flags & MCA_PTL_FLAGS_RECOVERS) && i < peer->paths.count; i++) {
        const struct ptl_path *path = &peer->paths.path[i];
        if (path->ptl == ptl) {
            return !ptl_path_is_there(path, (struct ompi_proc_t *) peer->proc);
        }
    }
    return false;
}

void peer_upcall_changed(struct keel_ptl_module_t *ptl, struct ompi_proc_t *proc)
{
    struct peer *peer = peer_find(pml_of(&ptl->super), &proc->super);
    if (peer) {
        peer_has_changed(peer, has_lost(peer, &ptl->super) ? OPAL_ERR_UNREACH : OPAL_SUCCESS);
    }
}

static bool has_path(const struct peer *peer, const struct mca_ptl_base_peer_t *ptl_peer)
{
    for (size_t i = 0; i < peer->paths.count; i++) {
        if (peer->paths.path[i].peer == ptl_peer) {
            return true;
        }
    }
    return false;
}

/* Few are short at a time. */
void peer_upcall_ready(struct keel_ptl_module_t *ptl, struct mca_ptl_base_peer_t *ptl_peer)
{
    struct peer *peer;
    list_for_each (peer, &pml_of(&ptl->super)->short_of_room, struct peer, due) {
        if (has_path(peer, ptl_peer)) {
            peer_is_due(peer);
            return;
        }
    }
}
