#include <config.h>

#include <base/settings/log.h>
#include <btl/ofi/ofi_hello.h>
#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_receive.h>
#include <btl/ofi/ofi_send.h>

enum { BATCH = 16, BATCHES = 4, CLOCK_POLLS = 8 /* to one reading of the clock */ };

static void completed(struct ofi_module *ofi, const struct fi_cq_msg_entry *entry)
{
    struct ofi_op *op = entry->op_context;

    if (fabric_receive_has(&ofi->rx, op)) {
        ofi_received(ofi, entry->op_context, entry->len);
        return;
    }
    struct ofi_tx *tx = container_of(op, struct ofi_tx, op);
    if (op->kind == OFI_OP_RDMA) {
        ofi_native_completed(ofi, tx, OPAL_SUCCESS);
    } else {
        ofi_send_completed(ofi, tx, OPAL_SUCCESS);
    }
}

/* A transmission failed: its caller hears of it, and unless it was refused for a reason of its own,
 * the peer is given up. */
static void transmission_failed(struct ofi_module *ofi, struct ofi_tx *tx, int error)
{
    ofi_endpoint *peer = tx->peer;
    enum ofi_op_kind kind = tx->op.kind;
    int status = fabric_status(error);

    if (kind == OFI_OP_RDMA) {
        ofi_native_completed(ofi, tx, status);
    } else {
        ofi_send_completed(ofi, tx, OPAL_ERR_UNREACH);
    }
    if (peer && kind == OFI_OP_CONTROL) {
        ofi_control_failed(ofi, peer, error);
    } else if (peer && (kind == OFI_OP_SEND || status == OPAL_ERR_UNREACH)) {
        ofi_peer_fail(ofi, peer, error);
    }
}

static void failed(struct ofi_module *ofi, const struct fi_cq_err_entry *error)
{
    struct ofi_op *op = error->op_context;
    bool receives = fabric_receive_has(&ofi->rx, op);
    unsigned held = 0;

    if (error->err != FI_ECANCELED && log_rate_ok("ofi error", &held)) {
        log_info(LOG_BTL, "ofi: %s failed: %s (%u more)",
                 !op        ? "an operation"
                 : receives ? "a receive"
                            : "a transmission",
                 fabric_strerror(&ofi->fabric, error->err), held);
    }
    if (!op) {
        return; /* of an injected message, which has no more to say */
    }
    if (!receives) {
        transmission_failed(ofi, container_of(op, struct ofi_tx, op), error->err);
        return;
    }
    struct fabric_rx *rx = error->op_context;
    if (error->err == FI_ECANCELED) {
        list_append(&ofi->rx.unposted, &rx->link);
    } else {
        fabric_receive_post(&ofi->rx, rx);
    }
}

static int read_errors(struct ofi_module *ofi)
{
    struct fi_cq_err_entry error = {0};
    int events = 0;

    while (events < BATCH && fi_cq_readerr(ofi->fabric.cq, &error, 0) > 0) {
        failed(ofi, &error);
        error = (struct fi_cq_err_entry){0};
        events++;
    }
    return events;
}

static int read_completions(struct ofi_module *ofi)
{
    struct fi_cq_msg_entry entries[BATCH];
    int events = 0;

    for (int round = 0; round < BATCHES; round++) {
        ssize_t count = fi_cq_read(ofi->fabric.cq, entries, BATCH);
        if (count == -FI_EAVAIL) {
            events += read_errors(ofi);
            continue;
        }
        for (ssize_t i = 0; i < count; i++) {
            completed(ofi, &entries[i]);
        }
        events += count > 0 ? (int) count : 0;
        if (count < BATCH) {
            break;
        }
    }
    return events;
}

int ofi_poll(mca_btl_base_module_t *btl)
{
    struct ofi_module *ofi = ofi_of(btl);
    int events = ofi->fabric.cq ? read_completions(ofi) : 0; /* none: a restart failed */

    if (!list_empty(&ofi->rx.unposted) && !ofi->peers.closing && ofi->fabric.ep) {
        fabric_receive_repost(&ofi->rx);
    }
    if (!list_empty(&ofi->native.by_age)) {
        events += ofi_native_expire(ofi);
    }
    if (!list_empty(&ofi->descs.done)) {
        events += desc_set_finish(&ofi->super, &ofi->descs, NULL);
    }
    if (!list_empty(&ofi->owing)) {
        ofi_lost_flush(ofi);
    }
    if (btl_peers_busy(&ofi->peers)) {
        events += btl_peers_progress(&ofi->peers);
    }
    events += rdma_am_progress(ofi->am);
    if (events == 0 || ++ofi->busy_polls % CLOCK_POLLS == 0) {
        ofi_silence_check(ofi);
    }
    ofi->idle_polls = events > 0 ? 0 : ofi->idle_polls + 1;
    return events;
}
