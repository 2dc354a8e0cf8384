/* The end of endpoints (btl/peers/peer.h). */
#include <config.h>

#include <btl/peers/peer.h>
#include <btl/progress/progress.h>
#include <stdlib.h>
#include <time.h>

enum { NAP_NS = 100000 };

struct closing {
    struct btl_peers *peers;
    struct btl_peer **members;
    size_t count;
};

/* Asks every one of them, each time. */
static bool all(const struct closing *closing, bool (*holds)(struct btl_peer *peer))
{
    bool held = true;

    for (size_t i = 0; i < closing->count; i++) {
        held = holds(closing->members[i]) && held;
    }
    return held;
}

/* Together: what they wait for, they wait for at the same time. */
static void wait_for(const struct closing *closing, bool (*holds)(struct btl_peer *peer))
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    struct btl_peers *peers = closing->peers;
    uint64_t end_us = peers->clock_us() + peers->flush_us;

    while (holds && !all(closing, holds) && peers->clock_us() < end_us) {
        if (btl_poll_alone(peers->module) + btl_host_progress_at_end() == 0) {
            nanosleep(&nap, NULL);
        }
    }
}

static void close_all(const struct closing *closing)
{
    const struct btl_peer_hooks *hooks = closing->peers->hooks;

    wait_for(closing, hooks->is_flushed);
    for (size_t i = 0; i < closing->count; i++) {
        btl_peer_close(closing->members[i]);
    }
    wait_for(closing, hooks->say_bye);
    wait_for(closing, hooks->is_answered);
    for (size_t i = 0; i < closing->count; i++) {
        btl_peer_end(closing->members[i]);
    }
}

/* Whether there is something to close; else it is gone with this. */
static bool is_used(struct btl_peers *peers, struct btl_peer *peer)
{
    if (!peer->peers) {
        /* Who is called may use it. */
        btl_pending_end(peers->module, btl_peer_endpoint(peer));
    }
    if (!peer->peers) {
        roster_remove(peers->roster, peer, false);
        return false;
    }
    return true;
}

void btl_peers_end(struct btl_peers *peers, struct mca_btl_base_endpoint_t **endpoints,
                   size_t count)
{
    struct btl_peer **members = (struct btl_peer **) (void *) endpoints;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_used(peers, members[i])) {
            members[used++] = members[i];
        }
    }
    const struct closing closing = {peers, members, used};
    close_all(&closing);
}

/* Those in use now; hidden ones end with others. Returns how many; 0 without memory. */
static size_t end_used(struct btl_peers *peers)
{
    struct btl_peer *peer;
    size_t count = 0, kept = 0;

    list_for_each (peer, &peers->used, struct btl_peer, link) {
        count += !peer->hidden;
    }
    struct btl_peer **members = count > 0 ? malloc(count * sizeof(*members)) : NULL;
    list_for_each (peer, &peers->used, struct btl_peer, link) {
        if (members && !peer->hidden) {
            members[kept++] = peer;
        }
    }
    const struct closing closing = {peers, members, kept};
    close_all(&closing);
    free(members);
    return kept;
}

void btl_peers_end_all(struct btl_peers *peers)
{
    peers->closing = true;
    while (end_used(peers) > 0) { /* callbacks may use some for the first time */
    }
}
