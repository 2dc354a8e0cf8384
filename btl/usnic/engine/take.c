/* What comes: acknowledgements, packets in their turn, early ones, and what is in them. */
#include <config.h>

#include <base/data/least.h>
#include <btl/usnic/engine/inside.h>
#include <stdlib.h>
#include <string.h>

enum {
    ACK_PACKETS = 16,  /* are acknowledged at once, */
    ACK_SHARE = 4,     /* and so is a part of the credit that was used */
    BURST = 16,        /* packets that one acknowledgement lets go */
    LATER_US = 1000000 /* a packet may take so much less time on its way than the one before */
};

/* ---- what was acknowledged ---- */

/* The stamp of mine that the peer echoes. UINT64_MAX: none. */
static uint64_t echo_of(const struct usnic_flow *flow, const struct usnic_header *header)
{
    uint64_t last = flow->clock.last;
    uint64_t back = (uint32_t) ((uint32_t) last - header->echo);

    if (header->delay == USNIC_NO_ECHO || back > last - flow->clock.opened) {
        return UINT64_MAX;
    }
    return last - back;
}

static uint64_t less(uint64_t time, uint64_t by)
{
    return time > by ? time - by : 0;
}

/* To the network goes the time that packets have not waited for either process to look. */
static void measure(struct usnic_engine *engine, struct usnic_flow *flow, uint64_t echo,
                    const struct usnic_header *header)
{
    uint64_t waited_us = engine->waited_us + (header->waited ? UINT64_C(1) << header->waited : 0);
    uint64_t passed = less(engine->now_us * USNIC_STAMPS_PER_US, echo);

    passed = least(less(passed, header->delay), UINT32_MAX);
    usnic_rtt_sample(&flow->rtt, (uint32_t) passed, engine->now_us);
    usnic_rate_sample(&flow->rate, (uint32_t) less(passed, waited_us * USNIC_STAMPS_PER_US));
    flow->clock.echo = echo;
    flow->clock.echo_us = engine->now_us;
}

static void give_back(struct usnic_engine *engine, struct usnic_flow *flow, struct list *done)
{
    for (struct list *link; (link = list_pop(done));) {
        struct usnic_segment *segment = container_of(link, struct usnic_segment, link);
        size_t size = usnic_segment_least(segment);
        flow->passed = size > flow->passed ? size : flow->passed;
        engine->flights--;
        usnic_segment_put(engine, segment);
    }
}

static void count_spurious(struct usnic_engine *engine, struct usnic_flow *flow,
                           const struct usnic_acked *acked)
{
    uint64_t round = flow->rtt.smoothed;

    engine->counts.spurious += acked->spurious;
    if (acked->late > round) {
        uint64_t late = acked->late - round;
        usnic_rtt_spurious(&flow->rtt, late < UINT32_MAX ? (uint32_t) late : UINT32_MAX);
    }
}

static void take_credit(struct usnic_flow *flow, uint16_t credit)
{
    flow->rate.credit = credit == UINT16_MAX ? SIZE_MAX : (size_t) credit * USNIC_CREDIT_BYTES;
}

/* Acknowledgement and ranges of a packet. */
static void take_ack(struct usnic_engine *engine, struct usnic_flow *flow,
                     const struct usnic_header *header, const uint8_t *ranges)
{
    struct usnic_acked acked = {0};
    struct list done;
    uint64_t echo = echo_of(flow, header), now = engine->now_us * USNIC_STAMPS_PER_US;
    bool news = echo != UINT64_MAX && echo > flow->clock.echo;

    list_init(&done);
    usnic_window_acked(&flow->window, header->ack, echo, now, &acked, &done);
    for (size_t i = 0; i < header->ranges; i++) {
        usnic_window_acked_range(&flow->window,
                                 usnic_range_decode(ranges + i * USNIC_RANGE_BYTES, header->ack),
                                 echo, now, &acked, &done);
    }
    take_credit(flow, header->credit);
    if (news) {
        measure(engine, flow, echo, header);
    }
    if (acked.packets > 0) {
        flow->clock.progress_us = flow->clock.since_us = engine->now_us;
        flow->clock.probed = false;
        count_spurious(engine, flow, &acked);
    }
    give_back(engine, flow, &done);
    size_t lost = usnic_lose(engine, flow);
    if (news) {
        usnic_rate_acked(&flow->rate, &flow->rtt, acked.charge, lost, echo, flow->clock.last);
    }
}

/* What an acknowledgement lets go on. */
static void go_on(struct usnic_engine *engine, struct usnic_flow *flow)
{
    usnic_deadline_set(engine, flow);
    if (!list_empty(&flow->window.lost)) {
        usnic_list_in(&engine->resending, &flow->resending);
    }
    if (flow->open || !list_empty(&flow->queue)) {
        usnic_pump(engine, flow, BURST);
    }
}

static void acknowledged(struct usnic_engine *engine, struct usnic_flow *flow,
                         const struct usnic_header *header, const uint8_t *data)
{
    uint32_t ahead = header->ack - flow->window.first;

    if (usnic_window_covers(&flow->window, header->ack)) {
        if (!usnic_window_empty(&flow->window)) {
            take_ack(engine, flow, header, data + USNIC_HEADER_BYTES + header->length);
            go_on(engine, flow);
        } else {
            take_credit(flow, header->credit);
        }
    } else if (ahead <= UINT32_MAX / 2) {
        engine->counts.malformed++;
    }
}

/* ---- what is owed ---- */

static void owe_at_once(struct usnic_engine *engine, struct usnic_flow *flow)
{
    usnic_list_in(&engine->acks, &flow->acks);
}

/* Packets were lost, and so may the answer be. */
static void owe_with_repeats(struct usnic_engine *engine, struct usnic_flow *flow)
{
    flow->owed.repeats = USNIC_ACK_REPEATS;
    owe_at_once(engine, flow);
}

static void owe(struct usnic_engine *engine, struct usnic_flow *flow, size_t charge)
{
    struct usnic_owed *owed = &flow->owed;

    if (owed->packets++ == 0) {
        usnic_ack_timer_start(engine, flow, engine->config.ack_delay_us);
    }
    owed->charge += charge;
    if (owed->packets >= ACK_PACKETS ||
        (engine->config.room > 0 && owed->charge >= usnic_share_bytes(engine, flow) / ACK_SHARE)) {
        owe_at_once(engine, flow);
    }
}

static uint8_t power_of(uint64_t us)
{
    uint8_t power = 0;

    while (power < USNIC_WAITED_MOST && UINT64_C(1) << power < us) {
        power++;
    }
    return power;
}

static void note_stamp(struct usnic_engine *engine, struct usnic_flow *flow, uint32_t stamp)
{
    flow->owed.waited = power_of(engine->waited_us);
    flow->owed.stamp = stamp;
    flow->owed.stamp_us = engine->now_us;
    flow->owed.has_stamp = true;
}

/* The packet was sent after the last one that came. Stamps wrap within minutes: it cannot have been
 * sent much later than it came later. */
static bool was_sent_later(const struct usnic_engine *engine, const struct usnic_flow *flow,
                           uint32_t stamp)
{
    const struct usnic_owed *owed = &flow->owed;
    uint64_t most = (engine->now_us - owed->stamp_us + LATER_US) * USNIC_STAMPS_PER_US;
    uint32_t later = stamp - owed->stamp;

    return owed->has_stamp && later > 0 && later <= most;
}

/* The packet has come before. The sender is to hear of one that it sent again, not of a copy that
 * the network or a stranger made. */
static void take_again(struct usnic_engine *engine, struct usnic_flow *flow, uint32_t stamp)
{
    engine->counts.duplicates++;
    if (was_sent_later(engine, flow, stamp)) {
        note_stamp(engine, flow, stamp);
        owe_with_repeats(engine, flow);
    }
    owe_at_once(engine, flow);
}

/* ---- what is in packets ---- */

static bool deliver(struct usnic_engine *engine, struct usnic_flow *flow, uint8_t channel,
                    uint8_t tag, void *data, size_t size)
{
    struct usnic_guard guard;

    engine->counts.messages_received++;
    usnic_guard(engine, &guard, flow);
    engine->user->deliver(engine->arg, flow, channel, tag, data, size);
    return usnic_unguard(engine, &guard);
}

/* Returns whether the flow goes on. */
static bool begin(struct usnic_engine *engine, struct usnic_flow *flow,
                  const struct usnic_record *record, const uint8_t *data)
{
    struct usnic_assembly *assembly = &flow->assembly;
    struct usnic_guard guard;

    usnic_guard(engine, &guard, flow);
    bool lands = engine->user->lands(engine->arg, flow, record->channel, record->tag, data,
                                     record->size, record->total);
    if (!usnic_unguard(engine, &guard) || flow->failed) {
        return false;
    }
    *assembly = (struct usnic_assembly){
        .total = record->total, .channel = record->channel, .tag = record->tag};
    if (lands) {
        return true;
    }
    assembly->data = malloc(record->total);
    if (!assembly->data) {
        usnic_flow_fail(engine, flow, "no memory for a message");
    }
    return assembly->data != NULL;
}

static bool land(struct usnic_engine *engine, struct usnic_flow *flow,
                 const struct usnic_record *record, const uint8_t *data)
{
    struct usnic_guard guard;
    bool last = flow->assembly.position == flow->assembly.total;

    if (last) {
        flow->assembly = (struct usnic_assembly){0};
        engine->counts.messages_received++;
    }
    usnic_guard(engine, &guard, flow);
    engine->user->land(engine->arg, flow, data, record->size, last);
    return usnic_unguard(engine, &guard);
}

static bool finish(struct usnic_engine *engine, struct usnic_flow *flow)
{
    struct usnic_assembly whole = flow->assembly;

    flow->assembly = (struct usnic_assembly){0};
    bool open = deliver(engine, flow, whole.channel, whole.tag, whole.data, whole.total);
    free(whole.data);
    return open;
}

static bool take_chunk(struct usnic_engine *engine, struct usnic_flow *flow,
                       const struct usnic_record *record, const uint8_t *data)
{
    struct usnic_assembly *assembly = &flow->assembly;

    if (!usnic_assembly_follows(assembly, record, engine->config.max_message)) {
        usnic_flow_fail(engine, flow, "a chunk does not belong to its message");
        return false;
    }
    if (assembly->total == 0 && !begin(engine, flow, record, data)) {
        return false;
    }
    assembly->position += record->size;
    if (!assembly->data) {
        return land(engine, flow, record, data);
    }
    memcpy(assembly->data + record->offset, data, record->size);
    return assembly->position < assembly->total || finish(engine, flow);
}

static bool take_record(struct usnic_engine *engine, struct usnic_flow *flow,
                        const struct usnic_record *record, const uint8_t *data)
{
    if (record->kind == USNIC_CHUNK) {
        return take_chunk(engine, flow, record, data);
    }
    if (flow->assembly.total > 0) {
        usnic_flow_fail(engine, flow, "a message came amid the chunks of another");
        return false;
    }
    return deliver(engine, flow, record->channel, record->tag, (void *) (uintptr_t) data,
                   record->size);
}

/* Returns whether the flow goes on. */
static bool take_records(struct usnic_engine *engine, struct usnic_flow *flow,
                         const uint8_t *records, size_t length)
{
    struct usnic_record record;
    const uint8_t *data;

    for (size_t at = 0; at < length;) {
        if (!usnic_record_decode(&record, records, length, &at, &data)) {
            engine->counts.malformed++;
            usnic_flow_fail(engine, flow, "a packet is malformed");
            return false;
        }
        if (!take_record(engine, flow, &record, data) || flow->failed) {
            return false;
        }
    }
    return true;
}

/* ---- packets ---- */

/* Delivers the early packets whose turn has come. */
static bool take_followers(struct usnic_engine *engine, struct usnic_flow *flow)
{
    struct usnic_packet *packet;
    bool open = true;

    while (open && (packet = usnic_order_next(&flow->order))) {
        engine->kept--;
        open = take_records(engine, flow, packet->data + USNIC_HEADER_BYTES,
                            usnic_header_length(packet->data));
        engine->user->release(engine->arg, packet);
    }
    return open;
}

/* The packet's turn has come. Its records first, then the books. */
static void take_now(struct usnic_engine *engine, struct usnic_flow *flow,
                     const struct usnic_header *header, const uint8_t *data, size_t size)
{
    bool closes = flow->order.count > 0;

    note_stamp(engine, flow, header->stamp);
    owe(engine, flow, usnic_charge(engine, size));
    if (closes) {
        owe_with_repeats(engine, flow);
    }
    usnic_share_heard(engine, flow, usnic_charge(engine, size));
    if (take_records(engine, flow, data + USNIC_HEADER_BYTES, header->length) &&
        (!closes || take_followers(engine, flow))) {
        acknowledged(engine, flow, header, data);
    }
}

static bool keep(struct usnic_engine *engine, struct usnic_flow *flow, size_t size, uint32_t stamp,
                 bool changes)
{
    engine->kept++;
    engine->counts.early++;
    note_stamp(engine, flow, stamp);
    owe(engine, flow, usnic_charge(engine, size));
    if (changes) {
        owe_with_repeats(engine, flow);
    }
    usnic_share_heard(engine, flow, usnic_charge(engine, size));
    return true;
}

/* Returns whether it is kept. */
static bool take_in_turn(struct usnic_engine *engine, struct usnic_flow *flow,
                         struct usnic_packet *packet, const struct usnic_header *header)
{
    bool may_keep = engine->kept < engine->config.receive_buffers / 2;
    uint32_t ranges = flow->order.count;

    switch (usnic_order_take(&flow->order, packet, header->sequence, may_keep)) {
    case REORDER_NOW:
        take_now(engine, flow, header, packet->data, packet->size);
        return false;
    case REORDER_KEPT:
        return keep(engine, flow, packet->size, header->stamp, flow->order.count != ranges);
    case REORDER_AGAIN:
        take_again(engine, flow, header->stamp);
        return false;
    default: /* the sender hears by the echo that it is lost */
        engine->counts.dropped++;
        note_stamp(engine, flow, header->stamp);
        owe(engine, flow, usnic_charge(engine, packet->size));
        return false;
    }
}

static bool take_packet(struct usnic_engine *engine, struct usnic_flow *flow,
                        struct usnic_packet *packet, const struct usnic_header *header)
{
    struct usnic_guard guard;

    engine->counts.packets_received++;
    if (header->sequence != usnic_order_expected(&flow->order)) {
        usnic_guard(engine, &guard, flow);
        acknowledged(engine, flow, header, packet->data);
        if (!usnic_unguard(engine, &guard) || flow->failed) {
            return false;
        }
    }
    return take_in_turn(engine, flow, packet, header);
}

bool usnic_flow_received(struct usnic_engine *engine, struct usnic_flow *flow,
                         struct usnic_packet *packet, uint64_t now_us)
{
    struct usnic_header header;

    if (flow->failed || !usnic_header_decode(&header, packet->data, packet->size)) {
        return false;
    }
    engine->now_us = now_us;
    if (header.kind == USNIC_ACK) {
        engine->counts.acks_received++;
        acknowledged(engine, flow, &header, packet->data);
        return false;
    }
    return take_packet(engine, flow, packet, &header);
}
