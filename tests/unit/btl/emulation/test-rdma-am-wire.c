/* The bytes of the frames of btl/emulation/rdma_am_wire.h. */
#include <btl/emulation/rdma_am_wire.h>
#include <string.h>
#include <tests/lib/unit.h>

/* What the bytes decode to gives the same bytes again. */
static void expect_same(const unsigned char *bytes, size_t size)
{
    unsigned char again[RDMA_AM_ATOMIC_BYTES];
    struct rdma_am_frame decoded;
    ck_assert_int_eq(rdma_am_decode(&decoded, bytes, size), OPAL_SUCCESS);
    ck_assert_uint_eq(rdma_am_frame_bytes(decoded.kind), size);
    rdma_am_encode(again, &decoded);
    ck_assert_mem_eq(again, bytes, size);
}

START_TEST(requests_have_golden_bytes)
{
    const struct rdma_am_frame request = {
        .kind = RDMA_AM_GET,
        .number = 0x090a0b0c,
        .op_index = 0x01020304,
        .op_generation = 0x05060708,
        .offset = 0x1112131415161718,
        .size = 0x2122232425262728,
        .address = 0x3132333435363738,
        .total = 0x4142434445464748,
        .region_index = 0x51525354,
        .region_generation = 0x61626364,
    };
    static const unsigned char golden[RDMA_AM_REQUEST_BYTES] = {
        0x05, 0x03, 0x00, 0x00, 0x0c, 0x0b, 0x0a, 0x09, 0x04, 0x03, 0x02, 0x01, 0x08, 0x07,
        0x06, 0x05, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25,
        0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 0x48, 0x47,
        0x46, 0x45, 0x44, 0x43, 0x42, 0x41, 0x54, 0x53, 0x52, 0x51, 0x64, 0x63, 0x62, 0x61};
    unsigned char bytes[RDMA_AM_REQUEST_BYTES];
    rdma_am_encode(bytes, &request);
    ck_assert_mem_eq(bytes, golden, sizeof(golden));
    expect_same(golden, sizeof(golden));
    struct rdma_am_frame decoded;
    for (size_t size = 0; size < sizeof(golden); size++) {
        ck_assert_int_eq(rdma_am_decode(&decoded, golden, size), OPAL_ERR_BAD_PARAM);
    }
}
END_TEST

START_TEST(atomics_have_golden_bytes)
{
    const struct rdma_am_frame atomic = {
        .kind = RDMA_AM_ATOMIC,
        .size = 8,
        .total = 8,
        .atomic = {0x71727374, 0x8182838485868788, 0x9192939495969798},
    };
    static const unsigned char tail[] = {0x74, 0x73, 0x72, 0x71, 0,    0,    0,    0,
                                         0x88, 0x87, 0x86, 0x85, 0x84, 0x83, 0x82, 0x81,
                                         0x98, 0x97, 0x96, 0x95, 0x94, 0x93, 0x92, 0x91};
    unsigned char bytes[RDMA_AM_ATOMIC_BYTES];
    struct rdma_am_frame decoded;
    rdma_am_encode(bytes, &atomic);
    ck_assert_int_eq(bytes[1], 5);
    ck_assert_mem_eq(bytes + RDMA_AM_REQUEST_BYTES, tail, sizeof(tail));
    expect_same(bytes, sizeof(bytes));
    ck_assert_int_eq(rdma_am_decode(&decoded, bytes, sizeof(bytes) - 1), OPAL_ERR_BAD_PARAM);
    bytes[60] = 1;
    ck_assert_int_eq(rdma_am_decode(&decoded, bytes, sizeof(bytes)), OPAL_ERR_BAD_PARAM);
}
END_TEST

START_TEST(shared_requests_have_golden_bytes)
{
    const struct rdma_am_frame pull = {.kind = RDMA_AM_PULL,
                                       .offset = 0x20,
                                       .size = 0x10,
                                       .total = 0x30,
                                       .there = 0x7172737475767778};
    static const unsigned char tail[] = {0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x71};
    unsigned char bytes[RDMA_AM_SHARED_BYTES];
    struct rdma_am_frame decoded;
    rdma_am_encode(bytes, &pull);
    ck_assert_int_eq(bytes[1], 7);
    ck_assert_mem_eq(bytes + RDMA_AM_REQUEST_BYTES, tail, sizeof(tail));
    expect_same(bytes, sizeof(bytes));
    ck_assert_int_eq(rdma_am_decode(&decoded, bytes, sizeof(bytes) - 1), OPAL_ERR_BAD_PARAM);
    bytes[24]++; /* size */
    ck_assert_int_eq(rdma_am_decode(&decoded, bytes, sizeof(bytes)), OPAL_ERR_BAD_PARAM);
}
END_TEST

START_TEST(replies_that_cannot_be_are_refused)
{
    const struct rdma_am_frame reply = {
        .kind = RDMA_AM_PUT_REPLY, .status = OPAL_ERR_PERM, .op_index = 1, .size = 2};
    static const struct {
        size_t at;
        unsigned char byte;
        const char *what;
    } wrong[] = {
        {0, 0, "version"}, {0, 4, "version"}, {1, 0, "kind"},           {1, 11, "kind"},
        {2, 1, "zero"},    {3, 1, "zero"},    {7, 0, "status above 0"},
    };
    unsigned char bytes[RDMA_AM_REPLY_BYTES];
    struct rdma_am_frame decoded;
    rdma_am_encode(bytes, &reply);
    expect_same(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        unsigned char changed[RDMA_AM_REPLY_BYTES];
        memcpy(changed, bytes, sizeof(changed));
        changed[wrong[i].at] = wrong[i].byte;
        ck_assert_msg(rdma_am_decode(&decoded, changed, sizeof(changed)) == OPAL_ERR_BAD_PARAM,
                      "%s: byte %zu", wrong[i].what, wrong[i].at);
    }
}
END_TEST

UNIT_MAIN("rdma-am-wire")
