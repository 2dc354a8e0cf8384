/* A process's card ("btl.tcp"): where it listens; and the choice of addresses to reach a peer by.
 *
 *   version 1, count 1, zero 6, incarnation 8, netstack 8, then for each address
 *   family 1 (4 or 6), prefix 1, port 2, speed 4, address 16 (IPv4: the first 4, the rest zero)
 *
 * Little-endian, the address and nothing else in network order. Pure functions but for
 * tcp_netstack. */
#ifndef BTL_TCP_CARD_H
#define BTL_TCP_CARD_H

#include <base/netif.h>
#include <base/sock.h>
#include <btl/tcp/tcp_wire.h>

enum {
    TCP_CARD_VERSION = 1,
    TCP_CARD_ADDRESSES = 16,
    TCP_CARD_BYTES = 24 + TCP_CARD_ADDRESSES * 24, /* the longest */
};

struct tcp_address {
    int family; /* AF_INET or AF_INET6 */
    unsigned prefix;
    uint16_t port;
    uint32_t speed_mbps;
    unsigned interface; /* of my own: its index; not in a card's bytes */
    uint8_t bytes[16];
};

struct tcp_card {
    uint64_t incarnation; /* random, new in each life of the process */
    uint64_t netstack;    /* equal where loopback addresses mean the same host */
    size_t count;
    struct tcp_address addresses[TCP_CARD_ADDRESSES];
};

size_t tcp_card_encode(uint8_t out[TCP_CARD_BYTES], const struct tcp_card *card);
/* OPAL_ERR_UNPACK_FAILURE; OPAL_ERR_NOT_SUPPORTED: another version. */
int tcp_card_decode(struct tcp_card *card, const void *data, size_t size) KEEL_MUST_CHECK;

/* false: not an IP address that a card can carry (an IPv6 link-local one). */
bool tcp_address_set(struct tcp_address *address, const struct netif *netif, uint16_t port);
void tcp_address_sock(struct sock_addr *addr, const struct tcp_address *address);

/* The peer's addresses in the order to try them: those in a subnet of mine first, then those of the
 * same kind (public or private) as one of mine, then the rest; the faster first. A loopback
 * address, or one that is my own, leads to the peer only within one network stack; elsewhere it is
 * left out. Returns how many indices it wrote. */
size_t tcp_pair(size_t order[TCP_CARD_ADDRESSES], const struct tcp_card *mine,
                const struct tcp_card *peer);

/* The peer's addresses for links beside the one to the address first: one in a subnet of each other
 * interface of mine; wanted links in all go around those and the first. wanted 0: as many as there
 * are such interfaces, but none within a network stack. Returns how many indices it wrote. */
size_t tcp_pair_more(size_t more[TCP_LANES], const struct tcp_card *mine,
                     const struct tcp_card *peer, size_t first, size_t wanted);

/* A number for this host's network stack: from the boot and the network namespace. */
uint64_t tcp_netstack(void);

#endif
