#include <config.h>

#include <btl/usnic/engine/order.h>
#include <btl/usnic/engine/window.h>
#include <string.h>

void usnic_order_init(struct usnic_order *order, uint32_t first)
{
    order->count = 0;
    reorder_init(&order->reorder, UINT32_MAX, USNIC_WINDOW_PACKETS - 1, first);
}

static uint32_t ahead_of(const struct usnic_order *order, uint32_t sequence)
{
    return sequence - order->reorder.expected;
}

/* The first range that ends at this number or later. */
static uint32_t find(const struct usnic_order *order, uint32_t sequence)
{
    uint32_t at = order->count, ahead = ahead_of(order, sequence);

    while (at > 0 && ahead_of(order, order->ranges[at - 1].end) >= ahead) {
        at--;
    }
    return at;
}

static void remove_range(struct usnic_order *order, uint32_t at)
{
    order->count--;
    memmove(&order->ranges[at], &order->ranges[at + 1],
            (order->count - at) * sizeof(*order->ranges));
}

static void insert_range(struct usnic_order *order, uint32_t at, uint32_t sequence)
{
    memmove(&order->ranges[at + 1], &order->ranges[at],
            (order->count - at) * sizeof(*order->ranges));
    order->ranges[at] = (struct usnic_range){sequence, sequence + 1};
    order->count++;
}

static bool touches(const struct usnic_order *order, uint32_t at, uint32_t sequence)
{
    return at < order->count &&
           (order->ranges[at].end == sequence || order->ranges[at].first == sequence + 1);
}

/* The number is in none of them. */
static void add(struct usnic_order *order, uint32_t at, uint32_t sequence)
{
    struct usnic_range *range = &order->ranges[at];

    if (!touches(order, at, sequence)) {
        insert_range(order, at, sequence);
    } else if (range->end != sequence) {
        range->first = sequence;
    } else {
        range->end = sequence + 1;
        if (at + 1 < order->count && range[1].first == range->end) {
            range->end = range[1].end;
            remove_range(order, at + 1);
        }
    }
}

/* The packet of an early number. */
static enum reorder_verdict keep(struct usnic_order *order, struct usnic_packet *packet,
                                 uint32_t sequence, bool may_keep)
{
    uint32_t at = find(order, sequence), ahead = ahead_of(order, sequence);

    if (at < order->count && ahead >= ahead_of(order, order->ranges[at].first) &&
        ahead < ahead_of(order, order->ranges[at].end)) {
        return REORDER_AGAIN;
    }
    if (!may_keep || (order->count == USNIC_RANGES && !touches(order, at, sequence))) {
        return REORDER_TOO_FAR;
    }
    enum reorder_verdict verdict = reorder_put(&order->reorder, &packet->frame, sequence);
    if (verdict == REORDER_KEPT) {
        add(order, at, sequence);
    }
    return verdict;
}

enum reorder_verdict usnic_order_take(struct usnic_order *order, struct usnic_packet *packet,
                                      uint32_t sequence, bool may_keep)
{
    uint32_t ahead = ahead_of(order, sequence);

    if (ahead == 0) {
        reorder_step(&order->reorder);
        return REORDER_NOW;
    }
    if (ahead >= USNIC_WINDOW_PACKETS) {
        return ahead > UINT32_MAX / 2 ? REORDER_AGAIN : REORDER_TOO_FAR;
    }
    list_init(&packet->frame.link);
    return keep(order, packet, sequence, may_keep);
}

/* The number, which was the first of a range, is expected no longer. */
static void consume(struct usnic_order *order)
{
    if (++order->ranges[0].first == order->ranges[0].end) {
        remove_range(order, 0);
    }
}

struct usnic_packet *usnic_order_next(struct usnic_order *order)
{
    struct reorder_frame *frame = reorder_next(&order->reorder);

    if (!frame) {
        return NULL;
    }
    consume(order);
    return container_of(frame, struct usnic_packet, frame);
}

struct usnic_packet *usnic_order_drop(struct usnic_order *order)
{
    struct reorder_frame *frame = reorder_drop(&order->reorder);

    order->count = 0;
    return frame ? container_of(frame, struct usnic_packet, frame) : NULL;
}

size_t usnic_order_ranges(const struct usnic_order *order, uint8_t *out)
{
    usnic_ranges_encode(out, usnic_order_expected(order), order->ranges, order->count);
    return order->count;
}
