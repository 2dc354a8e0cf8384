#include <config.h>

#include <tests/lib/sim/forest_state.h>

enum {
    NOTICE_US = 5000,
    REFUSED_US = 60000,
    RECONNECT_US = 500000,
    AGAIN_US = 300000,
    CLASSES = OOB_APP + 1, /* that are used */
};

static struct sim_way *way_of(struct forest *forest, int from, int to)
{
    return sim_way(&forest->network, from, to);
}

/* --- which way --- */

static bool is_open(struct forest *forest, int from, int to)
{
    return way_of(forest, from, to)->state != SIM_DOWN;
}

int forest_next(void *arg, int at, int dest)
{
    struct forest *forest = arg;
    struct forest_node *node = &forest->node[at];
    uint32_t below = rml_tree_towards(&node->tree, (uint32_t) at, (uint32_t) dest);
    int hop = below != UINT32_MAX ? (int) below : forest_parent(forest, at);
    bool routed = node->path[dest] == PATH_ROUTED && hop != dest && hop >= 0 &&
                  way_of(forest, at, hop)->state == SIM_UP;
    if (is_open(forest, at, dest) && !routed) {
        node->path[dest] = PATH_DIRECT;
        return dest;
    }
    if (hop < 0 || rml_tree_is_lost(&node->tree, (uint32_t) dest)) {
        return -1;
    }
    node->path[dest] = hop == dest ? PATH_DIRECT : PATH_ROUTED;
    return hop;
}

static void touch_pending(struct forest *forest, int at)
{
    for (int to = 0; to < forest->count; to++) {
        if (to != at && rml_session_pending(&forest->node[at].session[to])) {
            forest_touch(forest, at, to);
        }
    }
}

/* --- links --- */

static void hear_of_link(struct forest *forest, int at, int other)
{
    struct forest_node *node = &forest->node[at];
    struct rml_heard heard = {.take = false};
    list_init(&heard.done);
    list_init(&heard.ended);
    if (!rml_tree_is_lost(&node->tree, (uint32_t) other)) {
        node->path[other] = PATH_NONE;
    }
    rml_session_know(&node->session[other], (uint64_t) other + 1, &heard);
    if (heard.renewed || !list_empty(&heard.ended)) {
        forest_violated(forest, "%d takes %d for another", at, other);
    }
    touch_pending(forest, at);
}

void forest_link(struct forest *forest, int a, int b)
{
    sim_link_make(&forest->network, a, b);
    hear_of_link(forest, a, b);
    hear_of_link(forest, b, a);
}

/* Events of a link that was made anew meanwhile are void: they name its number. */
static void later_of_link(struct forest *forest, uint64_t wait_us, enum forest_occasion what,
                          int at, int other)
{
    forest_later(forest, wait_us, what, at, other | (int) (way_of(forest, at, other)->number << 4));
}

static void notice_later(struct forest *forest, int at, int other)
{
    later_of_link(forest, 1 + forest_below(forest, NOTICE_US), ON_NOTICE, at, other);
}

void forest_break(struct forest *forest, int a, int b)
{
    sim_link_cut(&forest->network, a, b);
    notice_later(forest, a, b);
    notice_later(forest, b, a);
}

static void on_notice(struct forest *forest, int at, int other)
{
    bool refused =
        !forest->node[other].alive || rml_tree_is_lost(&forest->node[other].tree, (uint32_t) at);
    bool long_wait = !refused || forest_below(forest, 8) == 0;
    uint32_t wait = long_wait ? RECONNECT_US : 1 + forest_below(forest, REFUSED_US);
    sim_way_end(&forest->network, at, other, SIM_OPENING);
    later_of_link(forest, wait, ON_GIVE_UP, at, other);
}

/* One that was cut comes again if neither end has given it up. */
static void on_again(struct forest *forest, int at, int other)
{
    const struct rml_tree *mine = &forest->node[at].tree, *others = &forest->node[other].tree;
    if (forest->node[other].alive && is_open(forest, at, other) && is_open(forest, other, at) &&
        !rml_tree_is_lost(mine, (uint32_t) other) && !rml_tree_is_lost(others, (uint32_t) at)) {
        forest->report->mended++;
        forest_link(forest, at, other);
    }
}

void forest_close(struct forest *forest, int at, int other)
{
    struct sim_way *there = way_of(forest, at, other);
    uint64_t now = forest->queue.now, last = there->free_at > now ? there->free_at : now;
    there->cut = true; /* but what is on it arrives */
    sim_link_cut(&forest->network, at, other);
    sim_way_end(&forest->network, at, other, SIM_DOWN);
    later_of_link(forest, last - now + 1, ON_CLOSED, other, at);
    touch_pending(forest, at);
}

void forest_link_event(struct forest *forest, enum forest_occasion event, int at, int what)
{
    int other = what & 15;
    struct sim_way *way = way_of(forest, at, other);
    bool same = way->number == (uint32_t) what >> 4 && way->cut;
    if (!forest->node[at].alive || !same) {
        return;
    }
    if (event == ON_NOTICE && way->state == SIM_UP) {
        on_notice(forest, at, other);
    } else if (event == ON_AGAIN) {
        on_again(forest, at, other);
    } else if (event == ON_CLOSED || (event == ON_GIVE_UP && way->state == SIM_OPENING)) {
        sim_way_end(&forest->network, at, other, SIM_DOWN);
        touch_pending(forest, at);
        if (event == ON_GIVE_UP) {
            forest_link_is_down(forest, at, other);
        }
    }
}

/* --- messages --- */

static void complete(struct forest *forest, struct forest_message *message, bool failed)
{
    if (message->completed++ > 0) {
        forest_violated(forest, "a message of %d to %d completed twice", message->from,
                        message->to);
    }
    message->failed = failed;
    if (failed && forest->node[message->to].alive &&
        !rml_tree_is_lost(&forest->node[0].tree, message->to)) {
        forest_violated(forest, "a message of %d to %d failed without a cause", message->from,
                        message->to);
    }
    if (!failed && message->delivered != 1) {
        forest_violated(forest, "a message of %d to %d completed, and was delivered %d times",
                        message->from, message->to, message->delivered);
    }
}

static void complete_all(struct forest *forest, struct list *messages, bool failed)
{
    for (struct list *link; (link = list_pop(messages));) {
        struct rml_out *out = container_of(link, struct rml_out, link);
        complete(forest, container_of(out, struct forest_message, out), failed);
    }
}

struct forest_message *forest_say(struct forest *forest, int from, int to,
                                  const struct forest_message *what)
{
    if (forest->message_count == FOREST_MESSAGES_MAX) {
        forest_violated(forest, "more messages than there should be");
        return NULL;
    }
    struct forest_message *message = &forest->message[forest->message_count++];
    *message = *what;
    message->from = (uint8_t) from;
    message->to = (uint8_t) to;
    list_init(&message->out.link);
    rml_session_push(&forest->node[from].session[to], message->word == APP ? OOB_APP : OOB_CONTROL,
                     &message->out, forest->queue.now);
    forest_touch(forest, from, to);
    return message;
}

void forest_forget(struct forest *forest, int at, int lost)
{
    struct rml_session *session = forest->node[at].session;
    struct list failed = LIST_INIT(failed);
    if (way_of(forest, at, lost)->state == SIM_UP && !way_of(forest, at, lost)->cut) {
        sim_link_cut(&forest->network, at, lost);
        notice_later(forest, lost, at);
    }
    sim_way_end(&forest->network, at, lost, SIM_DOWN);
    rml_session_fail(&session[lost], &failed);
    complete_all(forest, &failed, true);
    (void) rml_session_forget(&session[lost]);
    for (int to = 0; to < forest->count; to++) {
        if (to != at && rml_session_pending(&session[to])) {
            rml_session_repair(&session[to], forest->queue.now);
            forest_touch(forest, at, to);
        }
    }
}

/* --- sessions --- */

void forest_left(void *arg, int at, struct rml_out *out)
{
    struct forest *forest = arg;
    rml_sender_returned(out);
    forest_touch(forest, at, container_of(out, struct forest_message, out)->to);
}

static void send_frame(struct forest *forest, int from, int to, const struct rml_stamp *stamp,
                       struct forest_message *message)
{
    struct sim_frame *frame = sim_frame_new(&forest->network, from, to, stamp);
    frame->cargo = message;
    if (message) {
        frame->out = &message->out;
        forest->report->resent += message->sends > 0;
        message->sends = 1;
    }
    sim_route(&forest->network, from, frame);
}

/* What may have been lost with another way is sent again. */
static void take_way(struct forest *forest, int from, int to, int hop)
{
    struct forest_node *node = &forest->node[from];
    uint32_t number = way_of(forest, from, hop)->number;
    if (node->via[to] != hop || node->via_number[to] != number) {
        if (node->via[to] >= 0) {
            rml_session_repair(&node->session[to], forest->queue.now);
        }
        node->via[to] = (int8_t) hop;
        node->via_number[to] = number;
    }
}

static void pump_session(struct forest *forest, int from, int to)
{
    struct forest_node *node = &forest->node[from];
    struct rml_session *session = &node->session[to];
    struct list failed = LIST_INIT(failed);
    struct rml_stamp stamp;
    uint64_t now = forest->queue.now;
    int hop = forest_next(forest, from, to);
    if (hop < 0) {
        rml_session_fail(session, &failed);
        complete_all(forest, &failed, true);
    }
    bool up = hop >= 0 && way_of(forest, from, hop)->state == SIM_UP;
    if (up) {
        take_way(forest, from, to, hop);
    }
    for (int class = 0; class < CLASSES; class ++) {
        for (struct rml_out *out; up && (out = rml_session_next(session, class, now, &stamp));) {
            send_frame(forest, from, to, &stamp, container_of(out, struct forest_message, out));
        }
        while (rml_session_word(session, class, now, &stamp)) {
            if (up) {
                send_frame(forest, from, to, &stamp, NULL);
            }
        }
    }
    node->due[to] = rml_session_due(session);
}

static void pump_node(struct forest *forest, int at)
{
    struct forest_node *node = &forest->node[at];
    uint64_t due = UINT64_MAX;
    while (node->dirty) {
        int to = __builtin_ctz(node->dirty);
        node->dirty = (uint16_t) (node->dirty & (node->dirty - 1));
        pump_session(forest, at, to);
    }
    for (int to = 0; to < forest->count; to++) {
        due = node->due[to] < due ? node->due[to] : due;
    }
    if (due < node->timer_at) {
        node->timer_at = due;
        sim_at(&forest->queue, due, ON_TIMER, at, NULL);
    }
}

void forest_pump(struct forest *forest)
{
    while (forest->dirty) {
        int at = __builtin_ctz(forest->dirty);
        forest->dirty &= forest->dirty - 1;
        if (forest->node[at].alive) {
            pump_node(forest, at);
        }
    }
}

void forest_tick(struct forest *forest, int at)
{
    struct forest_node *node = &forest->node[at];
    node->timer_at = UINT64_MAX;
    for (int to = 0; to < forest->count; to++) {
        if (node->due[to] <= forest->queue.now) {
            forest_touch(forest, at, to);
        }
    }
    forest->dirty |= 1u << at;
}

/* --- receiving --- */

static void take_out(struct forest *forest, struct rml_session *session, struct rml_stamp *stamp)
{
    struct rml_receiver *in = &session->in[stamp->class];
    if (forest->without == FOREST_NO_DEDUP && stamp->kind == RML_DATA &&
        stamp->sequence < in->expected) {
        in->expected = stamp->sequence;
    }
    if (forest->without == FOREST_NO_ACK) {
        stamp->ack_stream = (uint16_t) (session->out[stamp->class].stream + 1);
    }
}

static void deliver(struct forest *forest, int at, struct forest_message *message)
{
    struct forest_node *node = &forest->node[at];
    if (message->delivered++ > 0) {
        forest_violated(forest, "%d got a message of %d twice", at, message->from);
    }
    if (message->word == APP && message->n != node->got[message->from]++) {
        forest_violated(forest, "%d got message %u of %d out of order", at, message->n,
                        message->from);
    }
    if (message->word != APP) {
        forest_hear(forest, at, message);
    }
}

static void receive(struct forest *forest, int at, const struct sim_frame *frame)
{
    struct rml_session *session = &forest->node[at].session[frame->origin];
    struct rml_heard heard = {.take = false};
    struct rml_stamp stamp = frame->stamp;
    list_init(&heard.done);
    list_init(&heard.ended);
    take_out(forest, session, &stamp);
    rml_session_receive(session, &stamp, forest->queue.now, &heard);
    if (heard.refused || heard.renewed) {
        forest_violated(forest, "%d refused a good frame of %d", at, frame->origin);
    }
    complete_all(forest, &heard.done, false);
    if (heard.take) {
        deliver(forest, at, frame->cargo);
    }
    if (heard.reply) {
        rml_session_reply(session, stamp.class, &heard, &stamp);
        send_frame(forest, at, frame->origin, &stamp, NULL);
    }
    forest_touch(forest, at, frame->origin);
}

void forest_frame(struct forest *forest, struct sim_frame *frame)
{
    int at = sim_arrived(&forest->network, frame);
    if (at < 0) {
        return;
    }
    if (!forest->node[at].alive) {
        sim_frame_end(&forest->network, frame);
    } else if (frame->dest != at) {
        sim_route(&forest->network, at, frame);
    } else {
        receive(forest, at, frame);
        sim_frame_end(&forest->network, frame);
    }
}
