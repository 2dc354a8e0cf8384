#include <config.h>

#include <stdlib.h>
#include <tests/lib/sim/network.h>

enum { LATENCY_LEAST_US = 20, LOST = -1 };

void sim_network_begin(struct sim_network *network, int nodes)
{
    if (!network->spare.next) {
        list_init(&network->spare);
    }
    network->nodes = nodes;
    network->broken = NULL;
    network->drop_next = 0;
    for (int i = 0; i < nodes * SIM_NODES_MAX; i++) {
        struct sim_way *way = &network->ways[i];
        way->state = SIM_DOWN;
        way->cut = true;
        way->generation = 0;
        way->number = 0;
        for (int class = 0; class < OOB_CLASSES; class ++) {
            if (!way->waiting[class].next) {
                list_init(&way->waiting[class]);
            }
            list_splice(&network->spare, &way->waiting[class]);
        }
    }
}

void sim_network_fini(struct sim_network *network)
{
    for (int i = 0; i < SIM_NODES_MAX * SIM_NODES_MAX; i++) {
        for (int class = 0; class < OOB_CLASSES && network->ways[i].waiting[class].next; class ++) {
            list_splice(&network->spare, &network->ways[i].waiting[class]);
        }
    }
    for (struct list *link; (link = list_pop(&network->spare));) {
        free(container_of(link, struct sim_frame, link));
    }
}

static struct sim_frame *take_spare(struct sim_network *network)
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

struct sim_frame *sim_frame_new(struct sim_network *network, int origin, int dest,
                                const struct rml_stamp *stamp)
{
    struct sim_frame *frame = take_spare(network);
    frame->origin = (uint8_t) origin;
    frame->dest = (uint8_t) dest;
    frame->stamp = *stamp;
    frame->carrier = stamp->kind == RML_ACK ? OOB_CONTROL : (uint8_t) stamp->class;
    return frame;
}

/* --- leaving a process --- */

static uint64_t latency(struct sim_network *network)
{
    bool slow = network->slow_1 > 0 && sim_below(network->random, network->slow_1) == 0;
    uint32_t longest = slow ? network->slow_us : network->latency_us;
    return LATENCY_LEAST_US + sim_below(network->random, longest);
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
    if (way->generation != frame->came_generation ||
        !rml_grant_left(&way->grant[frame->carrier], rml_stamp_cost(frame->stamp.length))) {
        return;
    }
    struct sim_frame *word = take_spare(network);
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

/* --- on a link --- */

/* Frames of a link arrive in their order. */
static void transmit(struct sim_network *network, struct sim_frame *frame)
{
    struct sim_way *way = &network->ways[frame->way];
    uint64_t at = network->queue->now + latency(network);
    way->free_at = at > way->free_at ? at : way->free_at;
    frame->generation = way->cut ? UINT32_MAX : way->generation;
    if (network->drop_next > 0 && --network->drop_next == 0) {
        frame->lost = true;
    }
    sim_at(network->queue, way->free_at, network->frame_event, frame->way, frame);
}

void sim_route(struct sim_network *network, int node, struct sim_frame *frame)
{
    int hop = network->next(network->arg, node, frame->dest);
    struct sim_way *way = hop >= 0 ? sim_way(network, node, hop) : NULL;
    if (!way || way->state == SIM_DOWN || frame->hops++ >= network->hops_max) {
        leave(network, node, frame);
        sim_frame_end(network, frame);
        return;
    }
    frame->way = (int16_t) sim_way_number(node, hop);
    if (way->state == SIM_UP && list_empty(&way->waiting[frame->carrier]) &&
        rml_credit_take(&way->credit[frame->carrier], rml_stamp_cost(frame->stamp.length))) {
        transmit(network, frame);
    } else {
        list_append(&way->waiting[frame->carrier], &frame->link);
    }
}

int sim_arrived(struct sim_network *network, struct sim_frame *frame)
{
    struct sim_way *way = &network->ways[frame->way];
    int number = frame->way;
    leave(network, number / SIM_NODES_MAX, frame);
    if (frame->generation != way->generation) {
        sim_frame_end(network, frame);
        return LOST;
    }
    if (!rml_grant_came(&way->grant[frame->carrier], rml_stamp_cost(frame->stamp.length))) {
        network->broken = "a relay got more than it granted";
    }
    frame->way = -1;
    frame->came_way = (int16_t) number;
    frame->came_generation = frame->generation;
    if (frame->lost) {
        sim_frame_end(network, frame);
        return LOST;
    }
    return number % SIM_NODES_MAX;
}

static void pass_waiting(struct sim_network *network, struct sim_way *way, int class)
{
    struct list *waiting = &way->waiting[class];
    while (!list_empty(waiting)) {
        struct sim_frame *frame = container_of(waiting->next, struct sim_frame, link);
        if (!rml_credit_take(&way->credit[class], rml_stamp_cost(frame->stamp.length))) {
            return;
        }
        list_remove(&frame->link);
        transmit(network, frame);
    }
}

void sim_credit(struct sim_network *network, int number, void *what)
{
    struct sim_frame *word = what;
    struct sim_way *way = &network->ways[number];
    if (way->state == SIM_UP && way->generation == word->generation) {
        if (!rml_credit_raise(&way->credit[word->carrier], word->stamp.sequence)) {
            network->broken = "a link's credit went back";
        }
        pass_waiting(network, way, word->carrier);
    }
    list_append(&network->spare, &word->link);
}

/* --- links come and go --- */

static void begin_way(struct sim_network *network, int from, int to)
{
    struct sim_way *way = sim_way(network, from, to);
    way->state = SIM_UP;
    way->cut = false;
    way->generation++;
    way->number++;
    way->free_at = 0;
    way->told_at = 0;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        rml_credit_begin(&way->credit[class]);
        rml_grant_begin(&way->grant[class]);
        pass_waiting(network, way, class);
    }
}

void sim_link_make(struct sim_network *network, int a, int b)
{
    begin_way(network, a, b);
    begin_way(network, b, a);
}

void sim_link_cut(struct sim_network *network, int a, int b)
{
    for (int i = 0; i < 2; i++) {
        struct sim_way *way = sim_way(network, i ? a : b, i ? b : a);
        way->generation += !way->cut;
        way->cut = true;
    }
}

void sim_way_end(struct sim_network *network, int from, int to, enum sim_way_state state)
{
    struct sim_way *way = sim_way(network, from, to);
    way->state = state;
    for (int class = 0; class < OOB_CLASSES; class ++) {
        for (struct list *link; (link = list_pop(&way->waiting[class]));) {
            struct sim_frame *frame = container_of(link, struct sim_frame, link);
            leave(network, from, frame);
            list_append(&network->spare, &frame->link);
        }
    }
}
