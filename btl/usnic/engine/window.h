/* The packets that a flow has made and that are not acknowledged: by sequence number, and in the
 * order in which they were sent last. A packet's memory is a segment, which the window holds until
 * it is acknowledged.
 *
 *   IDLE --add--> LOST (or new: to be sent) --sent--> FLIGHT --lose--> LOST
 *   FLIGHT, LOST --acknowledged--> out of the window */
#ifndef BTL_USNIC_WINDOW_H
#define BTL_USNIC_WINDOW_H

#include <base/data/list.h>
#include <btl/usnic/wire/packet.h>

enum { USNIC_WINDOW_PACKETS = 4096 };

enum usnic_segment_state {
    USNIC_IDLE,   /* in no window: free, being filled, or an acknowledgement */
    USNIC_FLIGHT, /* sent */
    USNIC_LOST    /* to be sent (again) */
};

struct usnic_segment {
    struct list link;
    struct usnic_flow *flow; /* whose it is; NULL: nobody's any more */
    uint8_t *packet;         /* the port's prefix lies before it */
    uint16_t size;           /* of the packet */
    uint16_t length;         /* of its records */
    uint16_t charge;         /* bytes that it takes of the receiver's socket buffer */
    uint8_t state;
    bool on_wire;       /* the wire may read it */
    bool resent, again; /* sent more than once; more than twice */
    bool probe;         /* because of a timeout */
    bool bulk;          /* of a message that is too large for the priority channel */
    uint8_t kind;
    uint32_t sequence;
    uint32_t number;       /* among the engine's segments */
    uint64_t stamp, first; /* of the last and the first time that it was sent */
};

/* Bytes of its packet without ranges, which it has as they fit. */
static inline size_t usnic_segment_least(const struct usnic_segment *segment)
{
    return USNIC_HEADER_BYTES + (size_t) segment->length;
}

struct usnic_window {
    struct usnic_segment **ring; /* owned; by sequence number; NULL in it: acknowledged */
    uint32_t slots;              /* a power of two, or 0 */
    uint32_t first, next;        /* not acknowledged: from first to before next */
    uint32_t in_flight;          /* packets */
    uint32_t bulk;               /* of these, bulk */
    size_t charge;               /* of those in flight */
    struct list flight;          /* the one sent longest ago first */
    struct list lost;
};

/* What an acknowledgement did. */
struct usnic_acked {
    uint32_t packets; /* that it was the first to acknowledge */
    size_t charge;
    uint32_t spurious; /* of these, how many were taken for lost and had not been */
    uint64_t late;     /* how long the last of these was under way, by no timeout's fault */
};

void usnic_window_init(struct usnic_window *window, uint32_t first);
/* All segments must be out of it. */
void usnic_window_fini(struct usnic_window *window);
/* Another packet may be added. False: 4096 are not acknowledged, or no memory. */
bool usnic_window_has_room(struct usnic_window *window);
/* Gives the packet the next sequence number; it is to be sent. */
void usnic_window_add(struct usnic_window *window, struct usnic_segment *segment);
/* A packet of the window is sent at this time, later than all before. */
void usnic_window_sent(struct usnic_window *window, struct usnic_segment *segment, uint64_t stamp);
/* A packet of the window is to be sent again, before all others, since its time has run out. */
void usnic_window_resend(struct usnic_window *window, struct usnic_segment *segment);
/* An acknowledgement of what was never sent is not to be taken. */
static inline bool usnic_window_covers(const struct usnic_window *window, uint32_t ack)
{
    return ack - window->first <= window->next - window->first;
}
/* All before ack, which the window covers, and the ranges are received. echo: when the packet was
 * sent that the receiver acknowledged by this. The segments go to the end of done. */
void usnic_window_acked(struct usnic_window *window, uint32_t ack, uint64_t echo, uint64_t now,
                        struct usnic_acked *acked, struct list *done);
void usnic_window_acked_range(struct usnic_window *window, struct usnic_range range, uint64_t echo,
                              uint64_t now, struct usnic_acked *acked, struct list *done);
/* Takes what was sent before newest, and at latest at limit, for lost. Returns how many. */
uint32_t usnic_window_lose(struct usnic_window *window, uint64_t newest, uint64_t limit);
/* The packet that the receiver needs first; NULL: the window is empty. */
struct usnic_segment *usnic_window_first(const struct usnic_window *window);
/* The packet that was sent longest ago; NULL: none is in flight. */
struct usnic_segment *usnic_window_oldest(const struct usnic_window *window);
/* Takes any packet out, of one that ends. NULL: it is empty. */
struct usnic_segment *usnic_window_drop(struct usnic_window *window);
/* Bytes of the largest packet in it, without ranges. */
size_t usnic_window_largest(const struct usnic_window *window);
/* Gives memory back when nothing is in the window. */
void usnic_window_trim(struct usnic_window *window);

static inline bool usnic_window_empty(const struct usnic_window *window)
{
    return window->first == window->next;
}

#endif
