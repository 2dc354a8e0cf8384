#include <config.h>

#include <base/log.h>
#include <btl/ofi/ofi_closing.h>
#include <btl/ofi/ofi_send.h>
#include <stdlib.h>

void ofi_bye_received(struct ofi_module *ofi, struct ofi_peer *peer)
{
    (void) ofi_send_control(ofi, peer, OFI_BYE_ACK); /* without it they wait a little */
    if (peer->state == OFI_LEAVING) {
        peer->bye_answered = true;
        return;
    }
    bool operations = rdma_am_peer_active(&peer->am);
    struct ofi_tx *tx;
    list_for_each (tx, &peer->flight, struct ofi_tx, link) {
        operations = operations || tx->op.kind != OFI_OP_CONTROL;
    }
    if (operations) {
        ofi_peer_break(ofi, peer, OPAL_ERR_UNREACH, "the peer left");
    } else {
        ofi_session_clear(ofi, peer);
        ofi_peer_set(peer, OFI_IDLE);
    }
}

struct closing {
    struct ofi_module *ofi;
    ofi_endpoint **endpoints;
    size_t count;
};

static bool all_landed(void *arg)
{
    const struct closing *closing = arg;

    for (size_t i = 0; i < closing->count; i++) {
        const struct ofi_peer *peer = closing->endpoints[i]->peer;
        if (peer && !peer->bye_answered && !list_empty(&peer->flight)) {
            return false;
        }
    }
    return list_empty(&closing->ofi->done);
}

/* My answers to byes are out. */
static bool all_said(void *arg)
{
    const struct closing *closing = arg;
    const struct ofi_tx *tx;

    for (size_t i = 0; i < closing->count; i++) {
        struct ofi_peer *peer = closing->endpoints[i]->peer;
        if (!peer) {
            continue;
        }
        list_for_each (tx, &peer->flight, const struct ofi_tx, link) {
            if (tx->op.kind == OFI_OP_CONTROL) {
                return false;
            }
        }
    }
    return true;
}

/* Says BYE where there is a session, as soon as the provider takes it. */
static bool all_answered(void *arg)
{
    const struct closing *closing = arg;
    bool all = true;

    for (size_t i = 0; i < closing->count; i++) {
        struct ofi_peer *peer = closing->endpoints[i]->peer;
        if (!peer || !peer->heard || peer->bye_answered) {
            continue;
        }
        if (!peer->bye_said) {
            peer->bye_said = ofi_send_control(closing->ofi, peer, OFI_BYE) == OPAL_SUCCESS;
        }
        all = false;
    }
    return all;
}

static void endpoint_leave(struct ofi_module *ofi, ofi_endpoint *endpoint)
{
    struct ofi_peer *peer = endpoint->peer;

    if (!peer) {
        return;
    }
    peer->heard = peer->heard && peer->state == OFI_UP && !peer->why;
    ofi_peer_set(peer, OFI_LEAVING);
    peer->why = NULL;
    list_remove(&peer->waiting);
    rdma_am_cancel(ofi->am, &peer->am, OPAL_ERR_UNREACH);
}

static void endpoint_end(struct ofi_module *ofi, ofi_endpoint *endpoint)
{
    if (!endpoint->peer) {
        btl_pending_end(&ofi->super, endpoint); /* who is called may use it */
    }
    if (endpoint->peer) {
        if (endpoint->peer->bye_said && !endpoint->peer->bye_answered) {
            log_info(LOG_BTL, "ofi: %s did not answer my bye", ORTE_NAME_PRINT(&endpoint->name));
        }
        ofi_flight_fail(ofi, endpoint->peer, OPAL_ERR_UNREACH);
        if (!list_empty(&endpoint->peer->flight)) {
            ofi_shut(ofi, "its provider does not end a get");
            ofi_flight_fail(ofi, endpoint->peer, OPAL_ERR_UNREACH);
        }
        btl_pending_end(&ofi->super, endpoint);
        ofi_peer_free(ofi, endpoint->peer);
    }
    list_remove(&endpoint->by_name);
    free(endpoint);
}

void ofi_endpoints_end(mca_btl_base_module_t *btl, ofi_endpoint **endpoints, size_t count)
{
    struct ofi_module *ofi = ofi_of(btl);
    struct closing closing = {ofi, endpoints, count};

    for (size_t i = 0; i < count; i++) {
        endpoint_leave(ofi, endpoints[i]);
    }
    (void) ofi_poll_until(ofi, all_landed, &closing);
    (void) ofi_poll_until(ofi, all_answered, &closing);
    (void) ofi_poll_until(ofi, all_said, &closing);
    (void) ofi_send_finish(ofi);
    for (size_t i = 0; i < count; i++) {
        endpoint_end(ofi, endpoints[i]);
    }
}

/* ---- restart ---- */

void ofi_endpoints_restart(struct ofi_module *ofi)
{
    for (uint32_t i = 0; i < ofi->peer_slots; i++) {
        struct ofi_peer *peer = ofi->peers[i];
        if (!peer) {
            continue;
        }
        ofi_endpoint *endpoint = peer->endpoint;
        ofi_peer_set(peer, OFI_BROKEN); /* so that callbacks find it shut */
        ofi_flight_fail(ofi, peer, OPAL_ERR_UNREACH);
        peer->known = false; /* the address vector ends as a whole */
        endpoint->peer = NULL;
        ofi_peer_free(ofi, peer);
        if (!endpoint->proc) {
            list_remove(&endpoint->by_name);
            free(endpoint);
        }
    }
    (void) ofi_send_finish(ofi);
}
