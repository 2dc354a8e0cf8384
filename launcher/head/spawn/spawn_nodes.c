#include <config.h>

#include <launcher/head/spawn/spawn_nodes.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool spawn_lacks_daemons(const struct hnp *hnp, const struct spawned *spawned)
{
    bool lacks = false;
    for (uint32_t i = 0; i < spawned->count && !lacks; i++) {
        lacks = hnp->daemon_of_node[spawned->node_of[i]] == NO_DAEMON;
    }
    return lacks;
}

/* Where the nodes of a plan are, and which is there, while some change places. */
struct moves {
    uint32_t *place_of, *node_at; /* owned */
};

static bool moves_begin(struct moves *moves, uint32_t count)
{
    moves->place_of = calloc((size_t) count + 1, sizeof(uint32_t));
    moves->node_at = calloc((size_t) count + 1, sizeof(uint32_t));
    for (uint32_t i = 0; moves->place_of && moves->node_at && i < count; i++) {
        moves->place_of[i] = moves->node_at[i] = i;
    }
    return moves->place_of && moves->node_at;
}

static void moves_end(struct moves *moves)
{
    free(moves->place_of);
    free(moves->node_at);
}

static void change_places(struct hnp *hnp, struct moves *moves, uint32_t a, uint32_t b)
{
    struct map_node node = hnp->plan.nodes[a];
    uint32_t daemon = hnp->daemon_of_node[a], at = moves->node_at[a];
    hnp->plan.nodes[a] = hnp->plan.nodes[b];
    hnp->plan.nodes[b] = node;
    hnp->daemon_of_node[a] = hnp->daemon_of_node[b];
    hnp->daemon_of_node[b] = daemon;
    moves->node_at[a] = moves->node_at[b];
    moves->node_at[b] = at;
    moves->place_of[moves->node_at[a]] = a;
    moves->place_of[moves->node_at[b]] = b;
}

/* Returns the end of those that are the spawn's. */
static uint32_t move_forward(struct hnp *hnp, struct moves *moves, const struct spawned *spawned)
{
    uint32_t end = hnp->plan.node_count;
    for (uint32_t i = 0; i < spawned->count; i++) {
        uint32_t place = moves->place_of[spawned->node_of[i]];
        if (place >= end) {
            change_places(hnp, moves, place, end++);
        }
    }
    return end;
}

static int name(struct spawned *spawned, const struct hnp *hnp, uint32_t first, uint32_t end)
{
    spawned->node_first = first;
    spawned->node_count = end - first;
    spawned->daemon_of_node = calloc((size_t) end - first + 1, sizeof(uint32_t));
    spawned->node_names = calloc((size_t) end - first + 1, sizeof(char *));
    bool whole = spawned->daemon_of_node && spawned->node_names;
    for (uint32_t i = 0; whole && i < end - first; i++) {
        spawned->daemon_of_node[i] = hnp->daemon_of_node[first + i];
        spawned->node_names[i] = strdup(hnp->plan.nodes[first + i].name);
        whole = spawned->node_names[i] != NULL;
    }
    return whole ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

int spawn_name_nodes(struct hnp *hnp, struct spawned *spawned)
{
    struct moves moves;
    uint32_t first = hnp->plan.node_count, all = first + hnp->plan.idle_count;
    int status = moves_begin(&moves, all) ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
    if (status == ORTE_SUCCESS) {
        uint32_t end = move_forward(hnp, &moves, spawned);
        for (uint32_t i = 0; i < spawned->count; i++) {
            spawned->node_of[i] = moves.place_of[spawned->node_of[i]];
        }
        status = end > first ? job_plan_index(&hnp->plan) : ORTE_SUCCESS;
        status = status == ORTE_SUCCESS ? name(spawned, hnp, first, end) : status;
    }
    moves_end(&moves);
    return status;
}

void spawn_add_nodes(struct hnp *hnp, const struct spawned *spawned)
{
    hnp->plan.node_count += spawned->node_count;
    hnp->plan.idle_count -= spawned->node_count;
    for (uint32_t i = 0; i < spawned->count; i++) {
        job_join_daemon(&hnp->job, hnp->daemon_of_node[spawned->node_of[i]]);
    }
}

bool spawn_drop_lost(struct hnp *hnp, char *reason, size_t reason_size)
{
    uint32_t first = hnp->plan.node_count, all = first + hnp->plan.idle_count;
    bool none = true;
    for (uint32_t node = first; node < all; node++) {
        uint32_t vpid = hnp->daemon_of_node[node];
        if (vpid == NO_DAEMON || !dvm_is_lost(&hnp->dvm, vpid)) {
            continue;
        }
        const struct dvm_daemon *daemon = &hnp->dvm.daemons[vpid];
        if (none) {
            snprintf(reason, reason_size, "node %s: %s", daemon->node,
                     daemon->why ? daemon->why : "its daemon is lost");
        }
        hnp->daemon_of_node[node] = NO_DAEMON;
        none = false;
    }
    return none;
}
