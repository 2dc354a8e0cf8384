#include <config.h>

#include <tests/lib/sim/world_state.h>

/* --- completions --- */

static void complete(struct sim_world *world, struct message *message, bool failed)
{
    message->completed++;
    message->failed = failed;
    if (message->completed > 1) {
        world_violated(world, "message %u completed twice", message->number);
    }
    if (failed) {
        world->report->failed++;
    }
    if (failed && !message->may_fail) {
        world_violated(world, "message %u of %d failed without a cause", message->number,
                       message->from);
    }
    if (!failed && message->delivered != 1) {
        world_violated(world, "message %u of %d completed, and was delivered %d times",
                       message->number, message->from, message->delivered);
    }
}

void world_end_parts(struct sim_world *world, struct list *parts, bool failed)
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

/* Everything that a process may send now, as rml/calls/send.c does it. */
static void pump(struct sim_world *world, int from)
{
    struct node *node = &world->node[from];
    uint64_t due = UINT64_MAX;
    for (int to = 0; to < world->network.nodes; to++) {
        struct rml_session *session = &node->session[to];
        struct rml_stamp stamp;
        for (int class = 0; to != from && class < OOB_CLASSES; class ++) {
            for (struct rml_out *out;
                 (out = rml_session_next(session, class, world_now(world), &stamp));) {
                send_part(world, from, to, out, &stamp);
            }
            while (rml_session_word(session, class, world_now(world), &stamp)) {
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

void world_settle(struct sim_world *world)
{
    for (int i = 0; i < world->network.nodes; i++) {
        struct node *node = &world->node[i];
        if (node->dirty && node->running && !node->stopped) {
            node->dirty = false;
            pump(world, i);
        }
    }
}

void world_left(void *arg, int node, struct rml_out *out)
{
    struct sim_world *world = arg;
    struct part *part = container_of(out, struct part, out);
    if (part->message->from_life == world->node[node].life) {
        rml_sender_returned(out);
        world->node[node].dirty = true;
    }
}

void world_send(struct sim_world *world)
{
    struct sim_random *random = &world->random;
    int from = (int) sim_below(random, (uint32_t) world->network.nodes);
    int to = (from + 1 + (int) sim_below(random, (uint32_t) world->network.nodes - 1)) %
             world->network.nodes;
    struct node *node = &world->node[from];
    if (!node->running || node->stopped) {
        sim_at(&world->queue, world_now(world) + 10000, EVENT_SEND, 0, NULL);
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
        rml_session_push(&node->session[to], class, &message->part[i].out, world_now(world));
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
        world_violated(world, "%d holds %llu bytes of %d", at, (unsigned long long) in->held,
                       message->from);
    }
    uint32_t wait = 1 + sim_below(&world->random, world->slowness_us);
    sim_at(&world->queue, world_now(world) + wait, EVENT_CONSUME, at, (void *) (uintptr_t) message);
}

static void deliver(struct sim_world *world, int at, struct message *message)
{
    struct node *node = &world->node[at];
    int64_t *last = &node->last[message->from][message->class];
    if (message->delivered++ > 0) {
        world_violated(world, "message %u of %d arrived twice", message->number, message->from);
    }
    if (message->from_life == world->node[message->from].life && message->number <= *last) {
        world_violated(world, "message %u of %d arrived out of order", message->number,
                       message->from);
    }
    if (message->to_life != (int32_t) node->life) {
        world_violated(world, "message %u of %d reached another incarnation", message->number,
                       message->from);
    }
    if (message->completed > 0 && !message->failed) {
        world_violated(world, "message %u of %d completed before it arrived", message->number,
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
            world_violated(world, "a message of %d began inside another", message->from);
        }
        *under_way = message;
        *next = 0;
    }
    if (*under_way != message || *next != index) {
        world_violated(world, "a frame of %d continues nothing", message->from);
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

void world_forget_assembly(struct node *node, int from)
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
        world_violated(world, "%d is taken for dead", of);
    }
    list_for_each (out, ended, struct rml_out, link) {
        container_of(out, struct part, out)->message->may_fail = true;
    }
}

void world_receive(struct sim_world *world, int at, struct sim_frame *frame)
{
    struct node *node = &world->node[at];
    struct rml_session *session = &node->session[frame->origin];
    struct rml_heard heard = {.take = false};
    struct rml_stamp stamp = frame->stamp;
    list_init(&heard.done);
    list_init(&heard.ended);
    take_out(world, session, &stamp);
    uint64_t before = session->peer;
    rml_session_receive(session, &stamp, world_now(world), &heard);
    if (heard.refused && world->without == SIM_WHOLE) {
        world_violated(world, "%d refused a good frame of %d", at, frame->origin);
    }
    if (heard.renewed) {
        world_forget_assembly(node, frame->origin);
        allow_if_ended(world, &heard.ended, frame->origin, before);
    }
    if (heard.restarted) {
        node->under_way[frame->origin][stamp.class] = NULL;
    }
    world_end_parts(world, &heard.ended, true);
    world_end_parts(world, &heard.done, false);
    if (heard.take) {
        assemble(world, at, frame);
    }
    if (heard.reply) {
        rml_session_reply(session, stamp.class, &heard, &stamp);
        sim_route(&world->network, at, sim_frame_new(&world->network, at, frame->origin, &stamp));
    }
    node->dirty = true;
}

void world_frame(struct sim_world *world, struct sim_frame *frame)
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
        world_receive(world, at, frame);
        sim_frame_end(&world->network, frame);
    }
}

void world_consume(struct sim_world *world, int at, const struct message *message)
{
    struct node *node = &world->node[at];
    if (node->running && message->to_life == (int32_t) node->life) {
        struct rml_receiver *in = &node->session[message->from].in[message->class];
        rml_receiver_release(in, message->bytes + RML_FRAME_COST);
        node->dirty = true;
    }
}
