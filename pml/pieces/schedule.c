#include <config.h>

#include <pml/pieces/schedule.h>

/* Those among which the rest is divided. */
struct shares {
    const struct schedule_rail *rails;
    size_t count;
    bool used[SCHEDULE_RAILS];
    double end; /* when they are done, in bytes over weight */
};

/* Their end, when all of them end at the same time. */
static void level(struct shares *shares, size_t left)
{
    double bytes = (double) left, weights = 0;

    for (size_t i = 0; i < shares->count; i++) {
        if (shares->used[i]) {
            bytes += (double) shares->rails[i].queued;
            weights += shares->rails[i].weight;
        }
    }
    shares->end = bytes / weights;
}

static double share_of(const struct shares *shares, size_t rail)
{
    const struct schedule_rail *of = &shares->rails[rail];
    return shares->end * of->weight - (double) of->queued;
}

/* The one that lacks most of its min; count: each has enough. The last one takes anything. */
static size_t worst(const struct shares *shares)
{
    size_t found = shares->count, used = 0;
    double lacks = 0;

    for (size_t i = 0; i < shares->count; i++) {
        double lack = (double) shares->rails[i].min - share_of(shares, i);
        used += shares->used[i];
        if (shares->used[i] && lack > lacks) {
            found = i;
            lacks = lack;
        }
    }
    return used > 1 ? found : shares->count;
}

/* The one that is free first; count: none. */
static size_t idlest(const struct shares *shares)
{
    size_t best = shares->count;
    double least = 0;

    for (size_t i = 0; i < shares->count; i++) {
        if (shares->used[i]) {
            double busy = (double) shares->rails[i].queued / shares->rails[i].weight;
            best = best == shares->count || busy < least ? i : best;
            least = best == i ? busy : least;
        }
    }
    return best;
}

static void choose(struct shares *shares, size_t left)
{
    double most = 0;
    size_t out;

    for (size_t i = 0; i < shares->count; i++) {
        most = shares->rails[i].weight > most ? shares->rails[i].weight : most;
    }
    for (size_t i = 0; i < shares->count; i++) {
        double weight = shares->rails[i].weight;
        shares->used[i] =
            weight > 0 && shares->rails[i].max > 0 && weight * SCHEDULE_SLOWEST >= most;
    }
    for (level(shares, left); (out = worst(shares)) < shares->count; level(shares, left)) {
        shares->used[out] = false;
    }
}

size_t schedule_next(const struct schedule_rail *rails, size_t count, size_t left, size_t *size)
{
    struct shares shares = {.rails = rails,
                            .count = count < SCHEDULE_RAILS ? count : SCHEDULE_RAILS};
    choose(&shares, left);
    size_t rail = idlest(&shares);
    if (rail == shares.count) {
        return count;
    }
    double wanted = share_of(&shares, rail);
    size_t min = rails[rail].min > 0 ? rails[rail].min : 1;
    size_t piece = wanted >= (double) left ? left : wanted > 0 ? (size_t) wanted : 0;

    piece = piece < min ? min : piece;
    piece = piece > rails[rail].max ? rails[rail].max : piece;
    /* No crumb for a piece of its own. */
    *size = left - (piece < left ? piece : left) < min && left <= rails[rail].max ? left : piece;
    *size = *size < left ? *size : left;
    return rail;
}
