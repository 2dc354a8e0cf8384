#include <config.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/sim/world.h>

enum {
    NODES_MAX = 5,
    HOPS_MAX = 12,
    LINK_US = 400,
    MESSAGES_MAX = 100,
    FRAMES_MAX = 4, /* of a message */
    LAST_SEND_US = 400000,
    LAST_FAULT_US = 500000,
    DEADLINE_US = 60000000,
    WINDOW = RML_WINDOW_MIN,
};

enum occasion {
    EVENT_FRAME = 1,
    EVENT_CREDIT,
    EVENT_TIMER,
    EVENT_SEND,
    EVENT_CONSUME,
    EVENT_FAULT,
    EVENT_LINK_UP,
    EVENT_BELIEVE,
    EVENT_START,
    EVENT_RESUME,
};

enum mishap { FAULT_LINK, FAULT_PARTITION, FAULT_RESTART, FAULT_DROP, FAULT_STOP, FAULT_GIVE_UP };

struct message;

struct part {
    struct rml_out out;
    struct message *message;
    uint32_t rest;
    uint32_t sends;
};

struct message {
    uint8_t from, to, class;
    uint32_t from_life;
    int32_t to_life; /* the incarnation it was first sent to; -1: none yet */
    uint32_t number; /* in its stream of messages */
    uint32_t bytes;
    int parts, parts_open;
    struct part part[FRAMES_MAX];
    int delivered, completed;
    bool failed, may_fail;
};

struct node {
    uint32_t life; /* its incarnation */
    bool running, stopped, dirty;
    uint64_t timer_at; /* of the event that will come; UINT64_MAX: none */
    struct rml_session session[NODES_MAX];
    uint32_t sent[NODES_MAX][OOB_CLASSES];             /* messages, by number */
    int64_t last[NODES_MAX][OOB_CLASSES];              /* number that arrived last */
    struct message *under_way[NODES_MAX][OOB_CLASSES]; /* assembled from these parts */
    int next_part[NODES_MAX][OOB_CLASSES];
    struct sim_frame *kept[64]; /* came while it was stopped */
    int kept_count;
};

struct sim_world {
    struct sim_queue queue;
    struct sim_random random;
    struct sim_network network;
    bool believes[NODES_MAX][NODES_MAX]; /* a node, of the link clockwise of a node: up */
    struct node node[NODES_MAX];
    struct message message[MESSAGES_MAX];
    uint32_t message_count, held_max, slowness_us;
    enum sim_without without;
    struct sim_report *report;
};

static void settle(struct sim_world *world);

static void violated(struct sim_world *world, const char *format, ...)
{
    if (world->report->held) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(world->report->reason, sizeof(world->report->reason), format, arguments);
        va_end(arguments);
        world->report->held = false;
    }
}

static uint64_t now_of(const struct sim_world *world)
{
    return world->queue.now;
}

/* Unlike for each node and each of its lives. */
static uint64_t epoch_of(int node, uint32_t life)
{
    return ((uint64_t) (node + 1) << 32) | (life + 1);
}

static uint32_t life_of(uint64_t epoch)
{
    return (uint32_t) epoch - 1;
}

/* --- completions --- */

static void complete(struct sim_world *world, struct message *message, bool failed)
{
    message->completed++;
    message->failed = failed;
    if (message->completed > 1) {
        violated(world, "message %u completed twice", message->number);
    }
    if (failed) {
        world->report->failed++;
    }
    if (failed && !message->may_fail) {
        violated(world, "message %u of %d failed without a cause", message->number, message->from);
    }
    if (!failed && message->delivered != 1) {
        violated(world, "message %u of %d completed, and was delivered %d times", message->number,
                 message->from, message->delivered);
    }
}

static void end_parts(struct sim_world *world, struct list *parts, bool failed)
{
    for (struct list *link; (link = list_pop(parts));) {
        struct part *part =
            container_of(container_of(link, struct rml_out, link), struct part, out);
        struct message *message = part->message;
        message->failed = message->failed || failed;
        if (--message->parts_open == 0) {
            complete(world, message, message->failed);
        }
    }
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

/* --- sending --- */

static void send_part(struct sim_world *world, int from, int to, struct rml_out *out,
                      struct rml_stamp *stamp)
{
    struct part *part = container_of(out, struct part, out);
    int32_t life = (int32_t) life_of(stamp->dest_epoch);
    if (part->message->to_life < 0) {
        part->message->to_life = life;
    }
    world->report->resent += part->sends++ > 0;
    stamp->rest = part->rest;
    struct sim_frame *frame = sim_frame_new(&world->network, from, to, stamp);
    frame->out = out;
    frame->cargo = part;
    sim_route(&world->network, from, frame);
}

/* Everything that a process may send now, as rml/send.c does it. */
static void pump(struct sim_world *world, int from)
{
    struct node *node = &world->node[from];
    uint64_t due = UINT64_MAX;
    for (int to = 0; to < world->network.nodes; to++) {
        struct rml_session *session = &node->session[to];
        struct rml_stamp stamp;
        for (int class = 0; to != from && class < OOB_CLASSES; class ++) {
            for (struct rml_out *out;
                 (out = rml_session_next(session, class, now_of(world), &stamp));) {
                send_part(world, from, to, out, &stamp);
            }
            while (rml_session_word(session, class, now_of(world), &stamp)) {
                sim_route(&world->network, from, sim_frame_new(&world->network, from, to, &stamp));
            }
        }
        uint64_t mine = to != from ? rml_session_due(session) : UINT64_MAX;
        due = mine < due ? mine : due;
    }
    if (due < node->timer_at) {
        node->timer_at = due;
        sim_at(&world->queue, due, EVENT_TIMER, from, NULL);
    }
}

/* After each event: whoever was touched sends, until nobody has anything. */
static void settle(struct sim_world *world)
{
    for (int i = 0; i < world->network.nodes; i++) {
        struct node *node = &world->node[i];
        if (node->dirty && node->running && !node->stopped) {
            node->dirty = false;
            pump(world, i);
        }
    }
}

static void on_left(void *arg, int node, struct rml_out *out)
{
    struct sim_world *world = arg;
    struct part *part = container_of(out, struct part, out);
    if (part->message->from_life == world->node[node].life) {
        rml_sender_returned(out);
        world->node[node].dirty = true;
    }
}

static void send_message(struct sim_world *world)
{
    struct sim_random *random = &world->random;
    int from = (int) sim_below(random, (uint32_t) world->network.nodes);
    int to = (from + 1 + (int) sim_below(random, (uint32_t) world->network.nodes - 1)) %
             world->network.nodes;
    struct node *node = &world->node[from];
    if (!node->running || node->stopped) {
        sim_at(&world->queue, now_of(world) + 10000, EVENT_SEND, 0, NULL);
        return;
    }
    struct message *message = &world->message[world->message_count++];
    int class = (int) sim_below(random, OOB_CLASSES);
    int parts = sim_below(random, 3) > 0 ? 1 : 1 + (int) sim_below(random, FRAMES_MAX);
    *message = (struct message){.from = (uint8_t) from,
                                .to = (uint8_t) to,
                                .class = (uint8_t) class,
                                .from_life = node->life,
                                .to_life = -1,
                                .number = node->sent[to][class]++,
                                .parts = parts,
                                .parts_open = parts,
                                .may_fail = !world->node[to].running};
    uint32_t largest = sim_below(random, 4) == 0 ? RML_FRAME_MAX : 4096;
    for (int i = parts - 1; i >= 0; i--) {
        struct part *part = &message->part[i];
        part->message = message;
        part->rest = message->bytes;
        part->out.length = parts > 1 && i < parts - 1 ? largest : sim_below(random, largest);
        part->out.ask = i == parts - 1 && sim_below(random, 4) == 0;
        message->bytes += part->out.length;
    }
    for (int i = 0; i < parts; i++) {
        rml_session_push(&node->session[to], class, &message->part[i].out, now_of(world));
    }
    node->dirty = true;
    world->report->messages++;
}

/* --- receiving --- */

static void hold(struct sim_world *world, int at, const struct message *message)
{
    struct rml_receiver *in = &world->node[at].session[message->from].in[message->class];
    rml_receiver_hold(in, message->bytes + RML_FRAME_COST);
    if (in->held > world->held_max + 2 * WINDOW + FRAMES_MAX * RML_FRAME_MAX) {
        violated(world, "%d holds %llu bytes of %d", at, (unsigned long long) in->held,
                 message->from);
    }
    uint32_t wait = 1 + sim_below(&world->random, world->slowness_us);
    sim_at(&world->queue, now_of(world) + wait, EVENT_CONSUME, at, (void *) (uintptr_t) message);
}

static void deliver(struct sim_world *world, int at, struct message *message)
{
    struct node *node = &world->node[at];
    int64_t *last = &node->last[message->from][message->class];
    if (message->delivered++ > 0) {
        violated(world, "message %u of %d arrived twice", message->number, message->from);
    }
    if (message->from_life == world->node[message->from].life && message->number <= *last) {
        violated(world, "message %u of %d arrived out of order", message->number, message->from);
    }
    if (message->to_life != (int32_t) node->life) {
        violated(world, "message %u of %d reached another incarnation", message->number,
                 message->from);
    }
    if (message->completed > 0 && !message->failed) {
        violated(world, "message %u of %d completed before it arrived", message->number,
                 message->from);
    }
    *last = message->number;
    hold(world, at, message);
}

static void assemble(struct sim_world *world, int at, const struct sim_frame *frame)
{
    struct part *part = frame->cargo;
    struct node *node = &world->node[at];
    struct message *message = part->message;
    int index = (int) (part - message->part);
    struct message **under_way = &node->under_way[message->from][message->class];
    int *next = &node->next_part[message->from][message->class];
    if (index == 0) {
        if (*under_way) {
            violated(world, "a message of %d began inside another", message->from);
        }
        *under_way = message;
        *next = 0;
    }
    if (*under_way != message || *next != index) {
        violated(world, "a frame of %d continues nothing", message->from);
        return;
    }
    ++*next;
    if (part->rest == 0 && index == message->parts - 1) {
        *under_way = NULL;
        deliver(world, at, message);
    }
}

/* The test's own copy of the protocol lacks a part. */
static void take_out(struct sim_world *world, struct rml_session *session, struct rml_stamp *stamp)
{
    struct rml_receiver *in = &session->in[stamp->class];
    switch (world->without) {
    case SIM_WHOLE:
        return;
    case SIM_NO_DEDUP:
        if (stamp->kind == RML_DATA && stamp->sequence < in->expected) {
            in->expected = stamp->sequence;
        }
        return;
    case SIM_NO_ACK:
        stamp->ack_stream = (uint16_t) (session->out[stamp->class].stream + 1);
        return;
    case SIM_NO_EPOCH:
        stamp->epoch = session->peer ? session->peer : stamp->epoch;
        stamp->dest_epoch = stamp->dest_epoch ? session->self : 0;
        return;
    }
}

static void forget_assembly(struct node *node, int from)
{
    for (int class = 0; class < OOB_CLASSES; class ++) {
        node->under_way[from][class] = NULL;
        node->last[from][class] = -1;
    }
}

/* These fail because their destination began anew: it must have done so (0: nobody was known). */
static void allow_if_ended(struct sim_world *world, struct list *ended, int of, uint64_t before)
{
    struct rml_out *out;
    if (before != 0 && life_of(before) >= world->node[of].life) {
        violated(world, "%d is taken for dead", of);
    }
    list_for_each (out, ended, struct rml_out, link) {
        container_of(out, struct part, out)->message->may_fail = true;
    }
}

static void receive(struct sim_world *world, int at, struct sim_frame *frame)
{
    struct node *node = &world->node[at];
    struct rml_session *session = &node->session[frame->origin];
    struct rml_heard heard = {.take = false};
    struct rml_stamp stamp = frame->stamp;
    list_init(&heard.done);
    list_init(&heard.ended);
    take_out(world, session, &stamp);
    uint64_t before = session->peer;
    rml_session_receive(session, &stamp, now_of(world), &heard);
    if (heard.refused && world->without == SIM_WHOLE) {
        violated(world, "%d refused a good frame of %d", at, frame->origin);
    }
    if (heard.renewed) {
        forget_assembly(node, frame->origin);
        allow_if_ended(world, &heard.ended, frame->origin, before);
    }
    if (heard.restarted) {
        node->under_way[frame->origin][stamp.class] = NULL;
    }
    end_parts(world, &heard.ended, true);
    end_parts(world, &heard.done, false);
    if (heard.take) {
        assemble(world, at, frame);
    }
    if (heard.reply) {
        rml_session_reply(session, stamp.class, &heard, &stamp);
        sim_route(&world->network, at, sim_frame_new(&world->network, at, frame->origin, &stamp));
    }
    node->dirty = true;
}

static void on_frame(struct sim_world *world, struct sim_frame *frame)
{
    int at = sim_arrived(&world->network, frame);
    if (at < 0) {
        return;
    }
    struct node *node = &world->node[at];
    if (!node->running) {
        sim_frame_end(&world->network, frame);
    } else if (node->stopped) {
        if (node->kept_count == (int) (sizeof(node->kept) / sizeof(*node->kept))) {
            sim_frame_end(&world->network, frame); /* as if its link had broken */
            return;
        }
        node->kept[node->kept_count++] = frame;
    } else if (frame->dest != at) {
        sim_route(&world->network, at, frame);
    } else {
        receive(world, at, frame);
        sim_frame_end(&world->network, frame);
    }
}

static void on_consume(struct sim_world *world, int at, const struct message *message)
{
    struct node *node = &world->node[at];
    if (node->running && message->to_life == (int32_t) node->life) {
        struct rml_receiver *in = &node->session[message->from].in[message->class];
        rml_receiver_release(in, message->bytes + RML_FRAME_COST);
        node->dirty = true;
    }
}

/* --- the ring --- */

static int clockwise_of(const struct sim_world *world, int node)
{
    return (node + 1) % world->network.nodes;
}

/* By what a node believes of the links. */
static int choose_way(void *arg, int node, int dest)
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

/* The link clockwise of a node; both ends know at once. */
static void set_link(struct sim_world *world, int node, bool up)
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
        sim_at(&world->queue, now_of(world) + delay, EVENT_BELIEVE, i, (void *) (intptr_t) link);
    }
}

/* A node hears how a link is; for its own it knows that frames may be lost. */
static void on_believe(struct sim_world *world, int at, int link)
{
    struct node *node = &world->node[at];
    bool up = is_up(world, link);
    bool mine = at == link || at == (link + 1) % world->network.nodes;
    world->believes[at][link] = up;
    for (int to = 0; mine && node->running && to < world->network.nodes; to++) {
        if (to != at) {
            rml_session_repair(&node->session[to], now_of(world));
        }
    }
    node->dirty = true;
}

static void break_link(struct sim_world *world, int link, uint32_t longest_us)
{
    set_link(world, link, false);
    believe_later(world, link);
    sim_at(&world->queue, now_of(world) + 1 + sim_below(&world->random, longest_us), EVENT_LINK_UP,
           link, NULL);
}

static void on_link_up(struct sim_world *world, int link)
{
    int neighbour = clockwise_of(world, link);
    if (world->node[link].running && world->node[neighbour].running) {
        set_link(world, link, true);
        believe_later(world, link);
    }
}

static void begin_node(struct sim_world *world, int at)
{
    struct node *node = &world->node[at];
    memset(node->sent, 0, sizeof(node->sent));
    node->running = true;
    node->stopped = false;
    node->dirty = true;
    for (int i = 0; i < world->network.nodes; i++) {
        rml_session_init(&node->session[i], epoch_of(at, node->life), WINDOW, world->held_max);
        forget_assembly(node, i);
    }
}

static void drop_kept(struct sim_world *world, struct node *node)
{
    for (int i = 0; i < node->kept_count; i++) {
        sim_frame_end(&world->network, node->kept[i]);
    }
    node->kept_count = 0;
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
        end_parts(world, &failed, true);
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
    drop_kept(world, node);
    set_link(world, at, false);
    set_link(world, before, false);
    believe_later(world, at);
    believe_later(world, before);
    for (int i = 0; i < world->network.nodes; i++) {
        give_up(world, i, at); /* they hear of it */
    }
    uint64_t start = now_of(world) + 1 + sim_below(&world->random, 300000);
    sim_at(&world->queue, start, EVENT_START, at, NULL);
    sim_at(&world->queue, start + 10, EVENT_LINK_UP, at, NULL);
    sim_at(&world->queue, start + 20, EVENT_LINK_UP, before, NULL);
}

static void on_resume(struct sim_world *world, int at)
{
    struct node *node = &world->node[at];
    node->stopped = false;
    node->dirty = true;
    for (int i = 0; i < node->kept_count; i++) {
        struct sim_frame *frame = node->kept[i];
        if (frame->dest != at) {
            sim_route(&world->network, at, frame);
        } else {
            receive(world, at, frame);
            sim_frame_end(&world->network, frame);
        }
    }
    node->kept_count = 0;
}

static void on_fault(struct sim_world *world, int kind)
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
            sim_at(&world->queue, now_of(world) + 1 + sim_below(&world->random, 3000000),
                   EVENT_RESUME, at, NULL);
        }
        return;
    case FAULT_GIVE_UP:
        give_up(world, at, (at + 1) % world->network.nodes);
        return;
    }
}

/* --- one schedule --- */

static void begin(struct sim_world *world, uint64_t seed)
{
    static const uint32_t slow[] = {1000, 50000, 1000000};
    world->random.state = seed;
    struct sim_random *random = &world->random;
    sim_queue_reset(&world->queue);
    sim_network_begin(&world->network, 3 + (int) sim_below(random, NODES_MAX - 2));
    for (int i = 0; i < world->network.nodes * NODES_MAX; i++) {
        world->believes[i / NODES_MAX][i % NODES_MAX] = true;
    }
    for (int i = 0; i < world->network.nodes; i++) {
        set_link(world, i, true);
    }
    world->message_count = 0;
    world->held_max = (512u << 10) << sim_below(random, 4);
    world->slowness_us = slow[sim_below(random, 3)];
    for (int i = 0; i < world->network.nodes; i++) {
        world->node[i].life = 0;
        world->node[i].timer_at = UINT64_MAX;
        world->node[i].kept_count = 0;
        begin_node(world, i);
    }
    uint32_t messages = 72 + sim_below(random, MESSAGES_MAX - 72);
    uint32_t period = sim_below(random, 2) ? LAST_SEND_US : LAST_SEND_US / 20; /* sparse or dense */
    for (uint32_t i = 0; i < messages; i++) {
        sim_at(&world->queue, sim_below(random, period), EVENT_SEND, 0, NULL);
    }
    uint32_t faults = 1 + sim_below(random, 3);
    for (uint32_t i = 0; i < faults; i++) {
        sim_at(&world->queue, sim_below(random, period + LAST_FAULT_US - LAST_SEND_US), EVENT_FAULT,
               (int) sim_below(random, FAULT_GIVE_UP + 1), NULL);
    }
}

static void on_event(struct sim_world *world, const struct sim_event *event)
{
    switch ((enum occasion) event->kind) {
    case EVENT_FRAME:
        on_frame(world, event->what);
        break;
    case EVENT_CREDIT:
        sim_credit(&world->network, event->who, event->what);
        break;
    case EVENT_TIMER:
        world->node[event->who].timer_at = UINT64_MAX;
        world->node[event->who].dirty = true;
        break;
    case EVENT_SEND:
        send_message(world);
        break;
    case EVENT_CONSUME:
        on_consume(world, event->who, event->what);
        break;
    case EVENT_FAULT:
        on_fault(world, event->who);
        break;
    case EVENT_LINK_UP:
        on_link_up(world, event->who);
        break;
    case EVENT_BELIEVE:
        on_believe(world, event->who, (int) (intptr_t) event->what);
        break;
    case EVENT_START:
        begin_node(world, event->who);
        break;
    case EVENT_RESUME:
        if (world->node[event->who].stopped) {
            on_resume(world, event->who);
        }
        break;
    }
}

/* Every message of a process that still lives has come to its end. */
static void check_ends(struct sim_world *world)
{
    for (uint32_t i = 0; i < world->message_count; i++) {
        struct message *message = &world->message[i];
        if (message->from_life == world->node[message->from].life && message->completed != 1) {
            violated(world, "message %u from %d to %d, class %d, never completed", message->number,
                     message->from, message->to, message->class);
        }
    }
}

/* What is on its way when a schedule ends goes back to its pool. */
static void drain(struct sim_world *world)
{
    struct sim_event event;
    for (int i = 0; i < world->network.nodes; i++) {
        drop_kept(world, &world->node[i]);
    }
    while (sim_next(&world->queue, &event)) {
        if (event.kind == EVENT_FRAME || event.kind == EVENT_CREDIT) {
            struct sim_frame *frame = event.what;
            list_append(&world->network.spare, &frame->link);
        }
    }
}

void sim_world_run(struct sim_world *world, uint64_t seed, enum sim_without without,
                   struct sim_report *report)
{
    struct sim_event event;
    *report = (struct sim_report){.held = true};
    world->report = report;
    world->without = without;
    begin(world, seed);
    while (report->held && sim_next(&world->queue, &event) && event.at < DEADLINE_US) {
        report->events++;
        on_event(world, &event);
        settle(world);
        if (world->network.broken) {
            violated(world, "%s", world->network.broken);
        }
    }
    if (report->held) {
        check_ends(world);
    }
    drain(world);
}

struct sim_world *sim_world_create(void)
{
    struct sim_world *world = calloc(1, sizeof(*world));
    if (world) {
        world->network.queue = &world->queue;
        world->network.random = &world->random;
        world->network.frame_event = EVENT_FRAME;
        world->network.credit_event = EVENT_CREDIT;
        world->network.hops_max = HOPS_MAX;
        world->network.latency_us = LINK_US;
        world->network.next = choose_way;
        world->network.left = on_left;
        world->network.arg = world;
    }
    return world;
}

void sim_world_destroy(struct sim_world *world)
{
    if (world) {
        sim_network_fini(&world->network);
        sim_queue_fini(&world->queue);
        free(world);
    }
}
