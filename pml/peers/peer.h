/* Processes that messages go to and come from, their paths, and what waits for room. */
#ifndef PML_PEER_H
#define PML_PEER_H

#include <pml/peers/core.h>

/* That of a process, made if need be. NULL: no memory. */
struct peer *peer_of(struct pml *pml, opal_proc_t *proc);
/* Finds its paths. UNREACH: none; else OUT_OF_RESOURCE, or why it is gone. */
int peer_connect(struct peer *peer) KEEL_MUST_CHECK;
/* Takes it from its modules. */
void peer_destroy(struct peer *peer);

/* Nothing can be sent to it before peer_connect. */
static inline bool peer_is_connected(const struct peer *peer)
{
    return peer->paths.count > 0 && peer->gone == OPAL_SUCCESS;
}

/* The path for first fragments, and for what is to be small and fast. */
static inline struct ptl_path *peer_first_path(const struct peer *peer)
{
    return &peer->paths.path[0];
}

/* A request of it waits, behind the others or before them, by its link. */
static inline void peer_pend(struct peer *peer, struct list *link)
{
    list_append(&peer->pending, link);
}
static inline void peer_pend_first(struct peer *peer, struct list *link)
{
    list_prepend(&peer->pending, link);
}
/* This module was short: what waits is tried again when it says so; soon if it never does. */
void peer_is_short(struct peer *peer, mca_ptl_base_module_t *ptl);
/* What waits is tried again by the next progress. */
void peer_is_due(struct peer *peer);
/* Its paths are looked at by the next progress. With a status the peer is given up then. */
void peer_has_changed(struct peer *peer, int status);

/* Calls of modules (keel/ptl_ext.h). */
void peer_upcall_changed(struct keel_ptl_module_t *ptl, struct ompi_proc_t *proc);
void peer_upcall_ready(struct keel_ptl_module_t *ptl, struct mca_ptl_base_peer_t *ptl_peer);

#endif
