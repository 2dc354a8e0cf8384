/* The ranks' numbers: --rank-by. */
#include <config.h>

#include <launcher/map/mapping.h>

#include <stdlib.h>

/* What ranks are sorted by: the program, then three numbers that depend on --rank-by, then the
 * order of mapping. */
struct key {
    uint32_t app, first, second, third;
    uint32_t place;
};

static int compare(const void *a, const void *b)
{
    const struct key *one = a, *other = b;
    const uint32_t left[] = {one->app, one->first, one->second, one->third, one->place};
    const uint32_t right[] = {other->app, other->first, other->second, other->third, other->place};
    for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

struct ranking {
    enum rank_by by;
    unsigned level; /* of the objects */
};

static struct ranking choose(const struct mapping *mapping)
{
    const struct placement *placement = mapping->placement;
    struct ranking ranking = {placement->rank_by, placement->rank_level};
    if (ranking.by == RANK_BY_DEFAULT) {
        ranking.by = placement->map_by == MAP_BY_NODE ? RANK_BY_NODE
                     : placement->span                ? RANK_BY_SPAN
                                                      : RANK_BY_SLOT;
        ranking.level = LEVEL_NODE;
    }
    bool named = ranking.by == RANK_BY_OBJECT || ranking.level != LEVEL_NODE;
    bool by_object = ranking.by >= RANK_BY_OBJECT;
    ranking.level = !by_object ? LEVEL_NODE : named ? ranking.level : mapping->map_level;
    return ranking;
}

/* The object of the ranking that the place is in. */
static int find_object(struct mapping *mapping, const struct place *place, unsigned level,
                       uint32_t *object)
{
    *object = 0;
    if (level == LEVEL_NODE) {
        return ORTE_SUCCESS;
    }
    if (mapping->map_level == LEVEL_NODE) {
        return mapping_fail(mapping, ORTE_ERR_BAD_PARAM,
                            "--rank-by %s needs --map-by %s, or by something inside of it",
                            level_name(level), level_name(level));
    }
    *object =
        view_container(mapping->nodes[place->node].view, mapping->map_level, place->object, level);
    return *object != TOPO_NONE
               ? ORTE_SUCCESS
               : mapping_fail(mapping, ORTE_ERR_BAD_PARAM,
                              "--rank-by %s: a %s of node %s does not lie in one %s",
                              level_name(level), level_name(mapping->map_level),
                              mapping->plan->nodes[place->node].name, level_name(level));
}

static void fill_key(struct key *key, enum rank_by by, uint32_t turn, uint32_t object,
                     uint32_t index)
{
    key->first = by == RANK_BY_NODE || by == RANK_BY_SPAN ? index : turn;
    key->second = by == RANK_BY_NODE || by == RANK_BY_SPAN ? turn
                  : by == RANK_BY_OBJECT                   ? index
                  : by == RANK_BY_FILL                     ? object
                                                           : 0;
    key->third = by == RANK_BY_SPAN || by == RANK_BY_OBJECT ? object : 0;
}

/* The largest number of objects that a node has, and so the row's length for a node in tables. */
static uint32_t most_objects(const struct mapping *mapping, unsigned level)
{
    uint32_t most = 1;
    for (uint32_t node = 0; level != LEVEL_NODE && node < mapping->plan->node_count; node++) {
        const struct view *view = mapping->nodes[node].view;
        most = view && view->levels[level].count > most ? view->levels[level].count : most;
    }
    return most;
}

static int make_keys(struct mapping *mapping, struct key *keys)
{
    struct ranking ranking = choose(mapping);
    uint32_t width = most_objects(mapping, ranking.level);
    uint32_t *counts = NULL, app = UINT32_MAX;
    int status = ORTE_SUCCESS;
    for (uint32_t i = 0; i < mapping->count && status == ORTE_SUCCESS; i++) {
        const struct place *place = &mapping->places[i];
        uint32_t object;
        if (place->app != app) { /* indexes begin anew */
            free(counts);
            counts = calloc((size_t) mapping->plan->node_count * width, sizeof(*counts));
            app = place->app;
        }
        status =
            counts ? find_object(mapping, place, ranking.level, &object) : ORTE_ERR_OUT_OF_RESOURCE;
        if (status == ORTE_SUCCESS) {
            uint32_t index = counts[(size_t) place->node * width + object]++;
            keys[i].app = place->app;
            keys[i].place = i;
            fill_key(&keys[i], ranking.by, place->turn, object, index);
        }
    }
    free(counts);
    return status;
}

int mapping_number(struct mapping *mapping)
{
    bool named = mapping->placement->map_by >= MAP_BY_SEQ;
    struct key *keys = calloc(mapping->count, sizeof(*keys));
    int status = keys ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == ORTE_SUCCESS && !named) {
        status = make_keys(mapping, keys);
    }
    if (status == ORTE_SUCCESS && !named) {
        qsort(keys, mapping->count, sizeof(*keys), compare);
    }
    for (uint32_t i = 0; status == ORTE_SUCCESS && i < mapping->count; i++) {
        mapping->places[named ? i : keys[i].place].rank = i;
    }
    free(keys);
    return status;
}
