/* What the modules of a process have together: which of them has which interface, the sockets on
 * which peers come in, and the card that tells where they are. */
#include <config.h>

#include <base/settings/log.h>
#include <btl/tcp/tcp_conn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { BACKLOG = 512, UNKNOWN_MBPS = 1000, MAX_REGIONS = 65536 };

struct tcp_module *tcp_module_at(const struct tcp_process *process, size_t address)
{
    const struct netcard *net = &process->card.net;

    for (size_t i = 0; address < net->count && i < NETCARD_ADDRESSES; i++) {
        struct tcp_module *tcp = process->modules[i];
        if (tcp && tcp->interface == net->addresses[address].interface) {
            return tcp;
        }
    }
    return NULL;
}

/* ---- interfaces ---- */

/* The module that has this interface from now on; NULL: there are no more. */
static struct tcp_module *module_for(struct tcp_process *process, const struct netif *netif)
{
    struct tcp_module *unused = NULL;

    for (size_t i = NETCARD_ADDRESSES; i-- > 0;) {
        struct tcp_module *tcp = process->modules[i];
        if (tcp && tcp->interface == netif->index) {
            return tcp;
        }
        unused = tcp && tcp->interface == 0 ? tcp : unused;
    }
    if (unused) {
        unused->interface = netif->index;
        snprintf(unused->name, sizeof(unused->name), "tcp:%s", netif->name);
    }
    return unused;
}

/* By which rails share their load. */
static void set_bandwidth(struct tcp_module *tcp, uint32_t speed_mbps)
{
    uint32_t set = tcp->params.bandwidth;

    tcp->super.btl_bandwidth = set ? set : (speed_mbps ? speed_mbps : UNKNOWN_MBPS) / 8;
}

/* Listens on one interface's address; one that does not work is left out. */
static void listener_add(struct tcp_module *tcp, const struct netif *netif)
{
    struct netcard *net = &tcp->process->card.net;
    struct tcp_source *source = &tcp->listeners[tcp->listener_count];
    struct sock_addr bound;

    if (net->count == NETCARD_ADDRESSES) {
        return;
    }
    int fd = sock_listen(&netif->addr, BACKLOG);
    if (fd < 0) {
        log_info(LOG_BTL, "%s: listen: %s", tcp->name, strerror(-fd));
        return;
    }
    *source = (struct tcp_source){.kind = TCP_SOURCE_LISTENER, .fd = fd};
    if (sock_local_addr(fd, &bound) != 0 || tcp_watch(tcp, source, EPOLLIN) != OPAL_SUCCESS ||
        !netcard_add(net, netif, sock_addr_port(&bound))) {
        tcp_source_close(tcp, source);
        return;
    }
    tcp->listener_count++;
    set_bandwidth(tcp, net->addresses[net->count - 1].speed_mbps);
}

void tcp_listeners_close(struct tcp_module *tcp)
{
    for (size_t i = 0; i < tcp->listener_count; i++) {
        tcp_source_close(tcp, &tcp->listeners[i]);
    }
    tcp->listener_count = 0;
    tcp->interface = 0;
}

/* Under the key of the modules' life, with a new incarnation. */
static int publish(struct tcp_process *process, char *reason, size_t reason_size)
{
    uint8_t bytes[TCP_CARD_BYTES];

    crypto_random(&process->card.incarnation, sizeof(process->card.incarnation));
    process->card.net.netstack = netcard_netstack();
    size_t size = tcp_card_encode(bytes, &process->card);
    int status = btl_card_publish(&tcp_module_at(process, 0)->peers.cards, bytes, size);
    if (status != OPAL_SUCCESS) {
        snprintf(reason, reason_size, "publishing the card: %s", opal_strerror(status));
    }
    return status;
}

/* Gives the interfaces that there are now to the modules, whose listeners are closed, and publishes
 * the card under the key of their life. makes: makes modules for them, else those that there are
 * have to do. */
static int open_listeners(struct tcp_process *process, const struct tcp_params *params, bool makes,
                          char *reason, size_t reason_size)
{
    char why[200] = "";
    struct netif *list = NULL;
    size_t count = 0;

    process->card.net.count = 0;
    int status =
        netif_list(params->if_include, params->if_exclude, &list, &count, why, sizeof(why));
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "interfaces: %s", why);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        struct tcp_module *tcp = module_for(process, &list[i]);
        if (!tcp && makes) {
            tcp = tcp_module_create(process, params) ? module_for(process, &list[i]) : NULL;
        }
        if (tcp) {
            listener_add(tcp, &list[i]);
        }
    }
    free(list);
    if (process->card.net.count == 0) {
        snprintf(reason, reason_size, "none of %zu interfaces can be listened on", count);
        return OPAL_ERR_NOT_AVAILABLE;
    }
    return publish(process, reason, reason_size);
}

/* ---- its life ---- */

void tcp_process_drop(struct tcp_process *process)
{
    if (--process->users == 0) {
        region_table_destroy(process->regions);
        free(process);
    }
}

/* all: or those whose interface cannot be listened on */
static void destroy_modules(struct tcp_process *process, bool all)
{
    for (size_t i = 0; i < NETCARD_ADDRESSES; i++) {
        struct tcp_module *tcp = process->modules[i];
        if (tcp && (all || tcp->listener_count == 0)) {
            tcp_module_destroy(tcp);
        }
    }
}

int tcp_process_open(mca_btl_base_module_t *modules[NETCARD_ADDRESSES],
                     const struct tcp_params *params, char *reason, size_t reason_size)
{
    struct tcp_process *process = calloc(1, sizeof(*process));
    int status = OPAL_ERR_OUT_OF_RESOURCE;

    snprintf(reason, reason_size, "no memory, or no descriptor for epoll");
    if (!process) {
        return status;
    }
    process->users = 1;
    process->regions = region_table_create(MAX_REGIONS);
    if (process->regions && crypto_open() == ORTE_SUCCESS) {
        status = open_listeners(process, params, true, reason, reason_size);
    }
    destroy_modules(process, status != OPAL_SUCCESS);
    for (size_t i = 0; i < NETCARD_ADDRESSES; i++) {
        modules[i] = process->modules[i] ? &process->modules[i]->super : NULL;
    }
    tcp_process_drop(process);
    return status;
}

/* Other listeners, another card, and endpoints that know no card. Handles stay good, since regions
 * are this process's own memory. */
int tcp_restart(mca_btl_base_module_t *btl)
{
    struct tcp_module *tcp = tcp_of(btl);
    struct tcp_process *process = tcp->process;
    char reason[256];
    bool last = true;

    tcp_endpoints_restart(tcp);
    tcp_enter(tcp);
    tcp_conns_close(tcp);
    tcp_listeners_close(tcp);
    tcp_leave(tcp);
    tcp->peers.cards.life++;
    for (size_t i = tcp->number + 1; i < NETCARD_ADDRESSES; i++) {
        last = last && !process->modules[i];
    }
    if (!last) {
        return OPAL_SUCCESS; /* the last one opens for all */
    }
    int status = open_listeners(process, &tcp->params, false, reason, sizeof(reason));
    if (status != OPAL_SUCCESS) {
        log_warn(LOG_BTL, "tcp: no other listeners after a restart: %s", reason);
    }
    return status;
}
