#include <config.h>

#include <base/data/crc32c.h>
#include <stdlib.h>
#include <string.h>
#include <tests/unit/btl/usnic/sim.h>

enum { CHANNELS = USNIC_CHANNEL_BYE };
enum { MESSAGES = 512, PATTERN = 257, TAKE = 16, SEGMENT_BYTES = 1536, PEER_TIMEOUT_US = 3000000 };
enum { PACKET_EVENT, RUN_EVENT, SENT_EVENT, ACTION_EVENT, OPEN_EVENT };

struct sim sim;
static uint8_t pattern[SIM_MESSAGE_MOST + PATTERN];

void sim_break(const char *what)
{
    sim.broken = sim.broken ? sim.broken : what;
}

static void *need(void *memory)
{
    if (!memory) {
        abort();
    }
    return memory;
}

static uint64_t now_us(void)
{
    return sim.queue.now / 1000;
}

/* ---- messages by their numbers ---- */

static uint64_t hash(const struct sim_session *session, uint32_t number)
{
    struct sim_random random = {(uint64_t) session->number << 32 | number};

    /* Both directions have messages of their own. */
    random.state ^= session->node < session->peer ? 0 : UINT64_C(0x5851f42d4c957f2d);
    return sim_random(&random);
}

static uint64_t hash_of_peer(const struct sim_session *session, uint32_t number)
{
    return hash(sim_between(session->peer, session->node)->number == session->number
                    ? sim_between(session->peer, session->node)
                    : &(struct sim_session){.node = session->peer,
                                            .peer = session->node,
                                            .number = session->number},
                number);
}

static uint32_t size_of(uint64_t random)
{
    uint32_t kind = random & 15, value = (uint32_t) (random >> 32);

    if (sim.settings.fixed_size) {
        return sim.settings.fixed_size;
    }
    return kind < 9    ? value % 65
           : kind < 13 ? value % (uint32_t) sim.settings.mtu
           : kind < 15 ? value % (4 * (uint32_t) sim.settings.mtu)
                       : value % 16384;
}

uint32_t sim_size(const struct sim_session *session, uint32_t number)
{
    return size_of(hash(session, number));
}

static uint8_t *bytes_of(uint64_t random)
{
    return pattern + (random >> 8) % PATTERN;
}

/* ---- what the engine calls ---- */

static struct sim_session *session_of(struct usnic_flow *flow)
{
    return container_of(flow, struct sim_session, flow);
}

struct held {
    int node;
    struct usnic_segment *segment;
    uint32_t sum;
};

static uint32_t sum_of(const struct usnic_segment *segment)
{
    return crc32c(0, segment->packet, segment->size);
}

static int transmit(void *arg, struct usnic_flow *flow, enum usnic_channel channel,
                    struct usnic_segment *segment)
{
    const struct sim_session *session = session_of(flow);
    int number = (int) (intptr_t) arg;

    (void) channel;
    if (!session->open || segment->flow != flow || segment->size > sim.settings.mtu) {
        sim_break("a packet of no session, or a wrong size, is sent");
    }
    if (sim.settings.wire_full > 0 &&
        (double) sim_below(&sim.random, 1000) < sim.settings.wire_full * 1000) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    sim_wire_send(&sim.wire, number, session->peer, segment->packet, segment->size);
    if (sim.settings.sent_ns > 0) {
        struct held *held = need(malloc(sizeof(*held)));
        *held = (struct held){number, segment, sum_of(segment)};
        sim.held++;
        sim_at(&sim.queue, sim.queue.now + sim_below(&sim.random, (uint32_t) sim.settings.sent_ns),
               SENT_EVENT, number, held);
    } else {
        usnic_engine_sent(&sim.nodes[number].engine, segment);
    }
    return OPAL_SUCCESS;
}

static void let_go(struct held *held)
{
    if (sum_of(held->segment) != held->sum) {
        sim_break("a packet changed while the wire had it");
    }
    sim.held--;
    usnic_engine_sent(&sim.nodes[held->node].engine, held->segment);
    sim_wake(held->node, sim.queue.now);
    free(held);
}

static void packed(void *arg, struct usnic_flow *flow, struct usnic_message *message)
{
    struct sim_message *mine = container_of(message, struct sim_message, message);

    (void) arg;
    if (!mine->queued || mine->session != session_of(flow)) {
        sim_break("a message is packed that was not queued");
    }
    mine->queued = false;
    list_append(&sim.unused_messages, &message->link);
    if (sim.packed) {
        sim.packed(session_of(flow));
    }
}

static void check(struct sim_session *session, uint8_t channel, uint8_t tag, size_t size)
{
    if (!session->open) {
        sim_break("a session that is closed receives");
    } else if (tag != (uint8_t) session->received || channel != session->number % CHANNELS) {
        sim_break("another message than the next one came");
    } else if (size != size_of(hash_of_peer(session, session->received))) {
        sim_break("a message came with another size");
    }
}

static void received(struct sim_session *session, size_t size)
{
    session->received++;
    session->bytes += size;
    session->last_heard = sim.queue.now;
    if (sim.delivered) {
        sim.delivered(session);
    }
}

static void deliver(void *arg, struct usnic_flow *flow, uint8_t channel, uint8_t tag, void *data,
                    size_t size)
{
    struct sim_session *session = session_of(flow);

    (void) arg;
    if (channel == USNIC_CHANNEL_BYE) {
        session->end.heard = true;
        session->end.give_up_us = UINT64_MAX;
        return;
    }
    check(session, channel, tag, size);
    if (!sim.broken && memcmp(data, bytes_of(hash_of_peer(session, session->received)), size)) {
        sim_break("a message came with other bytes");
    }
    received(session, size);
}

static bool lands(void *arg, struct usnic_flow *flow, uint8_t channel, uint8_t tag,
                  const void *data, size_t size, size_t total)
{
    struct sim_session *session = session_of(flow);

    (void) arg, (void) data, (void) size;
    check(session, channel, tag, total);
    session->landed = 0;
    session->land_total = (uint32_t) total;
    return hash_of_peer(session, session->received) >> 60 & 1;
}

static void land(void *arg, struct usnic_flow *flow, const void *data, size_t size, bool last)
{
    struct sim_session *session = session_of(flow);
    const uint8_t *bytes = bytes_of(hash_of_peer(session, session->received));

    (void) arg;
    if (size > session->land_total - session->landed ||
        memcmp(data, bytes + session->landed, size) != 0) {
        sim_break("a chunk came with other bytes");
    }
    session->landed += (uint32_t) size;
    if (last != (session->landed == session->land_total)) {
        sim_break("a landing ends in another place");
    }
    if (last) {
        received(session, session->land_total);
    }
}

static void put_buffer(struct sim_node *node, struct sim_buffer *buffer)
{
    buffer->next = node->unused;
    node->unused = buffer;
    node->unused_count++;
}

static void release(void *arg, struct usnic_packet *packet)
{
    struct sim_buffer *buffer = container_of(packet, struct sim_buffer, packet);

    if (!buffer->kept) {
        sim_break("a buffer is released that was not kept");
        return;
    }
    buffer->kept = false;
    put_buffer(&sim.nodes[(intptr_t) arg], buffer);
}

static void failed(void *arg, struct usnic_flow *flow, const char *why)
{
    struct sim_session *session = session_of(flow);

    (void) arg, (void) why;
    if (session->failed || !session->open) {
        sim_break("a session fails twice");
    }
    session->failed = true;
    sim.over.failed++;
}

static const struct usnic_user user = {transmit, packed, deliver, lands, land, release, failed};

/* ---- nodes ---- */

static void begin_node(int number)
{
    const struct sim_settings *settings = &sim.settings;
    struct sim_node *node = &sim.nodes[number];
    uint8_t *memory = node->memory;
    struct sim_buffer *buffers = node->buffers;

    memset(node, 0, sizeof(*node));
    node->memory = memory ? memory : need(malloc(4096 * SEGMENT_BYTES));
    node->buffers = buffers ? buffers : need(calloc(4096, sizeof(*buffers)));
    const struct usnic_engine_config config = {.memory = node->memory,
                                               .segments = settings->segments,
                                               .segment_bytes = SEGMENT_BYTES,
                                               .prefix = 8,
                                               .priority_bytes = 768,
                                               .room = settings->room,
                                               .small_bytes = 500,
                                               .small_charge = 832,
                                               .full_charge = 2304,
                                               .receive_buffers = settings->buffers,
                                               .max_message = SIM_MESSAGE_MOST,
                                               .pack_after = settings->pack_after,
                                               .ack_delay_us = 50,
                                               .peer_timeout_us = settings->peer_timeout_us};
    if (usnic_engine_init(&node->engine, &config, &user, (void *) (intptr_t) number, 0)) {
        abort();
    }
    for (size_t i = 0; i < settings->buffers; i++) {
        node->buffers[i].kept = false;
        put_buffer(node, &node->buffers[i]);
    }
    for (int peer = 0; peer < settings->nodes; peer++) {
        node->sessions[peer].node = number;
        node->sessions[peer].peer = peer;
    }
}

void sim_begin(const struct sim_settings *settings)
{
    sim.settings = *settings;
    sim.settings.peer_timeout_us += settings->peer_timeout_us == 0 ? PEER_TIMEOUT_US : 0;
    sim.random.state = settings->seed;
    sim_queue_reset(&sim.queue);
    sim_wire_init(&sim.wire, &sim.queue, PACKET_EVENT, settings->nodes, settings->seed);
    sim.sessions = sim.stale = sim.held = 0;
    sim.broken = NULL;
    sim.action = NULL;
    sim.delivered = sim.packed = NULL;
    sim.over = (struct sim_totals){0};
    if (!sim.messages) {
        struct sim_random random = {7};
        for (size_t i = 0; i < sizeof(pattern); i++) {
            pattern[i] = (uint8_t) sim_random(&random);
        }
        sim.messages = need(calloc(MESSAGES, sizeof(*sim.messages)));
    }
    list_init(&sim.unused_messages);
    for (size_t i = 0; i < MESSAGES; i++) {
        sim.messages[i].queued = false;
        list_append(&sim.unused_messages, &sim.messages[i].message.link);
    }
    for (int i = 0; i < settings->nodes; i++) {
        begin_node(i);
        if (settings->room > 0) {
            sim.wire.ports[i].buffer_bytes = settings->room;
        }
        for (int j = 0; j < settings->nodes; j++) {
            sim_wire_way(&sim.wire, i, j)->settings.delay_ns = settings->delay_ns;
        }
    }
    sim.wire.packet_overhead = 832;
}

void sim_wake(int number, uint64_t at_ns)
{
    struct sim_node *node = &sim.nodes[number];

    at_ns = at_ns > node->sleep_ns ? at_ns : node->sleep_ns;
    if (node->run_ns == 0 || at_ns < node->run_ns) {
        node->run_ns = at_ns > 0 ? at_ns : 1;
        sim_at(&sim.queue, node->run_ns, RUN_EVENT, number, NULL);
    }
}

void sim_sleep(int number, uint64_t ns)
{
    usnic_engine_look(&sim.nodes[number].engine, now_us());
    sim.nodes[number].sleep_ns = sim.queue.now + ns;
    sim.nodes[number].run_ns = 0;
    sim_wake(number, sim.queue.now);
}

/* ---- the end of sessions ---- */

static void say_over(const struct sim_session *session)
{
    uint8_t bytes[USNIC_CONTROL_HEADER];
    const struct usnic_control_frame frame = {
        .kind = USNIC_OVER, .index = (uint32_t) session->node, .token = session->flow.params.token};

    usnic_control_encode(bytes, &frame);
    sim_wire_send(&sim.wire, session->node, session->peer, bytes, sizeof(bytes));
}

/* Neither side has anything that the other one has not, unless one believes to be alone. */
static void session_over(struct sim_session *session)
{
    const struct sim_session *other = sim_between(session->peer, session->node);

    if (other->number == session->number && !session->alone &&
        (other->received != session->sent || session->received != other->sent)) {
        sim_break("a session is over before all has come");
    }
    sim.over.ended++;
    sim.over.alone += !usnic_flow_is_flushed(&session->flow);
    sim_session_close(session);
    session->over = true;
}

static void end_go_on(struct sim_session *session)
{
    const struct usnic_message bye = {.channel = USNIC_CHANNEL_BYE};
    struct usnic_message message = bye;

    switch (usnic_end_next(&session->end, &session->flow, session->leaves, now_us())) {
    case USNIC_END_SAY_BYE:
        session->end.said = usnic_flow_send_short(&sim.nodes[session->node].engine, &session->flow,
                                                  &message, now_us()) == OPAL_SUCCESS;
        session->short_ns = session->end.said ? session->short_ns : sim.queue.now;
        sim_wake(session->node, sim.queue.now + 5000);
        break;
    case USNIC_END_OVER:
        session->alone = !session->end.heard;
        say_over(session);
        session_over(session);
        break;
    default:
        break;
    }
}

static void ends_go_on(struct sim_node *node)
{
    for (int peer = 0; peer < sim.settings.nodes; peer++) {
        struct sim_session *session = &node->sessions[peer];
        if (session->open && !session->failed && sim_ends(session)) {
            end_go_on(session);
        }
    }
}

/* Returns whether it was one. */
static bool take_over(struct sim_node *node, const struct sim_packet *packet)
{
    struct usnic_control_frame frame;

    if (usnic_control_decode(&frame, packet->data, packet->size) != OPAL_SUCCESS ||
        frame.index >= (uint32_t) sim.settings.nodes) {
        return false;
    }
    struct sim_session *session = &node->sessions[frame.index];
    if (!session->open || session->failed || frame.token != session->token_in) {
        return true;
    }
    if (sim_between(session->peer, session->node)->alone) {
        sim_session_close(session);
        session->failed = true;
        sim.over.failed++;
    } else {
        session_over(session);
    }
    return true;
}

void sim_session_leave(struct sim_session *session)
{
    session->leaves = true;
    sim_wake(session->node, sim.queue.now);
}

static void take_packet(struct sim_node *node, struct sim_packet *packet)
{
    struct sim_buffer *buffer = node->unused;
    struct usnic_header header;

    if (!buffer) {
        sim_break("the engine keeps all receive buffers");
        return;
    }
    if (packet->size > sizeof(buffer->data) || take_over(node, packet)) {
        return;
    }
    memcpy(buffer->data, packet->data, packet->size);
    if (!usnic_header_decode(&header, buffer->data, packet->size) ||
        !usnic_packet_is_sound(buffer->data, packet->size, true) ||
        header.index >= (uint32_t) sim.settings.nodes) {
        return;
    }
    struct sim_session *session = &node->sessions[header.index];
    bool proves = header.token == session->token_in || sim_sabotage == SIM_NO_EPOCH;
    if (!session->open || !proves) {
        sim.stale++;
        if (session->over && header.token == session->token_in && !sim.settings.deaf) {
            say_over(session);
        }
        return;
    }
    node->unused = buffer->next;
    node->unused_count--;
    buffer->packet.data = buffer->data;
    buffer->packet.size = (uint32_t) packet->size;
    buffer->kept = true;
    if (!usnic_flow_received(&node->engine, &session->flow, &buffer->packet, now_us())) {
        buffer->kept = false;
        put_buffer(node, buffer);
    }
}

static void check_memory(const struct sim_node *node)
{
    if (node->engine.kept > sim.settings.buffers / 2 ||
        node->engine.kept != sim.settings.buffers - node->unused_count) {
        sim_break("the engine keeps more receive buffers than it may");
    }
    if (node->engine.unused_count > sim.settings.segments) {
        sim_break("a segment was given back twice");
    }
}

/* One that does not sleep looks all the time. */
static void awake(struct sim_node *node)
{
    usnic_engine_look(&node->engine, now_us());
    usnic_engine_look(&node->engine, now_us());
}

static void run(int number)
{
    struct sim_node *node = &sim.nodes[number];
    struct sim_packet *packet = NULL;

    node->run_ns = 0;
    if (node->engine.looked_us < node->sleep_ns / 1000) {
        usnic_engine_look(&node->engine, now_us());
    } else {
        awake(node);
    }
    for (int i = 0; i < TAKE && (packet = sim_wire_take(&sim.wire, number)); i++) {
        take_packet(node, packet);
        free(packet);
    }
    usnic_engine_progress(&node->engine, now_us());
    ends_go_on(node);
    check_memory(node);
    uint64_t due = usnic_engine_due(&node->engine);
    if (packet) {
        sim_wake(number, sim.queue.now + 100);
    } else if (due != UINT64_MAX) {
        sim_wake(number, due * 1000 > sim.queue.now ? due * 1000 : sim.queue.now + 5000);
    }
}

/* ---- sessions ---- */

static void open_side(int node, int peer, uint32_t number, uint32_t first_send,
                      uint32_t first_receive)
{
    struct sim_session *session = sim_between(node, peer);
    struct sim_random tokens = {(uint64_t) number << 16 | (unsigned) (node * SIM_NODES + peer)};
    struct sim_random theirs = {(uint64_t) number << 16 | (unsigned) (peer * SIM_NODES + node)};
    const struct usnic_flow_params params = {.index = (uint32_t) node,
                                             .token = sim_random(&tokens),
                                             .first_send = first_send,
                                             .first_receive = first_receive,
                                             .mtu = sim.settings.mtu,
                                             .checksum = true};

    session->open = true;
    session->failed = session->leaves = session->over = session->alone = false;
    session->end = (struct usnic_end){0};
    session->short_ns = 0;
    session->number = number;
    session->sent = session->received = 0;
    session->token_in = sim_random(&theirs);
    usnic_flow_open(&sim.nodes[node].engine, &session->flow, &params, now_us());
}

struct opening {
    int node, peer;
    uint32_t number, first_send, first_receive;
};

void sim_session_open(int a, int b, uint64_t later_ns, uint32_t first_ab, uint32_t first_ba)
{
    uint32_t number = ++sim.sessions;

    open_side(a, b, number, first_ab, first_ba);
    if (later_ns == SIM_NEVER) {
        return;
    }
    struct opening *opening = need(malloc(sizeof(*opening)));
    *opening = (struct opening){b, a, number, first_ba, first_ab};
    sim_at(&sim.queue, sim.queue.now + later_ns, OPEN_EVENT, b, opening);
}

void sim_session_close(struct sim_session *session)
{
    if (!session->open) {
        return;
    }
    usnic_flow_close(&sim.nodes[session->node].engine, &session->flow);
    for (struct list *link; (link = list_pop(&session->flow.queue));) {
        struct sim_message *mine = container_of(link, struct sim_message, message.link);
        if (!mine->queued || mine->session != session) {
            sim_break("a message comes back that was not queued");
        }
        mine->queued = false;
        list_append(&sim.unused_messages, link);
    }
    session->open = false;
}

static void open_later(struct opening *opening)
{
    struct sim_session *session = sim_between(opening->node, opening->peer);
    struct sim_session *other = sim_between(opening->peer, opening->node);

    if (other->open && other->number == opening->number) {
        sim_session_close(session);
        open_side(opening->node, opening->peer, opening->number, opening->first_send,
                  opening->first_receive);
    }
    free(opening);
}

bool sim_send(struct sim_session *session, bool is_short)
{
    struct usnic_engine *engine = &sim.nodes[session->node].engine;
    struct sim_message *mine =
        container_of(sim.unused_messages.next, struct sim_message, message.link);
    uint64_t random = hash(session, session->sent);
    size_t size = size_of(random), first = size > 3 ? (random >> 20) % size : 0;

    if (!session->open || session->failed || sim_ends(session) ||
        list_empty(&sim.unused_messages)) {
        return false;
    }
    list_remove(&mine->message.link);
    mine->session = session;
    mine->segments[0] = (struct mca_btl_base_segment_t){{.pval = bytes_of(random)}, first};
    mine->segments[1] =
        (struct mca_btl_base_segment_t){{.pval = bytes_of(random) + first}, size - first};
    mine->message.segments = mine->segments;
    mine->message.count = 2;
    mine->message.total = size;
    mine->message.channel = session->number % CHANNELS;
    mine->message.tag = (uint8_t) session->sent;
    mine->queued = !is_short;
    int status = is_short ? usnic_flow_send_short(engine, &session->flow, &mine->message, now_us())
                          : usnic_flow_send(engine, &session->flow, &mine->message, now_us());
    if (is_short || status != OPAL_SUCCESS) {
        mine->queued = false;
        list_append(&sim.unused_messages, &mine->message.link);
    }
    bool taken = status == OPAL_SUCCESS || status == 1;
    session->sent += taken;
    if (is_short && !taken) {
        return sim_send(session, false);
    }
    sim_wake(session->node, sim.queue.now);
    return taken;
}

/* ---- the run ---- */

void sim_act_at(uint64_t ns, int who, void *what)
{
    sim_at(&sim.queue, ns, ACTION_EVENT, who, what);
}

static void handle(const struct sim_event *event)
{
    struct sim_packet *packet = event->what;

    switch (event->kind) {
    case PACKET_EVENT:
        sim_wire_arrived(&sim.wire, packet);
        sim_wake(event->who, sim.queue.now);
        break;
    case RUN_EVENT:
        if (sim.nodes[event->who].run_ns == sim.queue.now) {
            run(event->who);
        }
        break;
    case SENT_EVENT:
        let_go(event->what);
        break;
    case OPEN_EVENT:
        open_later(event->what);
        break;
    default:
        sim.action(event->who, event->what);
        break;
    }
}

bool sim_run_until(uint64_t ns)
{
    struct sim_event event;

    while (!sim.broken && sim_next(&sim.queue, &event)) {
        sim.over.events++;
        handle(&event);
        if (sim.queue.now >= ns) {
            return true;
        }
    }
    return sim.broken != NULL;
}

static bool goes_on(const struct sim_session *session)
{
    const struct sim_session *other = sim_between(session->peer, session->node);

    return session->open && !session->failed && !other->failed;
}

/* A session to which nothing was acknowledged for the peer's timeout has failed. */
static void check_timeout(const struct sim_session *session)
{
    if (session->open && !session->failed && !usnic_window_empty(&session->flow.window) &&
        now_us() > session->flow.clock.progress_us + sim.settings.peer_timeout_us + 1100000) {
        sim_break("a session does not fail whose peer is silent");
    }
}

bool sim_is_half_open(const struct sim_session *session)
{
    return session->open && session->leaves &&
           sim_between(session->peer, session->node)->number != session->number;
}

bool sim_is_alone(const struct sim_session *session)
{
    const struct sim_session *other = sim_between(session->peer, session->node);

    return other->over && other->number == session->number &&
           (other->alone || (session->end.said && !session->end.heard));
}

bool sim_is_quiet(void)
{
    for (int i = 0; i < sim.settings.nodes; i++) {
        for (int j = 0; j < sim.settings.nodes; j++) {
            const struct sim_session *session = sim_between(i, j);
            check_timeout(session);
            if (goes_on(session) && !sim_is_alone(session) &&
                (sim_ends(session) || !usnic_flow_is_flushed(&session->flow))) {
                return false;
            }
        }
    }
    return true;
}

static void check_session(const struct sim_session *session)
{
    const struct sim_session *other = sim_between(session->peer, session->node);

    if (goes_on(session) && other->open && other->number == session->number &&
        other->received != session->sent) {
        sim_break("a message that was sent and acknowledged has not come");
    }
}

void sim_check_quiet(void)
{
    for (int i = 0; i < sim.settings.nodes; i++) {
        const struct sim_node *node = &sim.nodes[i];
        if (node->engine.flights > 0 || node->engine.kept > 0 ||
            (sim.held == 0 && node->engine.unused_count != sim.settings.segments)) {
            sim_break("memory is not back when all is quiet");
        }
        for (int j = 0; j < sim.settings.nodes; j++) {
            check_session(sim_between(i, j));
        }
    }
}

void sim_add_totals(struct sim_totals *totals)
{
    totals->events += sim.over.events;
    totals->failed += sim.over.failed;
    totals->reopened += sim.over.reopened;
    totals->stale += sim.stale;
    totals->ended += sim.over.ended;
    totals->alone += sim.over.alone;
    for (int i = 0; i < sim.settings.nodes; i++) {
        const struct usnic_counts *counts = &sim.nodes[i].engine.counts;
        totals->packets += counts->packets_sent;
        totals->resends += counts->resends;
        totals->probes += counts->probes;
        totals->spurious += counts->spurious;
        totals->duplicates += counts->duplicates;
        totals->lost += counts->lost;
        totals->early += counts->early;
        totals->messages += counts->messages_received;
    }
}

void sim_end(void)
{
    struct sim_event event;

    for (int i = 0; i < sim.settings.nodes; i++) {
        for (int j = 0; j < sim.settings.nodes; j++) {
            sim_session_close(sim_between(i, j));
        }
    }
    while (sim_next(&sim.queue, &event)) {
        if (event.kind == SENT_EVENT) {
            let_go(event.what);
        } else if (event.kind == PACKET_EVENT || event.kind == OPEN_EVENT) {
            free(event.what);
        }
    }
    for (int i = 0; i < sim.settings.nodes; i++) {
        const struct sim_node *node = &sim.nodes[i];
        if (!sim.broken && (node->engine.unused_count != sim.settings.segments ||
                            node->unused_count != sim.settings.buffers)) {
            sim_break("memory is not back when all is closed");
        }
        usnic_engine_fini(&sim.nodes[i].engine);
    }
    sim_wire_fini(&sim.wire);
}
