#include <config.h>

#include <base/types/name.h>
#include <rml/state/peer.h>
#include <stdlib.h>

static uint32_t hash_of(const orte_process_name_t *name)
{
    return hash_of_number((uint64_t) name->jobid << 32 | name->vpid);
}

struct rml_peer *rml_peer_find(const struct rml_peers *peers, const orte_process_name_t *name)
{
    struct hash_link *link = hash_first(&peers->table, hash_of(name));
    while (link && !name_equal(&container_of(link, struct rml_peer, in_table)->name, name)) {
        link = hash_next(link);
    }
    return link ? container_of(link, struct rml_peer, in_table) : NULL;
}

struct rml_peer *rml_peer_get(struct rml_peers *peers, const orte_process_name_t *name)
{
    struct rml_peer *peer = rml_peer_find(peers, name);
    if (peer) {
        return peer;
    }
    peer = calloc(1, sizeof(*peer));
    if (!peer || !hash_add(&peers->table, &peer->in_table, hash_of(name))) {
        free(peer);
        return NULL;
    }
    peer->name = *name;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        list_init(&peer->pending[class]);
    }
    list_init(&peer->timed);
    list_init(&peer->poked);
    list_init(&peer->full);
    list_init(&peer->asked);
    return peer;
}

struct visit {
    void (*visit)(struct rml_peer *peer, void *arg);
    void *arg;
};

static void visit_link(struct hash_link *link, void *arg)
{
    const struct visit *visit = arg;
    visit->visit(container_of(link, struct rml_peer, in_table), visit->arg);
}

void rml_peers_each(struct rml_peers *peers, void (*visit)(struct rml_peer *peer, void *arg),
                    void *arg)
{
    hash_each(&peers->table, visit_link, &(struct visit){visit, arg});
}

static void destroy(struct rml_peer *peer, void *arg)
{
    (void) arg;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_assembly_abandon(&peer->assembly[class]);
    }
    rml_circle_fini(&peer->circle);
    free(peer->session);
    free(peer->contact);
    free(peer->home);
    free(peer);
}

void rml_peers_fini(struct rml_peers *peers)
{
    rml_peers_each(peers, destroy, NULL);
    hash_fini(&peers->table);
}
