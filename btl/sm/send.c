#include <config.h>

#include <base/data/few.h>
#include <base/settings/fault.h>
#include <btl/modules/tap.h>
#include <btl/sm/module.h>
#include <string.h>

/* A ring of my segment that nobody reads. */
static int ring_take(struct sm_module *module, uint32_t *index)
{
    if (module->free_ring_count > 0) {
        *index = module->free_rings[--module->free_ring_count];
        sm_ring_clear(sm_segment_unit(module->segment, SM_AREA_RINGS, *index),
                      module->params.ring_slots);
        return ORTE_SUCCESS;
    }
    int status = sm_commit(module, SM_AREA_RINGS, module->rings_made + 1);
    if (status == ORTE_SUCCESS) {
        *index = module->rings_made++;
    }
    return status;
}

static void ring_give(struct sm_module *module, uint32_t index)
{
    module->free_rings[module->free_ring_count++] = index;
}

/* Makes the ring to this peer and announces it. */
static int tx_start(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_tx *tx = &endpoint->tx;
    struct sm_peer *peer = endpoint->peer;
    int status = ring_take(module, &tx->ring_index);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    struct sm_slot *slots = sm_segment_unit(module->segment, SM_AREA_RINGS, tx->ring_index);
    struct sm_announcement announcement = {
        .jobid = module->peers.me.jobid,
        .vpid = module->peers.me.vpid,
        .ring_offset = (uint64_t) ((unsigned char *) slots - module->segment->base),
        .ring_slots = module->params.ring_slots,
        .claimed = endpoint->am.asked - 1, /* this send may be a request already */
    };
    sm_card_encode(announcement.card, &module->segment->card);
    status = sm_board_announce(peer->board, peer->shape.peers, module->local_rank, &announcement,
                               &tx->claim);
    if (status != ORTE_SUCCESS) {
        ring_give(module, tx->ring_index);
        return status;
    }
    sm_tx_ring_init(&tx->ring, slots, module->params.ring_slots, &peer->lines[tx->claim.index]);
    tx->sleeps = sm_ringer_word(&peer->ringer);
    tx->hush = sm_ringer_hush(&peer->ringer);
    sm_help_init(module, endpoint);
    tx->open = tx->ready = true;
    return ORTE_SUCCESS;
}

static void tx_wait(struct sm_module *module, struct sm_tx *tx)
{
    if (list_empty(&tx->link)) {
        list_append(&module->waiting, &tx->link);
    }
}

/* What a send returns after the ring refused it. */
static int tx_refused(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                      int status)
{
    if (status == ORTE_ERR_OUT_OF_RESOURCE) {
        module->counts.stalls += !endpoint->tx.stalled;
        endpoint->tx.stalled = true;
        tx_wait(module, &endpoint->tx);
        return status;
    }
    sm_endpoint_fail(module, endpoint, true, "it broke the rules of the ring that it reads");
    return ORTE_ERR_OUT_OF_RESOURCE;
}

/* Opens the ring on first use. */
static int tx_open(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    int status = sm_endpoint_open(module, endpoint);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    status = tx_start(module, endpoint);
    if (status == ORTE_ERR_UNREACH) {
        sm_endpoint_fail(module, endpoint, false, "it has closed its segment");
        status = ORTE_ERR_OUT_OF_RESOURCE;
    }
    return status;
}

/* Ready to send? */
static inline int tx_ready(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    return endpoint->tx.ready ? ORTE_SUCCESS : tx_open(module, endpoint);
}

static __attribute__((noinline)) void ring_reader(struct mca_btl_base_endpoint_t *endpoint)
{
    sm_ringer_ring(&endpoint->peer->ringer);
    endpoint->tx.hush = sm_ringer_hush(&endpoint->peer->ringer);
}

/* After a message was published. */
static inline void wake_reader(struct mca_btl_base_endpoint_t *endpoint)
{
    if (sm_hush_ends(endpoint->tx.sleeps, endpoint->tx.hush)) {
        ring_reader(endpoint);
    }
}

/* Publishes a message whose bytes are in the ring. */
static inline void publish(struct mca_btl_base_endpoint_t *endpoint, uint8_t channel, uint8_t tag,
                           size_t length)
{
    sm_tx_ring_publish(&endpoint->tx.ring, SM_INLINE, channel, tag, length);
    wake_reader(endpoint);
    sm_tx_ring_expect(&endpoint->tx.ring, length);
}

static int send_inline(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                       struct desc *desc, uint8_t channel, uint8_t tag, size_t total)
{
    struct desc_send *later;
    int status = sm_tx_ring_room(&endpoint->tx.ring, total);
    if (status != ORTE_SUCCESS) {
        return tx_refused(module, endpoint, status);
    }
    status = desc_later_begin(&module->descs, desc, endpoint, &later);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    desc_gather(sm_tx_ring_bytes(&endpoint->tx.ring, total), desc->base.des_segments,
                desc->base.des_segment_count);
    publish(endpoint, channel, tag, total);
    return desc_later_end(&module->super, &module->descs, endpoint, desc, later, OPAL_SUCCESS);
}

/* Whether all that is to be sent lies in the descriptor's own fragment. */
static bool lies_in_fragment(const struct desc *desc)
{
    if (desc->base.des_segment_count != 1) {
        return false;
    }
    uintptr_t start = (uintptr_t) desc->payload;
    uintptr_t at = (uintptr_t) desc->base.des_segments[0].seg_addr.pval;
    return at >= start && at - start <= desc->capacity &&
           desc->base.des_segments[0].seg_len <= desc->capacity - (at - start);
}

static int send_fragment(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                         struct desc *desc, uint8_t channel, uint8_t tag)
{
    struct sm_tx *tx = &endpoint->tx;
    const unsigned char *bytes = desc->base.des_segments[0].seg_addr.pval;
    struct desc_send *send = desc_send_begin(&module->descs, desc, endpoint);
    if (!send) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    int status =
        sm_tx_ring_fragment(&tx->ring, channel, tag, (uint64_t) (bytes - module->segment->base),
                            desc->base.des_segments[0].seg_len, &send->position);
    if (status != ORTE_SUCCESS) {
        desc_send_release(&module->descs, send);
        return tx_refused(module, endpoint, status);
    }
    wake_reader(endpoint);
    list_append(&tx->inflight, &send->link);
    tx_wait(module, tx);
    return OPAL_SUCCESS;
}

/* Segments that lie elsewhere are copied to a fragment of the module's; the caller's descriptor is
 * done with that. */
static int send_copy(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                     struct desc *desc, uint8_t channel, uint8_t tag, size_t total)
{
    struct desc_send *later;
    int status = desc_later_begin(&module->descs, desc, endpoint, &later);
    if (status != ORTE_SUCCESS) {
        return status;
    }
    mca_btl_base_descriptor_t *copy = btl_own(&module->super)
                                          ->btl_alloc(&module->super, endpoint, MCA_BTL_NO_ORDER,
                                                      total, MCA_BTL_DES_FLAGS_BTL_OWNERSHIP);
    status = ORTE_ERR_OUT_OF_RESOURCE;
    if (copy) {
        desc_gather(copy->des_segments[0].seg_addr.pval, desc->base.des_segments,
                    desc->base.des_segment_count);
        status = send_fragment(module, endpoint, desc_of(copy), channel, tag);
    }
    if (status < 0) {
        (void) desc_free(copy);
    }
    return desc_later_end(&module->super, &module->descs, endpoint, desc, later, status);
}

static inline int send_sound(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                             struct desc *desc, uint8_t channel, uint8_t tag, size_t total)
{
    if (total <= module->params.inline_limit) {
        return send_inline(module, endpoint, desc, channel, tag, total);
    }
    return lies_in_fragment(desc) ? send_fragment(module, endpoint, desc, channel, tag)
                                  : send_copy(module, endpoint, desc, channel, tag, total);
}

static int send_faulty(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                       struct desc *desc, uint8_t channel, uint8_t tag, size_t total)
{
    struct fault fault = fault_at("btl.sm.send");
    uint64_t position = endpoint->tx.ring.tail;
    if (fault.action == FAULT_ERROR) {
        return ORTE_ERR_OUT_OF_RESOURCE;
    }
    if (fault.action == FAULT_DROP) { /* taken, and never to be seen */
        struct desc_send *later;
        int prepared = desc_later_begin(&module->descs, desc, endpoint, &later);
        if (prepared != ORTE_SUCCESS) {
            return prepared;
        }
        sm_endpoint_fail(module, endpoint, true, "a message to it was lost");
        return desc_later_end(&module->super, &module->descs, endpoint, desc, later, OPAL_SUCCESS);
    }
    int status = send_sound(module, endpoint, desc, channel, tag, total);
    if (status >= 0 && fault.action == FAULT_DUPLICATE) {
        sm_tx_ring_repeat(&endpoint->tx.ring, position);
    }
    return status;
}

int sm_channel_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                    mca_btl_base_descriptor_t *descriptor, uint8_t channel, mca_btl_base_tag_t tag)
{
    struct sm_module *module = sm_of(btl);
    size_t total;
    struct desc *desc = desc_of(descriptor);
    int status = desc_total(descriptor, module->super.btl_max_send_size, &total);
    if (status == OPAL_SUCCESS) {
        status = tx_ready(module, endpoint);
    }
    if (status != OPAL_SUCCESS) {
        return status;
    }
    return fault_enabled ? send_faulty(module, endpoint, desc, channel, tag, total)
                         : send_sound(module, endpoint, desc, channel, tag, total);
}

int sm_send(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
            mca_btl_base_descriptor_t *descriptor, mca_btl_base_tag_t tag)
{
    return sm_channel_send(btl, endpoint, descriptor, 0, tag);
}

enum { FIRST_BYTES = SM_LINE_BYTES - sizeof(uint64_t) };

/* The beginning of long ones comes last: the reader polls their first line, and would take it away
 * before its head is written. */
static inline void copy(uint8_t *to, const void *from, size_t size)
{
    if (size > FIRST_BYTES) {
        const uint8_t *bytes = from;
        memcpy(to + FIRST_BYTES, bytes + FIRST_BYTES, size - FIRST_BYTES);
        atomic_signal_fence(memory_order_seq_cst);
        memcpy(to, bytes, FIRST_BYTES);
    } else {
        copy_few(to, from, size);
    }
}

/* The convertor's next bytes; false: it has less, and is where it was. */
static inline bool pack(uint8_t *to, opal_convertor_t *convertor, size_t size)
{
    size_t together = size, start = convertor->bytes_converted;
    const void *from = opal_convertor_current(convertor, &together);
    if (together == size) {
        copy(to, from, size);
        start += size;
        opal_convertor_set_position(convertor, &start);
        return true;
    }
    bool whole = opal_convertor_pack_bytes(convertor, to, size) == size;
    if (!whole) {
        opal_convertor_set_position(convertor, &start);
    }
    return whole;
}

/* Header and payload straight from where they lie to the ring's slots. */
__attribute__((always_inline)) static inline int
sendi_inline(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
             opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
             uint8_t channel, uint8_t tag)
{
    struct sm_tx_ring *ring = &endpoint->tx.ring;
    int status = sm_tx_ring_room(ring, header_size + payload_size);
    if (status != ORTE_SUCCESS) {
        return tx_refused(module, endpoint, status);
    }
    uint8_t *to = sm_tx_ring_bytes(ring, header_size + payload_size);
    if (payload_size > 0 && !pack(to + header_size, convertor, payload_size)) {
        return OPAL_ERR_BAD_PARAM;
    }
    copy(to, header, header_size);
    publish(endpoint, channel, tag, header_size + payload_size);
    return ORTE_SUCCESS;
}

static __attribute__((noinline)) int
sendi_any(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
          opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
          uint8_t order, uint32_t flags, uint8_t channel, mca_btl_base_tag_t tag,
          mca_btl_base_descriptor_t **descriptor)
{
    struct sm_module *module = sm_of(btl);
    size_t limit = module->params.inline_limit;
    if (header_size > limit || payload_size > limit - header_size || fault_enabled) {
        return btl_sendi_by_send_on(btl, endpoint, convertor, header, header_size, payload_size,
                                    order, flags, channel, tag, descriptor);
    }
    bool lacks = (payload_size > 0 && !convertor) || (header_size > 0 && !header) ||
                 channel > KEEL_BTL_CHANNEL_MAX;
    int status = lacks ? OPAL_ERR_BAD_PARAM : tx_ready(module, endpoint);
    if (status == ORTE_SUCCESS) {
        status = sendi_inline(module, endpoint, convertor, header, header_size, payload_size,
                              channel, tag);
    }
    if (descriptor) {
        *descriptor =
            status == ORTE_ERR_OUT_OF_RESOURCE
                ? btl_own(btl)->btl_alloc(btl, endpoint, order, header_size + payload_size, flags)
                : NULL;
    }
    return status;
}

/* What most messages need: the header is all, and there is room for it. Without the cases of the
 * others around it, it keeps all in registers. */
static inline bool sendi_header(const struct sm_module *module,
                                struct mca_btl_base_endpoint_t *endpoint, const void *header,
                                size_t size, uint8_t channel, uint8_t tag)
{
    struct sm_tx_ring *ring = &endpoint->tx.ring;
    if (!header || size > module->params.inline_limit || fault_enabled ||
        channel > KEEL_BTL_CHANNEL_MAX || !endpoint->tx.ready || !sm_tx_ring_has_room(ring, size)) {
        return false;
    }
    copy(sm_tx_ring_bytes(ring, size), header, size);
    publish(endpoint, channel, tag, size);
    return true;
}

/* Inlined twice: a message on no channel pays nothing for them. */
__attribute__((always_inline)) static inline int
sendi_on(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
         opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
         uint8_t order, uint32_t flags, uint8_t channel, mca_btl_base_tag_t tag,
         mca_btl_base_descriptor_t **descriptor)
{
    return payload_size == 0 && !descriptor &&
                   sendi_header(sm_of(btl), endpoint, header, header_size, channel, tag)
               ? ORTE_SUCCESS
               : sendi_any(btl, endpoint, convertor, header, header_size, payload_size, order,
                           flags, channel, tag, descriptor);
}

int sm_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
             opal_convertor_t *convertor, void *header, size_t header_size, size_t payload_size,
             uint8_t order, uint32_t flags, mca_btl_base_tag_t tag,
             mca_btl_base_descriptor_t **descriptor)
{
    return sendi_on(btl, endpoint, convertor, header, header_size, payload_size, order, flags, 0,
                    tag, descriptor);
}

int sm_channel_sendi(mca_btl_base_module_t *btl, struct mca_btl_base_endpoint_t *endpoint,
                     opal_convertor_t *convertor, void *header, size_t header_size,
                     size_t payload_size, uint8_t order, uint32_t flags, uint8_t channel,
                     mca_btl_base_tag_t tag, mca_btl_base_descriptor_t **descriptor)
{
    return sendi_on(btl, endpoint, convertor, header, header_size, payload_size, order, flags,
                    channel, tag, descriptor);
}

int sm_tx_settle(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_tx *tx = &endpoint->tx;
    int status = sm_tx_ring_refresh(&tx->ring);
    /* Sends look at the consumer's word, too, so what it passed may be known for a while. */
    struct desc_send *send;
    list_for_each (send, &tx->inflight, struct desc_send, link) {
        if ((int64_t) (tx->ring.consumed - send->position) <= 0) {
            break;
        }
        list_remove(&send->link);
        list_append(&module->descs.done, &send->link);
    }
    return status;
}

void sm_tx_halt(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_tx *tx = &endpoint->tx;
    uint32_t unused;
    if (tx->ready) {
        (void) !sm_tx_settle(module, endpoint);
        (void) !sm_claim_requests(&tx->claim, endpoint->am.asked, &unused);
    }
    tx->ready = false;
}

static void tx_collect(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_tx *tx = &endpoint->tx;
    uint64_t before = tx->ring.consumed;
    if (tx->ready && sm_tx_settle(module, endpoint) != ORTE_SUCCESS) {
        tx_refused(module, endpoint, ORTE_ERR_COMM_FAILURE);
    }
    if (!tx->ready) { /* it fails: progress ends it all */
        list_remove(&tx->link);
        return;
    }
    tx->stalled = tx->stalled && tx->ring.consumed == before;
    if (list_empty(&tx->inflight) && !tx->stalled) {
        list_remove(&tx->link);
    }
}

void sm_tx_collect(struct sm_module *module)
{
    struct mca_btl_base_endpoint_t *endpoint;
    list_for_each (endpoint, &module->waiting, struct mca_btl_base_endpoint_t, tx.link) {
        tx_collect(module, endpoint);
    }
}

void sm_tx_stop(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint, int status)
{
    struct sm_tx *tx = &endpoint->tx;
    list_remove(&tx->link);
    if (tx->open) {
        sm_claim_close(&tx->claim);
    }
    /* No send is accepted any more, so callbacks add nothing; one may come back to here. */
    struct list *link = tx->inflight.next;
    while (link != &tx->inflight) {
        struct desc_send *send = container_of(link, struct desc_send, link);
        link = link->next;
        if (send->endpoint) { /* else it has called back */
            send->endpoint = NULL;
            btl_complete(&module->super, endpoint, &send->desc->base, status);
        }
    }
}

void sm_tx_release(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_tx *tx = &endpoint->tx;
    for (struct list *link = list_pop(&tx->inflight); link; link = list_pop(&tx->inflight)) {
        desc_send_release(&module->descs, container_of(link, struct desc_send, link));
    }
    if (tx->open) {
        tx->open = false;
        ring_give(module, tx->ring_index);
    }
}
