/* One direction of traffic between two processes: a ring of 32-byte slots, two in a cache line,
 * with a single producer and a single consumer. README.md draws it.
 *
 * Two messages of up to SM_SLOT_PAYLOAD bytes in a row share a line: what a stream of them costs is
 * the lines that cross. A longer one is one head and the bytes behind it, without a gap, in lines
 * of its own: they are copied once, and read where they lie. Where half a line is left before it,
 * that slot says so (SM_PAD). One that begins in the last line goes on behind the slots, where
 * there is room for it, and the first slots of the ring stay empty in its place.
 *
 * The slots lie in the producer's segment and only the producer writes them; the word that counts
 * what was consumed lies in the consumer's segment and only the consumer writes it. Either side
 * keeps its own position in private memory and takes what the other wrote for a claim to be
 * checked: a ring that breaks its rules is an error for this pair alone.
 *
 * Positions count slots from 0 and never wrap (64 bits). The slot of position p is p modulo the
 * number of slots; a message, or a pad, begins there when the upper half of its head is p + 1. The
 * consumer looks where the next message is to begin and nowhere else; the producer sees to it that
 * bytes of an earlier message do not look like a head there. */
#ifndef BTL_SM_RING_H
#define BTL_SM_RING_H

#include <keel/types.h>
#include <stdatomic.h>

#define SM_LINE_BYTES 64 /* of the caches */
#define SM_SLOT_BYTES 32
#define SM_SLOT_PAYLOAD 24
#define SM_INLINE_SLOTS 18
#define SM_SLOTS_BEHIND (SM_INLINE_SLOTS - 2) /* the ring's, of a message in its last line */
#define SM_FEW_SLOTS 6
#define SM_SLOTS_AHEAD 8
#define SM_INLINE_MAX ((size_t) 512)
#define SM_RING_SLOTS_MIN 32
#define SM_RING_SLOTS_MAX 65536

/* head: sequence (32 bits), length (16), tag (8), kind (8), from the top. */
struct sm_slot {
    _Atomic uint64_t head;
    union {
        uint8_t bytes[SM_SLOT_PAYLOAD];
        struct {
            _Atomic uint64_t offset; /* of the fragment, in the producer's segment */
            _Atomic uint64_t length;
        } fragment;
    };
};

enum sm_kind {
    SM_INLINE = 1,   /* the payload is in this slot and those that follow */
    SM_PAD = 2,      /* second half of a line: the message begins in the next slot */
    SM_FRAGMENT = 3, /* the payload is a fragment of the producer's */
};
#define SM_KIND_MASK 0x0f
/* Of the first slot's kind: the message's channel (btl/interface/base.h). */
#define SM_CHANNEL_SHIFT 4

/* The consumer's word, of all rings that ever used it, alone in its cache line. */
struct sm_line {
    _Atomic uint64_t consumed; /* slots */
    uint8_t pad[SM_LINE_BYTES - sizeof(uint64_t)];
};

/* The producer's private side. */
struct sm_tx_ring {
    struct sm_slot *slots;      /* borrowed */
    const struct sm_line *line; /* borrowed */
    uint32_t count;             /* a power of two */
    uint64_t base;              /* what the line said when the ring began */
    uint64_t tail;              /* next position to publish */
    uint64_t consumed;          /* position, as last read from the line, and checked */
    uint64_t bytes_until;       /* up to here a slot may begin with bytes of a message */
};

/* The consumer's private side. */
struct sm_rx_ring {
    const struct sm_slot *slots; /* borrowed */
    struct sm_line *line;        /* borrowed */
    uint32_t count;
    uint64_t base;      /* what the line said when the ring began */
    uint64_t head;      /* next position to read */
    uint64_t published; /* the position that the line says */
};

/* What a slot was found to say. */
struct sm_message {
    uint64_t length;
    uint64_t offset; /* of a fragment, not yet checked against the segment */
    uint32_t slots;
    bool fragment;
    uint8_t channel;
    uint8_t tag;
    const uint8_t *bytes; /* of any other: in the ring, until the message is passed */
};

bool sm_ring_count_ok(uint64_t count);
/* Slots, and room behind them for a message that begins in the last line. */
size_t sm_ring_bytes(uint32_t count);
/* The slots must be zero: sm_ring_clear makes used ones so. The line stays where it is: both sides
 * count from what it says when they begin, and no other ring may use it meanwhile. */
void sm_tx_ring_init(struct sm_tx_ring *ring, struct sm_slot *slots, uint32_t count,
                     const struct sm_line *line);
/* No consumer may look at the slots. */
void sm_ring_clear(struct sm_slot *slots, uint32_t count);
/* Of an inline message: one, or those of whole cache lines. */
static inline uint32_t sm_slots_of(size_t length)
{
    const size_t lines = (sizeof(uint64_t) + length + SM_LINE_BYTES - 1) / SM_LINE_BYTES;
    return length <= SM_SLOT_PAYLOAD ? 1 : (uint32_t) lines * (SM_LINE_BYTES / SM_SLOT_BYTES);
}
static inline struct sm_slot *sm_tx_ring_slot(const struct sm_tx_ring *ring, uint64_t position)
{
    return &ring->slots[position & (ring->count - 1)];
}
/* Where the next message begins, if it has length bytes in line. */
static inline uint64_t sm_tx_ring_start(const struct sm_tx_ring *ring, size_t length)
{
    return length <= SM_SLOT_PAYLOAD ? ring->tail : ring->tail + (ring->tail & 1);
}
/* Whether there is room for a message of length bytes in line, by what was last read of the
 * consumer's word. */
static inline bool sm_tx_ring_has_room(const struct sm_tx_ring *ring, size_t length)
{
    return sm_tx_ring_start(ring, length) - ring->consumed + sm_slots_of(length) <= ring->count;
}
/* What sm_tx_ring_room says after a look at the consumer's word. */
int sm_tx_ring_reserve(struct sm_tx_ring *ring, size_t length) KEEL_MUST_CHECK;
/* Whether there is room for a message of length bytes in line, or for a fragment (0).
 * OUT_OF_RESOURCE: the ring is full; COMM_FAILURE: the consumer's word is impossible. */
static inline int sm_tx_ring_room(struct sm_tx_ring *ring, size_t length)
{
    return sm_tx_ring_has_room(ring, length) ? ORTE_SUCCESS : sm_tx_ring_reserve(ring, length);
}
/* Where the bytes of a message in line go, for which there is room: they stay there until it is
 * consumed. It need not be published. */
static inline uint8_t *sm_tx_ring_bytes(struct sm_tx_ring *ring, size_t length)
{
    const uint64_t start = sm_tx_ring_start(ring, length);
    if (length > SM_SLOT_PAYLOAD) {
        ring->bytes_until = start + sm_slots_of(length) + ring->count;
    }
    return (uint8_t *) sm_tx_ring_slot(ring, start) + sizeof(uint64_t);
}
/* The message behind the one that is about to be published is to begin where there are bytes of the
 * last round, which must not look like its head. In a full ring the oldest message begins there,
 * whose sequence is another. */
void sm_tx_ring_clear_next(struct sm_tx_ring *ring, uint64_t next);
/* A head, whose sequence follows from its position. */
static inline void sm_tx_ring_store(struct sm_tx_ring *ring, uint64_t position, uint64_t rest)
{
    const uint64_t head = (uint64_t) (uint32_t) (position + 1) << 32 | rest;
    atomic_store_explicit(&sm_tx_ring_slot(ring, position)->head, head, memory_order_release);
}
/* Publishes the message at the tail, whose payload is in its place: a consumer that finds this head
 * sees all that was written to its slots and to its fragment, and one that finds a pad the head
 * behind it. length: of what is in line. */
static inline void sm_tx_ring_publish(struct sm_tx_ring *ring, enum sm_kind kind, uint8_t channel,
                                      uint8_t tag, size_t length)
{
    const uint64_t start = sm_tx_ring_start(ring, length), next = start + sm_slots_of(length);
    if (next < ring->bytes_until) {
        sm_tx_ring_clear_next(ring, next);
    }
    sm_tx_ring_store(ring, start,
                     (uint64_t) length << 16 | (uint64_t) tag << 8 |
                         (uint64_t) channel << SM_CHANNEL_SHIFT | kind);
    if (__builtin_expect(start != ring->tail, false)) {
        sm_tx_ring_store(ring, ring->tail, SM_PAD);
    }
    ring->tail = next;
}
/* After a message of a few lines: the next is often as long. Asks for the lines behind its first
 * one, for writing, while the consumer is busy; the first would be lost again to its polls.
 * Longer messages keep the consumer busy by themselves. */
static inline void sm_tx_ring_expect(const struct sm_tx_ring *ring, size_t length)
{
    const uint8_t *next = (const uint8_t *) sm_tx_ring_slot(ring, ring->tail);
    if (length <= SM_SLOT_PAYLOAD || sm_slots_of(length) > SM_FEW_SLOTS) {
        return;
    }
    for (size_t at = SM_LINE_BYTES; at < sizeof(uint64_t) + length; at += SM_LINE_BYTES) {
#ifdef __x86_64__ /* the builtin would ask for reading, by the oldest of these processors */
        __asm__ volatile("prefetchw %0" : : "m"(next[at]));
#else
        __builtin_prefetch(next + at, 1);
#endif
    }
}
/* Publishes a reference to a fragment, which must not change until the ring's consumed count is
 * above *position. Errors as sm_tx_ring_room. */
int sm_tx_ring_fragment(struct sm_tx_ring *ring, uint8_t channel, uint8_t tag, uint64_t offset,
                        uint64_t length, uint64_t *position) KEEL_MUST_CHECK;
/* For a fault point: stores the slot of this position, which was published, at the next place, too,
 * if that is free. A consumer passes over it. */
void sm_tx_ring_repeat(struct sm_tx_ring *ring, uint64_t position);
/* Reads the consumer's word into ring->consumed. COMM_FAILURE: it went back, or beyond the tail. */
int sm_tx_ring_refresh(struct sm_tx_ring *ring) KEEL_MUST_CHECK;

void sm_rx_ring_init(struct sm_rx_ring *ring, const struct sm_slot *slots, uint32_t count,
                     struct sm_line *line);
/* A consumer that finds a message's head sees all that was written before it (sm_tx_ring_publish).
 */
static inline uint64_t sm_slot_observe(const struct sm_slot *slot)
{
    return atomic_load_explicit(&slot->head, memory_order_acquire);
}
/* Of a slot that is due, and is no message: passes a pad, and finds what is behind it, a longer
 * message. COMM_FAILURE: it is no pad, or there is no such message. */
int sm_rx_ring_skip(struct sm_rx_ring *ring, struct sm_message *message) KEEL_MUST_CHECK;
/* The next message: 1, or 0 when there is none, or COMM_FAILURE when the slot is malformed. It
 * stays the next until it is passed; a pad before it is passed here. */
KEEL_MUST_CHECK static inline int sm_rx_ring_next(struct sm_rx_ring *ring,
                                                  struct sm_message *message)
{
    const struct sm_slot *slot = &ring->slots[ring->head & (ring->count - 1)];
    uint64_t head = sm_slot_observe(slot);
    if ((uint32_t) (head >> 32) != (uint32_t) (ring->head + 1)) {
        return 0;
    }
    uint8_t kind = (uint8_t) head;
    message->tag = (uint8_t) (head >> 8);
    message->length = (uint16_t) (head >> 16);
    message->channel = kind >> SM_CHANNEL_SHIFT;
    message->slots = 1;
    message->bytes = (const uint8_t *) slot + sizeof(slot->head);
    message->fragment = (kind & SM_KIND_MASK) == SM_FRAGMENT;
    if (message->fragment) {
        message->offset = atomic_load_explicit(&slot->fragment.offset, memory_order_relaxed);
        message->length = atomic_load_explicit(&slot->fragment.length, memory_order_relaxed);
        return 1;
    }
    if ((kind & SM_KIND_MASK) != SM_INLINE || message->length > SM_INLINE_MAX) {
        return sm_rx_ring_skip(ring, message);
    }
    /* By a branch, so that the processor goes on to the next short message while this one's length
     * is on its way: computed, each line of a stream would wait for the one before it. The fence
     * keeps the compiler from making a conditional move of it. */
    if (__builtin_expect(message->length > SM_SLOT_PAYLOAD, false)) {
        if (ring->head & 1) {
            return ORTE_ERR_COMM_FAILURE; /* the last one would end behind the ring's room */
        }
        message->slots = sm_slots_of((size_t) message->length);
        atomic_signal_fence(memory_order_seq_cst);
    }
    return 1;
}
static inline void sm_rx_ring_pass(struct sm_rx_ring *ring, const struct sm_message *message)
{
    ring->head += message->slots;
}
/* Whether the slot so far behind the next one has been written, too; about, as what begins there
 * need not be a message. */
static inline bool sm_rx_ring_is_behind(const struct sm_rx_ring *ring, uint32_t slots)
{
    const uint64_t position = ring->head + slots;
    const struct sm_slot *slot = &ring->slots[position & (ring->count - 1)];
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_relaxed);
    return (uint32_t) (head >> 32) == (uint32_t) (position + 1);
}
/* Where messages wait in a row: asks for a line that is to be read soon, while this one's message
 * is handled. */
static inline void sm_rx_ring_expect(const struct sm_rx_ring *ring)
{
    __builtin_prefetch(&ring->slots[(ring->head + SM_SLOTS_AHEAD) & (ring->count - 1)]);
}
/* Tells the producer how far this side is; what was passed is no longer read. */
void sm_rx_ring_publish(struct sm_rx_ring *ring);

/* Whether something waits at the consumer's position; costs one load. */
static inline bool sm_rx_ring_ready(const struct sm_rx_ring *ring)
{
    const struct sm_slot *slot = &ring->slots[ring->head & (ring->count - 1)];
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_relaxed);
    return (uint32_t) (head >> 32) == (uint32_t) ring->head + 1;
}

#endif
