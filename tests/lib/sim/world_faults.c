#include <config.h>

#include <string.h>
#include <tests/lib/sim/world_state.h>

/* --- the ring --- */

static int clockwise_of(const struct sim_world *world, int node)
{
    return (node + 1) % world->network.nodes;
}

int world_next(void *arg, int node, int dest)
{
    const struct sim_world *world = arg;
    int nodes = world->network.nodes;
    int clockwise = (dest - node + nodes) % nodes;
    bool open[2] = {true, true};
    for (int i = 0; i < nodes; i++) {
        if (!world->believes[node][(node + i) % nodes]) {
            open[i < clockwise ? 0 : 1] = false;
        }
    }
    bool other = clockwise * 2 > nodes;
    int turn = open[0] && open[1] ? other : (open[0] ? 0 : 1);
    return open[turn] ? (node + (turn ? nodes - 1 : 1)) % nodes : -1;
}

static bool is_up(struct sim_world *world, int link)
{
    return sim_way(&world->network, link, clockwise_of(world, link))->state == SIM_UP;
}

void world_set_link(struct sim_world *world, int node, bool up)
{
    int other = clockwise_of(world, node);
    if (is_up(world, node) == up) {
        return;
    }
    if (up) {
        sim_link_make(&world->network, node, other);
    } else {
        sim_link_cut(&world->network, node, other);
        sim_way_end(&world->network, node, other, SIM_DOWN);
        sim_way_end(&world->network, other, node, SIM_DOWN);
    }
}

/* --- faults --- */

static void believe_later(struct sim_world *world, int link)
{
    for (int i = 0; i < world->network.nodes; i++) {
        int neighbour = clockwise_of(world, link);
        uint32_t delay = i == link || i == neighbour ? 0 : sim_below(&world->random, 20000);
        sim_at(&world->queue, world_now(world) + delay, EVENT_BELIEVE, i, (void *) (intptr_t) link);
    }
}

void world_believe(struct sim_world *world, int at, int link)
{
    struct node *node = &world->node[at];
    bool up = is_up(world, link);
    bool mine = at == link || at == (link + 1) % world->network.nodes;
    world->believes[at][link] = up;
    for (int to = 0; mine && node->running && to < world->network.nodes; to++) {
        if (to != at) {
            rml_session_repair(&node->session[to], world_now(world));
        }
    }
    node->dirty = true;
}

static void break_link(struct sim_world *world, int link, uint32_t longest_us)
{
    world_set_link(world, link, false);
    believe_later(world, link);
    sim_at(&world->queue, world_now(world) + 1 + sim_below(&world->random, longest_us),
           EVENT_LINK_UP, link, NULL);
}

void world_link_up(struct sim_world *world, int link)
{
    int neighbour = clockwise_of(world, link);
    if (world->node[link].running && world->node[neighbour].running) {
        world_set_link(world, link, true);
        believe_later(world, link);
    }
}

void world_begin_node(struct sim_world *world, int at)
{
    struct node *node = &world->node[at];
    memset(node->sent, 0, sizeof(node->sent));
    node->running = true;
    node->stopped = false;
    node->dirty = true;
    for (int i = 0; i < world->network.nodes; i++) {
        rml_session_init(&node->session[i], epoch_of(at, node->life), WINDOW, world->held_max);
        world_forget_assembly(node, i);
    }
}

void world_drop_kept(struct sim_world *world, struct node *node)
{
    for (int i = 0; i < node->kept_count; i++) {
        sim_frame_end(&world->network, node->kept[i]);
    }
    node->kept_count = 0;
}

/* The destination ended, or was given up: what is pending may fail. */
static void allow_failure(struct sim_world *world, int from, int to)
{
    for (uint32_t i = 0; i < world->message_count; i++) {
        struct message *message = &world->message[i];
        if (message->completed == 0 && message->to == to && (from < 0 || message->from == from)) {
            message->may_fail = true;
        }
    }
}

static void give_up(struct sim_world *world, int from, int to)
{
    struct node *node = &world->node[from];
    struct list failed = LIST_INIT(failed);
    if (from == to || !node->running || node->stopped) {
        return;
    }
    allow_failure(world, from, to);
    if (rml_session_pending(&node->session[to])) {
        rml_session_fail(&node->session[to], &failed);
        world_end_parts(world, &failed, true);
    }
    if (sim_below(&world->random, 2)) { /* it is taken for dead, perhaps wrongly */
        rml_session_forget(&node->session[to]);
    }
    node->dirty = true;
}

static void end_node(struct sim_world *world, int at)
{
    struct node *node = &world->node[at];
    int before = (at + world->network.nodes - 1) % world->network.nodes;
    if (!node->running) {
        return;
    }
    allow_failure(world, -1, at);
    node->running = false;
    node->life++;
    world_drop_kept(world, node);
    world_set_link(world, at, false);
    world_set_link(world, before, false);
    believe_later(world, at);
    believe_later(world, before);
    for (int i = 0; i < world->network.nodes; i++) {
        give_up(world, i, at); /* they hear of it */
    }
    uint64_t start = world_now(world) + 1 + sim_below(&world->random, 300000);
    sim_at(&world->queue, start, EVENT_START, at, NULL);
    sim_at(&world->queue, start + 10, EVENT_LINK_UP, at, NULL);
    sim_at(&world->queue, start + 20, EVENT_LINK_UP, before, NULL);
}

void world_resume(struct sim_world *world, int at)
{
    struct node *node = &world->node[at];
    node->stopped = false;
    node->dirty = true;
    for (int i = 0; i < node->kept_count; i++) {
        struct sim_frame *frame = node->kept[i];
        if (frame->dest != at) {
            sim_route(&world->network, at, frame);
        } else {
            world_receive(world, at, frame);
            sim_frame_end(&world->network, frame);
        }
    }
    node->kept_count = 0;
}

void world_fault(struct sim_world *world, int kind)
{
    int at = (int) sim_below(&world->random, (uint32_t) world->network.nodes);
    int other = (at + 1 + (int) sim_below(&world->random, (uint32_t) world->network.nodes - 1)) %
                world->network.nodes;
    world->report->faults++;
    switch ((enum mishap) kind) {
    case FAULT_LINK:
        break_link(world, at, 300000);
        return;
    case FAULT_PARTITION:
        break_link(world, at, 1500000);
        break_link(world, other, 1500000);
        return;
    case FAULT_RESTART:
        end_node(world, at);
        return;
    case FAULT_DROP:
        world->network.drop_next = 1 + sim_below(&world->random, 20);
        return;
    case FAULT_STOP:
        if (world->node[at].running && !world->node[at].stopped) {
            world->node[at].stopped = true;
            sim_at(&world->queue, world_now(world) + 1 + sim_below(&world->random, 3000000),
                   EVENT_RESUME, at, NULL);
        }
        return;
    case FAULT_GIVE_UP:
        give_up(world, at, (at + 1) % world->network.nodes);
        return;
    }
}
