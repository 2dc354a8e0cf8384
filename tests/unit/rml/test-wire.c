#include <limits.h>
#include <rml/rml_wire.h>
#include <string.h>
#include <tests/lib/unit.h>

static const struct rml_header sample = {
    .class = OOB_APP,
    .role = OOB_KEY_PEERCRED,
    .format = RML_BUFFER_FULLY_DESC,
    .hops = 0x0102,
    .tag = 0x11223344,
    .length = 5,
    .total = 0x00040005,
    .offset = 0x00040000,
    .origin = {0x0a0b0001, 7},
    .dest = {0x0a0b0000, 3},
    .epoch = UINT64_C(0x1122334455667788),
    .sequence = UINT64_C(0x99aabbccddeeff01),
};

static const uint8_t golden[RML_WIRE_SIZE + 5] = {
    0x01, 0x01, 0x02, 0x03, 0x02, 0x00, 0x02, 0x01, /* version class flags role format 0 hops */
    0x44, 0x33, 0x22, 0x11, 0x05, 0x00, 0x00, 0x00, /* tag, length */
    0x05, 0x00, 0x04, 0x00, 0x00, 0x00, 0x04, 0x00, /* total, offset */
    0x01, 0x00, 0x0b, 0x0a, 0x07, 0x00, 0x00, 0x00, /* origin */
    0x00, 0x00, 0x0b, 0x0a, 0x03, 0x00, 0x00, 0x00, /* destination */
    0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* epoch */
    0x01, 0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, /* sequence */
    'h',  'e',  'l',  'l',  'o',
};

START_TEST(golden_bytes)
{
    uint8_t bytes[RML_WIRE_SIZE];
    struct rml_header read;
    rml_header_encode(bytes, &sample);
    ck_assert_mem_eq(bytes, golden, sizeof(bytes));
    ck_assert_int_eq(rml_header_decode(&read, golden, sizeof(golden)), ORTE_SUCCESS);
    ck_assert(read.class == sample.class && read.role == sample.role);
    ck_assert(read.format == sample.format && read.hops == sample.hops);
    ck_assert(read.tag == sample.tag && read.length == sample.length);
    ck_assert(read.total == sample.total && read.offset == sample.offset);
    ck_assert(read.origin.jobid == sample.origin.jobid && read.origin.vpid == sample.origin.vpid);
    ck_assert(read.dest.jobid == sample.dest.jobid && read.dest.vpid == sample.dest.vpid);
    ck_assert(read.epoch == sample.epoch && read.sequence == sample.sequence);
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
        {0, 0},           {0, 2}, /* version */
        {1, OOB_CLASSES}, {1, 0xff},        {2, 0}, {2, 1},
        {2, 3},           {2, 0x82}, /* first and last must be true; others unused */
        {3, OOB_KEYS},    {4, RML_FORMATS}, {5, 1}, {12, 4},
        {12, 6},          {15, 0x80}, /* length is not the payload's */
        {16, 4},                      /* beyond the total */
        {19, 0x80},                   /* above INT_MAX */
        {20, 1},          {23, 0xff}, /* offset */
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
    return rml_header_decode(&read, frame, RML_WIRE_SIZE + header->length);
}

START_TEST(extents)
{
    struct rml_header header = sample;
    header.offset = header.length = header.total = 0;
    ck_assert_int_eq(decode_header(&header), ORTE_SUCCESS); /* an empty message */
    header.total = 10;
    ck_assert_int_eq(decode_header(&header),
                     ORTE_ERR_BAD_PARAM); /* an empty frame of one that is not */
    header.offset = 10;
    ck_assert_int_eq(decode_header(&header), ORTE_ERR_BAD_PARAM);
    header.offset = 0;
    header.length = header.total = RML_FRAME_MAX;
    ck_assert_int_eq(decode_header(&header), ORTE_SUCCESS);
    header.length = header.total = RML_FRAME_MAX + 1;
    ck_assert_int_eq(decode_header(&header), ORTE_ERR_BAD_PARAM);
    header.length = 1;
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

UNIT_MAIN("rml/wire", golden_bytes, hostile_fields, sizes_that_do_not_fit, extents, names_of_nobody)
