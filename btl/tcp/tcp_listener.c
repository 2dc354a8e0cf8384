/* The sockets on which peers come in, and the card that tells where they are. */
#include <config.h>

#include <base/log.h>
#include <btl/tcp/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { BACKLOG = 512 };

/* Listens on one interface's address; one that does not work is left out. */
static void listener_add(struct tcp_module *tcp, const struct netif *netif)
{
    struct tcp_source *source = &tcp->listeners[tcp->listener_count];
    struct sock_addr bound;

    if (tcp->listener_count == NETCARD_ADDRESSES) {
        return;
    }
    int fd = sock_listen(&netif->addr, BACKLOG);
    if (fd < 0) {
        log_info(LOG_BTL, "tcp: %s: listen: %s", netif->name, strerror(-fd));
        return;
    }
    *source = (struct tcp_source){.kind = TCP_SOURCE_LISTENER, .fd = fd};
    if (sock_local_addr(fd, &bound) != 0 || tcp_watch(tcp, source, EPOLLIN) != OPAL_SUCCESS ||
        !netcard_add(&tcp->card.net, netif, sock_addr_port(&bound))) {
        tcp_source_close(tcp, source);
        return;
    }
    tcp->listener_count++;
}

int tcp_listeners_open(struct tcp_module *tcp, char *reason, size_t reason_size)
{
    char why[200] = "";
    struct netif *list = NULL;
    size_t count = 0;

    int status =
        netif_list(tcp->params.if_include, tcp->params.if_exclude, &list, &count, why, sizeof(why));
    if (status != ORTE_SUCCESS) {
        snprintf(reason, reason_size, "interfaces: %s", why);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        listener_add(tcp, &list[i]);
    }
    free(list);
    if (tcp->listener_count == 0) {
        snprintf(reason, reason_size, "none of %zu interfaces can be listened on", count);
        return OPAL_ERR_NOT_AVAILABLE;
    }
    return OPAL_SUCCESS;
}

int tcp_card_publish(struct tcp_module *tcp, char *reason, size_t reason_size)
{
    uint8_t bytes[TCP_CARD_BYTES];

    crypto_random(&tcp->card.incarnation, sizeof(tcp->card.incarnation));
    tcp->card.net.netstack = netcard_netstack();
    size_t size = tcp_card_encode(bytes, &tcp->card);
    int status = btl_card_publish(&tcp->peers.cards, bytes, size);
    if (status != OPAL_SUCCESS) {
        snprintf(reason, reason_size, "publishing the card: %s", opal_strerror(status));
    }
    return status;
}

void tcp_listeners_close(struct tcp_module *tcp)
{
    for (size_t i = 0; i < tcp->listener_count; i++) {
        tcp_source_close(tcp, &tcp->listeners[i]);
    }
    tcp->listener_count = 0;
    tcp->card.net.count = 0;
}
