#include <config.h>

#include <base/clock.h>
#include <base/log.h>
#include <base/name.h>
#include <btl/ofi/ofi_hello.h>
#include <btl/ofi/ofi_send.h>

enum {
    FIRST_PAUSE_US = 10000, /* between hellos; then twice as long each time */
    LAST_PAUSE_US = 1000000,
    ERROR_PAUSE_US = 50000,
    ERRORS_MAX = 20, /* of hellos that the provider could not deliver, in a row */
};

/* ---- saying hello ---- */

static int hello_send(struct ofi_module *ofi, ofi_endpoint *peer)
{
    btl_session_open(&peer->session, &ofi->last_epoch);
    struct ofi_hello hello = {
        .index = peer->index,
        .max_message = ofi->card.max_message,
        .from = ofi->peers.me,
        .to = peer->life.name,
        .epoch = peer->session.epoch,
        .echo = peer->session.theirs,
        .address = ofi->card.address,
    };
    uint8_t key[KEY_BYTES], bytes[OFI_HELLO_MAX];
    int status =
        ofi->peers.cards.host->ops->pair_key(ofi->peers.cards.host->arg, &hello.to, "btl.ofi", key);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    size_t size = ofi_hello_encode(bytes, &hello, key);
    crypto_wipe(key, sizeof(key));
    status = ofi_send_bytes(ofi, peer, bytes, size);
    if (status == OPAL_SUCCESS) {
        peer->session.told = peer->session.theirs;
    }
    return status;
}

/* Another hello would say what one says that the provider still tries to deliver. */
static bool is_said(const ofi_endpoint *peer)
{
    return peer->life.state == PEER_RETRYING && peer->session.told == peer->session.theirs &&
           ofi_peer_flies(peer, true);
}

/* How long the answer has, before the next hello. */
static uint64_t next_pause_us(ofi_endpoint *peer)
{
    uint64_t pause_us = peer->pause_us ? peer->pause_us : FIRST_PAUSE_US;

    if (peer->life.state == PEER_RETRYING) {
        return BTL_RETRY_US;
    }
    peer->pause_us = pause_us * 2 < LAST_PAUSE_US ? pause_us * 2 : LAST_PAUSE_US;
    return pause_us;
}

void ofi_handshake(struct btl_peer *life)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);
    uint64_t now_us = clock_us();

    if (life->state == PEER_HANDSHAKE && now_us >= life->give_up_us) {
        btl_peer_break(life, OPAL_ERR_UNREACH, "no answer to my hello in time");
        return;
    }
    int status = is_said(peer) ? OPAL_SUCCESS : hello_send(peer->ofi, peer);
    if (status == OPAL_ERR_OUT_OF_RESOURCE) {
        return; /* on the next pass */
    }
    if (status != OPAL_SUCCESS) {
        btl_peer_break(life, OPAL_ERR_UNREACH, "my hello cannot be sent");
    } else if (life->state == PEER_UP) {
        list_remove(&life->waiting);
    } else {
        ofi_silence_handshake(peer->ofi, peer);
        btl_peer_wait(life, now_us + next_pause_us(peer));
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

/* ---- hearing one ---- */

/* A hello that proves its key: its endpoint, made where there was none. */
static ofi_endpoint *hello_endpoint(struct ofi_module *ofi, const struct ofi_hello *hello,
                                    const uint8_t *data, size_t size, uint8_t key[KEY_BYTES])
{
    if (!name_equal(&hello->to, &ofi->peers.me) ||
        ofi->peers.cards.host->ops->pair_key(ofi->peers.cards.host->arg, &hello->from, "btl.ofi",
                                             key) != OPAL_SUCCESS ||
        ofi_hello_check(data, size, key) != OPAL_SUCCESS) {
        return NULL;
    }
    bool again;
    return ofi_endpoint_of(btl_peer_meet(&ofi->peers, &hello->from, &again));
}

/* A session with an epoch of theirs that is new to me: ends what there is of another. */
static bool session_begin(struct ofi_module *ofi, ofi_endpoint *peer, const struct ofi_hello *hello,
                          const uint8_t key[KEY_BYTES])
{
    const orte_process_name_t *me = &ofi->peers.me, *them = &hello->from;

    if (peer->session.theirs != 0) {
        if (ofi_peer_in_flight(peer)) {
            btl_peer_break(&peer->life, OPAL_ERR_UNREACH, "it began anew");
            return false;
        }
        uint64_t mine = btl_session_keeps(&peer->session, hello->echo);
        peer->session.proven = false;
        btl_peer_left(&peer->life); /* without a word */
        peer->session.epoch = mine;
    }
    btl_session_open(&peer->session, &ofi->last_epoch);
    peer->their_index = hello->index;
    peer->max_message = hello->max_message;
    peer->token = ofi_token(key, me, them, peer->session.epoch, hello->epoch);
    peer->their_token = ofi_token(key, them, me, hello->epoch, peer->session.epoch);
    return true;
}

static void hello_take(struct ofi_module *ofi, ofi_endpoint *peer, const struct ofi_hello *hello,
                       const uint8_t key[KEY_BYTES])
{
    enum btl_session_verdict verdict = btl_session_judge(&peer->session, hello->epoch);

    if (!btl_peer_takes(&peer->life) || verdict == SESSION_OVER) {
        return;
    }
    if (ofi_peer_locate(ofi, peer, &hello->address) != OPAL_SUCCESS) {
        log_info(LOG_BTL, "ofi: %s: a hello with an address that is none",
                 ORTE_NAME_PRINT(&hello->from));
        return;
    }
    if (verdict == SESSION_ANOTHER && !session_begin(ofi, peer, hello, key)) {
        return;
    }
    if (peer->max_message < ofi->card.max_message) {
        btl_peer_fail(&peer->life, "its btl_ofi_max_send_size is below mine");
        return;
    }
    bool agreed, owed = btl_session_hear(&peer->session, hello->epoch, hello->echo, &agreed);
    btl_peer_came(&peer->life);
    if (agreed) {
        (void) !btl_peer_up(&peer->life, hello->epoch);
    }
    if (owed) {
        btl_peer_wait(&peer->life, 0);
    }
}

void ofi_hello_received(struct ofi_module *ofi, const uint8_t *data, size_t size)
{
    struct ofi_hello hello;
    uint8_t key[KEY_BYTES];
    ofi_endpoint *endpoint = NULL;

    if (ofi_hello_decode(&hello, data, size) == OPAL_SUCCESS) {
        hello.address.format = ofi->card.address.format;
        endpoint = hello_endpoint(ofi, &hello, data, size, key);
    }
    if (endpoint) {
        hello_take(ofi, endpoint, &hello, key);
    } else {
        ofi->dropped++;
        unsigned held = 0;
        if (log_rate_ok("ofi hello", &held)) {
            log_info(LOG_BTL, "ofi: dropped a hello that proves nothing (%u more)", held);
        }
    }
    crypto_wipe(key, sizeof(key));
}

/* ---- the end ---- */

void ofi_bye_received(struct ofi_module *ofi, ofi_endpoint *peer)
{
    (void) ofi_send_control(ofi, peer, OFI_BYE_ACK); /* without it they wait a little */
    if (peer->life.state == PEER_CLOSING) {
        peer->bye_answered = true;
    } else if (rdma_am_peer_active(&peer->am) || ofi_peer_flies(peer, false)) {
        btl_peer_break(&peer->life, OPAL_ERR_UNREACH, "the peer left");
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

void ofi_lost_received(ofi_endpoint *peer)
{
    peer->session.proven = false; /* nobody is there to be told */
    if (peer->life.state == PEER_CLOSING) {
        peer->bye_answered = true;
    } else if (peer->life.proc || ofi_peer_in_flight(peer)) {
        btl_peer_break(&peer->life, OPAL_ERR_UNREACH, "the session failed at its other end");
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
    if (!list_empty(&peer->flight) || !list_empty(&peer->ofi->descs.done)) {
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
