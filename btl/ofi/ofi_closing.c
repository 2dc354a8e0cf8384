#include <config.h>

#include <base/log.h>
#include <btl/ofi/ofi_closing.h>
#include <btl/ofi/ofi_send.h>

void ofi_bye_received(struct ofi_module *ofi, ofi_endpoint *peer)
{
    (void) ofi_send_control(ofi, peer, OFI_BYE_ACK); /* without it they wait a little */
    if (peer->life.state == PEER_CLOSING) {
        peer->bye_answered = true;
    } else if (rdma_am_peer_active(&peer->am) || ofi_peer_flies(peer, false)) {
        ofi_peer_break(ofi, peer, OPAL_ERR_UNREACH, "the peer left");
    } else {
        btl_peer_left(&peer->life);
    }
}

void ofi_lost_flush(struct ofi_module *ofi)
{
    ofi_endpoint *peer;

    list_for_each (peer, &ofi->owing, ofi_endpoint, owes) {
        if (ofi_send_bytes(ofi, peer, peer->lost, sizeof(peer->lost)) != OPAL_ERR_OUT_OF_RESOURCE) {
            list_remove(&peer->owes);
        }
    }
}

void ofi_say_lost(struct ofi_module *ofi, ofi_endpoint *peer)
{
    ofi_frame_encode(peer, peer->lost, OFI_LOST, 0, 0);
    list_remove(&peer->owes);
    list_append(&ofi->owing, &peer->owes);
    ofi_lost_flush(ofi);
}

void ofi_lost_received(struct ofi_module *ofi, ofi_endpoint *peer)
{
    peer->session.proven = false; /* nobody is there to be told */
    if (peer->life.state == PEER_CLOSING) {
        peer->bye_answered = true;
    } else if (peer->life.proc || ofi_peer_in_flight(peer)) {
        ofi_peer_break(ofi, peer, OPAL_ERR_UNREACH, "the session failed at its other end");
    } else {
        btl_peer_left(&peer->life);
    }
}

/* From here on nothing new is begun. */
void ofi_peer_leave(struct btl_peer *life)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);

    peer->session.proven = peer->session.proven && life->before == PEER_UP;
    rdma_am_cancel(peer->ofi->am, &peer->am, OPAL_ERR_UNREACH);
}

/* Once all that was sent has landed. */
bool ofi_peer_say_bye(struct btl_peer *life)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);

    if (peer->bye_said || peer->bye_answered) {
        return true;
    }
    if (!list_empty(&peer->flight) || !list_empty(&peer->ofi->done)) {
        return false;
    }
    peer->bye_said =
        peer->session.proven && ofi_send_control(peer->ofi, peer, OFI_BYE) == OPAL_SUCCESS;
    return peer->bye_said || !peer->session.proven;
}

/* And my own answers are out. */
bool ofi_peer_is_answered(struct btl_peer *life)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);

    return (!peer->bye_said || peer->bye_answered) && !ofi_peer_flies(peer, true);
}
