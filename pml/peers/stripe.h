/* The rails that a message goes over: what each has to do, how fast it is, and which takes the next
 * piece. A peer with one path costs nothing of this.
 *
 * Each rail gets a share with which all end together, counting what it has to do already. It is
 * left out if that is less than its ptl_min_frag_size, or if it has less than a quarter of the
 * fastest one's speed. Its speed is at first what the module claims (ptl_bandwidth), scaled as the
 * best one that was measured turned out, and follows what it does within 200 ms of use (rate.h). So
 * it is again when the rail was lost and is back.
 *
 * A rail that was left out for a second is measured by a small piece of a long message; or, in a
 * stream of shorter ones, by one of them. Of bytes that a module copies and reports at once nobody
 * knows when they arrive: they are divided by the speeds that are known, and a rail without room is
 * passed over. */
#ifndef PML_STRIPE_H
#define PML_STRIPE_H

#include <pml/peers/peer.h>
#include <pml/pieces/schedule.h>

enum {
    STRIPE_PIECE = 512 << 10, /* most bytes of one, where there are several rails */
    STRIPE_PROBE = 256 << 10, /* most bytes of the one that measures a rail */
    STRIPE_WINDOW = 32 << 20  /* most bytes under way to a peer, then: the rest is divided by the
                               * speeds that turn out */
};
#define STRIPE_PROBE_NS UINT64_C(1000000000) /* a rail that was idle for so long is measured */

/* What a request gave to rails. */
struct stripe {
    uint64_t under_way[SCHEDULE_RAILS]; /* bytes */
    uint64_t copied[SCHEDULE_RAILS];    /* bytes, of which no rail tells when they are there */
    uint64_t total;                     /* under way */
    uint8_t shut;                       /* rails that failed it, a bit each */
};

/* What is to be given. */
struct stripe_ask {
    size_t left;
    const mca_ptl_base_module_t *by;    /* that is to take it if it can; NULL: any */
    const mca_ptl_base_module_t *first; /* the rail that has to prepare nothing */
    bool fetches;                       /* by modules that can, of the first one's component */
    /* Of this pass; a bit for each rail. */
    uint8_t without, no_room;
    bool renewing; /* a path that was lost did not take one: others will be there soon, or none */
    int status;    /* the first error; SUCCESS: none */
};

/* No rail takes a piece now, but one may: later. */
static inline bool stripe_has_to_wait(const struct stripe_ask *ask)
{
    return ask->no_room || ask->renewing;
}

struct stripe_piece {
    struct ptl_path path; /* copied: paths may be renewed while the module is called */
    size_t rail;          /* in struct stripe */
    size_t size;
};

/* The rails have enough to do. */
static inline bool stripe_is_full(const struct peer *peer)
{
    return peer->rails && peer->rails->striped >= peer->pml->striped_most;
}
/* A request of which bytes are left waits for room, or for its turn; behind the others or before
 * them. */
static inline void stripe_wait(struct peer *peer, struct list *link, bool first)
{
    struct list *list = stripe_is_full(peer) ? &peer->rails->turns : &peer->pending;
    (first ? list_prepend : list_append)(list, link);
}
/* The next piece. False: no rail takes one; ask->status is an error then, unless
 * stripe_has_to_wait. */
bool stripe_next(struct peer *peer, const struct stripe *stripe, struct stripe_ask *ask,
                 struct stripe_piece *piece);
/* After a call: the module took so many bytes of a piece, and told of so many within it. */
void stripe_gave(struct peer *peer, struct stripe *stripe, const struct stripe_piece *piece,
                 uint64_t taken, uint64_t told);
/* What the module returned: a rail that has no room, or fails, takes no other piece of this pass.
 */
void stripe_answered(struct peer *peer, struct stripe_ask *ask, const struct stripe_piece *piece,
                     int status);
/* A module told of bytes outside of such calls: they are there, or it failed them. It may have
 * moved some that another one was asked for. */
void stripe_told(struct peer *peer, struct stripe *stripe, const mca_ptl_base_module_t *ptl,
                 uint64_t bytes, bool there);
/* The peer's paths were renewed. A rail that is back is measured anew: it had bytes under way for
 * as long as nobody knew that it was lost. */
void stripe_renew(struct peer *peer);
/* What the module reported of a piece in vain, or returned, tells that the path to the peer is
 * lost, which another one will take over. */
bool stripe_is_recovered(const mca_ptl_base_module_t *ptl, int status);
/* The module is used for this request no more. False: no other one can take its place. */
bool stripe_shut(const struct peer *peer, struct stripe *stripe, const struct stripe_ask *ask,
                 const mca_ptl_base_module_t *ptl);
/* The request ends. */
void stripe_end(struct peer *peer, struct stripe *stripe);

#endif
