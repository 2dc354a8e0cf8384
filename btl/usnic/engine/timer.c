#include <config.h>

#include <btl/usnic/engine/inside.h>

#define US USNIC_STAMPS_PER_US

/* ---- loss by time ---- */

/* Packets up to this one have been overtaken for long enough: what was sent later has arrived, and
 * that is known since echo_us. */
static uint64_t overtaken(const struct usnic_engine *engine, const struct usnic_flow *flow)
{
    uint64_t limit = flow->clock.echo + (engine->now_us - flow->clock.echo_us) * US;
    uint64_t reorder = usnic_rtt_reorder(&flow->rtt);

    return limit > reorder ? limit - reorder : 0;
}

size_t usnic_lose(struct usnic_engine *engine, struct usnic_flow *flow)
{
    size_t before = flow->window.charge;
    uint32_t count = usnic_window_lose(&flow->window, flow->clock.echo, overtaken(engine, flow));

    if (count > 0) {
        engine->counts.lost += count;
        usnic_list_in(&engine->resending, &flow->resending);
    }
    return before - flow->window.charge;
}

/* ---- what is to be done, and when ---- */

static uint64_t timeout_us(const struct usnic_flow *flow)
{
    return flow->clock.probed ? usnic_rtt_timeout_us(&flow->rtt) : usnic_rtt_probe_us(&flow->rtt);
}

static uint64_t deadline(const struct usnic_flow *flow)
{
    const struct usnic_segment *oldest = usnic_window_oldest(&flow->window);
    uint64_t due = flow->clock.since_us + timeout_us(flow);

    if (oldest && oldest->stamp < flow->clock.echo) {
        uint64_t lost = oldest->stamp + usnic_rtt_reorder(&flow->rtt);
        uint64_t wait = lost > flow->clock.echo ? (lost - flow->clock.echo) / US + 1 : 1;
        due = flow->clock.echo_us + wait < due ? flow->clock.echo_us + wait : due;
    }
    return due;
}

void usnic_deadline_set(struct usnic_engine *engine, struct usnic_flow *flow)
{
    struct usnic_clock *clock = &flow->clock;

    if (usnic_window_empty(&flow->window)) {
        clock->deadline_us = 0;
        return;
    }
    clock->deadline_us = deadline(flow);
    if (clock->timer_us == 0 || clock->deadline_us < clock->timer_us) {
        clock->timer_us = clock->deadline_us;
        wheel_start(&engine->wheel, &flow->timer.wheel, clock->timer_us);
    }
}

static bool has_timed_out(const struct usnic_engine *engine, const struct usnic_flow *flow)
{
    uint64_t since = flow->clock.progress_us;

    since = since > engine->awake_us ? since : engine->awake_us;
    return engine->now_us - since >= engine->config.peer_timeout_us;
}

/* Sends the first packet again, whatever may be under way: the receiver needs it before all others,
 * and its answer shows what of these has arrived. */
static void probe(struct usnic_engine *engine, struct usnic_flow *flow)
{
    struct usnic_segment *segment = usnic_window_first(&flow->window);

    if (flow->clock.probed) {
        usnic_rtt_backoff(&flow->rtt);
    }
    flow->clock.probed = true;
    flow->clock.since_us = engine->now_us;
    if (segment->on_wire) {
        return;
    }
    usnic_window_resend(&flow->window, segment);
    if (usnic_transmit(engine, flow, segment)) {
        engine->counts.probes++;
    } else {
        usnic_list_in(&engine->resending, &flow->resending);
    }
}

void usnic_timer_expired(struct usnic_engine *engine, struct usnic_flow *flow)
{
    flow->clock.timer_us = 0;
    if (usnic_window_empty(&flow->window)) {
        usnic_window_trim(&flow->window);
        return;
    }
    if (engine->now_us >= flow->clock.deadline_us) {
        if (has_timed_out(engine, flow)) {
            usnic_flow_fail(engine, flow, "nothing was acknowledged for the peer's timeout");
            return;
        }
        if (usnic_lose(engine, flow) == 0 &&
            engine->now_us >= flow->clock.since_us + timeout_us(flow)) {
            probe(engine, flow);
        }
    }
    usnic_deadline_set(engine, flow);
}

/* ---- acknowledgements ---- */

/* One that runs may expire early: what is due shows then. */
void usnic_ack_timer_start(struct usnic_engine *engine, struct usnic_flow *flow, uint64_t delay_us)
{
    uint64_t due = engine->now_us + delay_us;

    flow->owed.due_us = due;
    if (flow->owed.timer_us == 0 || due < flow->owed.timer_us) {
        flow->owed.timer_us = due;
        wheel_start(&engine->wheel, &flow->ack_timer.wheel, due);
    }
}

void usnic_ack_timer_expired(struct usnic_engine *engine, struct usnic_flow *flow)
{
    struct usnic_owed *owed = &flow->owed;

    owed->timer_us = 0;
    if (engine->now_us >= owed->due_us) {
        usnic_list_in(&engine->acks, &flow->acks);
    } else if (owed->due_us < UINT64_MAX) {
        usnic_ack_timer_start(engine, flow, owed->due_us - engine->now_us);
    }
}
