#include <limits.h>
#include <rml/message/rml_wire.h>
#include <string.h>
#include <tests/lib/unit.h>

static const struct rml_header sample = {
    .stamp = {.kind = RML_DATA,
              .class = OOB_APP,
              .ask = true,
              .stream = 0x0304,
              .ack_stream = 0x0506,
              .length = 5,
              .window = 0x00500000,
              .epoch = UINT64_C(0x1122334455667788),
              .dest_epoch = UINT64_C(0x2233445566778899),
              .sequence = UINT64_C(0x99aabbccddeeff01),
              .ack = UINT64_C(0x0102030405060708)},
    .role = OOB_KEY_PEERCRED,
    .format = RML_BUFFER_FULLY_DESC,
    .hops = 0x0102,
    .tag = 0x11223344,
    .total = 0x00040005,
    .offset = 0x00040000,
    .origin = {0x0a0b0001, 7},
    .dest = {0x0a0b0000, 3},
};

static const uint8_t golden[RML_WIRE_SIZE + 5] = {
    0x02, 0x01, 0x06, 0x03, 0x02, 0x00, 0x02, 0x01, /* version class flags role format kind hops */
    0x44, 0x33, 0x22, 0x11, 0x05, 0x00, 0x00, 0x00, /* tag, length */
    0x05, 0x00, 0x04, 0x00, 0x00, 0x00, 0x04, 0x00, /* total, offset */
    0x01, 0x00, 0x0b, 0x0a, 0x07, 0x00, 0x00, 0x00, /* origin */
    0x00, 0x00, 0x0b, 0x0a, 0x03, 0x00, 0x00, 0x00, /* destination */
    0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* epoch */
    0x99, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, /* destination's epoch */
    0x01, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, /* sequence */
    0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, /* acknowledgement */
    0x00, 0x00, 0x50, 0x00, 0x04, 0x03, 0x06, 0x05, /* window, stream, acknowledged stream */
    'h',  'e',  'l',  'l',  'o',
};

START_TEST(golden_bytes)
{
    uint8_t bytes[RML_WIRE_SIZE];
    struct rml_header read;
    rml_header_encode(bytes, &sample);
    ck_assert_mem_eq(bytes, golden, sizeof(bytes));
    ck_assert_int_eq(rml_header_decode(&read, golden, sizeof(golden)), ORTE_SUCCESS);
    const struct rml_stamp *is = &read.stamp, *was = &sample.stamp;
    ck_assert(is->kind == was->kind && is->class == was->class && is->length == was->length);
    ck_assert(is->ask && !is->gap && is->rest == 0 && is->window == was->window);
    ck_assert(is->stream == was->stream && is->ack_stream == was->ack_stream);
    ck_assert(is->epoch == was->epoch && is->dest_epoch == was->dest_epoch);
    ck_assert(is->sequence == was->sequence && is->ack == was->ack);
    ck_assert(read.role == sample.role && read.format == sample.format);
    ck_assert(read.hops == sample.hops && read.tag == sample.tag);
    ck_assert(read.origin.jobid == sample.origin.jobid && read.origin.vpid == sample.origin.vpid);
    ck_assert(read.dest.jobid == sample.dest.jobid && read.dest.vpid == sample.dest.vpid);
}
END_TEST

static const uint8_t golden_ack[RML_WIRE_SIZE] = {
    0x02, 0x02, 0x08, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x0b, 0x0a, 0x07, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x0b, 0x0a, 0x03, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
};

START_TEST(an_acknowledgement)
{
    const struct rml_header ack = {
        .stamp = {.kind = RML_ACK,
                  .class = OOB_STDIO,
                  .gap = true,
                  .epoch = 5,
                  .dest_epoch = 6,
                  .ack = 0x10000,
                  .window = 4u << 20},
        .origin = {0x0a0b0001, 7},
        .dest = {0x0a0b0000, 3},
    };
    uint8_t bytes[RML_WIRE_SIZE + 1] = {0};
    struct rml_header read;
    rml_header_encode(bytes, &ack);
    ck_assert_mem_eq(bytes, golden_ack, sizeof(golden_ack));
    ck_assert_int_eq(rml_header_decode(&read, bytes, RML_WIRE_SIZE), ORTE_SUCCESS);
    ck_assert(read.stamp.gap && read.stamp.kind == RML_ACK);
    ck_assert_int_eq(rml_header_carrier(&read), OOB_CONTROL);
    ck_assert_int_eq(rml_header_decode(&read, bytes, RML_WIRE_SIZE + 1), ORTE_ERR_BAD_PARAM);
    static const size_t zeros[] = {4, 8, 12, 16, 20}; /* format, tag, length, total, offset */
    for (size_t i = 0; i < sizeof(zeros) / sizeof(*zeros); i++) {
        bytes[zeros[i]] = 1;
        ck_assert_int_eq(rml_header_decode(&read, bytes, RML_WIRE_SIZE), ORTE_ERR_BAD_PARAM);
        bytes[zeros[i]] = 0;
    }
    bytes[40] = 0; /* the origin's epoch */
    ck_assert_int_eq(rml_header_decode(&read, bytes, RML_WIRE_SIZE), ORTE_ERR_BAD_PARAM);
}
END_TEST

/* What is not data, as docs/wire.md draws it: names and epochs are the sample's. */
static void check_word(const struct rml_stamp *word, enum oob_class carrier, const uint8_t *start,
                       const uint8_t *end)
{
    struct rml_header header = {.stamp = *word, .origin = sample.origin, .dest = sample.dest}, read;
    uint8_t bytes[RML_WIRE_SIZE], zeros[16] = {0};
    header.stamp.epoch = sample.stamp.epoch;
    rml_header_encode(bytes, &header);
    ck_assert_mem_eq(bytes, start, 8);
    ck_assert_mem_eq(bytes + 8, zeros, 16);
    ck_assert_mem_eq(bytes + 24, golden + 24, 24);
    ck_assert_mem_eq(bytes + 48, end, 32);
    ck_assert_int_eq(rml_header_decode(&read, bytes, RML_WIRE_SIZE), ORTE_SUCCESS);
    ck_assert_int_eq(rml_header_carrier(&read), carrier);
    ck_assert(read.stamp.kind == word->kind && read.stamp.sequence == word->sequence);
}

START_TEST(questions_bad_news_and_credit)
{
    static const uint8_t probe[8] = {2, 1, 0, 0, 0, 2, 0, 0};
    static const uint8_t probe_end[32] = {0, 0, 0, 0, 0, 0, 0, 0, 0x05, 0, 0, 0, 0, 0, 0, 0x01,
                                          0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 7, 0, 0, 0};
    check_word(&(struct rml_stamp){.kind = RML_PROBE,
                                   .class = OOB_APP,
                                   .sequence = UINT64_C(0x0100000000000005),
                                   .stream = 7},
               OOB_APP, probe, probe_end);
    static const uint8_t news[8] = {2, 2, 0, 0, 0, 3, 0, 0};
    static const uint8_t news_end[32] = {9, 0, 0, 0, 0, 0, 0, 0, 3,  0, 0, 0, 0, 0, 11, 10,
                                         0, 0, 0, 0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0, 4,  0};
    check_word(&(struct rml_stamp){.kind = RML_UNREACH,
                                   .class = OOB_STDIO,
                                   .dest_epoch = 9,
                                   .sequence = UINT64_C(0x0a0b000000000003),
                                   .window = 12,
                                   .ack_stream = 4},
               OOB_STDIO, news, news_end);
    static const uint8_t credit[8] = {2, 1, 0, 0, 0, 4, 0, 0};
    static const uint8_t credit_end[32] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20};
    check_word(&(struct rml_stamp){.kind = RML_CREDIT, .class = OOB_APP, .sequence = 2u << 20},
               OOB_CONTROL, credit, credit_end);
}
END_TEST

static int decode_changed(size_t at, uint8_t value)
{
    uint8_t bytes[sizeof(golden)];
    struct rml_header read;
    memcpy(bytes, golden, sizeof(bytes));
    bytes[at] = value;
    return rml_header_decode(&read, bytes, sizeof(bytes));
}

START_TEST(hostile_fields)
{
    static const struct {
        size_t at;
        uint8_t value;
    } bad[] = {
        {0, 1},           {0, 3}, /* version */
        {1, OOB_CLASSES}, {1, 0xff},        {2, 4},         {2, 5},
        {2, 7},           {2, 0x86}, /* first and last must be true; others unused */
        {3, OOB_KEYS},    {4, RML_FORMATS}, {5, RML_KINDS}, {5, 1},
        {12, 4},          {12, 6},          {15, 0x80}, /* length is not the payload's */
        {16, 4},                                        /* beyond the total */
        {19, 0x80},                                     /* above INT_MAX */
        {20, 1},          {23, 0xff},                   /* offset */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        ck_assert_msg(decode_changed(bad[i].at, bad[i].value) == ORTE_ERR_BAD_PARAM,
                      "byte %zu as %u is taken", bad[i].at, bad[i].value);
    }
    ck_assert_int_eq(decode_changed(6, 0xff), ORTE_SUCCESS); /* hops: not the decoder's matter */
}
END_TEST

START_TEST(sizes_that_do_not_fit)
{
    struct rml_header read = {.tag = 77};
    for (size_t size = 0; size < sizeof(golden); size++) {
        ck_assert_int_eq(rml_header_decode(&read, golden, size), ORTE_ERR_BAD_PARAM);
    }
    uint8_t longer[sizeof(golden) + 1] = {0};
    memcpy(longer, golden, sizeof(golden));
    ck_assert_int_eq(rml_header_decode(&read, longer, sizeof(longer)), ORTE_ERR_BAD_PARAM);
    ck_assert_uint_eq(read.tag, 77); /* untouched */
}
END_TEST

static int decode_header(const struct rml_header *header)
{
    static uint8_t frame[RML_WIRE_SIZE + RML_FRAME_MAX + 1];
    struct rml_header read;
    rml_header_encode(frame, header);
    return rml_header_decode(&read, frame, RML_WIRE_SIZE + header->stamp.length);
}

START_TEST(extents)
{
    struct rml_header header = sample;
    header.offset = header.stamp.length = header.total = 0;
    ck_assert_int_eq(decode_header(&header), ORTE_SUCCESS); /* an empty message */
    header.total = 10;
    ck_assert_int_eq(decode_header(&header),
                     ORTE_ERR_BAD_PARAM); /* an empty frame of one that is not */
    header.offset = 10;
    ck_assert_int_eq(decode_header(&header), ORTE_ERR_BAD_PARAM);
    header.offset = 0;
    header.stamp.length = header.total = RML_FRAME_MAX;
    ck_assert_int_eq(decode_header(&header), ORTE_SUCCESS);
    header.stamp.length = header.total = RML_FRAME_MAX + 1;
    ck_assert_int_eq(decode_header(&header), ORTE_ERR_BAD_PARAM);
    header.stamp.length = 1;
    header.total = INT_MAX;
    header.offset = INT_MAX - 1;
    ck_assert_int_eq(decode_header(&header), ORTE_SUCCESS);
    header.offset = UINT32_MAX; /* offset + length wraps to 0 */
    ck_assert_int_eq(decode_header(&header), ORTE_ERR_BAD_PARAM);
}
END_TEST

START_TEST(names_of_nobody)
{
    struct rml_header header = sample;
    header.tag = 0;
    ck_assert_int_eq(decode_header(&header), ORTE_ERR_BAD_PARAM);
    header = sample;
    header.origin.jobid = ORTE_JOBID_WILDCARD;
    ck_assert_int_eq(decode_header(&header), ORTE_ERR_BAD_PARAM);
    header = sample;
    header.origin.vpid = ORTE_VPID_INVALID;
    ck_assert_int_eq(decode_header(&header), ORTE_ERR_BAD_PARAM);
    header = sample;
    header.dest.vpid = ORTE_VPID_WILDCARD;
    ck_assert_int_eq(decode_header(&header), ORTE_ERR_BAD_PARAM);
    header = sample;
    header.dest.jobid = ORTE_JOBID_INVALID;
    ck_assert_int_eq(decode_header(&header), ORTE_ERR_BAD_PARAM);
}
END_TEST

UNIT_MAIN("rml/wire")
