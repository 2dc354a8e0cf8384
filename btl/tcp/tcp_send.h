/* Items: what is queued to be written to a link; messages, their order and their completion. */
#ifndef BTL_TCP_SEND_H
#define BTL_TCP_SEND_H

#include <btl/tcp/tcp_endpoint.h>

enum tcp_item_kind {
    TCP_ITEM_SEND,   /* an active message */
    TCP_ITEM_ASK,    /* a piece of my put (with data) or get */
    TCP_ITEM_ANSWER, /* to the peer's put or get; with data for a get */
};

/* Header, segments and trailer are written one after another, as one piece. */
struct tcp_item {
    struct list link;
    enum tcp_item_kind kind;
    uint8_t header[TCP_HEADER_MAX];
    uint8_t trailer[TCP_DONE_BYTES];
    size_t header_size, trailer_size;
    const mca_btl_base_segment_t *segments;
    size_t segment_count;
    size_t total;                          /* bytes in all */
    size_t sent;                           /* of which so many are written */
    uint16_t sequence;                     /* of its header's frame, once it is being written */
    bool twice;                            /* a fault point wants it written a second time */
    mca_btl_base_descriptor_t *descriptor; /* SEND */
    bool promised;                         /* SEND: counts as sent for its sender */
    unsigned slot;                         /* ASK: mine */
    mca_btl_base_segment_t data;           /* ASK and ANSWER: the only segment */
    bool from_region;                      /* ANSWER: data is read from a region of mine, */
    struct tcp_frame ask;                  /* for this request, checked again at each write */
};

/* An item without a body, at the end of neither list. NULL: no memory. */
struct tcp_item *tcp_item_create(struct tcp_module *tcp, enum tcp_item_kind kind,
                                 const struct tcp_frame *frame);
/* Gives it a body that is one segment. */
void tcp_item_set_data(struct tcp_item *item, void *data, size_t size);
/* An item is written: keeps the books; a message waits in done for tcp_send_complete. */
void tcp_item_written(tcp_endpoint *ep, struct tcp_item *item);

/* As in struct btl_ext_ops. */
int tcp_channel_send(mca_btl_base_module_t *btl, tcp_endpoint *ep,
                     mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                     mca_btl_base_tag_t tag);
/* A message of size bytes would not find the queue full. */
bool tcp_send_has_room(const tcp_endpoint *ep, size_t size);
/* Calls back what is in done; returns how many. */
int tcp_send_complete(tcp_endpoint *ep);
/* Ends all queued items: messages call back with status. */
void tcp_send_fail(tcp_endpoint *ep, int status);

#endif
