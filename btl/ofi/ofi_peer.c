#include <config.h>

#include <base/log.h>
#include <btl/ofi/ofi_hello.h>
#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_receive.h>
#include <btl/ofi/ofi_send.h>
#include <stdlib.h>
#include <string.h>

const char *const ofi_state_names[] = {"idle", "card", "greeting", "up", "broken", "leaving"};

void ofi_peer_set(struct ofi_peer *peer, enum ofi_state state)
{
    if (peer->state != state) {
        log_debug(LOG_BTL, "ofi: %s: %s -> %s", ORTE_NAME_PRINT(&peer->endpoint->name),
                  ofi_state_names[peer->state], ofi_state_names[state]);
    }
    peer->state = state;
}

/* ---- life ---- */

/* A place in the table of peers. */
static bool index_take(struct ofi_module *ofi, struct ofi_peer *peer)
{
    uint32_t index = 0;

    if (ofi->peer_count == ofi->peer_slots) {
        uint32_t slots = ofi->peer_slots ? ofi->peer_slots * 2 : 16;
        struct ofi_peer **peers = realloc(ofi->peers, slots * sizeof(struct ofi_peer *));
        if (!peers) {
            return false;
        }
        memset(peers + ofi->peer_slots, 0, (slots - ofi->peer_slots) * sizeof(*peers));
        index = ofi->peer_slots;
        ofi->peers = peers;
        ofi->peer_slots = slots;
    }
    while (ofi->peers[index]) {
        index++;
    }
    ofi->peers[index] = peer;
    ofi->peer_count++;
    peer->index = index;
    return true;
}

/* No session: nothing that comes proves anything. */
void ofi_session_clear(struct ofi_module *ofi, struct ofi_peer *peer)
{
    if (peer->their_epoch > peer->floor) {
        peer->floor = peer->their_epoch;
    }
    peer->epoch = peer->their_epoch = peer->told_epoch = 0;
    peer->heard = false;
    crypto_random(&peer->their_token, sizeof(peer->their_token));
    peer->sequence = peer->expected = 0;
    peer->bye_said = peer->bye_answered = false;
    list_remove(&peer->waiting);
    ofi_receive_drop(ofi, &peer->held);
}

struct ofi_peer *ofi_peer_create(struct ofi_module *ofi, ofi_endpoint *endpoint)
{
    struct ofi_peer *peer = calloc(1, sizeof(*peer));

    if (!peer) {
        return NULL;
    }
    peer->ofi = ofi;
    peer->endpoint = endpoint;
    list_init(&peer->held);
    list_init(&peer->flight);
    list_init(&peer->waiting);
    rdma_am_peer_init(&peer->am, endpoint);
    if (!index_take(ofi, peer)) {
        free(peer);
        return NULL;
    }
    ofi_session_clear(ofi, peer);
    endpoint->peer = peer;
    return peer;
}

void ofi_peer_free(struct ofi_module *ofi, struct ofi_peer *peer)
{
    ofi_session_clear(ofi, peer);
    btl_card_cancel(&peer->question);
    /* What the provider still tries to send needs its address. */
    if (peer->known && !peer->abandoned) {
        fi_av_remove(ofi->fabric.av, &peer->address, 1, 0);
    }
    ofi->peers[peer->index] = NULL;
    ofi->peer_count--;
    free(peer);
}

struct ofi_peer *ofi_peer_of(struct ofi_module *ofi, const struct ofi_header *header)
{
    struct ofi_peer *peer = header->index < ofi->peer_slots ? ofi->peers[header->index] : NULL;

    return peer && peer->their_epoch != 0 && peer->their_token == header->token ? peer : NULL;
}

int ofi_peer_locate(struct ofi_module *ofi, struct ofi_peer *peer,
                    const struct ofi_address *address)
{
    if (!ofi_address_check(address, &ofi->card.address)) {
        return OPAL_ERR_BAD_PARAM;
    }
    if (peer->known && address->size == peer->at.size &&
        memcmp(address->bytes, peer->at.bytes, address->size) == 0) {
        return OPAL_SUCCESS;
    }
    if (peer->known) { /* it was started anew */
        if (!list_empty(&peer->flight) || peer->abandoned) {
            return OPAL_ERR_RESOURCE_BUSY;
        }
        fi_av_remove(ofi->fabric.av, &peer->address, 1, 0);
        peer->known = false;
    }
    int inserted = fi_av_insert(ofi->fabric.av, address->bytes, 1, &peer->address, 0, NULL);
    if (inserted != 1) {
        return OPAL_ERR_UNREACH;
    }
    peer->known = true;
    peer->at = *address;
    return OPAL_SUCCESS;
}

/* ---- failure ---- */

bool ofi_peer_in_flight(const struct ofi_peer *peer)
{
    return !list_empty(&peer->flight) || rdma_am_peer_active(&peer->am);
}

/* Something in flight that need not be waited for; NULL: there is nothing. */
static struct ofi_tx *flight_next(const struct ofi_module *ofi, struct ofi_peer *peer)
{
    struct ofi_tx *tx;

    list_for_each (tx, &peer->flight, struct ofi_tx, link) {
        if (!ofi_native_is_exposed(ofi, tx)) {
            return tx;
        }
    }
    return NULL;
}

/* Everything in flight calls back, but for what the provider may still write to the memory of. That
 * calls back when the provider is done with it, or its own time is over. */
void ofi_flight_fail(struct ofi_module *ofi, struct ofi_peer *peer, int status)
{
    struct ofi_tx *tx;

    rdma_am_cancel(ofi->am, &peer->am, status);
    while ((tx = flight_next(ofi, peer))) {
        peer->abandoned = true;
        ofi_send_abandon(ofi, tx, status);
    }
}

void ofi_peer_break(struct ofi_module *ofi, struct ofi_peer *peer, int status, const char *why)
{
    if (peer->state == OFI_BROKEN || peer->state == OFI_LEAVING) {
        return;
    }
    if (peer->state == OFI_UP) {
        (void) ofi_send_control(ofi, peer,
                                OFI_BYE); /* if it can be told, it need not wait for me */
    }
    ofi_peer_set(peer, OFI_BROKEN);
    ofi_session_clear(ofi, peer);
    ofi_flight_fail(ofi, peer, status);
    if (!ofi->closing) {
        btl_report_error(&ofi->super, MCA_BTL_ERROR_FLAGS_NONFATAL, peer->endpoint->proc,
                         "ofi: %s: %s", ORTE_NAME_PRINT(&peer->endpoint->name), why);
    }
}

void ofi_peer_give_up(struct ofi_module *ofi, struct ofi_peer *peer, const char *why)
{
    if (peer->why || peer->state == OFI_BROKEN || peer->state == OFI_LEAVING) {
        return;
    }
    peer->why = why;
    list_remove(&peer->waiting);
    list_append(&ofi->failed, &peer->waiting);
}

void ofi_peer_fail(struct ofi_module *ofi, struct ofi_peer *peer, int error)
{
    ofi_peer_give_up(ofi, peer, ofi_strerror(&ofi->fabric, error));
}

void ofi_shut(struct ofi_module *ofi, const char *why)
{
    log_warn(LOG_BTL, "ofi: provider %s: closed: %s", ofi->card.provider, why);
    ofi_fabric_stop(&ofi->fabric);
    for (uint32_t i = 0; i < ofi->peer_slots; i++) {
        if (ofi->peers[i]) {
            ofi_peer_give_up(ofi, ofi->peers[i], why);
        }
    }
}

int ofi_break_failed(struct ofi_module *ofi)
{
    int events = 0;

    for (struct list *link; (link = list_pop(&ofi->failed)); events++) {
        struct ofi_peer *peer = container_of(link, struct ofi_peer, waiting);
        const char *why = peer->why;
        peer->why = NULL;
        ofi_peer_break(ofi, peer, OPAL_ERR_UNREACH, why);
    }
    return events;
}
