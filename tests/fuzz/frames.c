/* Records and frames: the inbox. However the bytes are cut into reads, the same frames come out; of
 * sealed records none opens that was not sealed, or is not the next one. */
#include <config.h>

#include <base/data/le.h>
#include <oob/inbox.h>
#include <oob/oob.h>
#include <stdlib.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

static const uint8_t secret[KEY_BYTES] = {9, 8, 7};

struct stream {
    enum record_cipher cipher;
    bool encrypt;
    const uint8_t *data;
    size_t size;
};

/* What came out of a stream: its frames, in one number. */
struct outcome {
    struct crypto_hash hash;
    uint8_t digest[32];
    size_t bytes; /* of the frames, with their heads */
    enum inbox_event end;
};

static void note_frame(struct outcome *outcome, const uint8_t *frame, size_t size)
{
    fuzz_check(size <= OOB_FRAME_MAX, "no frame is longer than it may be");
    uint8_t head[4];
    put_le32(head, (uint32_t) size);
    crypto_hash_update(&outcome->hash, head, sizeof(head));
    crypto_hash_update(&outcome->hash, frame, size); /* reads all of it */
    outcome->bytes += FRAME_HEAD_SIZE + size;
}

/* Until bytes are needed, or it is over. A heartbeat is noted as a frame without bytes. */
static void take_frames(struct inbox *inbox, struct outcome *outcome)
{
    const uint8_t *frame = NULL;
    size_t size = 0;
    while ((outcome->end = inbox_next(inbox, &frame, &size)) == INBOX_FRAME ||
           outcome->end == INBOX_PING || outcome->end == INBOX_PONG) {
        note_frame(outcome, frame, outcome->end == INBOX_FRAME ? size : 0);
    }
}

/* Reads at most step bytes at a time. */
static void receive(const struct stream *stream, size_t step, struct outcome *outcome)
{
    struct inbox inbox;
    *outcome = (struct outcome){.end = INBOX_MORE};
    crypto_hash_begin(&outcome->hash);
    fuzz_check(inbox_init(&inbox, stream->cipher, stream->encrypt, secret) == ORTE_SUCCESS,
               "there is memory");
    for (size_t at = 0; at < stream->size && outcome->end == INBOX_MORE;) {
        uint8_t *room;
        size_t size = inbox_room(&inbox, &room);
        fuzz_check(size > 0, "an inbox that wants more has room");
        size = size < step ? size : step;
        size = size < stream->size - at ? size : stream->size - at;
        memcpy(room, stream->data + at, size);
        inbox_filled(&inbox, size);
        at += size;
        take_frames(&inbox, outcome);
    }
    fuzz_check(inbox.frame_capacity <= FRAME_HEAD_SIZE + OOB_FRAME_MAX &&
                   inbox.frame_capacity <= 2 * (stream->size + 4096),
               "memory follows the bytes that came");
    inbox_fini(&inbox);
    crypto_hash_end(&outcome->hash, outcome->digest);
}

/* Seals the bytes in records of the sizes that they name themselves. *intact is how many bytes come
 * before the first record that is damaged. */
static size_t seal(struct feed *feed, const struct stream *stream, uint8_t *records, size_t *intact)
{
    struct record_key key;
    record_key_init(&key, stream->cipher, stream->encrypt, secret);
    size_t used = 0;
    bool damaged = false;
    *intact = 0;
    while (feed->left > 1) {
        uint8_t choice = feed_byte(feed);
        size_t size;
        const uint8_t *payload = feed_bytes(feed, (size_t) (choice >> 1) + 1, &size);
        uint8_t *record = records + used;
        memcpy(record + RECORD_HEAD_SIZE, payload, size);
        size_t whole = record_seal(&key, record, size);
        if (choice & 1 && feed->left > 1) { /* somebody changes a byte of it */
            uint8_t at = feed_byte(feed), change = feed_byte(feed);
            record[at % whole] ^= change;
            damaged = damaged || change != 0;
        }
        *intact += damaged ? 0 : size;
        used += whole;
    }
    record_key_wipe(&key);
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    uint8_t mode = feed_byte(&feed);
    size_t step = (size_t) feed_byte(&feed) + 1;
    struct stream stream = {mode % RECORD_CIPHERS, mode & 4, feed.at, feed.left};
    if (stream.cipher == RECORD_AES256GCM && !record_can_aes()) {
        return 0;
    }
    uint8_t *records = NULL;
    size_t intact = feed.left;
    bool sealed = stream.cipher != RECORD_PLAIN && !(mode & 8);
    if (sealed) {
        /* at least two bytes of the feed make a record */
        records = malloc((feed.left / 2 + 1) * (RECORD_HEAD_SIZE + RECORD_TAG_SIZE) + feed.left);
        stream.size = seal(&feed, &stream, records, &intact);
        stream.data = records;
    }
    struct outcome once, again;
    receive(&stream, RECORD_SIZE_MAX, &once);
    receive(&stream, step, &again);
    fuzz_check(once.end == again.end && once.bytes == again.bytes &&
                   memcmp(once.digest, again.digest, sizeof(once.digest)) == 0,
               "reads do not matter");
    fuzz_check(once.bytes <= intact, "nothing comes out of a damaged record, or behind it");
    fuzz_check(once.end != INBOX_FRAME && once.end != INBOX_MEMORY, "it ends");
    if (stream.cipher != RECORD_PLAIN && !sealed) {
        fuzz_check(once.bytes == 0 && once.end != INBOX_CLOSE, "what was not sealed does not open");
    }
    free(records);
    return 0;
}
