#include <config.h>

#include <base/settings/log.h>
#include <btl/ofi/ofi_hello.h>
#include <btl/ofi/ofi_native.h>
#include <btl/ofi/ofi_receive.h>
#include <btl/ofi/ofi_send.h>
#include <btl/ofi/provider/traits.h>
#include <string.h>

/* ---- life ---- */

/* No session: nothing that comes proves anything. */
static void session_clear(struct ofi_module *ofi, ofi_endpoint *peer)
{
    btl_handshake_clear(&peer->hello);
    ofi_silence_clear(&peer->silence);
    peer->sequence = 0;
    peer->starved = false;
    peer->errors = 0;
    ofi_receive_drop(ofi, peer);
}

/* Nobody, where the provider's endpoint was closed for good. */
static bool peer_suits(const struct btl_peers *peers, const opal_proc_t *proc)
{
    (void) proc;
    return ofi_of(peers->module)->fabric.ep;
}

static void peer_begin(struct btl_peer *life)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);

    peer->ofi = ofi_of(life->peers->module);
    peer->hello.index = life->hidden ? 0 : roster_number(life->peers->roster, peer);
    reorder_init(&peer->order, UINT16_MAX, (uint32_t) peer->ofi->rx.count, 0);
    list_init(&peer->flight);
    list_init(&peer->owes);
    host_probe_init(&peer->silence.first);
    host_probe_init(&peer->silence.probe);
    rdma_am_peer_init(&peer->am, peer);
    session_clear(peer->ofi, peer);
}

ofi_endpoint *ofi_peer_of(struct ofi_module *ofi, const struct ofi_header *header)
{
    ofi_endpoint *peer = roster_at(ofi->peers.roster, header->index);

    return peer && btl_handshake_proves(&peer->hello, header->token) ? peer : NULL;
}

/* ---- finding a peer ---- */

/* A card that I can use. */
static int card_read(const struct ofi_module *ofi, struct ofi_card *card, const void *data,
                     size_t size)
{
    int status = ofi_card_decode(card, data, size);

    if (status == OPAL_SUCCESS && strcmp(card->provider, ofi->card.provider) != 0) {
        status = OPAL_ERR_UNREACH;
    }
    if (status == OPAL_SUCCESS && !ofi_address_check(&card->address, &ofi->card.address)) {
        status = OPAL_ERR_BAD_PARAM;
    }
    return status;
}

static int card_judge(void *peers, const void *data, size_t size)
{
    struct ofi_card card;

    return card_read(ofi_of(((struct btl_peers *) peers)->module), &card, data, size);
}

static int card_locate(struct btl_peer *life, const void *data, size_t size)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);
    struct ofi_card card;
    int status = peer->known ? OPAL_SUCCESS : card_read(peer->ofi, &card, data, size);

    return status != OPAL_SUCCESS || peer->known ? status
                                                 : ofi_peer_locate(peer->ofi, peer, &card.address);
}

int ofi_peer_locate(struct ofi_module *ofi, ofi_endpoint *peer,
                    const struct fabric_address *address)
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
        peer->known = peer->life.located = false;
    }
    int inserted = fi_av_insert(ofi->fabric.av, address->bytes, 1, &peer->address, 0, NULL);
    if (inserted != 1) {
        return OPAL_ERR_UNREACH;
    }
    peer->known = peer->life.located = true;
    peer->at = *address;
    return OPAL_SUCCESS;
}

/* ---- failure ---- */

bool ofi_peer_flies(const ofi_endpoint *peer, bool control)
{
    const struct ofi_tx *tx;

    list_for_each (tx, &peer->flight, const struct ofi_tx, link) {
        if ((tx->op.kind == OFI_OP_CONTROL) == control) {
            return true;
        }
    }
    return false;
}

bool ofi_peer_in_flight(const ofi_endpoint *peer)
{
    return !list_empty(&peer->flight) || rdma_am_peer_active(&peer->am);
}

/* Something in flight that need not be waited for; NULL: there is nothing. */
static struct ofi_tx *flight_next(const struct ofi_module *ofi, ofi_endpoint *peer)
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
static void flight_fail(struct ofi_module *ofi, ofi_endpoint *peer, int status)
{
    struct ofi_tx *tx;

    rdma_am_cancel(ofi->am, &peer->am, status);
    while ((tx = flight_next(ofi, peer))) {
        peer->abandoned = true;
        ofi_send_abandon(ofi, tx, status);
    }
}

/* The provider may keep for ever what was sent to it. */
static bool is_stuck(const ofi_endpoint *peer)
{
    return peer->life.state == PEER_BROKEN || peer->life.state == PEER_RETRYING ||
           (peer->life.state == PEER_ENDED && peer->hello.session.proven &&
            !peer->hello.bye_answered);
}

/* A session that fails is told so: its other end would wait for me, and for my hello. */
static void peer_cut(struct btl_peer *life, int status)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);
    struct ofi_module *ofi = peer->ofi;

    ofi->fabric.stays |= ofi->fabric.ep && ofi->traits->stays && is_stuck(peer);
    if (life->state == PEER_BROKEN && peer->hello.session.proven) {
        ofi_say_lost(ofi, peer);
    }
    /* what is done is told before what fails */
    (void) desc_set_finish(&ofi->super, &ofi->descs, NULL);
    session_clear(ofi, peer);
    if (life->state != PEER_IDLE || !ofi->fabric.ep) { /* else it left, and my answer flies */
        flight_fail(ofi, peer, status);
    }
}

/* A restart: the address vector ends as a whole, and what was abandoned with it. */
static void peer_forget(struct btl_peer *life)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);

    peer->known = peer->abandoned = peer->starved = false;
    list_remove(&peer->owes);
}

static void peer_end(struct btl_peer *life)
{
    ofi_endpoint *peer = ofi_endpoint_of(life);
    struct ofi_module *ofi = peer->ofi;

    list_remove(&peer->owes);
    if (!list_empty(&peer->flight)) {
        ofi_shut(ofi, "its provider does not end a get");
        flight_fail(ofi, peer, OPAL_ERR_UNREACH);
    }
    /* What the provider still tries to send needs its address. */
    if (peer->known && !peer->abandoned && ofi->fabric.ep) {
        fi_av_remove(ofi->fabric.av, &peer->address, 1, 0);
    }
    btl_peer_free(life);
}

void ofi_peer_fail(struct ofi_module *ofi, ofi_endpoint *peer, int error)
{
    btl_peer_fail(&peer->life, fabric_strerror(&ofi->fabric, error));
}

void ofi_shut(struct ofi_module *ofi, const char *why)
{
    ofi_endpoint *peer;

    log_warn(LOG_BTL, "ofi: provider %s: closed: %s", ofi->card.provider, why);
    ofi->fabric.stays = false; /* a get writes to its memory until the endpoint is closed */
    fabric_stop(&ofi->fabric);
    list_for_each (peer, &ofi->peers.used, ofi_endpoint, life.link) {
        btl_peer_fail(&peer->life, why);
    }
}

const struct btl_peer_hooks ofi_peer_hooks = {
    .suits = peer_suits,
    .begin = peer_begin,
    .judge = card_judge,
    .locate = card_locate,
    .connect = ofi_handshake,
    .cut = peer_cut,
    .forget = peer_forget,
    .end = peer_end,
    .leave = ofi_peer_leave,
    .say_bye = ofi_peer_say_bye,
    .is_answered = ofi_peer_is_answered,
    .over_links = true,
};
