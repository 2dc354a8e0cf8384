#include <config.h>

#include <base/settings/fault.h>
#include <btl/modules/tap.h>
#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_send.h>
#include <errno.h>
#include <string.h>

/* What a message counts for in a window beside its bytes: tiny ones fill a socket's buffer, too. */
enum { MESSAGE_COST = 1024 };

/* ---- transmissions ---- */

struct ofi_tx *ofi_tx_get(struct ofi_module *ofi, ofi_endpoint *peer, enum ofi_op_kind kind)
{
    struct ofi_tx *tx = pool_get(&ofi->txs);

    if (tx) {
        memset(&tx->op, 0, sizeof(*tx) - offsetof(struct ofi_tx, op));
        tx->op.kind = kind;
        tx->peer = peer;
        list_init(&tx->link);
        list_append(&peer->flight, &tx->link);
        ofi->in_flight++;
    }
    return tx;
}

void ofi_tx_put(struct ofi_module *ofi, struct ofi_tx *tx)
{
    list_remove(&tx->link);
    if (tx->peer) {
        tx->peer->cost -= tx->cost;
        tx->peer->starved = false;
    }
    if (tx->control) {
        ofi->controls[ofi->control_count++] = tx->control;
    }
    pool_put(&ofi->txs, tx);
    ofi->in_flight--;
}

int ofi_refused(struct ofi_module *ofi, ofi_endpoint *peer, ssize_t rc)
{
    int status = fabric_status((int) rc);

    if (status == OPAL_ERR_OUT_OF_RESOURCE) {
        ofi->busy++;
        peer->starved = true;
        return status;
    }
    ofi_peer_fail(ofi, peer, (int) rc);
    return OPAL_ERR_UNREACH;
}

/* ---- messages ---- */

void ofi_frame_encode(const ofi_endpoint *peer, uint8_t *out, enum ofi_kind kind, uint8_t channel,
                      uint8_t tag)
{
    struct ofi_header header = {.kind = (uint8_t) kind,
                                .channel = channel,
                                .tag = tag,
                                .sequence = peer->sequence,
                                .index = peer->hello.their_index,
                                .token = peer->hello.token};

    ofi_header_encode(out, &header);
}

static int inject(struct ofi_module *ofi, ofi_endpoint *peer, const void *bytes, size_t size,
                  struct fault fault)
{
    ssize_t rc = fault.action == FAULT_ERROR
                     ? -fault.value
                     : fi_inject(ofi->fabric.ep, bytes, size, peer->address);

    if (rc == 0 && fault.action == FAULT_DUPLICATE) {
        (void) !fi_inject(ofi->fabric.ep, bytes, size, peer->address);
    }
    if (rc != 0) {
        return ofi_refused(ofi, peer, rc);
    }
    peer->sequence++;
    return OPAL_SUCCESS;
}

/* Small: one copy by the provider, and no completion. */
static int send_small(struct ofi_module *ofi, ofi_endpoint *peer,
                      mca_btl_base_descriptor_t *descriptor, uint8_t channel, uint8_t tag,
                      size_t total, struct fault fault)
{
    const struct desc *desc = desc_of(descriptor);
    uint8_t *frame = desc->payload - OFI_HEADER_BYTES;

    /* The header of a send that is not over lies there. */
    if (desc->holds > 0 || descriptor->des_segment_count != 1 ||
        descriptor->des_segments[0].seg_addr.pval != (void *) desc->payload) {
        frame = ofi->scratch;
        desc_gather(frame + OFI_HEADER_BYTES, descriptor->des_segments,
                    descriptor->des_segment_count);
    }
    ofi_frame_encode(peer, frame, OFI_AM, channel, tag);
    return inject(ofi, peer, frame, OFI_HEADER_BYTES + total, fault);
}

/* The frame's pieces: 0 where there are more than the provider takes, or one lies in memory that it
 * does not know. */
static size_t pieces_of(const struct ofi_module *ofi, mca_btl_base_descriptor_t *descriptor,
                        struct iovec iov[MCA_BTL_DES_MAX_SEGMENTS + 1], void **descs)
{
    uint8_t *payload = desc_of(descriptor)->payload;
    size_t count = 1, limit = ofi->fabric.info->tx_attr->iov_limit;
    bool in_place = ofi->super.btl_flags & MCA_BTL_FLAGS_SEND_INPLACE;

    iov[0] = (struct iovec){payload - OFI_HEADER_BYTES, OFI_HEADER_BYTES};
    descs[0] = ofi->fabric.memory_desc;
    for (size_t i = 0; i < descriptor->des_segment_count; i++) {
        const mca_btl_base_segment_t *segment = &descriptor->des_segments[i];
        if (segment->seg_len == 0) {
            continue;
        }
        if (count == 1 && iov[0].iov_len == OFI_HEADER_BYTES &&
            segment->seg_addr.pval == (void *) payload) {
            iov[0].iov_len += segment->seg_len;
            continue;
        }
        iov[count] = (struct iovec){segment->seg_addr.pval, segment->seg_len};
        descs[count++] = ofi->fabric.memory_desc;
    }
    return count <= limit && (count == 1 || in_place) ? count : 0;
}

/* A message that is out before the call returns; nested too deep, its callback waits. */
static int sent(struct ofi_module *ofi, ofi_endpoint *endpoint,
                mca_btl_base_descriptor_t *descriptor)
{
    bool calls = descriptor->des_flags & MCA_BTL_DES_SEND_ALWAYS_CALLBACK;

    if (calls && ofi->depth >= OFI_CALL_DEPTH) {
        struct desc_send *send = desc_send_begin(&ofi->descs, desc_of(descriptor), endpoint);
        if (send) {
            list_append(&ofi->descs.done, &send->link);
            return OPAL_SUCCESS;
        }
    }
    ofi->depth++;
    int status = btl_sent(&ofi->super, endpoint, descriptor);
    ofi->depth--;
    return status;
}

static int send_copy(struct ofi_module *ofi, ofi_endpoint *peer,
                     mca_btl_base_descriptor_t *descriptor, uint8_t channel, uint8_t tag,
                     size_t total, struct fault fault);

static int send_large(struct ofi_module *ofi, ofi_endpoint *peer,
                      mca_btl_base_descriptor_t *descriptor, uint8_t channel, uint8_t tag,
                      size_t total, struct fault fault)
{
    struct iovec iov[MCA_BTL_DES_MAX_SEGMENTS + 1];
    void *descs[MCA_BTL_DES_MAX_SEGMENTS + 1];
    size_t count = pieces_of(ofi, descriptor, iov, descs);

    if (count == 0 || desc_of(descriptor)->holds > 0) {
        return send_copy(ofi, peer, descriptor, channel, tag, total, fault);
    }
    struct ofi_tx *tx = ofi_tx_get(ofi, peer, OFI_OP_SEND);
    if (!tx) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    tx->descriptor = descriptor;
    tx->cost = total + MESSAGE_COST;
    peer->cost += tx->cost;
    ofi_frame_encode(peer, iov[0].iov_base, OFI_AM, channel, tag);
    ssize_t rc = fault.action == FAULT_ERROR
                     ? -fault.value
                     : fi_sendv(ofi->fabric.ep, iov, descs, count, peer->address, &tx->op.context);
    if (rc != 0) {
        ofi_tx_put(ofi, tx);
        return ofi_refused(ofi, peer, rc);
    }
    desc_hold(desc_of(descriptor));
    peer->sequence++;
    return OPAL_SUCCESS;
}

/* As a descriptor of the module's own: this one's headroom has the header of a send that is not
 * over, or its pieces are not for the provider. It is done with inside the call. */
static int send_copy(struct ofi_module *ofi, ofi_endpoint *peer,
                     mca_btl_base_descriptor_t *descriptor, uint8_t channel, uint8_t tag,
                     size_t total, struct fault fault)
{
    mca_btl_base_descriptor_t *copy =
        desc_alloc(&ofi->descs, MCA_BTL_NO_ORDER, total, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);

    if (!copy) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    desc_gather(copy->des_segments[0].seg_addr.pval, descriptor->des_segments,
                descriptor->des_segment_count);
    int status = send_large(ofi, peer, copy, channel, tag, total, fault);
    if (status != OPAL_SUCCESS) {
        (void) desc_free(copy);
        return status;
    }
    return sent(ofi, peer, descriptor);
}

bool ofi_send_fits(const struct ofi_module *ofi, const ofi_endpoint *peer, size_t total)
{
    return ofi->window == 0 || peer->cost == 0 || peer->cost + total + MESSAGE_COST <= ofi->window;
}

int ofi_channel_send(mca_btl_base_module_t *btl, ofi_endpoint *endpoint,
                     mca_btl_base_descriptor_t *descriptor, uint8_t channel, mca_btl_base_tag_t tag)
{
    struct ofi_module *ofi = ofi_of(btl);
    size_t total;
    int status = desc_total(descriptor, btl->btl_max_send_size, &total);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    ofi_endpoint *peer = endpoint;
    if (!btl_peer_connected(&ofi->peers, &peer->life, &status)) {
        return status;
    }
    if (!ofi_send_fits(ofi, peer, total)) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    struct fault fault = fault_at("btl.ofi.send");
    if (fault.action == FAULT_DROP) { /* as a provider does: it takes it, and fails later */
        ofi_peer_fail(ofi, peer, ETIMEDOUT);
        return sent(ofi, endpoint, descriptor);
    }
    if (OFI_HEADER_BYTES + total > ofi->inject) {
        return send_large(ofi, peer, descriptor, channel, tag, total, fault);
    }
    status = send_small(ofi, peer, descriptor, channel, tag, total, fault);
    return status == OPAL_SUCCESS ? sent(ofi, endpoint, descriptor) : status;
}

int ofi_channel_sendi(mca_btl_base_module_t *btl, ofi_endpoint *endpoint,
                      opal_convertor_t *convertor, void *header, size_t header_size,
                      size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                      mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
    struct ofi_module *ofi = ofi_of(btl);
    size_t room = ofi->inject > OFI_HEADER_BYTES ? ofi->inject - OFI_HEADER_BYTES : 0;
    ofi_endpoint *peer = endpoint;
    bool lacks = (payload_size > 0 && !convertor) || (header_size > 0 && !header);

    if (lacks || channel > KEEL_BTL_CHANNEL_MAX || peer->life.state != PEER_UP || room == 0 ||
        header_size > room || payload_size > room - header_size || fault_enabled) {
        return btl_sendi_by_send_on(btl, endpoint, convertor, header, header_size, payload_size,
                                    order, flags, channel, tag, descriptor);
    }
    size_t start = convertor ? convertor->bytes_converted : 0;
    uint8_t *at = ofi->scratch + OFI_HEADER_BYTES;
    if (header_size > 0) {
        memcpy(at, header, header_size);
    }
    int status = OPAL_ERR_BAD_PARAM;
    if (payload_size == 0 ||
        opal_convertor_pack_bytes(convertor, at + header_size, payload_size) == payload_size) {
        ofi_frame_encode(peer, ofi->scratch, OFI_AM, channel, tag);
        status = inject(ofi, peer, ofi->scratch, OFI_HEADER_BYTES + header_size + payload_size,
                        (struct fault){FAULT_NONE, 0});
    }
    if (status != OPAL_SUCCESS && convertor) {
        opal_convertor_set_position(convertor, &start);
    }
    if (descriptor) {
        *descriptor =
            status == OPAL_ERR_OUT_OF_RESOURCE
                ? btl_own(btl)->btl_alloc(btl, endpoint, order, header_size + payload_size, flags)
                : NULL;
    }
    return status;
}

/* ---- control ---- */

int ofi_send_bytes(struct ofi_module *ofi, ofi_endpoint *peer, const uint8_t *bytes, size_t size)
{
    struct ofi_tx *tx = ofi_tx_get(ofi, peer, OFI_OP_CONTROL);

    if (!tx) {
        return OPAL_ERR_OUT_OF_RESOURCE;
    }
    ssize_t rc = ofi->fabric.ep ? -FI_EAGAIN : -FI_ESHUTDOWN;
    if (ofi->fabric.ep && ofi->control_count > 0) {
        tx->control = ofi->controls[--ofi->control_count];
        memcpy(tx->control, bytes, size);
        rc = fi_send(ofi->fabric.ep, tx->control, size, ofi->fabric.memory_desc, peer->address,
                     &tx->op.context);
    }
    if (rc != 0) {
        ofi_tx_put(ofi, tx);
        return fabric_status((int) rc);
    }
    return OPAL_SUCCESS;
}

int ofi_send_control(struct ofi_module *ofi, ofi_endpoint *peer, enum ofi_kind kind)
{
    uint8_t frame[OFI_HEADER_BYTES];

    ofi_frame_encode(peer, frame, kind, 0, 0);
    int status = ofi_send_bytes(ofi, peer, frame, sizeof(frame));
    if (status == OPAL_SUCCESS && kind == OFI_BYE) {
        peer->sequence++;
    }
    return status;
}

/* ---- completion ---- */

void ofi_send_completed(struct ofi_module *ofi, struct ofi_tx *tx, int status)
{
    mca_btl_base_descriptor_t *descriptor = tx->descriptor;
    ofi_endpoint *peer = tx->peer;

    ofi_tx_put(ofi, tx);
    if (!descriptor) {
        return;
    }
    if (peer) {
        desc_complete(&ofi->super, peer, desc_of(descriptor), status);
    } else {
        desc_release(desc_of(descriptor));
    }
}

void ofi_send_abandon(struct ofi_module *ofi, struct ofi_tx *tx, int status)
{
    mca_btl_base_descriptor_t *descriptor = tx->descriptor;
    ofi_endpoint *peer = tx->peer;

    list_remove(&tx->link);
    tx->peer->cost -= tx->cost;
    tx->peer = NULL;
    list_append(&ofi->abandoned, &tx->link);
    if (tx->op.kind == OFI_OP_RDMA) {
        ofi_native_abandon(ofi, tx, peer, status);
    } else if (descriptor) {
        btl_complete(&ofi->super, peer, descriptor, status);
    }
}
