/* Ranks that are added: what the page says of them. */
#include <config.h>

#include <string.h>
#include <tests/unit/launcher/map/naive_parts.h>

/* What a living rank has taken of its node. */
static void take_rank(struct naive *naive, const struct naive_rank *rank)
{
    struct naive_node *node = &naive->nodes[rank->node];
    const struct placement *placement = &naive->request->placement;
    uint64_t processors[NAIVE_THREADS], objects[NAIVE_THREADS] = {0};
    uint32_t count = naive_objects_of(node, naive_processor_level(naive), processors), more = 0;
    uint32_t object_count = naive_objects_of(node, naive_map_level(placement), objects);
    for (uint32_t i = 0; i < count; i++) {
        bool lowest = !(processors[i] & node->taken) && more < placement->cpus_per_rank;
        if (rank->bound ? (processors[i] & rank->bound) != 0 : lowest && !placement->bind) {
            node->taken |= processors[i];
            more++;
        }
    }
    uint64_t object = rank->bound
                          ? naive_first_object(node, naive_map_level(placement), rank->bound)
                      : object_count ? objects[node->placed % object_count]
                                     : 0;
    naive_load_object(naive, node, object ? object : objects[0]);
    node->placed++;
}

static bool bind_added(struct naive *naive)
{
    const struct placement *placement = &naive->request->placement;
    bool right = true;
    for (uint32_t i = naive->first; i < naive->numbered && right; i++) {
        struct naive_rank *rank = &naive->ranks[i];
        if (placement->cpus_per_rank) {
            rank->bound = placement->bind ? rank->own : 0;
        } else if (placement->bind) {
            right = naive_bind_one(naive, rank, placement->bind_level);
        } else if (!placement->bind_given && placement->cpu_set) {
            rank->bound = naive->nodes[rank->node].usable;
        }
    }
    return right;
}

bool naive_extend(struct naive *naive)
{
    naive->first = naive->numbered;
    naive->count = naive->unbound = 0;
    for (uint32_t i = 0; i < naive->node_count; i++) {
        struct naive_node *node = &naive->nodes[i];
        node->placed = 0;
        node->taken = node->last = 0;
        memset(node->load, 0, sizeof(node->load));
    }
    for (uint32_t rank = 0; rank < naive->first; rank++) {
        if (naive_lives(naive, rank)) {
            take_rank(naive, &naive->ranks[rank]);
        }
    }
    if (!naive_map_program(naive, 0) || !naive_number(naive) || !bind_added(naive)) {
        return false;
    }
    for (uint32_t rank = naive->first; rank < naive->numbered; rank++) {
        naive->ranks[rank].program = naive->use->program;
    }
    return true;
}
