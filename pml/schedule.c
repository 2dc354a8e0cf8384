#include <config.h>

#include <pml/schedule.h>

static double fastest(const struct schedule_rail *rails, size_t count)
{
    double most = 0;

    for (size_t i = 0; i < count; i++) {
        most = rails[i].weight > most ? rails[i].weight : most;
    }
    return most;
}

static bool is_used(const struct schedule_rail *rail, double most)
{
    return rail->weight * SCHEDULE_SLOWEST >= most;
}

/* The rail that has the least to do for its speed. */
static size_t idlest(const struct schedule_rail *rails, size_t count, double most)
{
    size_t best = count;

    for (size_t i = 0; i < count; i++) {
        if (is_used(&rails[i], most) &&
            (best == count || (double) rails[i].given / rails[i].weight <
                                  (double) rails[best].given / rails[best].weight)) {
            best = i;
        }
    }
    return best;
}

/* What the rail lacks of its share of the whole message. */
static double share(const struct schedule_rail *rails, size_t count, double most, size_t rail,
                    size_t left)
{
    double bytes = (double) left, weights = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_used(&rails[i], most)) {
            bytes += (double) rails[i].given;
            weights += rails[i].weight;
        }
    }
    return bytes * rails[rail].weight / weights - (double) rails[rail].given;
}

size_t schedule_next(const struct schedule_rail *rails, size_t count, size_t left, size_t *size)
{
    double most = fastest(rails, count);
    size_t rail = idlest(rails, count, most);
    double wanted = share(rails, count, most, rail, left);
    size_t min = rails[rail].min > 0 ? rails[rail].min : 1;
    size_t piece = wanted >= (double) left ? left : wanted > 0 ? (size_t) wanted : 0;

    piece = piece < min ? min : piece;
    piece = piece > rails[rail].max ? rails[rail].max : piece;
    /* No crumb for a piece of its own. */
    *size = left - (piece < left ? piece : left) < min && left <= rails[rail].max ? left : piece;
    *size = *size < left ? *size : left;
    return rail;
}
