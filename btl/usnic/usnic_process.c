/* What the modules of a process have together: which of them has which interface, and the card that
 * tells where they are. */
#include <config.h>

#include <base/data/crypto.h>
#include <base/settings/log.h>
#include <btl/usnic/usnic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_REGIONS = 65536 };

/* ---- the card ---- */

/* The module's place; false: there is no room in the card. */
static bool card_add(struct usnic_process *process, struct usnic_module *usnic,
                     const struct netif *netif)
{
    struct usnic_card *card = &process->card;
    size_t at = card->net.count;

    if (!netcard_add(&card->net, netif, usnic_port_number(&usnic->port, USNIC_SOCKET_DATA))) {
        return false;
    }
    card->priority_ports[at] = usnic_port_number(&usnic->port, USNIC_SOCKET_PRIORITY);
    card->packet_bytes[at] = (uint32_t) usnic->port.packet_bytes;
    usnic->address = at;
    return true;
}

/* Under the key of the modules' life, with a new incarnation. Each hello tells where its module is.
 */
static int publish(struct usnic_process *process, const struct btl_cards *cards, char *reason,
                   size_t reason_size)
{
    uint8_t bytes[USNIC_CARD_BYTES];

    crypto_random(&process->card.incarnation, sizeof(process->card.incarnation));
    process->card.net.netstack = netcard_netstack();
    int status = btl_card_publish(cards, bytes, usnic_card_encode(bytes, &process->card));
    if (status != OPAL_SUCCESS) {
        snprintf(reason, reason_size, "publishing the card: %s", opal_strerror(status));
    }
    for (size_t i = 0; i < process->count; i++) {
        struct usnic_module *usnic = process->modules[i];
        if (usnic && usnic->address < process->card.net.count) {
            struct usnic_place place = usnic_card_place(&process->card, usnic->address);
            place.checksum = usnic->params.checksum;
            usnic->greeter.address.size = USNIC_PLACE_BYTES;
            usnic_place_encode(usnic->greeter.address.bytes, &place);
        }
    }
    return status;
}

/* ---- interfaces ---- */

static bool is_another_address(const struct netif *list, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (list[i].index == list[at].index) {
            return true;
        }
    }
    return false;
}

static int interfaces_list(const struct usnic_params *params, struct netif **list, size_t *count,
                           char *reason, size_t reason_size)
{
    char why[200] = "";
    int status = netif_list(params->if_include, params->if_exclude, list, count, why, sizeof(why));

    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "interfaces: %s", why);
    }
    return status;
}

static void module_add(struct usnic_process *process, const struct usnic_params *params,
                       const struct netif *netif, char *reason, size_t reason_size)
{
    struct usnic_module *usnic = usnic_module_create(process, params, netif, reason, reason_size);

    if (!usnic) {
        log_info(LOG_BTL, "usnic: %s is left out: %s", netif->name, reason);
        return;
    }
    process->modules[process->count++] = usnic;
    if (!card_add(process, usnic, netif)) {
        usnic_module_destroy(usnic);
        process->count--;
    }
}

int usnic_process_open(mca_btl_base_module_t *modules[NETCARD_ADDRESSES],
                       const struct usnic_params *params, char *reason, size_t reason_size)
{
    struct usnic_process *process = calloc(1, sizeof(*process));
    struct netif *list = NULL;
    size_t count = 0;
    int status = OPAL_ERR_OUT_OF_RESOURCE;

    snprintf(reason, reason_size, "out of memory");
    if (!process) {
        return status;
    }
    process->users = 1;
    process->regions = region_table_create(MAX_REGIONS);
    if (process->regions && crypto_open() == ORTE_SUCCESS) {
        status = interfaces_list(params, &list, &count, reason, reason_size);
    }
    for (size_t i = 0; i < count && process->count < NETCARD_ADDRESSES; i++) {
        if (!is_another_address(list, i)) {
            module_add(process, params, &list[i], reason, reason_size);
        }
    }
    free(list);
    if (status == OPAL_SUCCESS) {
        status = process->count > 0
                     ? publish(process, &process->modules[0]->peers.cards, reason, reason_size)
                     : OPAL_ERR_NOT_AVAILABLE;
    }
    for (size_t i = 0, all = process->count; i < all; i++) {
        struct usnic_module *usnic = process->modules[i];
        if (status == OPAL_SUCCESS) {
            modules[i] = &usnic->super;
        } else {
            usnic_module_destroy(usnic);
        }
    }
    usnic_process_drop(process);
    return status;
}

void usnic_process_drop(struct usnic_process *process)
{
    if (--process->users == 0) {
        region_table_destroy(process->regions);
        free(process);
    }
}

/* ---- a restart ---- */

static const struct netif *netif_of(const struct usnic_module *usnic, const struct netif *list,
                                    size_t count)
{
    const char *name = usnic->name + sizeof("usnic:") - 1;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) == 0) {
            return &list[i];
        }
    }
    return NULL;
}

/* Other sockets, another card, and endpoints that know no address. Handles stay good, since regions
 * are this process's own memory. */
static int reopen_all(struct usnic_process *process, const struct usnic_module *last, char *reason,
                      size_t reason_size)
{
    struct netif *list = NULL;
    size_t count = 0;

    process->card.net.count = 0;
    int status = interfaces_list(&last->params, &list, &count, reason, reason_size);
    for (size_t i = 0; i < process->count; i++) {
        struct usnic_module *usnic = process->modules[i];
        const struct netif *netif = usnic ? netif_of(usnic, list, count) : NULL;
        if (netif && usnic_module_reopen(usnic, netif, reason, reason_size) == OPAL_SUCCESS) {
            (void) !card_add(process, usnic, netif);
        }
    }
    free(list);
    if (status == OPAL_SUCCESS && process->card.net.count == 0) {
        status = OPAL_ERR_NOT_AVAILABLE;
    }
    return status == OPAL_SUCCESS ? publish(process, &last->peers.cards, reason, reason_size)
                                  : status;
}

int usnic_restart(mca_btl_base_module_t *btl)
{
    struct usnic_module *usnic = usnic_of(btl);
    struct usnic_process *process = usnic->process;
    char reason[300] = "its interface is gone";
    bool last = false;

    usnic_port_stop(&usnic->port);
    btl_peers_restart(&usnic->peers);
    usnic->peers.cards.life++;
    usnic->address = SIZE_MAX;
    for (size_t i = 0; i < process->count; i++) {
        last = process->modules[i] ? process->modules[i] == usnic : last;
    }
    if (!last) {
        return OPAL_SUCCESS; /* the last one opens for all */
    }
    int status = reopen_all(process, usnic, reason, sizeof(reason));
    if (status != OPAL_SUCCESS) {
        log_warn(LOG_BTL, "usnic: not opened again: %s", reason);
    }
    return status;
}
