#include <config.h>

#include <btl/tcp/tcp_link.h>
#include <btl/tcp/tcp_send.h>

/* What a queued message counts for beside its bytes, so that tiny ones are bounded too. */
enum { ITEM_COST = 128 };

struct tcp_item *tcp_item_create(struct tcp_module *tcp, enum tcp_item_kind kind,
                                 const struct tcp_frame *frame)
{
    struct tcp_item *item = pool_get(&tcp->items);
    if (!item) {
        return NULL;
    }
    list_init(&item->link);
    item->kind = kind;
    item->header_size = tcp_frame_encode(item->header, frame);
    item->trailer_size = 0;
    item->segment_count = 0;
    item->total = item->header_size;
    item->sent = 0;
    item->sequence = 0;
    item->twice = false;
    item->descriptor = NULL;
    item->promised = false;
    item->from_region = false;
    return item;
}

void tcp_item_set_data(struct tcp_item *item, void *data, size_t size)
{
    item->data.seg_addr.pval = data;
    item->data.seg_len = size;
    item->segments = &item->data;
    item->segment_count = 1;
    item->total += size;
}

static void item_free(struct tcp_module *tcp, struct tcp_item *item)
{
    pool_put(&tcp->items, item);
}

/* A message leaves the queue, one way or the other. */
static void message_left(tcp_endpoint *ep, const struct tcp_item *item)
{
    ep->queued_bytes -= item->total + ITEM_COST;
    if (item->promised) {
        ep->promised--;
    }
}

void tcp_item_written(tcp_endpoint *ep, struct tcp_item *item)
{
    switch (item->kind) {
    case TCP_ITEM_SEND:
        message_left(ep, item);
        list_append(&ep->done, &item->link);
        return;
    case TCP_ITEM_ASK:
        ep->slots[item->slot].sent = true;
        break;
    case TCP_ITEM_ANSWER:
        ep->answers--;
        break;
    }
    item_free(ep->tcp, item);
}

static bool nothing_waits(const tcp_endpoint *ep)
{
    return ep->peer.state == PEER_UP && list_empty(&ep->small) && list_empty(&ep->bulk) &&
           list_empty(&ep->done) && !tcp_link_busy(ep->tcp_link) && ep->tcp_link->error == 0;
}

bool tcp_send_has_room(const tcp_endpoint *ep, size_t size)
{
    size_t limit = ep->tcp->params.tx_queue_bytes;
    size_t cost = TCP_PREFIX_BYTES + size + ITEM_COST;

    return ep->queued_bytes == 0 || (cost <= limit && ep->queued_bytes <= limit - cost);
}

static struct tcp_item *message_queue(tcp_endpoint *ep, mca_btl_base_descriptor_t *descriptor,
                                      uint8_t channel, mca_btl_base_tag_t tag, size_t size)
{
    struct tcp_module *tcp = ep->tcp;
    struct tcp_frame frame = {
        .type = TCP_FRAME_AM, .channel = channel, .tag = tag, .size = (uint32_t) size};

    if (!tcp_send_has_room(ep, size)) {
        return NULL;
    }
    struct tcp_item *item = tcp_item_create(tcp, TCP_ITEM_SEND, &frame);
    if (!item) {
        return NULL;
    }
    item->descriptor = descriptor;
    item->segments = descriptor->des_segments;
    item->segment_count = descriptor->des_segment_count;
    item->total += size;
    /* A module-owned descriptor without a callback: nobody would hear of its failure. */
    item->promised =
        !descriptor->des_cbfunc && (descriptor->des_flags & MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    desc_hold(desc_of(descriptor));
    ep->promised += item->promised;
    ep->queued_bytes += item->total + ITEM_COST;
    list_append(&ep->small, &item->link);
    return item;
}

int tcp_channel_send(mca_btl_base_module_t *btl, tcp_endpoint *ep,
                     mca_btl_base_descriptor_t *descriptor, uint8_t channel, mca_btl_base_tag_t tag)
{
    struct tcp_module *tcp = tcp_of(btl);
    size_t size;

    int status = desc_total(descriptor, btl->btl_max_send_size, &size);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    status = tcp_endpoint_begin(tcp, ep);
    if (status != OPAL_SUCCESS) {
        return status;
    }
    bool at_once = tcp->depth < TCP_CALL_DEPTH && nothing_waits(ep);
    struct tcp_item *item = message_queue(ep, descriptor, channel, tag, size);
    if (!item) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    if (!at_once) {
        tcp_endpoint_want(ep);
        return OPAL_SUCCESS;
    }
    tcp_link_write(ep->tcp_link);
    if (list_empty(&ep->done)) {
        tcp_link_wake(ep->tcp_link);
        return OPAL_SUCCESS;
    }
    list_remove(&item->link);
    item_free(tcp, item);
    desc_release(desc_of(descriptor));
    tcp_enter(tcp);
    status = btl_sent(btl, tcp_endpoint_known_as(ep), descriptor);
    tcp_leave(tcp);
    return status;
}

static void message_complete(tcp_endpoint *ep, struct tcp_item *item, int status)
{
    mca_btl_base_descriptor_t *descriptor = item->descriptor;

    item_free(ep->tcp, item);
    desc_complete(&ep->tcp->super, tcp_endpoint_known_as(ep), desc_of(descriptor), status);
}

int tcp_send_complete(tcp_endpoint *ep)
{
    int events = 0;

    for (struct list *link; (link = list_pop(&ep->done)); events++) {
        message_complete(ep, container_of(link, struct tcp_item, link), OPAL_SUCCESS);
    }
    return events;
}

static void item_fail(tcp_endpoint *ep, struct tcp_item *item, int status)
{
    if (item->kind == TCP_ITEM_SEND) {
        message_left(ep, item);
        message_complete(ep, item, status);
    } else {
        ep->answers -= item->kind == TCP_ITEM_ANSWER;
        item_free(ep->tcp, item);
    }
}

void tcp_send_fail(tcp_endpoint *ep, int status)
{
    tcp_send_complete(ep);
    for (struct list *link; (link = list_pop(&ep->small));) {
        item_fail(ep, container_of(link, struct tcp_item, link), status);
    }
    for (struct list *link; (link = list_pop(&ep->bulk));) {
        item_fail(ep, container_of(link, struct tcp_item, link), status);
    }
}
