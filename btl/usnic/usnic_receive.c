#include <config.h>

#include <btl/usnic/usnic_control.h>
#include <btl/usnic/usnic_faults.h>
#include <btl/usnic/usnic_receive.h>
#include <btl/usnic/usnic_send.h>
#include <string.h>

/* ---- packets ---- */

/* A packet that is of no session that there is. */
static void stray(struct usnic_module *usnic, usnic_endpoint *peer,
                  const struct usnic_header *header)
{
    if (peer && usnic_is_over(peer, header->token)) {
        usnic_say_over_again(peer);
    } else {
        usnic_drop(usnic, &usnic->counts.strangers, "of a sender that has proved nothing");
    }
}

bool usnic_receive(struct usnic_module *usnic, struct usnic_rx *rx, uint8_t *bytes, size_t size)
{
    struct usnic_header header;

    if (size > 0 && bytes[0] >= USNIC_CONTROL_FIRST) {
        usnic_control_received(usnic, bytes, size);
        return false;
    }
    if (!usnic_header_decode(&header, bytes, size)) {
        usnic_drop(usnic, &usnic->counts.unsound, "cut, or none");
        return false;
    }
    usnic_endpoint *peer = roster_at(usnic->peers.roster, header.index);
    bool flows = peer && peer->flows;
    if (!usnic_packet_is_sound(bytes, size, flows && peer->flow.params.checksum)) {
        usnic_drop(usnic, &usnic->counts.unsound, "its checksum is wrong");
        return false;
    }
    if (!flows || !btl_handshake_proves(&peer->hello, header.token)) {
        stray(usnic, peer, &header);
        return false;
    }
    usnic_peer_proved(peer);
    usnic_check_heard(&peer->check);
    rx->packet.data = bytes;
    rx->packet.size = (uint32_t) size;
    return usnic_flow_received(&usnic->engine, &peer->flow, &rx->packet, usnic->now_us);
}

static bool received(void *arg, struct fabric_rx *super, uint8_t *bytes, size_t size)
{
    struct usnic_module *usnic = arg;
    struct usnic_rx *rx = (struct usnic_rx *) (void *) super;

    return usnic->faults ? usnic_faults_receive(usnic, rx, bytes, size)
                         : usnic_receive(usnic, rx, bytes, size);
}

/* The provider has let go of a packet, or of a control frame. */
static void sent(void *arg, void *owner)
{
    struct usnic_module *usnic = arg;
    struct usnic_control *control = owner;

    if (control >= usnic->controls && control < usnic->controls + USNIC_CONTROLS) {
        list_append(&usnic->free_controls, &control->link);
    } else if (owner != usnic->faults) {
        usnic_engine_sent(&usnic->engine, owner);
    }
}

const struct usnic_port_user usnic_port_user = {.received = received, .sent = sent};

/* ---- messages ---- */

static void protocol_broken(usnic_endpoint *peer)
{
    btl_peer_break(&peer->life, OPAL_ERR_UNREACH, "a frame that breaks the protocol");
}

/* BYE is empty, and the last message. */
static bool end_allows(const usnic_endpoint *peer, uint8_t channel, size_t size)
{
    return !peer->end.heard && (channel != USNIC_CHANNEL_BYE || size == 0);
}

static void deliver(void *arg, struct usnic_flow *flow, uint8_t channel, uint8_t tag, void *data,
                    size_t size)
{
    struct usnic_module *usnic = arg;
    usnic_endpoint *peer = container_of(flow, usnic_endpoint, flow);
    mca_btl_base_segment_t segment = {.seg_addr.pval = data, .seg_len = size};

    if (!end_allows(peer, channel, size)) {
        protocol_broken(peer);
    } else if (channel == USNIC_CHANNEL_BYE) {
        usnic_bye_received(peer);
    } else if (channel != BTL_CHANNEL_RDMA) {
        if (!usnic->peers.closing) {
            btl_deliver_on(&usnic->super, btl_peer_added(&peer->life), channel, tag, &segment, 1);
        }
    } else if (peer->life.state != PEER_CLOSING &&
               rdma_am_receive(usnic->am, &peer->am, &segment, 1) != OPAL_SUCCESS) {
        protocol_broken(peer);
    }
}

/* A put of several packets goes straight into its region. */
static bool lands(void *arg, struct usnic_flow *flow, uint8_t channel, uint8_t tag,
                  const void *data, size_t size, size_t total)
{
    usnic_endpoint *peer = container_of(flow, usnic_endpoint, flow);

    (void) arg, (void) tag;
    peer->lands = false;
    if (!end_allows(peer, channel, total)) {
        protocol_broken(peer);
        return false;
    }
    return channel == BTL_CHANNEL_RDMA && peer->life.state != PEER_CLOSING &&
           size >= RDMA_AM_REQUEST_BYTES &&
           rdma_am_begin(&peer->landing, data, size, total - RDMA_AM_REQUEST_BYTES) == OPAL_SUCCESS;
}

static void land(void *arg, struct usnic_flow *flow, const void *data, size_t size, bool last)
{
    struct usnic_module *usnic = arg;
    usnic_endpoint *peer = container_of(flow, usnic_endpoint, flow);
    size_t skip = peer->lands ? 0 : RDMA_AM_REQUEST_BYTES;
    void *to = size > skip ? rdma_am_land(usnic->am, &peer->am, &peer->landing, size - skip) : NULL;

    peer->lands = true;
    if (to) {
        memcpy(to, (const uint8_t *) data + skip, size - skip);
    }
    if (last && peer->life.state != PEER_CLOSING &&
        rdma_am_end(usnic->am, &peer->am, &peer->landing) != OPAL_SUCCESS) {
        protocol_broken(peer);
    }
}

static void release(void *arg, struct usnic_packet *packet)
{
    struct usnic_module *usnic = arg;
    struct usnic_rx *rx = container_of(packet, struct usnic_rx, packet);

    if (!usnic->faults || !usnic_faults_release(usnic, rx)) {
        usnic_port_release(&usnic->port, &rx->super);
    }
}

static void failed(void *arg, struct usnic_flow *flow, const char *why)
{
    (void) arg;
    btl_peer_fail(&container_of(flow, usnic_endpoint, flow)->life, why);
}

const struct usnic_user usnic_engine_user = {
    .transmit = usnic_segment_transmit,
    .packed = usnic_packed,
    .deliver = deliver,
    .lands = lands,
    .land = land,
    .release = release,
    .failed = failed,
};
