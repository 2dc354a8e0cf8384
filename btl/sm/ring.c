#include <config.h>

#include <btl/sm/ring.h>
#include <string.h>

_Static_assert(sizeof(struct sm_slot) == SM_SLOT_BYTES, "a slot is a cache line");
_Static_assert(sizeof(struct sm_line) == SM_SLOT_BYTES, "the consumer's word has its own line");
_Static_assert(SM_INLINE_SLOTS <= SM_RING_SLOTS_MIN, "an inline message fits every ring");

/* Producer to consumer: everything written to the slots of the message, and to its fragment, is
 * seen by a consumer whose slot_observe finds this head. */
static void slot_publish(struct sm_slot *slot, uint64_t head)
{
    atomic_store_explicit(&slot->head, head, memory_order_release);
}

static uint64_t slot_observe(const struct sm_slot *slot)
{
    return atomic_load_explicit(&slot->head, memory_order_acquire);
}

/* Consumer to producer: all reads of the slots and fragments below this count are done before a
 * producer whose line_observe finds it writes there again. */
static void line_publish(struct sm_line *line, uint64_t consumed)
{
    atomic_store_explicit(&line->consumed, consumed, memory_order_release);
}

static uint64_t line_observe(const struct sm_line *line)
{
    return atomic_load_explicit(&line->consumed, memory_order_acquire);
}

static uint64_t head_of(uint64_t position, size_t length, uint8_t tag, uint8_t kind)
{
    uint64_t sequence = (uint32_t) (position + 1);
    return sequence << 32 | (uint64_t) length << 16 | (uint64_t) tag << 8 | kind;
}

static uint32_t slots_of(size_t length)
{
    return length <= SM_SLOT_PAYLOAD
               ? 1
               : (uint32_t) ((length + SM_SLOT_PAYLOAD - 1) / SM_SLOT_PAYLOAD);
}

bool sm_ring_count_ok(uint64_t count)
{
    return count >= SM_RING_SLOTS_MIN && count <= SM_RING_SLOTS_MAX && !(count & (count - 1));
}

void sm_tx_ring_init(struct sm_tx_ring *ring, struct sm_slot *slots, uint32_t count,
                     const struct sm_line *line)
{
    *ring = (struct sm_tx_ring){
        .slots = slots, .line = line, .count = count, .base = line_observe(line)};
}

void sm_ring_clear(struct sm_slot *slots, uint32_t count)
{
    memset((void *) slots, 0, (size_t) count * sizeof(*slots));
}

int sm_tx_ring_refresh(struct sm_tx_ring *ring)
{
    uint64_t consumed = line_observe(ring->line) - ring->base;
    if (consumed - ring->consumed > ring->tail - ring->consumed) {
        return ORTE_ERR_COMM_FAILURE;
    }
    ring->consumed = consumed;
    return ORTE_SUCCESS;
}

static int reserve(struct sm_tx_ring *ring, uint32_t slots)
{
    if (ring->tail - ring->consumed + slots <= ring->count) {
        return ORTE_SUCCESS;
    }
    int status = sm_tx_ring_refresh(ring);
    if (status < 0) {
        return status;
    }
    bool room = ring->tail - ring->consumed + slots <= ring->count;
    return room ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

int sm_tx_ring_room(struct sm_tx_ring *ring, size_t length)
{
    return reserve(ring, slots_of(length));
}

static struct sm_slot *slot_at(struct sm_tx_ring *ring, uint64_t position)
{
    return &ring->slots[position & (ring->count - 1)];
}

static void gather(uint8_t *dest, const struct iovec *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (parts[i].iov_len > 0) {
            memcpy(dest, parts[i].iov_base, parts[i].iov_len);
            dest += parts[i].iov_len;
        }
    }
}

/* Fills the slots of a longer message, the first one's head last of all. */
static void put_slots(struct sm_tx_ring *ring, const uint8_t *bytes, size_t length, uint64_t head)
{
    for (size_t done = SM_SLOT_PAYLOAD; done < length; done += SM_SLOT_PAYLOAD) {
        uint64_t position = ring->tail + done / SM_SLOT_PAYLOAD;
        struct sm_slot *slot = slot_at(ring, position);
        size_t piece = length - done < SM_SLOT_PAYLOAD ? length - done : SM_SLOT_PAYLOAD;
        memcpy(slot->bytes, bytes + done, piece);
        atomic_store_explicit(&slot->head, head_of(position, 0, 0, SM_MORE), memory_order_relaxed);
    }
    struct sm_slot *first = slot_at(ring, ring->tail);
    memcpy(first->bytes, bytes, SM_SLOT_PAYLOAD);
    slot_publish(first, head);
}

int sm_tx_ring_inline(struct sm_tx_ring *ring, uint8_t tag, uint8_t flags,
                      const struct iovec *parts, size_t count, size_t length)
{
    uint32_t slots = slots_of(length);
    int status = reserve(ring, slots);
    if (status < 0) {
        return status;
    }
    uint64_t head = head_of(ring->tail, length, tag, SM_INLINE | flags);
    if (slots == 1) {
        struct sm_slot *slot = slot_at(ring, ring->tail);
        gather(slot->bytes, parts, count);
        slot_publish(slot, head);
    } else {
        uint8_t bytes[SM_INLINE_MAX];
        gather(bytes, parts, count);
        put_slots(ring, bytes, length, head);
    }
    ring->tail += slots;
    return ORTE_SUCCESS;
}

int sm_tx_ring_fragment(struct sm_tx_ring *ring, uint8_t tag, uint8_t flags, uint64_t offset,
                        uint64_t length, uint64_t *position)
{
    int status = reserve(ring, 1);
    if (status < 0) {
        return status;
    }
    struct sm_slot *slot = slot_at(ring, ring->tail);
    atomic_store_explicit(&slot->fragment.offset, offset, memory_order_relaxed);
    atomic_store_explicit(&slot->fragment.length, length, memory_order_relaxed);
    slot_publish(slot, head_of(ring->tail, 0, tag, SM_FRAGMENT | flags));
    *position = ring->tail++;
    return ORTE_SUCCESS;
}

void sm_rx_ring_init(struct sm_rx_ring *ring, const struct sm_slot *slots, uint32_t count,
                     struct sm_line *line)
{
    *ring = (struct sm_rx_ring){
        .slots = slots, .line = line, .count = count, .base = line_observe(line)};
}

/* Copies the payload out of the slots, so that it cannot change under its reader. */
static void take_bytes(const struct sm_rx_ring *ring, struct sm_message *message)
{
    for (uint32_t i = 0; i < message->slots; i++) {
        const struct sm_slot *slot = &ring->slots[(ring->head + i) & (ring->count - 1)];
        memcpy(message->data + (size_t) i * SM_SLOT_PAYLOAD, slot->bytes, SM_SLOT_PAYLOAD);
    }
}

int sm_rx_ring_next(const struct sm_rx_ring *ring, struct sm_message *message)
{
    const struct sm_slot *slot = &ring->slots[ring->head & (ring->count - 1)];
    uint64_t head = slot_observe(slot);
    if ((uint32_t) (head >> 32) != (uint32_t) (ring->head + 1)) {
        return 0;
    }
    uint8_t kind = (uint8_t) head;
    message->tag = (uint8_t) (head >> 8);
    message->length = (uint16_t) (head >> 16);
    message->frame = kind & SM_FRAME;
    message->slots = 1;
    message->fragment = (kind & SM_KIND_MASK) == SM_FRAGMENT;
    if (message->fragment) {
        message->offset = atomic_load_explicit(&slot->fragment.offset, memory_order_relaxed);
        message->length = atomic_load_explicit(&slot->fragment.length, memory_order_relaxed);
        return 1;
    }
    if ((kind & SM_KIND_MASK) != SM_INLINE || message->length > SM_INLINE_MAX) {
        return ORTE_ERR_COMM_FAILURE;
    }
    message->slots = slots_of(message->length);
    take_bytes(ring, message);
    return 1;
}

void sm_rx_ring_pass(struct sm_rx_ring *ring, const struct sm_message *message)
{
    ring->head += message->slots;
}

void sm_rx_ring_publish(struct sm_rx_ring *ring)
{
    if (ring->published != ring->head) {
        ring->published = ring->head;
        line_publish(ring->line, ring->base + ring->head);
    }
}
