/* One direction of traffic between two processes: a ring of 64-byte slots with a single producer
 * and a single consumer. README.md draws it.
 *
 * The slots lie in the producer's segment and only the producer writes them; the word that counts
 * what was consumed lies in the consumer's segment and only the consumer writes it. Either side
 * keeps its own position in private memory and takes what the other wrote for a claim to be
 * checked: a ring that breaks its rules is an error for this pair alone.
 *
 * Behind the slots the producer has one word more, which says how far it has taken back what the
 * consumer was to do for it (recall.h).
 *
 * Positions count slots from 0 and never wrap (64 bits). The slot of position p is p modulo the
 * number of slots; it holds what was published at p when the upper half of its head is p + 1. */
#ifndef BTL_SM_RING_H
#define BTL_SM_RING_H

#include <keel/types.h>
#include <stdatomic.h>

#define SM_SLOT_BYTES 64
#define SM_SLOT_PAYLOAD 56
#define SM_INLINE_SLOTS 8
#define SM_INLINE_MAX ((size_t) SM_INLINE_SLOTS * SM_SLOT_PAYLOAD)
#define SM_RING_SLOTS_MIN 16
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
    SM_MORE = 2,     /* a slot that continues an inline message */
    SM_FRAGMENT = 3, /* the payload is a fragment of the producer's */
};
#define SM_KIND_MASK 0x0f
#define SM_CHANNEL_SHIFT 4 /* of the first slot's kind: the message's channel (btl/base.h) */

/* The consumer's words, of all rings that ever used them, each alone in its cache line. */
struct sm_line {
    _Atomic uint64_t consumed; /* slots */
    uint8_t pad[SM_SLOT_BYTES - sizeof(uint64_t)];
    _Atomic uint64_t puts; /* two for each that was carried out, one for one that has begun */
    uint8_t pad_puts[SM_SLOT_BYTES - sizeof(uint64_t)];
};

/* The producer's private side. */
struct sm_tx_ring {
    struct sm_slot *slots;      /* borrowed */
    const struct sm_line *line; /* borrowed */
    uint32_t count;             /* a power of two */
    uint64_t base, puts_base;   /* what the line said when the ring began */
    uint64_t tail;              /* next position to publish */
    uint64_t consumed;          /* position, as last read from the line, and checked */
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
    bool fragment; /* else the payload was copied to data */
    uint8_t channel;
    uint8_t tag;
    uint8_t data[SM_INLINE_MAX] __attribute__((aligned(16)));
};

bool sm_ring_count_ok(uint64_t count);
/* Slots, and the word behind them. */
size_t sm_ring_bytes(uint32_t count);
/* The slots must be zero: sm_ring_clear makes used ones so. The line stays where it is: both sides
 * count from what it says when they begin, and no other ring may use it meanwhile. */
void sm_tx_ring_init(struct sm_tx_ring *ring, struct sm_slot *slots, uint32_t count,
                     const struct sm_line *line);
/* No consumer may look at the slots. */
void sm_ring_clear(struct sm_slot *slots, uint32_t count);
/* Publishes a message whose bytes are copied from parts: at most SM_INLINE_MAX. OUT_OF_RESOURCE:
 * the ring is full; COMM_FAILURE: the consumer's word is impossible. */
int sm_tx_ring_inline(struct sm_tx_ring *ring, uint8_t channel, uint8_t tag,
                      const struct iovec *parts, size_t count, size_t length) KEEL_MUST_CHECK;
/* Publishes a reference to a fragment, which must not change until the ring's consumed count is
 * above *position. Errors as above. */
int sm_tx_ring_fragment(struct sm_tx_ring *ring, uint8_t channel, uint8_t tag, uint64_t offset,
                        uint64_t length, uint64_t *position) KEEL_MUST_CHECK;
/* For a fault point: stores the slot of this position, which was published, at the next place, too,
 * if that is free. A consumer passes over it. */
void sm_tx_ring_repeat(struct sm_tx_ring *ring, uint64_t position);
/* Whether a message of length bytes in line would find room. Errors as above. */
int sm_tx_ring_room(struct sm_tx_ring *ring, size_t length) KEEL_MUST_CHECK;
/* What was published up to here is taken back. A full barrier. */
void sm_tx_ring_recall(struct sm_tx_ring *ring);
/* Two for each put that the consumer has carried out, and one for one that it is carrying out. */
uint64_t sm_tx_ring_puts(const struct sm_tx_ring *ring);
/* Reads the consumer's word into ring->consumed. COMM_FAILURE: it went back, or beyond the tail. */
int sm_tx_ring_refresh(struct sm_tx_ring *ring) KEEL_MUST_CHECK;

void sm_rx_ring_init(struct sm_rx_ring *ring, const struct sm_slot *slots, uint32_t count,
                     struct sm_line *line);
/* The next message: 1, or 0 when there is none, or COMM_FAILURE when the slot is malformed. It
 * stays the next until it is passed. */
int sm_rx_ring_next(const struct sm_rx_ring *ring, struct sm_message *message) KEEL_MUST_CHECK;
static inline void sm_rx_ring_pass(struct sm_rx_ring *ring, const struct sm_message *message)
{
    ring->head += message->slots;
}
/* Tells the producer how far this side is; what was passed is no longer read. */
void sm_rx_ring_publish(struct sm_rx_ring *ring);

/* The next message is a put, which is about to be carried out. False: it was taken back, and must
 * not be. */
bool sm_rx_ring_put_begins(struct sm_rx_ring *ring);
void sm_rx_ring_put_ends(struct sm_rx_ring *ring);

/* Whether something waits at the consumer's position; costs one load. */
static inline bool sm_rx_ring_ready(const struct sm_rx_ring *ring)
{
    const struct sm_slot *slot = &ring->slots[ring->head & (ring->count - 1)];
    uint64_t head = atomic_load_explicit(&slot->head, memory_order_relaxed);
    return (uint32_t) (head >> 32) == (uint32_t) ring->head + 1;
}

#endif
