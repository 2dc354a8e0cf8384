#include <config.h>

#include <base/data/clock.h>
#include <base/data/least.h>
#include <pml/peers/stripe.h>
#include <stdlib.h>

static uint64_t now_of(const struct peer *peer)
{
    const struct pml_host *host = &peer->pml->host;
    return host->clock_ns ? host->clock_ns(host->arg) : clock_ns();
}

/* What a rail claims whose speed is not known: as much more as the best of those that were measured
 * turned out to have, since one whose claim is low would leave it out. */
static double claim_of(const struct peer_rails *rails, const mca_ptl_base_module_t *ptl)
{
    double times = 1;

    for (size_t i = 0; i < rails->count && rails->rail[i].ptl; i++) {
        const struct peer_rail *rail = &rails->rail[i];
        const double claimed = rail->ptl->ptl_bandwidth, has = rate_speed(&rail->rate);
        const bool measured = rail->rate.seen_ns > 0 && !rail->lost;
        times = measured && claimed > 0 && has > times * claimed ? has / claimed : times;
    }
    return times * ptl->ptl_bandwidth;
}

/* Its place among the peer's rails, which it gets if it has none; SCHEDULE_RAILS: none is left. */
static size_t place_of(const struct peer *peer, const mca_ptl_base_module_t *ptl)
{
    struct peer_rails *rails = peer->rails;
    size_t i = 0;

    while (i < rails->count && rails->rail[i].ptl && rails->rail[i].ptl != ptl) {
        i++;
    }
    if (i == rails->count) {
        return SCHEDULE_RAILS;
    }
    if (!rails->rail[i].ptl) {
        rate_init(&rails->rail[i].rate, claim_of(rails, ptl));
        rails->rail[i].ptl = ptl;
    }
    return i;
}

/* Of each module one, at most. Without memory the peer has none, and one path does. */
static void rails_create(struct peer *peer)
{
    const size_t count = least(peer->pml->module_count, SCHEDULE_RAILS);
    struct peer_rails *rails = calloc(1, sizeof(*rails) + count * sizeof(rails->rail[0]));

    if (rails) {
        rails->count = count;
        list_init(&rails->turns);
        peer->rails = rails;
    }
}

static bool can_take(const struct stripe_ask *ask, const mca_ptl_base_module_t *ptl)
{
    return !ask->fetches || ptl == ask->first ||
           ((ptl->ptl_flags & MCA_PTL_GET) && ptl->ptl_component == ask->first->ptl_component);
}

/* The first module's path, or another one that can take it; NULL: none. */
static const struct ptl_path *path_by(const struct ptl_paths *paths, const struct stripe_ask *ask)
{
    const struct ptl_path *found = NULL;

    for (size_t i = 0; i < paths->count; i++) {
        const struct ptl_path *path = &paths->path[i];
        if (path->ptl == ask->first || (!found && can_take(ask, path->ptl))) {
            found = path;
        }
    }
    return found;
}

/* Over one path, as much as it takes at a time. */
static bool next_alone(const struct peer *peer, const struct stripe_ask *ask,
                       struct stripe_piece *piece)
{
    const struct ptl_path *path = ask->without || ask->no_room ? NULL : path_by(&peer->paths, ask);

    if (!path) {
        return false;
    }
    size_t most = path->ptl->ptl_max_frag_size;
    *piece = (struct stripe_piece){.path = *path, .size = least(ask->left, most ? most : SIZE_MAX)};
    return true;
}

/* As the scheduler sees the peer's rails, in their places; those without a path take nothing. */
struct view {
    struct schedule_rail rails[SCHEDULE_RAILS];
    const struct ptl_path *paths[SCHEDULE_RAILS];
};

static void look(const struct peer *peer, const struct stripe *stripe, const struct stripe_ask *ask,
                 struct view *view)
{
    const unsigned without = stripe->shut | ask->without;

    *view = (struct view){0};
    for (size_t i = 0; i < peer->paths.count; i++) {
        const mca_ptl_base_module_t *ptl = peer->paths.path[i].ptl;
        size_t at = place_of(peer, ptl), most = ptl->ptl_max_frag_size;
        if (at == SCHEDULE_RAILS || (without & 1u << at) || !can_take(ask, ptl)) {
            continue;
        }
        const struct rate *rate = &peer->rails->rail[at].rate;
        view->paths[at] = &peer->paths.path[i];
        view->rails[at] = (struct schedule_rail){
            .weight = rate_speed(rate),
            .min = ptl->ptl_min_frag_size,
            .max = ask->no_room & 1u << at ? 0 : least(most ? most : SIZE_MAX, STRIPE_PIECE),
            /* another rail has to be told where the bytes are */
            .queued = rate->queued + stripe->copied[at] +
                      (ptl == ask->first ? 0 : ptl->ptl_min_frag_size),
        };
    }
}

static bool is_idle(const struct rate *rate, uint64_t now)
{
    return rate->seen_ns > 0 && rate->queued == 0 && now - rate->seen_ns > STRIPE_PROBE_NS;
}

/* It is idle, and others are in use. */
static bool is_left_out(const struct peer_rails *rails, size_t rail, uint64_t now)
{
    bool others = false;
    for (size_t i = 0; i < rails->count; i++) {
        const struct rate *rate = &rails->rail[i].rate;
        others = others || (rate->seen_ns > 0 && !is_idle(rate, now));
    }
    return others && is_idle(&rails->rail[rail].rate, now);
}

/* A rail that is to carry a small piece, or a shorter message, so that it is known how fast it is
 * now: for a long message any that was idle, for a shorter one only one that was left out.
 * SCHEDULE_RAILS: none. */
static size_t rail_to_probe(const struct peer *peer, const struct view *view, size_t left)
{
    const uint64_t now = now_of(peer);
    const struct peer_rails *rails = peer->rails;

    for (size_t i = 0; i < rails->count; i++) {
        const bool is_due = left / 4 >= STRIPE_PROBE ? is_idle(&rails->rail[i].rate, now)
                                                     : is_left_out(rails, i, now);
        if (is_due && view->paths[i] && view->rails[i].max > 0 && left >= view->rails[i].min) {
            return i;
        }
    }
    return SCHEDULE_RAILS;
}

/* The one that the bytes are asked from; SCHEDULE_RAILS: none, or it takes nothing now. */
static size_t rail_asked(const struct stripe_ask *ask, const struct view *view)
{
    for (size_t i = 0; ask->by && i < SCHEDULE_RAILS; i++) {
        if (view->paths[i] && view->paths[i]->ptl == ask->by && view->rails[i].max > 0) {
            return i;
        }
    }
    return SCHEDULE_RAILS;
}

/* One that is known, and how many bytes it takes; SCHEDULE_RAILS: the scheduler is to choose. */
static size_t rail_known(const struct peer *peer, const struct stripe_ask *ask,
                         const struct view *view, size_t *size)
{
    size_t rail = rail_asked(ask, view);
    if (rail < SCHEDULE_RAILS) {
        *size = least(ask->left, view->rails[rail].max);
        return rail;
    }
    rail = rail_to_probe(peer, view, ask->left);
    if (rail < SCHEDULE_RAILS) {
        rate_age(&peer->rails->rail[rail].rate);
        *size = least(least(STRIPE_PROBE, ask->left), view->rails[rail].max);
    }
    return rail;
}

/* Among several. */
static bool next_of_many(const struct peer *peer, const struct stripe *stripe,
                         const struct stripe_ask *ask, struct stripe_piece *piece)
{
    struct view view;
    look(peer, stripe, ask, &view);
    piece->rail = rail_known(peer, ask, &view, &piece->size);
    if (piece->rail == SCHEDULE_RAILS) {
        piece->rail = schedule_next(view.rails, SCHEDULE_RAILS, ask->left, &piece->size);
    }
    if (piece->rail == SCHEDULE_RAILS) {
        return false;
    }
    piece->path = *view.paths[piece->rail];
    return true;
}

bool stripe_next(struct peer *peer, const struct stripe *stripe, struct stripe_ask *ask,
                 struct stripe_piece *piece)
{
    if (!peer->rails && peer->paths.count > 1) {
        rails_create(peer);
    }
    bool found =
        peer->rails ? next_of_many(peer, stripe, ask, piece) : next_alone(peer, ask, piece);
    if (!found && ask->status == OPAL_SUCCESS) {
        ask->status = OPAL_ERR_UNREACH;
    }
    return found;
}

void stripe_gave(struct peer *peer, struct stripe *stripe, const struct stripe_piece *piece,
                 uint64_t taken, uint64_t told)
{
    if (!peer->rails) {
        return;
    }
    uint64_t copied = told < taken ? told : taken;
    stripe->copied[piece->rail] += copied;
    if (taken > copied) {
        stripe->under_way[piece->rail] += taken - copied;
        stripe->total += taken - copied;
        peer->rails->striped += taken - copied;
        rate_begin(&peer->rails->rail[piece->rail].rate, taken - copied, now_of(peer));
    }
    if (told > copied) { /* of pieces before */
        stripe_told(peer, stripe, piece->path.ptl, told - copied, true);
    }
}

void stripe_answered(struct peer *peer, struct stripe_ask *ask, const struct stripe_piece *piece,
                     int status)
{
    if (status == OPAL_ERR_OUT_OF_RESOURCE) {
        peer_is_short(peer, piece->path.ptl);
        ask->no_room |= (uint8_t) (1u << piece->rail);
    } else if (stripe_is_recovered(piece->path.ptl, status)) {
        ask->without |= (uint8_t) (1u << piece->rail);
        ask->renewing = true;
    } else if (status != OPAL_SUCCESS) {
        ask->without |= (uint8_t) (1u << piece->rail);
        ask->status = ask->status == OPAL_SUCCESS ? status : ask->status;
    }
}

/* So many bytes of a rail are not under way any more. Returns how many there were. */
static uint64_t settle(struct peer *peer, struct stripe *stripe, size_t rail, uint64_t bytes,
                       bool there)
{
    const uint64_t known = least(bytes, stripe->under_way[rail]);
    stripe->under_way[rail] -= known;
    stripe->total -= known;
    peer->rails->striped -= known;
    if (known > 0) {
        (there ? rate_end : rate_drop)(&peer->rails->rail[rail].rate, known, now_of(peer));
    }
    return known;
}

void stripe_told(struct peer *peer, struct stripe *stripe, const mca_ptl_base_module_t *ptl,
                 uint64_t bytes, bool there)
{
    size_t rail = peer && peer->rails ? place_of(peer, ptl) : SCHEDULE_RAILS;
    if (rail == SCHEDULE_RAILS) {
        return;
    }
    bytes -= settle(peer, stripe, rail, bytes, there);
    for (size_t i = 0; bytes > 0 && i < peer->rails->count; i++) {
        bytes -= settle(peer, stripe, i, bytes, false);
    }
    if (!list_empty(&peer->rails->turns) && !stripe_is_full(peer)) {
        peer_is_due(peer);
    }
}

static bool has_path_over(const struct peer *peer, const mca_ptl_base_module_t *ptl)
{
    size_t i = 0;

    while (i < peer->paths.count && peer->paths.path[i].ptl != ptl) {
        i++;
    }
    return i < peer->paths.count;
}

void stripe_renew(struct peer *peer)
{
    struct peer_rails *rails = peer->rails;

    for (size_t i = 0; rails && i < rails->count && rails->rail[i].ptl; i++) {
        struct peer_rail *rail = &rails->rail[i];
        const bool lost = !has_path_over(peer, rail->ptl);
        if (rail->lost && !lost) {
            rate_claim(&rail->rate, claim_of(rails, rail->ptl), now_of(peer));
        }
        rail->lost = lost;
    }
}

bool stripe_is_recovered(const mca_ptl_base_module_t *ptl, int status)
{
    return status == OPAL_ERR_UNREACH && (ptl->ptl_flags & MCA_PTL_FLAGS_RECOVERS);
}

bool stripe_shut(const struct peer *peer, struct stripe *stripe, const struct stripe_ask *ask,
                 const mca_ptl_base_module_t *ptl)
{
    struct view view;
    size_t rail = peer->rails ? place_of(peer, ptl) : SCHEDULE_RAILS;

    if (rail == SCHEDULE_RAILS) {
        return false;
    }
    stripe->shut |= (uint8_t) (1u << rail);
    look(peer, stripe, ask, &view);
    for (size_t i = 0; i < SCHEDULE_RAILS; i++) {
        if (view.paths[i]) {
            return true;
        }
    }
    return false;
}

void stripe_end(struct peer *peer, struct stripe *stripe)
{
    for (size_t i = 0; peer && peer->rails && stripe->total > 0 && i < peer->rails->count; i++) {
        if (stripe->under_way[i] > 0) {
            stripe_told(peer, stripe, peer->rails->rail[i].ptl, stripe->under_way[i], false);
        }
    }
}
