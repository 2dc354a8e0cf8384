/* The bytes of a tcp link: golden frames and messages, and what must be refused. */
#include <base/data/le.h>
#include <btl/tcp/wire/wire.h>
#include <stdlib.h>
#include <string.h>
#include <tests/lib/unit.h>

static const struct region_handle handle = {
    .index = 0x01020304, .generation = 0x11121315, .base = 0x7f0000001000, .size = 0x2000};

static void check_golden(const struct tcp_frame *frame, const char *hex)
{
    uint8_t bytes[TCP_HEADER_MAX], wanted[TCP_HEADER_MAX];
    struct tcp_frame back;
    size_t size = strlen(hex) / 2;

    ck_assert_int_eq(crypto_from_hex(wanted, size, hex), ORTE_SUCCESS);
    ck_assert_uint_eq(tcp_frame_encode(bytes, frame), size);
    ck_assert_mem_eq(bytes, wanted, size);
    ck_assert_int_eq(tcp_frame_decode(&back, wanted, size), (int) size);
    ck_assert_int_eq(back.type, frame->type);
    ck_assert_uint_eq(back.tag, frame->tag);
    ck_assert_uint_eq(back.sequence, frame->sequence);
    ck_assert_uint_eq(back.id, frame->id);
    ck_assert_uint_eq(back.address, frame->address);
    ck_assert_uint_eq(back.size, frame->size);
    ck_assert_int_eq(back.status, frame->status);
    ck_assert_uint_eq(back.handle.index, frame->handle.index);
    ck_assert_uint_eq(back.handle.generation, frame->handle.generation);
    ck_assert_uint_eq(back.handle.base, frame->handle.base);
    ck_assert_uint_eq(back.handle.size, frame->handle.size);
    for (size_t part = 0; part < size; part++) {
        ck_assert_int_eq(tcp_frame_decode(&back, wanted, part), 0);
    }
}

START_TEST(frames_have_these_bytes)
{
    check_golden(
        &(struct tcp_frame){.type = TCP_FRAME_AM, .tag = 0xab, .sequence = 0x9876, .size = 0x12345},
        "01ab769845230100");
    check_golden(&(struct tcp_frame){.type = TCP_FRAME_AM, .tag = 0, .size = 0},
                 "0100000000000000");
    check_golden(&(struct tcp_frame){.type = TCP_FRAME_PUT,
                                     .id = 0x0102030405060708,
                                     .handle = handle,
                                     .address = 0x7f0000001010,
                                     .size = 16},
                 "0200000038000000080706050403020104030201151312110010000000"
                 "7f0000002000000000000010100000007f0000");
    check_golden(&(struct tcp_frame){.type = TCP_FRAME_GET,
                                     .id = 3,
                                     .handle = handle,
                                     .address = 0x7f0000001010,
                                     .size = 0x100000},
                 "0300000030000000030000000000000004030201151312110010000000"
                 "7f0000002000000000000010100000007f00000000100000000000");
    check_golden(&(struct tcp_frame){.type = TCP_FRAME_DATA, .id = 9, .size = 0x100000},
                 "04000000080010000900000000000000");
    check_golden(&(struct tcp_frame){.type = TCP_FRAME_DONE, .id = 9, .status = OPAL_ERR_PERM},
                 "05000000100000000900000000000000efffffff00000000");
    check_golden(&(struct tcp_frame){.type = TCP_FRAME_BYE}, "0600000000000000");
    check_golden(&(struct tcp_frame){.type = TCP_FRAME_AM, .channel = 7, .tag = 3, .size = 5},
                 "7103000005000000");
}
END_TEST

static void check_refused(const char *hex)
{
    uint8_t bytes[80];
    struct tcp_frame frame;
    size_t size = strlen(hex) / 2;

    memset(bytes, 0, sizeof(bytes));
    ck_assert_int_eq(crypto_from_hex(bytes, size, hex), ORTE_SUCCESS);
    ck_assert_int_eq(tcp_frame_decode(&frame, bytes, sizeof(bytes)), OPAL_ERR_UNPACK_FAILURE);
}

START_TEST(hostile_headers_are_refused)
{
    check_refused("0000000000000000"); /* no type */
    check_refused("0800000000000000");
    check_refused("ff00000000000000");
    check_refused("0101000001004000"); /* an AM of 4 MiB and a byte */
    check_refused("01010000ffffffff");
    check_refused("0201000038000000"); /* a tag where none belongs */
    check_refused("0200000028000000"); /* a PUT without data */
    check_refused("0200000027000000"); /* shorter than its own header */
    check_refused("0200000029001000"); /* 1 MiB and a byte */
    check_refused("02000000ffffffff");
    check_refused("030000002f000000"); /* GETs of a wrong length */
    check_refused("0300000031000000");
    check_refused("0400000008000000"); /* DATA without data */
    check_refused("0400000009001000");
    check_refused("050000000f000000");
    check_refused("0500000011000000");
    check_refused("0600000001000000");
    check_refused("0700000005000000"); /* a type that there is not */
    check_refused("1600000000000000"); /* a BYE on a channel */
    check_refused("0700000001004000");
    check_refused("05000000100000000900000000000000010000000000000"
                  "0"); /* a status above zero */
    check_refused("05000000100000000900000000000000ffffffff01000000");
}
END_TEST

START_TEST(get_sizes_are_bounded)
{
    struct tcp_frame frame = {.type = TCP_FRAME_GET, .size = 1}, out;
    uint8_t bytes[TCP_HEADER_MAX];
    const uint64_t refused[] = {0, TCP_PIECE_MAX + 1, UINT64_C(1) << 32, UINT64_MAX};

    tcp_frame_encode(bytes, &frame);
    ck_assert_int_eq(tcp_frame_decode(&out, bytes, sizeof(bytes)), TCP_HEADER_MAX);
    for (unsigned i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        put_le64(bytes + 48, refused[i]);
        ck_assert_int_eq(tcp_frame_decode(&out, bytes, sizeof(bytes)), OPAL_ERR_UNPACK_FAILURE);
    }
}
END_TEST

START_TEST(unknown_errors_become_error)
{
    struct tcp_frame frame = {.type = TCP_FRAME_DONE, .status = -12345}, out;
    uint8_t bytes[TCP_HEADER_MAX];
    size_t size = tcp_frame_encode(bytes, &frame);

    ck_assert_int_eq(tcp_frame_decode(&out, bytes, size), (int) size);
    ck_assert_int_eq(out.status, OPAL_ERROR);
}
END_TEST

/* Whatever the bytes are, a frame that decodes is within the limits. */
START_TEST(random_bytes_never_exceed_the_limits)
{
    uint8_t bytes[TCP_HEADER_MAX];
    unsigned decoded = 0;

    srand(7);
    for (unsigned i = 0; i < 200000; i++) {
        for (unsigned at = 0; at < sizeof(bytes); at++) {
            bytes[at] = (uint8_t) rand();
        }
        if (i & 1) { /* as near to a frame as chance will not get */
            bytes[0] = bytes[0] % 8;
            bytes[1] = bytes[2] = bytes[3] = 0;
            bytes[6] &= 0x3f;
            bytes[7] = 0;
        }
        size_t available = (size_t) rand() % (sizeof(bytes) + 1);
        struct tcp_frame frame;
        int taken = tcp_frame_decode(&frame, bytes, available);
        ck_assert_int_le(taken, (int) available);
        if (taken > 0) {
            decoded++;
            bool message = frame.type == TCP_FRAME_AM;
            ck_assert_uint_le(frame.size, message ? TCP_AM_MAX : TCP_PIECE_MAX);
        }
    }
    ck_assert_uint_gt(decoded, 100);
}
END_TEST

/* ---- the set-up ---- */

static uint8_t key[KEY_BYTES];
static uint8_t challenge[TCP_CHALLENGE_BYTES], hello[TCP_HELLO_BYTES], welcome[TCP_WELCOME_BYTES];

static void make_messages(void)
{
    struct tcp_hello said = {.from = {0x00010001, 2}, .to = {0x00010001, 3}, .incarnation = 77};
    uint8_t nonce[TCP_NONCE_BYTES];

    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    for (unsigned i = 0; i < sizeof(key); i++) {
        key[i] = (uint8_t) i;
    }
    memset(nonce, 0xc1, sizeof(nonce));
    memset(said.nonce, 0xd2, sizeof(said.nonce));
    tcp_challenge_encode(challenge, nonce);
    tcp_hello_encode(hello, &said, challenge, key);
    tcp_welcome_encode(welcome, &(struct tcp_welcome){TCP_VERDICT_CROSS, 88}, challenge, hello,
                       key);
}

static void check_hex(const uint8_t *bytes, size_t size, const char *wanted)
{
    char text[2 * TCP_HELLO_BYTES + 1];

    crypto_to_hex(text, bytes, size);
    ck_assert_str_eq(text, wanted);
}

START_TEST(messages_have_these_bytes)
{
    make_messages();
    check_hex(challenge, sizeof(challenge), "4b4c746304010000c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1");
    check_hex(hello, sizeof(hello),
              "4b4c7463040200000100010002000000010001000300000"
              "04d00000000000000d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2d2"
              "f4a2a0382babfbd3b0b8a1a664ddf618d69e0d66d8b36fab0a2ac196dae34fd9");
    check_hex(welcome, sizeof(welcome),
              "4b4c7463040301005800000000000000"
              "0a43faf0bea341d47ac9e09e132761cf025e680d59051203a81bcb8fe6e0baef");
}
END_TEST

START_TEST(messages_come_back)
{
    struct tcp_hello heard;
    struct tcp_welcome answer;

    make_messages();
    ck_assert_int_eq(tcp_challenge_check(challenge), OPAL_SUCCESS);
    ck_assert_int_eq(tcp_hello_decode(&heard, hello), OPAL_SUCCESS);
    ck_assert_uint_eq(heard.from.jobid, 0x00010001);
    ck_assert_uint_eq(heard.from.vpid, 2);
    ck_assert_uint_eq(heard.to.vpid, 3);
    ck_assert_uint_eq(heard.incarnation, 77);
    ck_assert_int_eq(tcp_hello_check(hello, challenge, key), OPAL_SUCCESS);
    ck_assert_int_eq(tcp_welcome_decode(&answer, welcome, challenge, hello, key), OPAL_SUCCESS);
    ck_assert_int_eq(answer.verdict, TCP_VERDICT_CROSS);
    ck_assert_uint_eq(answer.incarnation, 88);
}
END_TEST

START_TEST(a_lane_has_lost_nothing)
{
    for (int lane = 0; lane < 256; lane++) {
        struct tcp_hello heard;
        make_messages();
        hello[6] = (uint8_t) lane;
        const bool good = lane <= TCP_LANES || lane == 128;
        ck_assert_int_eq(tcp_hello_decode(&heard, hello) == OPAL_SUCCESS, good);
        ck_assert(tcp_hello_plausible(hello, 7) == good);
        ck_assert(!good || (heard.lost ? lane == 128 && heard.lane == 0 : heard.lane == lane));
    }
}
END_TEST

START_TEST(another_key_proves_nothing)
{
    struct tcp_welcome answer;

    make_messages();
    key[31] ^= 1;
    ck_assert_int_eq(tcp_hello_check(hello, challenge, key), OPAL_ERR_PERM);
    ck_assert_int_eq(tcp_welcome_decode(&answer, welcome, challenge, hello, key), OPAL_ERR_PERM);
}
END_TEST

static bool hello_holds(void)
{
    struct tcp_hello heard;

    return tcp_hello_decode(&heard, hello) == OPAL_SUCCESS &&
           tcp_hello_check(hello, challenge, key) == OPAL_SUCCESS;
}

static bool welcome_holds(void)
{
    struct tcp_welcome answer;

    return tcp_welcome_decode(&answer, welcome, challenge, hello, key) == OPAL_SUCCESS;
}

static void check_flips(uint8_t *bytes, size_t size, bool (*holds)(void))
{
    ck_assert(holds());
    for (size_t bit = 0; bit < size * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t) (1 << bit % 8);
        ck_assert_msg(!holds(), "bit %zu", bit);
        bytes[bit / 8] ^= (uint8_t) (1 << bit % 8);
    }
    ck_assert(holds());
}

START_TEST(any_flipped_bit_is_noticed)
{
    make_messages();
    check_flips(hello, sizeof(hello), hello_holds);
    check_flips(challenge, sizeof(challenge), hello_holds); /* a replayed hello */
    check_flips(welcome, sizeof(welcome), welcome_holds);
    check_flips(hello, sizeof(hello), welcome_holds);
    check_flips(challenge, sizeof(challenge), welcome_holds);
}
END_TEST

START_TEST(strangers_show_at_the_first_byte)
{
    make_messages();
    for (size_t size = 0; size <= sizeof(hello); size++) {
        ck_assert(tcp_hello_plausible(hello, size));
    }
    ck_assert(!tcp_hello_plausible((const uint8_t *) "G", 1));
    ck_assert(!tcp_hello_plausible((const uint8_t *) "KLtd", 4));
    ck_assert(!tcp_hello_plausible(challenge, 8)); /* our own words, reflected */
    ck_assert(!tcp_hello_plausible(welcome, 8));
}
END_TEST

UNIT_MAIN("tcp-wire")
