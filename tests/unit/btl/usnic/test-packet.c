/* The packets of usnic: golden bytes, and what is refused. */
#include <btl/usnic/engine/pack.h>
#include <btl/usnic/wire/packet.h>
#include <string.h>
#include <tests/lib/unit.h>

/* A packet with one whole message of three bytes and one range; docs/wire.md has it. */
static const uint8_t golden[] = {
    0x11, 1,    0x40, 0x03, 0x78, 0x56, 0x34, 0x12, 8,
    7,    6,    5,    4,    3,    2,    1,    0xff, 0xff,
    0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0x10, 0x32, 0x54,
    0x76, 0x67, 0x45, 0x23, 0x01, 0x20, 0,    0,    0,
    8,    0,    1,    9,    0xd4, 0x19, 0xb3, 0x28, /* records */
    3,    0,    0x71, 9,    'a',  'b',  'c',  0,    /* range */ 3,
    0,    5,    0,
};
static const struct usnic_header header = {.kind = USNIC_PACKET,
                                           .ranges = 1,
                                           .credit = 0x340,
                                           .index = 0x12345678,
                                           .token = 0x0102030405060708,
                                           .sequence = 0xffffffff,
                                           .ack = 0xfffffffe,
                                           .stamp = 0x76543210,
                                           .echo = 0x01234567,
                                           .delay = 32,
                                           .length = 8,
                                           .waited = 9};

static size_t make(uint8_t out[128])
{
    char text[] = "abc";
    struct mca_btl_base_segment_t segment = {{.pval = text}, 3};
    struct usnic_message message = {
        .segments = &segment, .count = 1, .total = 3, .channel = 7, .tag = 9};
    struct usnic_range range = {1, 6};

    usnic_header_encode(out, &header);
    size_t size = USNIC_HEADER_BYTES + usnic_pack_whole(out + USNIC_HEADER_BYTES, &message);
    usnic_ranges_encode(out + size, header.ack, &range, 1);
    size += USNIC_RANGE_BYTES;
    usnic_packet_sum(out, size);
    return size;
}

START_TEST(packets_have_these_bytes)
{
    uint8_t bytes[128];

    ck_assert_uint_eq(make(bytes), sizeof(golden));
    ck_assert_mem_eq(bytes, golden, sizeof(golden));
}
END_TEST

START_TEST(packets_are_read_as_they_were_written)
{
    struct usnic_header back;
    struct usnic_record record;
    const uint8_t *data;
    size_t at = 0;

    ck_assert(usnic_header_decode(&back, golden, sizeof(golden)));
    ck_assert_uint_eq(back.kind, USNIC_PACKET);
    ck_assert_uint_eq(back.index, header.index);
    ck_assert_uint_eq(back.token, header.token);
    ck_assert_uint_eq(back.credit, header.credit);
    ck_assert_uint_eq(back.sequence, header.sequence);
    ck_assert_uint_eq(back.ack, header.ack);
    ck_assert_uint_eq(back.stamp, header.stamp);
    ck_assert_uint_eq(back.echo, header.echo);
    ck_assert_uint_eq(back.delay, header.delay);
    ck_assert_uint_eq(back.length, usnic_header_length(golden));
    ck_assert_uint_eq(back.waited, header.waited);
    ck_assert(usnic_record_decode(&record, golden + USNIC_HEADER_BYTES, back.length, &at, &data));
    ck_assert_uint_eq(at, back.length);
    ck_assert_uint_eq(record.kind, USNIC_WHOLE);
    ck_assert_uint_eq(record.channel, 7);
    ck_assert_uint_eq(record.tag, 9);
    ck_assert_mem_eq(data, "abc", 3);
    struct usnic_range range =
        usnic_range_decode(golden + USNIC_HEADER_BYTES + back.length, back.ack);
    ck_assert_uint_eq(range.first, 1);
    ck_assert_uint_eq(range.end, 6);
}
END_TEST

START_TEST(every_other_size_is_refused)
{
    uint8_t bytes[128];
    struct usnic_header back;

    memcpy(bytes, golden, sizeof(golden));
    for (size_t size = 0; size < sizeof(bytes); size++) {
        ck_assert(usnic_header_decode(&back, bytes, size) == (size == sizeof(golden)));
    }
}
END_TEST

START_TEST(every_bit_is_in_the_sum)
{
    uint8_t bytes[128];
    struct usnic_header back;
    size_t size = make(bytes);

    ck_assert(usnic_packet_is_sound(bytes, size, true));
    for (size_t bit = 0; bit < 8 * size; bit++) {
        bytes[bit / 8] ^= (uint8_t) (1u << bit % 8);
        ck_assert(!usnic_header_decode(&back, bytes, size) ||
                  !usnic_packet_is_sound(bytes, size, true));
        bytes[bit / 8] ^= (uint8_t) (1u << bit % 8);
    }
    usnic_header_encode(bytes, &header);
    ck_assert(usnic_packet_is_sound(bytes, size, false));
    ck_assert(!usnic_packet_is_sound(bytes, size, true));
}
END_TEST

START_TEST(chunks_are_put_together)
{
    uint8_t out[512], bytes[700], back[700];
    struct mca_btl_base_segment_t segments[] = {{{.pval = bytes}, 100},
                                                {{.pval = bytes + 100}, 600}};
    struct usnic_message message = {
        .segments = segments, .count = 2, .total = sizeof(bytes), .channel = 15, .tag = 255};
    struct usnic_assembly assembly = {0};
    const uint8_t *data;

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t) i;
    }
    ck_assert_uint_eq(usnic_pack_chunk(out, 64, &message), 0);
    while (message.position < message.total) {
        struct usnic_record record;
        size_t at = 0, size = usnic_pack_chunk(out, 300, &message);
        ck_assert_uint_gt(size, 0);
        ck_assert(usnic_record_decode(&record, out, size, &at, &data));
        ck_assert(usnic_assembly_follows(&assembly, &record, 700));
        ck_assert(!usnic_assembly_follows(&assembly, &record, 699));
        memcpy(back + record.offset, data, record.size);
        assembly = (struct usnic_assembly){.total = record.total,
                                           .position = record.offset + record.size,
                                           .channel = record.channel,
                                           .tag = record.tag};
        ck_assert(!usnic_assembly_follows(&assembly, &record, 700));
    }
    ck_assert_mem_eq(back, bytes, sizeof(bytes));
}
END_TEST

START_TEST(records_beyond_the_end_are_refused)
{
    uint8_t out[16] = {9, 0, USNIC_WHOLE, 0};
    struct usnic_record record;
    const uint8_t *data;
    size_t at = 0;

    ck_assert(!usnic_record_decode(&record, out, 8, &at, &data));
    ck_assert(usnic_record_decode(&record, out, 16, &at, &data));
    at = 16;
    ck_assert(!usnic_record_decode(&record, out, 16, &at, &data));
    at = 0;
    out[2] = USNIC_CHUNK;
    ck_assert(!usnic_record_decode(&record, out, 16, &at, &data));
    out[2] = 3;
    out[0] = 0;
    ck_assert(!usnic_record_decode(&record, out, 16, &at, &data));
}
END_TEST

UNIT_MAIN("usnic-packet")
