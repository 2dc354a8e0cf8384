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

/* Later than any epoch of this or an earlier life of the process. */
static uint64_t new_epoch(struct ofi_module *ofi)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t epoch = (uint64_t) now.tv_sec * 1000000u + (uint64_t) now.tv_nsec / 1000u;
    ofi->last_epoch = epoch > ofi->last_epoch ? epoch : ofi->last_epoch + 1;
    return ofi->last_epoch;
}

void ofi_greet_begin(struct ofi_module *ofi, struct ofi_peer *peer)
{
    if (peer->epoch == 0) {
        peer->epoch = new_epoch(ofi);
    }
    ofi_peer_set(peer, OFI_GREETING);
    peer->errors = 0;
    peer->wake_us = 0;
    peer->pause_us = FIRST_PAUSE_US;
    peer->give_up_us = clock_us() + ofi->params.hello_us;
    list_remove(&peer->waiting);
    list_append(&ofi->greeting, &peer->waiting);
}

/* ---- saying hello ---- */

static int hello_send(struct ofi_module *ofi, struct ofi_peer *peer)
{
    struct ofi_hello hello = {
        .index = peer->index,
        .max_message = ofi->card.max_message,
        .from = ofi->me,
        .to = peer->endpoint->name,
        .epoch = peer->epoch,
        .echo = peer->their_epoch,
        .address = ofi->card.address,
    };
    uint8_t key[KEY_BYTES], bytes[OFI_HELLO_MAX];
    int status = ofi->cards.host->ops->pair_key(ofi->cards.host->arg, &hello.to, "btl.ofi", key);

    if (status != OPAL_SUCCESS) {
        return status;
    }
    size_t size = ofi_hello_encode(bytes, &hello, key);
    crypto_wipe(key, sizeof(key));
    status = ofi_send_bytes(ofi, peer, bytes, size);
    if (status == OPAL_SUCCESS) {
        peer->told_epoch = peer->their_epoch;
    }
    return status;
}

/* Sends a hello whose time has come, and says when the next one's will. */
static void hello_due(struct ofi_module *ofi, struct ofi_peer *peer, uint64_t now_us)
{
    if (now_us >= peer->give_up_us) {
        ofi_peer_give_up(ofi, peer, "no answer to my hello in time");
        return;
    }
    int status = hello_send(ofi, peer);
    if (status == OPAL_ERR_OUT_OF_RESOURCE) {
        return; /* on the next pass */
    }
    if (status != OPAL_SUCCESS) {
        ofi_peer_give_up(ofi, peer, "my hello cannot be sent");
    } else if (peer->state == OFI_UP) {
        list_remove(&peer->waiting);
    } else {
        peer->wake_us = now_us + peer->pause_us;
        peer->pause_us = peer->pause_us * 2 < LAST_PAUSE_US ? peer->pause_us * 2 : LAST_PAUSE_US;
    }
}

int ofi_greet(struct ofi_module *ofi)
{
    struct ofi_peer *peer;
    int events = 0;

    if (list_empty(&ofi->greeting)) {
        return 0;
    }
    uint64_t now_us = clock_us();
    list_for_each (peer, &ofi->greeting, struct ofi_peer, waiting) {
        if (now_us >= peer->wake_us) {
            hello_due(ofi, peer, now_us);
            events++;
        }
    }
    return events;
}

void ofi_control_failed(struct ofi_module *ofi, struct ofi_peer *peer, int error)
{
    if (peer->state == OFI_GREETING && ++peer->errors < ERRORS_MAX) {
        peer->wake_us = clock_us() + ERROR_PAUSE_US;
    } else {
        ofi_peer_fail(ofi, peer, error);
    }
}

/* ---- hearing one ---- */

/* A hello that proves its key: its endpoint, made where there was none. */
static ofi_endpoint *hello_endpoint(struct ofi_module *ofi, const struct ofi_hello *hello,
                                    const uint8_t *data, size_t size, uint8_t key[KEY_BYTES])
{
    if (!name_equal(&hello->to, &ofi->me) ||
        ofi->cards.host->ops->pair_key(ofi->cards.host->arg, &hello->from, "btl.ofi", key) !=
            OPAL_SUCCESS ||
        ofi_hello_check(data, size, key) != OPAL_SUCCESS) {
        return NULL;
    }
    ofi_endpoint *endpoint = ofi_endpoint_find(ofi, &hello->from);
    if (!endpoint && !ofi->closing) {
        endpoint = ofi_endpoint_create(ofi, &hello->from);
    }
    if (endpoint && !endpoint->peer && (ofi->closing || !ofi_peer_create(ofi, endpoint))) {
        return NULL;
    }
    return endpoint;
}

/* Begins a session with an epoch of theirs that is new to me. */
static bool session_begin(struct ofi_module *ofi, struct ofi_peer *peer,
                          const struct ofi_hello *hello, const uint8_t key[KEY_BYTES])
{
    const orte_process_name_t *me = &ofi->me, *them = &hello->from;

    if (peer->their_epoch != 0) {
        if (ofi_peer_in_flight(peer)) {
            ofi_peer_break(ofi, peer, OPAL_ERR_UNREACH, "it began anew");
            return false;
        }
        ofi_session_clear(ofi, peer);
    }
    if (peer->epoch == 0) {
        peer->epoch = new_epoch(ofi);
    }
    peer->their_epoch = hello->epoch;
    peer->their_index = hello->index;
    peer->max_message = hello->max_message;
    peer->token = ofi_token(key, me, them, peer->epoch, hello->epoch);
    peer->their_token = ofi_token(key, them, me, hello->epoch, peer->epoch);
    return true;
}

static void hello_take(struct ofi_module *ofi, struct ofi_peer *peer, const struct ofi_hello *hello,
                       const uint8_t key[KEY_BYTES])
{
    if (peer->state == OFI_BROKEN && !peer->endpoint->proc) {
        ofi_peer_set(peer, OFI_IDLE);
    }
    if (peer->why || peer->state == OFI_BROKEN || peer->state == OFI_LEAVING ||
        hello->epoch < peer->their_epoch || hello->epoch <= peer->floor) {
        return;
    }
    if (ofi_peer_locate(ofi, peer, &hello->address) != OPAL_SUCCESS) {
        log_info(LOG_BTL, "ofi: %s: a hello with an address that is none",
                 ORTE_NAME_PRINT(&hello->from));
        return;
    }
    if (hello->epoch > peer->their_epoch && !session_begin(ofi, peer, hello, key)) {
        return;
    }
    if (peer->max_message < ofi->card.max_message) {
        ofi_peer_give_up(ofi, peer, "its btl_ofi_max_send_size is below mine");
        return;
    }
    bool owed = peer->told_epoch != peer->their_epoch || hello->echo != peer->epoch;
    if (peer->state == OFI_IDLE || peer->state == OFI_CARD) {
        ofi_greet_begin(ofi, peer);
    }
    if (hello->echo == peer->epoch && peer->state == OFI_GREETING) {
        peer->heard = true;
        ofi_peer_set(peer, OFI_UP);
        list_remove(&peer->waiting);
    }
    if (owed) {
        peer->wake_us = 0;
        peer->give_up_us = clock_us() + ofi->params.hello_us;
        list_remove(&peer->waiting);
        list_append(&ofi->greeting, &peer->waiting);
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
    if (endpoint && endpoint->peer) {
        hello_take(ofi, endpoint->peer, &hello, key);
    } else {
        ofi->dropped++;
        unsigned held = 0;
        if (log_rate_ok("ofi hello", &held)) {
            log_info(LOG_BTL, "ofi: dropped a hello that proves nothing (%u more)", held);
        }
    }
    crypto_wipe(key, sizeof(key));
}
