#include <config.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/sim/forest_state.h>

enum {
    SENDS_LEAST = 48,
    CASTS_LEAST = 16,
    DEATHS_MAX = 3,
    BREAKS_MAX = 4,
    FEW = 5, /* as nodes: these send more, and their links come again */
    BUSY_US = 400000,
    LATENCY_US = 4000,
    SLOW_US = 100000,
    SLOW_1 = 40,
    AGAIN_US = 300000,
    SMALL = 3000,
    DROP_WITHIN = 300, /* frames */
    DEADLINE_US = 30000000,
};

void forest_violated(struct forest *forest, const char *format, ...)
{
    if (forest->report->held) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(forest->report->reason, sizeof(forest->report->reason), format, arguments);
        va_end(arguments);
        forest->report->held = false;
    }
}

void forest_later(struct forest *forest, uint64_t wait_us, enum forest_occasion what, int who,
                  int other)
{
    sim_at(&forest->queue, forest->queue.now + wait_us, what, who, (void *) (intptr_t) other);
}

/* --- what happens --- */

/* One that lives, from a chosen one on. */
static int somebody(struct forest *forest)
{
    int at = (int) forest_below(forest, (uint32_t) forest->count);
    while (!forest->node[at].alive) {
        at = (at + 1) % forest->count;
    }
    return at;
}

static void send_message(struct forest *forest)
{
    int from = somebody(forest);
    int step = 1 + (int) forest_below(forest, (uint32_t) forest->count - 1);
    int to = (from + step) % forest->count;
    struct forest_node *node = &forest->node[from];
    if (rml_tree_is_lost(&node->tree, (uint32_t) to)) {
        return;
    }
    struct forest_message message = {.word = APP, .n = node->sent[to]++};
    message.out.length = forest_below(forest, forest->largest);
    message.out.ask = forest_below(forest, 4) == 0;
    (void) forest_say(forest, from, to, &message);
    forest->report->messages++;
}

/* A link of the tree; most come again. */
static void break_link(struct forest *forest, int at)
{
    int parent = forest_parent(forest, at);
    if (!forest->node[at].alive || parent < 0 ||
        sim_way(&forest->network, at, parent)->state != SIM_UP ||
        sim_way(&forest->network, at, parent)->cut) {
        return;
    }
    int number = (int) sim_way(&forest->network, at, parent)->number;
    forest->report->breaks++;
    forest_break(forest, at, parent);
    if (forest->count > FEW && forest_below(forest, 8) == 0) {
        forest->forsaken = true;
    } else {
        forest_later(forest, 1 + forest_below(forest, AGAIN_US), ON_AGAIN, at,
                     parent | number << 4);
    }
}

static void on_event(struct forest *forest, const struct sim_event *event)
{
    int who = event->who, other = (int) (intptr_t) event->what;
    switch ((enum forest_occasion) event->kind) {
    case ON_FRAME:
        forest_frame(forest, event->what);
        break;
    case ON_CREDIT:
        sim_credit(&forest->network, who, event->what);
        break;
    case ON_TIMER:
        forest_tick(forest, who);
        break;
    case ON_SEND:
        send_message(forest);
        break;
    case ON_CAST:
        forest_broadcast(forest, somebody(forest));
        break;
    case ON_KILL:
        forest->kills += forest->node[who].alive;
        forest_kill(forest, who);
        break;
    case ON_BREAK:
        break_link(forest, who);
        break;
    case ON_NOTICE:
    case ON_AGAIN:
    case ON_GIVE_UP:
    case ON_CLOSED:
        forest_link_event(forest, event->kind, who, other);
        break;
    case ON_HOME:
        forest_reach_home(forest, who);
        break;
    case ON_PARENT:
        forest_reach_parent(forest, who);
        break;
    case ON_LATE:
        forest_is_late(forest, who);
        break;
    }
}

/* --- one schedule --- */

static void plant(struct forest *forest)
{
    uint32_t radix = 1 + forest_below(forest, 3);
    forest->dirty = 0;
    forest->message_count = 0;
    forest->kills = 0;
    forest->forsaken = false;
    for (int i = 0; i < forest->count; i++) {
        forest_grow(forest, i, radix);
    }
    for (int i = 1; i < forest->count; i++) {
        forest_link(forest, i, forest_parent(forest, i));
    }
}

static void plan(struct forest *forest)
{
    uint32_t period = forest_below(forest, 2) ? BUSY_US : BUSY_US / 10;
    uint32_t least = forest->count > FEW ? SENDS_LEAST : FOREST_SENDS_MAX - 16;
    uint32_t sends = least + forest_below(forest, FOREST_SENDS_MAX - least);
    uint32_t casts = CASTS_LEAST + forest_below(forest, FOREST_CASTS_MAX - CASTS_LEAST);
    uint32_t most = (uint32_t) forest->count - 2; /* the root and another stay */
    uint32_t deaths = forest_below(forest, (most < DEATHS_MAX ? most : DEATHS_MAX) + 1);
    uint32_t breaks = forest_below(forest, BREAKS_MAX) + (deaths == 0);
    for (uint32_t i = 0; i < sends; i++) {
        sim_at(&forest->queue, forest_below(forest, period), ON_SEND, 0, NULL);
    }
    for (uint32_t i = 0; i < casts; i++) {
        sim_at(&forest->queue, forest_below(forest, period), ON_CAST, 0, NULL);
    }
    for (uint32_t i = 0; i < deaths + breaks; i++) {
        int who = 1 + (int) forest_below(forest, (uint32_t) forest->count - 1);
        sim_at(&forest->queue, forest_below(forest, period), i < deaths ? ON_KILL : ON_BREAK, who,
               NULL);
    }
}

static void begin(struct forest *forest, uint64_t seed)
{
    forest->random.state = seed;
    sim_queue_reset(&forest->queue);
    forest->count = 3 + (int) forest_below(forest, SIM_NODES_MAX - 2);
    forest->largest = forest_below(forest, 4) == 0 ? RML_FRAME_MAX : SMALL;
    forest->report->nodes = (uint32_t) forest->count;
    sim_network_begin(&forest->network, forest->count);
    forest->network.hops_max = (uint32_t) forest->count + 2;
    if (forest_below(forest, 4) == 0) { /* a relay has no room for one */
        forest->network.drop_next = 1 + forest_below(forest, DROP_WITHIN);
    }
    plant(forest);
    plan(forest);
}

static void check_pair(struct forest *forest, int at, int from)
{
    const struct forest_node *node = &forest->node[at], *origin = &forest->node[from];
    if (!node->alive || !origin->alive) {
        return;
    }
    if (node->casts_got[from] != origin->cast_count) {
        forest_violated(forest, "%d got %u of %u broadcasts of %d", at, node->casts_got[from],
                        origin->cast_count, from);
    }
    if (at != from && node->got[from] != origin->sent[at]) {
        forest_violated(forest, "%d got %u of %u messages of %d", at, node->got[from],
                        origin->sent[at], from);
    }
}

static void check_end(struct forest *forest)
{
    for (int i = 0; i < forest->count * forest->count; i++) {
        check_pair(forest, i / forest->count, i % forest->count);
    }
    if (!forest->forsaken && forest->report->deaths > forest->kills) {
        forest_violated(forest, "%u daemons are lost, of which %u were killed",
                        forest->report->deaths, forest->kills);
    }
    for (uint32_t i = 0; i < forest->message_count; i++) {
        const struct forest_message *message = &forest->message[i];
        if (forest->node[message->from].alive && message->completed != 1) {
            forest_violated(forest, "a message of %d to %d never completed", message->from,
                            message->to);
        }
    }
}

static void end(struct forest *forest)
{
    struct sim_event event;
    while (sim_next(&forest->queue, &event)) {
        if (event.kind == ON_FRAME || event.kind == ON_CREDIT) {
            struct sim_frame *frame = event.what;
            list_append(&forest->network.spare, &frame->link);
        }
    }
    for (int i = 0; i < forest->count; i++) {
        forest_fell(forest, i);
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
    while (report->held && forest->queue.now < DEADLINE_US && sim_next(&forest->queue, &event)) {
        report->events++;
        on_event(forest, &event);
        forest_pump(forest);
        if (forest->network.broken) {
            forest_violated(forest, "%s", forest->network.broken);
        }
    }
    if (report->held) {
        check_end(forest);
    }
    end(forest);
}

struct forest *forest_create(void)
{
    struct forest *forest = calloc(1, sizeof(*forest));
    if (forest) {
        forest->network.latency_us = LATENCY_US;
        forest->network.slow_us = SLOW_US;
        forest->network.slow_1 = SLOW_1;
        forest->network.queue = &forest->queue;
        forest->network.random = &forest->random;
        forest->network.frame_event = ON_FRAME;
        forest->network.credit_event = ON_CREDIT;
        forest->network.next = forest_next;
        forest->network.left = forest_left;
        forest->network.arg = forest;
    }
    return forest;
}

void forest_destroy(struct forest *forest)
{
    if (forest) {
        sim_network_fini(&forest->network);
        sim_queue_fini(&forest->queue);
        free(forest);
    }
}
