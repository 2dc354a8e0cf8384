#include <config.h>

#include <btl/usnic/engine/inside.h>

/* ---- headers ---- */

static uint64_t stamp_of(struct usnic_engine *engine, struct usnic_flow *flow)
{
    uint64_t now = engine->now_us * USNIC_STAMPS_PER_US;

    return flow->clock.last = now > flow->clock.last ? now : flow->clock.last + 1;
}

/* The echo tells the peer that all it does not find acknowledged has not come: it goes only with
 * all ranges. */
static void set_echo(const struct usnic_engine *engine, const struct usnic_flow *flow,
                     struct usnic_header *header)
{
    uint64_t delay_us = engine->now_us - flow->owed.stamp_us;

    header->delay = USNIC_NO_ECHO;
    if (flow->owed.has_stamp && header->ranges == flow->order.count &&
        delay_us < USNIC_NO_ECHO / USNIC_STAMPS_PER_US) {
        header->echo = flow->owed.stamp;
        header->waited = flow->owed.waited;
        header->delay = (uint32_t) delay_us * USNIC_STAMPS_PER_US;
    }
}

/* Header and ranges of a packet that has its records. Returns whether it acknowledges everything.
 */
static bool complete(struct usnic_engine *engine, struct usnic_flow *flow,
                     struct usnic_segment *segment, uint64_t stamp)
{
    size_t ranges_bytes = flow->order.count * (size_t) USNIC_RANGE_BYTES;
    size_t size = usnic_segment_least(segment);
    bool fit = size + ranges_bytes <= flow->params.mtu;
    struct usnic_header header = {.kind = segment->kind,
                                  .credit = usnic_share_credit(engine, flow),
                                  .index = flow->params.index,
                                  .token = flow->params.token,
                                  .sequence = segment->sequence,
                                  .ack = usnic_order_expected(&flow->order),
                                  .stamp = (uint32_t) stamp,
                                  .length = segment->length};

    if (fit && ranges_bytes > 0) {
        header.ranges = (uint8_t) usnic_order_ranges(&flow->order, segment->packet + size);
    }
    set_echo(engine, flow, &header);
    segment->size = (uint16_t) (size + (size_t) header.ranges * USNIC_RANGE_BYTES);
    usnic_header_encode(segment->packet, &header);
    if (flow->params.checksum) {
        usnic_packet_sum(segment->packet, segment->size);
    }
    return fit;
}

/* An acknowledgement has gone, alone or with a packet. */
static void paid(struct usnic_engine *engine, struct usnic_flow *flow)
{
    struct usnic_owed *owed = &flow->owed;

    owed->packets = 0;
    owed->charge = 0;
    owed->due_us = UINT64_MAX;
    list_remove(&flow->acks);
    if (owed->repeats > 0) {
        usnic_ack_timer_start(engine, flow,
                              USNIC_ACK_REPEAT_US << (USNIC_ACK_REPEATS - owed->repeats--));
    }
}

static bool hand_over(struct usnic_engine *engine, struct usnic_flow *flow,
                      enum usnic_channel channel, struct usnic_segment *segment)
{
    segment->on_wire = true;
    if (engine->user->transmit(engine->arg, flow, channel, segment) == OPAL_SUCCESS) {
        engine->counts.bytes_sent += segment->size;
        return true;
    }
    segment->on_wire = false;
    engine->full[channel] = true;
    engine->counts.wire_full++;
    return false;
}

/* ---- packets of the window ---- */

/* Resends go behind what they would delay, small packets beside what they would wait for. */
static enum usnic_channel channel_of(const struct usnic_flow *flow,
                                     const struct usnic_segment *segment)
{
    bool light = segment->stamp == 0 && flow->window.bulk == 0 && !segment->bulk;

    return light ? USNIC_PRIORITY : USNIC_DATA;
}

bool usnic_transmit(struct usnic_engine *engine, struct usnic_flow *flow,
                    struct usnic_segment *segment)
{
    enum usnic_channel channel = channel_of(flow, segment);

    if (engine->full[channel] || segment->on_wire) {
        return false;
    }
    uint64_t stamp = stamp_of(engine, flow);
    bool all = complete(engine, flow, segment, stamp);
    if (!hand_over(engine, flow, channel, segment)) {
        return false;
    }
    if (all) {
        paid(engine, flow);
    }
    engine->counts.packets_sent++;
    engine->counts.resends += segment->stamp != 0;
    bool first = flow->window.in_flight == 0;
    usnic_window_sent(&flow->window, segment, stamp);
    if (first) {
        flow->clock.since_us = engine->now_us;
        usnic_deadline_set(engine, flow);
    }
    return true;
}

int usnic_resend(struct usnic_engine *engine, struct usnic_flow *flow, int most)
{
    int count = 0;

    while (!list_empty(&flow->window.lost)) {
        struct usnic_segment *segment =
            container_of(flow->window.lost.next, struct usnic_segment, link);
        if (!usnic_rate_allows(&flow->rate, flow->window.charge, segment->charge)) {
            break;
        }
        if (count == most || !usnic_transmit(engine, flow, segment)) {
            usnic_list_in(&engine->resending, &flow->resending);
            break;
        }
        count++;
    }
    return count;
}

/* ---- acknowledgements ---- */

bool usnic_transmit_ack(struct usnic_engine *engine, struct usnic_flow *flow)
{
    enum usnic_channel channel = engine->config.priority_bytes > 0 ? USNIC_PRIORITY : USNIC_DATA;
    struct usnic_segment *segment =
        engine->full[channel] ? NULL : usnic_segment_get(engine, USNIC_ACK);

    if (!segment) {
        return false;
    }
    segment->flow = flow;
    segment->length = 0;
    segment->sequence = 0;
    (void) complete(engine, flow, segment, stamp_of(engine, flow));
    if (!hand_over(engine, flow, channel, segment)) {
        usnic_segment_put(engine, segment);
        return false;
    }
    paid(engine, flow);
    engine->counts.acks_sent++;
    return true;
}

/* ---- new packets ---- */

static size_t capacity_of(const struct usnic_flow *flow)
{
    return (flow->params.mtu - USNIC_HEADER_BYTES) & ~(size_t) 7;
}

static size_t room_of(const struct usnic_flow *flow)
{
    size_t capacity = capacity_of(flow), used = flow->open ? flow->open->length : 0;

    return used < capacity ? capacity - used : 0;
}

static bool open_segment(struct usnic_engine *engine, struct usnic_flow *flow)
{
    if (!flow->open) {
        flow->open = usnic_segment_get(engine, USNIC_PACKET);
        if (!flow->open) {
            engine->counts.no_segment++;
            return false;
        }
        flow->open->flow = flow;
        flow->open->length = 0;
        flow->open->bulk = engine->config.priority_bytes == 0;
    }
    return true;
}

static uint8_t *end_of(const struct usnic_flow *flow)
{
    return flow->open->packet + USNIC_HEADER_BYTES + flow->open->length;
}

static void packs(struct usnic_engine *engine, struct usnic_flow *flow,
                  const struct usnic_message *message, size_t bytes)
{
    struct usnic_segment *segment = flow->open;

    flow->urgent |= message->priority;
    segment->length = (uint16_t) (segment->length + bytes);
    segment->bulk |= message->total > engine->config.priority_bytes;
    engine->counts.messages_sent += message->position == message->total;
}

/* A whole message into the packet that is being filled. False: it does not fit, now or ever. */
static bool pack_whole(struct usnic_engine *engine, struct usnic_flow *flow,
                       struct usnic_message *message)
{
    if (!usnic_pack_is_whole(message->total, room_of(flow)) || !open_segment(engine, flow)) {
        return false;
    }
    message->position = message->total;
    packs(engine, flow, message, usnic_pack_whole(end_of(flow), message));
    return true;
}

static bool pack_chunk(struct usnic_engine *engine, struct usnic_flow *flow,
                       struct usnic_message *message)
{
    if (!open_segment(engine, flow)) {
        return false;
    }
    size_t bytes = usnic_pack_chunk(end_of(flow), room_of(flow), message);
    if (bytes > 0) {
        packs(engine, flow, message, bytes);
        flow->urgent |= message->position == message->total; /* only small ones wait for others */
    }
    return bytes > 0;
}

/* Fills the open packet from the queue. False: the flow was closed by a callback. */
static bool fill(struct usnic_engine *engine, struct usnic_flow *flow)
{
    struct usnic_guard guard;
    bool open = true;

    while (open && !list_empty(&flow->queue)) {
        struct usnic_message *message = container_of(flow->queue.next, struct usnic_message, link);
        bool whole =
            message->position == 0 && usnic_pack_is_whole(message->total, capacity_of(flow));
        if (!(whole ? pack_whole(engine, flow, message) : pack_chunk(engine, flow, message))) {
            break;
        }
        if (message->position < message->total) {
            break;
        }
        list_remove(&message->link);
        if (flow->sending && message == flow->sending->message) {
            flow->sending->done = true;
        } else {
            usnic_guard(engine, &guard, flow);
            engine->user->packed(engine->arg, flow, message);
            open = usnic_unguard(engine, &guard);
        }
    }
    return open;
}

static bool wants(const struct usnic_flow *flow)
{
    return flow->open || !list_empty(&flow->queue);
}

/* The window, the peer's credit or the network holds the flow back: an acknowledgement or a timer
 * will let it go on. */
static bool is_held(struct usnic_engine *engine, struct usnic_flow *flow)
{
    size_t charge = list_empty(&flow->queue) ? usnic_charge(engine, usnic_segment_least(flow->open))
                                             : engine->config.full_charge;

    if (list_empty(&flow->window.lost) && usnic_window_has_room(&flow->window) &&
        usnic_rate_allows(&flow->rate, flow->window.charge, charge)) {
        return false;
    }
    flow->rate.limited = true;
    return true;
}

/* More messages may come into the packet until progress is called. */
static bool may_wait(const struct usnic_engine *engine, const struct usnic_flow *flow)
{
    size_t most = engine->config.pack_after;

    return most > 0 && flow->round == engine->rounds && flow->since_round >= most &&
           list_empty(&flow->queue) && flow->open->length < capacity_of(flow) / 2 && !flow->urgent;
}

static void count_packet(const struct usnic_engine *engine, struct usnic_flow *flow)
{
    flow->since_round = flow->round == engine->rounds ? flow->since_round + 1 : 1;
    flow->round = engine->rounds;
}

static bool send_open(struct usnic_engine *engine, struct usnic_flow *flow)
{
    struct usnic_segment *segment = flow->open;

    segment->charge = (uint16_t) usnic_charge(engine, usnic_segment_least(segment));
    flow->open = NULL;
    flow->urgent = false;
    count_packet(engine, flow);
    if (usnic_window_empty(&flow->window)) {
        flow->clock.progress_us = flow->clock.since_us = engine->now_us;
    }
    usnic_window_add(&flow->window, segment);
    engine->flights++;
    if (usnic_transmit(engine, flow, segment)) {
        return true;
    }
    usnic_list_in(&engine->resending, &flow->resending);
    usnic_deadline_set(engine, flow);
    return false;
}

/* Returns whether another may be sent. */
static bool pump_one(struct usnic_engine *engine, struct usnic_flow *flow, bool *open, int *count)
{
    if (!wants(flow) || is_held(engine, flow)) {
        return false;
    }
    if (engine->full[USNIC_DATA] || engine->full[USNIC_PRIORITY]) {
        usnic_list_in(&engine->ready, &flow->ready);
        return false;
    }
    *open = fill(engine, flow);
    if (!*open) {
        return false;
    }
    if (!flow->open) {
        if (!list_empty(&flow->queue)) { /* no segment */
            usnic_list_in(&engine->ready, &flow->ready);
        }
        return false;
    }
    if (may_wait(engine, flow)) {
        usnic_list_in(&engine->ready, &flow->ready);
        return false;
    }
    bool sent = send_open(engine, flow);
    *count += sent;
    return sent;
}

int usnic_pump(struct usnic_engine *engine, struct usnic_flow *flow, int most)
{
    int count = 0;
    bool open = true;

    if (flow->pumping || flow->failed) {
        return 0;
    }
    flow->pumping = true;
    while (count < most && pump_one(engine, flow, &open, &count)) {
    }
    if (!open) {
        return count;
    }
    flow->pumping = false;
    if (count == most && wants(flow)) {
        usnic_list_in(&engine->ready, &flow->ready);
    }
    return count;
}

/* ---- messages ---- */

enum { BURST = 16 }; /* packets that one call sends */

static int check(const struct usnic_engine *engine, const struct usnic_flow *flow,
                 const struct usnic_message *message)
{
    if (flow->failed) {
        return OPAL_ERR_UNREACH;
    }
    return message->total <= engine->config.max_message && message->channel < 16
               ? OPAL_SUCCESS
               : OPAL_ERR_BAD_PARAM;
}

int usnic_flow_send(struct usnic_engine *engine, struct usnic_flow *flow,
                    struct usnic_message *message, uint64_t now_us)
{
    int status = check(engine, flow, message);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    engine->now_us = now_us;
    message->position = 0;
    list_init(&message->link);
    if (list_empty(&flow->queue) && !flow->pumping && pack_whole(engine, flow, message)) {
        usnic_pump(engine, flow, BURST);
        return 1;
    }
    list_append(&flow->queue, &message->link);
    if (flow->pumping) {
        return OPAL_SUCCESS;
    }
    struct usnic_sending sending = {message, false};
    struct usnic_guard guard;
    flow->sending = &sending;
    usnic_guard(engine, &guard, flow);
    usnic_pump(engine, flow, BURST);
    if (usnic_unguard(engine, &guard)) {
        flow->sending = NULL;
    }
    return sending.done ? 1 : OPAL_SUCCESS;
}

/* What waits for more goes, and leaves room. */
static bool push_out(struct usnic_engine *engine, struct usnic_flow *flow)
{
    if (!flow->open) {
        return false;
    }
    flow->urgent = true;
    usnic_pump(engine, flow, 1);
    return !flow->open;
}

int usnic_flow_send_short(struct usnic_engine *engine, struct usnic_flow *flow,
                          struct usnic_message *message, uint64_t now_us)
{
    int status = check(engine, flow, message);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    engine->now_us = now_us;
    if (!list_empty(&flow->queue) || flow->pumping ||
        (!pack_whole(engine, flow, message) &&
         !(push_out(engine, flow) && pack_whole(engine, flow, message)))) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    usnic_pump(engine, flow, BURST);
    return OPAL_SUCCESS;
}
