#include <config.h>

#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <btl/ofi/ofi_hello.h>
#include <btl/ofi/ofi_receive.h>
#include <stdlib.h>

enum { CACHE_LINE = 64 };

/* ---- buffers ---- */

static size_t stride_of(size_t bytes)
{
    return (bytes + CACHE_LINE - 1) & ~(size_t) (CACHE_LINE - 1);
}

size_t ofi_receive_room(size_t count, size_t bytes)
{
    return count * stride_of(bytes);
}

int ofi_receive_open(struct ofi_module *ofi, size_t count, size_t bytes)
{
    list_init(&ofi->rx.unposted);
    ofi->rx.buffers = calloc(count, sizeof(*ofi->rx.buffers));
    if (!ofi->rx.buffers) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    ofi->rx.count = count;
    ofi->rx.bytes = bytes;
    for (size_t i = 0; i < count; i++) {
        struct ofi_rx *rx = &ofi->rx.buffers[i];
        rx->op.kind = OFI_OP_RECEIVE;
        rx->bytes = fabric_carve(&ofi->fabric, bytes);
        list_init(&rx->early.link);
        list_init(&rx->link);
        ofi_receive_post(ofi, rx);
    }
    return list_empty(&ofi->rx.unposted) ? OPAL_SUCCESS : OPAL_ERR_OUT_OF_RESOURCE;
}

void ofi_receive_again(struct ofi_module *ofi)
{
    for (size_t i = 0; i < ofi->rx.count; i++) {
        list_remove(&ofi->rx.buffers[i].link);
        ofi_receive_post(ofi, &ofi->rx.buffers[i]);
    }
}

void ofi_receive_close(struct ofi_module *ofi)
{
    free(ofi->rx.buffers);
    ofi->rx.buffers = NULL;
}

void ofi_receive_post(struct ofi_module *ofi, struct ofi_rx *rx)
{
    if (!ofi->fabric.ep || fi_recv(ofi->fabric.ep, rx->bytes, ofi->rx.bytes,
                                   ofi->fabric.memory_desc, FI_ADDR_UNSPEC, &rx->op.context) != 0) {
        list_append(&ofi->rx.unposted, &rx->link);
    }
}

void ofi_receive_repost(struct ofi_module *ofi)
{
    struct list again;

    list_init(&again);
    list_splice(&again, &ofi->rx.unposted);
    for (struct list *link; (link = list_pop(&again));) {
        ofi_receive_post(ofi, container_of(link, struct ofi_rx, link));
    }
}

void ofi_receive_drop(struct ofi_module *ofi, ofi_endpoint *peer)
{
    for (struct reorder_frame *frame; (frame = reorder_drop(&peer->order));) {
        ofi_receive_post(ofi, container_of(frame, struct ofi_rx, early));
    }
    reorder_restart(&peer->order, 0);
}

/* ---- frames ---- */

/* A frame whose turn it is. */
static void frame_take(struct ofi_module *ofi, ofi_endpoint *peer, struct ofi_rx *rx)
{
    const struct ofi_header header = ofi_header_decode(rx->bytes);
    mca_btl_base_segment_t segment = {
        .seg_addr.pval = rx->bytes + OFI_HEADER_BYTES,
        .seg_len = rx->size - OFI_HEADER_BYTES,
    };

    if (header.kind != OFI_AM) {
        ofi_bye_received(ofi, peer);
    } else if (header.channel != BTL_CHANNEL_RDMA) {
        if (!ofi->peers.closing) {
            btl_deliver_on(&ofi->super, btl_peer_added(&peer->life), header.channel, header.tag,
                           &segment, 1);
        }
    } else if (peer->life.state != PEER_CLOSING &&
               rdma_am_receive(ofi->am, &peer->am, &segment, 1) != OPAL_SUCCESS) {
        btl_peer_break(&peer->life, OPAL_ERR_UNREACH, "a frame that breaks the protocol");
    }
}

static bool is_sound(const struct ofi_header *header)
{
    bool is_control =
        header->kind == OFI_BYE || header->kind == OFI_BYE_ACK || header->kind == OFI_LOST;

    return header->kind == OFI_AM || (is_control && header->channel == 0);
}

static void drop(struct ofi_module *ofi, const char *why)
{
    unsigned held = 0;

    ofi->dropped++;
    if (log_rate_ok("ofi frame", &held)) {
        log_info(LOG_BTL, "ofi: dropped a frame: %s (%u more)", why, held);
    }
}

/* True: the buffer is kept until its turn. */
static bool frame_received(struct ofi_module *ofi, struct ofi_rx *rx)
{
    const struct ofi_header header = ofi_header_decode(rx->bytes);
    ofi_endpoint *peer = ofi_peer_of(ofi, &header);
    struct fault fault = fault_at("btl.ofi.recv");

    if (peer && fault.action == FAULT_ERROR) {
        ofi_peer_fail(ofi, peer, (int) fault.value);
        return false;
    }
    if (!peer || !is_sound(&header)) {
        drop(ofi, peer ? "of an unknown kind" : "of a sender that has proved nothing");
        return false;
    }
    if (header.kind == OFI_BYE_ACK) {
        peer->bye_answered = peer->bye_said;
        return false;
    }
    if (header.kind == OFI_LOST) {
        ofi_lost_received(peer);
        return false;
    }
    switch (reorder_put(&peer->order, &rx->early, header.sequence)) {
    case REORDER_NOW:
        break;
    case REORDER_KEPT:
        return true;
    case REORDER_AGAIN:
    case REORDER_TOO_FAR:
        drop(ofi, "out of its sequence");
        return false;
    }
    frame_take(ofi, peer, rx);
    for (struct reorder_frame *frame; (frame = reorder_next(&peer->order));) {
        struct ofi_rx *early = container_of(frame, struct ofi_rx, early);
        frame_take(ofi, peer, early);
        ofi_receive_post(ofi, early);
    }
    return false;
}

void ofi_received(struct ofi_module *ofi, struct ofi_rx *rx, size_t size)
{
    rx->size = size;
    if (size < OFI_HEADER_BYTES || size > ofi->rx.bytes) {
        drop(ofi, "no header");
    } else if (rx->bytes[0] == OFI_HELLO) {
        ofi->dropped += !btl_hello_received(&ofi->greeter, rx->bytes, size);
    } else if (frame_received(ofi, rx)) {
        return;
    }
    ofi_receive_post(ofi, rx);
}
