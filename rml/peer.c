#include <config.h>

#include <base/name.h>
#include <rml/peer.h>
#include <rml/route.h>
#include <stdlib.h>

enum { FIRST_BUCKETS = 16 };

static size_t bucket_of(const struct rml_peers *peers, const orte_process_name_t *name)
{
    uint64_t key = (uint64_t) name->jobid << 32 | name->vpid;
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return (size_t) (key >> 32) & (peers->bucket_count - 1);
}

struct rml_peer *rml_peer_find(const struct rml_peers *peers, const orte_process_name_t *name)
{
    struct rml_peer *peer = peers->bucket_count ? peers->buckets[bucket_of(peers, name)] : NULL;
    while (peer && !name_equal(&peer->name, name)) {
        peer = peer->next;
    }
    return peer;
}

static void insert(struct rml_peers *peers, struct rml_peer *peer)
{
    struct rml_peer **bucket = &peers->buckets[bucket_of(peers, &peer->name)];
    peer->next = *bucket;
    *bucket = peer;
}

/* A table that cannot grow only gets slower. */
static void grow(struct rml_peers *peers)
{
    size_t old_count = peers->bucket_count;
    size_t count = old_count ? old_count * 2 : FIRST_BUCKETS;
    struct rml_peer **buckets = calloc(count, sizeof(*buckets));
    if (!buckets) {
        return;
    }
    struct rml_peer **old = peers->buckets;
    peers->buckets = buckets;
    peers->bucket_count = count;
    for (size_t i = 0; i < old_count; i++) {
        for (struct rml_peer *peer = old[i], *next; peer; peer = next) {
            next = peer->next;
            insert(peers, peer);
        }
    }
    free(old);
}

struct rml_peer *rml_peer_get(struct rml_peers *peers, const orte_process_name_t *name)
{
    struct rml_peer *peer = rml_peer_find(peers, name);
    if (peer) {
        return peer;
    }
    if (peers->count >= peers->bucket_count) {
        grow(peers);
    }
    peer = peers->bucket_count ? calloc(1, sizeof(*peer)) : NULL;
    if (!peer) {
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
    insert(peers, peer);
    peers->count++;
    return peer;
}

void rml_peers_each(struct rml_peers *peers, void (*visit)(struct rml_peer *peer, void *arg),
                    void *arg)
{
    for (size_t i = 0; i < peers->bucket_count; i++) {
        for (struct rml_peer *peer = peers->buckets[i], *next; peer; peer = next) {
            next = peer->next;
            visit(peer, arg);
        }
    }
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
    free(peers->buckets);
    *peers = (struct rml_peers){0};
}
