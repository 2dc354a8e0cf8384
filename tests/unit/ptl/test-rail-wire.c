/* The headers of ptl/rail/wire.h. */
#include <ptl/rail/wire.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static const uint8_t handle[5] = {0xd1, 0xd2, 0xd3, 0xd4, 0xd5};

/* The header is these bytes, and nothing shorter. */
static void expect(const struct rail_header *header, const uint8_t *golden, size_t size)
{
    uint8_t bytes[RAIL_MOST_BYTES];
    struct rail_header decoded;
    size_t taken = 0;
    ck_assert_uint_eq(rail_encode(bytes, header), size);
    ck_assert_mem_eq(bytes, golden, size);
    for (size_t less = 0; less < size; less++) {
        uint8_t *exact = malloc(less + 1);
        memcpy(exact, golden, less);
        ck_assert_int_eq(rail_decode(&decoded, exact, less, &taken), OPAL_ERR_BAD_PARAM);
        free(exact);
    }
    ck_assert_int_eq(rail_decode(&decoded, golden, size, &taken), OPAL_SUCCESS);
    ck_assert_uint_eq(taken, size);
    memset(bytes, 0, sizeof(bytes));
    ck_assert_uint_eq(rail_encode(bytes, &decoded), size);
    ck_assert_mem_eq(bytes, golden, size);
}

START_TEST(messages_have_golden_bytes)
{
    static const uint8_t golden[] = {
        0x31, 0, 0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 0x44, 0x43, 0x42, 0xc1, 0x52, 0x51, 0, 0,
    };
    const struct rail_header match = {.type = RAIL_MATCH,
                                      .match = {.hdr_contextid = 0x2122,
                                                .hdr_src = 0x31323334,
                                                .hdr_tag = (int32_t) 0xc1424344,
                                                .hdr_msg_seq = 0x5152}};
    expect(&match, golden, sizeof(golden));
    uint8_t bytes[RAIL_MATCH_BYTES];
    rail_encode_match(bytes, &(mca_ptl_base_match_header_t){.hdr_contextid = 0x2122,
                                                            .hdr_src = 0x31323334,
                                                            .hdr_tag = (int32_t) 0xc1424344,
                                                            .hdr_msg_seq = 0x5152});
    ck_assert_mem_eq(bytes, golden, sizeof(bytes));
}
END_TEST

START_TEST(announcements_have_golden_bytes)
{
    static const uint8_t golden[] = {
        0x32, 0x03, 0x22, 0x21, 0x34, 0x33, 0x32, 0x31, 0x44, 0x43, 0x42, 0x41, 0x52, 0x51,
        0,    0,    0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61, 0x78, 0x77, 0x76, 0x75,
        0x74, 0x73, 0x72, 0x71, 0x88, 0x87, 0x86, 0x85, 0x84, 0x83, 0x82, 0x81, 0x05, 0,
        0,    0,    0,    0,    0,    0,    0xd1, 0xd2, 0xd3, 0xd4, 0xd5,
    };
    struct rail_header rndv = {.type = RAIL_RNDV,
                               .flags = RAIL_FLAG_ACK | RAIL_FLAG_FETCH,
                               .match = {.hdr_contextid = 0x2122,
                                         .hdr_src = 0x31323334,
                                         .hdr_tag = 0x41424344,
                                         .hdr_msg_seq = 0x5152},
                               .bytes = 0x6162636465666768,
                               .own_id = 0x7172737475767778,
                               .address = 0x8182838485868788,
                               .handle_size = sizeof(handle),
                               .handle = handle};
    expect(&rndv, golden, sizeof(golden));
    uint8_t less[RAIL_LONG_BYTES];
    memcpy(less, golden, sizeof(less));
    less[1] = rndv.flags = RAIL_FLAG_ACK | RAIL_FLAG_CONTIGUOUS;
    expect(&rndv, less, sizeof(less));
}
END_TEST

START_TEST(memory_has_golden_bytes)
{
    uint8_t golden[] = {
        0x38, 0x02, 0,    0,    0,    0,    0,    0,    0x28, 0x27, 0x26, 0x25, 0x24, 0x23,
        0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 0x48, 0x47, 0x46, 0x45,
        0x44, 0x43, 0x42, 0x41, 0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51, 0x05, 0,
        0,    0,    0,    0,    0,    0,    0xd1, 0xd2, 0xd3, 0xd4, 0xd5,
    };
    const struct rail_header answer = {.type = RAIL_MEMORY,
                                       .flags = RAIL_FLAG_FETCH,
                                       .id = 0x2122232425262728,
                                       .bytes = 0x3132333435363738,
                                       .own_id = 0x4142434445464748,
                                       .address = 0x5152535455565758,
                                       .handle_size = sizeof(handle),
                                       .handle = handle};
    expect(&answer, golden, sizeof(golden));
}
END_TEST

START_TEST(pulls_have_golden_bytes)
{
    uint8_t golden[] = {
        0x39, 0x24, 0,    0,    0,    0,    0,    0,    0x28, 0x27, 0x26, 0x25, 0x24,
        0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31, 0x48, 0x47,
        0x46, 0x45, 0x44, 0x43, 0x42, 0x41, 0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62,
        0x61, 0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51, 0x05, 0,    0,    0,
        0,    0,    0,    0,    0xd1, 0xd2, 0xd3, 0xd4, 0xd5,
    };
    struct rail_header pull = {.type = RAIL_PULL,
                               .flags = RAIL_FLAG_PUT | RAIL_FLAG_PIECE,
                               .id = 0x2122232425262728,
                               .bytes = 0x3132333435363738,
                               .own_id = 0x4142434445464748,
                               .offset = 0x6162636465666768,
                               .address = 0x5152535455565758,
                               .handle_size = sizeof(handle),
                               .handle = handle};
    expect(&pull, golden, sizeof(golden));
    golden[1] = pull.flags = 0;
    expect(&pull, golden, RAIL_PULL_BYTES);
}
END_TEST

START_TEST(headers_without_memory_have_golden_bytes)
{
    uint8_t golden[] = {
        0,    0,    0,    0,    0,    0,    0,    0,    0x28, 0x27, 0x26,
        0x25, 0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33,
        0x32, 0x31, 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
    };
    static const uint8_t types[] = {RAIL_WANT,   RAIL_MEMORY, RAIL_FRAG,
                                    RAIL_LANDED, RAIL_ACK,    RAIL_NACK};
    for (size_t i = 0; i < sizeof(types); i++) {
        const bool is_piece = types[i] == RAIL_FRAG || types[i] == RAIL_LANDED;
        const struct rail_header header = {.type = types[i],
                                           .id = 0x2122232425262728,
                                           .bytes = 0x3132333435363738,
                                           .own_id = is_piece ? 0 : 0x4142434445464748,
                                           .offset = is_piece ? 0x4142434445464748 : 0};
        golden[0] = (uint8_t) (0x30 | types[i]);
        expect(&header, golden, i < 4 ? RAIL_LONG_BYTES : RAIL_MATCH_BYTES);
    }
}
END_TEST

/* One byte of a header is another one. */
static void refuses(const uint8_t *golden, size_t size, size_t place, uint8_t value)
{
    uint8_t bytes[RAIL_MOST_BYTES];
    struct rail_header untouched = {.type = 99}, decoded = untouched;
    size_t taken = 99;
    memcpy(bytes, golden, size);
    bytes[place] = value;
    ck_assert_int_eq(rail_decode(&decoded, bytes, size, &taken), OPAL_ERR_BAD_PARAM);
    ck_assert_mem_eq(&decoded, &untouched, sizeof(decoded));
    ck_assert_uint_eq(taken, 99);
}

START_TEST(nonsense_is_refused)
{
    uint8_t bytes[RAIL_MOST_BYTES];
    struct rail_header header = {.type = RAIL_MATCH, .match.hdr_tag = INT32_MIN};
    size_t taken, size = rail_encode(bytes, &header);
    ck_assert_int_eq(rail_decode(&header, bytes, size, &taken), OPAL_ERR_BAD_PARAM);
    header = (struct rail_header){.type = RAIL_MATCH, .match.hdr_tag = -1};
    size = rail_encode(bytes, &header);
    refuses(bytes, size, 0, 0x30);
    refuses(bytes, size, 0, 0x30 | (RAIL_PULL + 1));
    refuses(bytes, size, 0, 0x20 | RAIL_MATCH); /* of other versions */
    refuses(bytes, size, 0, 0x40 | RAIL_MATCH);
    refuses(bytes, size, 1, RAIL_FLAG_ACK);
    refuses(bytes, size, 7, 0x80); /* no rank */
    refuses(bytes, size, 14, 1);
    header = (struct rail_header){.type = RAIL_RNDV,
                                  .flags = RAIL_FLAG_ACK | RAIL_FLAG_FETCH,
                                  .address = UINT64_MAX - 9,
                                  .bytes = 9,
                                  .handle_size = sizeof(handle),
                                  .handle = handle};
    size = rail_encode(bytes, &header);
    ck_assert_int_eq(rail_decode(&header, bytes, size, &taken), OPAL_SUCCESS);
    refuses(bytes, size, 1, RAIL_FLAG_FETCH); /* it is not to be acknowledged */
    refuses(bytes, size, 1, 8);
    refuses(bytes, size, 16, 10); /* memory that wraps */
    refuses(bytes, size, 40, sizeof(handle) + 1);
    refuses(bytes, size, 41, 2);
    refuses(bytes, size, 47, 1);
    header.type = RAIL_PULL;
    header.flags = RAIL_FLAG_PUT;
    header.address -= 5;
    header.offset = 5;
    size = rail_encode(bytes, &header);
    ck_assert_int_eq(rail_decode(&header, bytes, size, &taken), OPAL_SUCCESS);
    refuses(bytes, size, 1, RAIL_FLAG_FETCH);
    refuses(bytes, size, 16, 10); /* memory that wraps */
    refuses(bytes, size, 32, 6);
    refuses(bytes, size, 39, 0xff); /* bytes from there on that do */
    header = (struct rail_header){.type = RAIL_ACK};
    size = rail_encode(bytes, &header);
    refuses(bytes, size, 1, RAIL_FLAG_PUT);
    refuses(bytes, size, 7, 1);
}
END_TEST

/* What stands behind a number, if these bytes make sense. */
static bool is_numbered(const void *bytes, size_t size, struct rail_part *part)
{
    uint8_t *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, bytes, size);
    bool good = rail_decode_number(part, exact, size);
    free(exact);
    return good;
}

START_TEST(numbers_have_golden_bytes)
{
    static const uint8_t golden[] = {0x3a, 0,    0,    0,    0x24, 0x23, 0x22, 0x21,
                                     0x34, 0x33, 0x32, 0x31, 0x11, 0x22, 0x33};
    uint8_t bytes[RAIL_NUMBER_BYTES];
    struct rail_part part;
    rail_encode_number(bytes, 0x21222324);
    rail_set_came(bytes, 0x31323334);
    ck_assert_mem_eq(bytes, golden, sizeof(bytes));
    for (size_t less = 0; less < RAIL_NUMBER_BYTES; less++) {
        ck_assert(!is_numbered(golden, less, &part));
    }
    ck_assert(is_numbered(golden, sizeof(golden), &part));
    ck_assert_int_eq(part.kind, RAIL_PART_WHOLE);
    ck_assert_uint_eq(part.number, 0x21222324);
    ck_assert_uint_eq(part.came, 0x31323334);
    ck_assert_uint_eq(part.size, 3);
    ck_assert(is_numbered(golden, RAIL_NUMBER_BYTES, &part)); /* of a frame that was emptied */
    ck_assert_uint_eq(part.size, 0);
}
END_TEST

START_TEST(words_about_frames_have_golden_bytes)
{
    static const uint8_t came[] = {0x3b, 0, 0, 0, 0, 0, 0, 0, 0x34, 0x33, 0x32, 0x31, 0};
    static const uint8_t lost[] = {0x3c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    uint8_t bytes[RAIL_NUMBER_BYTES];
    struct rail_part part;
    rail_encode_came(bytes, 0x31323334);
    ck_assert_mem_eq(bytes, came, sizeof(bytes));
    ck_assert(is_numbered(came, RAIL_NUMBER_BYTES, &part));
    ck_assert_int_eq(part.kind, RAIL_PART_NONE);
    ck_assert_uint_eq(part.came, 0x31323334);
    ck_assert(!is_numbered(came, sizeof(came), &part)); /* one byte too many */
    rail_encode_lost(bytes);
    ck_assert_mem_eq(bytes, lost, sizeof(bytes));
    ck_assert(is_numbered(lost, sizeof(lost), &part));
    ck_assert_int_eq(part.kind, RAIL_PART_LOST);
}
END_TEST

START_TEST(parts_have_golden_bytes)
{
    static const uint8_t golden[] = {0x3a, 0x08, 0, 0, 0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32,
                                     0x31, 0x02, 0, 0, 0,    0x05, 0,    0,    0,    0xaa, 0xbb};
    uint8_t numbered[RAIL_NUMBER_BYTES], bytes[sizeof(golden)];
    struct rail_part part;
    rail_encode_number(numbered, 0x21222324);
    rail_set_came(numbered, 0x31323334);
    rail_encode_part(bytes, numbered, 2, 5);
    ck_assert_mem_eq(bytes, golden, RAIL_PART_BYTES);
    ck_assert(is_numbered(golden, sizeof(golden), &part));
    ck_assert_int_eq(part.kind, RAIL_PART_SOME);
    ck_assert_uint_eq(part.offset, 2);
    ck_assert_uint_eq(part.whole, 5);
    ck_assert_uint_eq(part.size, 2);
    for (size_t less = 0; less <= RAIL_PART_BYTES; less++) {
        ck_assert(!is_numbered(golden, less, &part));
    }
    memcpy(bytes, golden, sizeof(golden));
    bytes[12] = 4; /* two bytes from the fourth of five on */
    ck_assert(!is_numbered(bytes, sizeof(bytes), &part));
}
END_TEST

START_TEST(numbers_that_make_no_sense_are_refused)
{
    static const struct {
        size_t at;
        uint8_t value;
    } wrong[] = {{0, 0x2a}, {0, 0x39}, {0, 0x3d}, {1, 1}, {1, 0x09}, {2, 1}, {3, 1}};
    uint8_t bytes[RAIL_NUMBER_BYTES];
    struct rail_part part;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        rail_encode_number(bytes, 7);
        bytes[wrong[i].at] = wrong[i].value;
        ck_assert(!is_numbered(bytes, sizeof(bytes), &part));
    }
}
END_TEST

UNIT_MAIN("rail-wire")
