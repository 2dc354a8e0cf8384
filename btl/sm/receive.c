#include <config.h>

#include <base/settings/fault.h>
#include <btl/sm/module.h>

/* Most messages taken from one ring in a pass, so that one peer does not starve the others. */
#define BATCH 32
/* After so many polls without a message a ring is polled in turn with the other quiet ones. */
#define QUIET_POLLS 1024

static void hot_add(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    endpoint->rx.hot = true;
    endpoint->rx.idle = 0;
    endpoint->rx.hot_index = module->hot_count;
    module->hot[module->hot_count++] = endpoint;
}

static void hot_remove(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct mca_btl_base_endpoint_t *last = module->hot[--module->hot_count];
    module->hot[endpoint->rx.hot_index] = last;
    last->rx.hot_index = endpoint->rx.hot_index;
    endpoint->rx.hot = false;
}

void sm_rx_stop(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint, bool refuses)
{
    struct sm_rx *rx = &endpoint->rx;
    if (!rx->open) {
        return;
    }
    rx->open = false;
    if (rx->hot) {
        hot_remove(module, endpoint);
    } else {
        list_remove(&rx->link);
    }
    module->cells[rx->cell] = NULL;
    sm_board_drop(module->segment->board, rx->cell, refuses);
    (void) sm_board_ring(endpoint->peer->board);
}

/* The endpoint of who announced a ring; one that was not added yet is made. NULL: not to be had. */
static struct mca_btl_base_endpoint_t *announcer(struct sm_module *module,
                                                 const struct sm_announcement *announcement)
{
    struct sm_card card;
    if (sm_card_decode(&card, announcement->card, SM_CARD_BYTES) != ORTE_SUCCESS) {
        return NULL;
    }
    orte_process_name_t name = {.jobid = announcement->jobid, .vpid = announcement->vpid};
    return sm_endpoint_meet(module, &name, &card);
}

static const struct sm_slot *ring_slots(struct sm_peer *peer,
                                        const struct sm_announcement *announcement)
{
    if (announcement->ring_slots != peer->shape.ring_slots ||
        announcement->ring_offset % SM_LINE_BYTES != 0) {
        return NULL;
    }
    return sm_peer_span(peer, SM_AREA_RINGS, announcement->ring_offset,
                        sm_ring_bytes(peer->shape.ring_slots));
}

static void rx_start(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                     uint32_t cell, const struct sm_slot *slots)
{
    struct sm_rx *rx = &endpoint->rx;
    sm_rx_ring_init(&rx->ring, slots, endpoint->peer->shape.ring_slots,
                    &module->segment->lines[cell]);
    rx->open = true;
    rx->closing = false;
    rx->cell = cell;
    module->cells[cell] = endpoint;
    hot_add(module, endpoint);
}

/* Looks at one cell of the board and does what is due. */
static void board_visit(struct sm_module *module, uint32_t cell)
{
    struct sm_board *board = module->segment->board;
    struct sm_announcement announcement;
    enum sm_cell_state state = sm_board_look(board, cell, &announcement);
    if (state != SM_CELL_OPEN && state != SM_CELL_CLOSED) {
        return;
    }
    if (module->cells[cell]) {
        module->cells[cell]->rx.closing = state == SM_CELL_CLOSED;
        return;
    }
    struct mca_btl_base_endpoint_t *endpoint = announcer(module, &announcement);
    if (endpoint && (endpoint->rx.open || !endpoint->peer)) {
        module->rescan = true; /* its older ring has to drain first, or its card to come */
        return;
    }
    const struct sm_slot *slots = endpoint ? ring_slots(endpoint->peer, &announcement) : NULL;
    if (!slots) {
        sm_board_drop(board, cell, true);
        if (endpoint && !endpoint->life.proc) {
            btl_peer_end(&endpoint->life);
        }
        return;
    }
    if (state == SM_CELL_OPEN && !sm_board_take(board, cell)) {
        module->rescan = true; /* closed in this moment */
        return;
    }
    rx_start(module, endpoint, cell, slots);
    endpoint->rx.closing = state == SM_CELL_CLOSED;
}

static void board_scan(struct sm_module *module, uint64_t doorbell)
{
    struct mca_btl_base_endpoint_t *endpoint;
    module->doorbell = doorbell;
    module->rescan = false;
    list_for_each (endpoint, &module->peers.used, struct mca_btl_base_endpoint_t, life.link) {
        sm_endpoint_left(module, endpoint);
    }
    for (uint32_t cell = 0; cell < module->params.max_peers; cell++) {
        board_visit(module, cell);
    }
}

/* The bytes of a fragment that the peer says it sent; NULL: it has no such fragment, or no message
 * is as long. */
static const void *fragment(const struct sm_module *module, struct sm_peer *peer,
                            const struct sm_message *message)
{
    if (message->length > module->super.btl_max_send_size) {
        return NULL;
    }
    const void *bytes = sm_peer_span(peer, SM_AREA_SMALL, message->offset, message->length);
    return bytes ? bytes : sm_peer_span(peer, SM_AREA_LARGE, message->offset, message->length);
}

/* False: the peer broke the rules. */
static bool deliver(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint,
                    struct sm_message *message)
{
    const void *bytes =
        message->fragment ? fragment(module, endpoint->peer, message) : message->bytes;
    if (!bytes) {
        return false;
    }
    mca_btl_base_segment_t segment = {.seg_addr.pval = (void *) (uintptr_t) bytes,
                                      .seg_len = message->length};
    if (message->channel == BTL_CHANNEL_RDMA) {
        return rdma_am_receive(module->am, &endpoint->am, &segment, 1) == OPAL_SUCCESS;
    }
    /* Who was not added is no endpoint of the caller's. */
    btl_deliver_on(&module->super, btl_peer_added(&endpoint->life), message->channel, message->tag,
                   &segment, 1);
    return true;
}

/* Takes what has come from one peer; returns the number of messages. A callback may end this very
 * endpoint: then rx.open is false, and the endpoint's memory is still there. */
static int rx_poll(struct sm_module *module, struct mca_btl_base_endpoint_t *endpoint)
{
    struct sm_rx *rx = &endpoint->rx;
    struct sm_message message;
    int taken = 0;
    while (taken < BATCH && sm_rx_ring_ready(&rx->ring)) {
        int found = sm_rx_ring_next(&rx->ring, &message);
        bool good = found > 0 && fault_at("btl.sm.recv").action != FAULT_ERROR &&
                    deliver(module, endpoint, &message);
        if (!rx->open) {
            return taken + 1;
        }
        if (!good) {
            sm_endpoint_fail(module, endpoint, true, "it sent what no peer sends");
            return taken + 1;
        }
        sm_rx_ring_pass(&rx->ring, &message);
        if (rx->behind) {
            sm_rx_ring_expect(&rx->ring);
        }
        taken++;
    }
    rx->behind = taken == BATCH && sm_rx_ring_is_behind(&rx->ring, BATCH);
    sm_rx_ring_publish(&rx->ring);
    if (taken == 0 && rx->closing) {
        sm_rx_stop(module, endpoint, false);
        if (!endpoint->life.proc) {
            btl_peer_end(&endpoint->life); /* it was never added and has said all */
        } else if (endpoint->am.unanswered > 0) {
            sm_endpoint_fail(module, endpoint, true, "it answers no more");
        } else {
            sm_endpoint_left(module, endpoint);
        }
    }
    return taken;
}

static int poll_hot(struct sm_module *module)
{
    int taken = 0;
    for (uint32_t i = 0; i < module->hot_count; i++) {
        struct mca_btl_base_endpoint_t *endpoint = module->hot[i];
        struct sm_rx *rx = &endpoint->rx;
        if (sm_rx_ring_ready(&rx->ring)) {
            rx->idle = 0;
            taken += rx_poll(module, endpoint);
        } else if (++rx->idle >= QUIET_POLLS || rx->closing) {
            int late = rx_poll(module, endpoint);
            taken += late;
            if (late == 0 && rx->open && rx->hot) {
                hot_remove(module, endpoint);
                list_append(&module->quiet, &rx->link);
            }
        }
    }
    return taken;
}

static int poll_quiet(struct sm_module *module)
{
    struct list *link = list_pop(&module->quiet);
    if (!link) {
        return 0;
    }
    list_append(&module->quiet, link);
    struct mca_btl_base_endpoint_t *endpoint =
        container_of(link, struct mca_btl_base_endpoint_t, rx.link);
    int taken = rx_poll(module, endpoint);
    if (taken > 0 && endpoint->rx.open && !endpoint->rx.hot) {
        list_remove(&endpoint->rx.link);
        hot_add(module, endpoint);
    }
    return taken;
}

int sm_rx_progress(struct sm_module *module)
{
    uint64_t doorbell = sm_board_doorbell(module->segment->board);
    if (doorbell != module->doorbell || module->rescan) {
        board_scan(module, doorbell);
    }
    int taken = poll_hot(module);
    return list_empty(&module->quiet) ? taken : taken + poll_quiet(module);
}

/* A ring that its writer has closed ends on a pass over it. */
static bool rx_due(const struct sm_rx *rx)
{
    return rx->closing || sm_rx_ring_ready(&rx->ring);
}

bool sm_rx_due(struct sm_module *module)
{
    struct mca_btl_base_endpoint_t *endpoint;
    if (module->rescan || sm_board_doorbell(module->segment->board) != module->doorbell) {
        return true;
    }
    for (uint32_t i = 0; i < module->hot_count; i++) {
        if (rx_due(&module->hot[i]->rx)) {
            return true;
        }
    }
    list_for_each (endpoint, &module->quiet, struct mca_btl_base_endpoint_t, rx.link) {
        if (rx_due(&endpoint->rx)) {
            list_remove(&endpoint->rx.link);
            hot_add(module, endpoint);
            return true;
        }
    }
    return false;
}
