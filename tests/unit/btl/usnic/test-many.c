/* Ten thousand peers of one engine: what each costs whose session was used and is idle. */
#include <btl/usnic/usnic_peer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

enum { PEERS = 10000, SEGMENTS = 512, SEGMENT_BYTES = 1536, ROUNDS = 8, SIZE = 4000 };
enum { IDLE_MOST = 16384 };

struct packet {
    struct usnic_packet packet;
    struct list link;
    uint8_t data[SEGMENT_BYTES];
};

static struct side {
    struct usnic_engine engine;
    usnic_endpoint *peers;
    struct usnic_message messages[PEERS];
    struct list wire; /* packets for this side */
    uint64_t received, packed;
} sides[2];

static uint8_t payload[SIZE];
static const struct mca_btl_base_segment_t segment = {{.pval = payload}, SIZE};
static uint64_t now_us;

static int transmit(void *arg, struct usnic_flow *flow, enum usnic_channel channel,
                    struct usnic_segment *from)
{
    struct side *side = arg, *other = side == sides ? sides + 1 : sides;
    struct packet *packet = malloc(sizeof(*packet));

    (void) flow, (void) channel;
    ck_assert_ptr_nonnull(packet);
    memcpy(packet->data, from->packet, from->size);
    packet->packet.data = packet->data;
    packet->packet.size = from->size;
    list_append(&other->wire, &packet->link);
    usnic_engine_sent(&side->engine, from);
    return OPAL_SUCCESS;
}

static void packed(void *arg, struct usnic_flow *flow, struct usnic_message *message)
{
    (void) flow, (void) message;
    ((struct side *) arg)->packed++;
}

static void deliver(void *arg, struct usnic_flow *flow, uint8_t channel, uint8_t tag, void *data,
                    size_t size)
{
    (void) flow, (void) channel, (void) tag;
    ck_assert_uint_eq(size, SIZE);
    ck_assert_mem_eq(data, payload, SIZE);
    ((struct side *) arg)->received++;
}

static bool lands(void *arg, struct usnic_flow *flow, uint8_t channel, uint8_t tag,
                  const void *data, size_t size, size_t total)
{
    (void) arg, (void) flow, (void) channel, (void) tag, (void) data, (void) size, (void) total;
    return false;
}

static void land(void *arg, struct usnic_flow *flow, const void *data, size_t size, bool last)
{
    (void) arg, (void) flow, (void) data, (void) size, (void) last;
    ck_abort_msg("nothing lands");
}

static void release(void *arg, struct usnic_packet *packet)
{
    (void) arg;
    free(container_of(packet, struct packet, packet));
}

static void failed(void *arg, struct usnic_flow *flow, const char *why)
{
    (void) arg, (void) flow;
    ck_abort_msg("%s", why);
}

static const struct usnic_user user = {transmit, packed, deliver, lands, land, release, failed};

static void begin(struct side *side)
{
    const struct usnic_engine_config config = {.memory = calloc(SEGMENTS, SEGMENT_BYTES),
                                               .segments = SEGMENTS,
                                               .segment_bytes = SEGMENT_BYTES,
                                               .priority_bytes = 768,
                                               .room = 212992,
                                               .small_bytes = 500,
                                               .small_charge = 832,
                                               .full_charge = 2304,
                                               .receive_buffers = 512,
                                               .max_message = 65536,
                                               .ack_delay_us = 50,
                                               .peer_timeout_us = 60000000};
    ck_assert_int_eq(usnic_engine_init(&side->engine, &config, &user, side, 0), OPAL_SUCCESS);
    list_init(&side->wire);
}

static void open_all(struct side *side)
{
    side->peers = calloc(PEERS, sizeof(*side->peers));
    ck_assert_ptr_nonnull(side->peers);
    for (uint32_t i = 0; i < PEERS; i++) {
        const struct usnic_flow_params params = {.index = i, .mtu = 1472};
        usnic_flow_open(&side->engine, &side->peers[i].flow, &params, now_us);
    }
}

static void pass(struct side *side)
{
    for (struct list *link; (link = list_pop(&side->wire));) {
        struct packet *packet = container_of(link, struct packet, link);
        struct usnic_header header;
        ck_assert(usnic_header_decode(&header, packet->data, packet->packet.size));
        if (!usnic_flow_received(&side->engine, &side->peers[header.index].flow, &packet->packet,
                                 now_us)) {
            free(packet);
        }
    }
    usnic_engine_progress(&side->engine, now_us);
}

/* Each peer sends a message to the one of its number. */
static void round_of(struct side *side)
{
    uint64_t before = sides[0].received + sides[1].received, taken = side->packed;

    for (int i = 0; i < PEERS; i++) {
        struct usnic_message *message = &side->messages[i];
        *message = (struct usnic_message){.segments = &segment, .count = 1, .total = SIZE};
        int status = usnic_flow_send(&side->engine, &side->peers[i].flow, message, now_us);
        ck_assert(status == 1 || status == OPAL_SUCCESS);
        taken += status == OPAL_SUCCESS;
        if (i % 16 == 0) {
            pass(&sides[0]);
            pass(&sides[1]);
            now_us += 20;
        }
    }
    for (int i = 0; i < 1000000 && (sides[0].received + sides[1].received < before + PEERS ||
                                    sides[0].engine.flights + sides[1].engine.flights > 0);
         i++) {
        pass(&sides[0]);
        pass(&sides[1]);
        now_us += 20;
    }
    ck_assert_uint_eq(sides[0].received + sides[1].received, before + PEERS);
    ck_assert_uint_eq(side->packed, taken);
}

/* Timers that have nothing more to do run out. */
static void rest(void)
{
    for (uint64_t due = 0; due != UINT64_MAX; now_us = due > now_us ? due : now_us + 1) {
        pass(&sides[0]);
        pass(&sides[1]);
        uint64_t one = usnic_engine_due(&sides[0].engine), two = usnic_engine_due(&sides[1].engine);
        due = one < two ? one : two;
        if (due == UINT64_MAX) {
            break;
        }
    }
}

static size_t cost_of(const struct usnic_flow *flow)
{
    return sizeof(usnic_endpoint) + flow->window.slots * sizeof(*flow->window.ring) +
           (flow->assembly.data ? flow->assembly.total : 0);
}

START_TEST(an_idle_peer_costs_little)
{
    size_t most = 0;

    begin(&sides[0]);
    begin(&sides[1]);
    long before = unit_resident_bytes();
    open_all(&sides[0]);
    open_all(&sides[1]);
    for (int i = 0; i < ROUNDS; i++) {
        round_of(&sides[i % 2]);
    }
    rest();
    long resident = (unit_resident_bytes() - before) / (2 * PEERS);
    for (int i = 0; i < 2 * PEERS; i++) {
        const struct usnic_flow *flow = &sides[i % 2].peers[i / 2].flow;
        ck_assert(usnic_flow_is_flushed(flow));
        most = cost_of(flow) > most ? cost_of(flow) : most;
    }
    printf("# an idle peer: %zu bytes; resident %ld\n", most, resident);
    ck_assert_uint_le(most, IDLE_MOST);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ck_assert_int_le(resident, IDLE_MOST);
#endif
    for (int i = 0; i < 2 * PEERS; i++) {
        usnic_flow_close(&sides[i % 2].engine, &sides[i % 2].peers[i / 2].flow);
    }
    for (int i = 0; i < 2; i++) {
        free(sides[i].peers);
        ck_assert_uint_eq(sides[i].engine.unused_count, SEGMENTS);
        free(sides[i].engine.config.memory);
        usnic_engine_fini(&sides[i].engine);
    }
}
END_TEST

UNIT_MAIN("usnic-many")
