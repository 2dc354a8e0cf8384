#include <config.h>

#include <base/settings/fault.h>
#include <base/settings/log.h>
#include <btl/ofi/ofi_hello.h>
#include <btl/ofi/ofi_receive.h>

int ofi_receive_open(struct ofi_module *ofi, size_t count, size_t bytes)
{
    int status = fabric_receive_open(&ofi->rx, &ofi->fabric, count, bytes, sizeof(struct ofi_rx));

    for (size_t i = 0; ofi->rx.elements && i < count; i++) {
        list_init(&container_of(fabric_receive_at(&ofi->rx, i), struct ofi_rx, rx)->early.link);
    }
    return status;
}

static void give_back(struct ofi_module *ofi, struct ofi_rx *rx)
{
    fabric_receive_post(&ofi->rx, &rx->rx);
}

void ofi_receive_drop(struct ofi_module *ofi, ofi_endpoint *peer)
{
    for (struct reorder_frame *frame; (frame = reorder_drop(&peer->order));) {
        give_back(ofi, container_of(frame, struct ofi_rx, early));
    }
    reorder_restart(&peer->order, 0);
}

/* ---- frames ---- */

/* A frame whose turn it is. */
static void frame_take(struct ofi_module *ofi, ofi_endpoint *peer, struct ofi_rx *rx)
{
    const struct ofi_header header = ofi_header_decode(rx->rx.bytes);
    mca_btl_base_segment_t segment = {
        .seg_addr.pval = rx->rx.bytes + OFI_HEADER_BYTES,
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
    const struct ofi_header header = ofi_header_decode(rx->rx.bytes);
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
        peer->hello.bye_answered = peer->hello.bye_said;
        return false;
    }
    if (header.kind == OFI_LOST) {
        btl_hello_lost(&ofi->greeter, &peer->life);
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
        give_back(ofi, early);
    }
    return false;
}

void ofi_received(struct ofi_module *ofi, struct fabric_rx *received, size_t size)
{
    struct ofi_rx *rx = container_of(received, struct ofi_rx, rx);

    rx->size = size;
    if (size < OFI_HEADER_BYTES || size > ofi->rx.bytes) {
        drop(ofi, "no header");
    } else if (rx->rx.bytes[0] == OFI_HELLO) {
        ofi->dropped += !btl_hello_received(&ofi->greeter, rx->rx.bytes, size);
    } else if (frame_received(ofi, rx)) {
        return;
    }
    give_back(ofi, rx);
}
