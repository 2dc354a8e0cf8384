#include <config.h>

#include <btl/sm/segment/ring.h>
#include <string.h>

_Static_assert(sizeof(struct sm_slot) == SM_SLOT_BYTES && 2 * SM_SLOT_BYTES == SM_LINE_BYTES,
               "two slots are a cache line");
_Static_assert(sizeof(struct sm_line) == SM_LINE_BYTES, "the word has a cache line");
_Static_assert(SM_INLINE_SLOTS + 1 <= SM_RING_SLOTS_MIN, "the longest message fits every ring");
_Static_assert((SM_INLINE_MAX + sizeof(uint64_t) + SM_LINE_BYTES - 1) / SM_LINE_BYTES ==
                   SM_INLINE_SLOTS / 2,
               "and has so many slots");

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

bool sm_ring_count_ok(uint64_t count)
{
    return count >= SM_RING_SLOTS_MIN && count <= SM_RING_SLOTS_MAX && !(count & (count - 1));
}

size_t sm_ring_bytes(uint32_t count)
{
    return ((size_t) count + SM_SLOTS_BEHIND) * sizeof(struct sm_slot);
}

void sm_tx_ring_init(struct sm_tx_ring *ring, struct sm_slot *slots, uint32_t count,
                     const struct sm_line *line)
{
    *ring = (struct sm_tx_ring){
        .slots = slots, .line = line, .count = count, .base = line_observe(line)};
}

void sm_ring_clear(struct sm_slot *slots, uint32_t count)
{
    memset((void *) slots, 0, sm_ring_bytes(count));
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

int sm_tx_ring_reserve(struct sm_tx_ring *ring, size_t length)
{
    int status = sm_tx_ring_refresh(ring);
    if (status < 0) {
        return status;
    }
    return sm_tx_ring_has_room(ring, length) ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

void sm_tx_ring_clear_next(struct sm_tx_ring *ring, uint64_t next)
{
    _Atomic uint64_t *head = &sm_tx_ring_slot(ring, next)->head;
    uint64_t found = atomic_load_explicit(head, memory_order_relaxed);
    if ((uint32_t) (found >> 32) == (uint32_t) (next + 1)) {
        atomic_store_explicit(head, ~found, memory_order_relaxed);
    }
}

int sm_tx_ring_fragment(struct sm_tx_ring *ring, uint8_t channel, uint8_t tag, uint64_t offset,
                        uint64_t length, uint64_t *position)
{
    int status = sm_tx_ring_room(ring, 0);
    if (status < 0) {
        return status;
    }
    struct sm_slot *slot = sm_tx_ring_slot(ring, ring->tail);
    atomic_store_explicit(&slot->fragment.offset, offset, memory_order_relaxed);
    atomic_store_explicit(&slot->fragment.length, length, memory_order_relaxed);
    *position = ring->tail;
    sm_tx_ring_publish(ring, SM_FRAGMENT, channel, tag, 0);
    return ORTE_SUCCESS;
}

void sm_tx_ring_repeat(struct sm_tx_ring *ring, uint64_t position)
{
    const struct sm_slot *from = sm_tx_ring_slot(ring, position);
    if (position == ring->tail || sm_tx_ring_room(ring, 0) != ORTE_SUCCESS) {
        return;
    }
    struct sm_slot *to = sm_tx_ring_slot(ring, ring->tail);
    memcpy(to->bytes, from->bytes, sizeof(to->bytes));
    atomic_store_explicit(&to->head, sm_slot_observe(from), memory_order_release);
}

void sm_rx_ring_init(struct sm_rx_ring *ring, const struct sm_slot *slots, uint32_t count,
                     struct sm_line *line)
{
    *ring = (struct sm_rx_ring){
        .slots = slots, .line = line, .count = count, .base = line_observe(line)};
}

int sm_rx_ring_skip(struct sm_rx_ring *ring, struct sm_message *message)
{
    const uint64_t head = sm_slot_observe(&ring->slots[ring->head & (ring->count - 1)]);
    if ((uint32_t) head != SM_PAD || !(ring->head & 1)) {
        return ORTE_ERR_COMM_FAILURE;
    }
    ring->head++;
    return sm_rx_ring_next(ring, message) == 1 && message->slots > 1 ? 1 : ORTE_ERR_COMM_FAILURE;
}

void sm_rx_ring_publish(struct sm_rx_ring *ring)
{
    if (ring->published != ring->head) {
        ring->published = ring->head;
        line_publish(ring->line, ring->base + ring->head);
    }
}
