#include <config.h>

#include <stdlib.h>
#include <tests/lib/sim/network.h>

static void way_begin(struct sim_way *way)
{
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_credit_begin(&way->credit[class]);
        rml_grant_begin(&way->grant[class]);
    }
    way->up = true;
    way->free_at = 0;
    way->told_at = 0;
}

void sim_network_begin(struct sim_network *network, int nodes)
{
    if (!network->spare.next) {
        list_init(&network->spare);
    }
    network->nodes = nodes;
    network->broken = NULL;
    network->drop_next = 0;
    for (int i = 0; i < 2 * nodes; i++) {
        struct sim_way *way = &network->ways[i];
        way->generation = 0;
        way->in_flight = 0;
        way_begin(way);
        for (int class = 0; class < OOB_CLASSES; class ++) {
            if (!way->waiting[class].next) {
                list_init(&way->waiting[class]);
            }
            list_splice(&network->spare, &way->waiting[class]);
        }
    }
    for (int i = 0; i < nodes; i++) {
        for (int j = 0; j < nodes; j++) {
            network->believes[i][j] = true;
        }
    }
}

void sim_network_fini(struct sim_network *network)
{
    for (struct list *link; (link = list_pop(&network->spare));) {
        free(container_of(link, struct sim_frame, link));
    }
}

struct sim_frame *sim_frame_new(struct sim_network *network)
{
    struct list *spare = list_pop(&network->spare);
    struct sim_frame *frame =
        spare ? container_of(spare, struct sim_frame, link) : malloc(sizeof(*frame));
    if (!frame) {
        abort();
    }
    *frame = (struct sim_frame){.way = -1, .came_way = -1};
    list_init(&frame->link);
    return frame;
}

/* --- leaving a process --- */

static uint64_t latency(struct sim_network *network)
{
    return 20 + sim_below(network->random, 400);
}

/* The frame does not stay in the relay that it came to: its link may carry more. */
static void give_credit(struct sim_network *network, struct sim_frame *frame)
{
    if (frame->came_way < 0) {
        return;
    }
    int number = frame->came_way;
    struct sim_way *way = &network->ways[number];
    frame->came_way = -1;
    if (!way->up || way->generation != frame->came_generation ||
        !rml_grant_left(&way->grant[frame->carrier], rml_stamp_cost(frame->stamp.length))) {
        return;
    }
    struct sim_frame *word = sim_frame_new(network);
    word->carrier = frame->carrier;
    word->generation = way->generation;
    word->stamp.sequence = rml_grant_tell(&way->grant[frame->carrier]);
    uint64_t at = network->queue->now + latency(network);
    way->told_at = at > way->told_at ? at : way->told_at;
    sim_at(network->queue, way->told_at, network->credit_event, number, word);
}

static void leave(struct sim_network *network, int node, struct sim_frame *frame)
{
    if (frame->out) {
        struct rml_out *out = frame->out;
        frame->out = NULL;
        network->left(network->arg, node, out);
    }
    give_credit(network, frame);
}

void sim_frame_end(struct sim_network *network, struct sim_frame *frame)
{
    give_credit(network, frame);
    list_append(&network->spare, &frame->link);
}

/* --- links --- */

/* Frames of a link arrive in their order. */
static void transmit(struct sim_network *network, struct sim_frame *frame)
{
    struct sim_way *way = &network->ways[frame->way];
    uint64_t at = network->queue->now + latency(network);
    way->free_at = at > way->free_at ? at : way->free_at;
    way->in_flight++;
    frame->generation = way->generation;
    if (network->drop_next > 0 && --network->drop_next == 0) {
        frame->lost = true;
    }
    sim_at(network->queue, way->free_at, network->frame_event, frame->way, frame);
}

static int choose_way(const struct sim_network *network, int node, int dest)
{
    int clockwise = (dest - node + network->nodes) % network->nodes;
    bool open[2] = {true, true};
    for (int i = 0; i < network->nodes; i++) {
        int from = (node + i) % network->nodes;
        if (!network->believes[node][from]) {
            open[i < clockwise ? 0 : 1] = false;
        }
    }
    bool other = clockwise * 2 > network->nodes;
    int turn = open[0] && open[1] ? other : (open[0] ? 0 : 1);
    return open[turn] ? node * 2 + turn : -1;
}

void sim_route(struct sim_network *network, int node, struct sim_frame *frame)
{
    int number = choose_way(network, node, frame->dest);
    if (number < 0 || !network->ways[number].up || frame->hops++ >= SIM_HOPS_MAX) {
        leave(network, node, frame);
        sim_frame_end(network, frame);
        return;
    }
    struct sim_way *way = &network->ways[number];
    frame->way = (int16_t) number;
    if (list_empty(&way->waiting[frame->carrier]) &&
        rml_credit_take(&way->credit[frame->carrier], rml_stamp_cost(frame->stamp.length))) {
        transmit(network, frame);
    } else {
        list_append(&way->waiting[frame->carrier], &frame->link);
    }
}

int sim_arrived(struct sim_network *network, struct sim_frame *frame)
{
    struct sim_way *way = &network->ways[frame->way];
    int number = frame->way, node = sim_way_to(network, number);
    way->in_flight--;
    leave(network, number / 2, frame);
    if (!way->up || frame->generation != way->generation) {
        sim_frame_end(network, frame);
        return -1;
    }
    if (!rml_grant_came(&way->grant[frame->carrier], rml_stamp_cost(frame->stamp.length))) {
        network->broken = "a relay got more than it granted";
    }
    frame->way = -1;
    frame->came_way = (int16_t) number;
    frame->came_generation = frame->generation;
    if (frame->lost) {
        sim_frame_end(network, frame);
        return -1;
    }
    return node;
}

void sim_credit(struct sim_network *network, int number, void *what)
{
    struct sim_frame *word = what;
    struct sim_way *way = &network->ways[number];
    if (way->up && way->generation == word->generation) {
        struct rml_credit *credit = &way->credit[word->carrier];
        struct list *waiting = &way->waiting[word->carrier];
        if (!rml_credit_raise(credit, word->stamp.sequence)) {
            network->broken = "a link's credit went back";
        }
        while (!list_empty(waiting)) {
            struct sim_frame *frame = container_of(waiting->next, struct sim_frame, link);
            if (!rml_credit_take(credit, rml_stamp_cost(frame->stamp.length))) {
                break;
            }
            list_remove(&frame->link);
            transmit(network, frame);
        }
    }
    list_append(&network->spare, &word->link);
}

static void set_way(struct sim_network *network, int number, bool up)
{
    struct sim_way *way = &network->ways[number];
    if (up) {
        way_begin(way);
        return;
    }
    way->up = false;
    way->generation++;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        for (struct list *link; (link = list_pop(&way->waiting[class]));) {
            struct sim_frame *frame = container_of(link, struct sim_frame, link);
            leave(network, number / 2, frame);
            list_append(&network->spare, &frame->link);
        }
    }
}

void sim_set_link(struct sim_network *network, int node, bool up)
{
    if (network->ways[2 * node].up != up) {
        set_way(network, 2 * node, up);
        set_way(network, 2 * ((node + 1) % network->nodes) + 1, up);
    }
}
