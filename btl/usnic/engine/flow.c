#include <config.h>

#include <base/data/least.h>
#include <btl/usnic/engine/inside.h>
#include <stdlib.h>

enum { MTU_MOST = 65528 };

void usnic_flow_set_mtu(struct usnic_flow *flow, size_t mtu)
{
    mtu = mtu < flow->mtu_most ? mtu : flow->mtu_most;
    flow->params.mtu = mtu > USNIC_MTU_LEAST ? mtu : USNIC_MTU_LEAST;
}

size_t usnic_flow_largest(const struct usnic_flow *flow)
{
    size_t largest = usnic_window_largest(&flow->window);
    size_t open = flow->open ? usnic_segment_least(flow->open) : 0;

    return open > largest ? open : largest;
}

static void init_links(struct usnic_flow *flow)
{
    list_init(&flow->queue);
    list_init(&flow->ready);
    list_init(&flow->resending);
    list_init(&flow->acks);
    list_init(&flow->active);
    flow->timer = (struct usnic_timer){.flow = flow};
    flow->ack_timer = (struct usnic_timer){.flow = flow, .is_for_acks = true};
    list_init(&flow->timer.wheel.link);
    list_init(&flow->ack_timer.wheel.link);
}

void usnic_flow_open(struct usnic_engine *engine, struct usnic_flow *flow,
                     const struct usnic_flow_params *params, uint64_t now_us)
{
    size_t full = engine->config.full_charge;

    engine->flows++;
    flow->params = *params;
    flow->mtu_most = least(engine->config.segment_bytes - engine->config.prefix, MTU_MOST);
    usnic_flow_set_mtu(flow, params->mtu);
    init_links(flow);
    flow->open = NULL;
    flow->sending = NULL;
    flow->pumping = flow->failed = flow->lost = flow->urgent = false;
    flow->since_round = flow->round = 0;
    flow->passed = 0;
    usnic_window_init(&flow->window, params->first_send);
    usnic_rate_init(&flow->rate, usnic_share_idle(engine), USNIC_WINDOW_PACKETS * full, full);
    usnic_rtt_init(&flow->rtt, now_us);
    flow->clock = (struct usnic_clock){.opened = now_us * USNIC_STAMPS_PER_US,
                                       .last = now_us * USNIC_STAMPS_PER_US};
    flow->owed = (struct usnic_owed){.due_us = UINT64_MAX};
    flow->heard = (struct usnic_heard){0};
    flow->assembly = (struct usnic_assembly){0};
    usnic_order_init(&flow->order, params->first_receive);
}

static void forget_segments(struct usnic_engine *engine, struct usnic_flow *flow)
{
    struct usnic_segment *segment = flow->open;

    flow->open = NULL;
    if (segment) {
        usnic_segment_put(engine, segment);
    }
    while ((segment = usnic_window_drop(&flow->window))) {
        engine->flights--;
        usnic_segment_put(engine, segment);
    }
    usnic_window_fini(&flow->window);
    for (size_t i = 0; i < engine->config.segments; i++) {
        if (engine->segments[i].flow == flow) {
            engine->segments[i].flow = NULL;
        }
    }
}

static void leave_lists(struct usnic_engine *engine, struct usnic_flow *flow)
{
    if (!list_empty(&flow->active)) {
        engine->active_count--;
    }
    list_remove(&flow->ready);
    list_remove(&flow->resending);
    list_remove(&flow->acks);
    list_remove(&flow->active);
    wheel_stop(&flow->timer.wheel);
    wheel_stop(&flow->ack_timer.wheel);
    flow->clock.timer_us = 0;
    flow->owed.timer_us = 0;
}

/* What it holds of the engine's: others may need it. */
static void give_back(struct usnic_engine *engine, struct usnic_flow *flow)
{
    leave_lists(engine, flow);
    forget_segments(engine, flow);
    for (struct usnic_packet *packet; (packet = usnic_order_drop(&flow->order));) {
        engine->kept--;
        engine->user->release(engine->arg, packet);
    }
    free(flow->assembly.data);
    flow->assembly = (struct usnic_assembly){0};
}

void usnic_flow_close(struct usnic_engine *engine, struct usnic_flow *flow)
{
    for (struct usnic_guard *guard = engine->guards; guard; guard = guard->outer) {
        if (guard->flow == flow) {
            guard->flow = NULL;
        }
    }
    flow->failed = true;
    engine->flows--;
    give_back(engine, flow);
}

void usnic_flow_fail(struct usnic_engine *engine, struct usnic_flow *flow, const char *why)
{
    if (!flow->failed) {
        flow->lost = !usnic_flow_is_flushed(flow);
        flow->failed = true;
        give_back(engine, flow);
        engine->user->failed(engine->arg, flow, why);
    }
}

bool usnic_flow_is_flushed(const struct usnic_flow *flow)
{
    return !flow->lost && usnic_window_empty(&flow->window) && !flow->open &&
           list_empty(&flow->queue);
}

bool usnic_flow_is_amid(const struct usnic_flow *flow)
{
    return flow->assembly.total > 0 || flow->order.count > 0;
}

static void count_records(struct usnic_backlog *backlog, const struct usnic_segment *segment)
{
    struct usnic_record record;
    const uint8_t *data;

    for (size_t at = 0; at < segment->length;) {
        if (!usnic_record_decode(&record, segment->packet + USNIC_HEADER_BYTES, segment->length,
                                 &at, &data)) {
            return;
        }
        backlog->bytes += record.size;
        backlog->messages +=
            record.kind == USNIC_WHOLE || record.offset + record.size == record.total;
    }
}

struct usnic_backlog usnic_flow_backlog(const struct usnic_flow *flow)
{
    const struct usnic_window *window = &flow->window;
    const struct usnic_message *message;
    const struct usnic_segment *segment;
    struct usnic_backlog backlog = {0};

    list_for_each (segment, &window->flight, struct usnic_segment, link) {
        count_records(&backlog, segment);
    }
    list_for_each (segment, &window->lost, struct usnic_segment, link) {
        count_records(&backlog, segment);
    }
    if (flow->open) {
        count_records(&backlog, flow->open);
    }
    list_for_each (message, &flow->queue, struct usnic_message, link) {
        backlog.messages++;
        backlog.bytes += message->total - message->position;
    }
    return backlog;
}
