#include <config.h>

#include <btl/sm/ring.h>
#include <string.h>

_Static_assert(sizeof(struct sm_slot) == SM_SLOT_BYTES, "a slot is a cache line");
_Static_assert(sizeof(struct sm_line) == 2 * SM_SLOT_BYTES, "each word has a cache line");
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

/* Consumer to producer: what was written for a put is there when its end is seen. */
static void puts_publish(struct sm_line *line, uint64_t puts)
{
    atomic_store_explicit(&line->puts, puts, memory_order_release);
}

static uint64_t puts_observe(const struct sm_line *line)
{
    return atomic_load_explicit(&line->puts, memory_order_acquire);
}

/* Between one side that tells and looks, and the other that does so. */
static void each_sees_the_other(void)
{
    atomic_thread_fence(memory_order_seq_cst);
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

size_t sm_ring_bytes(uint32_t count)
{
    return ((size_t) count + 1) * sizeof(struct sm_slot);
}

void sm_tx_ring_init(struct sm_tx_ring *ring, struct sm_slot *slots, uint32_t count,
                     const struct sm_line *line)
{
    *ring = (struct sm_tx_ring){.slots = slots,
                                .line = line,
                                .count = count,
                                .base = line_observe(line),
                                .puts_base = puts_observe(line)};
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

void sm_tx_ring_recall(struct sm_tx_ring *ring)
{
    atomic_store_explicit(&ring->slots[ring->count].head, ring->tail, memory_order_relaxed);
    each_sees_the_other();
}

uint64_t sm_tx_ring_puts(const struct sm_tx_ring *ring)
{
    return puts_observe(ring->line) - ring->puts_base;
}

static int reserve_refreshed(struct sm_tx_ring *ring, uint32_t slots)
{
    int status = sm_tx_ring_refresh(ring);
    if (status < 0) {
        return status;
    }
    bool room = ring->tail - ring->consumed + slots <= ring->count;
    return room ? ORTE_SUCCESS : ORTE_ERR_OUT_OF_RESOURCE;
}

static inline int reserve(struct sm_tx_ring *ring, uint32_t slots)
{
    return ring->tail - ring->consumed + slots <= ring->count ? ORTE_SUCCESS
                                                              : reserve_refreshed(ring, slots);
}

int sm_tx_ring_room(struct sm_tx_ring *ring, size_t length)
{
    return reserve(ring, slots_of(length));
}

static struct sm_slot *slot_at(struct sm_tx_ring *ring, uint64_t position)
{
    return &ring->slots[position & (ring->count - 1)];
}

/* The shortest messages are the commonest, and a call costs as much as their bytes. */
static void copy_part(uint8_t *dest, const void *source, size_t length)
{
    if (length == sizeof(uint64_t)) {
        memcpy(dest, source, sizeof(uint64_t));
    } else if (length > 0) {
        memcpy(dest, source, length);
    }
}

static void gather(uint8_t *dest, const struct iovec *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        copy_part(dest, parts[i].iov_base, parts[i].iov_len);
        dest += parts[i].iov_len;
    }
}

static uint8_t kind_of(enum sm_kind kind, uint8_t channel)
{
    return (uint8_t) (kind | channel << SM_CHANNEL_SHIFT);
}

/* A message of more than one slot; the first one's head comes last of all. */
static int put_slots(struct sm_tx_ring *ring, uint8_t channel, uint8_t tag,
                     const struct iovec *parts, size_t count, size_t length)
{
    uint8_t bytes[SM_INLINE_MAX];
    uint32_t slots = slots_of(length);
    int status = reserve(ring, slots);
    if (status < 0) {
        return status;
    }
    gather(bytes, parts, count);
    for (size_t done = SM_SLOT_PAYLOAD; done < length; done += SM_SLOT_PAYLOAD) {
        uint64_t position = ring->tail + done / SM_SLOT_PAYLOAD;
        struct sm_slot *slot = slot_at(ring, position);
        size_t piece = length - done < SM_SLOT_PAYLOAD ? length - done : SM_SLOT_PAYLOAD;
        memcpy(slot->bytes, bytes + done, piece);
        atomic_store_explicit(&slot->head, head_of(position, 0, 0, SM_MORE), memory_order_relaxed);
    }
    struct sm_slot *first = slot_at(ring, ring->tail);
    memcpy(first->bytes, bytes, SM_SLOT_PAYLOAD);
    slot_publish(first, head_of(ring->tail, length, tag, kind_of(SM_INLINE, channel)));
    ring->tail += slots;
    return ORTE_SUCCESS;
}

int sm_tx_ring_inline(struct sm_tx_ring *ring, uint8_t channel, uint8_t tag,
                      const struct iovec *parts, size_t count, size_t length)
{
    if (length > SM_SLOT_PAYLOAD) {
        return put_slots(ring, channel, tag, parts, count, length);
    }
    int status = reserve(ring, 1);
    if (status < 0) {
        return status;
    }
    struct sm_slot *slot = slot_at(ring, ring->tail);
    gather(slot->bytes, parts, count);
    slot_publish(slot, head_of(ring->tail, length, tag, kind_of(SM_INLINE, channel)));
    ring->tail++;
    return ORTE_SUCCESS;
}

int sm_tx_ring_fragment(struct sm_tx_ring *ring, uint8_t channel, uint8_t tag, uint64_t offset,
                        uint64_t length, uint64_t *position)
{
    int status = reserve(ring, 1);
    if (status < 0) {
        return status;
    }
    struct sm_slot *slot = slot_at(ring, ring->tail);
    atomic_store_explicit(&slot->fragment.offset, offset, memory_order_relaxed);
    atomic_store_explicit(&slot->fragment.length, length, memory_order_relaxed);
    slot_publish(slot, head_of(ring->tail, 0, tag, kind_of(SM_FRAGMENT, channel)));
    *position = ring->tail++;
    return ORTE_SUCCESS;
}

void sm_tx_ring_repeat(struct sm_tx_ring *ring, uint64_t position)
{
    const struct sm_slot *from = slot_at(ring, position);
    if (position == ring->tail || reserve(ring, 1) != ORTE_SUCCESS) {
        return;
    }
    struct sm_slot *to = slot_at(ring, ring->tail);
    memcpy(to->bytes, from->bytes, sizeof(to->bytes));
    slot_publish(to, slot_observe(from));
}

void sm_rx_ring_init(struct sm_rx_ring *ring, const struct sm_slot *slots, uint32_t count,
                     struct sm_line *line)
{
    *ring = (struct sm_rx_ring){
        .slots = slots, .line = line, .count = count, .base = line_observe(line)};
}

static const struct sm_slot *slot_behind(const struct sm_rx_ring *ring, uint32_t distance)
{
    return &ring->slots[(ring->head + distance) & (ring->count - 1)];
}

/* Copies the payload out of the slots, so that it cannot change under its reader. */
static void take_bytes(const struct sm_rx_ring *ring, struct sm_message *message)
{
    memcpy(message->data, slot_behind(ring, 0)->bytes, SM_SLOT_PAYLOAD);
    for (uint32_t i = 1; i < message->slots; i++) {
        memcpy(message->data + (size_t) i * SM_SLOT_PAYLOAD, slot_behind(ring, i)->bytes,
               SM_SLOT_PAYLOAD);
    }
}

int sm_rx_ring_next(const struct sm_rx_ring *ring, struct sm_message *message)
{
    const struct sm_slot *slot = slot_behind(ring, 0);
    uint64_t head = slot_observe(slot);
    if ((uint32_t) (head >> 32) != (uint32_t) (ring->head + 1)) {
        return 0;
    }
    uint8_t kind = (uint8_t) head;
    message->tag = (uint8_t) (head >> 8);
    message->length = (uint16_t) (head >> 16);
    message->channel = kind >> SM_CHANNEL_SHIFT;
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

bool sm_rx_ring_put_begins(struct sm_rx_ring *ring)
{
    const struct sm_slot *behind = &ring->slots[ring->count];
    uint64_t puts = puts_observe(ring->line);
    puts_publish(ring->line, puts + 1);
    each_sees_the_other();
    bool stands = ring->head >= atomic_load_explicit(&behind->head, memory_order_relaxed);
    if (!stands) {
        puts_publish(ring->line, puts);
    }
    return stands;
}

void sm_rx_ring_put_ends(struct sm_rx_ring *ring)
{
    puts_publish(ring->line, puts_observe(ring->line) + 1);
}

void sm_rx_ring_publish(struct sm_rx_ring *ring)
{
    if (ring->published != ring->head) {
        ring->published = ring->head;
        line_publish(ring->line, ring->base + ring->head);
    }
}
