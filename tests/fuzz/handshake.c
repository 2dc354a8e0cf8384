/* The handshake of both ends, with somebody between them who sees and changes everything, and ends
 * that bring what they like: names, epochs, keys, protection. And either end alone, against bytes.
 */
#include <config.h>

#include <oob/handshake.h>
#include <string.h>
#include <tests/fuzz/fuzz.h>

enum { MESSAGES = 4, EDITS_MAX = 4 };

static const uint8_t keys[2][KEY_BYTES] = {{1, 2, 3}, {1, 2, 4}};

/* One change to what is said: a byte of a message, or the message cut short. */
struct edit {
    uint8_t message, at, change;
    bool cut;
};

static struct handshake_random randomness(uint8_t seed)
{
    struct handshake_random random;
    memset(&random, seed, sizeof(random));
    return random;
}

static struct handshake_self feed_self(struct feed *feed, uint32_t vpid)
{
    uint8_t choices = feed_byte(feed), held = feed_byte(feed);
    struct handshake_self self = {.name = {65536, vpid},
                                  .epoch = 7,
                                  .security = choices % OOB_SECURITIES,
                                  .attested = choices & 4,
                                  .aes = choices & 8,
                                  .ping = choices & 32};
    if (choices & 16) {
        self.name.jobid = feed_u32(feed);
        self.name.vpid = feed_u32(feed);
        self.epoch = feed_u64(feed);
    }
    for (unsigned key = 0; key < OOB_KEY_PEERCRED; key++) {
        self.keys[key] = held & 1u << key ? keys[held >> (4 + key) & 1] : NULL;
    }
    return self;
}

/* An end that has failed takes nothing any more, and stays so. */
static void check_failed(struct handshake *handshake)
{
    static const uint8_t more[WIRE_MESSAGE_MAX];
    if (handshake->state == HANDSHAKE_FAILED) {
        fuzz_check(handshake->status < 0 && *handshake->text, "a failure has status and reason");
        fuzz_check(handshake_wants(handshake) == 0, "a failed handshake wants nothing");
        struct handshake later = *handshake;
        handshake_input(&later, more, sizeof(more));
        fuzz_check(later.state == HANDSHAKE_FAILED, "a failed handshake stays failed");
    }
}

static void say(struct handshake *to, const uint8_t *data, size_t size, size_t step)
{
    while (size > 0 && handshake_wants(to) > 0) {
        size_t piece = handshake_wants(to);
        piece = piece < step ? piece : step;
        piece = piece < size ? piece : size;
        fuzz_check(handshake_wants(to) <= WIRE_MESSAGE_MAX, "it never wants more than a message");
        handshake_input(to, data, piece);
        data += piece;
        size -= piece;
    }
    fuzz_check(to->out_size <= WIRE_MESSAGE_MAX, "it never says more than a message");
    check_failed(to);
}

/* Either end against bytes that no key has seen: it never believes them. */
static void alone(struct feed *feed, bool connector, size_t step)
{
    struct handshake_self self = feed_self(feed, 1);
    struct handshake_random random = randomness(1);
    const orte_process_name_t wanted = {65536, 2};
    struct handshake end;
    if (connector) {
        handshake_connect(&end, &self, &random, &wanted, feed_byte(feed) % OOB_KEYS);
    } else {
        handshake_accept(&end, &self, &random);
    }
    check_failed(&end);
    say(&end, feed->at, feed->left, step);
    fuzz_check(end.state != HANDSHAKE_DONE && end.state != HANDSHAKE_PROVED,
               "nothing is proved without a key");
}

/* Returns whether the message was changed. */
static bool apply(const struct edit *edits, unsigned count, unsigned message, uint8_t *data,
                  size_t *size)
{
    uint8_t before[WIRE_MESSAGE_MAX];
    size_t said = *size;
    memcpy(before, data, said);
    for (unsigned i = 0; i < count; i++) {
        if (edits[i].message % MESSAGES == message && *size > 0) {
            size_t at = edits[i].at % *size;
            data[at] ^= edits[i].change;
            *size = edits[i].cut ? at : *size;
        }
    }
    return *size != said || memcmp(before, data, said) != 0;
}

static void check_agreement(const struct handshake *a, const struct handshake *b)
{
    fuzz_check(a->peer.jobid == b->self.name.jobid && a->peer.vpid == b->self.name.vpid &&
                   b->peer.jobid == a->self.name.jobid && b->peer.vpid == a->self.name.vpid,
               "each knows the other's name");
    fuzz_check(a->peer_epoch == b->self.epoch && b->peer_epoch == a->self.epoch,
               "each knows the other's epoch");
    fuzz_check(a->key == b->key && a->cipher == b->cipher && a->self.security == b->self.security,
               "both agree");
    fuzz_check(memcmp(a->tx_key, b->rx_key, KEY_BYTES) == 0 &&
                   memcmp(a->rx_key, b->tx_key, KEY_BYTES) == 0 &&
                   memcmp(a->tx_key, a->rx_key, KEY_BYTES) != 0,
               "keys for each direction");
    fuzz_check(a->key == OOB_KEY_PEERCRED
                   ? a->self.attested && b->self.attested
                   : memcmp(a->self.keys[a->key], b->self.keys[b->key], KEY_BYTES) == 0,
               "both hold the key that was proved");
}

static void both(struct feed *feed, size_t step)
{
    struct handshake_self self_a = feed_self(feed, 1), self_b = feed_self(feed, 2);
    struct handshake_random random_a = randomness(1), random_b = randomness(2);
    uint8_t choices = feed_byte(feed);
    orte_process_name_t wanted = choices & 4 ? (orte_process_name_t){65536, 2} : self_b.name;
    enum wire_reason verdict = choices & 8 ? feed_byte(feed) % WIRE_REASONS : WIRE_WELCOME;
    struct edit edits[EDITS_MAX];
    unsigned count = (choices >> 4) % EDITS_MAX;
    for (unsigned i = 0; i < count; i++) {
        uint8_t which = feed_byte(feed);
        edits[i] = (struct edit){which % MESSAGES, feed_byte(feed), feed_byte(feed), which & 4};
    }
    struct handshake a, b;
    handshake_connect(&a, &self_a, &random_a, &wanted, choices % OOB_KEYS);
    handshake_accept(&b, &self_b, &random_b);
    bool changed = false;
    for (unsigned message = 0; message < MESSAGES; message++) {
        struct handshake *from = message % 2 ? &b : &a, *to = message % 2 ? &a : &b;
        if (from->state == HANDSHAKE_PROVED) {
            fuzz_check(!changed, "what was changed on the way is not proved");
            handshake_verdict(from, verdict, ORTE_ERR_PERM);
        }
        uint8_t data[WIRE_MESSAGE_MAX];
        size_t size = from->out_size;
        memcpy(data, from->out, size);
        from->out_size = 0;
        changed = apply(edits, count, message, data, &size) || changed;
        say(to, data, size, step);
    }
    if (a.state == HANDSHAKE_DONE) {
        fuzz_check(!changed && verdict == WIRE_WELCOME, "only the unchanged welcome is believed");
        fuzz_check(b.state == HANDSHAKE_DONE, "the acceptor welcomed");
        check_agreement(&a, &b);
    }
    fuzz_check(!a.refused_by_peer || !changed, "a changed refusal is nobody's word");
    handshake_wipe(&a);
    handshake_wipe(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct feed feed = {data, size};
    uint8_t mode = feed_byte(&feed);
    size_t step = (size_t) (mode >> 2) + 1;
    if (mode & 1) {
        alone(&feed, mode & 2, step);
    } else {
        both(&feed, step);
    }
    return 0;
}
