#include <config.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <tests/lib/sim/world_state.h>

enum {
    HOPS_MAX = 12,
    LINK_US = 400,
    LAST_SEND_US = 400000,
    LAST_FAULT_US = 500000,
    DEADLINE_US = 60000000,
};

void world_violated(struct sim_world *world, const char *format, ...)
{
    if (world->report->held) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(world->report->reason, sizeof(world->report->reason), format, arguments);
        va_end(arguments);
        world->report->held = false;
    }
}

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
        world_set_link(world, i, true);
    }
    world->message_count = 0;
    world->held_max = (512u << 10) << sim_below(random, 4);
    world->slowness_us = slow[sim_below(random, 3)];
    for (int i = 0; i < world->network.nodes; i++) {
        world->node[i].life = 0;
        world->node[i].timer_at = UINT64_MAX;
        world->node[i].kept_count = 0;
        world_begin_node(world, i);
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
        world_frame(world, event->what);
        break;
    case EVENT_CREDIT:
        sim_credit(&world->network, event->who, event->what);
        break;
    case EVENT_TIMER:
        world->node[event->who].timer_at = UINT64_MAX;
        world->node[event->who].dirty = true;
        break;
    case EVENT_SEND:
        world_send(world);
        break;
    case EVENT_CONSUME:
        world_consume(world, event->who, event->what);
        break;
    case EVENT_FAULT:
        world_fault(world, event->who);
        break;
    case EVENT_LINK_UP:
        world_link_up(world, event->who);
        break;
    case EVENT_BELIEVE:
        world_believe(world, event->who, (int) (intptr_t) event->what);
        break;
    case EVENT_START:
        world_begin_node(world, event->who);
        break;
    case EVENT_RESUME:
        if (world->node[event->who].stopped) {
            world_resume(world, event->who);
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
            world_violated(world, "message %u from %d to %d, class %d, never completed",
                           message->number, message->from, message->to, message->class);
        }
    }
}

/* What is on its way when a schedule ends goes back to its pool. */
static void drain(struct sim_world *world)
{
    struct sim_event event;
    for (int i = 0; i < world->network.nodes; i++) {
        world_drop_kept(world, &world->node[i]);
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
        world_settle(world);
        if (world->network.broken) {
            world_violated(world, "%s", world->network.broken);
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
        world->network.next = world_next;
        world->network.left = world_left;
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
