#include <config.h>

#include <btl/modules/tap.h>
#include <btl/usnic/usnic_faults.h>
#include <btl/usnic/usnic_send.h>
#include <string.h>

/* ---- packets ---- */

int usnic_bytes_transmit(usnic_endpoint *peer, enum usnic_socket socket, uint8_t *bytes,
                         size_t size, void *owner)
{
    struct usnic_module *usnic = peer->usnic;

    return usnic->faults
               ? usnic_faults_transmit(peer, socket, bytes, size, owner)
               : usnic_port_transmit(&usnic->port, &peer->way, socket, bytes, size, owner);
}

int usnic_segment_transmit(void *arg, struct usnic_flow *flow, enum usnic_channel channel,
                           struct usnic_segment *segment)
{
    struct usnic_module *usnic = arg;
    usnic_endpoint *peer = container_of(flow, usnic_endpoint, flow);
    int taken = usnic_bytes_transmit(
        peer, channel == USNIC_PRIORITY ? USNIC_SOCKET_PRIORITY : USNIC_SOCKET_DATA,
        segment->packet, segment->size, segment);

    if (taken == 1) {
        usnic_engine_sent(&usnic->engine, segment);
    }
    return taken < 0 ? taken : OPAL_SUCCESS;
}

/* ---- messages ---- */

/* It is the caller's again. Callbacks come from progress, so that sends from inside of them do not
 * nest. */
static void out_end(struct usnic_module *usnic, struct usnic_out *out)
{
    list_remove(&out->link);
    out->peer->queued_bytes -= out->message.total;
    pool_put(&usnic->outs, out);
}

void usnic_packed(void *arg, struct usnic_flow *flow, struct usnic_message *message)
{
    struct usnic_module *usnic = arg;
    struct usnic_out *out = container_of(message, struct usnic_out, message);

    (void) flow;
    list_append(&usnic->descs.done, &out->send->link);
    out_end(usnic, out);
}

void usnic_send_fail(usnic_endpoint *peer, int status)
{
    struct usnic_module *usnic = peer->usnic;

    while (!list_empty(&peer->outs)) {
        struct usnic_out *out = container_of(peer->outs.next, struct usnic_out, link);
        struct desc_send *send = out->send;
        out_end(usnic, out);
        desc_send_complete(&usnic->super, &usnic->descs, send, status);
    }
}

/* NULL: there are too many. */
static struct usnic_out *out_begin(struct usnic_module *usnic, usnic_endpoint *peer,
                                   mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                                   uint8_t tag, size_t total)
{
    struct usnic_out *out = pool_get(&usnic->outs);

    if (!out) {
        return NULL;
    }
    out->send = desc_send_begin(&usnic->descs, desc_of(descriptor), peer);
    if (!out->send) {
        pool_put(&usnic->outs, out);
        return NULL;
    }
    out->peer = peer;
    memcpy(out->segments, descriptor->des_segments,
           descriptor->des_segment_count * sizeof(*out->segments));
    out->message = (struct usnic_message){
        .segments = out->segments,
        .count = descriptor->des_segment_count,
        .total = total,
        .channel = channel,
        .tag = tag,
        .priority = descriptor->des_flags & MCA_BTL_DES_FLAGS_PRIORITY,
    };
    list_init(&out->message.link);
    list_init(&out->link);
    list_append(&peer->outs, &out->link);
    peer->queued_bytes += total;
    return out;
}

/* Queues the message, or packs it at once. */
static int message_send(struct usnic_module *usnic, usnic_endpoint *peer,
                        mca_btl_base_descriptor_t *descriptor, uint8_t channel, uint8_t tag,
                        size_t total)
{
    if (peer->queued_bytes > 0 && peer->queued_bytes + total > usnic->params.tx_queue_bytes) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    struct usnic_out *out = out_begin(usnic, peer, descriptor, channel, tag, total);

    if (!out) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    struct desc_send *send = out->send;
    int taken = usnic_flow_send(&usnic->engine, &peer->flow, &out->message, usnic_clock(usnic));
    if (taken == 0) {
        return OPAL_SUCCESS;
    }
    out_end(usnic, out);
    if (taken < 0) {
        desc_send_release(&usnic->descs, send);
        return taken;
    }
    if (descriptor->des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK) {
        list_append(&usnic->descs.done, &send->link);
        return OPAL_SUCCESS;
    }
    desc_send_release(&usnic->descs, send);
    return btl_sent(&usnic->super, peer, descriptor);
}

/* In one packet, with its bytes at this moment, and nothing is kept. */
static int short_send(struct usnic_module *usnic, usnic_endpoint *peer,
                      const mca_btl_base_segment_t *segments, size_t count, size_t total,
                      uint8_t channel, uint8_t tag, uint32_t flags)
{
    struct usnic_message message = {.segments = segments,
                                    .count = count,
                                    .total = total,
                                    .channel = channel,
                                    .tag = tag,
                                    .priority = flags & MCA_BTL_DES_FLAGS_PRIORITY};

    return usnic_flow_send_short(&usnic->engine, &peer->flow, &message, usnic_clock(usnic));
}

static int desc_send_short(struct usnic_module *usnic, usnic_endpoint *peer,
                           mca_btl_base_descriptor_t *descriptor, uint8_t channel, uint8_t tag,
                           size_t total)
{
    struct desc_send *later;
    int status = desc_later_begin(&usnic->descs, desc_of(descriptor), peer, &later);

    if (status == OPAL_SUCCESS) {
        status = short_send(usnic, peer, descriptor->des_segments, descriptor->des_segment_count,
                            total, channel, tag, descriptor->des_flags);
        status =
            desc_later_end(&usnic->super, &usnic->descs, peer, desc_of(descriptor), later, status);
    }
    return status;
}

/* Bytes of a message that fits into a packet. */
static size_t short_bytes(const usnic_endpoint *peer)
{
    return peer->flow.params.mtu - USNIC_HEADER_BYTES - USNIC_RECORD_BYTES;
}

int usnic_channel_send(mca_btl_base_module_t *btl, usnic_endpoint *peer,
                       mca_btl_base_descriptor_t *descriptor, uint8_t channel,
                       mca_btl_base_tag_t tag)
{
    struct usnic_module *usnic = usnic_of(btl);
    size_t total, most = channel == BTL_CHANNEL_RDMA ? usnic->engine.config.max_message
                                                     : btl->btl_max_send_size;
    int status = desc_total(descriptor, most, &total);

    if (status != OPAL_SUCCESS || !btl_peer_connected(&usnic->peers, &peer->life, &status)) {
        return status;
    }
    if (list_empty(&peer->outs) && total <= short_bytes(peer)) {
        status = desc_send_short(usnic, peer, descriptor, channel, tag, total);
        if (status != OPAL_ERR_OUT_OF_RESOURCE) {
            return status;
        }
    }
    return message_send(usnic, peer, descriptor, channel, tag, total);
}

int usnic_send_bye(usnic_endpoint *peer)
{
    return short_send(peer->usnic, peer, NULL, 0, 0, USNIC_CHANNEL_BYE, 0, 0);
}

int usnic_channel_sendi(mca_btl_base_module_t *btl, usnic_endpoint *peer,
                        opal_convertor_t *convertor, void *header, size_t header_size,
                        size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                        mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
    struct usnic_module *usnic = usnic_of(btl);
    uint8_t payload[USNIC_SMALL_PAYLOAD];
    size_t start = convertor ? convertor->bytes_converted : 0;
    bool lacks = (payload_size > 0 && !convertor) || (header_size > 0 && !header);

    if (lacks || peer->life.state != PEER_UP || !list_empty(&peer->outs) ||
        payload_size > sizeof(payload) || header_size + payload_size > short_bytes(peer) ||
        (payload_size > 0 &&
         opal_convertor_pack_bytes(convertor, payload, payload_size) != payload_size)) {
        return btl_sendi_by_send_on(btl, peer, convertor, header, header_size, payload_size, order,
                                    flags, channel, tag, descriptor);
    }
    const mca_btl_base_segment_t segments[] = {{.seg_addr.pval = header, .seg_len = header_size},
                                               {.seg_addr.pval = payload, .seg_len = payload_size}};
    int status =
        short_send(usnic, peer, segments, 2, header_size + payload_size, channel, tag, flags);
    if (status != OPAL_SUCCESS && convertor) {
        opal_convertor_set_position(convertor, &start);
    }
    if (descriptor) {
        *descriptor =
            status == OPAL_ERR_OUT_OF_RESOURCE
                ? btl_own(btl)->btl_alloc(btl, peer, order, header_size + payload_size, flags)
                : NULL;
    }
    return status;
}
