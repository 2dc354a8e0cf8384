#include <config.h>

#include <base/log.h>
#include <base/name.h>
#include <btl/ofi/ofi_hello.h>
#include <stdlib.h>
#include <string.h>

static struct list *bucket_of(struct ofi_module *ofi, const orte_process_name_t *name)
{
    return &ofi->by_name[name->vpid % OFI_NAME_BUCKETS];
}

ofi_endpoint *ofi_endpoint_find(struct ofi_module *ofi, const orte_process_name_t *name)
{
    ofi_endpoint *endpoint;

    list_for_each (endpoint, bucket_of(ofi, name), ofi_endpoint, by_name) {
        if (name_equal(&endpoint->name, name)) {
            return endpoint;
        }
    }
    return NULL;
}

ofi_endpoint *ofi_endpoint_create(struct ofi_module *ofi, const orte_process_name_t *name)
{
    ofi_endpoint *endpoint = calloc(1, sizeof(*endpoint));

    if (endpoint) {
        endpoint->name = *name;
        list_init(&endpoint->by_name);
        list_append(bucket_of(ofi, name), &endpoint->by_name);
    }
    return endpoint;
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
    if (status == OPAL_SUCCESS) {
        status = ofi_address_check(&card->address, &ofi->card.address) ? OPAL_SUCCESS
                                                                       : OPAL_ERR_BAD_PARAM;
    }
    return status;
}

static void take_card(void *arg, int status, const void *data, size_t size)
{
    struct ofi_peer *peer = arg;
    struct ofi_module *ofi = peer->ofi;
    struct ofi_card card;

    if (peer->state != OFI_CARD) {
        return; /* it has come by itself */
    }
    if (status == OPAL_SUCCESS) {
        status = card_read(ofi, &card, data, size);
    }
    if (status == OPAL_SUCCESS) {
        status = ofi_peer_locate(ofi, peer, &card.address);
    }
    if (status == OPAL_SUCCESS) {
        ofi_greet_begin(ofi, peer);
    } else {
        ofi_peer_give_up(ofi, peer, "it has no card that leads to it");
    }
}

/* Looks for the peer, and says hello. */
static void seek(struct ofi_module *ofi, struct ofi_peer *peer)
{
    if (peer->known) {
        ofi_greet_begin(ofi, peer);
        return;
    }
    ofi_peer_set(peer, OFI_CARD);
    if (btl_card_ask(&ofi->cards, peer->endpoint->proc, &peer->question, take_card, peer) !=
        OPAL_SUCCESS) {
        ofi_peer_set(peer, OFI_IDLE); /* the next send asks again */
    }
}

struct ofi_peer *ofi_endpoint_want(struct ofi_module *ofi, ofi_endpoint *endpoint, int *status)
{
    struct ofi_peer *peer = endpoint->peer;

    if (peer && peer->state == OFI_UP && !peer->why) {
        return peer;
    }
    *status = ofi->fabric.ep ? OPAL_ERR_OUT_OF_RESOURCE : OPAL_ERR_UNREACH;
    if (!ofi->fabric.ep) {
        return NULL;
    }
    if (!peer) {
        peer = ofi_peer_create(ofi, endpoint);
    }
    if (peer && peer->state == OFI_IDLE) {
        seek(ofi, peer);
    } else if (peer && (peer->why || peer->state == OFI_BROKEN || peer->state == OFI_LEAVING)) {
        *status = OPAL_ERR_UNREACH;
    }
    return NULL;
}

/* ---- adding ---- */

static int card_judge(void *arg, const void *data, size_t size)
{
    struct ofi_card card;

    return card_read(arg, &card, data, size);
}

static bool may_reach(struct ofi_module *ofi, const opal_proc_t *proc)
{
    return name_equal(&proc->proc_name, &ofi->me) ||
           btl_card_may_lead(&ofi->cards, proc, card_judge, ofi);
}

ofi_endpoint *ofi_endpoint_add(mca_btl_base_module_t *btl, opal_proc_t *proc)
{
    struct ofi_module *ofi = ofi_of(btl);
    ofi_endpoint *endpoint = ofi_endpoint_find(ofi, &proc->proc_name);

    if (endpoint && endpoint->proc) {
        return endpoint->peer && endpoint->peer->state == OFI_BROKEN ? NULL : endpoint;
    }
    if (!ofi->fabric.ep) {
        return NULL;
    }
    if (!endpoint) {
        endpoint = may_reach(ofi, proc) ? ofi_endpoint_create(ofi, &proc->proc_name) : NULL;
    }
    if (endpoint) {
        endpoint->proc = proc;
        if (endpoint->peer && endpoint->peer->state == OFI_BROKEN) {
            ofi_peer_set(endpoint->peer, OFI_IDLE);
        }
    }
    return endpoint;
}

void ofi_peer_ended(struct ofi_module *ofi, ofi_endpoint *endpoint)
{
    if (endpoint->peer) {
        ofi_peer_give_up(ofi, endpoint->peer, "its process ended");
    }
}
