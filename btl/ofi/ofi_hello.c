#include <config.h>

#include <base/data/clock.h>
#include <btl/ofi/ofi_hello.h>
#include <btl/ofi/ofi_send.h>

enum {
    ERROR_PAUSE_US = 50000,
    ERRORS_MAX = 20, /* of hellos that the provider could not deliver, in a row */
};

/* ---- hellos ---- */

static int hello_send(struct btl_peer *life, const uint8_t *bytes, size_t size)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);

    return ofi_send_bytes(peer->ofi, peer, bytes, size);
}

static int hello_locate(struct btl_peer *life, const struct fabric_address *address)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);

    return ofi_peer_locate(peer->ofi, peer, address);
}

static bool is_in_flight(const struct btl_peer *life)
{
    return ofi_peer_in_flight((const ofi_endpoint *) (const void *) life);
}

const struct btl_greeter_ops ofi_greeter_ops = {
    .format = OFI_HELLO_FORMAT,
    .handshake_at = offsetof(ofi_endpoint, hello),
    .send = hello_send,
    .locate = hello_locate,
    .in_flight = is_in_flight,
};

void ofi_handshake(struct btl_peer *life)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);
    const struct btl_session *session = &peer->hello.session;
    /* Another hello would say what one says that the provider still tries to deliver. */
    bool said = life->state == PEER_RETRYING && session->told == session->theirs &&
                ofi_peer_flies(peer, true);

    if (life->state == PEER_HANDSHAKE) { /* the provider connects, perhaps to nobody */
        ofi_silence_handshake(peer->ofi, peer);
    }
    if (btl_hello_say(&peer->ofi->greeter, life, said) && life->state == PEER_RETRYING) {
        ofi_silence_handshake(peer->ofi, peer);
    }
}

void ofi_control_failed(struct ofi_module *ofi, ofi_endpoint *peer, int error)
{
    if (peer->life.state == PEER_HANDSHAKE && ++peer->errors < ERRORS_MAX) {
        btl_peer_wait(&peer->life, clock_us() + ERROR_PAUSE_US);
    } else {
        ofi_peer_fail(ofi, peer, error);
    }
}

/* ---- the end ---- */

void ofi_bye_received(struct ofi_module *ofi, ofi_endpoint *peer)
{
    (void) ofi_send_control(ofi, peer, OFI_BYE_ACK); /* without it they wait a little */
    btl_hello_bye(&ofi->greeter, &peer->life,
                  rdma_am_peer_active(&peer->am) || ofi_peer_flies(peer, false));
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

/* From here on nothing new is begun. */
void ofi_peer_leave(struct btl_peer *life)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);

    rdma_am_cancel(peer->ofi->am, &peer->am, OPAL_ERR_UNREACH);
}

/* Once all that was sent has landed. */
bool ofi_peer_say_bye(struct btl_peer *life)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);

    if (peer->hello.bye_said || peer->hello.bye_answered) {
        return true;
    }
    if (!list_empty(&peer->flight) || !list_empty(&peer->ofi->descs.done)) {
        return false;
    }
    peer->hello.bye_said =
        peer->hello.session.proven && ofi_send_control(peer->ofi, peer, OFI_BYE) == OPAL_SUCCESS;
    return peer->hello.bye_said || !peer->hello.session.proven;
}

/* And my own answers are out. */
bool ofi_peer_is_answered(struct btl_peer *life)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);

    return (!peer->hello.bye_said || peer->hello.bye_answered) && !ofi_peer_flies(peer, true);
}
