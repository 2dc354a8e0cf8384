#include <config.h>

#include <rml/cast.h>
#include <rml/session.h>
#include <rml/tree.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/sim/forest.h>
#include <tests/lib/sim/queue.h>

enum {
    NODES_MAX = 12,
    CASTS_MAX = 80,
    MESSAGES_MAX = 160,
    DEATHS_MAX = 4,
    WINDOW = RML_WINDOW_MIN,
    BUSY_US = 400000,
    LATENCY_US = 4000,
    SLOW_US =
        100000, /* some wait for long, and may arrive after their sender's death was noticed */
    NOTICE_US = 60000,
    LATE_US = 5000000,
    DEADLINE_US = 30000000,
};

enum occasion { EV_HOP, EV_FRAME, EV_TIMER, EV_SEND, EV_CAST, EV_KILL, EV_NOTICE, EV_LATE };

enum hop_kind { UP, DOWN, JOIN, DONE, LOST, ORPHAN, REHOME, REHOMED };

/* A broadcast: an origin's n-th, or who is lost. */
struct what {
    int origin;
    uint32_t n;
    int lost; /* -1: nobody */
};

/* What one daemon says to another, which arrives once and in order while both live. */
struct hop {
    enum hop_kind kind;
    int from;
    uint64_t number, other;
    struct what what;
    uint32_t lost_set;
};

struct item {
    struct rml_cast_item item;
    struct what what;
};

struct message {
    struct rml_out out;
    int from, to;
    uint32_t number;
};

struct frame {
    struct rml_stamp stamp;
    int origin, dest, hops;
    const struct message *message;
};

struct node {
    bool alive;
    struct rml_tree tree;
    struct rml_cast cast;
    struct rml_session session[NODES_MAX];
    uint64_t timer_at;
    uint32_t cast_count, casts_got[NODES_MAX];
    uint32_t sent[NODES_MAX], got[NODES_MAX];
    uint64_t free_at[NODES_MAX], ends_at[NODES_MAX]; /* of what this one says to another */
    bool late;                                       /* the root waits for it to find a parent */
};

struct forest {
    struct sim_queue queue;
    struct sim_random random;
    int count;
    struct node node[NODES_MAX];
    struct message message[MESSAGES_MAX];
    uint32_t message_count;
    struct what order[CASTS_MAX + NODES_MAX]; /* by number */
    enum forest_without without;
    struct forest_report *report;
};

static void violated(struct forest *forest, const char *format, ...)
{
    if (forest->report->held) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(forest->report->reason, sizeof(forest->report->reason), format, arguments);
        va_end(arguments);
        forest->report->held = false;
    }
}

static uint32_t below(struct forest *forest, uint32_t limit)
{
    return sim_below(&forest->random, limit);
}

static void later(struct forest *forest, uint64_t wait_us, enum occasion what, int who, void *arg)
{
    sim_at(&forest->queue, forest->queue.now + wait_us, what, who, arg);
}

static void *grab(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory) {
        abort();
    }
    return memory;
}

static int parent_of(const struct forest *forest, int at)
{
    return (int) rml_tree_parent(&forest->node[at].tree, (uint32_t) at);
}

/* --- what daemons say to each other --- */

static void say(struct forest *forest, int from, int to, struct hop hop)
{
    struct hop *copy = grab(sizeof(*copy));
    uint64_t *free_at = &forest->node[from].free_at[to];
    uint32_t slowest = below(forest, 40) == 0 ? SLOW_US : LATENCY_US;
    uint64_t at = forest->queue.now + 1 + below(forest, slowest);
    *copy = hop;
    copy->from = from;
    *free_at = at > *free_at ? at : *free_at;
    sim_at(&forest->queue, *free_at, EV_HOP, to, copy);
}

/* --- broadcasts --- */

static void drop_items(struct list *items)
{
    for (struct list *link; (link = list_pop(items));) {
        free(container_of(link, struct item, item.link));
    }
}

static void advance(struct forest *forest, int at)
{
    struct rml_cast *cast = &forest->node[at].cast;
    struct list over = LIST_INIT(over);
    struct rml_cast_item *due;
    uint32_t child;
    uint64_t done;
    while ((due = rml_cast_due(cast, &child))) {
        say(forest, at, (int) child,
            (struct hop){.kind = DOWN,
                         .number = due->number,
                         .what = container_of(due, struct item, item)->what});
        if (forest->without == FOREST_NO_KEEP) {
            (void) rml_cast_raise(cast, child, due->number);
        }
    }
    rml_cast_prune(cast, &over);
    drop_items(&over);
    if (at > 0 && rml_cast_must_tell(cast, &done)) {
        say(forest, at, parent_of(forest, at), (struct hop){.kind = DONE, .number = done});
    }
}

static void set_children(struct forest *forest, int at, uint32_t lost)
{
    struct node *node = &forest->node[at];
    uint32_t children[NODES_MAX];
    uint32_t count = rml_tree_children(&node->tree, (uint32_t) at, children, NODES_MAX);
    if (rml_cast_set_children(&node->cast, children, count, lost) != ORTE_SUCCESS) {
        abort();
    }
}

static void lose(struct forest *forest, int at, int lost)
{
    struct node *node = &forest->node[at];
    struct list failed = LIST_INIT(failed);
    if (lost == at || rml_tree_lose(&node->tree, (uint32_t) lost) != ORTE_SUCCESS) {
        return;
    }
    rml_session_fail(&node->session[lost], &failed);
    for (int to = 0; to < forest->count; to++) {
        if (to != at && rml_session_pending(&node->session[to])) {
            rml_session_repair(&node->session[to], forest->queue.now);
        }
    }
    set_children(forest, at, (uint32_t) lost);
    advance(forest, at);
}

static void deliver(struct forest *forest, int at, uint64_t number, struct what what)
{
    struct node *node = &forest->node[at];
    if (at == 0) {
        forest->order[number] = what;
    }
    const struct what *right = &forest->order[number];
    if (what.origin != right->origin || what.n != right->n || what.lost != right->lost) {
        violated(forest, "%d got another broadcast than the root as number %llu", at,
                 (unsigned long long) number);
    }
    if (what.lost >= 0) {
        lose(forest, at, what.lost);
    } else if (what.n != node->casts_got[what.origin]++) {
        violated(forest, "%d got broadcast %u of %d out of order", at, what.n, what.origin);
    }
}

static void take(struct forest *forest, int at, struct what what)
{
    struct rml_cast *cast = &forest->node[at].cast;
    if (cast->last + 1 >= CASTS_MAX + NODES_MAX) {
        violated(forest, "%d got more broadcasts than there were", at);
        return;
    }
    struct item *item = grab(sizeof(*item));
    list_init(&item->item.link);
    item->what = what;
    rml_cast_take(cast, &item->item);
    uint64_t number = cast->last;
    advance(forest, at);
    deliver(forest, at, number, what);
}

/* --- the launcher's part --- */

static void kill_node(struct forest *forest, int victim)
{
    struct node *node = &forest->node[victim];
    if (!node->alive) {
        return;
    }
    node->alive = false;
    forest->report->deaths++;
    bool relay = false;
    for (int i = 0; i < forest->count; i++) {
        node->ends_at[i] = forest->queue.now + below(forest, 2 * SLOW_US);
        bool above = parent_of(forest, victim) == i, under = parent_of(forest, i) == victim;
        relay = relay || (under && forest->node[i].alive);
        if (above || under) {
            later(forest, 1 + below(forest, NOTICE_US), EV_NOTICE, i, (void *) (intptr_t) victim);
        }
    }
    forest->report->relays += relay;
}

static void root_lose(struct forest *forest, int lost)
{
    struct rml_tree *tree = &forest->node[0].tree;
    if (rml_tree_is_lost(tree, (uint32_t) lost)) {
        return;
    }
    for (int i = 1; i < forest->count; i++) {
        if (!rml_tree_is_lost(tree, (uint32_t) i) &&
            (int) rml_tree_parent(tree, (uint32_t) i) == lost) {
            forest->node[i].late = true;
            later(forest, LATE_US, EV_LATE, i, NULL);
        }
    }
    kill_node(forest, lost); /* nobody admits it any more */
    lose(forest, 0, lost);
    take(forest, 0, (struct what){.origin = 0, .lost = lost});
}

static void notice(struct forest *forest, int at, int gone)
{
    struct node *node = &forest->node[at];
    if (!node->alive) {
        return;
    }
    if (at > 0 && parent_of(forest, at) == gone) {
        say(forest, at, 0, (struct hop){.kind = ORPHAN, .what.lost = gone});
    } else if (at == 0) {
        root_lose(forest, gone);
    } else if (!rml_tree_is_lost(&node->tree, (uint32_t) gone)) {
        say(forest, at, 0, (struct hop){.kind = LOST, .what.lost = gone});
    }
}

static void hear_orphan(struct forest *forest, int orphan, int gone)
{
    const struct rml_tree *tree = &forest->node[0].tree;
    struct hop answer = {.kind = REHOME};
    root_lose(forest, gone);
    for (int i = 1; i < forest->count; i++) {
        answer.lost_set |= (uint32_t) rml_tree_is_lost(tree, (uint32_t) i) << i;
    }
    if (!rml_tree_is_lost(tree, (uint32_t) orphan) && forest->without != FOREST_NO_REPAIR) {
        say(forest, 0, orphan, answer);
    }
}

static void rehome(struct forest *forest, int at, uint32_t lost_set)
{
    struct rml_cast *cast = &forest->node[at].cast;
    for (int i = 1; i < forest->count; i++) {
        if (lost_set >> i & 1) {
            lose(forest, at, i);
        }
    }
    int parent = parent_of(forest, at);
    if (!forest->node[parent].alive) {
        later(forest, 5000, EV_NOTICE, at, (void *) (intptr_t) parent);
        return;
    }
    cast->told = cast->floor;
    say(forest, at, parent, (struct hop){.kind = JOIN, .number = cast->last, .other = cast->floor});
    say(forest, at, 0, (struct hop){.kind = REHOMED});
}

static void join(struct forest *forest, int at, const struct hop *hop)
{
    struct node *node = &forest->node[at];
    if (rml_tree_is_lost(&node->tree, (uint32_t) hop->from)) {
        return;
    }
    int status = rml_cast_join(&node->cast, (uint32_t) hop->from, hop->number, hop->other);
    if (status != ORTE_SUCCESS) {
        violated(forest, "%d cannot go on for %d behind %llu", at, hop->from,
                 (unsigned long long) hop->number);
    }
    advance(forest, at);
}

static void on_hop(struct forest *forest, int at, const struct hop *hop)
{
    struct rml_cast *cast = &forest->node[at].cast;
    switch (hop->kind) {
    case UP:
        take(forest, 0, hop->what);
        return;
    case DOWN:
        if (rml_cast_is_next(cast, hop->number) || forest->without == FOREST_NO_NUMBER) {
            take(forest, at, hop->what);
        } else if (hop->number > cast->last) {
            violated(forest, "%d misses what came before %llu", at,
                     (unsigned long long) hop->number);
        }
        return;
    case JOIN:
        join(forest, at, hop);
        return;
    case DONE:
        (void) rml_cast_raise(cast, (uint32_t) hop->from, hop->number);
        advance(forest, at);
        return;
    case LOST:
        root_lose(forest, hop->what.lost);
        return;
    case ORPHAN:
        hear_orphan(forest, hop->from, hop->what.lost);
        return;
    case REHOME:
        rehome(forest, at, hop->lost_set);
        return;
    case REHOMED:
        forest->node[hop->from].late = false;
        return;
    }
}

/* --- messages over the tree --- */

static void route(struct forest *forest, int at, struct frame *frame)
{
    const struct rml_tree *tree = &forest->node[at].tree;
    uint32_t next = rml_tree_towards(tree, (uint32_t) at, (uint32_t) frame->dest);
    int hop = next != UINT32_MAX ? (int) next : parent_of(forest, at);
    bool lost = rml_tree_is_lost(tree, (uint32_t) frame->dest);
    if (lost || hop < 0 || hop >= forest->count || frame->hops++ > forest->count + 2 ||
        !forest->node[hop].alive) {
        free(frame); /* its origin has it still */
        return;
    }
    later(forest, 1 + below(forest, LATENCY_US), EV_FRAME, hop, frame);
}

static void send_frame(struct forest *forest, int from, int to, const struct rml_stamp *stamp,
                       const struct message *message)
{
    struct frame *frame = grab(sizeof(*frame));
    *frame = (struct frame){.stamp = *stamp, .origin = from, .dest = to, .message = message};
    route(forest, from, frame);
}

static void pump(struct forest *forest, int from)
{
    struct node *node = &forest->node[from];
    uint64_t now = forest->queue.now, due = UINT64_MAX;
    struct rml_stamp stamp;
    for (int to = 0; to < forest->count; to++) {
        struct rml_session *session = &node->session[to];
        if (to == from || rml_tree_is_lost(&node->tree, (uint32_t) to)) {
            continue;
        }
        for (struct rml_out *out; (out = rml_session_next(session, OOB_APP, now, &stamp));) {
            rml_sender_returned(out);
            send_frame(forest, from, to, &stamp, container_of(out, struct message, out));
        }
        while (rml_session_word(session, OOB_APP, now, &stamp)) {
            send_frame(forest, from, to, &stamp, NULL);
        }
        uint64_t mine = rml_session_due(session);
        due = mine < due ? mine : due;
    }
    if (due < node->timer_at) {
        node->timer_at = due;
        sim_at(&forest->queue, due, EV_TIMER, from, NULL);
    }
}

static void receive(struct forest *forest, int at, const struct frame *frame)
{
    struct node *node = &forest->node[at];
    struct rml_session *session = &node->session[frame->origin];
    struct rml_heard heard = {.take = false};
    struct rml_stamp stamp;
    list_init(&heard.done);
    list_init(&heard.ended);
    rml_session_receive(session, &frame->stamp, forest->queue.now, &heard);
    if (heard.take) {
        const struct message *message = frame->message;
        if (message->number != node->got[message->from]++) {
            violated(forest, "%d got message %u of %d out of order", at, message->number,
                     message->from);
        }
    }
    if (heard.reply) {
        rml_session_reply(session, OOB_APP, &heard, &stamp);
        send_frame(forest, at, frame->origin, &stamp, NULL);
    }
}

static void on_frame(struct forest *forest, int at, struct frame *frame)
{
    if (!forest->node[at].alive) {
        free(frame);
    } else if (frame->dest != at) {
        route(forest, at, frame);
    } else {
        receive(forest, at, frame);
        free(frame);
    }
}

static void send_message(struct forest *forest)
{
    int from = (int) below(forest, (uint32_t) forest->count);
    int to = (int) below(forest, (uint32_t) forest->count);
    struct node *node = &forest->node[from];
    if (from == to || !node->alive || rml_tree_is_lost(&node->tree, (uint32_t) to)) {
        return;
    }
    struct message *message = &forest->message[forest->message_count++];
    *message = (struct message){.from = from, .to = to, .number = node->sent[to]++};
    message->out.length = below(forest, 3000);
    message->out.ask = below(forest, 4) == 0;
    list_init(&message->out.link);
    rml_session_push(&node->session[to], OOB_APP, &message->out, forest->queue.now);
    forest->report->messages++;
}

static void broadcast(struct forest *forest)
{
    int from = (int) below(forest, (uint32_t) forest->count);
    struct node *node = &forest->node[from];
    if (node->alive) {
        forest->report->casts++;
        say(forest, from, 0,
            (struct hop){.kind = UP,
                         .what = {.origin = from, .n = node->cast_count++, .lost = -1}});
    }
}

/* --- one schedule --- */

static void begin_node(struct forest *forest, int at, uint32_t radix)
{
    struct node *node = &forest->node[at];
    *node = (struct node){.alive = true, .timer_at = UINT64_MAX};
    rml_tree_init(&node->tree, radix, (uint32_t) forest->count);
    rml_cast_init(&node->cast);
    for (int i = 0; i < forest->count; i++) {
        rml_session_init(&node->session[i], (uint64_t) at + 1, WINDOW, WINDOW);
    }
    set_children(forest, at, UINT32_MAX);
}

static void begin(struct forest *forest, uint64_t seed)
{
    forest->random.state = seed;
    sim_queue_reset(&forest->queue);
    forest->count = 3 + (int) below(forest, NODES_MAX - 2);
    forest->message_count = 0;
    forest->report->nodes = (uint32_t) forest->count;
    uint32_t radix = 1 + below(forest, 3);
    for (int i = 0; i < forest->count; i++) {
        begin_node(forest, i, radix);
    }
    uint32_t period = below(forest, 2) ? BUSY_US : BUSY_US / 10;
    for (int i = 0; i < MESSAGES_MAX; i++) {
        sim_at(&forest->queue, below(forest, period), EV_SEND, 0, NULL);
    }
    for (int i = 0; i < CASTS_MAX - 1; i++) {
        sim_at(&forest->queue, below(forest, period), EV_CAST, 0, NULL);
    }
    uint32_t deaths = 1 + below(forest, DEATHS_MAX);
    for (uint32_t i = 0; i < deaths; i++) {
        int victim = 1 + (int) below(forest, (uint32_t) forest->count - 1);
        sim_at(&forest->queue, below(forest, period), EV_KILL, victim, NULL);
    }
}

static void on_late(struct forest *forest, int who)
{
    if (forest->node[who].late) {
        root_lose(forest, who);
    }
}

static void on_event(struct forest *forest, const struct sim_event *event)
{
    struct node *node = &forest->node[event->who];
    const struct hop *hop = event->what;
    switch ((enum occasion) event->kind) {
    case EV_HOP:
        if (node->alive && (forest->node[hop->from].alive ||
                            event->at <= forest->node[hop->from].ends_at[event->who])) {
            on_hop(forest, event->who, hop);
        }
        free(event->what);
        break;
    case EV_FRAME:
        on_frame(forest, event->who, event->what);
        break;
    case EV_TIMER:
        node->timer_at = UINT64_MAX;
        break;
    case EV_SEND:
        send_message(forest);
        break;
    case EV_CAST:
        broadcast(forest);
        break;
    case EV_KILL:
        kill_node(forest, event->who);
        break;
    case EV_NOTICE:
        notice(forest, event->who, (int) (intptr_t) event->what);
        break;
    case EV_LATE:
        on_late(forest, event->who);
        break;
    }
    for (int i = 0; i < forest->count; i++) {
        if (forest->node[i].alive) {
            pump(forest, i);
        }
    }
}

static void check_end(struct forest *forest)
{
    for (int i = 0; i < forest->count * forest->count; i++) {
        int at = i / forest->count, from = i % forest->count;
        const struct node *node = &forest->node[at], *origin = &forest->node[from];
        if (!node->alive || !origin->alive) {
            continue;
        }
        if (node->casts_got[from] != origin->cast_count) {
            violated(forest, "%d got %u of %u broadcasts of %d", at, node->casts_got[from],
                     origin->cast_count, from);
        }
        if (at != from && node->got[from] != origin->sent[at]) {
            violated(forest, "%d got %u of %u messages of %d", at, node->got[from],
                     origin->sent[at], from);
        }
    }
}

static void end(struct forest *forest)
{
    struct sim_event event;
    while (sim_next(&forest->queue, &event)) {
        if (event.kind == EV_HOP || event.kind == EV_FRAME) {
            free(event.what);
        }
    }
    for (int i = 0; i < forest->count; i++) {
        struct list items = LIST_INIT(items);
        rml_cast_fini(&forest->node[i].cast, &items);
        drop_items(&items);
        rml_tree_fini(&forest->node[i].tree);
    }
}

void forest_run(struct forest *forest, uint64_t seed, enum forest_without without,
                struct forest_report *report)
{
    struct sim_event event;
    *report = (struct forest_report){.held = true};
    forest->report = report;
    forest->without = without;
    begin(forest, seed);
    while (report->held && sim_next(&forest->queue, &event)) {
        if (event.at >= DEADLINE_US) {
            if (event.kind == EV_HOP || event.kind == EV_FRAME) {
                free(event.what);
            }
            break;
        }
        report->events++;
        on_event(forest, &event);
    }
    if (report->held) {
        check_end(forest);
    }
    end(forest);
}

struct forest *forest_create(void)
{
    return calloc(1, sizeof(struct forest));
}

void forest_destroy(struct forest *forest)
{
    if (forest) {
        sim_queue_fini(&forest->queue);
        free(forest);
    }
}
