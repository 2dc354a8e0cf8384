#include <tests/lib/unit.h>

#include <btl/sm/segment/ring.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#define SLOTS 32

struct pair {
    struct sm_slot slots[SLOTS + SM_SLOTS_BEHIND] __attribute__((aligned(64)));
    struct sm_line line __attribute__((aligned(64)));
    struct sm_tx_ring tx;
    struct sm_rx_ring rx;
};

static void pair_init(struct pair *pair)
{
    memset((void *) pair, 0, sizeof(*pair));
    sm_tx_ring_init(&pair->tx, pair->slots, SLOTS, &pair->line);
    sm_rx_ring_init(&pair->rx, pair->slots, SLOTS, &pair->line);
}

static int push(struct pair *pair, uint8_t tag, const void *bytes, size_t size)
{
    int status = sm_tx_ring_room(&pair->tx, size);
    if (status == ORTE_SUCCESS) {
        memcpy(sm_tx_ring_bytes(&pair->tx, size), bytes, size);
        sm_tx_ring_publish(&pair->tx, SM_INLINE, 8, tag, size);
    }
    return status;
}

/* A message of this length, made from its number. */
static void make(uint8_t *bytes, size_t size, unsigned number)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t) (number * 7 + i);
    }
}

static bool is_made(const uint8_t *bytes, size_t size, unsigned number)
{
    uint8_t wanted[SM_INLINE_MAX];
    make(wanted, size, number);
    return memcmp(bytes, wanted, size) == 0;
}

START_TEST(every_inline_length_arrives)
{
    struct pair pair;
    pair_init(&pair);
    for (size_t size = 0; size <= SM_INLINE_MAX; size++) {
        uint8_t bytes[SM_INLINE_MAX];
        struct sm_message message;
        make(bytes, size, (unsigned) size);
        ck_assert(!sm_rx_ring_ready(&pair.rx));
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 0);
        ck_assert_int_eq(push(&pair, (uint8_t) size, bytes, size), ORTE_SUCCESS);
        ck_assert(sm_rx_ring_ready(&pair.rx));
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
        ck_assert_uint_eq(message.length, size);
        ck_assert_uint_eq(message.tag, (uint8_t) size);
        ck_assert(!message.fragment && message.channel == 8);
        ck_assert(is_made(message.bytes, size, (unsigned) size));
        sm_rx_ring_pass(&pair.rx, &message);
        sm_rx_ring_publish(&pair.rx);
    }
}
END_TEST

START_TEST(a_slot_stored_again_is_no_message)
{
    struct pair pair;
    pair_init(&pair);
    for (unsigned i = 0; i < 200; i++) {
        uint8_t bytes[SM_INLINE_MAX];
        struct sm_message message;
        size_t size = i * 11 % 150;
        bool fragment = i % 5 == 0;
        uint64_t position = pair.tx.tail, at;
        make(bytes, size, i);
        int status = fragment ? sm_tx_ring_fragment(&pair.tx, 0, 1, i, size, &at)
                              : push(&pair, 1, bytes, size);
        ck_assert_int_eq(status, ORTE_SUCCESS);
        sm_tx_ring_repeat(&pair.tx, position);
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
        ck_assert_uint_eq(message.length, size);
        ck_assert(fragment ? message.offset == i : is_made(message.bytes, size, i));
        sm_rx_ring_pass(&pair.rx, &message);
        ck_assert(!sm_rx_ring_ready(&pair.rx));
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 0);
        sm_rx_ring_publish(&pair.rx);
    }
    for (unsigned i = 0; i < SLOTS; i++) { /* nor does it hit what was not read yet */
        uint64_t position = pair.tx.tail;
        ck_assert_int_eq(push(&pair, (uint8_t) i, &i, sizeof(i)), ORTE_SUCCESS);
        sm_tx_ring_repeat(&pair.tx, position);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        struct sm_message message;
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
        ck_assert_uint_eq(message.tag, i);
        sm_rx_ring_pass(&pair.rx, &message);
    }
}
END_TEST

START_TEST(full_is_exact_and_ends_with_the_consumer)
{
    struct pair pair;
    pair_init(&pair);
    for (unsigned i = 0; i < SLOTS; i++) {
        ck_assert_int_eq(push(&pair, 1, &i, sizeof(i)), ORTE_SUCCESS);
    }
    unsigned more = SLOTS;
    ck_assert_int_eq(push(&pair, 1, &more, sizeof(more)), ORTE_ERR_OUT_OF_RESOURCE);
    struct sm_message message;
    ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
    sm_rx_ring_pass(&pair.rx, &message);
    /* Passed is not yet given back. */
    ck_assert_int_eq(push(&pair, 1, &more, sizeof(more)), ORTE_ERR_OUT_OF_RESOURCE);
    sm_rx_ring_publish(&pair.rx);
    uint8_t two_slots[SM_SLOT_PAYLOAD + 1] = {0};
    ck_assert_int_eq(push(&pair, 1, two_slots, sizeof(two_slots)), ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(sm_tx_ring_room(&pair.tx, sizeof(two_slots)), ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(sm_tx_ring_room(&pair.tx, sizeof(more)), ORTE_SUCCESS);
    ck_assert_int_eq(push(&pair, 1, &more, sizeof(more)), ORTE_SUCCESS);
    for (unsigned i = 1; i <= SLOTS; i++) {
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
        ck_assert_mem_eq(message.bytes, &i, sizeof(i));
        sm_rx_ring_pass(&pair.rx, &message);
    }
    ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 0);
}
END_TEST

/* Sequence numbers are 32 bits of a 64-bit position. */
START_TEST(a_consumer_sees_that_it_is_behind)
{
    struct pair pair;
    struct sm_message message;
    pair_init(&pair);
    for (unsigned i = 0; i < 3 * SLOTS; i++) { /* round by round */
        while (push(&pair, 1, &i, sizeof(i)) == ORTE_SUCCESS) {
            /* until it is full */
        }
        ck_assert(sm_rx_ring_is_behind(&pair.rx, 0) && sm_rx_ring_is_behind(&pair.rx, SLOTS - 1));
        ck_assert(!sm_rx_ring_is_behind(&pair.rx, SLOTS) &&
                  !sm_rx_ring_is_behind(&pair.rx, 2 * SLOTS));
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
        sm_rx_ring_pass(&pair.rx, &message);
        ck_assert(!sm_rx_ring_is_behind(&pair.rx, SLOTS - 1));
        sm_rx_ring_publish(&pair.rx);
    }
}
END_TEST

START_TEST(sequence_numbers_wrap)
{
    for (unsigned every = 1; every <= 4; every++) { /* so that a pad may be the last number */
        struct pair pair;
        uint8_t bytes[SM_SLOT_PAYLOAD + 1];
        pair_init(&pair);
        uint64_t start = (uint64_t) UINT32_MAX - 3 * SLOTS;
        pair.tx.tail = pair.tx.consumed = start;
        pair.rx.head = pair.rx.published = start;
        atomic_store(&pair.line.consumed, start); /* both sides began when it said 0 */
        for (unsigned i = 0; i < 6 * SLOTS; i++) {
            struct sm_message message;
            const size_t size = i % every == 1 ? sizeof(bytes) : i % sizeof(bytes);
            make(bytes, size, i);
            ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 0);
            ck_assert_int_eq(push(&pair, 2, bytes, size), ORTE_SUCCESS);
            ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
            ck_assert_uint_eq(message.length, size);
            ck_assert(is_made(message.bytes, size, i));
            sm_rx_ring_pass(&pair.rx, &message);
            sm_rx_ring_publish(&pair.rx);
        }
        ck_assert(pair.tx.tail > UINT32_MAX);
    }
}
END_TEST

START_TEST(cleared_ring_is_empty_and_goes_on_with_the_line)
{
    struct pair pair;
    pair_init(&pair);
    struct sm_message message;
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(push(&pair, 2, "old", 3), ORTE_SUCCESS);
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
        sm_rx_ring_pass(&pair.rx, &message);
    }
    sm_rx_ring_publish(&pair.rx);
    ck_assert_int_eq(push(&pair, 2, "old", 3), ORTE_SUCCESS);
    sm_ring_clear(pair.slots, SLOTS);
    sm_tx_ring_init(&pair.tx, pair.slots, SLOTS, &pair.line);
    sm_rx_ring_init(&pair.rx, pair.slots, SLOTS, &pair.line);
    ck_assert_int_eq(sm_tx_ring_refresh(&pair.tx), ORTE_SUCCESS);
    ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 0);
    ck_assert_int_eq(push(&pair, 2, "new", 3), ORTE_SUCCESS);
    ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
    ck_assert_mem_eq(message.bytes, "new", 3);
    sm_rx_ring_pass(&pair.rx, &message);
    sm_rx_ring_publish(&pair.rx);
    ck_assert_int_eq(sm_tx_ring_refresh(&pair.tx), ORTE_SUCCESS);
    ck_assert_uint_eq(pair.tx.consumed, 1);
}
END_TEST

/* Each word says that it is the head of the message that will begin there one round later. */
static void make_heads(uint8_t *bytes, size_t size, uint64_t position)
{
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t slot = (at + sizeof(uint64_t)) / SM_SLOT_BYTES;
        uint64_t head = (uint64_t) (uint32_t) (position + slot + SLOTS + 1) << 32 | SM_INLINE;
        memcpy(bytes + at, &head, size - at < sizeof(head) ? size - at : sizeof(head));
    }
}

START_TEST(bytes_that_look_like_heads_are_no_messages)
{
    struct pair pair;
    pair_init(&pair);
    unsigned draws = 1, pending = 0, seen = 0;
    for (int i = 0; i < 100000; i++) {
        uint8_t bytes[SM_INLINE_MAX];
        struct sm_message message;
        draws = draws * 1103515245u + 12345u;
        size_t size = (draws >> 16) % (SM_INLINE_MAX + 1);
        make_heads(bytes, size, sm_tx_ring_start(&pair.tx, size));
        uint64_t position;
        int status = draws >> 30 ? push(&pair, 1, bytes, size)
                                 : sm_tx_ring_fragment(&pair.tx, 0, 1, 0, 1, &position);
        pending += status == ORTE_SUCCESS;
        while (pending > 0 && (status != ORTE_SUCCESS || draws & 0x10000)) {
            ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
            make_heads(bytes, (size_t) message.length, pair.rx.head);
            if (!message.fragment) {
                ck_assert_mem_eq(message.bytes, bytes, message.length);
            }
            sm_rx_ring_pass(&pair.rx, &message);
            pending--;
            seen++;
        }
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), pending > 0);
        sm_rx_ring_publish(&pair.rx);
    }
    ck_assert_uint_gt(seen, 50000);
}
END_TEST

/* One long message, and then a round of short ones where it was. */
START_TEST(bytes_of_the_last_round_are_no_messages)
{
    for (size_t size = SM_SLOT_PAYLOAD + 1; size <= SM_INLINE_MAX; size++) {
        struct pair pair;
        uint8_t bytes[SM_INLINE_MAX];
        struct sm_message message;
        pair_init(&pair);
        make_heads(bytes, size, 0);
        ck_assert_int_eq(push(&pair, 1, bytes, size), ORTE_SUCCESS);
        for (unsigned i = 0; i < 2 * SLOTS; i++) {
            ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
            ck_assert_uint_eq(message.length, i == 0 ? size : 1);
            sm_rx_ring_pass(&pair.rx, &message);
            sm_rx_ring_publish(&pair.rx);
            ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 0);
            ck_assert_int_eq(push(&pair, 1, "x", 1), ORTE_SUCCESS);
        }
    }
}
END_TEST

/* A long message is not published after all, at either half of a line, and its bytes stay. */
START_TEST(bytes_that_are_not_published_are_no_messages)
{
    struct pair pair;
    struct sm_message message;
    pair_init(&pair);
    for (unsigned i = 0; i < 1000; i++) {
        uint8_t *to = sm_tx_ring_bytes(&pair.tx, SM_INLINE_MAX);
        make_heads(to, SM_INLINE_MAX, sm_tx_ring_start(&pair.tx, SM_INLINE_MAX) - SLOTS);
        for (unsigned j = 0; j < 1 + i % 3; j++) {
            ck_assert_int_eq(push(&pair, 1, "x", 1), ORTE_SUCCESS);
            ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
            ck_assert(message.length == 1 && *message.bytes == 'x');
            sm_rx_ring_pass(&pair.rx, &message);
            ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 0);
        }
        sm_rx_ring_publish(&pair.rx);
    }
}
END_TEST

START_TEST(impossible_consumers_are_found_out)
{
    const uint64_t claims[] = {1, 2, SLOTS, UINT64_MAX, (uint64_t) 1 << 63};
    for (size_t i = 0; i < sizeof(claims) / sizeof(*claims); i++) {
        struct pair pair;
        pair_init(&pair);
        atomic_store(&pair.line.consumed, claims[i]); /* of nothing that was sent */
        ck_assert_int_eq(sm_tx_ring_refresh(&pair.tx), ORTE_ERR_COMM_FAILURE);
        ck_assert_uint_eq(pair.tx.consumed, 0);
    }
    struct pair pair;
    pair_init(&pair);
    for (unsigned i = 0; i < SLOTS; i++) {
        ck_assert_int_eq(push(&pair, 1, &i, sizeof(i)), ORTE_SUCCESS);
    }
    atomic_store(&pair.line.consumed, 5);
    ck_assert_int_eq(sm_tx_ring_refresh(&pair.tx), ORTE_SUCCESS);
    atomic_store(&pair.line.consumed, 4);
    ck_assert_int_eq(sm_tx_ring_refresh(&pair.tx), ORTE_ERR_COMM_FAILURE);
    atomic_store(&pair.line.consumed, SLOTS + 1);
    ck_assert_int_eq(sm_tx_ring_refresh(&pair.tx), ORTE_ERR_COMM_FAILURE);
    /* Also where a full ring makes the send look. */
    pair.tx.consumed = 0;
    ck_assert_int_eq(push(&pair, 1, "x", 1), ORTE_ERR_COMM_FAILURE);
}
END_TEST

START_TEST(malformed_slots_are_found_out)
{
    const uint64_t first = (uint64_t) 1 << 32; /* the sequence number that is due */
    const uint64_t heads[] = {
        first,                         /* no kind */
        first | SM_PAD,                /* of a whole line */
        first | 0x0f,                  /* no such kind */
        first | 8 << SM_CHANNEL_SHIFT, /* a frame of no kind */
        first | (uint64_t) (SM_INLINE_MAX + 1) << 16 | SM_INLINE,
        first | (uint64_t) UINT16_MAX << 16 | SM_INLINE | 8 << SM_CHANNEL_SHIFT,
    };
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        struct pair pair;
        struct sm_message message;
        pair_init(&pair);
        atomic_store(&pair.slots[0].head, heads[i]);
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), ORTE_ERR_COMM_FAILURE);
    }
    /* A slot of another position is no message at all. */
    struct pair pair;
    struct sm_message message;
    pair_init(&pair);
    atomic_store(&pair.slots[0].head, (uint64_t) 7 << 32 | SM_INLINE);
    ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 0);
}
END_TEST

/* A message of whole lines begins in a line of its own, behind what fills the one before. */
START_TEST(long_messages_have_lines_of_their_own)
{
    struct pair pair;
    uint8_t bytes[SM_INLINE_MAX];
    struct sm_message message;
    pair_init(&pair);
    for (unsigned i = 0; i < 1000; i++) {
        const size_t size = i % 3 == 0 ? SM_SLOT_PAYLOAD + 1 + i * 37 % 480 : i % 25;
        const uint64_t before = pair.tx.tail;
        make(bytes, size, i);
        ck_assert_int_eq(push(&pair, (uint8_t) i, bytes, size), ORTE_SUCCESS);
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), 1);
        ck_assert_uint_eq(message.tag, (uint8_t) i);
        ck_assert(is_made(message.bytes, size, i));
        if (size > SM_SLOT_PAYLOAD) {
            ck_assert_uint_eq((uintptr_t) message.bytes % SM_LINE_BYTES, sizeof(uint64_t));
            ck_assert_uint_eq(pair.tx.tail % 2, 0);
        } else {
            ck_assert_uint_eq(pair.tx.tail, before + 1);
        }
        sm_rx_ring_pass(&pair.rx, &message);
        ck_assert_uint_eq(pair.rx.head, pair.tx.tail);
        sm_rx_ring_publish(&pair.rx);
    }
}
END_TEST

/* The last slot, and a message that does not begin there. */
START_TEST(what_fills_a_line_needs_room_too)
{
    struct pair pair;
    uint8_t two_slots[SM_SLOT_PAYLOAD + 1] = {0};
    pair_init(&pair);
    for (unsigned i = 0; i < SLOTS - 3; i++) {
        ck_assert_int_eq(push(&pair, 1, &i, sizeof(i)), ORTE_SUCCESS);
    }
    ck_assert_int_eq(push(&pair, 1, two_slots, sizeof(two_slots)), ORTE_SUCCESS);
    ck_assert_int_eq(push(&pair, 1, "x", 1), ORTE_ERR_OUT_OF_RESOURCE);
    pair_init(&pair);
    for (unsigned i = 0; i < SLOTS - 1; i++) {
        ck_assert_int_eq(push(&pair, 1, &i, sizeof(i)), ORTE_SUCCESS);
    }
    ck_assert_int_eq(push(&pair, 1, two_slots, sizeof(two_slots)), ORTE_ERR_OUT_OF_RESOURCE);
    ck_assert_int_eq(push(&pair, 1, "x", 1), ORTE_SUCCESS);
}
END_TEST

/* Where no producer leaves half a line, or begins a message. */
START_TEST(misplaced_slots_are_found_out)
{
    const uint64_t pad = SM_PAD, inline_of_two = (SM_SLOT_PAYLOAD + 1) << 16 | SM_INLINE;
    const struct {
        unsigned at;
        uint64_t head, behind;
    } slots[] = {
        {0, pad, inline_of_two},       /* a whole line */
        {1, pad, 0},                   /* with nothing behind it */
        {1, pad, pad},                 /* or the same again */
        {1, pad, 8 << 16 | SM_INLINE}, /* or what fits into the half */
        {1, pad, SM_FRAGMENT},
        {1, pad | 1 << 8, inline_of_two},
        {1, inline_of_two, 0},
        {SLOTS - 1, (uint64_t) SM_INLINE_MAX << 16 | SM_INLINE, 0},
    };
    for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
        struct pair pair;
        struct sm_message message;
        const unsigned at = slots[i].at;
        pair_init(&pair);
        pair.rx.head = at;
        atomic_store(&pair.slots[at].head, (uint64_t) (at + 1) << 32 | slots[i].head);
        if (slots[i].behind > 0) {
            atomic_store(&pair.slots[at + 1].head, (uint64_t) (at + 2) << 32 | slots[i].behind);
        }
        ck_assert_int_eq(sm_rx_ring_next(&pair.rx, &message), ORTE_ERR_COMM_FAILURE);
    }
}
END_TEST

/* Two threads, a ring of 32 slots, messages of 1 to 18 slots and fragments between them. */
#define STREAM 50000

static size_t length_of(unsigned number)
{
    return number % 5 == 0 ? number % (SM_INLINE_MAX + 1) : number % (SM_SLOT_PAYLOAD + 1);
}

static int send_one(struct pair *pair, unsigned number)
{
    uint64_t position;
    if (number % 7 == 3) {
        return sm_tx_ring_fragment(&pair->tx, 0, (uint8_t) number, number * 64ull, number * 3ull,
                                   &position);
    }
    uint8_t bytes[SM_INLINE_MAX];
    size_t size = length_of(number);
    make(bytes, size, number);
    return push(pair, (uint8_t) number, bytes, size);
}

static void *produce(void *arg)
{
    struct pair *pair = arg;
    for (unsigned number = 0; number < STREAM;) {
        int status = send_one(pair, number);
        if (status == ORTE_SUCCESS) {
            number++;
        } else if (status == ORTE_ERR_OUT_OF_RESOURCE) {
            sched_yield();
        } else {
            return arg; /* the consumer's word was impossible */
        }
    }
    return NULL;
}

static void check_one(const struct sm_message *message, unsigned number)
{
    ck_assert_uint_eq(message->tag, (uint8_t) number);
    ck_assert_int_eq(message->fragment, number % 7 == 3);
    if (message->fragment) {
        ck_assert_uint_eq(message->offset, number * 64ull);
        ck_assert_uint_eq(message->length, number * 3ull);
    } else {
        ck_assert_uint_eq(message->length, length_of(number));
        ck_assert(is_made(message->bytes, (size_t) message->length, number));
    }
}

START_TEST(two_threads_keep_order_and_content)
{
    static struct pair pair;
    pair_init(&pair);
    pthread_t producer;
    ck_assert_int_eq(pthread_create(&producer, NULL, produce, &pair), 0);
    for (unsigned number = 0; number < STREAM;) {
        struct sm_message message;
        int found = sm_rx_ring_next(&pair.rx, &message);
        ck_assert_int_ge(found, 0);
        if (found == 0) {
            sched_yield();
            continue;
        }
        check_one(&message, number++);
        sm_rx_ring_pass(&pair.rx, &message);
        if (number % 3 == 0 || number == STREAM || pair.rx.head - pair.rx.published > 4) {
            sm_rx_ring_publish(&pair.rx);
        }
    }
    void *problem = NULL;
    ck_assert_int_eq(pthread_join(producer, &problem), 0);
    ck_assert_ptr_null(problem);
}
END_TEST

START_TEST(counts_are_powers_of_two)
{
    ck_assert(sm_ring_count_ok(32) && sm_ring_count_ok(256) && sm_ring_count_ok(65536));
    ck_assert(!sm_ring_count_ok(0) && !sm_ring_count_ok(16) && !sm_ring_count_ok(48));
    ck_assert(!sm_ring_count_ok(131072) && !sm_ring_count_ok(UINT64_MAX));
}
END_TEST

UNIT_MAIN("sm-ring")
