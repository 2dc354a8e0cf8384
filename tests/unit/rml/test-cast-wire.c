#include <rml/broadcast/cast_wire.h>
#include <string.h>
#include <tests/lib/unit.h>

static const struct rml_cast_header down = {
    .kind = RML_CAST_DOWN,
    .format = RML_BUFFER_FULLY_DESC,
    .role = OOB_KEY_PEERCRED,
    .tag = 0x01020304,
    .job = 0x11121314,
    .origin = {0x21222324, 0x31323334},
    .number = UINT64_C(0x4142434445464748),
    .other = UINT64_C(0x5152535455565758),
};

static const uint8_t golden[RML_CAST_SIZE] = {
    0x01, 0x01, 0x02, 0x03, 0x04, 0x03, 0x02, 0x01, 0x14, 0x13, 0x12, 0x11, 0x00, 0x00,
    0x00, 0x00, 0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 0x48, 0x47, 0x46, 0x45,
    0x44, 0x43, 0x42, 0x41, 0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51,
};

START_TEST(golden_bytes)
{
    uint8_t bytes[RML_CAST_SIZE + 3] = {0};
    struct rml_cast_header read;
    rml_cast_encode(bytes, &down);
    ck_assert_mem_eq(bytes, golden, RML_CAST_SIZE);
    ck_assert_int_eq(rml_cast_decode(&read, bytes, sizeof(bytes)), ORTE_SUCCESS);
    ck_assert(read.kind == down.kind && read.format == down.format && read.role == down.role);
    ck_assert(read.tag == down.tag && read.job == down.job);
    ck_assert(read.origin.jobid == down.origin.jobid && read.origin.vpid == down.origin.vpid);
    ck_assert(read.number == down.number && read.other == down.other);
}
END_TEST

static bool accepted(const uint8_t *bytes, size_t size)
{
    struct rml_cast_header read = {.number = 77};
    int status = rml_cast_decode(&read, bytes, size);
    ck_assert(status == ORTE_SUCCESS || read.number == 77);
    return status == ORTE_SUCCESS;
}

START_TEST(nonsense_is_refused)
{
    static const struct {
        size_t at;
        uint8_t value;
    } wrong[] = {{0, 2}, {1, RML_CAST_KINDS}, {2, RML_FORMATS}, {3, OOB_KEYS}, {12, 1}, {15, 1}};
    uint8_t bytes[RML_CAST_SIZE];
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        memcpy(bytes, golden, sizeof(bytes));
        bytes[wrong[i].at] = wrong[i].value;
        ck_assert_msg(!accepted(bytes, sizeof(bytes)), "byte %zu", wrong[i].at);
    }
    for (size_t size = 0; size < RML_CAST_SIZE; size++) {
        ck_assert(!accepted(golden, size));
    }
    struct rml_cast_header header = down;
    header.tag = 0;
    rml_cast_encode(bytes, &header);
    ck_assert(!accepted(bytes, sizeof(bytes)));
    header = (struct rml_cast_header){.kind = RML_CAST_DONE, .number = 5};
    uint8_t longer[RML_CAST_SIZE + 1] = {0};
    rml_cast_encode(longer, &header);
    ck_assert(accepted(longer, RML_CAST_SIZE));
    ck_assert(!accepted(longer, sizeof(longer)));
}
END_TEST

UNIT_MAIN("rml/cast-wire")
