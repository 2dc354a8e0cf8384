/* The packets that a flow receives, in the order of their sequence numbers: early ones are kept in
 * their receive buffers until it is their turn, and told to the sender in ranges. */
#ifndef BTL_USNIC_ORDER_H
#define BTL_USNIC_ORDER_H

#include <base/data/reorder.h>
#include <btl/usnic/wire/packet.h>

/* A receive buffer with a packet; a part of the port's own record of it. */
struct usnic_packet {
    struct reorder_frame frame;
    uint8_t *data; /* where its header begins */
    uint32_t size;
};

struct usnic_order {
    struct reorder reorder;
    uint32_t count;
    struct usnic_range ranges[USNIC_RANGES]; /* of kept packets, in order, apart */
};

void usnic_order_init(struct usnic_order *order, uint32_t first);
/* NOW: it is to be delivered, then what usnic_order_next returns. KEPT: until its turn. AGAIN: it
 * came before. TOO_FAR: beyond the window, or it would make too many ranges. */
enum reorder_verdict usnic_order_take(struct usnic_order *order, struct usnic_packet *packet,
                                      uint32_t sequence, bool may_keep);
/* The kept packet whose turn has come, no longer kept; NULL: none. */
struct usnic_packet *usnic_order_next(struct usnic_order *order);
/* Any packet that is kept, of a flow that ends; NULL: none. */
struct usnic_packet *usnic_order_drop(struct usnic_order *order);
/* Writes the ranges for an acknowledgement up to now; returns how many. */
size_t usnic_order_ranges(const struct usnic_order *order, uint8_t *out);

static inline uint32_t usnic_order_expected(const struct usnic_order *order)
{
    return order->reorder.expected;
}

#endif
