/* usnic: any bytes as a packet, and packets of a peer that has a valid token and no manners, to an
 * engine with messages under way. */
#include <config.h>

#include <btl/usnic/engine/engine.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

enum { SEGMENTS = 24, SEGMENT_BYTES = 1024, MTU = 512, BUFFERS = 16, MESSAGES = 8, MOST = 3000 };

/* ---- decoder ---- */

static void records(const uint8_t *data, size_t length)
{
    struct usnic_record record;
    const uint8_t *bytes;
    size_t at = 0, before = 0;

    while (at < length && usnic_record_decode(&record, data, length, &at, &bytes)) {
        fuzz_check(at > before && at <= length, "a record ends in its packet");
        fuzz_check(bytes >= data + before && bytes + record.size <= data + at,
                   "its bytes are in it");
        uint8_t again[USNIC_CHUNK_BYTES];
        size_t size = usnic_record_encode(again, &record);
        fuzz_check(data + before + size == bytes && memcmp(again, data + before, size) == 0,
                   "a record is written as it was read");
        before = at;
    }
}

static void decoder(struct feed *feed)
{
    size_t size;
    uint8_t *exact = feed_copy(feed, 2000, &size), again[USNIC_HEADER_BYTES];
    struct usnic_header header;

    if (usnic_header_decode(&header, exact, size)) {
        usnic_header_encode(again, &header);
        fuzz_check(memcmp(again, exact, sizeof(again)) == 0, "a header is written as it was read");
        fuzz_check(usnic_header_length(exact) == header.length, "its length is found alone");
        for (size_t i = 0; i < header.ranges; i++) {
            usnic_range_decode(exact + USNIC_HEADER_BYTES + header.length + 4 * i, header.ack);
        }
        records(exact + USNIC_HEADER_BYTES, header.length);
        usnic_packet_is_sound(exact, size, true);
        usnic_packet_sum(exact, size);
        fuzz_check(usnic_packet_is_sound(exact, size, true), "a packet that was summed is sound");
    }
    free(exact);
}

/* ---- engine ---- */

struct mine {
    struct usnic_message message;
    struct mca_btl_base_segment_t segment;
    bool queued;
};

static struct world {
    struct feed *feed;
    struct usnic_engine engine;
    struct usnic_flow flow;
    bool open, failed;
    struct mine messages[MESSAGES];
    size_t kept;
    uint64_t now, sum;
    uint32_t landed, total;
} world;

static uint8_t memory[SEGMENTS * SEGMENT_BYTES], payload[MOST];

static void close_flow(void);

static void send_one(size_t size)
{
    for (size_t i = 0; i < MESSAGES; i++) {
        struct mine *mine = &world.messages[i];
        if (!world.open || mine->queued) {
            continue;
        }
        mine->segment = (struct mca_btl_base_segment_t){{.pval = payload}, size};
        mine->message = (struct usnic_message){
            .segments = &mine->segment, .count = 1, .total = size, .tag = (uint8_t) size};
        mine->queued = true;
        int status = usnic_flow_send(&world.engine, &world.flow, &mine->message, world.now);
        fuzz_check(status == 1 || status == OPAL_SUCCESS || (world.failed && status < 0),
                   "a message is taken while the flow is open");
        mine->queued = mine->queued && status == OPAL_SUCCESS;
        return;
    }
}

static int transmit(void *arg, struct usnic_flow *flow, enum usnic_channel channel,
                    struct usnic_segment *segment)
{
    struct usnic_header header;
    uint8_t fate = feed_byte(world.feed);

    (void) arg, (void) channel;
    fuzz_check(flow == &world.flow && world.open, "packets are of the open flow");
    fuzz_check(usnic_header_decode(&header, segment->packet, segment->size), "they are good");
    fuzz_check(segment->size <= MTU, "and not too long");
    if (fate % 8 == 7) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    usnic_engine_sent(&world.engine, segment);
    return OPAL_SUCCESS;
}

static void packed(void *arg, struct usnic_flow *flow, struct usnic_message *message)
{
    struct mine *mine = container_of(message, struct mine, message);

    (void) arg, (void) flow;
    fuzz_check(mine->queued && world.open, "a message is packed once, while the flow is open");
    mine->queued = false;
    if (feed_byte(world.feed) == 1) {
        close_flow();
    }
}

static void read_all(const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        world.sum += ((const uint8_t *) data)[i];
    }
}

static void deliver(void *arg, struct usnic_flow *flow, uint8_t channel, uint8_t tag, void *data,
                    size_t size)
{
    (void) arg, (void) flow, (void) channel, (void) tag;
    fuzz_check(size <= MOST && world.open, "a message is not longer than may be");
    read_all(data, size);
    uint8_t next = feed_byte(world.feed);
    if (next == 1) {
        close_flow();
    } else if (next % 4 == 0) {
        send_one((size_t) next * 8);
    }
}

static bool lands(void *arg, struct usnic_flow *flow, uint8_t channel, uint8_t tag,
                  const void *data, size_t size, size_t total)
{
    (void) arg, (void) flow, (void) channel, (void) tag;
    fuzz_check(total <= MOST && size <= total, "a chunk is no longer than its message");
    read_all(data, size);
    world.landed = 0;
    world.total = (uint32_t) total;
    return feed_byte(world.feed) % 2;
}

static void land(void *arg, struct usnic_flow *flow, const void *data, size_t size, bool last)
{
    (void) arg, (void) flow;
    read_all(data, size);
    world.landed += (uint32_t) size;
    fuzz_check(world.landed <= world.total, "a landing has no more bytes than it said");
    fuzz_check(last == (world.landed == world.total), "and ends with the last of them");
}

struct kept {
    struct usnic_packet packet;
    uint8_t *data;
};

static void release(void *arg, struct usnic_packet *packet)
{
    struct kept *kept = container_of(packet, struct kept, packet);

    (void) arg;
    fuzz_check(world.kept > 0, "what is released was kept");
    world.kept--;
    free(kept->data);
    free(kept);
}

static void failed(void *arg, struct usnic_flow *flow, const char *why)
{
    (void) arg, (void) flow;
    fuzz_check(world.open && !world.failed && why, "a flow fails once, with a reason");
    world.failed = true;
    if (feed_byte(world.feed) % 2) {
        close_flow();
    }
}

static void open_flow(void)
{
    struct usnic_flow_params params = {.first_send = UINT32_MAX - 3,
                                       .first_receive = UINT32_MAX - 2,
                                       .mtu = MTU,
                                       .checksum = true};

    world.open = true;
    world.failed = false;
    memset(&world.flow, 0xee, sizeof(world.flow));
    usnic_flow_open(&world.engine, &world.flow, &params, world.now);
}

static void close_flow(void)
{
    if (!world.open) {
        return;
    }
    usnic_flow_close(&world.engine, &world.flow);
    for (struct list *link; (link = list_pop(&world.flow.queue));) {
        struct mine *mine = container_of(link, struct mine, message.link);
        fuzz_check(mine->queued, "what comes back was queued");
        mine->queued = false;
    }
    for (size_t i = 0; i < MESSAGES; i++) {
        world.messages[i].queued = false;
    }
    world.open = false;
    fuzz_check(world.kept <= 1, "all receive buffers are released but one that is being read");
    fuzz_check(world.engine.unused_count == SEGMENTS, "all segments are back");
    memset(&world.flow, 0xee, sizeof(world.flow));
}

static uint32_t near(uint32_t of)
{
    uint8_t by = feed_byte(world.feed);

    return by == 127 ? feed_u32(world.feed) : of + (uint32_t) (int8_t) by;
}

/* Header fields near what makes sense, records and ranges of any bytes. */
static void receive(void)
{
    size_t length, tail;
    uint8_t what = feed_byte(world.feed);
    struct usnic_header header = {.kind = what % 2 ? USNIC_PACKET : USNIC_ACK,
                                  .credit = feed_byte(world.feed),
                                  .sequence = near(usnic_order_expected(&world.flow.order)),
                                  .ack = near(world.flow.window.first),
                                  .stamp = (uint32_t) world.now,
                                  .echo = near((uint32_t) world.flow.clock.last),
                                  .delay = what & 2 ? USNIC_NO_ECHO : feed_byte(world.feed)};
    header.ranges = feed_byte(world.feed) % 8;
    const uint8_t *bytes =
        feed_bytes(world.feed, header.kind == USNIC_PACKET ? feed_byte(world.feed) : 0, &length);
    const uint8_t *ranges = feed_bytes(world.feed, header.ranges * (size_t) 4, &tail);
    struct kept *kept = calloc(1, sizeof(*kept));

    header.length = (uint16_t) length;
    header.ranges = (uint8_t) (tail / 4);
    kept->packet.size = (uint32_t) (USNIC_HEADER_BYTES + length + tail / 4 * 4);
    kept->data = kept->packet.data = malloc(kept->packet.size);
    usnic_header_encode(kept->data, &header);
    memcpy(kept->data + USNIC_HEADER_BYTES, bytes, length);
    memcpy(kept->data + USNIC_HEADER_BYTES + length, ranges, tail / 4 * 4);
    if (usnic_flow_received(&world.engine, &world.flow, &kept->packet, world.now)) {
        world.kept++;
    } else {
        free(kept->data);
        free(kept);
    }
}

static void step(void)
{
    uint8_t what = feed_byte(world.feed);

    if (!world.open) {
        open_flow();
    } else if (what < 128) {
        receive();
    } else if (what < 192) {
        send_one((size_t) feed_byte(world.feed) * 11);
    } else if (what < 254) {
        world.now += what < 224 ? what : what * (uint64_t) 5000;
        usnic_engine_progress(&world.engine, world.now);
    } else {
        close_flow();
    }
    fuzz_check(world.engine.kept <= BUFFERS / 2, "at most half of the receive buffers are kept");
    fuzz_check(world.engine.kept == world.kept, "and these are known");
    fuzz_check(world.open || world.kept == 0, "a flow that is closed keeps none");
    fuzz_check(usnic_engine_due(&world.engine) >= world.engine.now_us || !world.open,
               "what is due lies ahead");
}

static void engine(struct feed *feed)
{
    static const struct usnic_user user = {transmit, packed, deliver, lands, land, release, failed};
    const struct usnic_engine_config config = {.memory = memory,
                                               .segments = SEGMENTS,
                                               .segment_bytes = SEGMENT_BYTES,
                                               .priority_bytes = 300,
                                               .room = 8192,
                                               .small_bytes = 300,
                                               .small_charge = 832,
                                               .full_charge = 1024,
                                               .receive_buffers = BUFFERS,
                                               .max_message = MOST,
                                               .ack_delay_us = 50,
                                               .peer_timeout_us = 60000000};

    memset(&world, 0, sizeof(world));
    world.feed = feed;
    fuzz_check(usnic_engine_init(&world.engine, &config, &user, NULL, 0) == OPAL_SUCCESS,
               "an engine opens");
    while (feed->left > 0) {
        step();
    }
    close_flow();
    usnic_engine_fini(&world.engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    (feed_byte(&feed) % 4 == 0 ? decoder : engine)(&feed);
    return 0;
}
