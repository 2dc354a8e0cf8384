#include <config.h>

#include <base/data/least.h>
#include <btl/usnic/engine/inside.h>

enum {
    SILENT_US = 2000, /* or two round trips: who sent nothing for so long is not active */
    SWEEP_US = 1000,
    ACTIVE_PACKETS = 4, /* full ones make an active sender */
    MARGIN = 16,        /* a part of the buffer for acknowledgements, and for the others */
    IDLE_MOST = 8,      /* who is not active is granted such a part of it, */
    IDLE_LEAST = 32     /* or as little as this where there are many */
};

static size_t at_least_one(const struct usnic_engine *engine, size_t share)
{
    return share > engine->config.full_charge ? share : engine->config.full_charge;
}

size_t usnic_share_idle(const struct usnic_engine *engine)
{
    size_t parts = engine->flows > IDLE_LEAST ? IDLE_LEAST : engine->flows;

    return at_least_one(engine, engine->config.room / (parts > IDLE_MOST ? parts : IDLE_MOST));
}

size_t usnic_share_bytes(const struct usnic_engine *engine, const struct usnic_flow *flow)
{
    size_t room = engine->config.room - engine->config.room / MARGIN;

    if (!list_empty(&flow->active)) {
        return at_least_one(engine, room / engine->active_count);
    }
    size_t share = room / (engine->active_count + 1), idle = usnic_share_idle(engine);
    return share < idle ? at_least_one(engine, share) : idle;
}

/* What is kept needs its receive buffers until its turn: the sender, for whom it is no longer under
 * way, would send as much again, and it would be dropped. */
static size_t keepable(const struct usnic_engine *engine)
{
    size_t free = engine->config.receive_buffers / 2 - engine->kept;

    return free * engine->config.small_charge /
           (engine->active_count > 0 ? engine->active_count : 1);
}

uint16_t usnic_share_credit(const struct usnic_engine *engine, const struct usnic_flow *flow)
{
    size_t units = least(usnic_share_bytes(engine, flow), keepable(engine)) / USNIC_CREDIT_BYTES;

    return units < UINT16_MAX ? (uint16_t) units : UINT16_MAX;
}

static uint64_t silence_of(const struct usnic_flow *flow)
{
    uint64_t rounds = 2 * (uint64_t) flow->rtt.smoothed / USNIC_STAMPS_PER_US;

    return rounds > SILENT_US ? rounds : SILENT_US;
}

void usnic_share_heard(struct usnic_engine *engine, struct usnic_flow *flow, size_t charge)
{
    struct usnic_heard *heard = &flow->heard;

    if (list_empty(&flow->active)) {
        if (engine->now_us - heard->last_us > SILENT_US) {
            heard->charge = 0;
        }
        heard->charge += charge;
        if (heard->charge >= ACTIVE_PACKETS * engine->config.full_charge) {
            list_append(&engine->active, &flow->active);
            engine->active_count++;
        }
    }
    heard->last_us = engine->now_us;
}

void usnic_share_sweep(struct usnic_engine *engine)
{
    struct usnic_flow *flow;

    if (engine->now_us - engine->swept_us < SWEEP_US) {
        return;
    }
    engine->swept_us = engine->now_us;
    list_for_each (flow, &engine->active, struct usnic_flow, active) {
        if (engine->now_us - flow->heard.last_us > silence_of(flow)) {
            list_remove(&flow->active);
            flow->heard.charge = 0;
            engine->active_count--;
        }
    }
}
