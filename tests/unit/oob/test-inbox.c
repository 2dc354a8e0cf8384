/* oob/inbox.h: the frame stream, cut anywhere, honest or not. */
#include <base/data/le.h>
#include <oob/inbox.h>
#include <oob/oob.h>
#include <oob/outbox.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <tests/lib/unit.h>

static struct inbox inbox;
static uint8_t stream[1200000];
static size_t stream_size;
static size_t beats; /* that came out of it */

static void begin(void)
{
    stream_size = beats = 0;
    ck_assert_int_eq(inbox_init(&inbox, RECORD_PLAIN, false, NULL), ORTE_SUCCESS);
}

static void put_frame(uint32_t length, uint8_t class, size_t size)
{
    put_le32(stream + stream_size, length);
    stream[stream_size + 4] = class;
    for (size_t i = 0; i < size; i++) {
        stream[stream_size + FRAME_HEAD_SIZE + i] = (uint8_t) (length + i);
    }
    stream_size += FRAME_HEAD_SIZE + size;
}

/* Feeds the stream in pieces of at most step bytes; returns the frames that came out, whose bytes
 * are checked, and what stopped it. */
static size_t run(size_t step, enum inbox_event *last)
{
    size_t frames = 0, fed = 0;
    for (;;) {
        const uint8_t *data;
        size_t size;
        *last = inbox_next(&inbox, &data, &size);
        if (*last == INBOX_FRAME) {
            bool same = true;
            for (size_t i = 0; i < size; i++) {
                same = same && data[i] == (uint8_t) (size + i);
            }
            ck_assert(same);
            frames++;
        } else if (*last == INBOX_PING || *last == INBOX_PONG) {
            beats++;
        } else if (*last != INBOX_MORE || fed == stream_size) {
            return frames;
        } else {
            uint8_t *room;
            size_t piece = inbox_room(&inbox, &room);
            ck_assert_uint_gt(piece, 0);
            piece = piece < step ? piece : step;
            piece = piece < stream_size - fed ? piece : stream_size - fed;
            memcpy(room, stream + fed, piece);
            inbox_filled(&inbox, piece);
            fed += piece;
        }
    }
}

/* A beat follows each. */
static const uint32_t lengths[] = {0, 1,     4, 5, 6, 1000, 0, 65535, 66000, 3, OOB_FRAME_MAX,
                                   2, 200000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void put_all(void)
{
    for (int i = 0; i < LENGTHS; i++) {
        put_frame(lengths[i], (uint8_t) (i % OOB_CLASSES), lengths[i]);
        put_frame(0, i % 2 ? FRAME_PING : FRAME_PONG, 0);
    }
    put_frame(0, FRAME_CLOSE, 0);
}

START_TEST(cut_anywhere)
{
    static const size_t steps[] = {1, 2, 3, 5, 7, 11, 997, 4096, 65536, 65555, 65556, SIZE_MAX};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        enum inbox_event last;
        begin();
        put_all();
        ck_assert_uint_eq(run(steps[i], &last), LENGTHS);
        ck_assert_int_eq(last, INBOX_CLOSE);
        ck_assert_uint_eq(beats, LENGTHS);
        inbox_fini(&inbox);
    }
}
END_TEST

/* The same stream in records of a size, sealed. */
static void seal_stream(size_t record_payload, enum record_cipher cipher)
{
    static uint8_t plain[sizeof stream];
    static uint8_t record[RECORD_SIZE_MAX];
    static const uint8_t key[KEY_BYTES] = {7};
    struct record_key tx;
    inbox_fini(&inbox);
    ck_assert_int_eq(inbox_init(&inbox, cipher, true, key), ORTE_SUCCESS);
    record_key_init(&tx, cipher, true, key);
    size_t plain_size = stream_size;
    memcpy(plain, stream, plain_size);
    stream_size = 0;
    for (size_t at = 0; at < plain_size;) {
        size_t size = plain_size - at < record_payload ? plain_size - at : record_payload;
        memcpy(record + RECORD_HEAD_SIZE, plain + at, size);
        size_t whole = record_seal(&tx, record, size);
        ck_assert_uint_le(stream_size + whole, sizeof stream);
        memcpy(stream + stream_size, record, whole);
        stream_size += whole;
        at += size;
    }
}

START_TEST(sealed_and_cut_anywhere)
{
    static const size_t payloads[] = {61, 1000, 40000, RECORD_PAYLOAD_MAX};
    static const size_t steps[] = {97, 4096, 65555, SIZE_MAX};
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    for (size_t i = 0; i < 16; i++) {
        enum inbox_event last;
        begin();
        put_all();
        seal_stream(payloads[i / 4], RECORD_CHACHA20POLY1305);
        ck_assert_uint_eq(run(steps[i % 4], &last), LENGTHS);
        ck_assert_int_eq(last, INBOX_CLOSE);
        ck_assert_uint_eq(beats, LENGTHS);
        inbox_fini(&inbox);
    }
}
END_TEST

START_TEST(a_damaged_record_stops_the_stream)
{
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    for (int damage = 0; damage < 3; damage++) {
        enum inbox_event last;
        begin();
        for (int i = 0; i < 10; i++) {
            put_frame(100, OOB_APP, 100);
        }
        seal_stream(105, RECORD_CHACHA20POLY1305); /* a frame a record */
        size_t whole = 105 + RECORD_HEAD_SIZE + RECORD_TAG_SIZE;
        if (damage == 0) {
            stream[5 * whole + 50] ^= 1;
        } else if (damage == 1) {
            memcpy(stream + 5 * whole, stream + 4 * whole, whole); /* again */
        } else {
            memmove(stream + 5 * whole, stream + 6 * whole, 4 * whole); /* left out */
        }
        ck_assert_uint_eq(run(SIZE_MAX, &last), 5);
        ck_assert_int_eq(last, INBOX_BAD);
        inbox_fini(&inbox);
    }
}
END_TEST

START_TEST(frames_against_the_rules)
{
    static const struct {
        uint32_t length;
        uint8_t class;
    } bad[] = {
        {OOB_FRAME_MAX + 1, OOB_APP},
        {0x7fffffff, OOB_APP},
        {0xffffffff, OOB_CONTROL},
        {0xfffffffb, OOB_APP},
        {1, OOB_CLASSES},
        {0, 0x80},
        {1, FRAME_CLOSE},
        {1, FRAME_PING},
        {0xffffffff, FRAME_PONG},
        {0, FRAME_PONG - 1},
        {0xffffffff, FRAME_CLOSE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (size_t step = 1; step < 8; step++) {
            enum inbox_event last;
            begin();
            put_frame(3, OOB_APP, 3);
            put_frame(bad[i].length, bad[i].class, 0);
            ck_assert_uint_eq(run(step, &last), 1);
            ck_assert_int_eq(last, INBOX_BAD);
            ck_assert_uint_le(inbox.frame_capacity, 4096);
            inbox_fini(&inbox);
        }
    }
}
END_TEST

START_TEST(memory_grows_with_what_came)
{
    enum inbox_event last;
    begin();
    put_frame(OOB_FRAME_MAX, OOB_APP, OOB_FRAME_MAX);
    size_t whole = stream_size;
    size_t sizes[] = {5, 6, 1000, 5000, 20000, 70000, 140000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        inbox_fini(&inbox);
        ck_assert_int_eq(inbox_init(&inbox, RECORD_PLAIN, false, NULL), ORTE_SUCCESS);
        stream_size = sizes[i];
        ck_assert_uint_eq(run(777, &last), 0);
        ck_assert_int_eq(last, INBOX_MORE);
        ck_assert_uint_le(inbox.frame_capacity, 2 * sizes[i] + 2 * 4096);
    }
    ck_assert_uint_gt(whole, stream_size);
    inbox_fini(&inbox);
}
END_TEST

static void leave(struct oob_tx *tx, int status)
{
    (void) tx;
    (void) status;
}

/* The bytes that docs/wire.md draws: beats, one of a kind, the urgent frame first, then the other,
 * then the end. */
START_TEST(golden_bytes)
{
    static const uint8_t golden[] = "\x00\x00\x00\x00\xfe"
                                    "\x00\x00\x00\x00\xfd"
                                    "\x02\x00\x00\x00\x00"
                                    "go"
                                    "\x05\x00\x00\x00\x01"
                                    "hello"
                                    "\x01\x00\x00\x00\x02"
                                    "!"
                                    "\x00\x00\x00\x00\xff";
    struct outbox outbox;
    struct list completed;
    int fds[2];
    list_init(&completed);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    ck_assert_int_eq(outbox_init(&outbox, RECORD_PLAIN, false, NULL), ORTE_SUCCESS);
    struct oob_tx app = {.class = OOB_APP, .header_size = 3, .header = "hel", .iov_count = 1};
    app.iov[0] = (struct iovec){(char *) "lo", 2};
    struct oob_tx control = {.class = OOB_CONTROL, .header_size = 2, .header = "go"};
    struct oob_tx output = {.class = OOB_STDIO, .header_size = 1, .header = "!"};
    app.done = control.done = output.done = leave;
    ck_assert(outbox_prepare(&app) && outbox_prepare(&control) && outbox_prepare(&output));
    outbox_append(&outbox, &output);
    outbox_append(&outbox, &app);
    outbox_append_close(&outbox);
    outbox_append(&outbox, &control);
    outbox_append_beat(&outbox, OUTBOX_PING);
    outbox_append_beat(&outbox, OUTBOX_PONG);
    outbox_append_beat(&outbox, OUTBOX_PING);
    ck_assert_int_eq(outbox_write(&outbox, fds[0], &completed), 1);
    uint8_t bytes[64];
    ck_assert_int_eq((int) recv(fds[1], bytes, sizeof bytes, 0), (int) sizeof golden - 1);
    ck_assert_mem_eq(bytes, golden, sizeof golden - 1);
    ck_assert(completed.next == &control.link && control.link.next == &app.link);
    outbox_fini(&outbox);
}
END_TEST

/* What was chosen leaves in one record; what comes meanwhile waits for the next choice. */
START_TEST(frames_that_wait_share_a_record)
{
    enum { FRAMES = 50, FRAME_BYTES = FRAME_HEAD_SIZE + 10 };
    static const uint8_t key[KEY_BYTES] = {1};
    static struct oob_tx frames[FRAMES + 1];
    static uint8_t bytes[RECORD_SIZE_MAX];
    struct outbox outbox;
    struct list completed;
    int fds[2];
    list_init(&completed);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
    ck_assert_int_eq(outbox_init(&outbox, RECORD_CHACHA20POLY1305, true, key), ORTE_SUCCESS);
    for (int i = 0; i <= FRAMES; i++) {
        frames[i] = (struct oob_tx){.class = OOB_APP, .header_size = 10, .done = leave};
        ck_assert(outbox_prepare(&frames[i]));
        ck_assert_uint_eq(outbox_frame_size(&frames[i]), FRAME_BYTES);
    }
    for (int i = 0; i < FRAMES; i++) {
        outbox_append(&outbox, &frames[i]);
    }
    ck_assert(outbox_choose(&outbox));
    outbox_append(&outbox, &frames[FRAMES]);
    ck_assert_int_eq(outbox_push(&outbox, fds[0], &completed), 1);
    ck_assert_int_eq((int) recv(fds[1], bytes, sizeof bytes, 0),
                     RECORD_HEAD_SIZE + FRAMES * FRAME_BYTES + RECORD_TAG_SIZE);
    ck_assert(completed.prev == &frames[FRAMES - 1].link);
    ck_assert(outbox_choose(&outbox));
    ck_assert_int_eq(outbox_push(&outbox, fds[0], &completed), 1);
    ck_assert_int_eq((int) recv(fds[1], bytes, sizeof bytes, 0),
                     RECORD_HEAD_SIZE + FRAME_BYTES + RECORD_TAG_SIZE);
    ck_assert(!outbox_choose(&outbox) && outbox_empty(&outbox));
    outbox_fini(&outbox);
}
END_TEST

START_TEST(random_bytes)
{
    ck_assert_int_eq(crypto_open(), ORTE_SUCCESS);
    for (int round = 0; round < 3000; round++) {
        begin();
        crypto_random(stream, 3000);
        stream_size = 3000;
        size_t fed = 0;
        enum inbox_event event = INBOX_MORE;
        while (event == INBOX_MORE && fed < stream_size) {
            uint8_t *room;
            size_t piece = inbox_room(&inbox, &room);
            piece = piece < 100 ? piece : 100;
            memcpy(room, stream + fed, piece);
            inbox_filled(&inbox, piece);
            fed += piece;
            const uint8_t *data;
            size_t size;
            while ((event = inbox_next(&inbox, &data, &size)) == INBOX_FRAME) {
                ck_assert_uint_le(size, OOB_FRAME_MAX);
            }
        }
        inbox_fini(&inbox);
    }
}
END_TEST

UNIT_MAIN("inbox")
